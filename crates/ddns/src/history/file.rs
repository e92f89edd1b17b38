//! The file of a history. Any number of processes append to it, whole lines in one write.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::open_file::{Stamp, beside as named_beside, folder_of, make_private, open_own};
use crate::store::unfit;

/// The history file of a cache.
pub(crate) fn beside(cache: &Path) -> PathBuf {
    named_beside(cache, ".history")
}

/// The previous file, which was full.
pub(crate) fn old(path: &Path) -> PathBuf {
    named_beside(path, ".old")
}

/// Appends lines. If the file would exceed `full` bytes, it becomes the old file first.
pub(super) fn append(path: &Path, lines: &str, full: u64) -> io::Result<()> {
    let (mut file, mut size) = opened(path)?;
    if size > 0 && size + lines.len() as u64 > full {
        rotate(path, &file)?;
        (file, size) = opened(path)?;
    }
    // A process that was killed, or found the disk full, may have left half a line.
    let mut last = [b'\n'];
    if size > 0 && file.read_at(&mut last, size - 1).is_ok() && last != [b'\n'] {
        return file.write_all(format!("\n{lines}").as_bytes());
    }
    file.write_all(lines.as_bytes())
}

/// Opens the file, or creates it; its size, too.
fn opened(path: &Path) -> io::Result<(File, u64)> {
    if let Some(why) = unfit(path) {
        return Err(io::Error::other(format!("it {why}")));
    }
    let try_open = || open_own(path, OpenOptions::new().read(true).append(true).create(true).mode(0o600));
    let file = match try_open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_private(folder_of(path))?;
            try_open()?
        }
        opened => opened?,
    };
    let size = file.metadata()?.size();
    Ok((file, size))
}

/// Makes the file the old file, unless another process has just done so.
fn rotate(path: &Path, file: &File) -> io::Result<()> {
    // Without locks, two processes that do this at the same moment lose a file; nothing else is at stake.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(());
    }
    if Stamp::of(&file.metadata()?).is_at(path) { fs::rename(path, old(path)) } else { Ok(()) }
}
