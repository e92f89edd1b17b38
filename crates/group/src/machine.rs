//! The protocol of one member: an event comes in, actions go out. The machine has no clock and no randomness of its own.
//!
//! It relies on two facts, which are true as long as the store does not go back (J7). The store keeps the holder's key
//! exactly as long as the holder's lease, unless the holder itself deletes the key; so a member whose lease is alive, and
//! which did not resign, still holds. And a lease lives at least for its time to live after the renewal was *sent*; so
//! until then, less a margin for clocks and elections, no other member can hold.

mod calls;
mod status;
mod step;
mod take;

use std::time::Duration;

use super::view::{Holder, LeaseId, MemberEntry, VERSION, View};
use calls::Calls;

/// The settings of a member, fixed as long as it is in its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The name of the member.
    pub member: String,
    /// `lease`
    pub lease: Duration,
    /// `prefer`
    pub prefer: u8,
}

impl Settings {
    /// How long a call to the store may take, over all its servers. For a watch, the limit applies to reading the keys and
    /// to starting the watch.
    pub fn call_limit(&self) -> Duration {
        self.renewal().min(Duration::from_secs(5))
    }

    /// How long [`Call::Grant`] may take. Longer than a renewal may take, because only such a slow answer shows that the
    /// lease is too short.
    pub fn grant_limit(&self) -> Duration {
        self.lease.min(Duration::from_secs(10))
    }

    /// The time from one renewal to the next.
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
    /// Read all keys of the group except its state, and watch them: each change becomes a [`MachineEvent::Viewed`] with the
    /// whole view, in the order of revisions. The call has no answer; it fails when the watch ends. A new watch silently
    /// replaces the running one.
    Watch,
    /// Put the key of this member, attached to its lease, and in the same transaction the version, if the store has none.
    Register(LeaseId, MemberEntry),
    /// Put the holder's key, attached to this lease, if it does not exist; otherwise read it, in the same transaction.
    Campaign(LeaseId),
    /// Read the state. The number is [`Holder::created`]. If the flag is true, all claims of the state are marked in doubt,
    /// in the store too, before the call is answered.
    Load(i64, bool),
    /// Delete the holder's key of this lease, if it is still the one that was created at this revision.
    Resign(LeaseId, i64),
    /// Revoke this lease.
    Revoke(LeaseId),
}

/// What the store answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A lease, and its time to live.
    Granted(LeaseId, Duration),
    /// The time to live of a lease from now on. `None`: the lease is gone.
    Renewed(LeaseId, Option<Duration>),
    /// The key of this member was put at this revision. `None`: the lease is gone.
    Registered(LeaseId, Option<i64>),
    /// The holder after the campaign of this lease. `None`: the lease is gone.
    Campaigned(LeaseId, Option<Holder>),
    /// The state was read for the holder's key of this revision.
    Loaded(i64),
    /// The holder's key of this revision no longer exists.
    Resigned(i64),
    /// The lease no longer exists.
    Revoked(LeaseId),
}

/// An event that the machine reacts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineEvent {
    /// [`Machine::wake_at`] has come.
    Woke,
    /// A call was answered. `sent` is the time before its first byte was sent, even if the call was repeated.
    Answered {
        /// By the same clock as `now`.
        sent: Duration,
        /// The answer.
        answer: Answer,
    },
    /// A call failed. Nobody knows whether the store carried it out.
    Failed {
        /// The call.
        call: Call,
        /// The reason, as a phrase for people, without secrets.
        why: String,
    },
    /// The store went back ([`StoreStamp::went_back`](super::etcd::StoreStamp::went_back)). The caller dropped all running
    /// calls and the watch.
    WentBack,
    /// The group as the store shows it.
    Viewed(View),
    /// Whether the sources of this host give any address. The machine assumes false until it is told.
    Address(bool),
    /// The request of an update ended. True: the endpoint was reached, whatever it answered.
    Reached(bool),
    /// After [`Action::Drain`]: no request is running any more, and everything is written to the store.
    Drained,
    /// This process is going to end.
    Terminate,
}

/// What the machine asks its caller to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Call the store.
    Call(Call),
    /// This host may send from now on: [`Machine::may_send`].
    Open,
    /// Start no more requests, wait for the running ones, write the rest to the store, then report [`MachineEvent::Drained`].
    Drain,
    /// Drop all running requests and everything that is queued, at once.
    Stop,
    /// This host has left the group: the process may end.
    Left,
}

/// A member of a group.
#[derive(Debug, Clone)]
pub struct Machine {
    settings: Settings,
    calls: Calls,
    lease: Option<LeaseTimes>,
    /// The previous lease, which is gone. A view may still show its keys.
    former: Option<LeaseId>,
    view: Option<View>,
    /// The entry that was last put, and the revision at which the store has it; 0 until the store confirms it.
    registered: Option<(MemberEntry, i64)>,
    held: Option<HeldLease>,
    /// The newest holder's key (its revision) that this member gave back. It never holds with that key again, even if a late
    /// view still shows it; a key that still exists is given back again.
    resigned: i64,
    /// Since when no member holds.
    vacant_since: Duration,
    /// After giving the lease back, this member lets the others campaign first until then.
    stand_back_until: Duration,
    /// The store went back, and the previous holder may still send until then. `None`: this member has read the state since.
    unsafe_until: Option<Duration>,
    /// When a drain is cut off, even if requests are still running.
    drain_until: Duration,
    readiness: Readiness,
    /// The ready member with a higher `prefer`, and since when the view shows it.
    preferred: Option<(LeaseId, Duration)>,
    /// The revision of the holder's key in the view, and since when the view shows it.
    seen_holder: Option<(i64, Duration)>,
    /// A call failed since the watch began, so the watch may be dead without an error.
    is_watch_doubted: bool,
    /// How long the store took to answer, if that is too long for this lease.
    slow: Option<Duration>,
    is_ending: bool,
    has_left: bool,
    wake_at: Option<Duration>,
}

/// A lease of this member.
#[derive(Debug, Clone, Copy)]
struct LeaseTimes {
    id: LeaseId,
    /// When the newest answered renewal was sent.
    renewed: Duration,
    /// Until then, no other member can hold.
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
    /// Reading the state from the store.
    Loading,
    Sending,
    /// Waiting for the running requests.
    Draining,
    /// Deleting the holder's key.
    Resigning,
    /// The lease was not renewed in time.
    Unconfirmed,
}

/// Whether this member could send.
#[derive(Debug, Clone, Default)]
struct Readiness {
    has_address: bool,
    /// Since when this host has no address.
    without_since: Duration,
    /// Since when no request has reached its endpoint.
    unreached_since: Option<Duration>,
    /// How often in a row this member gave the lease back because it reached no endpoint.
    given_back: u32,
    /// After giving the lease back, this member is not ready until then.
    paused_until: Duration,
}

/// How much longer a member waits before it campaigns for each place behind the first: the members before it may be dead.
const CAMPAIGN_STAGGER: Duration = Duration::from_millis(300);

/// How long a member with a higher `prefer` must be ready before it gets the lease, in leases.
const PREFERRED_AFTER: u32 = 4;

/// After giving the lease back because it reached no endpoint, a member is not ready for 1, 2, 4, … up to this many leases.
const MAX_PAUSE: u32 = 40;

/// How much earlier than its time to live a lease counts as over. One part covers clocks that are wrong by 1 % on both sides
/// (2 % of the lease). The other covers an election: a leader without a majority confirms renewals for up to two election
/// timeouts (1 s each in etcd), while the next leader may count the full time to live after a little less than one.
pub fn margin(lease: Duration) -> Duration {
    (lease / 10).max(Duration::from_millis(1500))
}

impl Machine {
    /// A new member. Its first event must be [`MachineEvent::Woke`].
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

    /// Handles an event and returns the actions. `now` comes from a clock that runs during sleep; `jitter` is between 0 and 1.
    pub fn on(&mut self, event: MachineEvent, now: Duration, jitter: f64) -> Vec<Action> {
        let mut actions = Vec::new();
        self.take(event, now, jitter, &mut actions);
        self.step(now, &mut actions);
        actions
    }

    /// When [`MachineEvent::Woke`] is due. `None`: the machine waits for no time.
    pub fn wake_at(&self) -> Option<Duration> {
        self.wake_at
    }

    /// Whether a request may begin.
    pub fn may_send(&self, now: Duration) -> bool {
        self.stage() == Some(HolderStage::Sending) && self.is_confirmed(now)
    }

    /// Until when a running request may go on; it must not write a byte after that. `None`: it must be dropped.
    pub fn deadline(&self) -> Option<Duration> {
        let goes_on = matches!(self.stage(), Some(HolderStage::Sending | HolderStage::Draining));
        self.lease.filter(|_| goes_on).map(|lease| lease.until)
    }

    /// The revision at which this member's holder key was created, for transactions on it. `None`: it does not hold.
    pub fn created(&self) -> Option<i64> {
        self.held.map(|held| held.created)
    }

    /// The lease of this member, if it has one.
    pub fn lease(&self) -> Option<LeaseId> {
        self.lease.map(|lease| lease.id)
    }

    fn stage(&self) -> Option<HolderStage> {
        self.held.map(|held| held.stage)
    }

    /// Whether the lease certainly still belongs to this member.
    fn is_confirmed(&self, now: Duration) -> bool {
        self.lease.is_some_and(|lease| now < lease.until)
    }

    fn is_ready(&self, now: Duration) -> bool {
        self.readiness.has_address && now >= self.readiness.paused_until && self.has_right_version() && !self.is_ending
    }

    /// Whether this program knows the layout of the keys. True if the store has no version yet.
    fn has_right_version(&self) -> bool {
        let version = self.view.as_ref().and_then(|view| view.version.as_deref());
        version.is_none_or(|version| version == VERSION)
    }
}

#[cfg(test)]
mod tests;
