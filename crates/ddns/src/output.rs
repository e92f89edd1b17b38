//! What people get to see: standard output, errors, the log, progress, and how texts are laid out.

pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod progress;

use std::io::{self, IsTerminal as _, Write as _};

use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::own_json::indented;
use ddns_core::text::screen;
use serde::Serialize;

/// Exit status: the configuration or the command line is wrong; nothing was sent (E7).
pub(crate) const USAGE: u8 = 2;

/// How a command ended: its exit status. Where it could not do its work, the reason was printed.
pub(crate) type Ended = Result<u8, u8>;

/// Writes to standard output at once. Whatever came from outside is harmless behind this gate.
pub(crate) fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(screen::lines(text).as_bytes()).and_then(|()| out.flush())
}

/// Writes beside what a command was asked for: to standard error, through the same gate. Nobody may be there to read it.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(screen::lines(text).as_bytes());
}

/// A value for programs: nothing in it is lost at the gate.
pub(crate) fn json(value: &impl Serialize) -> String {
    screen::json(&indented(value)).into_owned()
}

/// Prints what a command was asked for. A closed pipe is no reason to complain.
pub(crate) fn print(text: &str) -> u8 {
    match put(text) {
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
    say(&text);
    USAGE
}

/// The same for one thing that has no place, and the way out.
pub(crate) fn refuse(message: impl Into<String>, hint: impl Into<String>) -> u8 {
    complain(&[Diagnostic::error(Place::Nowhere, message).hint(hint)])
}

/// Prints why a command cannot do its work.
pub(crate) fn fail(why: &str) -> u8 {
    say(&format!("error: {why}\n"));
    1
}
