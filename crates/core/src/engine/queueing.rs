//! Judges updates, and queues those that must be sent. Updates that are held back are judged again when their time comes.

use std::rc::Rc;
use std::time::Duration;

use smallvec::{SmallVec, smallvec};

use super::plan::{Plan, StoreId, StorePlace};
use super::{Effect, Engine, Mode};
use crate::address::observation::Observation;
use crate::journal::{About, Held, What};
use crate::net::family::Family;
use crate::schedule::queue::{Lane, LaneKey, Stage, UpdateId};
use crate::text::duration::seconds;
use crate::text::log_format::Level;
use crate::update::plan::{MAY_STILL_ARRIVE, Verdict, together};
use crate::update::{Sendable, Update};

/// How often to check whether the request of another process has ended.
const RECHECK: Duration = Duration::from_millis(250);

/// Updates that share a request, with their numbers: only one, unless `combine` is set (H7).
pub(super) type Members<T> = SmallVec<[(UpdateId, T); 1]>;

/// The updates of one request, as they are sent.
pub(super) type Sendables<'a> = Members<Sendable<'a>>;

/// A task that waits for stores to be read.
#[derive(Debug)]
pub(super) struct PendingTask {
    /// Stores that have not been read yet.
    pub(super) needs: Vec<StoreId>,
    pub(super) task: Task,
}

#[derive(Debug)]
pub(super) enum Task {
    /// Only read the stores.
    ReadStores,
    /// Judge all updates of an entry and family.
    Family { at: usize, family: Family, is_round: bool },
    /// Judge the combined requests of an entry. The tally includes updates of the `counted` families.
    Groups { at: usize, counted: Vec<Family>, is_round: bool },
    /// Judge these updates again.
    Again(Vec<UpdateId>),
    /// Forget which updates services stopped.
    ForgetStops,
}

/// Whether both addresses of a domain go in one request (`combine.families`).
fn goes_with_other(plan: &Plan, at: usize) -> bool {
    plan.entry(at).callback.variables.combine.as_ref().is_some_and(|combine| combine.families)
}

impl Engine {
    /// Performs a task after these stores have been read, or read again.
    pub(super) fn after_reading(&mut self, mut needs: Vec<StoreId>, task: Task) {
        needs.sort_unstable();
        needs.dedup();
        needs.retain(|store| matches!(self.plan.places()[*store], StorePlace::File(_)));
        for store in &needs {
            if self.stores[*store].begin_reading(self.now.steady) {
                self.out.effects.push_back(Effect::Read { store: *store });
            }
        }
        // In strict order, a task that needs no file still waits for earlier tasks.
        let at = match task {
            Task::Family { at, .. } | Task::Groups { at, .. } => Some(at),
            Task::ReadStores | Task::Again(_) | Task::ForgetStops => None,
        };
        let is_next = self.todos.is_empty() || !at.is_some_and(|at| self.plan.is_strict(at));
        if needs.is_empty() && is_next {
            self.perform(task);
        } else {
            self.todos.push_back(PendingTask { needs, task });
        }
    }

    /// A store has been read: performs the tasks that waited for it.
    pub(super) fn have_read(&mut self, store: StoreId) {
        for todo in &mut self.todos {
            todo.needs.retain(|need| *need != store);
        }
        while self.todos.front().is_some_and(|todo| todo.needs.is_empty()) {
            if let Some(todo) = self.todos.pop_front() {
                self.perform(todo.task);
            }
        }
    }

    fn perform(&mut self, task: Task) {
        let plan = Rc::clone(&self.plan);
        match task {
            Task::ReadStores => {}
            Task::Family { at, family, is_round } => {
                self.bind(at);
                let Some(found) = self.found(at, family) else { return };
                let entry = plan.entry(at);
                for (id, domain) in (plan.first(at, family)..).zip(entry.domains_of(family)) {
                    let update = entry.sendable(domain, family, found);
                    self.queue_batch(&plan, id, at, smallvec![(id, update)], is_round, &[family]);
                }
            }
            Task::Groups { at, counted, is_round } => {
                self.bind(at);
                self.judge_groups(&plan, at, &counted, is_round);
            }
            Task::Again(ids) => {
                for id in ids {
                    match self.batch(&plan, id) {
                        Some((at, batch)) => {
                            self.bind(at);
                            self.queue_batch(&plan, id, at, batch, true, &Family::ALL);
                        }
                        None => {
                            self.waiting.remove(&id);
                        }
                    }
                }
            }
            Task::ForgetStops => self.forget_stops(),
        }
    }

    /// Judges all updates whose address is known.
    pub(super) fn judge_all(&mut self) {
        for config in 0..self.open.len() {
            let is_strict = self.plan.entries_of(config).any(|at| self.plan.is_strict(at));
            if !is_strict || self.open[config] == 0 {
                self.judge_config(config, false);
            }
        }
    }

    pub(super) fn judge_config(&mut self, config: usize, is_round: bool) {
        for at in self.plan.entries_of(config) {
            self.judge_family(at, Family::V4, is_round);
            self.judge_family(at, Family::V6, is_round);
        }
    }

    /// Judges all updates of an entry and family, and queues those that must be sent. Without a cache, a round also sends what
    /// was accepted before.
    pub(super) fn judge_family(&mut self, at: usize, family: Family, is_round: bool) {
        let plan = Rc::clone(&self.plan);
        let domains = plan.entry(at).domains_of(family);
        let observed = self.observed(at, family);
        if domains.is_empty() || observed == Observation::Off {
            return;
        }
        if observed == Observation::Unavailable {
            // The cache is neither read nor changed (E6).
            self.tallies[plan.config_of(at)].without_address += domains.len();
            for (id, _) in (plan.first(at, family)..).zip(domains) {
                self.withdraw(id);
            }
        }
        if self.is_standing_by() {
            return;
        }
        if plan.is_combined(at) {
            self.judge_both(&plan, at, family, is_round);
        } else if observed != Observation::Unavailable {
            self.after_reading(vec![plan.store_of(at)], Task::Family { at, family, is_round });
        }
    }

    /// The same for combined requests, once both families are known and neither is being looked up: the request would have an
    /// outdated address otherwise (H7). Each update is counted once, even if its family had to wait for the other one.
    fn judge_both(&mut self, plan: &Plan, at: usize, family: Family, is_round: bool) {
        let is_open = |family: &Family| {
            let lookups = &self.entries[at].lookups[family.index()];
            let is_known = self.observed(at, *family) != Observation::Off && !lookups.are_under_way();
            !plan.entry(at).domains_of(*family).is_empty() && !is_known
        };
        if goes_with_other(plan, at) && Family::ALL.iter().any(is_open) {
            *self.uncounted.entry((at, family)).or_default() |= is_round;
            return;
        }
        let waited = Family::ALL.map(|one| self.uncounted.remove(&(at, one)));
        let is_round = is_round || waited.contains(&Some(true));
        let is_counted = |one: &Family| *one == family || waited[one.index()].is_some();
        let counted: Vec<Family> = Family::ALL.into_iter().filter(is_counted).collect();
        self.after_reading(vec![plan.store_of(at)], Task::Groups { at, counted, is_round });
    }

    fn judge_groups(&mut self, plan: &Plan, at: usize, counted: &[Family], is_due: bool) {
        let mut failed = 0;
        let is_meant = |id: &UpdateId| goes_with_other(plan, at) || counted.contains(&plan.about(*id).2);
        for id in plan.leaders(at).into_iter().filter(is_meant) {
            if let Some((_, batch)) = self.batch(plan, id) {
                self.queue_batch(plan, id, at, batch, is_due, counted);
                continue;
            }
            self.withdraw(id);
            let found = plan.members(&id).iter().filter_map(|id| self.update(plan, *id));
            failed += found.filter(|(_, update)| counted.contains(&update.family)).count();
        }
        if failed > 0 {
            self.tallies[plan.config_of(at)].failed += failed;
            let plural = if failed == 1 { "" } else { "s" };
            let way_out = "`combine.missing` sets what to send instead";
            self.say(at, Level::Error, || {
                format!("{failed} update{plural} not sent: the other address is missing; {way_out}")
            });
        }
    }

    /// An update with its current address, and its entry; `None` if there is no address.
    pub(super) fn update<'p>(&self, plan: &'p Plan, id: UpdateId) -> Option<(usize, Sendable<'p>)> {
        let (at, domain, family) = plan.about(id);
        let found = self.found(at, family)?;
        Some((at, plan.entry(at).sendable(domain, family, found)))
    }

    /// The updates of one request with their current addresses, and their entry; `None` if an address is missing. A family that
    /// was looked up and has no address now is left out if `combine.missing` says what to send instead.
    pub(super) fn batch<'p>(&self, plan: &'p Plan, id: UpdateId) -> Option<(usize, Sendables<'p>)> {
        self.together(plan, id, |id| self.update(plan, id).map(|(_, update)| update))
    }

    /// The same for updates that `update` makes, for example those to show.
    pub(super) fn together<T>(
        &self,
        plan: &Plan,
        id: UpdateId,
        update: impl Fn(UpdateId) -> Option<T>,
    ) -> Option<(usize, Members<T>)> {
        let at = plan.entry_of(id);
        if !plan.is_combined(at) {
            return update(id).map(|update| (at, smallvec![(id, update)]));
        }
        let members = plan.members(&id);
        let batch: Members<T> = members.iter().filter_map(|id| Some((*id, update(*id)?))).collect();
        let combine = plan.entry(at).callback.variables.combine.as_ref();
        let may_lack = combine.is_some_and(|combine| combine.missing.is_some());
        let is_known = |id: &UpdateId| {
            let (at, _, family) = plan.about(*id);
            self.observed(at, family) != Observation::Off
        };
        let is_whole = batch.len() == members.len() || may_lack && members.iter().all(is_known);
        (is_whole && !batch.is_empty()).then_some((at, batch))
    }

    /// Judges the updates of one request. `is_due`: without a cache, also send what was accepted before. Stopped updates are
    /// removed from `batch`, and returned.
    pub(super) fn judge_batch<'p>(
        &self,
        at: usize,
        batch: &mut Sendables<'p>,
        is_due: bool,
    ) -> (Verdict, Vec<(UpdateId, Sendable<'p>, Verdict)>) {
        if let [(id, update)] = batch[..] {
            let verdict = self.judge_by(at, &update, self.rules(id, at, is_due));
            let stopped = matches!(verdict, Verdict::Stopped(..)).then(|| (id, update, verdict.clone()));
            if stopped.is_some() {
                batch.clear();
            }
            let may_replace = self.plan.is_combined(at) && matches!(verdict, Verdict::Send(_));
            let held = may_replace.then(|| self.batch_hold(at, batch)).flatten();
            return (held.unwrap_or(verdict), stopped.into_iter().collect());
        }
        let (updates, mut verdicts): (Vec<_>, Vec<_>) =
            batch.iter().map(|(id, update)| (**update, self.judge_by(at, update, self.rules(*id, at, is_due)))).unzip();
        let (mut verdict, mut carried) = together(&updates, &verdicts);
        // An update that is up to date does not go along if a service stopped it since.
        if matches!(verdict, Verdict::Send(_)) {
            for (update, verdict) in updates.iter().zip(&mut verdicts) {
                let stop = self.memory(at, update.domain, update.family);
                let stop = stop.and_then(|memory| memory.hold(update.domain, update.family)?.stop_for(update.ip));
                if let (Verdict::UpToDate(_), Some(stop)) = (&*verdict, stop) {
                    *verdict = Verdict::Stopped(stop.why.clone(), stop.at);
                }
            }
            (verdict, carried) = together(&updates, &verdicts);
        }
        let mut carried = carried.into_iter().zip(verdicts);
        let mut stopped = Vec::new();
        batch.retain(|(id, update)| {
            let Some((false, verdict)) = carried.next() else { return true };
            stopped.push((*id, *update, verdict));
            false
        });
        // An update that is up to date goes along, but not while it is held back, or another process sends it.
        if !matches!(verdict, Verdict::Send(_)) {
            return (verdict, stopped);
        }
        let others_until = |(id, update): &(UpdateId, Sendable<'_>)| {
            let hold = self.memory(at, update.domain, update.family)?.hold(update.domain, update.family)?;
            hold.others_until(self.rules(*id, at, is_due).shared_ip(update), self.own, self.clock())
        };
        let waits = batch.iter().filter_map(others_until).max().map(Verdict::Wait);
        (waits.or_else(|| self.batch_hold(at, batch)).unwrap_or(verdict), stopped)
    }

    /// Judges the updates of one request, and queues it if it must be sent. The tally includes updates of the `counted`
    /// families.
    pub(super) fn queue_batch(
        &mut self,
        plan: &Plan,
        id: UpdateId,
        at: usize,
        mut batch: Sendables<'_>,
        is_due: bool,
        counted: &[Family],
    ) {
        let config = plan.config_of(at);
        let is_counted = |update: &Update<'_>| counted.contains(&update.family);
        self.unmark_outdated(at, &batch);
        self.unmark_left_out(plan, at, &batch);
        let (mut verdict, mut stopped) = self.judge_batch(at, &mut batch, is_due);
        if matches!(verdict, Verdict::Wait(_)) && self.end_implausible_marks(at, &batch) {
            let (again, more) = self.judge_batch(at, &mut batch, is_due);
            verdict = again;
            stopped.extend(more);
        }
        if !matches!(verdict, Verdict::Held(..) | Verdict::Stopped(..)) {
            self.unhold(id);
        }
        for (own, update, verdict) in stopped.iter().filter(|(_, update, _)| is_counted(update)) {
            self.hold(*own, at, update, verdict);
        }
        let Some(first) = batch.first().map(|(_, update)| **update) else {
            self.withdraw(id);
            return;
        };
        match verdict {
            Verdict::UpToDate(since) => {
                let age = self.clock().saturating_sub(since);
                self.say(at, Level::Debug, || format!("{first}: already up to date, accepted {} ago", seconds(age)));
                self.tallies[config].up_to_date += batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.withdraw(id);
                for (own, update) in &batch {
                    if self.asked_for.remove(own) {
                        let why = "the service said three times in a row that it has this address";
                        let until = "ddns sends the next address";
                        self.say(at, Level::Warning, || format!("{}: not sent: {why}; {until}", **update));
                    }
                    self.start_dns_checks(*own);
                }
            }
            Verdict::Wait(_) => {
                self.queue.withdraw(id);
                self.wait(id, at, &first);
            }
            // The update failed before: its retry waits until both times are over.
            Verdict::Held(until, _) if self.queue.stage(id) == Stage::WaitingToRetry => {
                self.queue.put_off(id, self.steady_at(until));
            }
            Verdict::Held(..) | Verdict::Stopped(..) => {
                self.withdraw(id);
                // Name the update that is held back, not one that only goes along.
                let own =
                    |(own, update): &(UpdateId, Sendable<'_>)| self.judge_by(at, update, self.rules(*own, at, is_due));
                let waits = batch.iter().find(|one| matches!(own(one), Verdict::Held(..)));
                let is_due = |one: &&(UpdateId, Sendable<'_>)| !matches!(own(one), Verdict::UpToDate(_));
                let named = waits.or_else(|| batch.iter().find(is_due)).map_or(first, |(_, update)| **update);
                self.hold(id, at, &named, &verdict);
                // `hold` has counted one of them.
                let count = batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.tallies[config].held_back += count.saturating_sub(1);
            }
            Verdict::Send(reason) => {
                self.say(at, Level::Debug, || format!("{first}: {reason}"));
                self.waiting.remove(&id);
                let lane = self.lane(plan, at, &batch);
                self.queue.push(id, lane);
            }
        }
    }

    /// Takes an update off the queue: it need not be sent any more.
    pub(super) fn withdraw(&mut self, id: UpdateId) {
        self.queue.withdraw(id);
        self.waiting.remove(&id);
        self.asked.withdraw(id);
    }

    fn lane(&mut self, plan: &Plan, at: usize, batch: &Sendables<'_>) -> Lane {
        if let Some(lane) = self.entries[at].lane {
            return lane;
        }
        let (key, is_common) = self.lane_key(plan, at, batch);
        let lane = self.queue.lane(key, plan.config(plan.config_of(at)).concurrency);
        if is_common {
            self.queue.keep(lane);
            self.entries[at].lane = Some(lane);
        }
        lane
    }

    /// The lane of an update, and whether all updates of its entry use it.
    fn lane_key(&self, plan: &Plan, at: usize, batch: &Sendables<'_>) -> (LaneKey, bool) {
        let strict = plan.is_strict(at).then(|| plan.config_of(at));
        let callback = &plan.entry(at).callback;
        if let Some(url) = callback.request.target.fixed_part() {
            return (LaneKey { origin: url.origin(), strict }, true);
        }
        // An update whose URL cannot be made fails in any lane.
        let updates: Vec<Update<'_>> = batch.iter().map(|(_, update)| **update).collect();
        let all = crate::callback::Batch::of(&updates);
        let url = all.and_then(|all| callback.url(all, self.now.day).ok());
        (LaneKey { origin: url.map(|url| url.origin()).unwrap_or_default(), strict }, false)
    }

    /// An update is due but must not be sent, now or ever. A service judges it again when its time comes.
    pub(super) fn hold(&mut self, id: UpdateId, at: usize, update: &Update<'_>, verdict: &Verdict) {
        let tally = &mut self.tallies[self.plan.config_of(at)];
        let (until, why) = match verdict {
            Verdict::Held(until, by) => {
                tally.held_back += 1;
                (Some(*until), by.reason().to_owned())
            }
            Verdict::Stopped(words, _) => {
                tally.stopped += 1;
                (None, words.clone())
            }
            _ => return,
        };
        // The same reason and time are reported as a repeat.
        let is_repeat = self.held.get(&id) == Some(&until);
        self.unhold(id);
        self.held.insert(id, until);
        self.held_until.extend(until.map(|until| (until, id)));
        let about = About { entry: at, domain: update.domain.clone(), family: update.family };
        self.tell(What::Held(Held { about, ip: update.ip, until, why, is_repeat }));
    }

    /// An update is no longer held back.
    pub(super) fn unhold(&mut self, id: UpdateId) {
        if let Some(until) = self.held.remove(&id).flatten() {
            self.held_until.remove(&(until, id));
        }
    }

    /// Judges updates again that are no longer held back.
    pub(super) fn release(&mut self) {
        let now = self.clock();
        let mut due = Vec::new();
        while let Some((_, id)) = self.held_until.first().copied().filter(|(until, _)| *until <= now) {
            self.unhold(id);
            due.push(id);
        }
        self.judge_again(due);
    }

    /// When the next update is no longer held back.
    pub(super) fn release_at(&self) -> Option<Duration> {
        let (next, _) = self.held_until.first()?;
        Some(self.steady_at(*next))
    }

    /// Until when an update is held back because its service asked to wait, or by `min_interval`.
    pub(super) fn held_until(&self, at: usize, update: &Update<'_>) -> Option<Duration> {
        let hold = self.memory(at, update.domain, update.family)?.hold(update.domain, update.family)?;
        let (until, _) = hold.until(self.plan.entry(at).min_interval, self.clock())?;
        Some(self.steady_at(until))
    }

    /// A request with another address, of another process or of the previous configuration, may still arrive: waits for it.
    pub(super) fn wait(&mut self, id: UpdateId, at: usize, update: &Update<'_>) {
        if self.waiting.insert(id) {
            self.say(at, Level::Info, || format!("{update}: waiting: {MAY_STILL_ARRIVE}"));
        }
        self.recheck_at.get_or_insert(self.now.steady + RECHECK);
    }

    /// Judges updates again that wait for another request.
    pub(super) fn recheck(&mut self) {
        if self.is_draining() || self.recheck_at.is_none_or(|at| at > self.now.steady) {
            return;
        }
        self.recheck_at = None;
        self.judge_again(self.waiting.iter().copied().collect());
    }

    pub(super) fn judge_again(&mut self, ids: Vec<UpdateId>) {
        if !ids.is_empty() {
            let needs = ids.iter().map(|id| self.plan.store_of(self.plan.entry_of(*id))).collect();
            self.after_reading(needs, Task::Again(ids));
        }
    }

    /// Sends stopped updates again.
    pub(super) fn retry_stopped(&mut self) {
        self.held.retain(|_, until| until.is_some());
        self.asked.forget();
        // What the group remembers is unknown until the lease is won.
        self.forgets_stops = self.mode == Mode::Once && self.is_standing_by();
        self.after_reading((0..self.stores.len()).collect(), Task::ForgetStops);
    }
}
