//! One line on the terminal that shows the progress of a long synchronization. It stays below the lines of the log, and
//! disappears at the end.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ddns_core::update::outcome::Tally;

/// A shorter run shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(2);

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(200);

/// Moves to the start of the line, and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// The progress line; never shown if standard error is not a terminal.
#[derive(Default)]
pub(crate) struct Progress {
    /// When the line changes next; `None` if there is no terminal.
    next: Cell<Option<Instant>>,
    shown: RefCell<String>,
}

impl Progress {
    /// Starts the clock, if standard error is a terminal.
    pub(crate) fn begin(&self) {
        if io::stderr().is_terminal() {
            self.next.set(Some(Instant::now() + SHOW_AFTER));
        }
    }

    /// When to call [`Progress::show`] next.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next.get()
    }

    /// Shows the progress, if it is time.
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

    /// A line of the log, with the progress line below it.
    pub(crate) fn below(&self, line: String) -> String {
        let shown = self.shown.borrow();
        if shown.is_empty() { line } else { format!("{CLEAR}{line}{shown}") }
    }

    /// Removes the line.
    pub(crate) fn end(&self) {
        self.next.set(None);
        if !self.shown.take().is_empty() {
            let _ = io::stderr().write_all(CLEAR.as_bytes());
        }
    }
}
