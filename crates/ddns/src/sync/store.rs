//! A cache (E4): what is remembered, and its file, which is read whole, written whole and renamed into place under a lock,
//! for the owner's eyes only.
//!
//! Nothing here fails a synchronization. What cannot be read is set aside and everything is sent again; where the file
//! cannot be written, there is one warning, and the rest of the run remembers in memory.

mod file;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ddns_core::update::state::{Accepted, EntryKey, News, State};

use crate::output::log::Log;
use file::{load, lock, parse, replace, set_aside, stamp, unfit};

pub(crate) use file::{Durability, Stamp};

/// News is on the disk after this long at the latest.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// What is remembered, and what of it is not on the disk yet.
pub(crate) struct Store {
    /// None: in memory only.
    path: Option<PathBuf>,
    state: State,
    /// The file that `state` is known to hold: while it is there, nobody else has written.
    seen: Option<Stamp>,
    unsaved: News,
    /// Entries younger than this are kept.
    keep: Duration,
    oldest_unsaved: Option<Instant>,
    has_warned: bool,
}

impl Store {
    /// Memory without a file.
    pub(crate) fn in_memory() -> Self {
        Self::with(None, State::new(new_salt()))
    }

    /// Reads the file. One that is missing is a fresh start; one that makes no sense is set aside.
    pub(crate) fn open(path: &Path, log: &Log<'_>) -> Self {
        if let Some(why) = unfit(path) {
            log.warning(format!("{}: the cache {why}; nothing is remembered", path.display()));
            return Self::in_memory();
        }
        match load(path) {
            Ok(Some((state, seen))) => return Self { seen, ..Self::with(Some(path.to_owned()), state) },
            Ok(None) => {}
            Err(why) => {
                let aside = set_aside(path);
                let moved = aside.map_or_else(String::new, |aside| format!(" and was moved to {}", aside.display()));
                log.warning(format!("{}: the cache {why}{moved}; every address is sent again", path.display()));
            }
        }
        let mut store = Self::with(Some(path.to_owned()), State::new(new_salt()));
        let begun = store.begin(path);
        store.warn_once(path, begun, log);
        store
    }

    /// What a file holds, for somebody who only looks: nothing is made, locked, moved or written. None where there is no
    /// file, or it is empty; an error, that goes on from `the cache`, where a synchronization could not use it either.
    pub(crate) fn peek(path: &Path) -> Result<Option<State>, String> {
        match unfit(path) {
            Some(why) => Err(why.to_owned()),
            None => load(path).map(|found| found.map(|(state, _)| state)),
        }
    }

    fn with(path: Option<PathBuf>, state: State) -> Self {
        Self {
            path,
            state,
            seen: None,
            unsaved: News::new(),
            keep: Duration::ZERO,
            oldest_unsaved: None,
            has_warned: false,
        }
    }

    /// Makes a file, or takes the one that another process made just now: processes that start at the same moment
    /// agree on one salt, and so on one name for each callback.
    fn begin(&mut self, path: &Path) -> io::Result<()> {
        let mut file = lock(path)?;
        match parse(&mut file) {
            Ok(Some(theirs)) => self.state = theirs,
            _ => replace(path, self.state.to_text().as_bytes(), Durability::Process)?,
        }
        Ok(())
    }

    fn warn_once(&mut self, path: &Path, written: io::Result<()>, log: &Log<'_>) {
        if let Err(error) = written
            && !self.has_warned
        {
            self.has_warned = true;
            let path = path.display();
            let effect = "the next run sends every address again";
            log.warning(format!("{path}: the cache cannot be written ({error}); {effect}"));
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Keeps entries that are younger than `max_age`.
    pub(crate) fn keep(&mut self, max_age: Duration) {
        self.keep = self.keep.max(max_age);
    }

    /// Takes in what was learned; it is on the disk after the next [`Store::save`].
    pub(crate) fn learn(&mut self, key: EntryKey, entry: Option<Accepted>) {
        if entry.is_none() && self.state.of(key.callback).accepted(&key.domain, key.family).is_none() {
            return;
        }
        self.state.learn(key.clone(), entry);
        self.unsaved.insert(key, entry);
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    /// When the oldest news must be on the disk.
    pub(crate) fn save_by(&self) -> Option<Instant> {
        self.oldest_unsaved.map(|since| since + SAVE_EVERY)
    }

    /// Writes the news, where there is some.
    pub(crate) fn save(&mut self, now: u64, durability: Durability, log: &Log<'_>) {
        let Some(path) = self.path.clone().filter(|_| !self.unsaved.is_empty()) else {
            self.oldest_unsaved = None;
            return;
        };
        let written = self.write(&path, now, durability);
        if written.is_ok() {
            self.unsaved.clear();
            self.oldest_unsaved = None;
        } else {
            // It is tried again, but not at once.
            self.oldest_unsaved = Some(Instant::now());
        }
        self.warn_once(&path, written, log);
    }

    /// What other processes saved meanwhile is kept: the file is read again under the lock and our news is put on top.
    fn write(&mut self, path: &Path, now: u64, durability: Durability) -> io::Result<()> {
        let mut file = lock(path)?;
        let is_ours = self.seen.is_some() && self.seen == stamp(&file);
        let on_disk = if is_ours { Ok(None) } else { parse(&mut file) };
        match on_disk {
            Ok(Some(mut on_disk)) if on_disk.salt() == self.state.salt() => {
                on_disk.merge(&self.unsaved, self.keep, now);
                self.state = on_disk;
            }
            _ => self.state.merge(&News::new(), self.keep, now),
        }
        self.seen = None;
        replace(path, self.state.to_text().as_bytes(), durability)?;
        // Still under the lock on what was there before: nobody else can have put another in its place.
        self.seen = fs::metadata(path).ok().as_ref().map(Stamp::of);
        Ok(())
    }
}

fn new_salt() -> Vec<u8> {
    let mut salt = vec![0; 16];
    // Without a source of randomness the hash is still one-way; two files would merely share a salt.
    let _ = getrandom::fill(&mut salt);
    salt
}
