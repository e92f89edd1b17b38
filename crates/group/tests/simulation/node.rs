//! A member as the simulation knows it: its machine, its clock, its ways, and what it is sending.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use ddns_group::etcd::StoreStamp;
use ddns_group::machine::Machine;
use ddns_group::view::{LeaseId, View};

use super::store::{Asked, Remembered};
use crate::random::Random;

/// A request of an update.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sending {
    pub(super) id: u64,
    /// The holder's key.
    pub(super) own: (LeaseId, i64),
    /// How often the store had gone back when it was marked.
    pub(super) era: u64,
    pub(super) address: u32,
    pub(super) is_marked: bool,
}

#[allow(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
pub(crate) struct Node {
    pub(super) machine: Option<Machine>,
    pub(super) life: u32,
    pub(super) rate: f64,
    pub(super) offset: Duration,
    pub(super) prefer: u8,
    pub(super) paused_until: Duration,
    pub(super) wake_at: Option<Duration>,
    pub(super) has_link: bool,
    pub(super) is_stale: bool,
    pub(crate) reaches_endpoint: bool,
    pub(super) has_address: bool,
    pub(crate) address: u32,
    /// What was asked, and what was known of the store then.
    pub(super) pending: HashMap<u64, (Asked, Option<StoreStamp>)>,
    pub(super) watch: Option<(u64, VecDeque<(View, StoreStamp)>)>,
    /// The watch that was asked for last.
    pub(super) asked_watch: u64,
    /// How far the store was seen to be.
    pub(super) seen: Option<StoreStamp>,
    /// The store went back, and was as far as before when this process looked again, or this one is new: it cannot know it.
    pub(crate) is_unaware: bool,
    /// The times that the store went back, when this one last looked.
    pub(super) era: u64,
    /// What it knows of the state, and as of which revision.
    pub(super) known: Option<(Remembered, i64)>,
    pub(super) sending: Option<Sending>,
    pub(super) retry_at: Duration,
    pub(super) is_draining: bool,
}

impl Node {
    pub(super) fn new(number: u32, is_preferring: bool, random: &mut Random) -> Self {
        Self {
            machine: None,
            life: 0,
            rate: rate(random),
            offset: random.up_to(Duration::from_secs(1_000_000)),
            prefer: if is_preferring { u8::try_from(random.below(3)).unwrap_or(0) } else { 0 },
            paused_until: Duration::ZERO,
            wake_at: None,
            has_link: true,
            is_stale: false,
            reaches_endpoint: true,
            has_address: true,
            address: number * 1000,
            pending: HashMap::new(),
            watch: None,
            asked_watch: 0,
            seen: None,
            is_unaware: false,
            era: 0,
            known: None,
            sending: None,
            retry_at: Duration::ZERO,
            is_draining: false,
        }
    }

    pub(super) fn local(&self, now: Duration) -> Duration {
        self.offset + now.mul_f64(self.rate)
    }

    pub(super) fn real(&self, local: Duration) -> Duration {
        local.saturating_sub(self.offset).div_f64(self.rate)
    }

    /// Whether it may have a request under way.
    pub(super) fn is_open(&self, now: Duration) -> bool {
        let deadline = self.machine.as_ref().and_then(Machine::deadline);
        deadline.is_some_and(|deadline| self.local(now) < deadline)
    }

    pub(crate) fn lease(&self) -> Option<LeaseId> {
        self.machine.as_ref().and_then(Machine::lease)
    }

    pub(crate) fn may_send(&self, now: Duration) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.may_send(self.local(now)))
    }

    pub(crate) fn is_settled(&self, now: Duration) -> bool {
        let accepted = self.known.filter(|(known, _)| !known.is_in_doubt).and_then(|(known, _)| known.accepted);
        self.may_send(now) && self.sending.is_none() && accepted == Some(self.address)
    }
}

/// Seconds of a clock in a second: up to 1 % wrong.
pub(super) fn rate(random: &mut Random) -> f64 {
    0.99 + 0.02 * random.jitter()
}
