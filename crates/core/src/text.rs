//! Texts: JSON with places, diagnostics, secrets in foreign texts, the form of a log line.

pub mod calendar;
pub mod certificate;
pub mod diagnostic;
pub(crate) mod hex;
pub mod json;
pub mod log_format;
pub mod secrets;
