//! The history (I4), in a file beside the cache: adds lines, and reads them back. Its size is limited: a full file
//! becomes the old file, and replaces the previous one.
//!
//! The history never fails a synchronization: if the file cannot be written, ddns warns once, and the lines are lost.

mod file;
mod read;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ddns_core::engine::plan::Plan;
use ddns_core::journal::{JournalEvent, RecordWriter, What};
use ddns_core::net::family::Family;
use ddns_core::text::order;

use crate::compose::cache_with_files;
use crate::environment::Environment;
use crate::open_file::reason;
use crate::output::log::Log;

pub(crate) use file::beside;
pub(crate) use read::{each, newest, records};

/// The size of a full file, in bytes…
const MAX_FILE_BYTES: u64 = 1 << 20;

/// …or this size for each update, if that is more: one change of many domains must not push out everything else.
const MAX_FILE_BYTES_PER_UPDATE: u64 = 1 << 10;

/// Lines are written when there are this many bytes of them…
const CHUNK: usize = 32 << 10;

/// …or at the latest after this time.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The histories of all entries.
pub(crate) struct History<'a> {
    plan: Rc<Plan>,
    /// By configuration.
    logs: &'a [Log<'a>],
    environment: &'a Environment,
    /// Created with the first line: most runs have none.
    files: Option<HistoryFiles<'a>>,
    oldest_unsaved: Option<Instant>,
}

struct HistoryFiles<'a> {
    all: Vec<PendingLines<'a>>,
    /// The index in `all`, by entry; `None` if it has no history.
    of: Vec<Option<usize>>,
}

/// One history file, and the lines that are not in it yet.
struct PendingLines<'a> {
    path: PathBuf,
    writer: RecordWriter,
    text: String,
    full: u64,
    has_warned: bool,
    /// The log of the first entry that uses the file.
    log: &'a Log<'a>,
}

impl<'a> History<'a> {
    pub(crate) fn new(plan: Rc<Plan>, logs: &'a [Log<'a>], environment: &'a Environment) -> Self {
        Self { plan, logs, environment, files: None, oldest_unsaved: None }
    }

    /// Adds events.
    pub(crate) fn take(&mut self, news: &[JournalEvent]) {
        if news.iter().all(|event| event.what.kind().is_none()) {
            return;
        }
        let files = self.files.get_or_insert_with(|| HistoryFiles::of(&self.plan, self.logs, self.environment));
        for event in news {
            files.push(event);
        }
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    /// Writes the lines if the oldest has waited long enough.
    pub(crate) fn save_due(&mut self) {
        if self.oldest_unsaved.is_some_and(|since| since.elapsed() >= SAVE_EVERY) {
            self.save();
        }
    }

    /// Writes all lines.
    pub(crate) fn save(&mut self) {
        if self.oldest_unsaved.take().is_some()
            && let Some(files) = &mut self.files
        {
            files.all.iter_mut().for_each(PendingLines::save);
        }
    }

    /// The files of all entries, whether they exist or not.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for at in 0..self.plan.entry_count() {
            paths.extend(cache_with_files(self.plan.entry(at), self.environment).map(|cache| beside(&cache)));
        }
        order::sort(&mut paths);
        paths.dedup();
        paths
    }
}

impl<'a> HistoryFiles<'a> {
    fn of(plan: &Plan, logs: &'a [Log<'a>], environment: &Environment) -> Self {
        let mut files = Self { all: Vec::new(), of: Vec::with_capacity(plan.entry_count()) };
        let mut updates: Vec<u64> = Vec::new();
        for at in 0..plan.entry_count() {
            let (entry, log) = (plan.entry(at), &logs[plan.config_of(at)]);
            let path = cache_with_files(entry, environment).map(|cache| beside(&cache));
            if path.is_none() {
                log.debug(|| "no history is kept: `cache` is off, or is no file".to_owned());
            }
            let at = path.map(|path| {
                let known = files.all.iter().position(|lines| lines.path == path);
                known.unwrap_or_else(|| {
                    let (writer, text) = (RecordWriter::default(), String::new());
                    files.all.push(PendingLines { path, writer, text, full: MAX_FILE_BYTES, has_warned: false, log });
                    updates.push(0);
                    files.all.len() - 1
                })
            });
            if let Some(at) = at {
                updates[at] += Family::ALL.map(|family| entry.domains_of(family).len() as u64).iter().sum::<u64>();
            }
            files.of.push(at);
        }
        for (lines, updates) in files.all.iter_mut().zip(updates) {
            lines.full = MAX_FILE_BYTES.max(updates * MAX_FILE_BYTES_PER_UPDATE);
        }
        files
    }

    fn push(&mut self, event: &JournalEvent) {
        if matches!(event.what, What::Role(_)) {
            self.all.iter_mut().for_each(|lines| lines.push(event));
        }
        let entries = event.what.entries();
        for (at, entry) in entries.iter().enumerate() {
            let Some(file) = self.of[*entry] else { continue };
            if !entries[..at].iter().any(|other| self.of[*other] == Some(file)) {
                self.all[file].push(event);
            }
        }
    }
}

impl PendingLines<'_> {
    fn push(&mut self, event: &JournalEvent) {
        self.writer.push(&mut self.text, event);
        if self.text.len() >= CHUNK {
            self.save();
        }
    }

    /// Drops lines that cannot be written: a full disk must not fill the memory, too.
    fn save(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let written = file::append(&self.path, &self.text, self.full);
        self.text.clear();
        match written {
            Ok(()) => self.has_warned = false,
            Err(_) if self.has_warned => {}
            Err(error) => {
                self.has_warned = true;
                let (path, why) = (self.path.display(), reason(&error));
                self.log.warning(format!("{path}: the history cannot be written ({why}); updates continue without it"));
            }
        }
    }
}
