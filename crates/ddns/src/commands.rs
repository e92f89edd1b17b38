//! Commands beside the synchronization itself: one file each.

pub(crate) mod addresses;
pub(crate) mod demo;
pub(crate) mod help;
