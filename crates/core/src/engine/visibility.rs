//! Whether DNS shows what was accepted (K): when to ask about which update, and what follows from the answers. It decides
//! nothing about updates unless `repair` is set, and no update waits for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use super::plan::{Plan, StoreId};
use super::{Effect, Engine, Mode};
use crate::dns::{
    DnsMemory, DnsObservation, DnsQuery, DnsServerKind, DnsVerdict, MAX_SERVERS, MAX_SERVERS_AT_END, Verify,
    VisibilityEvent, judge, why_not_asked,
};
use crate::journal::{About, VisibilityChange, What};
use crate::net::family::Family;
use crate::schedule::queue::{Stage, UpdateId};
use crate::text::duration::duration;
use crate::text::log_format::Level;
use crate::text::order;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::state::ClaimKey;

/// How many rounds may be under way at once.
const MAX_ROUNDS: usize = 32;

/// If more names than this wait for a round, only one server is asked for each.
const MANY: usize = 100;

/// In seconds: how soon after its start a service asks again about something that is wrong.
const SOON: u64 = 2;

/// In seconds: an update that was accepted longer ago than this, and never asked about, is in no hurry.
const OLD: u64 = 3600;

/// In seconds: no round is due later than this.
const MAX_ROUND_DELAY_SECONDS: u64 = 34 * 86_400;

/// The maximum number of questions at rest in a day, whatever `every` says.
const QUESTIONS_A_DAY: u64 = 10_000;

/// How long a single run asks, unless the user waits for the result.
const SINGLE_RUN_WAIT: Duration = Duration::from_secs(2);

/// How often the log may say that no server can be asked.
const SAID_EVERY: Duration = Duration::from_secs(3600);

/// The number of a round, unique in an engine.
pub type RoundId = u64;

/// The rounds that are under way or due.
#[derive(Debug, Default)]
pub(super) struct DnsSchedule {
    /// By time, in seconds since the epoch. An update whose time changes also keeps its old place until that time.
    due: BTreeSet<(u64, UpdateId)>,
    rounds: BTreeMap<RoundId, DnsRound>,
    /// Whether ddns asks about anything; if not, all else is skipped.
    is_on: bool,
    /// How many records are asked about.
    verified: u64,
    /// For each record that several endpoints have: all of its updates.
    shared: HashMap<UpdateId, Rc<[UpdateId]>>,
    /// In a single run: how long the user waits for DNS, and when that time is over.
    patience: Option<Duration>,
    until: Option<Duration>,
    /// When the log last said that no server can be asked.
    said: Option<Duration>,
}

/// A round that is under way.
#[derive(Debug)]
struct DnsRound {
    ids: Vec<UpdateId>,
    dns_query: DnsQuery,
}

impl DnsSchedule {
    pub(super) fn new(plan: &Plan, before: &Self) -> Self {
        let mut records: HashMap<(&Domain, Family), Vec<UpdateId>> = HashMap::new();
        for at in (0..plan.entry_count()).filter(|at| plan.entry(*at).is_verified()) {
            for id in plan.updates_of(at) {
                let (_, domain, family) = plan.about(id);
                if plan.entry(at).verify_of(domain, family).is_some() {
                    records.entry((domain, family)).or_default().push(id);
                }
            }
        }
        let (verified, patience) = (records.len() as u64, before.patience);
        let mut shared = HashMap::new();
        for ids in records.into_values().filter(|ids| ids.len() > 1).map(Rc::<[UpdateId]>::from) {
            shared.extend(ids.iter().map(|id| (*id, Rc::clone(&ids))));
        }
        Self { is_on: verified > 0 || patience.is_some(), verified, shared, patience, ..Self::default() }
    }

    /// Whether the user waits for the result.
    pub(super) fn is_waited_for(&self) -> bool {
        self.patience.is_some()
    }

    /// Drops everything that is under way or due.
    pub(super) fn clear(&mut self) {
        self.due.clear();
        self.rounds.clear();
    }
}

impl Engine {
    /// A single run waits this long for addresses to be visible, whatever the configuration says (K22).
    pub(super) fn wait_for_dns(&mut self, patience: Duration) {
        (self.dns_schedule.patience, self.dns_schedule.is_on) = (Some(patience), true);
    }

    /// How to ask about an update; `None` if ddns does not ask.
    fn verify_of(&self, id: UpdateId) -> Option<&Verify> {
        let (at, domain, family) = self.plan.about(id);
        let waited_for = self.dns_schedule.patience.map(|_| Verify::USUAL);
        let verify = self.plan.entry(at).verify_of(domain, family).or(waited_for);
        verify.filter(|_| why_not_asked(domain.as_str()).is_none())
    }

    /// What is known about an update in DNS.
    pub(super) fn visibility(&self, at: usize, domain: &Domain, family: Family) -> Option<&DnsMemory> {
        self.memory(at, domain, family)?.hold(domain, family)?.seen.as_deref()
    }

    /// The same, and how to ask about it, for an update that ddns asks about.
    fn watched(&self, id: UpdateId) -> Option<(&DnsMemory, &Verify)> {
        let (at, domain, family) = self.plan.about(id);
        self.visibility(at, domain, family).zip(self.verify_of(id))
    }

    /// Whether to send an update again although it is up to date, because DNS has another address (K13).
    pub(super) fn has_drifted(&self, id: UpdateId) -> bool {
        self.dns_schedule.is_on
            && self.verify_of(id).is_some_and(|verify| verify.repair)
            && self.watched(id).is_some_and(|(seen, verify)| seen.is_repair_due(verify, self.clock()))
    }

    /// An endpoint accepted an update, which was sent automatically (`by_itself`) or at the user's request. Returns whether
    /// that was a repair.
    pub(super) fn check_dns_after(&mut self, id: UpdateId, update: &Update<'_>, by_itself: bool) -> bool {
        if !self.dns_schedule.is_on || self.verify_of(id).is_none() {
            return false;
        }
        let before = self.watched(id).map(|(seen, _)| seen.clone());
        let is_same = before.as_ref().is_some_and(|seen| seen.ip == update.ip);
        let is_repair = by_itself && is_same && self.has_drifted(id);
        self.set_visibility(id, DnsMemory::accepted(before, update.ip, is_repair, self.clock()), true);
        is_repair
    }

    /// An update is up to date: from now on, ddns asks about it.
    pub(super) fn start_dns_checks(&mut self, id: UpdateId) {
        if !self.dns_schedule.is_on {
            return;
        }
        let Some(verify) = self.verify_of(id) else { return };
        let (now, (at, domain, family)) = (self.clock(), self.plan.about(id));
        let Some(accepted) = self.claim(at, domain, family).accepted else { return };
        let known = self.visibility(at, domain, family).filter(|seen| seen.ip == accepted.ip).cloned();
        // What other settings ask for may be another verdict, or sooner.
        let is_changed = known.as_ref().is_some_and(|seen| !seen.is_judged_by(verify));
        let mut seen = known.clone().unwrap_or_else(|| DnsMemory::new(accepted.ip, accepted.at, now));
        let DnsSchedule { due, rounds, .. } = &self.dns_schedule;
        let is_asked = || rounds.values().any(|round| round.ids.contains(&id));
        if known.is_some() && (due.contains(&(seen.next, id)) || is_asked()) {
            return;
        }
        if self.mode == Mode::Service {
            let is_old = known.is_none() && accepted.at + OLD < now;
            if (is_old || is_changed || seen.next <= now) && due.len() > MANY {
                // Updates that became due while ddns was not running are spread over time.
                seen.next = now + self.dns_chance.next() % self.idle_seconds(Duration::ZERO).max(1);
            } else if is_changed || !seen.verdict().is_good() || seen.next > now + MAX_ROUND_DELAY_SECONDS {
                // What is wrong may have been mended, or a clock was wrong.
                seen.next = seen.next.min(now + SOON);
            }
        } else if is_changed || self.dns_schedule.is_waited_for() && !seen.verdict().is_good() {
            // If the user waits, the result of an earlier run is not enough.
            seen.next = seen.next.min(now);
        }
        if known.as_ref() == Some(&seen) {
            self.dns_schedule.due.insert((seen.next, id));
        } else {
            self.set_visibility(id, seen, false);
        }
    }

    /// How often to ask about something visible, in seconds. All questions together must not be too many (K14).
    fn idle_seconds(&self, every: Duration) -> u64 {
        every.as_secs().max((self.dns_schedule.verified * 86_400).div_ceil(QUESTIONS_A_DAY))
    }

    /// Where to remember what is known about an update; `None` until the store has been read.
    fn hold_place(&self, id: UpdateId) -> Option<(StoreId, ClaimKey)> {
        let (at, domain, family) = self.plan.about(id);
        Some((self.plan.store_of(at), self.key(at, domain, family)?))
    }

    /// Remembers what is known about an update, and when to ask next. Times alone are written only together with something
    /// else.
    fn set_visibility(&mut self, id: UpdateId, seen: DnsMemory, is_news: bool) {
        self.dns_schedule.due.insert((self.round_at(&seen, seen.next), id));
        let Some((store, key)) = self.hold_place(id) else { return };
        let mut hold = self.stores[store].state.hold(&key);
        hold.seen = Some(Box::new(seen));
        if is_news || self.mode == Mode::Once {
            self.set_hold(store, &key, hold);
        } else {
            self.stores[store].state.set_hold(&key, hold);
        }
    }

    /// Before the engine closes, also writes when rounds were and will be.
    pub(super) fn save_rounds(&mut self) {
        let asked: Vec<UpdateId> = self.dns_schedule.due.iter().map(|(_, id)| *id).collect();
        for (store, key) in asked.into_iter().filter_map(|id| self.hold_place(id)).collect::<Vec<_>>() {
            let hold = self.stores[store].state.hold(&key);
            if let Some(unsaved) = self.must_save(store) {
                unsaved.holds.entry(key).or_insert(hold);
            }
        }
    }

    /// Starts the rounds that are due.
    pub(super) fn ask_dns(&mut self) {
        let DnsSchedule { due, rounds, .. } = &self.dns_schedule;
        if due.is_empty() && rounds.is_empty() || !self.may_start() || !self.is_time_for_dns() {
            return;
        }
        let now = self.clock();
        let waiting = self.dns_schedule.due.range(..=(now, UpdateId::MAX)).take(MANY + 1).count();
        let mut rounds: HashMap<DnsQuery, Vec<UpdateId>> = HashMap::new();
        let number = self.dns_chance.next();
        while self.dns_schedule.rounds.len() + rounds.len() < MAX_ROUNDS {
            let Some((at, id)) = self.dns_schedule.due.first().copied().filter(|(at, _)| *at <= now) else { break };
            self.dns_schedule.due.remove(&(at, id));
            let Some((seen, verify)) = self.due_round(id) else { continue };
            let next = self.round_at(seen, seen.next.max(verify.earliest(seen.accepted)));
            if next > now {
                self.dns_schedule.due.insert((next, id));
                continue;
            }
            let is_idle = seen.is_idle();
            let is_hasty = self.mode == Mode::Once && self.dns_schedule.patience.is_none();
            let most = match () {
                () if is_idle || is_hasty || waiting > MANY => 1,
                () if seen.is_end(verify, now) => MAX_SERVERS_AT_END,
                () => MAX_SERVERS,
            };
            let (_, domain, family) = self.plan.about(id);
            // A short run cannot wait for silent servers of the zone and then ask the resolver, so it asks them by turns (K15).
            let is_by_resolver = is_hasty && seen.is_turn_of_resolver(now);
            let dns_query = |verify: &Verify| {
                let dns_query = verify.dns_query(domain.as_str(), family, &[], most, number);
                if is_by_resolver && dns_query.way == DnsServerKind::Zone { dns_query.by_resolver() } else { dns_query }
            };
            let (own, last) = (dns_query(verify), seen.next);
            // If other endpoints have the same record, their updates share the question, provided they are at rest.
            let others =
                self.dns_schedule.shared.get(&id).map_or(&[][..], |ids| ids).iter().filter(|other| **other != id);
            let along = others.filter_map(|other| {
                let (seen, verify) = self.due_round(*other)?;
                (seen.is_idle() && (is_idle || most > 1) && dns_query(verify) == own).then_some((seen.next, *other))
            });
            let along: Vec<(u64, UpdateId)> = along.collect();
            self.dns_schedule.due.remove(&(last, id));
            let ids = rounds.entry(own).or_default();
            ids.push(id);
            ids.extend(along.into_iter().filter(|other| self.dns_schedule.due.remove(other)).map(|(_, other)| other));
        }
        let mut rounds: Vec<_> = rounds.into_iter().collect();
        order::sort_by(&mut rounds, |(_, one), (_, other)| one.cmp(other));
        for (dns_query, ids) in rounds {
            self.begin_round(DnsRound { ids, dns_query });
        }
    }

    /// When the next round of an update starts if it is due then: if the user waits, a last one comes before the time is over
    /// (K22).
    fn round_at(&self, seen: &DnsMemory, due: u64) -> u64 {
        let DnsSchedule { patience, until, .. } = &self.dns_schedule;
        let until = until.filter(|_| patience.is_some() && !seen.verdict().is_good());
        let left = |until: Duration| until.saturating_sub(self.now.steady).as_secs();
        let last = until.map(|until| (self.clock() + left(until)).saturating_sub(SINGLE_RUN_WAIT.as_secs()));
        last.filter(|last| seen.last < *last).map_or(due, |last| due.min(last))
    }

    /// An update that ddns can ask about; `None` if its address is unknown, or is not the accepted one.
    fn due_round(&self, id: UpdateId) -> Option<(&DnsMemory, &Verify)> {
        let (at, domain, family) = self.plan.about(id);
        let (claim, wanted) = (self.claim(at, domain, family), self.wanted(at, domain, family)?);
        let accepted = claim.accepted.filter(|_| claim.in_doubt.is_none())?.ip;
        self.watched(id).filter(|(seen, _)| accepted == wanted && seen.ip == wanted)
    }

    fn begin_round(&mut self, round: DnsRound) {
        let number = self.next_number();
        self.out.effects.push_back(Effect::AskDns { round: number, dns_query: Box::new(round.dns_query.clone()) });
        self.dns_schedule.rounds.insert(number, round);
    }

    /// Handles the end of a round: what the servers said, and how many questions were answered and how many were not.
    pub(super) fn seen_in_dns(&mut self, round: RoundId, observation: &DnsObservation, questions: [u32; 2]) {
        if questions != [0, 0] {
            self.tell(What::DnsQuestions { answered: questions[0], unanswered: questions[1] });
        }
        let Some(round) = self.dns_schedule.rounds.remove(&round).filter(|_| self.may_start()) else { return };
        match self.next_query(&round, observation) {
            Some(dns_query) => self.begin_round(DnsRound { dns_query, ..round }),
            None => round.ids.into_iter().for_each(|id| self.take_observation(id, observation)),
        }
    }

    /// Whom to ask before a round counts: the other servers, if the only one asked says nothing, or does not have an address
    /// that should be visible by now: one of several proves nothing (K12, K14); or the resolver, if nobody answered for the
    /// third time (K15).
    fn next_query(&mut self, DnsRound { ids, dns_query }: &DnsRound, observation: &DnsObservation) -> Option<DnsQuery> {
        let (now, seed) = (self.clock(), self.dns_chance.next());
        let any = |is_so: &dyn Fn(&DnsMemory, &Verify, DnsVerdict) -> bool| {
            let mut known = ids.iter().filter_map(|id| self.watched(*id));
            known.any(|(known, verify)| is_so(known, verify, judge(observation, known.ip, verify).verdict))
        };
        if dns_query.way != DnsServerKind::Zone {
            return None;
        }
        let is_unknown = |verdict| verdict == DnsVerdict::Unknown;
        let is_doubtful = |known: &DnsMemory, verify: &Verify, verdict: DnsVerdict| {
            is_unknown(verdict) || !verdict.is_good() && known.is_late(verify, now)
        };
        if dns_query.most == 1 && any(&is_doubtful) {
            let is_end = any(&|known, verify, _| known.is_end(verify, now));
            let most = if is_end { MAX_SERVERS_AT_END } else { MAX_SERVERS };
            return Some(DnsQuery { most, seed, ..dns_query.clone() });
        }
        let is_unanswered = |known: &DnsMemory, _: &Verify, verdict| is_unknown(verdict) && known.may_ask_resolver(now);
        any(&is_unanswered).then(|| dns_query.clone().by_resolver())
    }

    fn take_observation(&mut self, id: UpdateId, observation: &DnsObservation) {
        // Another address may have been found or accepted in the meantime.
        let Some((before, verify)) = self.due_round(id) else { return };
        let (before, verify, now) = (before.clone(), verify.clone(), self.clock());
        let (was, accepted) = (before.verdict(), before.accepted);
        let every = self.idle_seconds(verify.every);
        // Plus or minus a tenth, so that names are not asked about all at once.
        let idle = now + every * 9 / 10 + self.dns_chance.next() % (every / 5).max(1);
        let (seen, news) = before.seen(observation, &verify, idle, now);
        let about = self.about(id);
        if seen.verdict() == DnsVerdict::Unknown {
            // A timer would repeat this in every run, and a user who waits is told at the end.
            let is_over = self.dns_schedule.until.is_some_and(|until| self.now.steady >= until);
            let is_meant = self.mode == Mode::Service || self.dns_schedule.patience.is_some() && !is_over;
            let is_new = is_meant && self.dns_schedule.said.is_none_or(|said| self.now.steady >= said + SAID_EVERY);
            let level = if is_new { Level::Warning } else { Level::Debug };
            self.dns_schedule.said = if is_new { Some(self.now.steady) } else { self.dns_schedule.said };
            let why = &seen.found.reason;
            self.say(about.entry, level, || format!("{about}: nobody knows whether it is visible in DNS: {why}"));
        }
        let is_known = |verdict: DnsVerdict| verdict != DnsVerdict::Unknown;
        let is_news = news.is_some() || was != seen.verdict() && is_known(was) && is_known(seen.verdict());
        let (ip, reason, ttl) = (seen.ip, seen.found.reason.clone(), seen.found.ttl);
        self.set_visibility(id, seen, is_news);
        if let Some(VisibilityEvent { verdict, was_reported, is_timed }) = news {
            let after = now.saturating_sub(accepted);
            self.tell(What::Visibility(VisibilityChange {
                about,
                ip,
                verdict,
                after,
                ttl,
                reason,
                was_reported,
                is_timed,
            }));
        }
        if self.has_drifted(id) {
            let (plan, leader) = (Rc::clone(&self.plan), self.plan.leader(id));
            if self.mode == Mode::Once
                && self.queue.stage(leader) == Stage::Idle
                && let Some((at, batch)) = self.batch(&plan, leader)
            {
                // This run has counted them as up to date, and now counts them again.
                let up_to_date = &mut self.tallies[plan.config_of(at)].up_to_date;
                *up_to_date = up_to_date.saturating_sub(batch.len());
            }
            self.judge_again(vec![leader]);
        }
    }

    fn about(&self, id: UpdateId) -> About {
        let (entry, domain, family) = self.plan.about(id);
        About { entry, domain: domain.clone(), family }
    }

    /// Whether a round may start: in a single run, when everything else is done, and not for long.
    fn is_time_for_dns(&mut self) -> bool {
        if self.mode == Mode::Service {
            return true;
        }
        if !self.todos.is_empty() || self.is_updating() {
            return false;
        }
        let patience = self.dns_schedule.patience.unwrap_or(SINGLE_RUN_WAIT);
        let until = *self.dns_schedule.until.get_or_insert(self.now.steady + patience);
        if self.now.steady >= until {
            self.end_rounds();
        }
        self.now.steady < until
    }

    /// Ends the rounds of a single run that has waited long enough.
    pub(super) fn end_rounds(&mut self) {
        let DnsSchedule { due, rounds, patience, .. } = &mut self.dns_schedule;
        if self.mode != Mode::Once || due.is_empty() && rounds.is_empty() {
            return;
        }
        let (rounds, due, patience) = (std::mem::take(rounds), std::mem::take(due), *patience);
        let mut cut = Vec::new();
        for DnsRound { ids, dns_query, .. } in rounds.into_values() {
            let limit = duration(patience.unwrap_or(SINGLE_RUN_WAIT));
            let why = format!("{} did not answer within {limit}", dns_query.asked());
            let nothing = DnsObservation { why: Some(why), ..DnsObservation::default() };
            for id in ids {
                // What was not answered in time waits for its next round, like what was not answered at all. If the user waits
                // and an earlier round saw something, that stands.
                let is_unknown = self.watched(id).is_some_and(|(seen, _)| seen.verdict() == DnsVerdict::Unknown);
                if patience.is_none() || is_unknown {
                    self.take_observation(id, &nothing);
                }
                cut.push(id);
            }
        }
        self.dns_schedule.due.clear();
        if patience.is_none() {
            return;
        }
        for id in due.into_iter().map(|(_, id)| id).chain(cut).collect::<BTreeSet<_>>() {
            let open = self.watched(id).filter(|(seen, _)| !seen.verdict().is_good());
            if let Some(sentence) = open.map(|(seen, verify)| seen.sentence(verify, self.clock())) {
                let about = self.about(id);
                self.say(about.entry, Level::Warning, || format!("{about}: DNS: {sentence}"));
            }
        }
    }

    /// Whether a single run waits for DNS.
    pub(super) fn waits_for_dns(&self) -> bool {
        let DnsSchedule { due, rounds, patience, until, .. } = &self.dns_schedule;
        if self.mode != Mode::Once || due.is_empty() && rounds.is_empty() {
            return false;
        }
        let is_open = |id: &UpdateId| self.watched(*id).is_some_and(|(seen, _)| !seen.verdict().is_good());
        let until = until.map_or(u64::MAX, |until| self.clock() + until.saturating_sub(self.now.steady).as_secs());
        let limit = if patience.is_some() { until } else { self.clock() };
        let mut soon = due.range(..=(limit, UpdateId::MAX));
        !rounds.is_empty() || soon.any(|(at, id)| *at <= self.clock() || is_open(id))
    }

    /// When a round is due, or a single run has waited long enough.
    pub(super) fn dns_at(&self) -> Option<Duration> {
        let DnsSchedule { due, rounds, until, .. } = &self.dns_schedule;
        // If the maximum number of rounds is under way, wait for one of them.
        let next = due.first().filter(|_| rounds.len() < MAX_ROUNDS);
        let next = next.map(|(at, _)| self.now.steady + Duration::from_secs(at.saturating_sub(self.clock())));
        match self.mode {
            Mode::Once if !self.todos.is_empty() || self.is_updating() => None,
            Mode::Once => until
                .filter(|_| !rounds.is_empty() || next.is_some())
                .map(|until| next.map_or(until, |next| next.min(until))),
            _ => next,
        }
    }
}
