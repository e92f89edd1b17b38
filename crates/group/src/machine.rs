//! The protocol of one member: an event comes in, actions go out. It has no clock and no chance of its own.
//!
//! Two facts carry it, as long as the store does not go back (J7). The store keeps the holder's key exactly as long as the holder's lease, unless the holder itself deletes
//! it; so whoever knows that its lease is alive, and did not resign, holds. And a lease lives at least its time to live after
//! the renewal was *sent*; so before that moment, less a margin for clocks and elections, nobody else can hold.

mod calls;
mod standing;
mod step;
mod take;

use std::time::Duration;

use super::view::{Holder, LeaseId, MemberEntry, VERSION, View};
use calls::Calls;

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
    /// How long a call to the store may take, over all its servers. A watch goes on, but reads the keys first.
    pub fn call_limit(&self) -> Duration {
        self.renewal().min(Duration::from_secs(5))
    }

    /// How long [`Call::Grant`] may take: only an answer that took longer than a renewal may shows that the lease is too short.
    pub fn grant_limit(&self) -> Duration {
        self.lease.min(Duration::from_secs(10))
    }

    /// How long after a renewal the next one is due.
    fn renewal(&self) -> Duration {
        self.lease / 3
    }
}

/// A call to the store. Each ends in one event: [`MachineEvent::Answered`], or [`MachineEvent::Failed`] with the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Grant a lease with [`Settings::lease`] as its time to live, within [`Settings::grant_limit`].
    Grant,
    /// Renew this lease.
    Renew(LeaseId),
    /// Read all keys of the group but its state, and watch them: each change is a [`MachineEvent::Viewed`] with the whole picture, in
    /// the order of its revisions. It never answers; it fails when the watch ends. One that is under way ends
    /// where another begins: then it says nothing any more.
    Watch,
    /// Put the key of this member, attached to its lease; and the version, in the same transaction, where there is none.
    Register(LeaseId, MemberEntry),
    /// Put the holder's key, attached to this lease, by a transaction on its absence; read it where it is there.
    Campaign(LeaseId),
    /// Read the state; the number is that of [`Holder::created`]. Where it is true, what the state claims is in doubt, and is
    /// written so before it is answered.
    Load(i64, bool),
    /// Delete the holder's key of this lease by a transaction on its creation at this revision.
    Resign(LeaseId, i64),
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
pub enum MachineEvent {
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
    /// The store went back ([`Stamp::went_back`](super::etcd::Stamp::went_back)). All calls under way were dropped, the watch too.
    WentBack,
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
    /// Start no more requests, wait for those under way, write what is left to the store, then say [`MachineEvent::Drained`].
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
    calls: Calls,
    lease: Option<LeaseTimes>,
    /// The lease before it, which is gone: a view may still show what it held.
    former: Option<LeaseId>,
    view: Option<View>,
    /// What the store has of this member, and the revision at which it was put.
    registered: Option<(MemberEntry, i64)>,
    held: Option<HeldLease>,
    /// The newest holder's key that was given back: it is never taken up again, however old the news of it are. One that is
    /// still there is given back again.
    resigned: i64,
    /// Since when nobody holds.
    vacant_since: Duration,
    /// Whoever gave the lease back lets others go first until then.
    stand_back_until: Duration,
    /// The store went back, and whoever held before may not know it until then; none where the state was read since.
    unsafe_until: Option<Duration>,
    /// What is under way is not waited for any longer than until then.
    drain_until: Duration,
    readiness: Readiness,
    /// The ready member with a higher `prefer`, and since when it is seen.
    preferred: Option<(LeaseId, Duration)>,
    /// The holder's key that is seen, and since when.
    seen_holder: Option<(i64, Duration)>,
    /// A call failed since the watch began: it may be dead without saying so.
    is_watch_doubted: bool,
    /// How long the store took to answer, where that is too long.
    slow: Option<Duration>,
    is_ending: bool,
    has_left: bool,
    wake_at: Option<Duration>,
}

/// A lease of this member.
#[derive(Debug, Clone, Copy)]
struct LeaseTimes {
    id: LeaseId,
    /// When the last renewal that was answered had been sent.
    renewed: Duration,
    /// Until then nobody else can hold what it holds.
    until: Duration,
}

/// The holder's key of this member.
#[derive(Debug, Clone, Copy)]
struct HeldLease {
    created: i64,
    stage: HolderStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolderStage {
    /// What was accepted is being read.
    Loading,
    Sending,
    /// What is under way is being waited for.
    Draining,
    /// The key is being deleted.
    Resigning,
    /// The lease was not renewed in time.
    Unconfirmed,
}

/// Whether this member could send.
#[derive(Debug, Clone, Default)]
struct Readiness {
    has_address: bool,
    /// Since when it has no address.
    without_since: Duration,
    /// Since when no request reached its endpoint.
    unreached_since: Option<Duration>,
    /// How often it gave the lease back because it reached no endpoint, and none since.
    given_back: u32,
    /// It is not ready until then, because it gave the lease back.
    paused_until: Duration,
}

/// Whoever is one place behind in the order waits so much longer for the one before: that one may be dead.
const RANK: Duration = Duration::from_millis(300);

/// A member with a higher `prefer` gets the lease after it was ready for so many leases.
const PREFERRED_AFTER: u32 = 4;

/// Who reached no endpoint is not ready for 1, 2, 4, … up to so many leases.
const MAX_PAUSE: u32 = 40;

/// What is taken off the time to live of a lease. One part is for clocks that are 1 % wrong on both sides (2 % of the lease).
/// The other is for an election: a leader without a majority confirms renewals for up to two election timeouts (of 1 s, as etcd
/// has it), the next leader may count the full time to live after a little less than one.
pub fn margin(lease: Duration) -> Duration {
    (lease / 10).max(Duration::from_millis(1500))
}

impl Machine {
    /// A member that begins; its first event is [`MachineEvent::Woke`].
    pub fn new(settings: Settings, now: Duration) -> Self {
        Self {
            settings,
            calls: Calls::default(),
            lease: None,
            former: None,
            view: None,
            registered: None,
            held: None,
            resigned: 0,
            vacant_since: now,
            stand_back_until: now,
            unsafe_until: None,
            drain_until: now,
            readiness: Readiness { without_since: now, ..Readiness::default() },
            preferred: None,
            seen_holder: None,
            is_watch_doubted: false,
            slow: None,
            is_ending: false,
            has_left: false,
            wake_at: Some(now),
        }
    }

    /// Takes in what happened. `now` is by a clock that runs during sleep; `jitter` is at least 0 and below 1.
    pub fn on(&mut self, event: MachineEvent, now: Duration, jitter: f64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.take(event, now, jitter, &mut actions);
        self.step(now, &mut actions);
        actions
    }

    /// When [`MachineEvent::Woke`] is due; none where nothing is waited for.
    pub fn wake_at(&self) -> Option<Duration> {
        self.wake_at
    }

    /// Whether a request may begin.
    pub fn may_send(&self, now: Duration) -> bool {
        self.stage() == Some(HolderStage::Sending) && self.is_confirmed(now)
    }

    /// Until when a request that has begun may go on; none where it must be dropped. Every request has the time until then
    /// as its limit, and none may be written to after it.
    pub fn deadline(&self) -> Option<Duration> {
        let goes_on = matches!(self.stage(), Some(HolderStage::Sending | HolderStage::Draining));
        self.lease.filter(|_| goes_on).map(|lease| lease.until)
    }

    /// The revision at which this member's holder key was created, for transactions on it; none where it does not hold.
    pub fn created(&self) -> Option<i64> {
        self.held.map(|held| held.created)
    }

    /// The lease of this member.
    pub fn lease(&self) -> Option<LeaseId> {
        self.lease.map(|lease| lease.id)
    }

    fn stage(&self) -> Option<HolderStage> {
        self.held.map(|held| held.stage)
    }

    /// Whether the lease is this member's for certain.
    fn is_confirmed(&self, now: Duration) -> bool {
        self.lease.is_some_and(|lease| now < lease.until)
    }

    fn is_ready(&self, now: Duration) -> bool {
        self.readiness.has_address && now >= self.readiness.paused_until && self.has_right_version() && !self.is_ending
    }

    /// Whether the keys have the layout that this program knows.
    fn has_right_version(&self) -> bool {
        let version = self.view.as_ref().and_then(|view| view.version.as_deref());
        version.is_none_or(|version| version == VERSION)
    }
}

#[cfg(test)]
mod tests;
