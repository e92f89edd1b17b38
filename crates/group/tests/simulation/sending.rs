//! How a member sends its address: marked in the store first, then the request, then what was accepted is written.

use std::time::Duration;

use ddns_group::machine::{Machine, MachineEvent};

use super::node::Sending;
use super::store::{Asked, Remembered};
use super::world::{What, World};

/// The time limit of a request to the endpoint.
const TIMEOUT: Duration = Duration::from_secs(10);

impl World {
    /// Sends what is to be sent: marked in the store first, then the request.
    pub(super) fn work(&mut self, node: usize) {
        let now = self.now;
        let known = &mut self.nodes[node];
        if known.is_draining && known.sending.is_none() {
            known.is_draining = false;
            return self.tell(node, MachineEvent::Drained);
        }
        let own = known.machine.as_ref().and_then(|machine| machine.lease().zip(machine.created()));
        let (Some(own), true) = (own, known.may_send(now) && known.has_address) else { return };
        if known.sending.is_some() || known.is_settled(now) || now < known.retry_at {
            return;
        }
        let Some((remembered, at)) = known.known else {
            known.retry_at = now + Duration::from_millis(500);
            return self.ask(node, &Asked::Read);
        };
        self.next += 1;
        let address = known.address;
        known.sending = Some(Sending { id: self.next, own, era: self.era, address, is_marked: false });
        self.ask(node, &Asked::Write(own, at, Remembered { is_in_doubt: true, ..remembered }));
    }

    /// Whether a write was done is not known, or it was not done: the state is read again.
    pub(super) fn lose_track(&mut self, node: usize) {
        let known = &mut self.nodes[node];
        known.known = None;
        known.sending = known.sending.filter(|sending| sending.is_marked);
        known.retry_at = self.now + Duration::from_millis(500);
        let at = (known.retry_at, known.life);
        self.at(at.0, What::Work(node, at.1));
        self.work(node);
    }

    pub(super) fn written(&mut self, node: usize, at: Option<i64>) {
        let now = self.now;
        let Some(at) = at else { return self.lose_track(node) };
        let known = &mut self.nodes[node];
        let (mut remembered, _) = known.known.unwrap_or_default();
        let Some(sending) = known.sending.filter(|sending| !sending.is_marked) else {
            // What was accepted is remembered now.
            remembered.is_in_doubt = false;
            known.known = known.known.map(|_| (remembered, at));
            return self.work(node);
        };
        remembered.is_in_doubt = true;
        known.known = Some((remembered, at));
        let machine = known.machine.as_ref();
        let deadline = machine.filter(|machine| machine.created() == Some(sending.own.1)).and_then(Machine::deadline);
        let (Some(deadline), true) = (deadline, known.may_send(now)) else {
            known.sending = None;
            return self.work(node);
        };
        known.sending = Some(Sending { is_marked: true, ..sending });
        let local = known.local(now);
        let limit = known.real(local + TIMEOUT.min(deadline.saturating_sub(local))).saturating_sub(now);
        let (from, reaches, address) = ((node, known.life), known.reaches_endpoint, sending.address);
        let most = if self.is_slow { limit } else { limit.min(Duration::from_millis(200)) };
        let (arrival, way_back) = (self.random.up_to(most), self.random.up_to(Duration::from_millis(200)));
        let arrives = reaches && !self.is_lost();
        if arrives {
            self.at(now + arrival, What::Accept { by: (sending.era, sending.own.1), address });
        }
        let is_ok = arrives && arrival + way_back < limit && !self.is_lost();
        let ends = if is_ok { arrival + way_back } else { limit };
        self.at(now + ends, What::Ended { from, id: sending.id, is_ok });
    }

    pub(super) fn ended(&mut self, node: usize, id: u64, is_ok: bool) {
        let known = &mut self.nodes[node];
        let Some(sending) = known.sending.take_if(|sending| sending.id == id) else { return };
        if let (true, Some((_, at))) = (is_ok, known.known) {
            let accepted = Remembered { accepted: Some(sending.address), is_in_doubt: false };
            // Until it is written, it stays in doubt in the store.
            known.known = Some((Remembered { is_in_doubt: true, ..accepted }, at));
            known.retry_at = self.now + self.lease;
            self.ask(node, &Asked::Write(sending.own, at, accepted));
        } else {
            known.retry_at = self.now + Duration::from_secs(1);
            let at = (known.retry_at, known.life);
            self.at(at.0, What::Work(node, at.1));
        }
        self.tell(node, MachineEvent::Reached(is_ok));
    }
}
