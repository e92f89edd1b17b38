//! Commands beside the synchronization itself: one file each.

pub(crate) mod addresses;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod help;
pub(crate) mod init;
pub(crate) mod man;
