//! How much of a response is read.

/// The limit of most bodies (D4, F4).
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// The limit of a body that may be long.
pub(super) const MAX_LONG_BODY_BYTES: usize = 4 * 1024 * 1024;

/// A response whose head is longer than this, or has more headers, is a failure.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;
pub(super) const MAX_HEADERS: usize = 256;

/// How much may come before the head of the final response is complete: the head itself, and interim responses.
pub(super) const MAX_BYTES_BEFORE_HEAD: usize = 2 * MAX_HEAD_BYTES;
