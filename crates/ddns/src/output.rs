//! What people see: standard output, errors, the log, progress, and how texts are laid out.

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
use rustix::net::{SendFlags, send};
use serde::Serialize;

use crate::open_file::bits;

/// Exit status: the configuration or the command line is wrong; nothing was sent (E7).
pub(crate) const USAGE: u8 = 2;

/// The exit status of a command. `Err`: it could not do its work, and has printed the reason.
pub(crate) type Ended = Result<u8, u8>;

/// Writes to standard output at once. Replaces characters that could control the terminal.
pub(crate) fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(screen::lines(text).as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard error, with the same protection. Ignores errors: nobody may be reading.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(screen::lines(text).as_bytes());
}

/// Standard error, where writing might wait for a reader.
enum NonBlockingStderr {
    /// A pipe or a terminal, opened anew, because other processes may share the original.
    Opened(File),
    /// A socket, such as that of systemd's journal, which cannot be opened anew.
    Socket,
}

static NONBLOCKING_STDERR: LazyLock<Option<NonBlockingStderr>> = LazyLock::new(|| {
    let flags = bits(OFlags::NONBLOCK | OFlags::NOCTTY);
    match FileType::from_raw_mode(fstat(io::stderr()).ok()?.st_mode) {
        FileType::Fifo | FileType::CharacterDevice => {
            let opened = OpenOptions::new().write(true).custom_flags(flags).open("/dev/fd/2");
            opened.ok().map(NonBlockingStderr::Opened)
        }
        FileType::Socket => Some(NonBlockingStderr::Socket),
        _ => None,
    }
});

impl NonBlockingStderr {
    fn write(&self, text: &str) -> io::Result<usize> {
        match self {
            Self::Opened(file) => (&*file).write(text.as_bytes()),
            Self::Socket => Ok(send(io::stderr(), text.as_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?),
        }
    }
}

/// How many lines of the log were skipped since the last one that was written.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// How long to wait for a reader of standard error. A pipe, a terminal or a socket that stays full must not hold up updates.
const STDERR_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Writes a line of a service's log to standard error unchanged, unless nobody reads there. The next line that can be
/// written says how many are missing.
pub(crate) fn say_or_skip(line: &str) {
    let Some(stderr) = NONBLOCKING_STDERR.as_ref() else {
        let _ = io::stderr().write_all(line.as_bytes());
        return;
    };
    let skipped = SKIPPED.load(Relaxed);
    let text = match skipped {
        0 => Cow::Borrowed(line),
        _ => format!("\n({skipped} of these lines are missing: nobody read them)\n{line}").into(),
    };
    let mut written = stderr.write(&text);
    if skipped == 0
        && is_full(&written)
        && poll(&mut [PollFd::new(&io::stderr(), PollFlags::OUT)], Some(&STDERR_TIMEOUT)).is_ok()
    {
        written = stderr.write(&text);
    }
    let is_skipped = is_full(&written) || written.is_ok_and(|length| length < text.len());
    SKIPPED.store(if is_skipped { skipped + 1 } else { 0 }, Relaxed);
}

fn is_full(written: &io::Result<usize>) -> bool {
    written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A value as JSON. Control characters are escaped, so that nothing has to be replaced.
pub(crate) fn json(value: &impl Serialize) -> String {
    screen::json(&indented(value)).into_owned()
}

/// Prints the output of a command. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> u8 {
    match put(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&format!("standard output cannot be written to ({error})"))
        }
        _ => 0,
    }
}

/// Prints errors and warnings about the configuration or the command line, wrapped on a terminal.
pub(crate) fn complain(wrong: &[Diagnostic]) -> u8 {
    let width = if io::stderr().is_terminal() { layout::width_of(io::stderr()) } else { layout::WIDE };
    let text: String = wrong.iter().map(|wrong| layout::complaint(wrong, width)).collect();
    say(&text);
    USAGE
}

/// The same for one error without a place, with a hint.
pub(crate) fn refuse(message: impl Into<String>, hint: impl Into<String>) -> u8 {
    complain(&[Diagnostic::error(Place::Nowhere, message).hint(hint)])
}

/// Prints why a command failed; returns the exit status.
pub(crate) fn fail(why: &str) -> u8 {
    say(&format!("error: {why}\n"));
    1
}
