//! The configurations as the engine sees them: entries, updates and stores by number. A plan never changes; a reload brings a
//! new one.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::slice;
use std::time::Duration;

use crate::config::validate::Valid;
use crate::config::{Concurrency, Config, Entry};
use crate::net::family::Family;
use crate::schedule::queue::UpdateId;
use crate::text::log_format::Level;
use crate::text::secrets::Secrets;
use crate::update::domain::Domain;
use crate::update::state::{ClaimKey, State};

/// The default of `interval`.
const INTERVAL: Duration = Duration::from_secs(300);

/// The number of a store in its plan.
pub type StoreId = usize;

/// Where ddns remembers what was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorePlace {
    /// Only in this process.
    Memory,
    /// In a cache file.
    File(PathBuf),
    /// In the store of the group with this name, while this host holds its lease.
    Group(String),
}

impl StorePlace {
    /// Whether it is the store of a group.
    pub fn is_of_group(&self) -> bool {
        matches!(self, Self::Group(_))
    }
}

/// Identifies a configuration as the maker of claims (E3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigIdentity {
    /// The same for one file, whatever name was used for it.
    pub name: String,
    /// Whether it is a file. Claims that were made without a file cannot be attributed to a configuration.
    pub is_file: bool,
}

/// The configurations, with a number for every entry, update and store.
#[derive(Debug)]
pub struct Plan {
    configs: Rc<Vec<Valid>>,
    identities: Vec<ConfigIdentity>,
    secrets: Vec<OnceCell<Secrets>>,
    entries: Vec<PlanEntry>,
    places: Vec<StorePlace>,
    updates: UpdateId,
}

#[derive(Debug)]
struct PlanEntry {
    config: usize,
    number: usize,
    first: UpdateId,
    store: StoreId,
    /// The first entry that asks the same sources, by [`Family::index`].
    asks_with: [usize; 2],
    /// `None`: each update has its own request.
    groups: Option<Groups>,
}

/// Which updates of an entry go in one request (H7).
#[derive(Debug)]
struct Groups {
    all: Vec<Vec<UpdateId>>,
    /// The group of each update, counted from the entry's first update.
    of: Vec<usize>,
}

impl Plan {
    /// Puts in doubt what a state says of the updates of these entries. Returns whether anything counted.
    pub fn doubt(&self, entries: &[usize], state: &mut State) -> bool {
        let mut has_changed = false;
        for at in entries {
            let callback = &self.entry(*at).callback;
            let own = callback.fingerprint(state.salt());
            for (_, domain, family) in self.updates_of(*at).map(|id| self.about(id)) {
                let callback = callback.fingerprint_of(own, domain, family);
                let key = ClaimKey { callback, domain: domain.clone(), family };
                if let Some(doubted) = state.entry(&key).doubted() {
                    state.set(&key, doubted);
                    has_changed = true;
                }
            }
        }
        has_changed
    }

    /// The plan of these configurations, each with its identity. `place` decides where accepted updates of an entry are
    /// remembered.
    pub fn new(
        configs: Rc<Vec<Valid>>,
        identities: Vec<ConfigIdentity>,
        mut place: impl FnMut(&Config, &Entry) -> StorePlace,
    ) -> Self {
        let mut entries: Vec<PlanEntry> = Vec::new();
        let mut places: Vec<StorePlace> = Vec::new();
        let mut updates = 0;
        for (config, (valid, _)) in configs.iter().enumerate() {
            for (number, entry) in valid.entries.iter().enumerate() {
                let place = place(valid, entry);
                let store = places.iter().position(|known| *known == place).unwrap_or_else(|| {
                    places.push(place);
                    places.len() - 1
                });
                let asks_with = Family::ALL.map(|family| {
                    let is_same = |other: &&PlanEntry| {
                        let other = &configs[other.config].0.entries[other.number];
                        !other.domains_of(family).is_empty() && asks_the_same(other, entry, family)
                    };
                    entries.iter().find(is_same).map_or(entries.len(), |first| first.asks_with[family.index()])
                });
                let groups = Groups::of(entry, updates);
                entries.push(PlanEntry { config, number, first: updates, store, asks_with, groups });
                let count: usize = Family::ALL.map(|family| entry.domains_of(family).len()).iter().sum();
                updates = updates.saturating_add(UpdateId::try_from(count).unwrap_or(UpdateId::MAX));
            }
        }
        let secrets = configs.iter().map(|_| OnceCell::new()).collect();
        Self { configs, identities, secrets, entries, places, updates }
    }

    /// The configurations.
    pub fn configs(&self) -> &Rc<Vec<Valid>> {
        &self.configs
    }

    /// A configuration, by number.
    pub fn config(&self, number: usize) -> &Config {
        &self.configs[number].0
    }

    /// How often a service synchronizes each configuration.
    pub fn intervals(&self) -> Vec<Duration> {
        self.configs.iter().map(|(config, _)| config.interval.unwrap_or(INTERVAL)).collect()
    }

    /// The number of an entry's configuration.
    pub fn config_of(&self, at: usize) -> usize {
        self.entries[at].config
    }

    /// An entry, by number.
    pub fn entry(&self, at: usize) -> &Entry {
        let PlanEntry { config, number, .. } = self.entries[at];
        &self.configs[config].0.entries[number]
    }

    /// The number of entries.
    pub fn entry_count(&self) -> usize {
        self.entries.len()
    }

    /// The entries of a configuration.
    pub fn entries_of(&self, config: usize) -> Range<usize> {
        let first = self.entries.partition_point(|entry| entry.config < config);
        first..self.entries.partition_point(|entry| entry.config <= config)
    }

    /// The places of the stores, by number.
    pub fn places(&self) -> &[StorePlace] {
        &self.places
    }

    /// The number of updates.
    pub fn update_count(&self) -> usize {
        self.updates as usize
    }

    /// The store of an entry.
    pub fn store_of(&self, at: usize) -> StoreId {
        self.entries[at].store
    }

    /// The first entry that asks the same sources as this one.
    pub(super) fn asks_with(&self, at: usize, family: Family) -> usize {
        self.entries[at].asks_with[family.index()]
    }

    /// The number of an entry's first update of a family.
    pub fn first(&self, at: usize, family: Family) -> UpdateId {
        let before = if family == Family::V4 { 0 } else { self.entry(at).domains_of(Family::V4).len() };
        self.entries[at].first + UpdateId::try_from(before).unwrap_or(UpdateId::MAX)
    }

    /// The numbers of all updates of an entry.
    pub fn updates_of(&self, at: usize) -> Range<UpdateId> {
        self.entries[at].first..self.entries.get(at + 1).map_or(self.updates, |next| next.first)
    }

    /// The entry of an update.
    pub fn entry_of(&self, id: UpdateId) -> usize {
        self.entries.partition_point(|entry| entry.first <= id) - 1
    }

    /// The entry, domain and family of an update.
    pub fn about(&self, id: UpdateId) -> (usize, &Domain, Family) {
        let at = self.entry_of(id);
        let first = self.first(at, Family::V6);
        let (family, first) = if id < first { (Family::V4, self.entries[at].first) } else { (Family::V6, first) };
        (at, &self.entry(at).domains_of(family)[(id - first) as usize], family)
    }

    /// Whether updates of an entry share requests (`combine`).
    pub fn is_combined(&self, at: usize) -> bool {
        self.entries[at].groups.is_some()
    }

    /// All updates that share a request with this one, including itself. The first one represents them in the queue.
    pub fn members<'a>(&'a self, id: &'a UpdateId) -> &'a [UpdateId] {
        let PlanEntry { first, groups, .. } = &self.entries[self.entry_of(*id)];
        groups.as_ref().map_or(slice::from_ref(id), |groups| &groups.all[groups.of[(id - first) as usize]])
    }

    /// The update that represents the request of this one in the queue.
    pub fn leader(&self, id: UpdateId) -> UpdateId {
        self.members(&id).first().copied().unwrap_or(id)
    }

    /// The first update of each combined request of an entry; empty if its updates share no requests.
    pub(super) fn leaders(&self, at: usize) -> Vec<UpdateId> {
        let groups = self.entries[at].groups.iter().flat_map(|groups| &groups.all);
        groups.filter_map(|group| group.first().copied()).collect()
    }

    /// The names under which failures of these entries are counted: the origin of each, and a number for entries with the same
    /// origin. A new key or body, the usual remedy for failures, does not reset the count.
    pub fn streak_names(&self, entries: Range<usize>) -> Vec<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let name = |at: usize| {
            let fixed = self.entry(at).callback.request.target.fixed_part();
            let origin = fixed.map(|url| url.origin()).unwrap_or_default();
            let number = counts.entry(origin.clone()).or_default();
            *number += 1;
            format!("{origin} {number}")
        };
        entries.map(name).collect()
    }

    /// Whether the updates of an entry's configuration are sent one at a time, in order (`concurrency: 1`).
    pub(super) fn is_strict(&self, at: usize) -> bool {
        matches!(self.config(self.config_of(at)).concurrency, Concurrency::Fixed(number) if number.get() == 1)
    }

    /// Who makes the claims of an entry (E3).
    pub(super) fn identity(&self, at: usize) -> &ConfigIdentity {
        &self.identities[self.config_of(at)]
    }

    /// Whether a configuration logs this level.
    pub(super) fn shows(&self, config: usize, level: Level) -> bool {
        level >= self.config(config).log.level
    }

    /// Masks the secrets of an entry's configuration in a text from outside.
    pub(super) fn masked<'t>(&self, at: usize, text: &'t str) -> Cow<'t, str> {
        let config = self.config_of(at);
        self.secrets[config].get_or_init(|| self.config(config).secrets()).mask(text)
    }
}

/// Whether one lookup serves both entries.
fn asks_the_same(one: &Entry, other: &Entry, family: Family) -> bool {
    one.sources_of(family) == other.sources_of(family) && one.timeout == other.timeout && one.ssl == other.ssl
}

impl Groups {
    fn of(entry: &Entry, first: UpdateId) -> Option<Self> {
        let number = |at: usize| UpdateId::try_from(at).unwrap_or(UpdateId::MAX);
        let before_v6 = entry.domains_of(Family::V4).len();
        let id = |(family, at): (Family, usize)| first + number(if family == Family::V4 { at } else { before_v6 + at });
        let places = entry.groups()?;
        let all: Vec<Vec<UpdateId>> = places.into_iter().map(|group| group.into_iter().map(id).collect()).collect();
        let mut of = vec![0; all.iter().map(Vec::len).sum()];
        for (number, group) in all.iter().enumerate() {
            for id in group {
                of[(id - first) as usize] = number;
            }
        }
        Some(Self { all, of })
    }
}
