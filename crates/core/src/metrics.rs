//! Metrics (I3): what happened, counted, and how every update stands, as the text that Prometheus reads; and whether a
//! service is ready.

mod counts;
mod readiness;
mod text;

pub use counts::{Counts, Histogram};
pub use readiness::ServiceReadiness;
pub use text::{CONTENT_TYPE, ServiceTime, text};

#[cfg(test)]
mod tests;
