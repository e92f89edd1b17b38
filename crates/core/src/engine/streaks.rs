//! Consecutive failures, for notifications (I5). The store of the entry keeps them, so that single runs go on counting.

use std::net::IpAddr;

use super::Engine;
use crate::config::Notification;
use crate::journal::About;
use crate::net::family::Family;
use crate::notify::StreakStatus;
use crate::schedule::queue::Stage;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::plan::Verdict;
use crate::update::state::{ClaimKey, Fingerprint};
use crate::update::streak::Streak;

impl Engine {
    /// The key under which a notification counts failures of an entry; it stays the same as long as the store does.
    pub fn streak_key(&self, at: usize, name: &str, notification: &Notification) -> Fingerprint {
        notification.callback.fingerprint_for(self.stores[self.plan.store_of(at)].state.salt(), name)
    }

    /// The streak of an update.
    pub fn streak(&self, key: Fingerprint, about: &About) -> Streak {
        let store = &self.stores[self.plan.store_of(about.entry)];
        store.state.streak(&entry_key(key, about)).unwrap_or_default()
    }

    /// Remembers the streak of an update.
    pub fn set_streak(&mut self, key: Fingerprint, about: &About, streak: Streak) {
        if self.streak(key, about) == streak {
            return;
        }
        let (store, key) = (self.plan.store_of(about.entry), entry_key(key, about));
        self.stores[store].state.set_streak(&key, streak);
        if let Some(unsaved) = self.must_save(store) {
            unsaved.streaks.insert(key);
        }
    }

    /// All updates of an entry that have failed.
    pub fn streak_statuses(&self, key: Fingerprint, at: usize) -> Vec<StreakStatus> {
        let state = &self.stores[self.plan.store_of(at)].state;
        if !state.has_streaks(key) {
            return Vec::new();
        }
        let mut streak_statuses = Vec::new();
        for family in Family::ALL {
            for domain in self.plan.entry(at).domains_of(family) {
                let about = About { entry: at, domain: domain.clone(), family };
                let Some(streak) = state.streak(&entry_key(key, &about)) else { continue };
                let ip = self.wanted(at, domain, family);
                let is_fine =
                    ip.is_some_and(|ip| matches!(self.judge(at, &Update { domain, family, ip }), Verdict::UpToDate(_)));
                streak_statuses.push(StreakStatus { about, streak, ip, is_fine });
            }
        }
        streak_statuses
    }

    /// The updates of an entry that wait for a retry, or for their endpoint to end a pause.
    pub fn waiting(&self, at: usize) -> Vec<(About, Option<IpAddr>)> {
        let mut waiting = Vec::new();
        for family in Family::ALL {
            for (id, domain) in (self.plan.first(at, family)..).zip(self.plan.entry(at).domains_of(family)) {
                let leader = self.plan.leader(id);
                let is_paused = self.queue.pause_of(leader).is_some();
                if is_paused || matches!(self.queue.stage(leader), Stage::WaitingToRetry) {
                    let about = About { entry: at, domain: domain.clone(), family };
                    waiting.push((about, self.wanted(at, domain, family)));
                }
            }
        }
        waiting
    }

    /// The address that an update should have; `None` if none was found.
    pub(super) fn wanted(&self, at: usize, domain: &Domain, family: Family) -> Option<IpAddr> {
        Some(self.plan.entry(at).update(domain, family, self.address(at, family)?).ip)
    }
}

fn entry_key(callback: Fingerprint, about: &About) -> ClaimKey {
    ClaimKey { callback, domain: about.domain.clone(), family: about.family }
}
