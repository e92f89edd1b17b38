//! Cache files: reading, locking and replacing one as a whole.

use std::fmt::Display;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ddns_core::engine::Durability;
use ddns_core::update::state::State;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::open_file::{Stamp, beside, folder_of, make_private, open_own, reason};

/// A larger file is no cache of ddns: two million updates need less.
const MAX_CACHE_BYTES: u64 = 1 << 30;

/// How many damaged files are kept.
const MAX_SET_ASIDE: usize = 9;

/// Why a path cannot be a cache: renaming over a device, for example, would do harm.
pub(crate) fn unfit(path: &Path) -> Option<&'static str> {
    // A link is refused, too: in a folder that others can write to, it could lead to any file.
    let is_strange = |metadata: Metadata| !metadata.is_file();
    if fs::symlink_metadata(path).is_ok_and(is_strange) {
        return Some("is not a regular file");
    }
    // In the temporary folder, which all users share, another user may have created the folder first.
    let folder = folder_of(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let owner = folder.strip_prefix("ddns-")?;
    let own = rustix::process::getuid().as_raw();
    let is_in_temporary = *owner == own.to_string();
    let is_foreign = |folder: Metadata| folder.is_symlink() || folder.uid() != own || folder.mode() & 0o022 != 0;
    let is_taken = is_in_temporary && fs::symlink_metadata(folder_of(path)).is_ok_and(is_foreign);
    is_taken.then_some("is in a folder that others can change")
}

/// `None` if there is no file, or it is empty. The error says why the file is of no use.
pub(super) fn load(path: &Path) -> Result<Option<(State, Stamp)>, String> {
    let cannot = |error: io::Error| format!("cannot be read ({})", reason(&error));
    match open_own(path, OpenOptions::new().read(true)) {
        Ok(file) => {
            // Taken before reading, so that no change in between goes unnoticed.
            let seen = Stamp::of(&file.metadata().map_err(cannot)?);
            Ok(parse(&file, seen)?.map(|state| (state, seen)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error)),
    }
}

/// The content of an open file; `None` if it is empty.
pub(super) fn parse(file: &File, seen: Stamp) -> Result<Option<State>, String> {
    if seen.size > MAX_CACHE_BYTES {
        return Err(format!("is damaged (it is larger than {} MiB)", MAX_CACHE_BYTES >> 20));
    }
    // `File::read_to_string` would ask for the size again.
    let mut text = String::with_capacity(usize::try_from(seen.size).unwrap_or(0) + 1);
    match file.take(MAX_CACHE_BYTES).read_to_string(&mut text) {
        Ok(0) => Ok(None),
        Ok(_) => State::from_text(&text).map(Some).ok_or_else(|| {
            let is_of_other = State::is_of_other_client(&text);
            (if is_of_other { "belongs to another client (NewFuture/DDNS)" } else { "is damaged" }).to_owned()
        }),
        Err(error) => Err(format!("cannot be read ({})", reason(&error))),
    }
}

/// Moves a file aside, so that a person can look at it later; never over an earlier one.
pub(super) fn set_aside(path: &Path) -> Option<PathBuf> {
    let names = (1..=MAX_SET_ASIDE).map(|number| match number {
        1 => beside(path, ".damaged"),
        _ => beside(path, &format!(".damaged-{number}")),
    });
    let aside = names.into_iter().find(|name| fs::symlink_metadata(name).is_err())?;
    fs::rename(path, &aside).is_ok().then_some(aside)
}

/// Opens the file, creates it and its folder if they are missing, and locks it until it is dropped. On a file system
/// without locks it is only opened.
///
/// The file may be replaced while ddns waits for its lock; the path is then opened again.
pub(super) fn lock(path: &Path, patience: Duration) -> io::Result<(File, Stamp)> {
    let start = Instant::now();
    loop {
        let file = match open_own(path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_private(folder_of(path))?;
                let mut options = OpenOptions::new();
                match options.create_new(true).read(true).write(true).mode(0o600).open(path) {
                    // Another process created it first.
                    Err(error) if error.kind() == ErrorKind::AlreadyExists && start.elapsed() < patience => continue,
                    opened => opened?,
                }
            }
            opened => opened?,
        };
        match file.try_lock() {
            Ok(()) => {
                let seen = Stamp::of(&file.metadata()?);
                if seen.is_at(path) {
                    return Ok((file, seen));
                }
            }
            Err(TryLockError::Error(_)) => {
                let seen = Stamp::of(&file.metadata()?);
                return Ok((file, seen));
            }
            Err(TryLockError::WouldBlock) if start.elapsed() >= patience => {
                return Err(io::Error::new(ErrorKind::WouldBlock, "another process has locked it"));
            }
            Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)),
        }
    }
}

/// Whether a file can be written or replaced: checked without writing.
pub(super) fn is_writable(path: &Path) -> io::Result<()> {
    match access(path, Access::WRITE_OK) {
        // With write access to its folder, ddns can replace the file.
        Err(Errno::ACCESS) => access(folder_of(path), Access::WRITE_OK | Access::EXEC_OK)?,
        tried => tried?,
    }
    Ok(())
}

/// Removes a file that must not be believed any more, or empties it if that fails.
pub(super) fn discard(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = open_own(path, OpenOptions::new().write(true)).and_then(|file| file.set_len(0));
    }
}

/// Writes the new content beside the old and renames it, both synced if power may fail: at no moment is the file
/// partial. Returns the written file, which another process may have replaced by then.
pub(crate) fn replace(path: &Path, content: &dyn Display, durability: Durability) -> io::Result<File> {
    let fresh = beside(path, ".new");
    match write_new(&fresh, content, durability).and_then(|file| fs::rename(&fresh, path).map(|()| file)) {
        Ok(file) => {
            if durability == Durability::Power {
                File::open(folder_of(path)).and_then(|folder| folder.sync_all())?;
            }
            Ok(file)
        }
        Err(error) => {
            let _ = fs::remove_file(&fresh);
            // A single file that is mounted into a container cannot be replaced, and its folder may not be writable.
            let in_place = matches!(
                error.kind(),
                ErrorKind::ResourceBusy
                    | ErrorKind::CrossesDevices
                    | ErrorKind::PermissionDenied
                    | ErrorKind::ReadOnlyFilesystem
            ) && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
            if in_place { write_over(path, content) } else { Err(error) }
        }
    }
}

/// Never follows a link or overwrites a file: what a killed run left is removed first.
fn write_new(path: &Path, content: &dyn Display, durability: Durability) -> io::Result<File> {
    let open = || OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    let mut file = match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()?
        }
        opened => opened?,
    };
    write!(file, "{content}")?;
    if durability == Durability::Power {
        file.sync_all()?;
    }
    Ok(file)
}

fn write_over(path: &Path, content: &dyn Display) -> io::Result<File> {
    let mut file = open_own(path, OpenOptions::new().write(true))?;
    file.set_len(0)?;
    write!(file, "{content}")?;
    file.sync_all()?;
    Ok(file)
}
