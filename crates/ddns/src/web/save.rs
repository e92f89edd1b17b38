//! Reads and replaces a configuration file for the page: completely or not at all. Its mode, owner and access control lists stay the same.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::{Gid, Uid, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::load::read_text;
use crate::open_file::{self, cannot_write};
use crate::random::random;

/// The longest list of extended attributes on Linux, and the longest value of one, in bytes.
const MAX_XATTR_BYTES: usize = 64 * 1024;

/// A file that was read.
pub(super) struct Opened {
    pub(super) text: String,
    /// Changes with the file. It reveals nothing about the text, which contains secrets.
    pub(super) version: String,
}

/// Reads a file, or says why it cannot be read: a phrase that follows its name.
pub(super) fn open(name: &str) -> Result<Opened, String> {
    let version = fs::metadata(name).map(|metadata| version(&metadata)).unwrap_or_default();
    Ok(Opened { text: read_text(name)?, version })
}

fn version(metadata: &Metadata) -> String {
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let times = times.map(|number| format!("{number:x}")).join("-");
    format!("{:x}-{:x}-{:x}-{times}", metadata.dev(), metadata.ino(), metadata.size())
}

/// Replaces the text of the file that has this version; if the name is a link, that of the file behind it. Fails with a phrase
/// that follows its name; `None`: the file was changed in the meantime.
pub(super) fn replace(name: &str, edited: &str, text: &str) -> Result<(), Option<String>> {
    let failed = |error: io::Error| Some(cannot_write(&error));
    let path = fs::canonicalize(name).map_err(failed)?;
    let before = fs::metadata(&path).map_err(failed)?;
    if before.permissions().readonly() {
        return Err(Some("is read-only: make it writable, or edit it on the host".to_owned()));
    }
    let new = beside(&path).map_err(failed)?;
    let is_same = || fs::metadata(&path).is_ok_and(|now| version(&now) == edited);
    let replaced = write(&new, (&path, &before), text)
        .map_err(failed)
        .and_then(|()| if is_same() { fs::rename(&new, &path).map_err(failed) } else { Err(None) });
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    } else if let Some(Ok(folder)) = path.parent().map(File::open) {
        // The file is saved in any case; if this fails, a power cut may undo the renaming.
        let _ = folder.sync_all();
    }
    replaced
}

/// A random name in the same folder, so that no other file has it.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:016x}", u64::from_ne_bytes(random()?))))
}

fn write(new: &Path, (path, before): (&Path, &Metadata), text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        let (user, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
        rustix::fs::fchown(&file, Some(user), Some(group))
            .map_err(|_| io::Error::other("it belongs to another user or group, which would be lost"))?;
    }
    copy_lists(&File::open(path)?, &file)
        .map_err(|_| io::Error::other("it has an access control list, which would be lost"))?;
    file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives a new file the access control lists of another one, and removes those that only its folder gave it.
fn copy_lists(from: &File, to: &File) -> io::Result<()> {
    let mut names = lists(from)?;
    names.extend(lists(to)?);
    for name in names {
        let (wanted, given) = (value(from, &name)?, value(to, &name)?);
        match wanted {
            wanted if wanted == given => {}
            Some(wanted) => fsetxattr(to, &name, &wanted, XattrFlags::empty())?,
            None => fremovexattr(to, &name)?,
        }
    }
    Ok(())
}

/// The names of a file's access control lists (POSIX, NFS); empty if the file system has none.
fn lists(file: &File) -> io::Result<Vec<String>> {
    let mut names = Vec::with_capacity(MAX_XATTR_BYTES);
    match flistxattr(file, spare_capacity(&mut names)) {
        Ok(_) => {}
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    Ok(names.filter(|name| name.starts_with("system.") && name.contains("acl")).map(str::to_owned).collect())
}

fn value(file: &File, name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut value = Vec::with_capacity(MAX_XATTR_BYTES);
    match fgetxattr(file, name, spare_capacity(&mut value)) {
        Ok(_) => Ok(Some(value)),
        Err(Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Writes a new file that nobody else can read; never overwrites one. Fails with a phrase that follows its name.
pub(super) fn create(path: &Path, text: &str) -> Result<(), String> {
    open_file::create(path, text).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => "exists already and is not overwritten".to_owned(),
        _ => cannot_write(&error),
    })
}
