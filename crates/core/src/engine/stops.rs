//! Updates that a service refused permanently (H5).

use std::net::IpAddr;
use std::rc::Rc;

use super::plan::Plan;
use super::{Durability, Engine};
use crate::callback::expect::Expect;
use crate::config::Cache;
use crate::schedule::queue::UpdateId;
use crate::update::Update;
use crate::update::hold::{Hold, Stopped};
use crate::update::outcome::Outcome;

impl Engine {
    /// Handles the end of a request before an update, which was not sent. Returns what the endpoint accepted before.
    pub(super) fn refuse(&mut self, at: usize, update: &Update<'_>, outcome: &Outcome) -> Option<IpAddr> {
        let key = self.key(at, update.domain, update.family)?;
        let (store, now) = (self.plan.store_of(at), self.clock());
        let hold = self.stores[store].state.hold(&key);
        let refused = hold.clone().refused(outcome, update, now);
        if refused != hold {
            self.set_hold(store, &key, refused);
        }
        self.stores[store].state.entry(&key).accepted.map(|accepted| accepted.ip)
    }

    /// A service refused one update, and with it all updates of its entry (H5). With `"until": "address"`, this holds for the
    /// current address of each update; an update without an address may be sent once it has one. What the request after an update
    /// was answered (`is_after`) names that update to the others.
    pub(super) fn stop_claims(
        &mut self,
        plan: &Plan,
        at: usize,
        refused: &Update<'_>,
        outcome: &Outcome,
        is_after: bool,
    ) {
        let (entry, now, store) = (plan.entry(at), self.clock(), plan.store_of(at));
        let stops_others = entry.callback.request.expect.as_ref().is_none_or(Expect::stops_others);
        let values = entry.callback.values_of(refused.domain, refused.family);
        for id in plan.updates_of(at) {
            let (_, domain, family) = plan.about(id);
            if !stops_others && entry.callback.values_of(domain, family) != values {
                continue;
            }
            let ip = self.update(plan, id).map_or(refused.ip, |(_, update)| update.ip);
            let mut stopped = Stopped::by(outcome, ip, now);
            if let Some(stopped) =
                stopped.as_mut().filter(|_| is_after && (domain, family) != (refused.domain, refused.family))
            {
                stopped.why = format!("{} {}: {}", refused.domain, refused.family.record_type(), stopped.why);
            }
            let Some(key) = self.key(at, domain, family) else { continue };
            let hold = self.stores[store].state.hold(&key);
            self.set_hold(store, &key, Hold { stopped, ..hold });
            // Without a cache, each round also sends what was accepted before.
            if entry.cache == Cache::Off
                && let Some(doubted) = self.stores[store].state.entry(&key).doubted()
            {
                self.set(store, &key, doubted);
            }
        }
    }

    /// Forgets which updates services stopped.
    pub(super) fn forget_stops(&mut self) {
        let plan = Rc::clone(&self.plan);
        for id in 0..UpdateId::try_from(plan.update_count()).unwrap_or(UpdateId::MAX) {
            let (at, domain, family) = plan.about(id);
            self.bind(at);
            let Some(key) = self.key(at, domain, family) else { continue };
            let hold = self.stores[plan.store_of(at)].state.hold(&key);
            if hold.stopped.is_some() {
                self.set_hold(plan.store_of(at), &key, Hold { stopped: None, ..hold });
            }
        }
        self.save(Durability::Process);
    }
}
