//! Notices that a file of the configuration changed. ddns watches the folders, since editors put a new file in the
//! place of the old one; changes of other files there are ignored.

use std::io;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::SystemTime;

use crate::open_file::Stamp;
use crate::platform::Folders;

/// The files of a configuration, and their last known versions.
#[derive(Default)]
pub(super) struct Files {
    known: Vec<(PathBuf, Option<Stamp>)>,
    folders: Option<Folders>,
}

impl Files {
    /// Watches these files from now on. Returns why changes are noticed only when the service wakes anyway; `None` if
    /// they are noticed at once.
    pub(super) fn watch(&mut self, paths: impl IntoIterator<Item = PathBuf>) -> Option<io::Error> {
        self.known = paths.into_iter().map(|path| (path, None)).collect();
        let folders = Folders::around(self.known.iter().map(|(path, _)| path));
        self.changed();
        let (folders, failure) = folders.map_or_else(|error| (None, Some(error)), |folders| (Some(folders), None));
        self.folders = folders;
        failure
    }

    /// Whether a file changed after this time, perhaps before it was watched.
    pub(super) fn changed_since(&self, then: SystemTime) -> bool {
        let mut changes = self.known.iter().filter_map(|(_, known)| known.map(|known| known.changed()));
        changes.any(|at| at >= then)
    }

    /// Whether a file differs from the last call.
    pub(super) fn changed(&mut self) -> bool {
        let mut changed = false;
        for (path, known) in &mut self.known {
            let now = Stamp::at(path);
            changed |= now != *known;
            *known = now;
        }
        changed
    }

    /// Ready if a file changed. If the folders cannot be watched, every call looks at the files.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(folders) = &self.folders {
            match folders.poll(context) {
                Poll::Ready(Ok(())) if self.changed() => return Poll::Ready(()),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.folders = None,
                Poll::Pending => return Poll::Pending,
            }
        }
        if self.changed() { Poll::Ready(()) } else { Poll::Pending }
    }
}
