//! One service for one cache: the first one holds a lock beside the file, with its process number in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::open_file::{beside, folder_of, make_private, open_own};

/// Held as long as the service runs on the cache.
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// None where the system does not let us lock: the service runs without. Fails with a sentence where another service
    /// holds it.
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
        // While it is still locked: no other process can hold the file.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}
