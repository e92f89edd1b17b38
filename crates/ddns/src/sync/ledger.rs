//! What is known of every update: which address was found for it, and what its endpoint was last told.

use std::path::PathBuf;
use std::time::Instant;

use ddns_core::callback::Fingerprint;
use ddns_core::config::{Cache, Entry};
use ddns_core::domain::Domain;
use ddns_core::observe::Observation;
use ddns_core::outcome::Outcome;
use ddns_core::plan::{Verdict, judge};
use ddns_core::queue::{Job, Queue, Stage};
use ddns_core::record::{Family, Update};
use ddns_core::state::{Accepted, EntryKey, learned};
use ddns_core::status::{Progress, Row, reason, seconds};

use super::Teller;
use crate::clock::{Calendar, steady_time};
use crate::environment::Environment;
use crate::store::{Durability, Store};

/// The updates of all tellers, by number: those of the first teller first, of each teller IPv4 first.
pub(super) struct Ledger<'a> {
    pub(super) tellers: &'a [Teller<'a>],
    environment: &'a Environment,
    calendar: Calendar,
    /// As many as there are tellers.
    desks: Vec<Desk>,
    stores: Vec<Shared>,
    /// Whether this goes on and on: then what was told is remembered as long, cache or not.
    is_service: bool,
}

/// What is known of the updates of one teller.
struct Desk {
    /// The number of the first one.
    first: Job,
    /// By [`Family::index`].
    observed: [Observation; 2],
    /// Which store holds what was told, and under which name; none where nothing is remembered, or nothing was needed
    /// yet.
    memory: Option<(usize, Fingerprint)>,
}

/// A cache that entries share.
struct Shared {
    /// None: it is in memory only.
    path: Option<PathBuf>,
    store: Store,
    /// The first teller that used it: what is wrong with the cache is told in its log.
    user: usize,
}

impl<'a> Ledger<'a> {
    /// Nothing is known yet.
    pub(super) fn new(tellers: &'a [Teller<'a>], environment: &'a Environment, is_service: bool) -> Self {
        let mut first = 0;
        let mut desks = Vec::with_capacity(tellers.len());
        for teller in tellers {
            desks.push(Desk { first, observed: [const { Observation::Off }; 2], memory: None });
            let count: usize = Family::ALL.map(|family| teller.entry.domains_of(family).len()).iter().sum();
            first = first.saturating_add(Job::try_from(count).unwrap_or(Job::MAX));
        }
        Self { tellers, environment, calendar: Calendar::new(), desks, stores: Vec::new(), is_service }
    }

    /// The number of a teller's first update of a family.
    pub(super) fn first(&self, at: usize, family: Family) -> Job {
        let before = if family == Family::V4 { 0 } else { self.tellers[at].entry.domains_of(Family::V4).len() };
        self.desks[at].first + Job::try_from(before).unwrap_or(Job::MAX)
    }

    /// The teller of an update.
    pub(super) fn teller_of(&self, job: Job) -> usize {
        self.desks.partition_point(|desk| desk.first <= job) - 1
    }

    /// The update of a number as it is to be told now, and its teller; none where there is no address.
    pub(super) fn update(&self, job: Job) -> Option<(usize, Update<'a>)> {
        let at = self.teller_of(job);
        let entry = self.tellers[at].entry;
        let family = if job < self.first(at, Family::V6) { Family::V4 } else { Family::V6 };
        let domain = &entry.domains_of(family)[(job - self.first(at, family)) as usize];
        let Observation::Found(ip) = *self.observed(at, family) else { return None };
        Some((at, Update { domain, family, ip }))
    }

    pub(super) fn observed(&self, at: usize, family: Family) -> &Observation {
        &self.desks[at].observed[family.index()]
    }

    pub(super) fn observe(&mut self, at: usize, family: Family, observation: Observation) {
        self.desks[at].observed[family.index()] = observation;
    }

    /// What is to be done about an update, by what its endpoint was last told.
    pub(super) fn judge(&self, at: usize, update: &Update<'_>) -> Verdict {
        let memory = self.desks[at].memory.map(|(store, print)| (self.stores[store].store.state(), print));
        judge(update, self.tellers[at].entry.cache_max_age, memory, self.now())
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(super) fn verdicts(&mut self) -> Vec<(&'a Teller<'a>, Update<'a>, Verdict)> {
        let mut verdicts = Vec::new();
        for (at, teller) in self.tellers.iter().enumerate() {
            self.open(at);
            for family in Family::ALL {
                let Observation::Found(ip) = *self.observed(at, family) else { continue };
                for domain in teller.entry.domains_of(family) {
                    let update = Update { domain, family, ip };
                    verdicts.push((teller, update, self.judge(at, &update)));
                }
            }
        }
        verdicts
    }

    /// Opens the cache of a teller, where it has one and it is not open yet.
    pub(super) fn open(&mut self, at: usize) {
        let teller = &self.tellers[at];
        let path = cache_path(teller.entry, self.environment);
        if self.desks[at].memory.is_some() || (path.is_none() && !self.is_service) {
            return;
        }
        let store = self.stores.iter().position(|shared| shared.path == path).unwrap_or_else(|| {
            let store = path.as_deref().map_or_else(Store::in_memory, |path| Store::open(path, teller.log));
            self.stores.push(Shared { path, store, user: at });
            self.stores.len() - 1
        });
        self.stores[store].store.keep(teller.entry.cache_max_age);
        let print = teller.entry.callback.fingerprint(self.stores[store].store.state().salt());
        self.desks[at].memory = Some((store, print));
    }

    /// Takes in how the telling of an update ended.
    pub(super) fn learn(&mut self, at: usize, update: &Update<'_>, outcome: &Outcome) {
        if let Some(entry) = learned(outcome, update, self.now()) {
            self.remember(at, update, entry);
        }
    }

    /// From the moment a new address is sent, nobody knows which one the endpoint holds. Should this process be killed
    /// then, the old one must not count as known: it is forgotten before anything is sent. [`Ledger::save`] is to follow.
    pub(super) fn forget(&mut self, at: usize, update: &Update<'_>) {
        self.remember(at, update, None);
    }

    fn remember(&mut self, at: usize, update: &Update<'_>, entry: Option<Accepted>) {
        if let Some((store, callback)) = self.desks[at].memory {
            let key = EntryKey { callback, domain: update.domain.clone(), family: update.family };
            self.stores[store].store.learn(key, entry);
        }
    }

    /// When news must be on the disk.
    pub(super) fn save_by(&self) -> Option<Instant> {
        self.stores.iter().filter_map(|shared| shared.store.save_by()).min()
    }

    pub(super) fn save(&mut self, durability: Durability) {
        let now = self.now();
        for Shared { store, user, .. } in &mut self.stores {
            store.save(now, durability, self.tellers[*user].log);
        }
    }

    /// How every update stands.
    pub(super) fn rows(&self, queue: &Queue) -> Vec<Row> {
        let mut rows = Vec::new();
        for (at, teller) in self.tellers.iter().enumerate() {
            for family in Family::ALL {
                let domains = teller.entry.domains_of(family);
                rows.extend(
                    (self.first(at, family)..)
                        .zip(domains)
                        .map(|(job, domain)| self.row(queue, job, at, (domain, family))),
                );
            }
        }
        rows
    }

    fn row(&self, queue: &Queue, job: Job, at: usize, (domain, family): (&Domain, Family)) -> Row {
        let last = self.desks[at]
            .memory
            .and_then(|(store, print)| self.stores[store].store.state().last(print, domain, family));
        let ip = match *self.observed(at, family) {
            Observation::Found(ip) => Some(ip),
            Observation::Unavailable | Observation::Off => None,
        };
        let held = queue.held_until(job).map(|until| Progress::Retry {
            seconds: seconds(until.saturating_sub(steady_time())),
            why: "its endpoint is left alone until then".to_owned(),
        });
        let progress = match (queue.stage(job), queue.retry(job), ip) {
            (Stage::Resting, Some(retry), _) => Progress::Retry {
                seconds: seconds(retry.at.saturating_sub(steady_time())),
                why: reason(&retry.outcome),
            },
            (Stage::Idle | Stage::Passed(_), _, None) => Progress::NoAddress,
            (Stage::Idle | Stage::Passed(_), _, Some(_)) => Progress::UpToDate,
            _ => held.unwrap_or(Progress::Sending),
        };
        Row {
            domain: domain.to_string(),
            kind: family.record_type().to_owned(),
            address: ip.or(last.map(|last| last.ip)),
            accepted: last.map(|last| last.at),
            progress,
        }
    }

    /// How many updates there are.
    pub(super) fn len(&self) -> usize {
        let count =
            |teller: &Teller<'_>| Family::ALL.map(|family| teller.entry.domains_of(family).len()).iter().sum::<usize>();
        self.tellers.iter().map(count).sum()
    }

    pub(super) fn now(&self) -> u64 {
        self.calendar.now()
    }
}

/// The file in which an entry's successes are remembered; none where none is.
pub(crate) fn cache_path(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    match &entry.cache {
        Cache::Off => None,
        Cache::Standard => Some(environment.standard_cache()),
        Cache::File(path) => Some(environment.path(path)),
    }
}
