//! What is remembered, and what of it is not written yet. If a cache cannot be written, its claims do not count: an address
//! that cannot be marked in doubt before another one is sent would be believed when the host returns to it.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use super::plan::{Plan, StoreId, StorePlace};
use super::queueing::Task;
use super::{Chance, Effect, Engine};
use crate::schedule::queue::UpdateId;
use crate::text::log_format::Level;
use crate::update::hold::Hold;
use crate::update::state::{Changed, Claim, ClaimKey, InDoubt, Pair, Saved, State};

/// How much longer than the time limit of its request a mark lasts: queued updates are marked in the same write as those that
/// start now.
pub(super) const MARK_MARGIN: Duration = Duration::from_secs(2);

/// The maximum of that margin. It grows to twice the time of a slow write.
pub(super) const MAX_MARK_MARGIN: Duration = Duration::from_secs(60);

/// Changes are written after this time at the latest; failed writes are repeated after it.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The number of a write; numbers increase in each store.
pub type Ticket = u64;

/// What a write must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process.
    Process,
    /// A power failure.
    Power,
}

/// The contents of a store.
#[derive(Debug)]
pub enum Stored {
    /// The same as when it was last read or written.
    Unchanged,
    /// There is no file yet; a new one would have this salt.
    Missing {
        /// Random bytes.
        salt: Vec<u8>,
    },
    /// The file was read.
    Known {
        /// Its contents.
        state: Box<State>,
        /// Why the file cannot be written; `None` if it can.
        unwritable: Option<String>,
    },
    /// The file makes no sense: it was moved out of the way.
    Damaged {
        /// Random bytes, for a new file.
        salt: Vec<u8>,
        /// What is wrong with the file: continues `the cache`.
        why: String,
        /// Where the file is now; `None` if it could not be moved.
        moved: Option<String>,
    },
    /// The file can never be a cache, for this reason: continues `the cache`.
    Unfit(&'static str),
}

/// How far a store has been opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreStage {
    /// Not needed so far.
    Unread,
    /// Being created: the first write decides which salt it has.
    Opening,
    /// In use.
    Open,
    /// Cannot be used: this process remembers on its own.
    Unfit,
}

#[derive(Debug)]
pub(super) struct StoreState {
    stage: StoreStage,
    pub(super) state: State,
    unsaved: Changed,
    /// Changes that were handed out, but may not be in the file yet.
    writing: Changed,
    /// When the oldest change must be written.
    save_at: Option<Duration>,
    is_reading: bool,
    has_failed: bool,
    requested: Ticket,
    /// When the last write was handed out.
    write_began: Duration,
    /// All writes up to this one have ended or failed.
    pub(super) persisted: Ticket,
    /// When changes of other processes were last merged, in seconds since the epoch.
    pub(super) merged_at: u64,
    /// When its file was last read. A later request of another process may be unknown.
    read_at: Duration,
    read_began: Duration,
    /// Entries younger than this are kept.
    keep: Duration,
    /// The first entry that uses the store; warnings about the cache go to its log.
    user: usize,
}

impl StoreState {
    fn new(salt: Vec<u8>) -> Self {
        Self {
            stage: StoreStage::Unread,
            state: State::new(salt),
            unsaved: Changed::default(),
            writing: Changed::default(),
            save_at: None,
            is_reading: false,
            has_failed: false,
            requested: 0,
            write_began: Duration::ZERO,
            persisted: 0,
            merged_at: 0,
            read_at: Duration::ZERO,
            read_began: Duration::ZERO,
            keep: Duration::ZERO,
            user: 0,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, StoreStage::Open | StoreStage::Unfit)
    }

    /// Whether the last write failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether its file can never be a cache: this process remembers on its own.
    pub(super) fn is_unfit(&self) -> bool {
        self.stage == StoreStage::Unfit
    }

    /// Notes that the store is being read. Returns whether to start that now.
    pub(super) fn begin_reading(&mut self, now: Duration) -> bool {
        let begins = self.stage != StoreStage::Opening && !std::mem::replace(&mut self.is_reading, true);
        if begins {
            self.read_began = now;
        }
        begins
    }

    /// The write that must end before anything is sent; `None` if all have ended.
    pub(super) fn unpersisted(&self) -> Option<Ticket> {
        (self.requested > self.persisted).then_some(self.requested)
    }

    /// Asks again for a write whose end was not reported.
    pub(super) fn write_again(&mut self, store: StoreId, now: Duration) -> Option<Effect> {
        let upto = self.unpersisted()?;
        self.write_began = now;
        Some(Effect::Persist { store, upto, durability: Durability::Process })
    }

    /// All changes that may not be written yet.
    fn take_unwritten(&mut self) -> Changed {
        let mut changed = std::mem::take(&mut self.unsaved);
        changed.extend(&self.writing);
        changed
    }
}

/// The stores of a plan. Stores of the previous plan keep their contents.
pub(super) fn stores(plan: &Plan, before: Vec<StoreState>, old: &Plan, chance: &mut Chance) -> Vec<StoreState> {
    let mut before: Vec<Option<StoreState>> = before.into_iter().map(Some).collect();
    let mut known = |place: &StorePlace| before.get_mut(old.places().iter().position(|other| other == place)?)?.take();
    let mut stores: Vec<StoreState> = plan
        .places()
        .iter()
        .map(|place| {
            let mut store = known(place).unwrap_or_else(|| StoreState::new(chance.salt()));
            if *place == StorePlace::Memory {
                store.stage = StoreStage::Open;
            }
            StoreState { keep: Duration::ZERO, user: usize::MAX, is_reading: false, ..store }
        })
        .collect();
    for at in 0..plan.entry_count() {
        let store = &mut stores[plan.store_of(at)];
        store.keep = store.keep.max(plan.entry(at).cache_max_age);
        store.user = store.user.min(at);
    }
    stores
}

impl Engine {
    /// Remembers a claim.
    pub(super) fn set(&mut self, store: StoreId, key: &ClaimKey, entry: Claim) {
        let is_of_group = self.plan.places()[store].is_of_group();
        let of = &mut self.stores[store];
        // Updates wait for the group's store: avoid unnecessary writes.
        if is_of_group && of.state.entry(key) == entry {
            return;
        }
        of.state.change(key, entry);
        if let Some(unsaved) = self.must_save(store) {
            unsaved.claims = true;
        }
    }

    /// Remembers what keeps an update from being sent.
    pub(super) fn set_hold(&mut self, store: StoreId, key: &ClaimKey, hold: Hold) {
        let is_of_group = self.plan.places()[store].is_of_group();
        let of = &mut self.stores[store];
        let before = of.state.hold(key);
        if is_of_group && before == hold {
            return;
        }
        of.state.set_hold(key, hold);
        if let Some(unsaved) = self.must_save(store) {
            unsaved.holds.entry(key.clone()).or_insert(before);
        }
    }

    /// Until when it is known what other processes have begun to send, in seconds since the epoch: until the file was read.
    pub(super) fn known_at(&self, at: usize) -> u64 {
        let (store, now) = (self.plan.store_of(at), self.clock());
        match self.plan.places()[store] {
            // What began long ago has ended by now.
            StorePlace::File(_) if !self.stores[store].is_unfit() => {
                let longest = self.latest_believed(at).saturating_sub(now);
                self.clock_at(self.stores[store].read_at).max(now.saturating_sub(longest))
            }
            _ => now,
        }
    }

    /// Schedules a write, and returns where to note what changed; `None` if the store is never written.
    pub(super) fn must_save(&mut self, store: StoreId) -> Option<&mut Changed> {
        let patience = match self.plan.places()[store] {
            StorePlace::Memory => return None,
            StorePlace::File(_) => SAVE_EVERY,
            StorePlace::Group(_) => Duration::ZERO,
        };
        let of = &mut self.stores[store];
        of.save_at.get_or_insert(self.now.steady + patience);
        Some(&mut of.unsaved)
    }

    pub(super) fn save_at(&self) -> Option<Duration> {
        self.stores.iter().filter_map(|store| store.save_at).min()
    }

    /// Writes changes that have waited long enough.
    pub(super) fn save_due(&mut self) {
        for store in 0..self.stores.len() {
            if self.stores[store].save_at.is_some_and(|at| at <= self.now.steady) {
                self.persist(store, Durability::Power);
            }
        }
    }

    /// Writes all unsaved changes.
    pub(super) fn save(&mut self, durability: Durability) {
        for store in 0..self.stores.len() {
            self.persist(store, durability);
        }
    }

    fn persist(&mut self, store: StoreId, durability: Durability) {
        let of = &mut self.stores[store];
        of.save_at = None;
        if of.unsaved.is_empty() || of.stage != StoreStage::Open {
            return;
        }
        of.requested += 1;
        of.write_began = self.now.steady;
        self.out.effects.push_back(Effect::Persist { store, upto: of.requested, durability });
    }

    /// Merges what other processes wrote to a file. `None`: the file is gone or useless.
    pub fn merge(&mut self, store: StoreId, theirs: Option<State>) {
        let (own, now) = (self.own, self.clock());
        self.stores[store].read_at = self.now.steady;
        let Some(mut theirs) = theirs else {
            self.doubt_unconfigured(store);
            return;
        };
        if self.stores[store].has_failed {
            self.end_implausible_marks_of(store, &mut theirs);
        }
        let of = &mut self.stores[store];
        // Our own file, read again, contains nothing from others.
        if theirs != of.state {
            of.merged_at = now;
        }
        if theirs.salt() == of.state.salt() {
            let mut changed = of.take_unwritten();
            theirs.merge(&of.state, &mut changed, own, now);
            let is_news = changed.claims && of.save_at.is_none();
            (of.state, of.unsaved) = (theirs, changed);
            if is_news {
                self.must_save(store);
            }
            self.mark_replaced_again(store);
        } else if of.stage == StoreStage::Opening {
            // Another process has just created the file: both use its salt, so that callbacks have the same keys.
            of.state = theirs;
        } else {
            self.adopt(store, theirs);
        }
    }

    /// Another process has created the file again, with another salt. Both must use the same salt to see each other's marks.
    /// What is under way or not written yet is carried over; nothing else counts any more.
    fn adopt(&mut self, store: StoreId, theirs: State) {
        let (plan, own, now) = (Rc::clone(&self.plan), self.own, self.clock());
        let news = self.stores[store].take_unwritten();
        let before = std::mem::replace(&mut self.stores[store].state, theirs);
        let entries: Vec<usize> = (0..plan.entry_count()).filter(|at| plan.store_of(*at) == store).collect();
        let sent = self.requests.values().flat_map(|request| &request.members);
        let sent: HashSet<UpdateId> = sent.map(|(id, _)| *id).collect();
        let mut kept = Vec::new();
        for id in entries.iter().flat_map(|at| plan.updates_of(*at)) {
            let (at, domain, family) = plan.about(id);
            let Some(key) = self.key(at, domain, family) else { continue };
            let (claim, hold) = (before.entry(&key), before.hold(&key));
            let is_news = before.is_changed(&key) || news.holds.contains_key(&key);
            if is_news || claim.in_doubt.is_some_and(|doubt| doubt.by == own) {
                kept.push((id, claim, hold));
            }
        }
        for at in entries {
            (self.entries[at].callback, self.entries[at].maker) = (None, None);
            self.bind(at);
        }
        let mut ours = State::new(self.stores[store].state.salt().to_vec());
        let mut changed = Changed::default();
        for (id, claim, hold) in kept {
            let (at, domain, family) = plan.about(id);
            let Some(key) = self.key(at, domain, family) else { continue };
            if let Some(by) = self.maker(&plan, at) {
                ours.note_maker(key.callback, by);
            }
            ours.change(&key, claim);
            ours.set_hold(&key, hold.clone());
            let mut base = Hold::default();
            if sent.contains(&id) {
                // An update that was sent stays in doubt, whatever services told other processes, and beside a mark of theirs:
                // they did not know of ours.
                let state = &mut self.stores[store].state;
                base = state.hold(&key);
                let theirs = state.entry(&key).in_doubt.filter(|doubt| doubt.is_foreign(own, now));
                let ours = claim.in_doubt.filter(|ours| theirs.is_some_and(|theirs| theirs.ip != ours.ip));
                if let Some(ours) = ours.filter(|ours| ours.by == own) {
                    base.under_way.push(ours.into());
                    state.set_hold(&key, base.clone());
                }
            }
            (changed.claims, changed.is_refuted) = (true, news.is_refuted);
            changed.holds.insert(key, base);
        }
        let of = &mut self.stores[store];
        of.state.merge(&ours, &mut changed, own, now);
        of.unsaved = changed;
        self.must_save(store);
        self.mark_replaced_again(store);
    }

    /// The contents for a cache file. Changes count as written until [`Event::Persisted`](super::Event::Persisted) says
    /// otherwise.
    pub fn text(&mut self, store: StoreId) -> &impl Display {
        let now = self.clock();
        let of = &mut self.stores[store];
        of.state.prune(of.keep, now);
        of.writing = of.take_unwritten();
        of.state.turn(Saved::No, Saved::Perhaps);
        &of.state
    }

    /// What must be written to the group's store.
    pub fn pairs(&mut self, store: StoreId) -> Vec<Pair> {
        let of = &mut self.stores[store];
        let unsaved = std::mem::take(&mut of.unsaved);
        // In order: the same events lead to the same writes.
        let mut keys: BTreeSet<ClaimKey> = of.state.changed(&unsaved).into_iter().collect();
        keys.extend(unsaved.streaks);
        of.state.turn(Saved::No, Saved::Yes);
        keys.iter().map(|key| of.state.pair(key)).collect()
    }

    /// Handles the contents of a file.
    pub(super) fn read(&mut self, store: StoreId, stored: Stored) {
        let Some(of) = self.stores.get_mut(store).filter(|of| of.is_reading) else { return };
        (of.is_reading, of.read_at) = (false, of.read_at.max(of.read_began));
        match (of.stage, stored) {
            (StoreStage::Unread, Stored::Known { state, unwritable }) => {
                of.stage = StoreStage::Open;
                of.state = *state;
                if let Some(why) = unwritable {
                    of.state.forget_claims();
                    self.warn(store, &why);
                }
            }
            (StoreStage::Unread, Stored::Missing { salt }) => self.make(store, salt),
            (StoreStage::Unread, Stored::Damaged { salt, why, moved }) => {
                let moved = moved.map_or_else(String::new, |moved| format!(" and was moved to {moved}"));
                self.say_of(store, &format!("the cache {why}{moved}; every address is sent again"));
                self.make(store, salt);
            }
            (StoreStage::Unread, Stored::Unfit(why)) => {
                of.stage = StoreStage::Unfit;
                self.say_of(store, &format!("the cache {why}; nothing is remembered"));
            }
            (StoreStage::Open, Stored::Known { state, .. }) => self.merge(store, Some(*state)),
            _ => {}
        }
        if self.stores[store].stage != StoreStage::Opening {
            self.have_read(store);
        }
    }

    /// Creates a file, or uses the one that another process creates at the same moment.
    fn make(&mut self, store: StoreId, salt: Vec<u8>) {
        let of = &mut self.stores[store];
        (of.stage, of.state) = (StoreStage::Opening, State::new(salt));
        of.requested += 1;
        of.write_began = self.now.steady;
        let (upto, durability) = (of.requested, Durability::Process);
        self.out.effects.push_back(Effect::Persist { store, upto, durability });
    }

    /// Handles the end of a write.
    pub(super) fn persisted(&mut self, store: StoreId, upto: Ticket, result: Result<(), String>) {
        // If a reload comes, what was just put in doubt is remembered in another store from now on.
        let is_left = self.is_reloading();
        let Some(of) = self.stores.get_mut(store) else { return };
        of.persisted = of.persisted.max(upto);
        // A mark must still be valid when its write ends.
        let took = self.now.steady.saturating_sub(of.write_began);
        self.ahead = self.ahead.max((took * 2 + MARK_MARGIN).min(MAX_MARK_MARGIN));
        let was_opening = of.stage == StoreStage::Opening;
        if was_opening {
            of.stage = StoreStage::Open;
        }
        match result {
            Ok(()) => {
                of.has_failed = false;
                // Dropping it also frees its memory: an idle service needs none.
                of.writing = Changed::default();
                of.state.turn(Saved::Perhaps, Saved::Yes);
            }
            Err(why) => {
                let writing = std::mem::take(&mut of.writing);
                of.unsaved.extend(&writing);
                of.state.turn(Saved::Perhaps, Saved::No);
                let is_mark = |doubt: InDoubt| doubt.by == self.own || is_left && doubt.by == 0;
                // The file claims an address that is about to be replaced, or that is not there.
                let unsaved = of.state.changed(&of.unsaved);
                if of.unsaved.is_refuted || unsaved.iter().any(|key| of.state.entry(key).in_doubt.is_some_and(is_mark))
                {
                    // In front: before the engine is closed.
                    self.out.effects.push_front(Effect::Discard { store });
                }
                // From now on, claims of other processes may change without being written.
                if !of.has_failed {
                    self.doubt_unconfigured(store);
                }
                let of = &mut self.stores[store];
                // Try again, but not at once.
                of.save_at = (!of.unsaved.is_empty()).then(|| self.now.steady + SAVE_EVERY);
                self.warn(store, &why);
            }
        }
        if was_opening {
            self.have_read(store);
        }
        self.send_marked(store);
    }

    /// Puts in doubt what is not configured here: a file that is created again must not claim more than is known. This alone
    /// causes no write.
    fn doubt_unconfigured(&mut self, store: StoreId) {
        let own = self.own_keys(store);
        let state = &mut self.stores[store].state;
        let others: Vec<ClaimKey> = state.keys().filter(|key| !own.contains(key)).collect();
        for key in others {
            if let Some(doubted) = state.entry(&key).doubted() {
                state.set(&key, doubted);
            }
        }
    }

    fn warn(&mut self, store: StoreId, why: &str) {
        if !std::mem::replace(&mut self.stores[store].has_failed, true) {
            let effect = "its contents are ignored, and the next run may send every address again";
            self.say_of(store, &format!("the cache cannot be written ({why}); {effect}"));
        }
    }

    fn say_of(&mut self, store: StoreId, text: &str) {
        if let StorePlace::File(path) = &self.plan.places()[store] {
            let text = format!("{}: {text}", path.display());
            self.say(self.stores[store].user, Level::Warning, || text);
        }
    }

    /// Reads the stores of entries with notifications, even if no address is found.
    pub(super) fn read_for_streaks(&mut self) {
        let notifying = (0..self.plan.configs().len()).filter(|config| !self.plan.config(*config).notify.is_empty());
        let needs: Vec<StoreId> =
            notifying.flat_map(|config| self.plan.entries_of(config)).map(|at| self.plan.store_of(at)).collect();
        if !needs.is_empty() {
            self.after_reading(needs, Task::ReadStores);
        }
    }

    /// The lease was won: only what the group remembers counts.
    pub(super) fn open_shared(&mut self, state: &State) {
        for at in 0..self.entries.len() {
            let store = self.plan.store_of(at);
            if self.plan.places()[store].is_of_group() && self.stores[store].stage != StoreStage::Open {
                self.stores[store].stage = StoreStage::Open;
                self.stores[store].state = state.clone();
            }
            self.bind(at);
        }
        self.tidy_shared();
    }

    /// Forgets what other hosts claim about our updates, and what is too old. (Cache files are pruned with every write.)
    pub(super) fn tidy_shared(&mut self) {
        let Some(store) = self.plan.places().iter().position(StorePlace::is_of_group) else { return };
        if self.stores[store].stage != StoreStage::Open {
            return;
        }
        self.disown(store);
        let now = self.clock();
        let of = &mut self.stores[store];
        let before: HashSet<ClaimKey> = of.state.keys().collect();
        of.state.prune(of.keep, now);
        let gone = before.into_iter().filter(|key| of.state.pair(key).1.is_none());
        of.unsaved.streaks.extend(gone);
        self.must_save(store);
    }

    /// Forgets what endpoints accepted: another host sends to them.
    pub(super) fn forget_claims(&mut self) {
        for store in 0..self.stores.len() {
            let StoreState { keep, user, requested, .. } = self.stores[store];
            let mut fresh = StoreState::new(self.chance.salt());
            if self.plan.places()[store] == StorePlace::Memory {
                fresh.stage = StoreStage::Open;
            }
            // Results of earlier reads and writes no longer matter.
            self.stores[store] = StoreState { keep, user, requested, persisted: requested, ..fresh };
        }
        self.before.clear();
        self.replaced.clear();
        for entry in &mut self.entries {
            (entry.callback, entry.maker) = (None, None);
        }
    }
}
