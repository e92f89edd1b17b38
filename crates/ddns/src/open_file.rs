//! Opens files: only regular ones, and without waiting. A pipe in the place of a file would stop the service.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Access, OFlags, access};

/// Tells a file from any other: device and inode.
pub(crate) type Identity = (u64, u64);

pub(crate) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Tells a file from any other, and from itself at another time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: Identity,
    pub(crate) size: u64,
    changed: (i64, i64),
    modified: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            file: identity(metadata),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// The stamp of the file that is at this path now.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::of)
    }

    /// When the file was last changed, or moved to its place.
    pub(crate) fn changed(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.changed;
        let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
        SystemTime::UNIX_EPOCH + since
    }

    /// Whether the file is the one at this path, changed or not.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| identity(&metadata) == self.file)
    }
}

/// Opens a file of ddns, and follows no link: in a folder that others can write to, a link could lead to any file.
pub(crate) fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open(path, options, OFlags::NOFOLLOW)
}

/// Opens a file for reading; it may be a link.
pub(crate) fn open_any(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true), OFlags::empty())
}

/// Writes a new file that only its owner can read, and creates the folders above it; never replaces a file.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder_of(path))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    // Remove a partial file: this call created it.
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// Whether [`create`] could create a file there, judging by the folders. Changes nothing.
pub(crate) fn check_creatable(path: &Path) -> io::Result<()> {
    let mut folder = folder_of(path);
    loop {
        match fs::metadata(folder) {
            Ok(metadata) if metadata.is_dir() => return Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?),
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            // `create` makes this folder, if the one above is writable.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder != folder_of(folder) => {
                folder = folder_of(folder);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The error text of the system, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Why a file cannot be written: a phrase that follows its name.
pub(crate) fn cannot_write(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "cannot be written by this user".to_owned(),
        _ => format!("cannot be written ({})", reason(error)),
    }
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a folder that only its owner can open, and those above it.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The path with this ending appended.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn open(path: &Path, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    let file = options.custom_flags(bits(flags | OFlags::NONBLOCK)).open(path).map_err(|error| {
        let is_link =
            flags.contains(OFlags::NOFOLLOW) && error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
        if is_link { not_regular() } else { error }
    })?;
    let metadata = file.metadata()?;
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(file),
        (_, true) => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(not_regular()),
    }
}

/// Flags as the standard library takes them.
pub(crate) fn bits(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}
