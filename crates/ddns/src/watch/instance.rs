//! One service for one cache: it holds a lock on a file beside the cache, which contains its process number.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::open_file::{Stamp, beside, folder_of, make_private, open_own};

/// Held as long as the service uses the cache.
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// `None` if the system cannot lock: the service runs without. Fails with a sentence if another service holds the
    /// lock.
    pub(super) fn take(cache: &Path) -> Result<Option<Self>, String> {
        let path = beside(cache, ".watch");
        let _ = make_private(folder_of(&path));
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).read(true).mode(0o600);
        let mut file = loop {
            let Ok(file) = open_own(&path, &mut options) else { return Ok(None) };
            match file.try_lock() {
                // The previous holder may have removed the file before it was locked here: that keeps nobody out.
                Ok(()) if file.metadata().is_ok_and(|metadata| !Stamp::of(&metadata).is_at(&path)) => {}
                Ok(()) => break file,
                Err(TryLockError::Error(_)) => return Ok(None),
                Err(TryLockError::WouldBlock) => {
                    let holder = io::read_to_string(&file).unwrap_or_default();
                    let holder = match holder.trim() {
                        "" => "another process".to_owned(),
                        process => format!("process {process}"),
                    };
                    let cache = cache.display();
                    return Err(format!(
                        "{holder} already uses the cache {cache}: stop it first, or set a different `cache`"
                    ));
                }
            }
        };
        let _ = file.set_len(0);
        let _ = writeln!(file, "{}", std::process::id());
        Ok(Some(Self { path, file }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is still locked, so that no file of another process is removed.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    /// Each holder removes the file that others are about to lock.
    #[test]
    fn watch_one_service_at_a_time_holds_a_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, is_held) = (folder.path().join("cache.json"), AtomicBool::new(false));
        let take = || {
            for _ in 0..500 {
                if let Ok(Some(_lock)) = Lock::take(&cache) {
                    assert!(!is_held.swap(true, Ordering::SeqCst), "two services hold it");
                    thread::yield_now();
                    is_held.store(false, Ordering::SeqCst);
                }
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(take))));
    }
}
