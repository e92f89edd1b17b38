//! A cache (E4): what is remembered, and where. A file is read whole, written whole and renamed into place under a lock, for
//! the owner's eyes only. The store of a group (J2) gets what changes, one key at a time.
//!
//! Nothing here fails a synchronization. What cannot be read is set aside and everything is sent again. Where the file
//! cannot be written, there is one warning, the rest of the run remembers in memory, and what the file says does not
//! count: an address that cannot be marked in doubt before another is sent would be believed when the host returns to it.

mod file;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::update::hold::Hold;
use ddns_core::update::state::{Changed, Entry, EntryKey, Fingerprint, State};
use ddns_core::update::streak::Streak;

use crate::group::Permit;
use crate::output::log::Log;
use file::{discard, is_writable, load, lock, parse, set_aside};

pub(crate) use file::{Durability, Stamp, replace, unfit};

/// News is on the disk after this long at the latest.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// How long another process may hold the lock before we do without the file.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// What is remembered, and what of it is not on the disk yet.
pub(crate) struct Store {
    /// None: in memory only, or in the store of a group.
    path: Option<PathBuf>,
    /// None: not in the store of a group.
    group: Option<Permit>,
    state: State,
    /// The file that `state` is known to hold: while it is there, nobody else has written.
    seen: Option<Stamp>,
    unsaved: Changed,
    /// The number that marks of this process carry.
    own: u32,
    /// Entries younger than this are kept.
    keep: Duration,
    oldest_unsaved: Option<Instant>,
    has_warned: bool,
}

impl Store {
    /// Memory without a file, empty where there is none from before.
    pub(crate) fn in_memory(own: u32, before: Option<State>) -> Self {
        Self::with(None, before.unwrap_or_else(|| State::new(new_salt())), own)
    }

    /// What a group remembers, while this process holds its lease.
    pub(crate) fn of_group(state: State, permit: Permit, own: u32) -> Self {
        Self { group: Some(permit), ..Self::with(None, state, own) }
    }

    pub(crate) fn into_state(self) -> State {
        self.state
    }

    /// Reads the file. One that is missing is a fresh start; one that makes no sense is set aside.
    pub(crate) fn open(path: &Path, own: u32, log: &Log<'_>) -> Self {
        if let Some(why) = unfit(path) {
            log.warning(format!("{}: the cache {why}; nothing is remembered", path.display()));
            return Self::in_memory(own, None);
        }
        match load(path) {
            Ok(Some((state, seen))) => {
                let mut store = Self { seen: Some(seen), ..Self::with(Some(path.to_owned()), state, own) };
                if let Err(error) = is_writable(path) {
                    store.state = State::new(store.state.salt().to_vec());
                    store.warn_once(path, Err(error), log);
                }
                return store;
            }
            Ok(None) => {}
            Err(why) => {
                let aside = set_aside(path);
                let moved = aside.map_or_else(String::new, |aside| format!(" and was moved to {}", aside.display()));
                log.warning(format!("{}: the cache {why}{moved}; every address is sent again", path.display()));
            }
        }
        let mut store = Self::with(Some(path.to_owned()), State::new(new_salt()), own);
        let begun = store.begin(path);
        store.warn_once(path, begun, log);
        store
    }

    /// What a file holds, for somebody who only looks: nothing is made, locked, moved or written. None where there is no
    /// file, or it is empty; an error that continues `the cache`, where a synchronization could not use it either.
    pub(crate) fn peek(path: &Path) -> Result<Option<State>, String> {
        match unfit(path) {
            Some(why) => Err(why.to_owned()),
            None => load(path).map(|found| found.map(|(state, _)| state)),
        }
    }

    fn with(path: Option<PathBuf>, state: State, own: u32) -> Self {
        Self {
            path,
            group: None,
            state,
            seen: None,
            unsaved: Changed::default(),
            own,
            keep: Duration::ZERO,
            oldest_unsaved: None,
            has_warned: false,
        }
    }

    /// Makes a file, or takes the one that another process made just now: processes that start at the same moment
    /// agree on one salt, and so on one name for each callback.
    fn begin(&mut self, path: &Path) -> io::Result<()> {
        let (file, seen) = lock(path, LOCK_PATIENCE)?;
        if let Ok(Some(theirs)) = parse(&file, seen) {
            (self.state, self.seen) = (theirs, Some(seen));
        } else {
            replace(path, self.state.to_text().as_bytes(), Durability::Process)?;
            self.seen = stamp(path);
        }
        Ok(())
    }

    fn warn_once(&mut self, path: &Path, written: io::Result<()>, log: &Log<'_>) {
        if let Err(error) = written
            && !self.has_warned
        {
            self.has_warned = true;
            let path = path.display();
            let effect = "what it says does not count, and the next run sends every address again";
            log.warning(format!("{path}: the cache cannot be written ({error}); {effect}"));
        }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Forgets what callbacks of other hosts had accepted of the updates that this host sends: once it has sent them, theirs are
    /// not what the name has.
    pub(crate) fn disown(&mut self, own: &HashSet<EntryKey>) {
        let names: HashSet<(&Domain, Family)> = own.iter().map(|key| (&key.domain, key.family)).collect();
        let is_theirs = |key: &EntryKey| names.contains(&(&key.domain, key.family)) && !own.contains(key);
        let theirs: Vec<EntryKey> = self.state.keys().filter(is_theirs).collect();
        for key in theirs {
            self.set(key, Entry::default());
        }
    }

    /// Forgets what is too old, in the store of a group: a file is looked through whenever it is written.
    pub(crate) fn prune(&mut self, now: u64) {
        let before: HashSet<EntryKey> = self.state.keys().collect();
        self.state.prune(self.keep, now);
        self.unsaved.entries.extend(before.into_iter().filter(|key| self.state.pair(key).1.is_none()));
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    /// Keeps entries that are younger than `max_age`.
    pub(crate) fn keep(&mut self, max_age: Duration) {
        self.keep = self.keep.max(max_age);
    }

    /// Remembers an entry; it is on the disk after the next [`Store::save`].
    pub(crate) fn set(&mut self, key: EntryKey, entry: Entry) {
        // Nothing waits for the store of a group without need.
        if self.is_of_group() && self.state.entry(&key) == entry {
            return;
        }
        self.state.set(&key, entry);
        self.unsaved.entries.insert(key);
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    /// Marks an entry that a configuration file sends to an origin.
    pub(crate) fn mark(&mut self, key: EntryKey, entry: Entry, by: Fingerprint) {
        self.state.note_maker(key.callback, by);
        self.set(key, entry);
    }

    /// Remembers what keeps an update from being sent; it is on the disk after the next [`Store::save`].
    pub(crate) fn set_hold(&mut self, key: &EntryKey, hold: Hold) {
        if self.is_of_group() && self.state.hold(key) == hold {
            return;
        }
        self.state.set_hold(key, hold);
        self.unsaved.entries.insert(key.clone());
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    /// Remembers failures in a row; they are on the disk after the next [`Store::save`].
    pub(crate) fn set_streak(&mut self, key: EntryKey, streak: Streak) {
        self.state.set_streak(&key, streak);
        self.unsaved.streaks.insert(key);
        self.oldest_unsaved.get_or_insert_with(Instant::now);
    }

    pub(crate) fn is_of_group(&self) -> bool {
        self.group.is_some()
    }

    /// Whether the file could not be written when it was last tried.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_warned
    }

    /// Takes in what other processes wrote since.
    pub(crate) fn refresh(&mut self, now: u64) {
        let Some(path) = &self.path else { return };
        let seen = stamp(path);
        if seen.is_none() || seen == self.seen || self.has_warned {
            return;
        }
        if let Ok(Some((mut on_disk, seen))) = load(path)
            && on_disk.salt() == self.state.salt()
        {
            on_disk.merge(&self.state, &self.unsaved, self.own, now);
            (self.state, self.seen) = (on_disk, Some(seen));
        }
    }

    /// When the oldest news must be on the disk.
    pub(crate) fn save_by(&self) -> Option<Instant> {
        let patience = if self.is_of_group() { Duration::ZERO } else { SAVE_EVERY };
        self.oldest_unsaved.map(|since| since + patience)
    }

    /// Writes what changed. Where a mark cannot be written, the file is removed: it says that an address is known which is
    /// about to be replaced.
    pub(crate) fn save(&mut self, now: u64, durability: Durability, log: &Log<'_>) {
        if let Some(permit) = &self.group {
            permit.write(self.unsaved.keys().map(|key| self.state.pair(key)));
            self.unsaved.clear();
        }
        let Some(path) = self.path.clone().filter(|_| !self.unsaved.is_empty()) else {
            self.oldest_unsaved = None;
            return;
        };
        let written = self.write(&path, now, durability);
        if written.is_ok() {
            self.unsaved.clear();
            self.oldest_unsaved = None;
            self.has_warned = false;
        } else {
            let is_mark = |key: &EntryKey| self.state.entry(key).in_doubt.is_some_and(|doubt| doubt.by == self.own);
            if self.unsaved.entries.iter().any(is_mark) {
                discard(&path);
                self.seen = None;
            }
            // It is tried again, but not at once.
            self.oldest_unsaved = Some(Instant::now());
        }
        self.warn_once(&path, written, log);
    }

    /// What other processes saved meanwhile is kept: the file is read again under the lock and what we changed is put on
    /// top.
    fn write(&mut self, path: &Path, now: u64, durability: Durability) -> io::Result<()> {
        // Who holds it for long is not waited for again and again.
        let (file, seen) = lock(path, if self.has_warned { Duration::ZERO } else { LOCK_PATIENCE })?;
        if self.seen != Some(seen) {
            if let Ok(Some(mut on_disk)) = parse(&file, seen)
                && on_disk.salt() == self.state.salt()
            {
                on_disk.merge(&self.state, &self.unsaved, self.own, now);
                self.state = on_disk;
            }
            // Somebody who could not wait for the lock may have removed it: what we have read does not count then.
            if !seen.is_at(path) {
                return Err(io::Error::other("it was replaced meanwhile"));
            }
        }
        self.state.prune(self.keep, now);
        self.seen = None;
        replace(path, self.state.to_text().as_bytes(), durability)?;
        // Still under the lock on what was there before: nobody else can have put another in its place.
        self.seen = stamp(path);
        Ok(())
    }
}

/// The file that is there now.
fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().as_ref().map(Stamp::of)
}

fn new_salt() -> Vec<u8> {
    let mut salt = vec![0; 16];
    // Without a source of randomness the hash is still one-way; two files would merely share a salt.
    let _ = getrandom::fill(&mut salt);
    salt
}
