//! Notifications (I5): what happened becomes counts, and counts become at most one message of each kind.
//!
//! [`NotifyEvent`] is what a notification may be about. A [`Ledger`] takes in what happens, and says what is to be reported; what must outlive
//! a run is in the streaks of the cache ([`Streak`](crate::update::streak::Streak)). [`notice`] makes the words.

mod event;
mod ledger;
mod message;

pub use event::{DEFAULT_AFTER, NotifyEvent, NotifyEvents};
pub use ledger::{Changes, Ledger, Outgoing, PAUSE, StreakStatus, UpdateLine};
pub use message::{example, notice};
