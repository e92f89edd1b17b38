//! Claims that requests replace: those of callbacks that are no longer configured (E3), and those of a family that has no
//! address now (H7).

use std::rc::Rc;

use super::Engine;
use super::plan::{Plan, StoreId};
use crate::net::family::Family;
use crate::schedule::queue::UpdateId;
use crate::update::Update;
use crate::update::state::{Claim, ClaimKey, Fingerprint, InDoubt, Sending};

/// A claim that is in doubt because of our own requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replaced {
    /// How many requests replace it.
    count: usize,
    /// When it was put in doubt, in seconds since the epoch.
    since: u64,
}

impl Engine {
    /// Puts in doubt what these requests replace: claims of callbacks that are no longer configured (E3), and of a family that
    /// has no address now (H7).
    pub(super) fn mark_replaced(&mut self, plan: &Plan, store: StoreId, ids: &[UpdateId], sending: &[Sending]) {
        let now = self.clock();
        let here = (0..plan.entry_count()).filter(|at| plan.store_of(*at) == store);
        let entries = &self.entries;
        let present = here.flat_map(|at| {
            let (entry, callback) = (plan.entry(at), entries[at].callback);
            Family::ALL.into_iter().flat_map(move |family| {
                let of = move |domain| Some((entry.callback.fingerprint_of(callback?, domain, family), domain, family));
                entry.domains_of(family).iter().filter_map(of)
            })
        });
        let missing = sending.iter().enumerate().filter(|(_, one)| one.ip.is_none());
        let missing = missing.map(|(place, one)| (place, one.key.clone()));
        let replaced = self.stores[store].state.replaced_by(sending, present);
        for (place, key) in replaced.into_iter().chain(missing) {
            let Replaced { count, since } =
                self.replaced.get(&key).copied().unwrap_or(Replaced { count: 0, since: now });
            match self.stores[store].state.entry(&key).doubted() {
                Some(doubted) => self.set(store, &key, doubted),
                None if count == 0 => {
                    // Another process may have written in the meantime that the claim counts.
                    let known = self.stores[store].state.entry(&key);
                    // If something is sent in the claim's place, removing our own mark does not restore it, either.
                    let is_ours = |doubt: &InDoubt| sending[place].ip.is_none() && doubt.by == self.own;
                    if let Some(doubt) = known.in_doubt.filter(|doubt| doubt.by == 0 || is_ours(doubt)) {
                        let in_doubt = Some(InDoubt { until: 0, by: 0, ..doubt });
                        self.set(store, &key, Claim { in_doubt, ..known });
                    }
                    continue;
                }
                None => {}
            }
            let replaced = &mut self.before.entry(ids[place]).or_default().replaced;
            if !replaced.contains(&key) {
                self.replaced.insert(key.clone(), Replaced { count: count + 1, since });
                replaced.push(key);
            }
        }
    }

    /// After a merge: claims of other processes may count now, and be replaced by what we have marked.
    pub(super) fn mark_replaced_again(&mut self, store: StoreId) {
        let plan = Rc::clone(&self.plan);
        if !self.stores[store].state.has_several() {
            return;
        }
        let (mut ids, mut sending) = (Vec::new(), Vec::new());
        for at in (0..plan.entry_count()).filter(|at| plan.store_of(*at) == store && plan.identity(*at).is_file) {
            let Some(by) = self.maker(&plan, at) else { continue };
            for id in plan.updates_of(at) {
                let (_, domain, family) = plan.about(id);
                let mark = self.claim(at, domain, family).in_doubt.filter(|doubt| doubt.by == self.own);
                if let Some((key, mark)) = self.key(at, domain, family).zip(mark) {
                    ids.push(id);
                    sending.push(Sending { key, ip: Some(mark.ip), by });
                }
            }
        }
        if !ids.is_empty() {
            self.mark_replaced(&plan, store, &ids, &sending);
        }
    }

    /// Whether an entry that is configured now sends this update by this callback.
    pub(super) fn has_beside(&self, store: StoreId, callback: Fingerprint, update: &Update<'_>) -> bool {
        let entries = (0..self.plan.entry_count()).filter(|at| self.plan.store_of(*at) == store);
        entries.map(|at| (self.plan.entry(at), self.entries[at].callback)).any(|(entry, own)| {
            let own = own.map(|own| entry.callback.fingerprint_of(own, update.domain, update.family));
            own == Some(callback) && entry.domains_of(update.family).contains(update.domain)
        })
    }

    /// A request that would replace these claims has ended. If neither it nor any other was sent, the claims count again.
    pub(super) fn settle_replaced(&mut self, at: usize, keys: Vec<ClaimKey>, was_sent: bool) {
        let store = self.plan.store_of(at);
        for key in keys {
            let Some(Replaced { count, since }) = self.replaced.remove(&key) else { continue };
            if !was_sent && count > 1 {
                self.replaced.insert(key, Replaced { count: count - 1, since });
            } else if !was_sent
                // If changes of other processes were merged since, they may have put it in doubt, too.
                && self.stores[store].merged_at < since
                && let Some(before) = self.stores[store].state.entry(&key).undoubted()
            {
                self.set(store, &key, before);
            }
        }
    }
}
