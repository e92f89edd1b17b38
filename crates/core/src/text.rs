//! Texts: JSON with places, and of our own, diagnostics, durations, numbers, secrets in foreign texts, the form of a log line, words for a shell,
//! what may stand on a screen, names of values.

pub mod diagnostic;
pub mod diagnostics;
pub mod duration;
pub(crate) mod hex;
pub mod json;
pub mod log_format;
pub mod number;
pub mod order;
pub mod own_json;
pub mod screen;
pub mod secrets;
pub mod shell;
pub(crate) mod vocabulary;
