//! What endpoints are known to have. These claims decide about updates; an update is marked in doubt before it is sent, and
//! settled by the response (E4).

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use super::in_flight::InFlight;
use super::plan::{Plan, StoreId};
use super::queueing::Sendables;
use super::{Engine, Mode};
use crate::callback::Moment;
use crate::config::Cache;
use crate::net::family::Family;
use crate::schedule::queue::UpdateId;
use crate::update::domain::Domain;
use crate::update::hold::{Hold, UnderWay};
use crate::update::outcome::{Outcome, Why};
use crate::update::plan::{GivenUp, Reason, Rules, Verdict, after_given_up, judge};
use crate::update::state::{Accepted, Claim, ClaimKey, Fingerprint, InDoubt, Memory, Sending, State};
use crate::update::{Sendable, Update};

/// Requests that were given up, by domain and record type.
pub(super) type AllGivenUp = HashMap<(Domain, Family), Vec<GivenUp>>;

/// What was remembered of an update before it was marked. It is restored if nothing was sent.
#[derive(Debug, Default)]
pub(super) struct Before {
    in_doubt: Option<InDoubt>,
    /// When the update was last sent, in seconds since the epoch.
    sent: u64,
    /// The claims that its request replaces.
    pub(super) replaced: Vec<ClaimKey>,
}

/// Marks of other processes are believed for at least this long: their `timeout` may be longer.
const MIN_BELIEVED: Duration = Duration::from_secs(120);

impl Engine {
    /// Whether ddns remembers what the endpoint of an entry accepted.
    pub fn remembers(&self, at: usize) -> bool {
        let is_kept = self.plan.entry(at).cache != Cache::Off && !self.stores[self.plan.store_of(at)].is_unfit();
        self.entries[at].callback.is_some() && (self.mode == Mode::Service || is_kept)
    }

    /// Judges an update by what its endpoint accepted last.
    pub(super) fn judge(&self, at: usize, update: &Update<'_>) -> Verdict {
        self.judge_by(at, update, self.plan.entry(at).rules(false))
    }

    /// Judges an update by these rules.
    pub(super) fn judge_by(&self, at: usize, update: &Update<'_>, rules: Rules) -> Verdict {
        let is_unknown = self.lease.is_some() && self.plan.entry(at).cache != Cache::Off && !self.is_of_group(at);
        // An engine that only looks does not ask the group's store.
        let is_unasked = self.mode == Mode::Look && self.plan.config(self.plan.config_of(at)).group.is_some();
        if is_unknown || is_unasked {
            return Verdict::Send(Reason::InGroup);
        }
        let memory = self.memory(at, update.domain, update.family);
        let verdict = judge(update, rules, memory, self.own, self.clock());
        if self.given_up.is_empty() {
            return verdict;
        }
        let given_up = self.given_up.get(&(update.domain.clone(), update.family)).map_or(&[][..], Vec::as_slice);
        after_given_up(verdict, rules.shared_ip(update), given_up, self.clock())
    }

    /// The rules for an update. A mark in a group does not name its owner, so updates that this host marked are looked up in
    /// `before`: until they are settled, they were not sent, and `min_interval` does not count.
    pub(super) fn rules(&self, id: UpdateId, at: usize, is_due: bool) -> Rules {
        let rules = self.plan.entry(at).rules(is_due);
        let min_interval = if self.is_marked_for_group(id, at) { Duration::ZERO } else { rules.min_interval };
        let (is_asked_for, has_drifted) = (self.asked_for.contains(&id), self.has_drifted(id));
        Rules { min_interval, is_asked_for, has_drifted, ..rules }
    }

    fn is_marked_for_group(&self, id: UpdateId, at: usize) -> bool {
        !self.plan.entry(at).min_interval.is_zero() && self.is_of_group(at) && self.before.contains_key(&id)
    }

    pub(super) fn memory(&self, at: usize, domain: &Domain, family: Family) -> Option<Memory<'_>> {
        let callback = self.plan.entry(at).callback.fingerprint_of(self.entries[at].callback?, domain, family);
        Some(self.stores[self.plan.store_of(at)].state.of(callback))
    }

    /// What is remembered of an update.
    pub(super) fn claim(&self, at: usize, domain: &Domain, family: Family) -> Claim {
        self.memory(at, domain, family).map(|memory| memory.entry(domain, family)).unwrap_or_default()
    }

    /// What a request depends on besides its update. A message that has no number yet gets `fresh`.
    pub(super) fn moment(&self, at: usize, update: &Update<'_>, fresh: u32) -> Moment {
        let claim = self.claim(at, update.domain, update.family);
        let moment = Moment { accepted: claim.accepted.map(|accepted| accepted.ip), ..Moment::from(self.now.day) };
        if !self.plan.entry(at).callback.is_signed() {
            return moment;
        }
        // The number of an earlier attempt, or a new one (H11).
        let before = claim.in_doubt.filter(|doubt| doubt.ip == update.ip && doubt.message != 0);
        let number = before.map_or(fresh, |doubt| doubt.message);
        Moment { message: (self.entries[at].callback.unwrap_or(moment.message.0), number), ..moment }
    }

    /// The key of an update in its store; `None` until the store has been read.
    pub(super) fn key(&self, at: usize, domain: &Domain, family: Family) -> Option<ClaimKey> {
        let callback = self.plan.entry(at).callback.fingerprint_of(self.entries[at].callback?, domain, family);
        Some(ClaimKey { callback, domain: domain.clone(), family })
    }

    /// Whether the claims of an entry are in the group's store, and known.
    fn is_of_group(&self, at: usize) -> bool {
        self.plan.places()[self.plan.store_of(at)].is_of_group() && self.entries[at].callback.is_some()
    }

    /// Computes the key of an entry's callback once its store has been read.
    pub(super) fn bind(&mut self, at: usize) {
        let (entry, store) = (self.plan.entry(at), &self.stores[self.plan.store_of(at)]);
        // A single run without a cache sends everything, and needs no key.
        let is_needed = self.mode == Mode::Service
            || entry.cache != Cache::Off
            || entry.needs_memory()
            || self.dns_schedule.is_waited_for();
        if is_needed && self.entries[at].callback.is_none() && store.is_open() {
            self.entries[at].callback = Some(entry.callback.fingerprint(store.state.salt()));
        }
    }

    /// Who makes the claims of an entry: its configuration file and the origin (E3).
    pub(super) fn maker(&mut self, plan: &Plan, at: usize) -> Option<Fingerprint> {
        self.entries[at].callback?;
        let salt = self.stores[plan.store_of(at)].state.salt();
        let maker = || plan.entry(at).callback.maker(salt, &plan.identity(at).name);
        Some(*self.entries[at].maker.get_or_insert_with(maker))
    }

    /// Handles the end of an update that was started at `began`. Returns what its endpoint accepted before; `None` if nothing
    /// is remembered. `seen_at`: since when the service is known to have the address, if nothing was sent.
    pub(super) fn settle(
        &mut self,
        (id, began): (UpdateId, Duration),
        at: usize,
        update: &Update<'_>,
        outcome: &Outcome,
        seen_at: Option<u64>,
    ) -> Option<IpAddr> {
        let (before, now) = (self.before.remove(&id), self.clock());
        let is_noted = before.is_some();
        let mut before = before.unwrap_or_default();
        self.settle_replaced(at, std::mem::take(&mut before.replaced), outcome.may_have_reached());
        let key = self.key(at, update.domain, update.family)?;
        let store = self.plan.store_of(at);
        let known = self.stores[store].state.entry(&key);
        let previous = known.accepted.map(|accepted| accepted.ip);
        let mut hold = self.stores[store].state.hold(&key);
        let is_ours = is_noted
            || known.in_doubt.is_some_and(|doubt| doubt.by == self.own)
            || hold.under_way.iter().any(|other| other.by == self.own);
        // Another process is sending the same, and its mark has replaced ours.
        let beside = known.in_doubt.filter(|doubt| doubt.is_foreign(self.own, now));
        let is_of_group = self.is_of_group(at);
        // The address counts from when it was seen or sent, not from now: another callback may have sent one since.
        let mut when = seen_at.unwrap_or_else(|| self.clock_at(began));
        // Without news of other processes, what is known is ours; or it is from before the clock was set back.
        let has_news = self.stores[store].merged_at >= when;
        if let Some(accepted) = known.accepted.filter(|accepted| seen_at.is_some() && !has_news && accepted.at <= now) {
            when = when.max(accepted.at);
        }
        let is_in_time = seen_at.is_some()
            || known.in_doubt.is_some_and(|doubt| doubt.by == self.own && doubt.until >= now)
            || hold.under_way.iter().any(|other| other.by == self.own && other.until >= now);
        if hold != Hold::default() || beside.is_some() || !matches!(outcome, Outcome::Accepted(_)) {
            let is_same = previous == Some(update.ip);
            let was_sent = outcome.may_have_reached() && seen_at.is_none();
            // Without `min_interval` here, keep the time for processes that have it. Without a mark of ours, it is theirs.
            if is_ours && !was_sent && !self.plan.entry(at).min_interval.is_zero() {
                hold.sent = before.sent;
            }
            hold.under_way.retain(|other| other.by != self.own);
            if !outcome.may_have_reached() {
                // Nothing was sent: what other processes are sending is in doubt again.
                let is_foreign = |other: &UnderWay| InDoubt::from(*other).is_foreign(self.own, now);
                let other = if beside.is_none() { hold.take_last(is_foreign) } else { None };
                let theirs = known.in_doubt.filter(|doubt| doubt.by != self.own && !is_of_group);
                let doubt = theirs.or(before.in_doubt).or_else(|| self.foreign_doubt(at, known));
                let ended = doubt.map(|doubt| InDoubt { until: 0, by: 0, ..doubt });
                before.in_doubt = other.map(InDoubt::from).or(ended);
            } else if outcome.is_accepted() {
                hold.under_way.extend(beside.map(UnderWay::from));
            }
            self.set_hold(store, &key, hold.settled(outcome, update, is_same, now));
        }
        let mut settled = known.settled(outcome, update, before.in_doubt, when);
        // The service was seen to have this address, but since then, perhaps in the same second, another process sent a
        // different one. (Times ahead of now come from a wrong clock.)
        let is_other = |accepted: &Accepted| accepted.ip != update.ip && (when..=now).contains(&accepted.at);
        let is_later = |accepted: &Accepted| has_news && is_other(accepted) && accepted.at > when;
        if seen_at.is_some() && has_news && known.accepted.as_ref().is_some_and(is_other) {
            settled = Claim { in_doubt: None, ..known }.doubted().unwrap_or(settled);
        }
        // If steps ask for the current address or record, the end of the request counts (H17, H18).
        let callback = &self.plan.entry(at).callback;
        if !outcome.is_accepted()
            && outcome.may_have_reached()
            && !is_of_group
            && (callback.compares() || callback.makes())
        {
            settled.in_doubt = settled.in_doubt.map(|doubt| InDoubt { until: now, ..doubt });
        }
        if !outcome.is_accepted() {
            settled.in_doubt = beside.or(settled.in_doubt);
        } else if !is_of_group && (!is_in_time || known.accepted.as_ref().is_some_and(is_later)) {
            // The request outlasted its mark, or the mark was lost, so others did not wait for it: nobody knows what came last.
            settled.in_doubt = Some(InDoubt { ip: update.ip, until: 0, by: 0, message: 0 });
        }
        let (own, believed) = (self.own, self.latest_believed(at));
        // Even if its process is gone, its request may arrive after ours.
        let is_live = |doubt: &InDoubt| doubt.by != own && doubt.until > now && doubt.until <= believed;
        let state = &self.stores[store].state;
        if outcome.is_accepted()
            && state.has_several()
            && (state.is_being_replaced(&key, &settled, is_live)
                || state.was_replaced(&key, &settled, now, |callback| self.has_beside(store, callback, update)))
            && let Some(doubted) = settled.doubted()
        {
            settled = doubted;
        }
        self.set(store, &key, settled);
        if seen_at.is_some()
            && previous != Some(update.ip)
            && let Some(unsaved) = self.must_save(store)
        {
            unsaved.is_refuted = true;
        }
        previous
    }

    /// What may be in doubt beneath our own mark, because changes of other processes were merged after it was made.
    fn foreign_doubt(&self, at: usize, known: Claim) -> Option<InDoubt> {
        let mark = known.in_doubt.filter(|doubt| doubt.by == self.own && doubt.until > 0)?;
        let made = mark.until.saturating_sub((self.plan.entry(at).longest() + self.ahead).as_secs());
        let was_merged = self.stores[self.plan.store_of(at)].merged_at >= made;
        was_merged.then_some(InDoubt { until: 0, by: 0, ..mark })
    }

    /// Whether an update may be sent now: it is marked in doubt for the whole time limit of its request (E4), or nothing is
    /// remembered of it.
    pub(super) fn is_marked(&self, at: usize, (id, update): &(UpdateId, Sendable<'_>)) -> bool {
        let Some(memory) = self.memory(at, update.domain, update.family) else { return true };
        // The clock has whole seconds: the current one counts, too.
        let until = self.clock() + 1 + self.plan.entry(at).longest().as_secs();
        let doubt = memory.entry(update.domain, update.family).in_doubt;
        if self.is_of_group(at) {
            return self.before.contains_key(id) && doubt.is_some_and(|doubt| doubt.ip == update.ip);
        }
        doubt.is_some_and(|doubt| doubt.by == self.own && doubt.ip == update.ip && doubt.until >= until)
    }

    /// Whether updates must still be sent after everything that was read since they were marked.
    pub(super) fn must_still_send(&self, at: usize, batch: &Sendables<'_>) -> bool {
        let mut judged = batch.clone();
        matches!(self.judge_batch(at, &mut judged, true).0, Verdict::Send(_))
            && judged.len() == batch.len()
            && batch.iter().all(|member| self.is_marked(at, member))
    }

    /// Marks updates in doubt: once an address is sent, nobody knows which one the endpoint has. Updates that start soon are
    /// marked in the same write, unless they are held back. Updates that another process is sending are not marked.
    pub(super) fn mark(&mut self, plan: &Plan, at: usize, batch: &Sendables<'_>, soon: Vec<UpdateId>) {
        let mut sending = Vec::new();
        self.mark_batch(plan, at, batch, &mut sending);
        if let (Some(callback), Some((_, first))) = (self.entries[at].callback, batch.first()) {
            let count = plan.entry(at).domains_of(first.family).len();
            self.stores[plan.store_of(at)].state.make_room(callback, first.family, count);
        }
        for id in soon {
            let Some((at, mut batch)) = self.batch(plan, id) else { continue };
            self.unmark_outdated(at, &batch);
            if !self.judge_batch(at, &mut batch, true).0.is_futile() {
                self.mark_batch(plan, at, &batch, &mut sending);
            }
        }
        for store in 0..self.stores.len() {
            let here = sending.extract_if(.., |(_, at, _)| plan.store_of(*at) == store).map(|(id, _, one)| (id, one));
            let (ids, sending): (Vec<UpdateId>, Vec<Sending>) = here.unzip();
            if !ids.is_empty() {
                self.mark_replaced(plan, store, &ids, &sending);
            }
        }
    }

    /// Marks the updates of one request, and adds what it sends to `sending`.
    fn mark_batch(
        &mut self,
        plan: &Plan,
        at: usize,
        batch: &Sendables<'_>,
        sending: &mut Vec<(UpdateId, usize, Sending)>,
    ) {
        let (own, now, entry, store) = (self.own, self.clock(), plan.entry(at), plan.store_of(at));
        let until = now + (entry.longest() + self.ahead).as_secs();
        let (is_of_group, rules) = (self.is_of_group(at), entry.rules(true));
        let Some(by) = self.maker(plan, at) else { return };
        // What a renewed mark would have replaced may now be part of the request.
        if !self.before.is_empty() {
            for (id, _) in batch {
                let replaced = self.before.get_mut(id).map(|before| std::mem::take(&mut before.replaced));
                self.settle_replaced(at, replaced.unwrap_or_default(), false);
            }
        }
        for (id, update) in batch {
            let Some(key) = self.key(at, update.domain, update.family) else { continue };
            let known = self.stores[store].state.entry(&key);
            let shared = rules.shared_ip(update);
            let Some((mut marked, in_doubt)) = known.marked((update, shared), until, own, now) else { continue };
            let memory = self.stores[store].state.of(key.callback);
            let hold = memory.hold(update.domain, update.family);
            if hold.is_some_and(|hold| hold.others_until(shared, own, now).is_some()) {
                continue;
            }
            // If another process replaced our mark, our request was not sent.
            if !is_of_group
                && known.in_doubt.is_none_or(|doubt| doubt.by != own)
                && let Some(before) = self.before.remove(id)
            {
                self.settle_replaced(at, before.replaced, false);
            }
            // In a group, the lease decides who sends. The mark has no owner and no end, so that retries need no write.
            if is_of_group && let Some(doubt) = &mut marked.in_doubt {
                (doubt.by, doubt.until) = (0, 0);
            }
            // If a mark is renewed, it is no longer known what others put in doubt in the meantime.
            let in_doubt = in_doubt.or_else(|| self.foreign_doubt(at, known));
            let mut sent = 0;
            let beside = in_doubt.filter(|doubt| doubt.is_foreign(own, now));
            if beside.is_some() || !entry.min_interval.is_zero() {
                let mut hold = self.stores[store].state.hold(&key);
                hold.under_way.extend(beside.map(UnderWay::from));
                if !entry.min_interval.is_zero() {
                    // The request of a mark that is renewed was not sent.
                    sent = if known.in_doubt.is_some_and(|doubt| doubt.by == own) { 0 } else { hold.sent };
                    hold.sent = now;
                }
                self.set_hold(store, &key, hold);
            }
            if entry.callback.is_signed() {
                marked = marked.numbered(self.chance.number());
            }
            self.stores[store].state.note_maker(key.callback, by);
            self.set(store, &key, marked);
            // Claims that were made without a file cannot be attributed to a configuration.
            if self.stores[store].state.has_several() && plan.identity(at).is_file {
                sending.push((*id, at, Sending { key, ip: Some(update.ip), by }));
            }
            // If an update is marked again before it is settled, keep what was there before the first mark.
            if is_of_group || in_doubt.is_some() || sent > 0 {
                let before = self.before.entry(*id).or_insert(Before { sent, ..Before::default() });
                before.in_doubt = before.in_doubt.or(in_doubt);
            }
        }
        let Some((first, _)) = batch.first().filter(|_| plan.is_combined(at)) else { return };
        for id in plan.members(first) {
            let (_, domain, family) = plan.about(*id);
            if self.update(plan, *id).is_none()
                && let Some(key) = self.key(at, domain, family)
            {
                sending.push((*first, at, Sending { key, ip: None, by }));
            }
        }
    }

    /// What holds back updates that go along although they are up to date, or that `combine.missing` stands in for; `None` if
    /// nothing does (H6).
    pub(super) fn batch_hold(&self, at: usize, batch: &Sendables<'_>) -> Option<Verdict> {
        let members = batch.first().map_or(&[][..], |(first, _)| self.plan.members(first));
        let left_out = members.iter().filter(|id| self.update(&self.plan, **id).is_none());
        // A single update was judged by itself.
        let ids = batch.iter().filter(|_| batch.len() > 1).map(|(id, _)| *id).chain(left_out.copied());
        let min_interval = self.plan.entry(at).min_interval;
        let until = |id: UpdateId| {
            let (_, domain, family) = self.plan.about(id);
            let memory = self.memory(at, domain, family)?;
            // What we marked ourselves and is not settled was not sent yet.
            let doubt = memory.entry(domain, family).in_doubt;
            let is_ours = doubt.is_some_and(|doubt| doubt.by == self.own) || self.is_marked_for_group(id, at);
            let hold = memory.hold(domain, family).filter(|_| !is_ours);
            hold?.until(min_interval, self.clock())
        };
        ids.filter_map(until).max_by_key(|(until, _)| *until).map(|(until, by)| Verdict::Held(until, by))
    }

    /// Whether the response of the service can be remembered, if it must be (H6).
    pub(super) fn can_remember(&self, at: usize) -> bool {
        let store = &self.stores[self.plan.store_of(at)];
        let is_lost = store.has_failed() || self.mode == Mode::Once && store.is_unfit();
        !is_lost || !self.plan.entry(at).needs_memory()
    }

    /// A marked update is not sent after all: nobody need wait for it.
    pub(super) fn unmark(&mut self, id: UpdateId, at: usize, update: &Update<'_>) {
        let doubt = self.claim(at, update.domain, update.family).in_doubt;
        let is_own = doubt.is_some_and(|doubt| doubt.by == self.own);
        if is_own || self.is_of_group(at) && self.before.contains_key(&id) {
            let unsent = Outcome::Failed(Why::NoResponse { why: String::new(), reached: false });
            self.settle((id, self.now.steady), at, update, &unsent, None);
        } else if let Some(before) = self.before.remove(&id) {
            // Another process has replaced the mark with something newer.
            self.settle_replaced(at, before.replaced, false);
        }
    }

    /// Whether a request with an update is under way, or waits for its mark to be written.
    pub(super) fn is_under_way(&self, id: UpdateId) -> bool {
        let marking = self.marking.iter().map(|(_, _, request)| request);
        self.requests.values().chain(marking).any(|request| request.members.iter().any(|(own, _)| *own == id))
    }

    /// Removes marks for addresses that are no longer current and were not sent.
    pub(super) fn unmark_outdated(&mut self, at: usize, batch: &Sendables<'_>) {
        let own = self.own;
        let mark = |(_, update): &(UpdateId, Sendable<'_>)| {
            let doubt = self.claim(at, update.domain, update.family).in_doubt;
            doubt.filter(|doubt| doubt.by == own).map(|doubt| doubt.ip)
        };
        // The updates of one request were marked together.
        if batch.iter().any(|member| mark(member).is_some_and(|ip| ip != member.1.ip)) {
            let is_unsent = |member: &&(UpdateId, Sendable<'_>)| mark(member).is_some() && !self.is_under_way(member.0);
            let marked: Sendables<'_> = batch.iter().filter(is_unsent).copied().collect();
            for (id, update) in &marked {
                self.unmark(*id, at, update);
            }
        }
    }

    /// Removes the marks of updates that no longer belong to their request, because they have no address now; the request
    /// replaces what they claim (H7). The others must then be marked again. Returns whether there were any.
    pub(super) fn unmark_left_out(&mut self, plan: &Plan, at: usize, batch: &Sendables<'_>) -> bool {
        let Some((first, _)) = batch.first().filter(|_| plan.is_combined(at)) else { return false };
        let is_left_out = |id: &&UpdateId| batch.iter().all(|(own, _)| own != *id);
        let mut unmarked = false;
        for id in plan.members(first).iter().filter(is_left_out) {
            unmarked |= self.unmark_unsent(plan, *id);
        }
        for (id, _) in batch.iter().filter(|_| unmarked) {
            self.unmark_unsent(plan, *id);
        }
        unmarked
    }

    /// Removes the marks of all updates that were not sent yet.
    pub(super) fn unmark_all_unsent(&mut self) {
        let plan = Rc::clone(&self.plan);
        for id in (0..plan.entry_count()).flat_map(|at| plan.updates_of(at)) {
            self.unmark_unsent(&plan, id);
        }
    }

    /// Removes the mark of an update that was not sent yet. Returns whether there was one.
    fn unmark_unsent(&mut self, plan: &Plan, id: UpdateId) -> bool {
        let (at, domain, family) = plan.about(id);
        let mark = self.claim(at, domain, family).in_doubt.filter(|doubt| doubt.by == self.own);
        let Some(mark) = mark.filter(|_| !self.is_under_way(id)) else { return false };
        self.unmark(id, at, &Update { domain, family, ip: mark.ip });
        true
    }

    /// A mark that ends later comes from a wrong clock.
    pub(super) fn latest_believed(&self, at: usize) -> u64 {
        self.clock() + MIN_BELIEVED.max(2 * self.plan.entry(at).longest()).as_secs()
    }

    /// Ends marks of other processes that last longer than any request of this entry: they come from a clock that was ahead, or
    /// from this one before it was set back. Returns whether there were any.
    pub(super) fn end_implausible_marks(&mut self, at: usize, batch: &Sendables<'_>) -> bool {
        let (store, mut is_any) = (self.plan.store_of(at), false);
        for (_, update) in batch {
            let Some(key) = self.key(at, update.domain, update.family) else { continue };
            let (claim, hold) = self.plausible(at, &key, &self.stores[store].state);
            is_any |= claim.is_some() || hold.is_some();
            if let Some(claim) = claim {
                self.set(store, &key, claim);
            }
            if let Some(hold) = hold {
                self.set_hold(store, &key, hold);
            }
        }
        is_any
    }

    /// Ends such marks in a file that cannot be written: it has them each time it is read.
    pub(super) fn end_implausible_marks_of(&self, store: StoreId, theirs: &mut State) {
        for at in (0..self.plan.entry_count()).filter(|at| self.plan.store_of(*at) == store) {
            for (_, domain, family) in self.plan.updates_of(at).map(|id| self.plan.about(id)) {
                let Some(key) = self.key(at, domain, family) else { continue };
                let (claim, hold) = self.plausible(at, &key, theirs);
                if let Some(claim) = claim {
                    theirs.set(&key, claim);
                }
                if let Some(hold) = hold {
                    theirs.set_hold(&key, hold);
                }
            }
        }
    }

    /// A claim and a hold without such marks; `None` where there are none.
    fn plausible(&self, at: usize, key: &ClaimKey, state: &State) -> (Option<Claim>, Option<Hold>) {
        let latest = self.latest_believed(at);
        let (mut claim, mut hold) = (state.entry(key), state.hold(key));
        let mark = claim.in_doubt.as_mut().filter(|doubt| doubt.by != self.own && doubt.until > latest);
        let is_ended = mark.map(|doubt| (doubt.by, doubt.until) = (0, 0)).is_some();
        let is_late = |other: &UnderWay| other.until > latest;
        let has_late = hold.under_way.iter().any(is_late);
        hold.under_way.retain(|other| !is_late(other));
        (is_ended.then_some(claim), has_late.then_some(hold))
    }

    /// Remembers requests that are given up, for the next plan, which may have other callbacks and caches.
    pub(super) fn give_up(&mut self, plan: &Plan, requests: impl IntoIterator<Item = InFlight>) {
        let now = self.clock();
        self.given_up.retain(|_, given_up| given_up.iter().any(|doubt| doubt.until > now));
        for request in requests {
            let elapsed = self.now.steady.saturating_sub(request.began).as_secs();
            // Include updates without an address: the request may remove their records (H7).
            for id in plan.members(&request.start.0) {
                let (at, domain, family) = plan.about(*id);
                let until = now + 1 + plan.entry(at).timeout.as_secs().saturating_sub(elapsed);
                let ip = request.members.iter().find(|(own, _)| own == id).map(|(_, ip)| *ip);
                self.given_up.entry((domain.clone(), family)).or_default().push(GivenUp { ip, until });
            }
        }
    }

    /// Puts in doubt what was accepted if the next plan remembers it in another store, since later requests will not be marked
    /// here. If the next plan does not use this store at all, that includes claims that are not configured now: they may be
    /// configured again, and nobody will look at them here then.
    pub(super) fn doubt_moved_claims(&mut self, plan: &Plan, next: &Plan) {
        // If one reload follows another, the callbacks have no keys yet.
        (0..self.entries.len()).for_each(|at| self.bind(at));
        for (store, place) in plan.places().iter().enumerate() {
            let state = &self.stores[store].state;
            let is_here = |at: usize| next.places()[next.store_of(at)] == *place;
            let (here, elsewhere): (Vec<usize>, Vec<usize>) = (0..next.entry_count()).partition(|at| is_here(*at));
            let maker = |at: usize| next.entry(at).callback.maker(state.salt(), &next.identity(at).name);
            let makers: HashSet<Fingerprint> = elsewhere.into_iter().map(maker).collect();
            let moved: HashSet<ClaimKey> = state.claimed_by(&makers).collect();
            let mut left = self.own_keys(store);
            if left.is_empty() && moved.is_empty() {
                continue;
            }
            let mut names: HashMap<(&Domain, Family), bool> = HashMap::new();
            for at in 0..next.entry_count() {
                for (_, domain, family) in next.updates_of(at).map(|id| next.about(id)) {
                    *names.entry((domain, family)).or_default() |= is_here(at);
                }
            }
            let is_left = |key: &ClaimKey| match names.get(&(&key.domain, key.family)) {
                Some(stays) => !stays,
                None => here.is_empty() && moved.contains(key),
            };
            left.extend(moved.iter().cloned());
            left.retain(is_left);
            for key in left {
                if let Some(doubted) = self.stores[store].state.entry(&key).doubted() {
                    self.set(store, &key, doubted);
                }
            }
        }
    }

    /// The keys of all configured updates of a store.
    pub(super) fn own_keys(&self, store: StoreId) -> HashSet<ClaimKey> {
        let here = (0..self.plan.entry_count()).filter(|at| self.plan.store_of(*at) == store);
        let key = |id| {
            let (at, domain, family) = self.plan.about(id);
            self.key(at, domain, family)
        };
        here.flat_map(|at| self.plan.updates_of(at)).filter_map(key).collect()
    }

    /// Forgets what callbacks of other hosts had accepted for updates that this host sends: once it has sent them, the records
    /// no longer have those addresses.
    pub(super) fn disown(&mut self, store: StoreId) {
        let own = self.own_keys(store);
        let names: HashSet<(&Domain, Family)> = own.iter().map(|key| (&key.domain, key.family)).collect();
        let is_theirs = |key: &ClaimKey| names.contains(&(&key.domain, key.family)) && !own.contains(key);
        let theirs: Vec<ClaimKey> = self.stores[store].state.keys().filter(is_theirs).collect();
        for key in theirs {
            self.set(store, &key, crate::update::state::Claim::default());
        }
    }
}
