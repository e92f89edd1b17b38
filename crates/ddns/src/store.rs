//! The cache file (E4): read whole, written whole and renamed into place under a lock, for the owner's eyes only.
//!
//! Nothing here fails a synchronization. What cannot be read is set aside and everything is told again; what cannot be
//! written is told as a warning, once.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ddns_core::state::{Accepted, EntryKey, News, State};

use crate::log::Log;

/// News is on the disk after this long at the latest.
pub(crate) const SAVE_EVERY: Duration = Duration::from_secs(1);

/// How long another process may hold the lock before we go on without saving.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// What is remembered, and what of it is not on the disk yet.
pub(crate) struct Store {
    /// None: in memory only.
    path: Option<PathBuf>,
    state: State,
    unsaved: News,
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
        let path = path.to_owned();
        let state = match load(&path) {
            Ok(Some(state)) => return Self::with(Some(path), state),
            Ok(None) => None,
            Err(why) => {
                // Said in one breath with what becomes of it.
                let told = set_aside(&path)
                    .map_or_else(String::new, |aside| format!(" and was set aside as {}", aside.display()));
                log.warning(format!("{}: the cache {why}{told}; every address is told again", path.display()));
                None
            }
        };
        let mut store = Self::with(Some(path.clone()), state.unwrap_or_else(|| State::new(new_salt())));
        let begun = store.begin(&path);
        store.warn_once(&path, begun, log);
        store
    }

    /// Makes an empty file, or takes the one that another process made just now: processes that start at the same
    /// moment agree on one salt, and so on one name for each callback.
    fn begin(&mut self, path: &Path) -> io::Result<()> {
        let _lock = lock_for(path)?;
        match load(path) {
            Ok(Some(theirs)) => self.state = theirs,
            _ => create(path)?.write_all(self.state.to_text().as_bytes())?,
        }
        Ok(())
    }

    fn warn_once(&mut self, path: &Path, written: io::Result<()>, log: &Log<'_>) {
        if let Err(error) = written
            && !self.has_warned
        {
            self.has_warned = true;
            let path = path.display();
            let effect = "what is accepted now is told again next time";
            log.warning(format!("{path}: the cache cannot be written ({error}); {effect}"));
        }
    }

    fn with(path: Option<PathBuf>, state: State) -> Self {
        Self { path, state, unsaved: News::new(), oldest_unsaved: None, has_warned: false }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Takes in what was learned; it is on the disk after the next [`Store::save`].
    pub(crate) fn learn(&mut self, key: EntryKey, entry: Option<Accepted>) {
        if entry.is_none() && self.state.last(key.callback, &key.domain, key.family).is_none() {
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
    pub(crate) fn save(&mut self, now: u64, log: &Log<'_>) {
        if self.unsaved.is_empty() {
            return;
        }
        if let Some(path) = self.path.clone() {
            let written = self.write(&path, now);
            self.warn_once(&path, written, log);
        }
        self.unsaved.clear();
        self.oldest_unsaved = None;
    }

    /// What other processes saved meanwhile is kept: the file is read again under the lock and our news is put on top.
    fn write(&mut self, path: &Path, now: u64) -> io::Result<()> {
        let _lock = lock_for(path)?;
        if let Ok(Some(mut on_disk)) = load(path)
            && on_disk.salt() == self.state.salt()
        {
            on_disk.merge(&self.unsaved, now);
            self.state = on_disk;
        }
        replace(path, self.state.to_text().as_bytes())
    }
}

fn new_salt() -> Vec<u8> {
    let mut salt = vec![0; 16];
    // Without a source of randomness the hash is still one-way; two files would merely share a salt.
    let _ = getrandom::fill(&mut salt);
    salt
}

/// None where there is no file; why it is of no use where there is one.
fn load(path: &Path) -> Result<Option<State>, String> {
    match fs::read_to_string(path) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => State::from_text(&text).map(Some).ok_or_else(|| "is damaged".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read ({error})")),
    }
}

/// Moves a file out of the way, so that a person can look at it later.
fn set_aside(path: &Path) -> Option<PathBuf> {
    let aside = beside(path, ".damaged");
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    (is_file && fs::rename(path, &aside).is_ok()).then_some(aside)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the folder and takes the lock, which is held until the file is dropped. On a file system without locks, and
/// in a folder that cannot be written to (a single file mounted into a container), there is none.
fn lock_for(path: &Path) -> io::Result<Option<File>> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder_of(path))?;
    let opened = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(beside(path, ".lock"));
    let file = match opened {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_PATIENCE => {
                return Err(io::Error::new(ErrorKind::WouldBlock, "another process keeps its lock"));
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)),
        }
    }
}

/// New content beside the old, synced, renamed over it, the folder synced: at no moment is there half a file.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link is followed: renaming over it would cut it.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fresh = beside(path, ".new");
    let written = write_synced(&fresh, content).and_then(|()| fs::rename(&fresh, path));
    match written {
        Ok(()) => File::open(folder_of(path)).and_then(|folder| folder.sync_all()),
        Err(error) => {
            let _ = fs::remove_file(&fresh);
            // A single file mounted into a container cannot be renamed over, and its folder may not be writable.
            let in_place = matches!(
                error.kind(),
                ErrorKind::ResourceBusy
                    | ErrorKind::CrossesDevices
                    | ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
            ) && fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
            if in_place { write_synced(path, content) } else { Err(error) }
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(content)?;
    file.sync_all()
}
