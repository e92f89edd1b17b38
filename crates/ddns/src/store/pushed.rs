//! Pushed addresses (F10), in a file beside the cache. Only the service that holds the lock of that cache writes it.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use ddns_core::address::pushed::PushMemory;
use ddns_core::engine::Durability;

use super::file::{replace, unfit};
use crate::open_file::{beside, folder_of, make_private, open_own};

/// The size limit of the files that ddns writes.
const MAX_BYTES: u64 = 1 << 20;

/// The file that belongs to a cache.
pub(crate) fn pushed_beside(cache: &Path) -> PathBuf {
    beside(cache, ".push")
}

/// What is remembered; empty if there is no file. The error is a phrase that follows the subject.
pub(crate) fn recall(path: &Path) -> Result<PushMemory, String> {
    let file = match open_own(path, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PushMemory::default()),
        opened => opened.map_err(|error| format!("cannot be read ({error})"))?,
    };
    let mut text = String::new();
    let read = file.take(MAX_BYTES).read_to_string(&mut text);
    let known = read.ok().and_then(|_| PushMemory::from_text(&text));
    known.ok_or_else(|| format!("cannot be read: {} is damaged", path.display()))
}

/// Remembers it so that it survives a loss of power.
pub(crate) fn remember(path: &Path, memory: &PushMemory) -> io::Result<()> {
    if let Some(why) = unfit(path) {
        return Err(io::Error::other(why));
    }
    make_private(folder_of(path))?;
    replace(path, &memory.text(), Durability::Power).map(drop)
}
