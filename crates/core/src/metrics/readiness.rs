//! Whether a service does its work: nothing is stopped, nothing has failed for longer than its interval, and a host on standby
//! sees the store of its group.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::journal::{About, JournalEvent, Row, Status, UpdateState, What};
use crate::lease::membership::Membership;
use crate::net::family::Family;
use crate::text::duration::duration;

/// What fails, and since when.
#[derive(Debug, Clone, Default)]
pub struct ServiceReadiness {
    /// Updates that failed when they were last sent, and since when they have been failing, on a steady clock.
    failing: HashMap<About, Duration>,
    /// Entries without an address, and since when, on a steady clock.
    missing: HashMap<(usize, Family), Duration>,
    /// How long each entry may fail: the interval of its configuration.
    limits: Vec<Duration>,
}

impl ServiceReadiness {
    /// Begins without failures. `limits`: the interval of each entry.
    pub fn new(limits: Vec<Duration>) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes in what happened; `now` is the time on a steady clock.
    pub fn take(&mut self, event: &JournalEvent, now: Duration) {
        match &event.what {
            What::Settled(settled) => {
                if settled.outcome.is_accepted() {
                    self.failing.remove(&settled.about);
                } else {
                    self.failing.entry(settled.about.clone()).or_insert(now);
                }
            }
            What::NoAddress { entries, family, .. } => {
                self.missing.extend(entries.iter().map(|entry| ((*entry, *family), now)));
            }
            What::Address { entries, family, .. } => {
                for entry in entries {
                    self.missing.remove(&(*entry, *family));
                }
            }
            // After a change of the lease, earlier failures do not count any more.
            What::Role(_) => self.failing.clear(),
            // What DNS shows does not affect readiness (K2).
            What::Visibility(_)
            | What::DnsQuestions { .. }
            | What::Held(_)
            | What::SourceFailed { .. }
            | What::SourceRecovered { .. }
            | What::Said { .. } => {}
        }
    }

    /// Forgets failures of updates that are no longer to be sent: the next one is new. `rows` is asked only if there are any.
    pub fn review(&mut self, rows: impl FnOnce() -> Vec<Row>) {
        if !self.failing.is_empty() {
            let rows = rows();
            let open = open(&rows);
            self.failing.retain(|about, _| is_in(&open, about));
        }
    }

    /// Why the service is not ready, without domain names; `None`: it is ready.
    pub fn objection(&self, status: &Status, now: Duration) -> Option<String> {
        let is_over = |entry: usize, since: Duration| {
            now.saturating_sub(since) > self.limits.get(entry).copied().unwrap_or_default()
        };
        let stopped: Vec<&Row> = status.rows.iter().filter(|row| row.state == UpdateState::Stopped).collect();
        let named: HashSet<(&str, &str)> = stopped.iter().map(|row| (row.domain.as_str(), row.kind.as_str())).collect();
        // A failed update may have been withdrawn, or accepted by another process, in the meantime.
        let open = open(&status.rows);
        let failing: Vec<Duration> = self
            .failing
            .iter()
            .filter(|(about, since)| is_in(&open, about) && !is_in(&named, about) && is_over(about.entry, **since))
            .map(|(_, since)| now.saturating_sub(*since))
            .collect();
        let missing = self.missing.iter().filter(|((entry, _), since)| is_over(*entry, **since)).count();
        let mut why = Vec::new();
        if let Some(objection) = status.group.as_ref().and_then(Membership::objection) {
            why.push(objection.to_owned());
        }
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if !stopped.is_empty() {
            why.push(format!("{} update{} stopped", stopped.len(), plural(stopped.len())));
        }
        if let Some(longest) = failing.iter().max() {
            let count = failing.len();
            why.push(format!("{count} update{} failing, for {}", plural(count), duration(*longest)));
        }
        if missing > 0 {
            why.push("an address is missing".to_owned());
        }
        (!why.is_empty()).then(|| why.join("; "))
    }
}

/// Domains and types with an update that is not as it should be.
fn open(rows: &[Row]) -> HashSet<(&str, &str)> {
    let open = rows.iter().filter(|row| !row.state.is_good());
    open.map(|row| (row.domain.as_str(), row.kind.as_str())).collect()
}

fn is_in(names: &HashSet<(&str, &str)>, about: &About) -> bool {
    names.contains(&(about.domain.as_str(), about.family.record_type()))
}
