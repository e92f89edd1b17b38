//! Rows of help: a name and, in a column of its own, what it means.

use super::table::Choice;
use crate::output::layout::beside;

/// The column in which the summary of a command begins.
pub(crate) const NAMES: usize = 15;
/// The column in which the help of an option begins.
const OPTIONS: usize = 28;

pub(super) fn command(name: &str, summary: &str) -> String {
    beside(&format!("  {name}"), summary, NAMES)
}

/// An option, or a word, and its help.
pub(super) fn option(usage: &str, help: &str) -> String {
    beside(&format!("  {usage}"), help, OPTIONS)
}

/// An option that has a letter too.
pub(super) fn lettered((letter, choice): &(char, Choice)) -> String {
    option(&format!("-{letter}, {}", choice.usage()), choice.help)
}
