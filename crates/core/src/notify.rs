//! Notifications (I5): what happened becomes counts, and counts become at most one message of each kind.
//!
//! [`Event`] is what a notification may be about. A [`Ledger`] takes in what happens, and says what is to be reported; what must outlive
//! a run is in the streaks of the cache ([`Streak`](crate::update::streak::Streak)). [`notice`] makes the words.

mod event;
mod ledger;
mod message;

pub use event::{DEFAULT_AFTER, Event, Events};
pub use ledger::{About, Changes, Ledger, Line, News, Outgoing, PAUSE, Standing};
pub use message::{example, notice};
