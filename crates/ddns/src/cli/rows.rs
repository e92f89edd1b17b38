//! Rows of help: a name, and its meaning in a second column.

use super::table::OptionSpec;
use crate::output::layout::beside;

/// The column in which the summary of a command begins.
pub(crate) const NAMES: usize = 15;
/// The column in which the help of an option begins.
const OPTIONS: usize = 28;

pub(super) fn command(name: &str, summary: &str, width: usize) -> String {
    beside(&format!("  {name}"), summary, NAMES, width)
}

/// An option, or a word, and its help.
pub(super) fn option(usage: &str, help: &str, width: usize) -> String {
    beside(&format!("  {usage}"), help, OPTIONS, width)
}

/// An option that has a letter too.
pub(super) fn lettered((letter, choice): &(char, OptionSpec), width: usize) -> String {
    option(&format!("-{letter}, {}", choice.usage()), choice.help, width)
}
