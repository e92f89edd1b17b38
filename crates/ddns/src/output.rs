//! What people get to see: standard output, errors, the log, progress, and how texts are laid out.

pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod progress;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::own_json::indented;
use ddns_core::text::screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// Lines that were not written because nobody read standard error, since the last that was.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// So long a reader of standard error is waited for. A pipe or a terminal that stays full must not hold up updates.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What fits into a pipe that has room, in one piece.
const PIECE: usize = 4096;

/// Writes a line of the log to standard error, as it is, unless nobody reads there. The next line that is read says how many are
/// missing.
pub(crate) fn say_or_skip(line: &str) {
    let skipped = SKIPPED.load(Relaxed);
    let (text, patience) = match skipped {
        0 => (Cow::Borrowed(line), PATIENCE),
        _ => (format!("({skipped} lines are missing: nobody read them)\n{line}").into(), Timespec::default()),
    };
    let (mut stderr, mut is_full) = (io::stderr(), false);
    for piece in text.as_bytes().chunks(PIECE) {
        is_full = poll(&mut [PollFd::new(&stderr, PollFlags::OUT)], Some(&patience)) == Ok(0);
        if is_full || stderr.write_all(piece).is_err() {
            break;
        }
    }
    SKIPPED.store(if is_full { skipped + 1 } else { 0 }, Relaxed);
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
