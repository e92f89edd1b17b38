//! Notices changes in folders.

use std::io;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, ready};

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::Errno;

use super::readable::Readable;

pub(crate) struct Folders(Readable);

impl Folders {
    /// Watches the folders that these files are in; fails if one of them cannot be watched.
    pub(crate) fn around<'a>(files: impl Iterator<Item = &'a PathBuf>) -> io::Result<Self> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let events = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::DELETE;
        for path in files {
            // A link may lead to another folder, which is watched, too.
            for folder in [Some(path.clone()), path.canonicalize().ok()].into_iter().flatten() {
                let folder = folder.parent().filter(|folder| !folder.as_os_str().is_empty());
                match add_watch(&inotify, folder.unwrap_or(Path::new(".")), events) {
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Readable::new(inotify).map(Self)
    }

    /// Ready if something happened to a file there; fails if that can no longer be noticed.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut buffer = [0; 4096];
        Poll::Ready(ready!(self.0.poll(context, &mut buffer)).map(drop).map_err(io::Error::from))
    }
}
