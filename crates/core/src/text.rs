//! Texts: JSON with places, the program's own JSON, diagnostics, durations, numbers, secrets in texts from outside, log
//! lines, words for a shell, characters that may reach a screen, names of values.

pub mod diagnostic;
pub mod diagnostics;
pub mod duration;
pub(crate) mod hex;
pub mod json;
pub mod log_format;
pub mod number;
pub mod order;
pub mod own_json;
pub mod punycode;
pub mod screen;
pub mod secrets;
pub mod shell;
pub(crate) mod vocabulary;
