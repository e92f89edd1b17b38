//! Notifications (I5): events are counted, and become at most one message of each kind.
//!
//! [`NotifyEvent`] is what a notification may be about. A [`Ledger`] takes in events, and says what to report; what must outlive
//! a run is in the streaks of the cache ([`Streak`](crate::update::streak::Streak)). [`notice`] writes the text.

mod event;
mod ledger;
mod message;

pub use event::{DEFAULT_AFTER, NotifyEvent, NotifyEvents};
pub use ledger::{Changes, Ledger, Outgoing, PAUSE, StreakStatus, UpdateLine};
pub use message::{example, notice};
