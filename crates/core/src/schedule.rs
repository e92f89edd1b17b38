//! Timing: which update is sent next, how many at once, how long to wait after a failure, and when to look up addresses.

pub mod backoff;
mod debounce;
pub mod limiter;
pub mod lookups;
pub mod queue;
pub mod retry_after;
