//! One line on the terminal that shows how far a long synchronization is. It stays below what the log writes, and is gone
//! at the end.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ddns_core::update::outcome::Tally;

/// A run that takes no longer needs none.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it changes.
const EVERY: Duration = Duration::from_millis(200);

/// Back to the start of the line, and nothing on it.
const CLEAR: &str = "\r\u{1b}[K";

/// The line; never shown where standard error is not a terminal.
#[derive(Default)]
pub(crate) struct Progress {
    /// When it changes next; `None` if there is no terminal.
    next: Cell<Option<Instant>>,
    shown: RefCell<String>,
}

impl Progress {
    /// Begins to count the time, where somebody may be looking.
    pub(crate) fn begin(&self) {
        if io::stderr().is_terminal() {
            self.next.set(Some(Instant::now() + PATIENCE));
        }
    }

    /// When it is to be shown next.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next.get()
    }

    /// Shows how far it is, where it is time for that.
    pub(crate) fn show(&self, tally: Tally, open: usize) {
        let now = Instant::now();
        if self.next.get().is_none_or(|next| now < next) {
            return;
        }
        self.next.set(Some(now + EVERY));
        let done = tally.accepted + tally.failed;
        let failed = if tally.failed > 0 { format!(", {} failed", tally.failed) } else { String::new() };
        let line = format!("{done} of {} sent{failed}", done + open);
        let _ = io::stderr().write_all(format!("{CLEAR}{line}").as_bytes());
        *self.shown.borrow_mut() = line;
    }

    /// A line of the log with what keeps the progress below it.
    pub(crate) fn below(&self, line: String) -> String {
        let shown = self.shown.borrow();
        if shown.is_empty() { line } else { format!("{CLEAR}{line}{shown}") }
    }

    /// Takes it away.
    pub(crate) fn end(&self) {
        self.next.set(None);
        if !self.shown.take().is_empty() {
            let _ = io::stderr().write_all(CLEAR.as_bytes());
        }
    }
}
