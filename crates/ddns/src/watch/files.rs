//! Noticing that a file of the configuration changed. The folders are watched, since editors put a new file in the place
//! of the old one; what happens to other files there is passed over.

use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::SystemTime;

use crate::open_file::Stamp;
use crate::platform::Folders;

/// The files of a configuration, and how they were.
#[derive(Default)]
pub(super) struct Files {
    known: Vec<(PathBuf, Option<Stamp>)>,
    folders: Option<Folders>,
}

impl Files {
    /// Watches these from now on. Where that is not possible, changes are noticed by [`Files::changed`] alone.
    pub(super) fn watch(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.known = paths.into_iter().map(|path| (path, None)).collect();
        self.folders = Folders::around(self.known.iter().map(|(path, _)| path)).ok();
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
            let now = Stamp::at(path);
            changed |= now != *known;
            *known = now;
        }
        changed
    }

    /// Ready where a file changed.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(folders) = &self.folders {
            match folders.poll(context) {
                Poll::Ready(Ok(())) if self.changed() => return Poll::Ready(()),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.folders = None,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Pending
    }
}
