//! What goes wrong, and how it ends.

use std::time::Duration;

use ddns_group::machine::{Machine, MachineEvent, Settings};

use super::store::Store;
use super::world::{Flaw, What, World};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Link(usize, bool),
    Endpoint(usize, bool),
    Address(usize, bool),
    NewAddress(usize),
    Pause(usize, Duration),
    Kill(usize),
    Terminate(usize),
    Start(usize),
    LoseLeader(Duration),
    Elect,
    Unstale,
    /// The way to the store that the members with this bit have leads to the old leader.
    Stale(u32),
    /// The store is kept as it is now.
    Keep,
    /// It is again as it was kept, or empty where that is not wanted; perhaps as another cluster.
    GoBack {
        is_wiped: bool,
        is_another: bool,
    },
    Heal,
}

impl World {
    pub(super) fn fault(&mut self, fault: Fault) {
        let now = self.now;
        match fault {
            Fault::Link(node, is_up) => self.nodes[node].has_link = is_up,
            Fault::Endpoint(node, is_up) => self.nodes[node].reaches_endpoint = is_up,
            Fault::Address(node, is_there) => {
                self.nodes[node].has_address = is_there;
                self.tell(node, MachineEvent::Address(is_there));
            }
            Fault::NewAddress(node) => {
                self.nodes[node].address += 1;
                self.work(node);
            }
            Fault::Pause(node, time) => self.nodes[node].paused_until = now + time,
            Fault::Kill(node) => self.nodes[node].machine = None,
            Fault::Terminate(node) => self.tell(node, MachineEvent::Terminate),
            Fault::Start(node) => self.start(node),
            Fault::LoseLeader(until) => self.store.lose_leader(until),
            Fault::Elect => self.change_store(Store::elect),
            Fault::Stale(bits) => {
                self.nodes.iter_mut().enumerate().for_each(|(at, node)| node.is_stale = bits & (1 << at) != 0);
            }
            Fault::Unstale => self.nodes.iter_mut().for_each(|node| node.is_stale = false),
            Fault::Keep => self.kept = Some(self.store.clone()),
            Fault::GoBack { is_wiped, is_another } => self.go_back(is_wiped, is_another),
            Fault::Heal => self.heal(),
        }
    }

    fn start(&mut self, node: usize) {
        let (lease, member) = (self.lease, node.to_string());
        let known = &mut self.nodes[node];
        if known.machine.is_some() {
            return;
        }
        let local = known.local(self.now);
        known.machine = Some(Machine::new(Settings { member, lease, prefer: known.prefer }, local));
        known.life += 1;
        (known.paused_until, known.wake_at) = (Duration::ZERO, None);
        known.pending.clear();
        known.watch = None;
        known.seen = None;
        (known.is_unaware, known.era) = (self.era > 0, self.era);
        known.sending = None;
        known.is_draining = false;
        // With the flaw it believes what it knew before it ended.
        known.known = known.known.filter(|_| self.flaw == Flaw::NotLoaded);
        let has_address = known.has_address;
        self.tell(node, MachineEvent::Address(has_address));
    }

    /// Connections to it break.
    fn go_back(&mut self, is_wiped: bool, is_another: bool) {
        let kept = self.kept.clone().filter(|_| !is_wiped);
        self.store.go_back(kept, is_another, self.now);
        (self.era, self.went_back) = (self.era + 1, self.now);
        for node in 0..self.nodes.len() {
            let (known, delay) = (&mut self.nodes[node], self.random.up_to(Duration::from_millis(500)));
            let from = (node, known.life);
            let (watch, mut calls): (_, Vec<u64>) = (known.watch.take(), known.pending.keys().copied().collect());
            calls.sort_unstable();
            for id in calls {
                self.at(self.now + delay, What::GiveUp { from, id });
            }
            if let Some((watch, _)) = watch {
                self.at(self.now + delay, What::Unwatch { to: from, watch });
            }
        }
    }

    fn heal(&mut self) {
        (self.loss, self.is_slow, self.healed) = (0, false, Some(self.now));
        if !self.store.has_majority {
            self.change_store(Store::elect);
        }
        for node in 0..self.nodes.len() {
            let known = &mut self.nodes[node];
            (known.has_link, known.is_stale) = (true, false);
            known.reaches_endpoint = self.unreaching & (1 << node) == 0;
            let (to, late) = ((node, known.life), known.watch.as_ref().map(|(watch, views)| (*watch, views.len())));
            // What a watch has to tell comes at last.
            if let Some((watch, count)) = late {
                for _ in 0..count {
                    self.at(self.now, What::Deliver { to, watch });
                }
            }
            self.start(node);
            let has_address = self.homeless & (1 << node) == 0;
            self.fault(Fault::Address(node, has_address));
        }
    }
}
