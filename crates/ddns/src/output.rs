//! What people get to see: standard output, errors, the log, progress, and how texts are laid out.

pub(crate) mod layout;
pub(crate) mod log;
pub(crate) mod progress;

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::own_json::indented;
use ddns_core::text::screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fstat};
use serde::Serialize;

use crate::open_file::bits;

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

/// Standard error where writing to it can be made not to wait: a pipe or a terminal. Opened anew, for others may use the same one.
static UNWAITED: LazyLock<Option<File>> = LazyLock::new(|| {
    let kind = fstat(io::stderr()).map(|stat| FileType::from_raw_mode(stat.st_mode)).ok();
    let may_wait = matches!(kind, Some(FileType::Fifo | FileType::CharacterDevice));
    let flags = bits(OFlags::NONBLOCK | OFlags::NOCTTY);
    may_wait.then(|| OpenOptions::new().write(true).custom_flags(flags).open("/dev/fd/2").ok()).flatten()
});

/// Lines of the log that nobody read, since the last that was.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// So long a reader of standard error is waited for. A pipe or a terminal that stays full must not hold up updates.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Writes a line of a service's log to standard error, as it is, unless nobody reads there. The next line that is read says how many
/// are missing.
pub(crate) fn say_or_skip(line: &str) {
    let Some(mut stderr) = UNWAITED.as_ref() else {
        let _ = io::stderr().write_all(line.as_bytes());
        return;
    };
    let skipped = SKIPPED.load(Relaxed);
    let text = match skipped {
        0 => Cow::Borrowed(line),
        _ => format!("\n({skipped} of these lines are missing: nobody read them)\n{line}").into(),
    };
    let mut written = stderr.write(text.as_bytes());
    if skipped == 0 && is_full(&written) && poll(&mut [PollFd::new(stderr, PollFlags::OUT)], Some(&PATIENCE)).is_ok() {
        written = stderr.write(text.as_bytes());
    }
    let is_skipped = is_full(&written) || written.is_ok_and(|length| length < text.len());
    SKIPPED.store(if is_skipped { skipped + 1 } else { 0 }, Relaxed);
}

fn is_full(written: &io::Result<usize>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
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
