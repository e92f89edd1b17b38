//! Noticing that a file of the configuration changed. The folders are watched, since editors put a new file in the place
//! of the old one; what happens to other files there is passed over.

use std::fs;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::SystemTime;

#[cfg(target_os = "linux")]
use super::readable::Readable;
use crate::sync::Stamp;

/// The files of a configuration, and how they were.
#[derive(Default)]
pub(super) struct Files {
    known: Vec<(PathBuf, Option<Stamp>)>,
    #[cfg(target_os = "linux")]
    folders: Option<Readable>,
}

impl Files {
    /// Watches these from now on. Where that is not possible, changes are noticed by [`Files::changed`] alone.
    pub(super) fn watch(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.known = paths.into_iter().map(|path| (path, None)).collect();
        #[cfg(target_os = "linux")]
        {
            self.folders = self.watched_folders().ok();
        }
        self.changed();
    }

    /// Whether a file changed since then: before it was watched, perhaps.
    pub(super) fn changed_since(&self, then: SystemTime) -> bool {
        let mut changes = self.known.iter().filter_map(|(_, known)| known.map(|known| known.changed()));
        changes.any(|at| at >= then)
    }

    /// Whether a file is another than when this was last asked.
    pub(super) fn changed(&mut self) -> bool {
        let mut changed = false;
        for (path, known) in &mut self.known {
            let now = stamp(path);
            changed |= now != *known;
            *known = now;
        }
        changed
    }

    /// Ready where a file changed.
    #[cfg(target_os = "linux")]
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut buffer = [0; 4096];
        while let Some(folders) = &self.folders {
            match folders.poll(context, &mut buffer) {
                Poll::Ready(Ok(_)) if self.changed() => return Poll::Ready(()),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) => self.folders = None,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "where it can be noticed, it is noticed here")]
    pub(super) fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    #[cfg(target_os = "linux")]
    fn watched_folders(&self) -> std::io::Result<Readable> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let events = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE | WatchFlags::DELETE;
        for (path, _) in &self.known {
            // A link may lead elsewhere: the file itself is watched, too.
            for folder in [Some(path.clone()), fs::canonicalize(path).ok()].into_iter().flatten() {
                let folder = folder.parent().filter(|folder| !folder.as_os_str().is_empty());
                let _ = add_watch(&inotify, folder.unwrap_or(std::path::Path::new(".")), events);
            }
        }
        Readable::new(inotify)
    }
}

fn stamp(path: &std::path::Path) -> Option<Stamp> {
    fs::metadata(path).ok().as_ref().map(Stamp::of)
}
