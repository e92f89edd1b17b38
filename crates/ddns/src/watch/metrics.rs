//! Counts what happens to a service, for `/metrics` and `/readyz`; only if there is a page.

use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::journal::{JournalEvent, Row, Status};
use ddns_core::metrics::{Counts, ServiceReadiness, ServiceTime, text};

use crate::clock::{steady_time, unix_time};

pub(super) struct Metrics {
    counts: Counts,
    readiness: ServiceReadiness,
    /// When the service began, in seconds since the epoch.
    started: u64,
}

impl Metrics {
    /// `None` if no configuration has a page. Continues the counts of `before`.
    pub(super) fn of(configs: &[Valid], intervals: &[Duration], before: Option<Self>) -> Option<Self> {
        configs.iter().any(|(config, _)| config.web.is_some()).then(|| {
            let limits = configs
                .iter()
                .zip(intervals)
                .flat_map(|((config, _), interval)| config.entries.iter().map(|_| *interval));
            let readiness = ServiceReadiness::new(limits.collect());
            let (mut counts, started) = match before {
                Some(before) => (before.counts, before.started),
                None => (Counts::default(), unix_time().seconds),
            };
            counts.renumber();
            Self { counts, readiness, started }
        })
    }

    pub(super) fn take(&mut self, events: &[JournalEvent]) {
        if events.is_empty() {
            return;
        }
        let now = steady_time();
        for event in events {
            self.counts.take(event, now);
            self.readiness.take(event, now);
        }
    }

    /// Takes in the end of a synchronization.
    pub(super) fn rest(&mut self, rows: impl FnOnce() -> Vec<Row>) {
        self.readiness.review(rows);
    }

    pub(super) fn text(&self, status: &Status) -> String {
        let now = ServiceTime { at: unix_time().seconds, started: self.started, version: env!("CARGO_PKG_VERSION") };
        text(&self.counts, status, now)
    }

    /// Why the service is not ready; `None` if it is.
    pub(super) fn objection(&self, status: &Status) -> Option<String> {
        self.readiness.objection(status, steady_time())
    }
}
