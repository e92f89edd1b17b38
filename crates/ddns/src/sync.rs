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
mod queueing;
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

use ddns_core::address::observation::{Observation, Observed};
use ddns_core::config::validate::Valid;
use ddns_core::net::family::Family;
use ddns_core::schedule::backoff::Backoff;
use ddns_core::schedule::lookups::Due;
use ddns_core::schedule::queue::{Job, Lane, LaneKey, Pause, Queue, Stage};
use ddns_core::update::outcome::{Outcome, Tally};
use ddns_core::update::plan::Verdict;
use ddns_core::update::state::State;
use ddns_core::update::status::Row;
use ddns_core::update::{Sendable, Update};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::clock::steady_time;
use crate::environment::Environment;
use crate::output::progress::Progress;

use gate::Gate;
use lookups::{Finished, Lookups};
use news::News;
use sender::Sent;
use updates::{AHEAD, Updates};

pub(crate) use caches::{Caches, Remembered, cache_path};
pub(crate) use sender::{Sender, senders};
pub(crate) use store::{Durability, Stamp, replace, unfit};
pub(crate) use updates::{GivenUp, moment_of};

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
    /// Those that have an end, by it.
    held_until: BTreeSet<(u64, Job)>,
    /// Families of senders that were looked up, and not counted yet: the other family is waited for.
    uncounted: HashSet<(usize, Family)>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// When to look next whether requests hang, by both clocks.
    hanging: Option<(Duration, Instant)>,
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
            held_until: BTreeSet::new(),
            uncounted: HashSet::new(),
            tallies: vec![Tally::default(); configs],
            hanging: None,
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
        let was_done = self.is_done();
        self.recheck();
        self.release();
        let may_start = self.start();
        // Another process may have sent what was waited for: then nothing would end this step.
        if !was_done && self.is_done() {
            return None;
        }
        let save_by = self.updates.save_by();
        let hang_at = if may_start { self.hang_at() } else { None };
        let wake = save_by.into_iter().chain(self.progress.due()).chain(self.recheck_at).chain(hang_at).min();
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
        self.queue.requested_pauses(steady_time())
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

    /// The requests that are under way and given up now, for [`Sync::with_given_up`].
    pub(crate) fn take_given_up(&mut self) -> GivenUp {
        let is_sending = |job: &Job| matches!(self.queue.stage(*job), Stage::Sending | Stage::SendingOutdated);
        let sending = (0..Job::try_from(self.updates.len()).unwrap_or(Job::MAX)).filter(is_sending);
        let jobs: Vec<Job> = sending.flat_map(|job| self.updates.members(job)).collect();
        self.updates.take_given_up(jobs)
    }

    /// What was accepted is in doubt where the next configurations have another cache.
    pub(crate) fn doubt_left(&mut self, next: &[Valid]) {
        self.updates.doubt_left(next);
    }

    /// With requests that were given up before: they may still be under way (E4a).
    pub(crate) fn with_given_up(mut self, given_up: GivenUp) -> Self {
        self.updates.given_up = given_up;
        self
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

    /// When another may start beside requests that hang.
    fn hang_at(&mut self) -> Option<Instant> {
        let at = self.queue.hang_at()?;
        if self.hanging.is_none_or(|(known, _)| known != at) {
            self.hanging = Some((at, Instant::now() + at.saturating_sub(steady_time())));
        }
        self.hanging.map(|(_, at)| at)
    }

    fn tally(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally))
    }

    /// How every update stands.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = self.updates.rows(&self.queue, &self.waiting);
        if self.is_standing_by() {
            rows.iter_mut().for_each(Row::stand_by);
        }
        rows
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(crate) fn verdicts(&mut self) -> Vec<(&'a Sender<'a>, Update<'a>, Verdict)> {
        self.updates.verdicts()
    }

    /// Takes these addresses for every sender, one for each family.
    pub(crate) fn observe(&mut self, addresses: [Observed; 2]) {
        for at in 0..self.senders.len() {
            for (family, found) in Family::ALL.into_iter().zip(addresses) {
                self.updates.observe(at, family, Observation::Found(found), None);
            }
        }
    }

    /// Starts what may start; false where nothing may.
    fn start(&mut self) -> bool {
        if self.is_closing {
            return false;
        }
        let permit = match &self.gate {
            None => None,
            Some(gate) => match gate.permit() {
                Some(permit) => Some(permit),
                None => return false,
            },
        };
        let now = steady_time();
        while let Some(start) = self.queue.start(now) {
            let Some((at, mut batch)) = self.updates.batch(start.0) else {
                self.queue.give_back(start);
                continue;
            };
            let is_marked = batch.iter().all(|member| self.updates.is_marked(at, member));
            // A retry may come before its time. What is marked was judged when that was done.
            if self.senders[at].entry.needs_memory()
                && !is_marked
                && let (Verdict::Held(..) | Verdict::Stopped(..), _) = self.updates.judge_batch(at, &mut batch)
            {
                self.queue.give_back(start);
                if let Some((_, batch)) = self.updates.batch(start.0) {
                    self.queue_batch(start.0, at, batch, false, &Family::ALL);
                }
                continue;
            }
            let Some(first) = batch.first().map(|(_, update)| *update) else {
                self.queue.give_back(start);
                continue;
            };
            self.unhold(start.0);
            if !is_marked {
                self.updates.mark(at, &batch, self.queue.starting_by(now + AHEAD));
            }
            let is_waiting =
                |(_, update): &(Job, Sendable<'_>)| matches!(self.updates.judge(at, update), Verdict::Wait(_));
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
        true
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
        // Meanwhile another may have stopped all of them.
        if outcome.is_retried()
            && sender.entry.needs_memory()
            && batch.iter().all(|(_, update)| matches!(self.updates.judge(at, update), Verdict::Stopped(..)))
        {
            self.queue.withdraw(job);
        }
        let retry = self.queue.retry(job).map(|retry| retry.at.saturating_sub(now));
        for ((_, update), outcome) in sent.outcomes() {
            sender.report(sent, &update, outcome, retry.filter(|_| outcome.is_retried()));
        }
        let all = sent.outcomes().find(|(_, outcome)| matches!(outcome, Outcome::Stopped { all: true, .. }));
        if let Some(((_, update), outcome)) = all {
            self.stop_all(at, &update, outcome);
        }
        match self.updates.batch(job) {
            None => self.queue.withdraw(job),
            // An address changed while it was being sent.
            Some((_, newer)) if is_outdated => self.queue_batch(job, at, newer, false, &Family::ALL),
            // So it is where there is an address now that was missing before. What was left out because it is stopped is no reason.
            Some((_, newer)) => {
                let is_new = |(own, update): &(Job, Sendable<'_>)| {
                    batch.iter().all(|(sent, _)| sent != own)
                        && matches!(self.updates.judge(at, update), Verdict::Send(_))
                };
                if newer.len() > batch.len() && newer.iter().any(is_new) {
                    self.queue_batch(job, at, newer, false, &[]);
                }
            }
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
