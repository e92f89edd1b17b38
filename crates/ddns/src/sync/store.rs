//! The cache file (E4): read whole, written whole and renamed into place under a lock, for the owner's eyes only.
//!
//! Nothing here fails a synchronization. What cannot be read is set aside and everything is told again; what cannot be
//! written is told as a warning, once, and remembered for the rest of the run.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ddns_core::update::state::{Accepted, EntryKey, News, State};

use crate::output::log::Log;

/// News is on the disk after this long at the latest.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// How long another process may hold the lock before we go on without saving.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// So many damaged files are kept beside each other.
const MOST_SET_ASIDE: usize = 9;

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

/// Tells one file from any other, and from itself at another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    size: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// How much a write must withstand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of this process.
    Process,
    /// The end of the machine's power.
    Power,
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
                let told = aside.map_or_else(String::new, |aside| format!(" and was set aside as {}", aside.display()));
                log.warning(format!("{}: the cache {why}{told}; every address is told again", path.display()));
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
            let effect = "what is accepted now is told again next time";
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

/// Why a path cannot hold a cache at all: renaming over a device, say, would do harm.
fn unfit(path: &Path) -> Option<&'static str> {
    let is_strange = |metadata: Metadata| !metadata.is_file();
    if fs::metadata(path).is_ok_and(is_strange) {
        return Some("is no regular file");
    }
    // In a folder that all share, one that another user made first is not for us.
    let folder = folder_of(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let owner = folder.strip_prefix("ddns-")?;
    let own = rustix::process::getuid().as_raw();
    let is_in_temporary = *owner == own.to_string();
    let is_foreign = |folder: Metadata| folder.is_symlink() || folder.uid() != own || folder.mode() & 0o022 != 0;
    let is_taken = is_in_temporary && fs::symlink_metadata(folder_of(path)).is_ok_and(is_foreign);
    is_taken.then_some("lies in a folder of another user")
}

fn stamp(file: &File) -> Option<Stamp> {
    file.metadata().ok().as_ref().map(Stamp::of)
}

/// None where there is no file; why it is of no use where there is one.
fn load(path: &Path) -> Result<Option<(State, Option<Stamp>)>, String> {
    match File::open(path) {
        Ok(mut file) => {
            // Taken before it is read: a change that comes between does not pass unnoticed.
            let seen = stamp(&file);
            Ok(parse(&mut file)?.map(|state| (state, seen)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be read ({error})")),
    }
}

/// What an open file holds; none where it is empty.
fn parse(file: &mut File) -> Result<Option<State>, String> {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(0) => Ok(None),
        Ok(_) => State::from_text(&text).map(Some).ok_or_else(|| "is damaged".to_owned()),
        Err(error) => Err(format!("cannot be read ({error})")),
    }
}

/// Moves a file out of the way, so that a person can look at it later; none of those before it is lost.
fn set_aside(path: &Path) -> Option<PathBuf> {
    let names = (1..=MOST_SET_ASIDE).map(|number| match number {
        1 => beside(path, ".damaged"),
        _ => beside(path, &format!(".damaged-{number}")),
    });
    let aside = names.into_iter().find(|name| fs::symlink_metadata(name).is_err())?;
    fs::rename(path, &aside).is_ok().then_some(aside)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file, made with its folder where it is missing, and locked until it is dropped. On a file system without locks
/// it is merely open.
///
/// A file that was replaced while we waited is not the one to lock: the name is looked at again.
fn lock(path: &Path) -> io::Result<File> {
    let start = Instant::now();
    loop {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder_of(path))?;
                OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?
            }
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::Error(_)) => return Ok(file),
            Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_PATIENCE => {
                return Err(io::Error::new(ErrorKind::WouldBlock, "another process keeps it locked"));
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let open = file.metadata().map(identity).ok();
    open.is_some() && open == fs::metadata(path).map(identity).ok()
}

/// New content beside the old, renamed over it, both synced where power may fail: at no moment is there half a file.
fn replace(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    // A link is followed: renaming over it would cut it.
    let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    let path = &if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    let fresh = beside(path, ".new");
    match write_new(&fresh, content, durability).and_then(|()| fs::rename(&fresh, path)) {
        Ok(()) if durability == Durability::Power => File::open(folder_of(path)).and_then(|folder| folder.sync_all()),
        Ok(()) => Ok(()),
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
            if in_place { write_over(path, content) } else { Err(error) }
        }
    }
}

/// Never through a link, and never over what is there: a leftover of a killed run is removed first.
fn write_new(path: &Path, content: &[u8], durability: Durability) -> io::Result<()> {
    let open = || OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    let mut file = match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()?
        }
        opened => opened?,
    };
    file.write_all(content)?;
    if durability == Durability::Power { file.sync_all() } else { Ok(()) }
}

fn write_over(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().truncate(true).write(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}
