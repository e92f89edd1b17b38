//! What is remembered of every update: in a cache file, in memory, or in the store of the group.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::path::{self, PathBuf};
use std::time::{Duration, Instant};

use ddns_core::callback::expect::Expect;
use ddns_core::callback::{Callback, Moment};
use ddns_core::config::Cache;
use ddns_core::config::validate::Valid;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::Job;
use ddns_core::update::domain::Domain;
use ddns_core::update::hold::{Hold, Stopped};
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::{Reason, Verdict, after_given_up, judge};
use ddns_core::update::state::{Entry, EntryKey, Fingerprint, InDoubt, Memory, Sending, State};
use ddns_core::update::{Sendable, Update};

use super::Updates;
use crate::clock::unix_time;
use crate::group::Permit;
use crate::load::OUTSIDE;
use crate::sync::caches::cache_path;
use crate::sync::sender::Batch;
use crate::sync::store::{Durability, Store};

/// A mark holds for so much longer than the time limit of its request: what waits in the queue is marked with what starts
/// now, in one write.
pub(in crate::sync) const AHEAD: Duration = Duration::from_secs(2);

/// Requests that were given up, by domain and type: with the address that each carries, and until when it may be under way.
pub(crate) type GivenUp = HashMap<(Domain, Family), Vec<InDoubt>>;

/// Where something is remembered.
#[derive(PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    File(PathBuf),
    /// The store of the group; memory that nobody asks, while another holds its lease.
    Group,
}

/// A cache that entries share.
pub(super) struct SharedStore {
    place: Place,
    store: Store,
    /// The first sender that used it: what is wrong with the cache is written to its log.
    user: usize,
}

/// What was remembered of an update before it was marked: a request of which nothing was sent changes nothing.
#[derive(Default)]
pub(super) struct Before {
    in_doubt: Option<InDoubt>,
    /// When it was last sent.
    sent: u64,
    /// The claims that its request replaces.
    replaced: Vec<EntryKey>,
}

impl<'a> Updates<'a> {
    /// Where the failures in a row of an entry are kept.
    pub(in crate::sync) fn streaks(&mut self, at: usize) -> &mut Store {
        match self.states[at].memory {
            Some((store, _)) => &mut self.stores[store].store,
            None => self.uncached.get_or_insert_with(|| Box::new(Store::in_memory(self.own, None))),
        }
    }

    /// Whether anything is remembered of an entry.
    pub(in crate::sync) fn remembers(&self, at: usize) -> bool {
        self.states[at].memory.is_some()
    }

    /// What is to be done about an update, by what its endpoint accepted last.
    pub(in crate::sync) fn judge(&self, at: usize, update: &Update<'_>) -> Verdict {
        if self.is_in_group && self.senders[at].entry.cache != Cache::Off && !self.is_of_group(at) {
            return Verdict::Send(Reason::InGroup);
        }
        let memory = self.memory(at, update.domain, update.family);
        let verdict = judge(update, self.senders[at].entry.rules(), memory, self.own, self.now());
        if self.given_up.is_empty() {
            return verdict;
        }
        let given_up = self.given_up.get(&(update.domain.clone(), update.family)).map_or(&[][..], Vec::as_slice);
        after_given_up(verdict, update, given_up, self.own, self.now())
    }

    /// These are under way and given up now, for the next run, which may have other callbacks and caches.
    pub(in crate::sync) fn take_given_up(&mut self, jobs: impl IntoIterator<Item = Job>) -> GivenUp {
        let now = self.now();
        let mut all = std::mem::take(&mut self.given_up);
        all.retain(|_, given_up| given_up.iter().any(|doubt| doubt.until > now));
        for job in jobs {
            let (at, domain, family) = self.about(job);
            let memory = self.memory(at, domain, family);
            if let Some(doubt) = memory.and_then(|memory| memory.entry(domain, family).in_doubt) {
                // In a group marks have no end.
                let until = if doubt.until > 0 { doubt.until } else { now + self.senders[at].entry.timeout.as_secs() };
                all.entry((domain.clone(), family)).or_default().push(InDoubt { until, by: 0, ..doubt });
            }
        }
        all
    }

    /// What was accepted is in doubt where the next configurations remember it in another place: what is sent then is not marked here.
    pub(in crate::sync) fn doubt_left(&mut self, next: &[Valid]) {
        let mut places: HashMap<(&Domain, Family), Vec<Option<PathBuf>>> = HashMap::new();
        for entry in next.iter().flat_map(|(config, _)| &config.entries) {
            let path = cache_path(entry, self.environment);
            for family in Family::ALL {
                for domain in entry.domains_of(family) {
                    places.entry((domain, family)).or_default().push(path.clone());
                }
            }
        }
        for at in 0..self.senders.len() {
            let path = cache_path(self.senders[at].entry, self.environment);
            for job in self.of_sender(at) {
                let (_, domain, family) = self.about(job);
                let is_left = places.get(&(domain, family)).is_some_and(|paths| !paths.contains(&path));
                if let Some((store, key)) = self.key(at, domain, family).filter(|_| is_left)
                    && let Some(doubted) = store.state().entry(&key).doubted()
                {
                    store.set(key, doubted);
                }
            }
        }
        self.save(Durability::Process);
    }

    pub(super) fn memory(&self, at: usize, domain: &Domain, family: Family) -> Option<Memory<'_>> {
        let (store, callback) = self.states[at].memory?;
        let callback = self.senders[at].entry.callback.fingerprint_of(callback, domain, family);
        Some(self.stores[store].store.state().of(callback))
    }

    /// What a request depends on beside its update, by what is remembered.
    pub(in crate::sync) fn moment(&self, at: usize, update: &Update<'_>) -> Moment {
        let memory = self.memory(at, update.domain, update.family);
        let entry = memory.map(|memory| memory.entry(update.domain, update.family)).unwrap_or_default();
        moment_of(&self.senders[at].entry.callback, self.states[at].memory.map(|(_, key)| key), entry, update.ip)
    }

    /// Opens the cache of a sender, where it has one; one that is open is read again if another process wrote to it.
    pub(in crate::sync) fn open_cache(&mut self, at: usize) {
        if let Some((store, _)) = self.states[at].memory {
            self.stores[store].store.refresh(self.calendar.now());
            return;
        }
        match cache_path(self.senders[at].entry, self.environment) {
            None if !self.is_service => {}
            None => self.open(at, Place::Memory),
            Some(_) if self.is_in_group => self.open(at, Place::Group),
            Some(path) => self.open(at, Place::File(path)),
        }
    }

    fn open(&mut self, at: usize, place: Place) {
        let sender = &self.senders[at];
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
    pub(in crate::sync) fn take_over(&mut self, state: State, permit: Permit) {
        self.forget();
        let store = Store::of_group(state, permit, self.own);
        self.stores.push(SharedStore { place: Place::Group, store, user: 0 });
        let mut own = HashSet::new();
        for at in 0..self.senders.len() {
            self.open_cache(at);
            for family in Family::ALL {
                for domain in self.senders[at].entry.domains_of(family) {
                    own.extend(self.key(at, domain, family).map(|(_, key)| key));
                }
            }
        }
        let store = &mut self.stores[0].store;
        store.disown(&own);
        store.prune(self.calendar.now());
    }

    /// Forgets what endpoints accepted: another host sends to them.
    pub(in crate::sync) fn forget(&mut self) {
        self.stores.clear();
        self.before.clear();
        self.replaced.clear();
        self.memory = None;
        for state in &mut self.states {
            (state.memory, state.maker) = (None, None);
        }
    }

    /// Takes in how an update ended. What its endpoint had accepted before; none where nothing is remembered.
    pub(in crate::sync) fn settle(
        &mut self,
        job: Job,
        at: usize,
        update: &Update<'_>,
        outcome: &Outcome,
    ) -> Option<IpAddr> {
        let before = self.before.remove(&job).unwrap_or_default();
        let now = self.now();
        self.settle_replaced(at, before.replaced, outcome.may_have_reached());
        let (store, key) = self.key(at, update.domain, update.family)?;
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
    pub(in crate::sync) fn is_marked(&self, at: usize, (job, update): &(Job, Sendable<'_>)) -> bool {
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
    /// What starts soon is marked in the same write, unless it is held back; one that another process is sending is left alone.
    pub(in crate::sync) fn mark(&mut self, at: usize, batch: &Batch<'a>, soon: Vec<Job>) {
        let mut sending = Vec::new();
        self.mark_batch(at, batch, &mut sending);
        for job in soon {
            let Some((at, mut batch)) = self.batch(job) else { continue };
            if !matches!(self.judge_batch(at, &mut batch).0, Verdict::Held(..) | Verdict::Stopped(..)) {
                self.mark_batch(at, &batch, &mut sending);
            }
        }
        for store in 0..self.stores.len() {
            let is_here = |at: usize| self.states[at].memory.is_some_and(|(of, _)| of == store);
            let here = sending.extract_if(.., |(_, at, _)| is_here(*at)).map(|(job, _, one)| (job, one));
            let (jobs, sending): (Vec<Job>, Vec<Sending>) = here.unzip();
            if !jobs.is_empty() {
                self.mark_replaced(store, &jobs, &sending);
            }
        }
        self.save(Durability::Process);
    }

    /// Marks the updates of one request, and adds what it puts in the place of what endpoints have.
    fn mark_batch(&mut self, at: usize, batch: &Batch<'a>, sending: &mut Vec<(Job, usize, Sending)>) {
        let (own, now, entry, file) = (self.own, self.now(), self.senders[at].entry, self.senders[at].file);
        let until = now + (entry.timeout + AHEAD).as_secs();
        let is_of_group = self.is_of_group(at);
        let Some(by) = self.maker(at) else { return };
        for (job, update) in batch {
            let Some((store, key)) = self.key(at, update.domain, update.family) else { continue };
            let Some((mut marked, in_doubt)) = store.state().entry(&key).marked(update, until, own, now) else {
                continue;
            };
            // In a group the lease says who sends, and a try after the first changes nothing.
            if is_of_group && let Some(doubt) = &mut marked.in_doubt {
                (doubt.by, doubt.until) = (0, 0);
            }
            let mut sent = 0;
            if !entry.min_interval.is_zero() {
                let hold = store.state().hold(&key);
                sent = hold.sent;
                store.set_hold(&key, Hold { sent: now, ..hold });
            }
            let is_signed = !entry.callback.sign.is_empty();
            store.mark(key.clone(), if is_signed { marked.numbered(new_message()) } else { marked }, by);
            // Without a file nobody can tell whose claims they are.
            if store.state().has_several() && file != OUTSIDE {
                sending.push((*job, at, Sending { key, ip: Some(update.ip), by }));
            }
            // A second mark, of what is not settled, replaces ours.
            if is_of_group || in_doubt.is_some() || sent > 0 {
                self.before.entry(*job).or_insert(Before { in_doubt, sent, ..Before::default() });
            }
        }
        let Some((first, _)) = batch.first().filter(|_| self.is_combined(at)) else { return };
        for job in self.members(*first) {
            let (_, domain, family) = self.about(job);
            if self.update(job).is_none()
                && let Some((_, key)) = self.key(at, domain, family)
            {
                sending.push((*first, at, Sending { key, ip: None, by }));
            }
        }
    }

    /// Puts in doubt what callbacks claim that are no longer configured (E3), and what was accepted of a family that has no address now
    /// (H7): these requests replace it.
    fn mark_replaced(&mut self, store: usize, jobs: &[Job], sending: &[Sending]) {
        let present = (0..self.senders.len()).filter(|at| self.states[*at].memory.is_some_and(|(of, _)| of == store));
        let present = present.flat_map(|at| {
            let (entry, callback) = (self.senders[at].entry, self.states[at].memory.map(|(_, callback)| callback));
            Family::ALL.into_iter().flat_map(move |family| {
                let of = move |domain| Some((entry.callback.fingerprint_of(callback?, domain, family), domain, family));
                entry.domains_of(family).iter().filter_map(of)
            })
        });
        let missing = sending.iter().enumerate().filter(|(_, one)| one.ip.is_none());
        let missing = missing.map(|(place, one)| (place, one.key.clone()));
        let store = &mut self.stores[store].store;
        let replaced = store.state().replaced_by(sending, present);
        for (place, key) in replaced.into_iter().chain(missing) {
            let count = self.replaced.get(&key).copied().unwrap_or(0);
            match store.state().entry(&key).doubted() {
                Some(doubted) => store.set(key.clone(), doubted),
                None if count == 0 => continue,
                None => {}
            }
            let replaced = &mut self.before.entry(jobs[place]).or_default().replaced;
            if !replaced.contains(&key) {
                self.replaced.insert(key.clone(), count + 1);
                replaced.push(key);
            }
        }
    }

    /// A request has ended that would replace these claims: where nothing of it was sent, nor of any other, they count again.
    fn settle_replaced(&mut self, at: usize, keys: Vec<EntryKey>, was_sent: bool) {
        for key in keys {
            let Some((store, count)) = self.states[at].memory.zip(self.replaced.remove(&key)) else { continue };
            let store = &mut self.stores[store.0].store;
            if !was_sent && count > 1 {
                self.replaced.insert(key, count - 1);
            } else if !was_sent && let Some(before) = store.state().entry(&key).undoubted() {
                store.set(key, before);
            }
        }
    }

    /// Who makes the claims of a sender: its configuration file and the origin (E3). None where nothing is remembered.
    fn maker(&mut self, at: usize) -> Option<Fingerprint> {
        let (store, _) = self.states[at].memory?;
        let salt = self.stores[store].store.state().salt();
        let sender = &self.senders[at];
        let maker = || sender.entry.callback.maker(salt, &identity(sender.file));
        Some(*self.states[at].maker.get_or_insert_with(maker))
    }

    /// The store of an update and its key there; none where nothing is remembered.
    fn key(&mut self, at: usize, domain: &Domain, family: Family) -> Option<(&mut Store, EntryKey)> {
        let (store, callback) = self.states[at].memory?;
        let callback = self.senders[at].entry.callback.fingerprint_of(callback, domain, family);
        Some((&mut self.stores[store].store, EntryKey { callback, domain: domain.clone(), family }))
    }

    /// Whether what its service says can be remembered where it must be (H6).
    pub(in crate::sync) fn can_remember(&self, at: usize) -> bool {
        let is_writable = |(store, _): (usize, Fingerprint)| !self.stores[store].store.has_failed();
        !self.senders[at].entry.needs_memory() || self.states[at].memory.is_none_or(is_writable)
    }

    /// A service refused one update, and with it every update of its entry (H5). Until the address changes means that of each; one
    /// that has none now is not stopped then.
    pub(in crate::sync) fn stop_all(&mut self, at: usize, refused: &Update<'_>, outcome: &Outcome) {
        if self.states[at].memory.is_none() {
            self.open(at, Place::Memory);
        }
        let (entry, now) = (self.senders[at].entry, self.now());
        let stops_others = entry.callback.expect.as_ref().is_some_and(Expect::stops_others);
        let own = entry.callback.own_text(refused.domain, refused.family);
        for job in self.of_sender(at) {
            let (_, domain, family) = self.about(job);
            if !stops_others && entry.callback.own_text(domain, family) != own {
                continue;
            }
            let ip = self.update(job).map_or(refused.ip, |(_, update)| update.ip);
            let stopped = Stopped::by(outcome, ip, now);
            let Some((store, key)) = self.key(at, domain, family) else { continue };
            let hold = store.state().hold(&key);
            store.set_hold(&key, Hold { stopped, ..hold });
            // Without a cache each round sends what was accepted, too.
            if entry.cache == Cache::Off
                && let Some(doubted) = store.state().entry(&key).doubted()
            {
                store.set(key, doubted);
            }
        }
    }

    /// An update that was marked is not sent after all: nobody need wait for it.
    pub(in crate::sync) fn unmark(&mut self, job: Job, at: usize, update: &Update<'_>) {
        let doubt = self.memory(at, update.domain, update.family);
        let doubt = doubt.and_then(|memory| memory.entry(update.domain, update.family).in_doubt);
        if doubt.is_some_and(|doubt| doubt.by == self.own) {
            self.settle(job, at, update, &Outcome::Failed { why: String::new(), reached: false });
        }
    }

    /// Forgets that services stopped updates.
    pub(in crate::sync) fn forget_stops(&mut self) {
        for at in 0..self.senders.len() {
            self.open_cache(at);
            for family in Family::ALL {
                for domain in self.senders[at].entry.domains_of(family) {
                    let Some((store, key)) = self.key(at, domain, family) else { continue };
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
    pub(in crate::sync) fn take_memory(&mut self) -> Option<State> {
        let at = self.stores.iter().position(|shared| shared.place == Place::Memory)?;
        Some(self.stores.swap_remove(at).store.into_state())
    }

    /// What the group remembers; `None` where another host holds its lease.
    pub(in crate::sync) fn take_shared(&mut self) -> Option<State> {
        let at = self.stores.iter().position(|shared| shared.store.is_of_group())?;
        Some(self.stores.swap_remove(at).store.into_state())
    }

    /// When news must be on the disk.
    pub(in crate::sync) fn save_by(&self) -> Option<Instant> {
        self.stores.iter().filter_map(|shared| shared.store.save_by()).min()
    }

    pub(in crate::sync) fn save(&mut self, durability: Durability) {
        let now = self.now();
        for SharedStore { store, user, .. } in &mut self.stores {
            store.save(now, durability, self.senders[*user].log);
        }
    }
}

/// A configuration, however it is named: by its path, unless it was fetched or is no file.
fn identity(file: &str) -> Cow<'_, str> {
    match path::absolute(file) {
        Ok(path) if file != OUTSIDE && !file.contains("://") => Cow::Owned(path.to_string_lossy().into_owned()),
        _ => Cow::Borrowed(file),
    }
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
