//! Cache files (E4): read whole, written whole and renamed into place under a lock, for the owner's eyes only. The
//! engine decides what they contain, and when to read and write them.
//!
//! A cache never fails a synchronization. A file that cannot be read is set aside, and everything is sent again.

mod file;
mod pushed;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ddns_core::engine::plan::StoreId;
use ddns_core::engine::{Durability, Engine, Stored};
use ddns_core::update::state::State;

use crate::open_file::{Stamp, reason};
use crate::random::new_salt;
use file::{discard, is_writable, load, lock, parse, set_aside};

pub(crate) use file::{replace, unfit};
pub(crate) use pushed::{pushed_beside, recall, remember};

/// How long to wait for the lock of another process before ddns does without the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// A cache file.
pub(crate) struct FileStore {
    path: PathBuf,
    /// The version that the engine knows: if it is still there, no other process has written.
    seen: Option<Stamp>,
    /// Whether the file was read before.
    was_read: bool,
    /// Whether the last write failed.
    has_failed: bool,
}

impl FileStore {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, seen: None, was_read: false, has_failed: false }
    }

    /// Reads the file. The first time, a damaged file is set aside.
    pub(crate) fn read(&mut self) -> Stored {
        if std::mem::replace(&mut self.was_read, true) {
            return self.read_again();
        }
        if let Some(why) = unfit(&self.path) {
            return Stored::Unfit(why);
        }
        match load(&self.path) {
            Ok(Some((state, seen))) => {
                self.seen = Some(seen);
                let unwritable = is_writable(&self.path).err().map(|error| reason(&error));
                self.has_failed = unwritable.is_some();
                Stored::Known { state: Box::new(state), unwritable }
            }
            Ok(None) => Stored::Missing { salt: new_salt() },
            Err(why) => {
                let moved = set_aside(&self.path).map(|aside| aside.display().to_string());
                Stored::Damaged { salt: new_salt(), why, moved }
            }
        }
    }

    /// Reads what other processes have written since.
    fn read_again(&mut self) -> Stored {
        let seen = Stamp::at(&self.path);
        if seen.is_none() || seen == self.seen {
            return Stored::Unchanged;
        }
        match load(&self.path) {
            Ok(Some((state, seen))) => {
                self.seen = Some(seen);
                Stored::Known { state: Box::new(state), unwritable: None }
            }
            _ => Stored::Unchanged,
        }
    }

    /// Writes what the engine knows. What other processes saved meanwhile is kept: the file is read again under the
    /// lock, and the engine's changes are put on top.
    pub(crate) fn persist(&mut self, store: StoreId, engine: &mut Engine, durability: Durability) -> io::Result<()> {
        let written = self.write(store, engine, durability);
        self.has_failed = written.is_err();
        written
    }

    fn write(&mut self, store: StoreId, engine: &mut Engine, durability: Durability) -> io::Result<()> {
        // After a failure, ddns does not wait for the lock again.
        let (file, seen) = lock(&self.path, if self.has_failed { Duration::ZERO } else { LOCK_TIMEOUT })?;
        if self.seen != Some(seen) {
            engine.merge(store, parse(&file, seen).ok().flatten());
            // A process that could not wait for the lock may have removed the file: what was read does not count then.
            if !seen.is_at(&self.path) {
                return Err(io::Error::other("it was replaced meanwhile"));
            }
        }
        self.seen = None;
        let written = replace(&self.path, engine.text(store), durability)?;
        // Not of what is at the path: the lock is on the file that was replaced, so that another process may have
        // replaced the new one by now.
        self.seen = written.metadata().ok().as_ref().map(Stamp::of);
        Ok(())
    }

    /// Removes the file: its content must not be believed any more.
    pub(crate) fn discard(&mut self) {
        discard(&self.path);
        self.seen = None;
    }
}

/// Changes a file, unless `change` returns that there was nothing to change. A file that cannot be written is removed.
pub(crate) fn edit(path: &Path, change: impl Fn(&mut State) -> bool) {
    let is_needed = peek(path).ok().flatten().is_some_and(|mut state| change(&mut state));
    let edited = || -> io::Result<()> {
        let (file, seen) = lock(path, LOCK_TIMEOUT)?;
        let state = parse(&file, seen).ok().flatten();
        let mut state = state.ok_or_else(|| io::Error::other("it cannot be read"))?;
        change(&mut state);
        if !seen.is_at(path) {
            return Err(io::Error::other("it was replaced meanwhile"));
        }
        replace(path, &state, Durability::Power).map(drop)
    };
    if is_needed && edited().is_err() {
        discard(path);
    }
}

/// The content of a file, for reading only: nothing is created, locked, moved or written. `None` if there is no file,
/// or it is empty. The error continues `the cache`; a synchronization could not use the file either.
pub(crate) fn peek(path: &Path) -> Result<Option<State>, String> {
    match unfit(path) {
        Some(why) => Err(why.to_owned()),
        None => load(path).map(|found| found.map(|(state, _)| state)),
    }
}
