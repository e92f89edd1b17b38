//! The protocol of one member: an event comes in, actions go out. It has no clock and no chance of its own.

use std::time::Duration;

use super::standing::{Role, Standing};
use super::view::{Entry, Holder, LeaseId, View};

/// What does not change as long as a member is in its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What it is called.
    pub member: String,
    /// `lease`
    pub lease: Duration,
    /// `prefer`
    pub prefer: u8,
}

impl Settings {
    /// How long a call to the store may take, over all its servers.
    pub fn call_limit(&self) -> Duration {
        (self.lease / 3).min(Duration::from_secs(5))
    }
}

/// A call to the store. Each ends in one event: [`Event::Answered`], or [`Event::Failed`] with the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Grant a lease with [`Settings::lease`] as its time to live.
    Grant,
    /// Renew this lease.
    Renew(LeaseId),
    /// Read all keys of the group but its state, and watch them: each change is an [`Event::Viewed`] with the whole picture, in
    /// the order of its revisions. It never answers; it fails when the watch ends, or where the store is silent for longer
    /// than [`Settings::call_limit`] allows to tell. One that is under way ends where another begins.
    Watch,
    /// Put the key of this member, attached to its lease; and the version, in the same transaction, where there is none.
    Register(LeaseId, Entry),
    /// Put the holder's key, attached to this lease, by a transaction on its absence; read it where it is there.
    Campaign(LeaseId),
    /// Read the state; the number is that of [`Holder::created`].
    Load(i64),
    /// Delete the holder's key by a transaction on its creation at this revision.
    Resign(i64),
    /// Revoke this lease.
    Revoke(LeaseId),
}

/// What the store answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A lease, and its time to live.
    Granted(LeaseId, Duration),
    /// The time to live of a lease from now on; none where the lease is gone.
    Renewed(LeaseId, Option<Duration>),
    /// The key of this member was put at this revision; none where the lease is gone.
    Registered(LeaseId, Option<i64>),
    /// Who holds after the campaign of this lease; none where the lease is gone.
    Campaigned(LeaseId, Option<Holder>),
    /// The state is read: that of this holder.
    Loaded(i64),
    /// The holder's key of this revision is not there any more.
    Resigned(i64),
    /// The lease is not there any more.
    Revoked(LeaseId),
}

/// What a member must take in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// [`Machine::wake_at`] has come.
    Woke,
    /// A call was answered. `sent` is the moment before its first byte was sent, also where it was tried again.
    Answered {
        /// By the same clock as `now`.
        sent: Duration,
        /// The answer.
        answer: Answer,
    },
    /// A call was not answered: nobody knows whether the store did it. `why` is a phrase for people.
    Failed {
        /// The call.
        call: Call,
        /// Why, without secrets.
        why: String,
    },
    /// The group as the store shows it.
    Viewed(View),
    /// Whether the sources of this host give any address; false until it is told.
    Address(bool),
    /// A request of an update ended: whether the endpoint was reached (it answered, whatever it said).
    Reached(bool),
    /// After [`Action::Drain`]: nothing is under way any more, and everything is written to the store.
    Drained,
    /// This process shall end.
    Terminate,
}

/// What a member must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Call the store.
    Call(Call),
    /// It may send from now on: [`Machine::may_send`].
    Open,
    /// Start no more requests, wait for those under way, write what is left to the store, then say [`Event::Drained`].
    Drain,
    /// Drop the requests under way and what is queued, at once.
    Stop,
    /// Nothing is left to be done for the group: the process may end.
    Left,
}

/// A member of a group.
#[derive(Debug, Clone)]
pub struct Machine {
    settings: Settings,
}

impl Machine {
    /// A member that begins; its first event is [`Event::Woke`].
    pub fn new(settings: Settings, now: Duration) -> Self {
        let _ = now;
        Self { settings }
    }

    /// Takes in what happened. `now` is by a clock that runs during sleep; `jitter` is at least 0 and below 1.
    pub fn on(&mut self, event: Event, now: Duration, jitter: f64) -> Vec<Action> {
        let _ = (event, now, jitter);
        Vec::new()
    }

    /// When [`Event::Woke`] is due; none where nothing is waited for.
    pub fn wake_at(&self) -> Option<Duration> {
        None
    }

    /// Whether a request may begin.
    pub fn may_send(&self, now: Duration) -> bool {
        let _ = now;
        false
    }

    /// Until when a request that has begun may go on; none where it must be dropped. Every request has the time until then
    /// as its limit, and none may be written to after it.
    pub fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The revision at which this member's holder key was created, for transactions on it; none where it does not hold.
    pub fn created(&self) -> Option<i64> {
        None
    }

    /// How it stands.
    pub fn standing(&self, now: Duration) -> Standing {
        let _ = now;
        Standing {
            member: self.settings.member.clone(),
            role: Role::Joining,
            holder: None,
            held_for: None,
            lease_left: None,
            members: Vec::new(),
            store: Ok(()),
            ready: Ok(()),
            trouble: None,
        }
    }
}
