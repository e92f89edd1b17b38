//! What people get to see: standard output, errors, the log, progress, and how texts are laid out.

pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod report;

use std::io::{self, IsTerminal as _, Write as _};

use ddns_core::text::diagnostic::Diagnostic;

/// Exit status: the configuration or the command line is wrong; nothing was sent (E7).
pub(crate) const USAGE: u8 = 2;

/// Prints what a command was asked for. A closed pipe is no reason to complain.
pub(crate) fn print(text: &str) -> u8 {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&format!("standard output cannot be written to ({error})"))
        }
        _ => 0,
    }
}

/// Prints everything that is wrong with the configuration or the command line; on a terminal in lines that fit.
pub(crate) fn complain(wrong: &[Diagnostic]) -> u8 {
    let width = if io::stderr().is_terminal() { layout::width_of(io::stderr()) } else { layout::WIDE };
    let text: String = wrong.iter().map(|wrong| layout::complaint(wrong, width)).collect();
    let _ = io::stderr().write_all(text.as_bytes());
    USAGE
}

/// Prints why a command cannot do its work.
pub(crate) fn fail(why: &str) -> u8 {
    let _ = writeln!(io::stderr(), "error: {why}");
    1
}
