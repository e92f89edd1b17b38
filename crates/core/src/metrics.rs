//! Metrics (I3): counts of what happened, and the state of every update, as text for Prometheus; and whether a service is ready.

mod counts;
mod readiness;
mod text;

pub use counts::{Counts, Histogram};
pub use readiness::ServiceReadiness;
pub use text::{CONTENT_TYPE, ServiceTime, text};

#[cfg(test)]
mod tests;
