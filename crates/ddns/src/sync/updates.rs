//! Every update: which address was found for it, and how it stands.

mod combined;
mod memory;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use ddns_core::address::observation::Observation;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::Job;
use ddns_core::update::domain::Domain;
use ddns_core::update::plan::Verdict;
use ddns_core::update::state::{EntryKey, Fingerprint, State};
use ddns_core::update::status::Last;
use ddns_core::update::{Sendable, Update};

use super::sender::Sender;
use super::store::Store;
use crate::clock::Calendar;
use crate::environment::Environment;
use combined::{Groups, groups};
use memory::{Before, SharedStore};

pub(super) use memory::AHEAD;
pub(crate) use memory::{GivenUp, moment_of};

/// The updates of all senders, by number: those of the first sender first, of each sender IPv4 first.
pub(super) struct Updates<'a> {
    senders: &'a [Sender<'a>],
    environment: &'a Environment,
    calendar: Calendar,
    /// As many as there are senders.
    states: Vec<SenderState>,
    stores: Vec<SharedStore>,
    /// Whether this keeps running: then what was accepted is remembered as long, cache or not.
    is_service: bool,
    /// Whether what caches would remember is in the store of a group.
    pub(super) is_in_group: bool,
    /// The number that marks of this process carry.
    own: u32,
    /// How the last request of each update ended; empty where none was sent, or nobody asks.
    ended: Vec<Option<Last>>,
    /// Which condition of `expect` decided on the last response; `None` where nobody wants to know.
    pub(super) decisions: Option<HashMap<Job, String>>,
    /// What a run before this one remembered without a cache file, until it is needed; `None` where there was none.
    pub(super) memory: Option<State>,
    /// What the run before this one gave up.
    pub(super) given_up: GivenUp,
    /// What was remembered of an update before it was marked; nothing that differs where it is not in here.
    before: BTreeMap<Job, Before>,
    /// Claims that requests under way replace, each with how many there are.
    replaced: HashMap<EntryKey, usize>,
    /// Failures in a row of entries that have no cache, for as long as this runs; none where nobody counts them.
    uncached: Option<Box<Store>>,
}

/// What is known of the updates of one sender.
struct SenderState {
    /// The number of the first one.
    first: Job,
    /// By [`Family::index`].
    observed: [Observation; 2],
    /// The source that gave the address, by [`Family::index`].
    sources: [Option<String>; 2],
    /// The store and the key of what was accepted; none where nothing is remembered, or nothing was needed yet.
    memory: Option<(usize, Fingerprint)>,
    /// Who makes its claims; none before the first (E3).
    maker: Option<Fingerprint>,
    /// None where each update has a request of its own.
    groups: Option<Groups>,
}

impl<'a> Updates<'a> {
    /// Nothing is known yet.
    pub(super) fn new(senders: &'a [Sender<'a>], environment: &'a Environment, is_service: bool) -> Self {
        // As random as the hash maps of this process, and free.
        let own = (RandomState::new().hash_one(()) >> 32) as u32;
        let mut first = 0;
        let mut states = Vec::with_capacity(senders.len());
        for sender in senders {
            states.push(SenderState {
                first,
                observed: [const { Observation::Off }; 2],
                sources: [None, None],
                memory: None,
                maker: None,
                groups: groups(sender, first),
            });
            let count: usize = Family::ALL.map(|family| sender.entry.domains_of(family).len()).iter().sum();
            first = first.saturating_add(Job::try_from(count).unwrap_or(Job::MAX));
        }
        Self {
            senders,
            environment,
            calendar: Calendar::new(),
            states,
            stores: Vec::new(),
            is_service,
            is_in_group: false,
            own,
            ended: Vec::new(),
            decisions: None,
            memory: None,
            given_up: GivenUp::new(),
            before: BTreeMap::new(),
            replaced: HashMap::new(),
            uncached: None,
        }
    }

    /// The number of a sender's first update of a family.
    pub(super) fn first(&self, at: usize, family: Family) -> Job {
        let before = if family == Family::V4 { 0 } else { self.senders[at].entry.domains_of(Family::V4).len() };
        self.states[at].first + Job::try_from(before).unwrap_or(Job::MAX)
    }

    /// The numbers of a sender's updates.
    pub(super) fn of_sender(&self, at: usize) -> std::ops::Range<Job> {
        let end = || Job::try_from(self.len()).unwrap_or(Job::MAX);
        self.first(at, Family::V4)..self.states.get(at + 1).map_or_else(end, |next| next.first)
    }

    /// The sender of an update.
    pub(super) fn sender_of(&self, job: Job) -> usize {
        self.states.partition_point(|state| state.first <= job) - 1
    }

    /// The update of a number as it is to be sent now, and its sender; none where there is no address.
    pub(super) fn update(&self, job: Job) -> Option<(usize, Sendable<'a>)> {
        let (at, domain, family) = self.about(job);
        let Observation::Found(found) = *self.observed(at, family) else { return None };
        Some((at, self.senders[at].entry.sendable(domain, family, found)))
    }

    /// What an update of a number is about, and its sender.
    fn about(&self, job: Job) -> (usize, &'a Domain, Family) {
        let at = self.sender_of(job);
        let family = if job < self.first(at, Family::V6) { Family::V4 } else { Family::V6 };
        (at, &self.senders[at].entry.domains_of(family)[(job - self.first(at, family)) as usize], family)
    }

    pub(super) fn observed(&self, at: usize, family: Family) -> &Observation {
        &self.states[at].observed[family.index()]
    }

    pub(super) fn observe(&mut self, at: usize, family: Family, observation: Observation, source: Option<&str>) {
        let state = &mut self.states[at];
        state.observed[family.index()] = observation;
        if self.is_service {
            state.sources[family.index()] = source.map(str::to_owned);
        }
    }

    /// Whether an address is known for any update.
    pub(super) fn has_address(&self) -> bool {
        let is_found = |at: usize, family: Family| {
            !self.senders[at].entry.domains_of(family).is_empty()
                && matches!(self.observed(at, family), Observation::Found(_))
        };
        (0..self.senders.len()).any(|at| Family::ALL.into_iter().any(|family| is_found(at, family)))
    }

    /// The source that gave the address of a sender.
    pub(super) fn source(&self, at: usize, family: Family) -> Option<String> {
        self.states[at].sources[family.index()].clone()
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(super) fn verdicts(&mut self) -> Vec<(&'a Sender<'a>, Update<'a>, Verdict)> {
        let mut verdicts = Vec::new();
        for (at, sender) in self.senders.iter().enumerate() {
            self.open_cache(at);
            for family in Family::ALL {
                let Observation::Found(found) = *self.observed(at, family) else { continue };
                for domain in sender.entry.domains_of(family) {
                    let update = sender.entry.update(domain, family, found.ip());
                    verdicts.push((sender, update, self.judge(at, &update)));
                }
            }
        }
        verdicts
    }

    /// How many updates there are.
    pub(super) fn len(&self) -> usize {
        let count =
            |sender: &Sender<'_>| Family::ALL.map(|family| sender.entry.domains_of(family).len()).iter().sum::<usize>();
        self.senders.iter().map(count).sum()
    }

    pub(super) fn now(&self) -> u64 {
        self.calendar.now()
    }
}
