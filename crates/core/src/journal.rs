//! The journal: the only account of what happened, and of how every update stands. Log, history (I4), metrics,
//! notifications and the page are made of it.
//!
//! [`JournalEvent`] is one thing that happened; its [`EventKind`] is what it is called everywhere. [`UpdateState`] is how an update
//! stands, with one key and one word. A [`Record`] is what the history keeps of an event, one JSON line each.

mod days;
mod endpoint;
mod event;
mod filter;
mod record;
mod sentence;
mod state;

pub use days::{DAYS, Day, Days};
pub use endpoint::{Endpoint, tell_apart};
pub use event::{About, EventKind, Held, JournalEvent, Settled, SightChange, What};
pub use filter::{Filter, RecordKind};
pub use record::{Record, RecordWriter};
pub use sentence::{sentence, set_instead};
pub use state::{DnsState, Last, Row, Status, SyncResult, UpdateState};

#[cfg(test)]
mod tests;
