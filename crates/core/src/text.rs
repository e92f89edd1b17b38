//! Texts: JSON with places, diagnostics, durations, secrets in foreign texts, the form of a log line.

pub mod diagnostic;
pub mod duration;
pub(crate) mod hex;
pub mod json;
pub mod log_format;
pub mod secrets;
