//! Failures in a row, for notifications (I5): kept in the cache of their entry, so that single runs count on.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use ddns_core::address::observation::Observation;
use ddns_core::config::Notification;
use ddns_core::net::family::Family;
use ddns_core::notify::{About, StreakStatus};
use ddns_core::schedule::queue::Stage;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::plan::Verdict;
use ddns_core::update::state::{EntryKey, Fingerprint};
use ddns_core::update::streak::Streak;

use super::Sync;

impl Sync<'_> {
    /// What entries of one configuration are called where their failures are counted: by where each sends, and a number
    /// where several send there. Another key or body, which is how failures are mended, leaves the count as it is.
    pub(crate) fn streak_names(&self, entries: Range<usize>) -> Vec<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let name = |at: usize| {
            let origin =
                self.senders[at].entry.callback.target.fixed_part().map(|url| url.origin()).unwrap_or_default();
            let number = counts.entry(origin.clone()).or_default();
            *number += 1;
            format!("{origin} {number}")
        };
        entries.map(name).collect()
    }

    /// The key under which a notification counts failures of an entry.
    pub(crate) fn streak_key(&mut self, at: usize, name: &str, notification: &Notification) -> Fingerprint {
        self.updates.open_cache(at);
        notification.callback.fingerprint_for(self.updates.streaks(at).state().salt(), name)
    }

    /// The failures of an update.
    pub(crate) fn streak(&mut self, key: Fingerprint, about: &About) -> Streak {
        self.updates.streaks(about.entry).state().streak(&entry_key(key, about)).unwrap_or_default()
    }

    pub(crate) fn set_streak(&mut self, key: Fingerprint, about: &About, streak: Streak) {
        self.updates.streaks(about.entry).set_streak(entry_key(key, about), streak);
    }

    /// Every update of an entry that failed before.
    pub(crate) fn standings(&mut self, key: Fingerprint, at: usize) -> Vec<StreakStatus> {
        if !self.updates.streaks(at).state().has_streaks(key) {
            return Vec::new();
        }
        let entry = self.senders[at].entry;
        let mut standings = Vec::new();
        for family in Family::ALL {
            for domain in entry.domains_of(family) {
                let about = About { entry: at, domain: domain.clone(), family };
                let known = self.updates.streaks(at).state().streak(&entry_key(key, &about));
                let Some(streak) = known else { continue };
                let ip = self.wanted(at, domain, family);
                let is_fine = ip.is_some_and(|ip| {
                    matches!(self.updates.judge(at, &Update { domain, family, ip }), Verdict::UpToDate(_))
                });
                standings.push(StreakStatus { about, streak, ip, is_fine });
            }
        }
        standings
    }

    /// The updates of an entry that wait to be sent, because their endpoint fails.
    pub(crate) fn waiting(&self, at: usize) -> Vec<(About, Option<IpAddr>)> {
        let entry = self.senders[at].entry;
        let mut waiting = Vec::new();
        for family in Family::ALL {
            for (job, domain) in (self.updates.first(at, family)..).zip(entry.domains_of(family)) {
                if matches!(self.queue.stage(self.updates.leader(job)), Stage::Queued(_) | Stage::WaitingToRetry) {
                    let about = About { entry: at, domain: domain.clone(), family };
                    waiting.push((about, self.wanted(at, domain, family)));
                }
            }
        }
        waiting
    }

    /// Whether it is known what the endpoint of an entry accepted before.
    pub(crate) fn remembers(&self, at: usize) -> bool {
        self.updates.remembers(at)
    }

    /// The address that an update should have; none where none was found.
    fn wanted(&self, at: usize, domain: &Domain, family: Family) -> Option<IpAddr> {
        match *self.updates.observed(at, family) {
            Observation::Found(found) => Some(self.senders[at].entry.update(domain, family, found.ip()).ip),
            Observation::Unavailable | Observation::Off => None,
        }
    }
}

fn entry_key(callback: Fingerprint, about: &About) -> EntryKey {
    EntryKey { callback, domain: about.domain.clone(), family: about.family }
}
