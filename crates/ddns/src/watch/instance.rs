//! One service for one cache: it holds a lock on a file beside the cache, which contains its process number.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::open_file::{beside, folder_of, make_private, open_own};

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
        let Ok(mut file) = open_own(&path, &mut options) else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => {}
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
