//! An engine that only looks, for `ddns preview`, and for `ddns status` without a service: it reads addresses and caches.
//! Nothing here queues, marks, writes or sends anything.

use std::net::IpAddr;

use super::observe::LookupState;
use super::queueing::Task;
use super::{Engine, Event, Mode, Stored};
use crate::address::observation::{Observation, Observed};
use crate::address::source::Source;
use crate::net::family::Family;

/// The sources of an entry, and the addresses that were found there, both by [`Family::index`].
pub type KnownAddresses = ([Vec<Source>; 2], [Option<IpAddr>; 2]);

impl Engine {
    pub(super) fn look(&mut self, event: Event) {
        match event {
            Event::Begin => {
                self.look_up_all();
                self.after_reading((0..self.stores.len()).collect(), Task::ReadStores);
            }
            Event::LookedUp { lookup, found } => {
                let Some(LookupState { family, entries, .. }) = self.lookups.remove(&lookup) else { return };
                let index = family.index();
                for (at, _) in entries {
                    let state = &mut self.entries[at];
                    state.observed[index] = found.observed().map_or(Observation::Unavailable, Observation::Found);
                    state.found[index] = found.address();
                    state.sources[index] = Some(found.source());
                }
            }
            // A missing file is not created.
            Event::Read { store, stored: stored @ Stored::Known { unwritable: None, .. } } => {
                self.read(store, stored);
                for at in (0..self.entries.len()).filter(|at| self.plan.store_of(*at) == store).collect::<Vec<_>>() {
                    self.bind(at);
                }
            }
            _ => {}
        }
    }

    /// The address of an entry, to judge and to show; in an engine that only looks, it may be an example (A8).
    pub(super) fn address(&self, at: usize, family: Family) -> Option<IpAddr> {
        match self.mode {
            Mode::Look => self.entries[at].found[family.index()],
            Mode::Once | Mode::Service => self.found(at, family).map(Observed::ip),
        }
    }

    /// The sources of each entry and the addresses that were found there.
    pub fn addresses(&self) -> Vec<KnownAddresses> {
        let of = |at: usize| (self.plan.entry(at).sources.clone(), Family::ALL.map(|family| self.address(at, family)));
        (0..self.plan.entry_count()).map(of).collect()
    }
}
