//! Counts of what happened since the service started.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::journal::{EventKind, JournalEvent, Settled, What};
use crate::net::family::Family;

/// How many sources are counted by name.
const MAX_SOURCES: usize = 100;

/// The bounds of the buckets for the time of a request, in milliseconds.
const REQUEST: &[u64] = &[5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];

/// The bounds for the time from a change to its acceptance, in milliseconds.
const CHANGE: &[u64] = &[10, 50, 100, 500, 1000, 5000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000];

/// The bounds for the time from acceptance to visibility in DNS, in milliseconds.
const VISIBLE: &[u64] = &[2000, 5000, 15_000, 45_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000, 14_400_000];

/// Everything that is counted.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Events, by kind.
    pub(super) events: [u64; EventKind::ALL.len()],
    /// Attempts after the first one.
    pub(super) retries: u64,
    pub(super) requests: Histogram,
    /// From the moment a new address was found until an endpoint accepted it.
    pub(super) changes: Histogram,
    /// From the moment an endpoint accepted an address until DNS servers had it.
    pub(super) visible: Histogram,
    /// Questions to DNS servers: answered and unanswered.
    pub(super) questions: [u64; 2],
    /// Updates that were accepted again because DNS had something else.
    pub(super) repairs: u64,
    /// Changes of the address, by [`Family::index`].
    pub(super) addresses: [u64; 2],
    /// Failures of sources, by family and source.
    pub(super) source_failures: BTreeMap<(Family, String), u64>,
    /// When the address of an entry last changed, on a steady clock.
    changed: HashMap<(usize, Family), Duration>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            events: [0; EventKind::ALL.len()],
            retries: 0,
            requests: Histogram::new(REQUEST),
            changes: Histogram::new(CHANGE),
            visible: Histogram::new(VISIBLE),
            questions: [0; 2],
            repairs: 0,
            addresses: [0; 2],
            source_failures: BTreeMap::new(),
            changed: HashMap::new(),
        }
    }
}

impl Counts {
    /// Counts an event; `now` is the time on a steady clock.
    pub fn take(&mut self, event: &JournalEvent, now: Duration) {
        if let Some(kind) = event.what.kind() {
            self.events[kind as usize] += 1;
        }
        match &event.what {
            What::Settled(settled) => self.settle(settled, now),
            What::Address { entries, family, previous, ip, .. } => {
                if previous.is_some_and(|previous| previous != *ip) {
                    self.addresses[family.index()] += 1;
                }
                self.changed.extend(entries.iter().map(|entry| ((*entry, *family), now)));
            }
            What::SourceFailed { family, source, .. } => {
                let key = (*family, source.clone());
                if self.source_failures.len() < MAX_SOURCES || self.source_failures.contains_key(&key) {
                    *self.source_failures.entry(key).or_default() += 1;
                }
            }
            What::Visibility(visibility) if visibility.verdict.is_good() && visibility.is_timed => {
                self.visible.add(Duration::from_secs(visibility.after));
            }
            What::DnsQuestions { answered, unanswered } => {
                self.questions[0] += u64::from(*answered);
                self.questions[1] += u64::from(*unanswered);
            }
            _ => {}
        }
    }

    fn settle(&mut self, settled: &Settled, now: Duration) {
        self.retries += u64::from(settled.attempt > 1);
        self.repairs += u64::from(settled.is_repair);
        self.requests.add(settled.took);
        if settled.is_change()
            && let Some(changed) = self.changed.get(&(settled.about.entry, settled.about.family))
        {
            self.changes.add(now.saturating_sub(*changed));
        }
    }

    /// Forgets the numbers of entries: those of a new configuration differ.
    pub fn renumber(&mut self) {
        self.changed.clear();
    }
}

/// A histogram of durations.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// The upper bounds of the buckets, in milliseconds.
    pub(super) bounds: &'static [u64],
    /// How many durations are in each bucket; at the end, those above all bounds.
    pub(super) counts: Vec<u64>,
    pub(super) sum: Duration,
}

impl Histogram {
    fn new(bounds: &'static [u64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: Duration::ZERO }
    }

    fn add(&mut self, took: Duration) {
        let at = self.bounds.partition_point(|bound| Duration::from_millis(*bound) < took);
        self.counts[at] += 1;
        self.sum = self.sum.saturating_add(took);
    }
}
