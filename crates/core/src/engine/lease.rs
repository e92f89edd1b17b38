//! In a group, only the holder of the lease sends (J1); the other hosts look up their addresses and stand by.

use std::rc::Rc;

use super::in_flight::StepMemory;
use super::{Durability, Effect, Engine, Mode};
use crate::journal::What;
use crate::lease::role_change::RoleChange;
use crate::schedule::queue::Queue;
use crate::text::log_format::Level;
use crate::update::state::State;

/// The number of a lease of this host: one that was lost and won again has another number.
pub type Term = u64;

/// What happened to the lease.
#[derive(Debug)]
pub enum LeaseEvent {
    /// This host joined a group.
    Joined,
    /// This host left its group.
    Left,
    /// This host won the lease.
    Gained {
        /// The number of the lease.
        term: Term,
        /// What the group remembers.
        state: Box<State>,
    },
    /// This host gives the lease back as soon as nothing is under way.
    Draining,
    /// The lease is lost, or was given back.
    Lost,
    /// A single run cannot get the lease.
    Denied {
        /// The level for the log.
        level: Level,
        /// The reason, for people.
        why: String,
        /// The exit status.
        code: u8,
    },
    /// A change that the log and the history report.
    Changed(RoleChange),
}

/// What the engine tells the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Whether this host has an address.
    Address(bool),
    /// Whether a request reached its endpoint, whatever the response.
    Reached(bool),
    /// Nothing is under way any more, and all changes were handed out to be written.
    Drained,
}

/// Whether this host sends for its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// No: another host does, or none.
    No,
    /// Yes, under this lease.
    Yes(Term),
    /// Only what is under way; and whether the group was told that this has ended.
    Draining(Term, bool),
}

impl Engine {
    /// Whether this host is in a group and does not hold the lease.
    pub fn is_standing_by(&self) -> bool {
        self.lease == Some(Holding::No)
    }

    pub(super) fn is_draining(&self) -> bool {
        matches!(self.lease, Some(Holding::Draining(..)))
    }

    /// Whether a single run waits for the lease, because it may have something to send.
    pub(super) fn waits_for_lease(&self) -> bool {
        self.mode == Mode::Once && self.is_standing_by() && self.has_address()
    }

    /// The number of the lease that this host holds.
    pub fn term(&self) -> Option<Term> {
        match self.lease {
            Some(Holding::Yes(term) | Holding::Draining(term, _)) => Some(term),
            Some(Holding::No) | None => None,
        }
    }

    pub(super) fn on_lease(&mut self, event: LeaseEvent) {
        match event {
            LeaseEvent::Joined => self.stand_by(Some(Holding::No)),
            LeaseEvent::Left => self.stand_by(None),
            LeaseEvent::Gained { term, state } => self.take_over(term, &state),
            // A single run ends soon anyway.
            LeaseEvent::Draining if self.mode == Mode::Once => {
                if !self.is_updating() {
                    self.end_rounds();
                }
            }
            LeaseEvent::Draining => {
                self.lease = self.term().map(|term| Holding::Draining(term, false)).or(self.lease);
                self.drop_steps();
                self.take_back_marked();
            }
            LeaseEvent::Lost => {
                let (was_holding, was_updating) = (self.term().is_some(), self.is_updating());
                self.stand_by(Some(Holding::No));
                if was_holding && self.mode == Mode::Once && !was_updating {
                    // The run was only waiting for DNS.
                    self.out.effects.push_back(Effect::Ended(self.tally().exit_code()));
                } else if was_holding && self.mode == Mode::Once {
                    let group = self.plan.config(0).group.as_ref().map_or("", |group| &group.name).to_owned();
                    self.say(0, Level::Error, || {
                        format!("lost the lease of group {group}: the next holder sends what was not accepted")
                    });
                    self.out.effects.push_back(Effect::Ended(1));
                }
            }
            LeaseEvent::Denied { level, why, code } => {
                if self.is_standing_by() && self.mode == Mode::Once {
                    self.say(0, level, || why);
                    self.out.effects.push_back(Effect::Ended(code));
                }
            }
            LeaseEvent::Changed(change) => self.tell(What::Role(change)),
        }
    }

    /// The lease was won: judges everything by what the group remembers, and sends what differs.
    fn take_over(&mut self, term: Term, state: &State) {
        self.stand_by(Some(Holding::Yes(term)));
        self.won_at = self.now.steady;
        self.open_shared(state);
        if std::mem::take(&mut self.forgets_stops) {
            self.forget_stops();
        }
        self.is_busy = true;
        self.judge_all();
    }

    /// Drops all requests, and forgets what is known about the endpoints.
    fn stand_by(&mut self, lease: Option<Holding>) {
        if !self.requests.is_empty() {
            self.requests.clear();
            self.out.effects.push_back(Effect::Cancel);
        }
        self.lease = lease;
        self.empty();
        self.forget_claims();
    }

    /// Clears the queue, and everything that waits.
    pub(super) fn empty(&mut self) {
        let pauses = self.queue.requested_pauses(self.now.steady);
        let backoff = super::backoff(&self.plan, self.mode);
        self.queue = Queue::new(self.plan.update_count(), backoff).with_pauses(pauses);
        for entry in &mut self.entries {
            entry.lane = None;
        }
        self.todos.clear();
        self.marking.clear();
        self.waiting.clear();
        self.recheck_at = None;
        self.held.clear();
        self.held_until.clear();
        self.uncounted.clear();
        self.asked = StepMemory::default();
        self.dns_schedule.clear();
    }

    /// Drops all requests that were marked and not sent yet.
    pub(super) fn take_back_marked(&mut self) {
        let plan = Rc::clone(&self.plan);
        for (_, _, request) in std::mem::take(&mut self.marking) {
            self.take_back(&plan, &request);
        }
    }

    /// Gives the lease back, if that is wanted and nothing is under way any more.
    pub(super) fn hand_back(&mut self) {
        if let Some(Holding::Draining(term, false)) = self.lease
            && self.requests.is_empty()
        {
            self.save(Durability::Power);
            self.out.effects.push_back(Effect::Tell(Note::Drained));
            self.lease = Some(Holding::Draining(term, true));
        }
    }
}
