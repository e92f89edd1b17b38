//! In a group only the holder of the lease sends (J1): the others look up their addresses and stand by.

use ddns_core::lease::membership::Membership;
use ddns_core::schedule::queue::Queue;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::state::State;
use futures_util::stream::FuturesUnordered;

use super::Sync;
use crate::group::{GroupMember, Permit};

/// Whether this host sends for its group.
pub(super) struct Gate {
    member: GroupMember,
    /// None where another host holds the lease, or nobody.
    permit: Option<Permit>,
}

impl Gate {
    /// The permission to send now.
    pub(super) fn permit(&self) -> Option<Permit> {
        self.permit.clone().filter(Permit::is_valid)
    }
}

impl Sync<'_> {
    /// As a member of a group: stands by until the lease is won.
    pub(crate) fn in_group(&mut self, member: GroupMember) {
        self.updates.is_in_group = true;
        self.gate = Some(Box::new(Gate { member, permit: None }));
    }

    /// How this host stands in its group; none where it is in none.
    pub(crate) fn membership(&self) -> Option<Membership> {
        self.gate.as_ref().map(|gate| gate.member.membership())
    }

    /// Whether another host sends, or nobody.
    pub(crate) fn is_standing_by(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.permit.is_none())
    }

    /// The lease is won: everything is judged by what the group remembers, and what differs is sent; what services stopped,
    /// where that is wanted.
    pub(crate) fn take_over(&mut self, (permit, state): (Permit, State), retry_stopped: bool) {
        let Some(gate) = &mut self.gate else { return };
        gate.permit = Some(permit.clone());
        self.empty();
        self.updates.take_over(state, permit);
        if retry_stopped {
            self.updates.forget_stops();
        }
        self.queue_all();
    }

    /// The lease is lost, or was given back: what is under way is dropped, and what is known of the endpoints is forgotten.
    pub(crate) fn stand_by(&mut self) {
        if let Some(gate) = &mut self.gate {
            gate.permit = None;
            self.is_closing = false;
            self.empty();
            self.updates.forget();
        }
    }

    /// For [`Sync::take_over`] with the next configuration of this process; none where it does not hold the lease.
    pub(crate) fn take_shared(&mut self) -> Option<(Permit, State)> {
        let permit = self.gate.as_mut()?.permit.take()?;
        Some((permit, self.updates.take_shared()?))
    }

    /// Whether an address is known for any update.
    pub(crate) fn has_address(&self) -> bool {
        self.updates.has_address()
    }

    /// Tells the group whether this host has an address.
    pub(super) fn tell_address(&self) {
        if let Some(gate) = &self.gate {
            gate.member.tell_address(self.updates.has_address());
        }
    }

    /// Tells the group whether a request reached its endpoint: whatever that answered.
    pub(super) fn tell_reached(&self, outcome: &Outcome) {
        if let Some(gate) = &self.gate {
            gate.member.tell_reached(!matches!(outcome, Outcome::Failed { .. }));
        }
    }

    fn empty(&mut self) {
        self.sending = FuturesUnordered::new();
        self.queue = Queue::new(self.updates.len(), self.backoff).with_pauses(self.requested_pauses());
        self.lanes.fill(None);
        self.waiting.clear();
        self.recheck_at = None;
        self.held.clear();
        self.held_until.clear();
        self.uncounted.clear();
    }
}
