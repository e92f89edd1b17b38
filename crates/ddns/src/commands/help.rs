//! `ddns help`: a command or a topic, explained.

use std::io;

use crate::cli::{ParsedArgs, help};
use crate::output::complain;
use crate::output::layout::width_of;
use crate::output::print;

/// Prints the requested page; exits with 2 for an unknown topic.
pub(crate) fn run(given: &ParsedArgs) -> u8 {
    match help::about(given.word(), width_of(io::stdout())) {
        Ok(page) => print(&page),
        Err(error) => complain(&[error]),
    }
}
