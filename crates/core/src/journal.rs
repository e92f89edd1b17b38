//! The journal: the only record of what happened, and of the state of every update. The log, the history (I4), metrics,
//! notifications and the page use it.
//!
//! A [`JournalEvent`] is something that happened, and its [`EventKind`] is its name everywhere. An [`UpdateState`] is the state of
//! an update, with one key and one word. A [`Record`] is what the history keeps of an event: one line of JSON.

mod days;
mod endpoint;
mod event;
mod filter;
mod record;
mod sentence;
mod state;

pub use days::{DAYS, Day, Days};
pub use endpoint::{Endpoint, tell_apart};
pub use event::{About, EventKind, Held, JournalEvent, Settled, VisibilityChange, What};
pub use filter::{Filter, RecordKind};
pub use record::{Record, RecordWriter};
pub use sentence::{sentence, set_instead};
pub use state::{DnsState, Last, Row, Status, SyncResult, UpdateState};

#[cfg(test)]
mod tests;
