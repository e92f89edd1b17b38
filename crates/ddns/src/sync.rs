//! Synchronizing: look up, judge, render, send, remember. Decides nothing: each step asks the core.
//!
//! One [`Sync`] sends everything, over all configurations. A lookup puts what must be sent into the queue; [`Sync::step`]
//! starts what may start and takes in what ended. A single synchronization steps until nothing is left; `ddns watch` goes
//! on stepping.

mod caches;
mod gate;
mod held;
mod lookups;
mod news;
pub(crate) mod preview;
mod sender;
mod store;
mod streaks;

mod updates;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::{poll_fn, ready};
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ddns_core::address::observation::Observation;
use ddns_core::config::Cache;
use ddns_core::net::family::Family;
use ddns_core::schedule::backoff::Backoff;
use ddns_core::schedule::lookups::Due;
use ddns_core::schedule::queue::{Job, Lane, LaneKey, Pause, Queue};
use ddns_core::text::duration::seconds;
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use ddns_core::update::outcome::{Outcome, Tally};
use ddns_core::update::plan::{Reason, Verdict};
use ddns_core::update::state::State;
use ddns_core::update::status::Row;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::clock::steady_time;
use crate::environment::Environment;
use crate::output::progress::Progress;

use gate::Gate;
use lookups::{Finished, Lookups};
use news::News;
use sender::{Batch, Sent};
use updates::{AHEAD, Updates};

pub(crate) use caches::{Caches, Remembered, cache_path};
pub(crate) use sender::{Sender, senders};
pub(crate) use store::{Durability, Stamp, replace, unfit};
pub(crate) use updates::moment_of;

/// Why an update is not sent whose service may say something that must not be forgotten (H6).
const UNREMEMBERED: &str = "not sent: the cache cannot be written, and `expect` or `min_interval` needs it";

/// Sends everything.
pub(crate) struct Sync<'a> {
    senders: &'a [Sender<'a>],
    updates: Updates<'a>,
    queue: Queue,
    backoff: Option<Backoff>,
    /// None where this host sends for itself.
    gate: Option<Box<Gate>>,
    /// The lane of all updates of a sender, by sender; none where they differ, or it is not known yet.
    lanes: Vec<Option<Lane>>,
    lookups: Lookups<'a>,
    sending: FuturesUnordered<LocalBoxFuture<'a, Sent<'a>>>,
    /// Updates that another process is sending (E4a): judged again when it may have ended.
    waiting: BTreeSet<Job>,
    /// When to judge them again.
    recheck_at: Option<Instant>,
    /// Updates that are due and must not be sent: until when, in seconds since the epoch; none where it has no end.
    held: BTreeMap<Job, Option<u64>>,
    /// Families of senders that were looked up, and not counted yet: the other family is waited for.
    uncounted: HashSet<(usize, Family)>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// Whether nothing new is started any more.
    is_closing: bool,
    /// Begun by whoever wants it to be seen.
    pub(crate) progress: Rc<Progress>,
    /// None where nobody wants to know what happens.
    news: Option<Box<News>>,
}

/// A lookup that ended: whose it was, and the address; none where there is none.
pub(crate) struct LookedUp {
    pub(crate) family: Family,
    pub(crate) ip: Option<IpAddr>,
    /// By number.
    pub(crate) senders: Vec<usize>,
}

/// What one step waited for.
enum Ended<'a> {
    Lookup(Finished),
    Send(Sent<'a>),
}

impl<'a> Sync<'a> {
    /// Nothing is looked up yet. Where `backoff` is none, what fails is not retried.
    pub(crate) fn new(senders: &'a [Sender<'a>], environment: &'a Environment, backoff: Option<Backoff>) -> Self {
        let updates = Updates::new(senders, environment, backoff.is_some());
        let configs = senders.last().map_or(0, |sender| sender.config + 1);
        Self {
            senders,
            queue: Queue::new(updates.len(), backoff),
            backoff,
            gate: None,
            updates,
            lanes: vec![None; senders.len()],
            lookups: Lookups::new(senders),
            sending: FuturesUnordered::new(),
            waiting: BTreeSet::new(),
            recheck_at: None,
            held: BTreeMap::new(),
            uncounted: HashSet::new(),
            tallies: vec![Tally::default(); configs],
            is_closing: false,
            progress: Rc::default(),
            news: None,
        }
    }

    /// Notes from now on which condition of `expect` decides.
    pub(crate) fn note_decisions(&mut self) {
        self.updates.decisions = Some(HashMap::new());
    }

    /// Begins to look up the addresses that are due.
    pub(crate) fn look_up(&mut self, due: &Due) {
        self.lookups.begin(due);
    }

    /// Whether everything that was to be done is done.
    pub(crate) fn is_done(&self) -> bool {
        self.lookups.is_empty() && self.queue.is_idle() && self.waiting.is_empty()
    }

    /// Whether addresses are being looked up.
    pub(crate) fn is_looking_up(&self) -> bool {
        !self.lookups.is_empty()
    }

    /// Whether a request is under way.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Starts what may start, and waits until something has ended. News that has waited long enough is saved meanwhile.
    /// Nothing is lost where the waiting is given up.
    pub(crate) async fn step(&mut self) -> Option<LookedUp> {
        self.recheck();
        self.release();
        self.start();
        let save_by = self.updates.save_by();
        let wake = save_by.into_iter().chain(self.progress.due()).chain(self.recheck_at).min();
        let next = poll_fn(|context| {
            if let Poll::Ready(finished) = self.lookups.poll(context) {
                return Poll::Ready(Ended::Lookup(finished));
            }
            match self.sending.poll_next_unpin(context) {
                Poll::Ready(Some(sent)) => Poll::Ready(Ended::Send(sent)),
                _ => Poll::Pending,
            }
        });
        let ended = match wake {
            None => Some(next.await),
            Some(by) => timeout_at(by.into(), next).await.ok(),
        };
        let mut looked_up = None;
        match ended {
            Some(Ended::Lookup(finished)) => looked_up = Some(self.looked_up(&finished)),
            Some(Ended::Send(sent)) => self.sent(&sent),
            None => {}
        }
        if save_by.is_some_and(|by| Instant::now() >= by) {
            self.save();
        }
        if self.progress.due().is_some() {
            self.progress.show(self.tally(), self.queue.open());
        }
        looked_up
    }

    /// What the configurations came to, each by its number. Saves what is not saved yet.
    pub(crate) fn finish(&mut self) -> &[Tally] {
        self.progress.end();
        self.save();
        &self.tallies
    }

    /// Starts nothing new from now on.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Saves what is not saved yet.
    pub(crate) fn save(&mut self) {
        self.updates.save(Durability::Power);
    }

    /// Retries at once: what found no connection, or everything that failed.
    pub(crate) fn retry_now(&mut self, everything: bool) {
        self.queue.retry_now(everything);
    }

    /// How many updates are sent later: they failed, or their endpoint did.
    pub(crate) fn postponed(&self) -> usize {
        self.queue.postponed()
    }

    /// The pauses that endpoints asked for, for [`Sync::with_pauses`].
    pub(crate) fn requested_pauses(&self) -> HashMap<LaneKey, Pause> {
        self.queue.requested_pauses()
    }

    /// With pauses that were asked for before.
    pub(crate) fn with_pauses(mut self, pauses: HashMap<LaneKey, Pause>) -> Self {
        self.queue = self.queue.with_pauses(pauses);
        self
    }

    /// What is remembered without a cache file, for [`Sync::with_memory`]; `None` where nothing is.
    pub(crate) fn take_memory(&mut self) -> Option<State> {
        self.updates.take_memory()
    }

    /// With what was remembered without a cache file before.
    pub(crate) fn with_memory(mut self, memory: Option<State>) -> Self {
        self.updates.memory = memory;
        self
    }

    /// When to step again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.queue.wake_at().into_iter().chain(self.release_at()).min()
    }

    /// What has happened since this was last called.
    pub(crate) fn take_tally(&mut self) -> Tally {
        let all = self.tally();
        self.tallies.fill(Tally::default());
        all
    }

    /// The same by configuration, and without forgetting it.
    pub(crate) fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    fn tally(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally))
    }

    /// How every update stands.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.updates.rows(&self.queue, &self.waiting)
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(crate) fn verdicts(&mut self) -> Vec<(&'a Sender<'a>, Update<'a>, Verdict)> {
        self.updates.verdicts()
    }

    /// Takes these addresses as if they had been looked up, one for each family.
    pub(crate) fn suppose(&mut self, addresses: [IpAddr; 2]) {
        for at in 0..self.senders.len() {
            for (family, ip) in Family::ALL.into_iter().zip(addresses) {
                self.updates.observe(at, family, Observation::Found(ip), None);
            }
        }
    }

    /// Queues everything that must be sent of the addresses that are known.
    pub(crate) fn queue_all(&mut self) {
        for at in 0..self.senders.len() {
            if self.senders[at].is_strict() && self.lookups.is_open(self.senders[at].config) {
                continue;
            }
            self.queue_family(at, Family::V4, false);
            self.queue_family(at, Family::V6, false);
        }
    }

    fn start(&mut self) {
        if self.is_closing {
            return;
        }
        let permit = match &self.gate {
            None => None,
            Some(gate) => match gate.permit() {
                Some(permit) => Some(permit),
                None => return,
            },
        };
        let now = steady_time();
        while let Some(start) = self.queue.start(now) {
            let Some((at, mut batch)) = self.updates.batch(start.0) else {
                self.queue.give_back(start);
                continue;
            };
            // A retry may come before its time.
            if self.senders[at].entry.needs_memory()
                && let (verdict @ (Verdict::Held(..) | Verdict::Stopped(..)), _) =
                    self.updates.judge_batch(at, &mut batch)
            {
                self.queue.give_back(start);
                let update = batch.first().map(|(_, update)| *update).or_else(|| Some(self.updates.update(start.0)?.1));
                if let Some(update) = update {
                    self.hold(start.0, at, &update, &verdict);
                }
                continue;
            }
            let Some(first) = batch.first().map(|(_, update)| *update) else {
                self.queue.give_back(start);
                continue;
            };
            if !batch.iter().all(|member| self.updates.is_marked(at, member)) {
                let mut soon = self.queue.starting_by(now + AHEAD);
                if soon.iter().any(|job| self.updates.is_combined(self.updates.sender_of(*job))) {
                    soon = soon.into_iter().flat_map(|job| self.updates.members(job)).collect();
                }
                self.updates.mark(batch.iter().map(|(job, _)| *job).chain(soon));
            }
            let is_waiting =
                |(_, update): &(Job, Update<'_>)| matches!(self.updates.judge(at, update), Verdict::Wait(_));
            if batch.iter().any(is_waiting) {
                self.queue.give_back(start);
                self.wait(start.0, at, &first);
            } else if self.updates.can_remember(at) {
                let moment = self.updates.moment(at, &first);
                let sending = self.senders[at].send(batch, start, moment);
                self.sending.push(match permit.clone() {
                    Some(permit) => Box::pin(permit.guard(sending)),
                    None => Box::pin(sending),
                });
            } else {
                self.sending.push(Box::pin(ready(Sent::unsent(batch, start, UNREMEMBERED))));
            }
        }
    }

    fn looked_up(&mut self, finished: &Finished) -> LookedUp {
        self.lookups.log(finished);
        let Finished { lookup, family, senders, is_round } = finished;
        let observation = lookup.address().map_or(Observation::Unavailable, Observation::Found);
        let mut looked_up = LookedUp { family: *family, ip: lookup.address(), senders: Vec::new() };
        for (at, number) in senders.iter().copied() {
            let sender = &self.senders[at];
            let is_news = self.lookups.finish(at, *family, number);
            if is_news {
                looked_up.senders.push(at);
                let source = lookup.found().map(|(source, _)| source);
                self.updates.observe(at, *family, observation.clone(), source);
            }
            if !sender.is_strict() && is_news {
                self.queue_family(at, *family, *is_round);
            } else if sender.is_strict() && !self.lookups.is_open(sender.config) {
                // Strict order: nothing begins before all of it is known.
                for at in (0..self.senders.len()).filter(|at| self.senders[*at].config == sender.config) {
                    self.queue_family(at, Family::V4, *is_round);
                    self.queue_family(at, Family::V6, *is_round);
                }
            }
        }
        self.note_lookup(finished, &looked_up.senders);
        self.tell_address();
        looked_up
    }

    /// Judges every update of a sender's family, and queues what must be sent: in a round also what is never remembered.
    fn queue_family(&mut self, at: usize, family: Family, is_round: bool) {
        let sender = &self.senders[at];
        let domains = sender.entry.domains_of(family);
        let ip = match *self.updates.observed(at, family) {
            Observation::Found(ip) => Some(ip),
            Observation::Unavailable => None,
            // Not looked up yet.
            Observation::Off => return,
        };
        if domains.is_empty() {
            return;
        }
        let jobs = (self.updates.first(at, family)..).zip(domains);
        let was_missing = self.lookups.set_missing(at, family, ip.is_none());
        let Some(ip) = ip else {
            // Nothing is looked for in the cache, and nothing about it changes (E6).
            let count = domains.len();
            let plural = if count == 1 { "" } else { "s" };
            let level = if was_missing { Level::Debug } else { Level::Error };
            sender.log.line(level, || format!("no {family} address found: {count} update{plural} cannot be sent"));
            self.tallies[sender.config].without_address += count;
            for (job, _) in jobs {
                self.queue.withdraw(job);
                self.waiting.remove(&job);
            }
            if self.updates.is_combined(at) && !self.is_standing_by() {
                self.queue_groups(at, family, is_round);
            }
            return;
        };
        if was_missing {
            sender.log.info(format!("{family}: address found again: {ip}"));
        }
        if self.is_standing_by() {
            return;
        }
        if self.updates.is_combined(at) {
            self.queue_groups(at, family, is_round);
            return;
        }
        self.updates.open_cache(at);
        let is_forgetful = is_round && sender.entry.cache == Cache::Off;
        for (job, domain) in jobs {
            let update = sender.entry.update(domain, family, ip);
            self.queue_batch(job, at, vec![(job, update)], is_forgetful, &[family]);
        }
    }

    /// The same for a sender whose updates go in one request, when both families are known (H7). Each update is counted
    /// once: with the lookup of its family, or with the one that was waited for.
    fn queue_groups(&mut self, at: usize, family: Family, is_round: bool) {
        let sender = &self.senders[at];
        let is_open = |family: &Family| {
            !sender.entry.domains_of(*family).is_empty() && *self.updates.observed(at, *family) == Observation::Off
        };
        if Family::ALL.iter().any(is_open) {
            self.uncounted.insert((at, family));
            return;
        }
        let counted: Vec<Family> =
            Family::ALL.into_iter().filter(|one| self.uncounted.remove(&(at, *one)) || *one == family).collect();
        self.updates.open_cache(at);
        let is_forgetful = is_round && sender.entry.cache == Cache::Off;
        let mut failed = 0;
        for job in self.updates.leaders(at) {
            if let Some((_, batch)) = self.updates.batch(job) {
                self.queue_batch(job, at, batch, is_forgetful, &counted);
                continue;
            }
            self.queue.withdraw(job);
            self.waiting.remove(&job);
            let found = self.updates.members(job).into_iter().filter_map(|job| self.updates.update(job));
            failed += found.filter(|(_, update)| counted.contains(&update.family)).count();
        }
        if failed > 0 {
            self.tallies[sender.config].failed += failed;
            let plural = if failed == 1 { "" } else { "s" };
            sender.log.error(format!(
                "{failed} update{plural} not sent: the other address is missing; `combine.missing` says what stands in its place"
            ));
        }
    }

    /// Judges the updates of one request, and queues it where it must be sent. Those of the `counted` families are counted.
    fn queue_batch(&mut self, job: Job, at: usize, mut batch: Batch<'a>, is_forgetful: bool, counted: &[Family]) {
        let sender = &self.senders[at];
        let is_counted = |update: &Update<'_>| counted.contains(&update.family);
        let (verdict, stopped) = if is_forgetful {
            (Verdict::Send(Reason::NoCache), Vec::new())
        } else {
            self.updates.judge_batch(at, &mut batch)
        };
        if !matches!(verdict, Verdict::Held(..) | Verdict::Stopped(..)) {
            self.held.remove(&job);
        }
        for (own, update, verdict) in stopped.iter().filter(|(_, update, _)| is_counted(update)) {
            self.hold(*own, at, update, verdict);
        }
        let Some(first) = batch.first().map(|(_, update)| *update) else {
            self.queue.withdraw(job);
            self.waiting.remove(&job);
            return;
        };
        match verdict {
            Verdict::UpToDate(since) => {
                let age = self.updates.now().saturating_sub(since);
                sender.log.debug(|| format!("{first}: already up to date, accepted {} ago", seconds(age)));
                self.tallies[sender.config].up_to_date += batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.queue.withdraw(job);
                self.waiting.remove(&job);
            }
            Verdict::Wait(_) => {
                self.queue.withdraw(job);
                self.wait(job, at, &first);
            }
            Verdict::Held(..) | Verdict::Stopped(..) => {
                self.queue.withdraw(job);
                self.waiting.remove(&job);
                self.hold(job, at, &first, &verdict);
                // One of them is counted.
                let count = batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.tallies[sender.config].held_back += count.saturating_sub(1);
            }
            Verdict::Send(reason) => {
                sender.log.debug(|| format!("{first}: {reason}"));
                self.waiting.remove(&job);
                let lane = self.lane(at, &batch);
                self.queue.push(job, lane);
            }
        }
    }

    fn lane(&mut self, at: usize, batch: &Batch<'_>) -> Lane {
        if let Some(lane) = self.lanes[at] {
            return lane;
        }
        let sender = &self.senders[at];
        let (key, is_common) = sender.lane(batch);
        let lane = self.queue.lane(key, sender.concurrency);
        self.lanes[at] = is_common.then_some(lane);
        lane
    }

    fn sent(&mut self, sent: &Sent<'a>) {
        let Sent { batch, start, retry_after, .. } = sent;
        let job = start.0;
        let at = self.updates.sender_of(job);
        let sender = &self.senders[at];
        for (place, ((own, update), outcome)) in sent.outcomes().enumerate() {
            let tally = &mut self.tallies[sender.config];
            if outcome.is_accepted() {
                tally.accepted += 1;
            } else {
                tally.failed += 1;
            }
            let previous = self.updates.settle(own, at, &update, outcome);
            self.note_settled(at, sent, (&update, outcome), previous);
            self.updates.note(own, outcome, sent.took);
            self.updates.decided(own, sent.because.get(place));
        }
        let now = steady_time();
        self.queue.note(start.1, sent.line, now);
        let outcome = sent.outcome();
        self.tell_reached(outcome);
        let is_outdated = self.queue.finish(*start, outcome, *retry_after, now, jitter_after(outcome));
        let retry = self.queue.retry(job).map(|retry| retry.at.saturating_sub(now));
        for ((_, update), outcome) in sent.outcomes() {
            sender.report(sent, &update, outcome, retry.filter(|_| outcome.is_retried()));
        }
        match self.updates.batch(job) {
            None => self.queue.withdraw(job),
            // An address changed while it was being sent.
            Some((_, newer)) if is_outdated => self.queue_batch(job, at, newer, false, &Family::ALL),
            // So it is where there is an address now that was missing before.
            Some((_, newer)) if newer.len() > batch.len() && self.updates.is_combined(at) => {
                self.queue_batch(job, at, newer, false, &[]);
            }
            Some(_) => {}
        }
    }
}

/// None is needed where there is no retry.
fn jitter_after(outcome: &Outcome) -> f64 {
    if outcome.is_accepted() { 0.0 } else { jitter() }
}

/// Anywhere from 0 up to 1.
pub(crate) fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
