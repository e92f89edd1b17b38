//! Reads a history: the old file first, line by line. Skips lines that are not whole records.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ddns_core::journal::{Filter, Record};

use super::file::old;
use crate::open_file::{identity, open_any};

/// A larger file is no history of ddns: it may have 1 KiB for each update.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// The length limit of the lines that ddns writes.
const MAX_LINE_BYTES: u64 = 16 << 10;

/// How much of the end of a file [`newest`] reads, in bytes.
const MAX_TAIL_BYTES: u64 = 64 << 20;

/// Opens a file for reading; `None` if it does not exist.
fn readable(path: &Path) -> io::Result<Option<File>> {
    let file = match open_any(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if file.metadata()?.len() > MAX_FILE_BYTES {
        let why = format!("{} is larger than {} GiB: move it away", path.display(), MAX_FILE_BYTES >> 30);
        return Err(io::Error::other(why));
    }
    Ok(Some(file))
}

/// The files of a history, the old one first.
fn files(path: &Path) -> io::Result<impl DoubleEndedIterator<Item = File> + use<>> {
    // In this order, no line is missed if the file becomes the old one meanwhile; the filter keeps it from being read
    // twice.
    let current = readable(path)?;
    let place = |file: &File| file.metadata().ok().as_ref().map(identity);
    let before = readable(&old(path))?.filter(|before| current.as_ref().and_then(place) != place(before));
    Ok(before.into_iter().chain(current))
}

/// The lines of a history, oldest first.
fn lines(path: &Path) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    Ok(files(path)?.flat_map(|file| {
        let mut reader = BufReader::new(file);
        std::iter::from_fn(move || next_line(&mut reader).transpose())
    }))
}

/// The next line that is not too long; `None` at the end.
fn next_line(reader: &mut BufReader<File>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut is_rest = false;
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        let is_end = line.ends_with(b"\n") || (read as u64) < MAX_LINE_BYTES;
        if is_end && !is_rest {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
        is_rest = !is_end;
    }
}

/// The records of several histories that pass a filter, merged by their times.
pub(crate) fn records<'f>(
    paths: &[PathBuf],
    filter: &'f Filter,
) -> io::Result<impl Iterator<Item = io::Result<Record>> + use<'f>> {
    let mut sources = Vec::new();
    for path in paths {
        let wanted = lines(path)?.filter_map(|line| match line {
            Ok(line) if !filter.may_take(&line) => None,
            Ok(line) => Record::from_line(&line).filter(|record| filter.takes(record)).map(Ok),
            Err(error) => Some(Err(error)),
        });
        sources.push(wanted.peekable());
    }
    Ok(std::iter::from_fn(move || {
        let time = |record: &io::Result<Record>| record.as_ref().map_or(0, |record| record.at);
        let next = sources.iter_mut().enumerate().filter_map(|(at, source)| Some((time(source.peek()?), at))).min()?;
        sources[next.1].next()
    }))
}

/// Passes on the records of these domains and of this host, the oldest first.
pub(crate) fn each(path: &Path, domains: &HashSet<&str>, mut take: impl FnMut(&Record)) -> io::Result<()> {
    for line in lines(path)? {
        let line = line?;
        if is_about(&line, domains)
            && let Some(record) = Record::from_line(&line)
        {
            take(&record);
        }
    }
    Ok(())
}

/// Whether a line is about one of these domains, or this host. Does not parse it: most lines are about others.
fn is_about(line: &str, domains: &HashSet<&str>) -> bool {
    let domain = line.split_once("\"domain\":\"").and_then(|(_, rest)| rest.split('"').next());
    domain.is_none_or(|domain| domains.contains(domain))
}

/// The newest records of a history that pass a filter, the newest first; at most `most`.
pub(crate) fn newest(path: &Path, filter: &Filter, most: usize) -> io::Result<Vec<Record>> {
    let mut found = Vec::new();
    for mut file in files(path)?.rev() {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(MAX_TAIL_BYTES)))?;
        let mut text = Vec::new();
        file.take(MAX_TAIL_BYTES).read_to_end(&mut text)?;
        for line in text.rsplit(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()) {
            if found.len() >= most {
                return Ok(found);
            }
            if !line.is_empty() && filter.may_take(line) {
                found.extend(Record::from_line(line).filter(|record| filter.takes(record)));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Between the two opens, a full file may become the old one.
    #[test]
    fn i4_a_file_that_becomes_the_old_one_meanwhile_is_read_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("history");
        fs::write(&path, "{\"at\":1763170000,\"event\":\"address\",\"type\":\"A\",\"address\":\"203.0.113.7\"}\n")
            .and_then(|()| fs::hard_link(&path, old(&path)))
            .expect("two names of one file");
        assert_eq!(newest(&path, &Filter::default(), 10).expect("it can be read").len(), 1);
        assert_eq!(lines(&path).expect("it can be read").count(), 1);
    }
}
