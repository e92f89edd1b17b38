//! What is known of every update: which address was found for it, and what its endpoint accepted last.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ddns_core::address::observation::Observation;
use ddns_core::callback::{Callback, Moment};
use ddns_core::config::Cache;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::{Job, Queue, Stage};
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::hold::Hold;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::{Reason, Verdict, judge, together};
use ddns_core::update::state::{Entry, EntryKey, Fingerprint, InDoubt, Memory, State};
use ddns_core::update::status::{Last, Phase, Row, reason, seconds};

use super::caches::cache_path;
use super::sender::{Batch, Sender};
use super::store::{Durability, Store};
use crate::clock::{Calendar, steady_time, unix_time};
use crate::environment::Environment;
use crate::group::Permit;

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
    /// What was remembered of an update before it was marked; nothing that differs where it is not in here.
    before: BTreeMap<Job, Before>,
    /// Failures in a row of entries that have no cache, for as long as this runs; none where nobody counts them.
    uncached: Option<Box<Store>>,
}

/// What a request depends on beside its update, by the key of its callback and what is remembered of it.
pub(crate) fn moment_of(callback: &Callback, key: Option<Fingerprint>, entry: Entry, ip: IpAddr) -> Moment {
    let moment = Moment { accepted: entry.accepted.map(|accepted| accepted.ip), ..Moment::from(unix_time()) };
    if callback.sign.is_empty() {
        return moment;
    }
    Moment { message: (key.unwrap_or(moment.message.0), message_of(entry.in_doubt, ip)), ..moment }
}

/// The number of a message: that of a try before, or a new one (H11).
fn message_of(doubt: Option<InDoubt>, ip: IpAddr) -> u32 {
    let before = doubt.filter(|doubt| doubt.ip == ip && doubt.message != 0);
    before.map_or_else(new_message, |doubt| doubt.message)
}

fn new_message() -> u32 {
    getrandom::u32().unwrap_or_else(|_| std::process::id()).max(1)
}

/// A mark holds for so much longer than the time limit of its request: what waits in the queue is marked with what starts
/// now, in one write.
pub(super) const AHEAD: Duration = Duration::from_secs(2);

/// What decides where there is no `expect` (A4).
const STATUS: &str = "the status alone: 200 to 299 is accepted";

/// Which updates of a sender go in one request.
struct Groups {
    all: Vec<Vec<Job>>,
    /// The group of each update, by its number from the sender's first on.
    of: Vec<usize>,
}

/// What was remembered of an update before it was marked: a request of which nothing was sent changes nothing.
#[derive(Default)]
struct Before {
    in_doubt: Option<InDoubt>,
    /// When it was last sent.
    sent: u64,
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
    /// None where each update has a request of its own.
    groups: Option<Groups>,
}

/// Where something is remembered.
#[derive(PartialEq, Eq)]
enum Place {
    Memory,
    File(PathBuf),
    /// The store of the group; memory that nobody asks, while another holds its lease.
    Group,
}

/// A cache that entries share.
struct SharedStore {
    place: Place,
    store: Store,
    /// The first sender that used it: what is wrong with the cache is written to its log.
    user: usize,
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
            before: BTreeMap::new(),
            uncached: None,
        }
    }

    /// Where the failures in a row of an entry are kept.
    pub(super) fn streaks(&mut self, at: usize) -> &mut Store {
        match self.states[at].memory {
            Some((store, _)) => &mut self.stores[store].store,
            None => self.uncached.get_or_insert_with(|| Box::new(Store::in_memory(self.own, None))),
        }
    }

    /// Whether anything is remembered of an entry.
    pub(super) fn remembers(&self, at: usize) -> bool {
        self.states[at].memory.is_some()
    }

    /// The number of a sender's first update of a family.
    pub(super) fn first(&self, at: usize, family: Family) -> Job {
        let before = if family == Family::V4 { 0 } else { self.senders[at].entry.domains_of(Family::V4).len() };
        self.states[at].first + Job::try_from(before).unwrap_or(Job::MAX)
    }

    /// The sender of an update.
    pub(super) fn sender_of(&self, job: Job) -> usize {
        self.states.partition_point(|state| state.first <= job) - 1
    }

    /// Whether updates of a sender go in one request.
    pub(super) fn is_combined(&self, at: usize) -> bool {
        self.states[at].groups.is_some()
    }

    /// The updates that go in one request with this one, and itself; the first one stands for all of them in the queue.
    pub(super) fn members(&self, job: Job) -> Vec<Job> {
        let state = &self.states[self.sender_of(job)];
        let members = |groups: &Groups| groups.all[groups.of[(job - state.first) as usize]].clone();
        state.groups.as_ref().map_or_else(|| vec![job], members)
    }

    /// The update that stands for its request in the queue.
    pub(super) fn leader(&self, job: Job) -> Job {
        let state = &self.states[self.sender_of(job)];
        let leader = |groups: &Groups| groups.all[groups.of[(job - state.first) as usize]].first().copied();
        state.groups.as_ref().and_then(leader).unwrap_or(job)
    }

    /// The first update of each request of a sender.
    pub(super) fn leaders(&self, at: usize) -> Vec<Job> {
        let first = |group: &Vec<Job>| group.first().copied();
        self.states[at].groups.iter().flat_map(|groups| &groups.all).filter_map(first).collect()
    }

    /// The updates of one request as they are to be sent now, and their sender; none where there is no address. A family
    /// that has none now is left out, where something stands in its place.
    pub(super) fn batch(&self, job: Job) -> Option<(usize, Batch<'a>)> {
        let at = self.sender_of(job);
        if !self.is_combined(at) {
            return self.update(job).map(|(at, update)| (at, vec![(job, update)]));
        }
        let members = self.members(job);
        let batch: Batch<'a> = members.iter().filter_map(|job| Some((*job, self.update(*job)?.1))).collect();
        let combine = self.senders[at].entry.callback.variables.combine();
        let may_lack = combine.is_some_and(|combine| combine.missing.is_some());
        let is_whole = batch.len() == members.len() || may_lack;
        (is_whole && !batch.is_empty()).then_some((at, batch))
    }

    /// What is to be done about the updates of one request. Those that are stopped are taken out, and returned.
    pub(super) fn judge_batch(&self, at: usize, batch: &mut Batch<'a>) -> (Verdict, Vec<(Job, Update<'a>, Verdict)>) {
        if let [(job, update)] = batch[..] {
            let verdict = self.judge(at, &update);
            let stopped = matches!(verdict, Verdict::Stopped(..)).then(|| (job, update, verdict.clone()));
            if stopped.is_some() {
                batch.clear();
            }
            return (verdict, stopped.into_iter().collect());
        }
        let mut stopped = Vec::new();
        let mut verdicts = Vec::with_capacity(batch.len());
        batch.retain(|(job, update)| match self.judge(at, update) {
            verdict @ Verdict::Stopped(..) => {
                stopped.push((*job, *update, verdict));
                false
            }
            verdict => {
                verdicts.push(verdict);
                true
            }
        });
        let first_stopped = || stopped.first().map(|(_, _, verdict)| verdict.clone());
        let verdict = together(verdicts).or_else(first_stopped).unwrap_or(Verdict::UpToDate(0));
        (verdict, stopped)
    }

    /// The update of a number as it is to be sent now, and its sender; none where there is no address.
    pub(super) fn update(&self, job: Job) -> Option<(usize, Update<'a>)> {
        let at = self.sender_of(job);
        let entry = self.senders[at].entry;
        let family = if job < self.first(at, Family::V6) { Family::V4 } else { Family::V6 };
        let domain = &entry.domains_of(family)[(job - self.first(at, family)) as usize];
        let Observation::Found(ip) = *self.observed(at, family) else { return None };
        Some((at, entry.update(domain, family, ip)))
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

    /// Notes how a request ended, for [`Updates::rows`].
    pub(super) fn note(&mut self, job: Job, outcome: &Outcome, took: Duration) {
        if self.is_service {
            if self.ended.is_empty() {
                self.ended = vec![None; self.len()];
            }
            let took = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
            self.ended[job as usize] = Some(Last { status: outcome.status(), took });
        }
    }

    /// Notes which condition decided on the last response.
    pub(super) fn decided(&mut self, job: Job, because: Option<&String>) {
        if let Some(decisions) = &mut self.decisions {
            match because.filter(|because| !because.is_empty()) {
                Some(because) => decisions.insert(job, because.clone()),
                None => decisions.remove(&job),
            };
        }
    }

    /// What decided on the last response, in words; none where there was none.
    pub(super) fn decision(&self, at: usize, job: Job) -> Option<String> {
        let last = self.ended.get(job as usize).copied().flatten()?;
        let because = self.decisions.as_ref().and_then(|decisions| decisions.get(&job));
        let by_status =
            || (self.senders[at].entry.callback.expect.is_none() && last.status.is_some()).then_some(STATUS);
        because.cloned().or_else(|| by_status().map(str::to_owned))
    }

    /// What is to be done about an update, by what its endpoint accepted last.
    pub(super) fn judge(&self, at: usize, update: &Update<'_>) -> Verdict {
        if self.is_in_group && self.senders[at].entry.cache != Cache::Off && !self.is_of_group(at) {
            return Verdict::Send(Reason::InGroup);
        }
        let memory = self.memory(at, update.domain, update.family);
        judge(update, self.senders[at].entry.rules(), memory, self.own, self.now())
    }

    fn memory(&self, at: usize, domain: &Domain, family: Family) -> Option<Memory<'_>> {
        let (store, callback) = self.states[at].memory?;
        let callback = self.senders[at].entry.callback.fingerprint_of(callback, domain, family);
        Some(self.stores[store].store.state().of(callback))
    }

    /// What a request depends on beside its update, by what is remembered.
    pub(super) fn moment(&self, at: usize, update: &Update<'_>) -> Moment {
        let memory = self.memory(at, update.domain, update.family);
        let entry = memory.map(|memory| memory.entry(update.domain, update.family)).unwrap_or_default();
        moment_of(&self.senders[at].entry.callback, self.states[at].memory.map(|(_, key)| key), entry, update.ip)
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(super) fn verdicts(&mut self) -> Vec<(&'a Sender<'a>, Update<'a>, Verdict)> {
        let mut verdicts = Vec::new();
        for (at, sender) in self.senders.iter().enumerate() {
            self.open_cache(at);
            for family in Family::ALL {
                let Observation::Found(ip) = *self.observed(at, family) else { continue };
                for domain in sender.entry.domains_of(family) {
                    let update = sender.entry.update(domain, family, ip);
                    verdicts.push((sender, update, self.judge(at, &update)));
                }
            }
        }
        verdicts
    }

    /// Opens the cache of a sender, where it has one; one that is open is read again if another process wrote to it.
    pub(super) fn open_cache(&mut self, at: usize) {
        let sender = &self.senders[at];
        let path = cache_path(sender.entry, self.environment);
        if let Some((store, _)) = self.states[at].memory {
            self.stores[store].store.refresh(self.calendar.now());
            return;
        }
        if path.is_none() && !self.is_service {
            return;
        }
        let place = match path {
            None => Place::Memory,
            Some(_) if self.is_in_group => Place::Group,
            Some(path) => Place::File(path),
        };
        let store = self.stores.iter().position(|shared| shared.place == place).unwrap_or_else(|| {
            let store = match &place {
                Place::File(path) => Store::open(path, self.own, sender.log),
                Place::Memory => Store::in_memory(self.own, self.memory.take()),
                Place::Group => Store::in_memory(self.own, None),
            };
            self.stores.push(SharedStore { place, store, user: at });
            self.stores.len() - 1
        });
        self.stores[store].store.keep(sender.entry.cache_max_age);
        let print = sender.entry.callback.fingerprint(self.stores[store].store.state().salt());
        self.states[at].memory = Some((store, print));
    }

    /// The lease of the group is won: what it remembers counts, and nothing else.
    pub(super) fn take_over(&mut self, state: State, permit: Permit) {
        self.forget();
        let store = Store::of_group(state, permit, self.own);
        self.stores.push(SharedStore { place: Place::Group, store, user: 0 });
        let mut own = HashSet::new();
        for at in 0..self.senders.len() {
            self.open_cache(at);
            for family in Family::ALL {
                for domain in self.senders[at].entry.domains_of(family) {
                    let update = Update { domain, family, ip: family.documentation() };
                    own.extend(self.key(at, &update).map(|(_, key)| key));
                }
            }
        }
        let store = &mut self.stores[0].store;
        store.disown(&own);
        store.prune(self.calendar.now());
    }

    /// Forgets what endpoints accepted: another host sends to them.
    pub(super) fn forget(&mut self) {
        self.stores.clear();
        self.before.clear();
        self.memory = None;
        for state in &mut self.states {
            state.memory = None;
        }
    }

    /// Takes in how an update ended. What its endpoint had accepted before; none where nothing is remembered.
    pub(super) fn settle(&mut self, job: Job, at: usize, update: &Update<'_>, outcome: &Outcome) -> Option<IpAddr> {
        let before = self.before.remove(&job).unwrap_or_default();
        let now = self.now();
        let (store, key) = self.key(at, update)?;
        let known = store.state().entry(&key);
        let previous = known.accepted.map(|accepted| accepted.ip);
        let entry = known.settled(outcome, update, before.in_doubt, now);
        let hold = store.state().hold(&key);
        if hold != Hold::default() || !matches!(outcome, Outcome::Accepted(_)) {
            let is_same = previous == Some(update.ip);
            let sent = if outcome.may_have_reached() { hold.sent } else { before.sent };
            store.set_hold(&key, Hold { sent, ..hold }.settled(outcome, update, is_same, now));
        }
        store.set(key, entry);
        previous
    }

    /// Whether an update may be sent now, for as long as its time limit is: it is marked in doubt (E4), or nothing is
    /// remembered of it.
    pub(super) fn is_marked(&self, at: usize, (job, update): &(Job, Update<'_>)) -> bool {
        let Some(memory) = self.memory(at, update.domain, update.family) else { return true };
        let until = self.now() + self.senders[at].entry.timeout.as_secs();
        let doubt = memory.entry(update.domain, update.family).in_doubt;
        if self.is_of_group(at) {
            return self.before.contains_key(job) && doubt.is_some_and(|doubt| doubt.ip == update.ip);
        }
        doubt.is_some_and(|doubt| doubt.by == self.own && doubt.ip == update.ip && doubt.until >= until)
    }

    /// Whether what endpoints accepted of an entry is in the store of the group.
    fn is_of_group(&self, at: usize) -> bool {
        self.states[at].memory.is_some_and(|(store, _)| self.stores[store].store.is_of_group())
    }

    /// Marks updates in doubt and saves that: from the moment an address is sent, nobody knows which one the endpoint has.
    /// One that another process is sending is left alone.
    pub(super) fn mark(&mut self, jobs: impl IntoIterator<Item = Job>) {
        let (own, now) = (self.own, self.now());
        for job in jobs {
            let Some((at, update)) = self.update(job) else { continue };
            if matches!(self.judge(at, &update), Verdict::Held(..) | Verdict::Stopped(..)) {
                continue;
            }
            let has_interval = !self.senders[at].entry.min_interval.is_zero();
            let until = now + (self.senders[at].entry.timeout + AHEAD).as_secs();
            let is_signed = !self.senders[at].entry.callback.sign.is_empty();
            let is_of_group = self.is_of_group(at);
            let Some((store, key)) = self.key(at, &update) else { continue };
            let Some((mut marked, in_doubt)) = store.state().entry(&key).marked(&update, until, own, now) else {
                continue;
            };
            // In a group the lease says who sends, and a try after the first changes nothing.
            if is_of_group && let Some(doubt) = &mut marked.in_doubt {
                (doubt.by, doubt.until) = (0, 0);
            }
            let mut before = Before { in_doubt, sent: 0 };
            if has_interval {
                let hold = store.state().hold(&key);
                before.sent = hold.sent;
                store.set_hold(&key, Hold { sent: now, ..hold });
            }
            store.set(key, if is_signed { marked.numbered(new_message()) } else { marked });
            if is_of_group {
                self.before.entry(job).or_insert(before);
            } else if before.in_doubt.is_some() || before.sent > 0 {
                self.before.insert(job, before);
            }
        }
        self.save(Durability::Process);
    }

    /// The store of an update and its key there; none where nothing is remembered.
    fn key(&mut self, at: usize, update: &Update<'_>) -> Option<(&mut Store, EntryKey)> {
        let (store, callback) = self.states[at].memory?;
        let callback = self.senders[at].entry.callback.fingerprint_of(callback, update.domain, update.family);
        let key = EntryKey { callback, domain: update.domain.clone(), family: update.family };
        Some((&mut self.stores[store].store, key))
    }

    /// Whether what its service says can be remembered where it must be (H6).
    pub(super) fn can_remember(&self, at: usize) -> bool {
        let is_writable = |(store, _): (usize, Fingerprint)| !self.stores[store].store.has_failed();
        !self.senders[at].entry.needs_memory() || self.states[at].memory.is_none_or(is_writable)
    }

    /// Forgets that services stopped updates.
    pub(super) fn forget_stops(&mut self) {
        for at in 0..self.senders.len() {
            self.open_cache(at);
            for family in Family::ALL {
                for domain in self.senders[at].entry.domains_of(family) {
                    let update = Update { domain, family, ip: family.documentation() };
                    let Some((store, key)) = self.key(at, &update) else { continue };
                    let hold = store.state().hold(&key);
                    if hold.stopped.is_some() {
                        store.set_hold(&key, Hold { stopped: None, ..hold });
                    }
                }
            }
        }
        self.save(Durability::Process);
    }

    /// What is remembered without a cache file; `None` where nothing is.
    pub(super) fn take_memory(&mut self) -> Option<State> {
        let at = self.stores.iter().position(|shared| shared.place == Place::Memory)?;
        Some(self.stores.swap_remove(at).store.into_state())
    }

    /// What the group remembers; `None` where another host holds its lease.
    pub(super) fn take_shared(&mut self) -> Option<State> {
        let at = self.stores.iter().position(|shared| shared.store.is_of_group())?;
        Some(self.stores.swap_remove(at).store.into_state())
    }

    /// When news must be on the disk.
    pub(super) fn save_by(&self) -> Option<Instant> {
        self.stores.iter().filter_map(|shared| shared.store.save_by()).min()
    }

    pub(super) fn save(&mut self, durability: Durability) {
        let now = self.now();
        for SharedStore { store, user, .. } in &mut self.stores {
            store.save(now, durability, self.senders[*user].log);
        }
    }

    /// How every update stands.
    pub(super) fn rows(&self, queue: &Queue, waiting: &BTreeSet<Job>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut places: HashMap<(String, Family), usize> = HashMap::new();
        for (at, sender) in self.senders.iter().enumerate() {
            let endpoint = sender.entry.callback.target.fixed_part().map(|url| url.origin());
            for family in Family::ALL {
                for (job, domain) in (self.first(at, family)..).zip(sender.entry.domains_of(family)) {
                    let is_waiting = waiting.contains(&self.leader(job));
                    let row = self.row(queue, is_waiting, job, at, (domain, family));
                    rows.push(Row { endpoint: endpoint.clone(), ..row });
                    *places.entry((domain.to_string(), family)).or_default() += 1;
                }
            }
        }
        // Only where two updates have the same name and type must their endpoints be told apart.
        for row in &mut rows {
            let is_alone = |family: &Family| places.get(&(row.domain.clone(), *family)) == Some(&1);
            if Family::ALL.iter().filter(|family| family.record_type() == row.kind).all(is_alone) {
                row.endpoint = None;
            }
        }
        rows
    }

    fn row(&self, queue: &Queue, is_waiting: bool, own: Job, at: usize, (domain, family): (&Domain, Family)) -> Row {
        let memory = self.memory(at, domain, family);
        let entry = memory.map(|memory| memory.entry(domain, family)).unwrap_or_default();
        let ip = match *self.observed(at, family) {
            Observation::Found(ip) => Some(self.senders[at].entry.update(domain, family, ip).ip),
            Observation::Unavailable | Observation::Off => None,
        };
        let job = self.leader(own);
        let left = |until: Duration| seconds(until.saturating_sub(steady_time()));
        let phase = match (queue.stage(job), queue.retry(job), ip) {
            _ if is_waiting => Phase::Waiting {
                seconds: entry.in_doubt.map_or(0, |doubt| doubt.until.saturating_sub(self.now())),
                why: "another process is sending an older address".to_owned(),
            },
            (Stage::WaitingToRetry, Some(retry), _) => {
                Phase::Retry { seconds: left(retry.at), failures: retry.failures, why: reason(&retry.outcome) }
            }
            (Stage::Idle | Stage::Withdrawn(_), _, None) => Phase::NoAddress,
            (Stage::Idle | Stage::Withdrawn(_), _, Some(ip)) => match self.judge(at, &Update { domain, family, ip }) {
                Verdict::Stopped(why, _) => Phase::Stopped { why },
                Verdict::Held(until, by) => {
                    Phase::Held { seconds: until.saturating_sub(self.now()), why: by.reason().to_owned() }
                }
                _ => Phase::UpToDate,
            },
            _ => match queue.pause_of(job) {
                Some(pause) => Phase::Waiting { seconds: left(pause.until), why: reason(&pause.outcome) },
                None => Phase::Sending,
            },
        };
        Row {
            domain: domain.to_string(),
            kind: family.record_type().to_owned(),
            endpoint: None,
            address: ip,
            source: self.source(at, family).filter(|_| ip.is_some()),
            accepted: entry.accepted,
            // What is being sent for the first time is not in doubt yet.
            in_doubt: entry.in_doubt.map(|doubt| doubt.ip).filter(|_| phase != Phase::Sending),
            last: self.ended.get(own as usize).copied().flatten(),
            phase,
        }
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

/// Which updates of a sender go in one request; none where each has its own.
fn groups(sender: &Sender<'_>, first: Job) -> Option<Groups> {
    let number = |at: usize| Job::try_from(at).unwrap_or(Job::MAX);
    let before_v6 = sender.entry.domains_of(Family::V4).len();
    let job = |(family, at): (Family, usize)| first + number(if family == Family::V4 { at } else { before_v6 + at });
    let places = sender.entry.groups()?;
    let all: Vec<Vec<Job>> = places.into_iter().map(|group| group.into_iter().map(job).collect()).collect();
    let mut of = vec![0; all.iter().map(Vec::len).sum()];
    for (number, group) in all.iter().enumerate() {
        for job in group {
            of[(job - first) as usize] = number;
        }
    }
    Some(Groups { all, of })
}
