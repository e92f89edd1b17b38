//! Which updates are sent when: as many at once as each origin takes, failed ones again later.
//!
//! Updates to one origin share a lane, in the order of the configuration. Each lane has its own limiter, so that an endpoint
//! that hangs does not hold up others. With retries (`ddns watch`), each update has its own next attempt, and a lane pauses as
//! a whole while its endpoint is overloaded or out of reach. In strict order, one update at a time
//! is sent over all lanes of a configuration, the first in the file first.
//!
//! The queue contains only the numbers of updates: an update's address is read when it starts, so that a newer address replaces
//! an older one. Time is a parameter: a duration since a fixed moment.

mod lane;
mod lanes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::callback::expect::MAX_PAUSE;
use crate::config::Concurrency;
use crate::schedule::backoff::Backoff;
use crate::schedule::limiter::AcceptQueue;
use crate::schedule::retry_after;
use crate::update::outcome::Outcome;
use lane::LaneState;
use lanes::Lanes;

pub use lane::{Lane, LaneKey, Pause, UpdateId};

/// With this many requests in all lanes, a lane that has one under way starts no other...
const FAIR_SHARE_FROM: usize = 256;

/// ...and with this many, no lane starts any.
const MAX_REQUESTS: usize = 768;

/// How often another request may start beside requests that hang (A6).
const HANGING: Duration = Duration::from_millis(250);

/// An update that failed, and when it is retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// When it may be sent again.
    pub at: Duration,
    /// Consecutive failures.
    pub failures: u32,
    /// The last failure.
    pub outcome: Outcome,
    /// Whether the endpoint asked for this time (`Retry-After`).
    pub is_requested: bool,
    /// The lane it is sent in.
    pub lane: Lane,
}

/// The state of an update in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// There is nothing to do.
    Idle,
    /// It starts as soon as its lane has room.
    Queued(Lane),
    /// It is still in the queue of its lane, but need not be sent any more.
    Withdrawn(Lane),
    /// It is being sent.
    Sending,
    /// It is being sent, and was queued again in the meantime.
    SendingOutdated,
    /// It failed, and waits for its retry.
    WaitingToRetry,
}

/// All updates that are not idle.
#[derive(Debug, Default)]
pub struct Queue {
    /// `None`: failed updates are not retried.
    backoff: Option<Backoff>,
    lanes: Lanes,
    /// Lanes that may have something to start, in the order of their turns.
    listed: VecDeque<Lane>,
    /// Lanes that have room, but too many requests are under way in all lanes.
    crowded: Vec<Lane>,
    paused: BTreeSet<(Duration, Lane)>,
    /// Lanes that are full, and when to check whether they hang.
    watched: BTreeSet<(Duration, Lane)>,
    stages: Vec<Stage>,
    retries: BTreeMap<UpdateId, Retry>,
    /// Retries whose time has not come, by time.
    retry_times: BTreeSet<(Duration, UpdateId)>,
    queued: usize,
    sending: usize,
    /// The configurations in strict order that are sending.
    strict_sending: BTreeSet<usize>,
    /// How many updates were queued in strict order.
    turns: u64,
    /// Pauses that endpoints asked for before this queue was created.
    inherited: HashMap<String, Pause>,
}

impl Queue {
    /// A queue for this many updates.
    pub fn new(updates: usize, backoff: Option<Backoff>) -> Self {
        Self { backoff, stages: vec![Stage::Idle; updates], ..Self::default() }
    }

    /// Continues pauses that endpoints asked for before, each with its origin.
    #[must_use]
    pub fn with_pauses(mut self, pauses: HashMap<String, Pause>) -> Self {
        self.inherited = pauses;
        self
    }

    /// The pauses that endpoints asked for and that are not over, by origin.
    pub fn requested_pauses(&self, now: Duration) -> HashMap<String, Pause> {
        // Pauses of lanes that were never used are passed on.
        let mut all = self.inherited.clone();
        for ((key, _), lane) in &self.lanes.numbers {
            let Some(pause) = &self.lanes[*lane].pause else { continue };
            let Some(until) = pause.requested else { continue };
            if all.get(&key.origin).is_none_or(|known| known.until < until) {
                all.insert(key.origin.clone(), Pause { until, ..pause.clone() });
            }
        }
        all.retain(|_, pause| pause.until > now);
        all
    }

    /// The lane of a key, created if necessary. Unless [`Queue::keep`] is called, its number is valid only for a push that
    /// follows at once.
    pub fn lane(&mut self, key: LaneKey, concurrency: Concurrency) -> Lane {
        let key = (key, concurrency);
        if let Some(lane) = self.lanes.numbers.get(&key) {
            return *lane;
        }
        if self.lanes.are_many() {
            let retrying: HashSet<Lane> = self.retries.values().map(|retry| retry.lane).collect();
            self.lanes.end_idle(|lane| retrying.contains(&lane));
        }
        let beside =
            self.paused.iter().map(|(_, lane)| &self.lanes[*lane]).filter(|lane| lane.key.origin == key.0.origin);
        let requested = beside.filter_map(|lane| {
            let pause = lane.pause.as_ref()?;
            Some(Pause { until: pause.requested?, ..pause.clone() })
        });
        let pause = requested.chain(self.inherited.get(&key.0.origin).cloned()).max_by_key(|pause| pause.until);
        let until = pause.as_ref().map(|pause| pause.until);
        let lane = self.lanes.add(key, pause);
        self.paused.extend(until.map(|until| (until, lane)));
        lane
    }

    /// Keeps the number of a lane valid for the lifetime of this queue.
    pub fn keep(&mut self, lane: Lane) {
        self.lanes[lane].is_kept = true;
    }

    /// Queues an update. One that is being sent is judged again when it ends; one that waits for a retry keeps its time.
    pub fn push(&mut self, job: UpdateId, lane: Lane) {
        // A pause that the endpoint did not ask for is only for updates that failed (A6).
        if matches!(self.stage(job), Stage::Idle | Stage::Withdrawn(_))
            && !self.retries.contains_key(&job)
            && self.lanes[lane].can_be_cut()
        {
            self.change_pause(lane, LaneState::cut_pause);
        }
        match self.stage(job) {
            // It still has its place in the lane's queue.
            Stage::Withdrawn(before) if before == lane => {
                self.queued += 1;
                self.set(job, Stage::Queued(lane));
                self.list(lane);
            }
            Stage::Idle | Stage::Withdrawn(_) => self.line_up(job, lane),
            Stage::Sending => self.set(job, Stage::SendingOutdated),
            Stage::Queued(_) | Stage::SendingOutdated | Stage::WaitingToRetry => {}
        }
    }

    /// Takes an update off the queue: it is up to date, or has no address.
    pub fn withdraw(&mut self, job: UpdateId) {
        match self.stage(job) {
            Stage::Queued(lane) => {
                self.queued -= 1;
                self.retries.remove(&job);
                self.set(job, Stage::Withdrawn(lane));
            }
            Stage::SendingOutdated => self.set(job, Stage::Sending),
            Stage::WaitingToRetry => {
                self.take_retry(job);
                self.set(job, Stage::Idle);
            }
            Stage::Idle | Stage::Withdrawn(_) | Stage::Sending => {}
        }
    }

    /// An update that was started cannot be sent after all, and is no longer queued.
    pub fn give_back(&mut self, (job, lane): (UpdateId, Lane)) {
        self.sending -= 1;
        self.lanes[lane].sending -= 1;
        self.retries.remove(&job);
        self.set(job, Stage::Idle);
        self.list_with_crowded(lane);
    }

    /// An update that was started has to wait, and was not tried: this says nothing about its lane. Returns whether it was
    /// queued again in the meantime.
    pub fn put_back(&mut self, start: (UpdateId, Lane), retry: Retry) -> bool {
        let job = start.0;
        let is_outdated = self.stage(job) == Stage::SendingOutdated;
        self.give_back(start);
        self.retry_times.insert((retry.at, job));
        self.retries.insert(job, retry);
        self.set(job, Stage::WaitingToRetry);
        is_outdated
    }

    /// The next update that may start now. Call this until it returns `None`.
    pub fn start(&mut self, now: Duration) -> Option<(UpdateId, Lane)> {
        self.release(now);
        while let Some(lane) = self.listed.pop_front() {
            self.lanes[lane].is_listed = false;
            let Some(lane) = self.in_turn(lane) else { continue };
            let state = &mut self.lanes[lane];
            // Whatever keeps the lane from starting lists it again when it ends.
            if !state.has_room() {
                if !state.could_hang() {
                    continue;
                }
                let at = state.moved + HANGING;
                if at > now {
                    if !std::mem::replace(&mut state.is_watched, true) {
                        self.watched.insert((at, lane));
                    }
                    continue;
                }
                state.limiter.hang(state.sending);
            }
            if self.sending >= MAX_REQUESTS || (self.sending >= FAIR_SHARE_FROM && state.sending > 0) {
                self.crowded.push(lane);
                continue;
            }
            let job = state.queued.pop_front()?;
            state.turns.pop_front();
            state.sending += 1;
            state.moved = now;
            self.strict_sending.extend(state.key.strict);
            self.sending += 1;
            self.queued -= 1;
            self.set(job, Stage::Sending);
            self.list(lane);
            return Some((job, lane));
        }
        None
    }

    /// The lane whose turn it is: this one, or in strict order that with the update that was queued first, once nothing is being
    /// sent.
    fn in_turn(&mut self, lane: Lane) -> Option<Lane> {
        let Some(config) = self.lanes[lane].key.strict else {
            self.drop_withdrawn(lane);
            return Some(lane);
        };
        if self.strict_sending.contains(&config) {
            return None;
        }
        let lanes = self.lanes.strict(config);
        for lane in &lanes {
            self.drop_withdrawn(*lane);
        }
        let open = lanes.into_iter().filter(|lane| !self.lanes[*lane].is_held());
        open.min_by_key(|lane| self.lanes[*lane].turns.front().copied())
    }

    /// Drops the updates at the front of a lane that need not be sent any more.
    fn drop_withdrawn(&mut self, lane: Lane) {
        let state = &mut self.lanes[lane];
        while let Some(job) = state.queued.front().copied() {
            match self.stages[job as usize] {
                Stage::Queued(own) if own == lane => break,
                Stage::Withdrawn(own) if own == lane => self.stages[job as usize] = Stage::Idle,
                // It is in another lane now.
                _ => {}
            }
            state.queued.pop_front();
            state.turns.pop_front();
        }
    }

    /// The updates that start until then if nothing changes: queued ones, and those whose retry is due.
    pub fn starting_by(&self, then: Duration) -> Vec<UpdateId> {
        let is_open = |lane: &LaneState| lane.pause.as_ref().is_none_or(|pause| pause.until <= then);
        let lanes = self.lanes.iter().filter(|(_, lane)| is_open(lane));
        let queued = lanes.flat_map(|(number, lane)| {
            // An update that moved to another lane may still be in the queue of this one.
            lane.queued.iter().copied().filter(move |job| self.stage(*job) == Stage::Queued(number))
        });
        let retried = self.retry_times.iter().take_while(|(at, _)| *at <= then).map(|(_, job)| *job);
        queued.chain(retried).collect()
    }

    /// Notes how an update ended. `requested`: how long the endpoint wants no requests. Returns whether the update was queued
    /// again in the meantime.
    pub fn finish(
        &mut self,
        (job, lane): (UpdateId, Lane),
        outcome: &Outcome,
        requested: Option<Duration>,
        now: Duration,
        jitter: f64,
    ) -> bool {
        let is_outdated = self.stage(job) == Stage::SendingOutdated;
        self.sending -= 1;
        self.lanes[lane].finish(outcome, now);
        self.set(job, Stage::Idle);
        match self.backoff {
            Some(backoff) if outcome.is_retried() => {
                let requested =
                    requested.map(|requested| retry_after::spread(requested.min(MAX_PAUSE), backoff.cap, jitter));
                self.plan_retry(job, lane, backoff, (outcome, requested), now, jitter);
                self.change_pause(lane, |state| state.fail(outcome, requested, backoff, now, jitter));
                if requested.is_some() {
                    self.pause_beside(lane);
                }
            }
            _ => {
                self.retries.remove(&job);
            }
        }
        self.list_with_crowded(lane);
        is_outdated
    }

    /// Postpones the retry of an update to this time at least.
    pub fn put_off(&mut self, job: UpdateId, until: Duration) {
        if let Some(retry) = self.retries.get_mut(&job).filter(|retry| retry.at < until)
            && self.retry_times.remove(&(retry.at, job))
        {
            retry.at = until;
            self.retry_times.insert((until, job));
        }
    }

    /// Notes the state of the accept queue when a request of a lane ended.
    pub fn note(&mut self, lane: Lane, found: AcceptQueue, now: Duration) {
        self.lanes[lane].limiter.note(found, now);
    }

    /// Retries at once the updates that found no connection, since the network has changed; with `everything`, all that failed.
    /// Pauses that an endpoint asked for are kept.
    pub fn retry_now(&mut self, everything: bool) {
        let is_meant = |retry: &Retry| !retry.is_requested && (everything || !retry.outcome.may_have_reached());
        let mut jobs: Vec<UpdateId> =
            self.retries.iter().filter(|(_, retry)| is_meant(retry)).map(|(job, _)| *job).collect();
        jobs.sort_unstable();
        let is_cut = |lane: &Lane| self.lanes[*lane].can_be_cut();
        let mut paused: Vec<Lane> = self.paused.iter().map(|(_, lane)| *lane).filter(is_cut).collect();
        paused.sort_unstable();
        for lane in paused {
            self.change_pause(lane, LaneState::cut_pause);
            self.list(lane);
        }
        for job in jobs {
            if self.stage(job) == Stage::WaitingToRetry
                && let Some(retry) = self.retries.get(&job)
            {
                let lane = retry.lane;
                self.retry_times.remove(&(retry.at, job));
                self.line_up(job, lane);
            }
        }
    }

    /// When to call [`Queue::start`] again because requests may hang.
    pub fn hang_at(&self) -> Option<Duration> {
        self.watched.first().map(|(at, _)| *at)
    }

    /// When to call [`Queue::start`] again if nothing else happens before. See also [`Queue::hang_at`].
    pub fn wake_at(&self) -> Option<Duration> {
        let has_work = |lane: Lane| !self.lanes[lane].queued.is_empty();
        let lane = self.paused.iter().find(|(_, lane)| has_work(*lane)).map(|(until, _)| *until);
        let job = self.retry_times.first().map(|(at, _)| *at);
        lane.into_iter().chain(job).min()
    }

    /// Whether nothing is being sent, and only lanes that pause have something queued.
    pub fn is_idle(&self) -> bool {
        self.sending == 0 && (self.queued == 0 || self.lanes.iter().all(|(_, lane)| lane.is_held()))
    }

    /// How many updates are queued or being sent.
    pub fn open(&self) -> usize {
        self.sending + self.queued
    }

    /// The state of an update.
    pub fn stage(&self, job: UpdateId) -> Stage {
        self.stages[job as usize]
    }

    /// How an update failed last, and when it is retried; `None` if it did not fail.
    pub fn retry(&self, job: UpdateId) -> Option<&Retry> {
        self.retries.get(&job)
    }

    /// When a failed update is retried: not before the pause of its lane ends.
    pub fn retry_at(&self, job: UpdateId) -> Option<Duration> {
        let retry = self.retries.get(&job)?;
        Some(self.lanes[retry.lane].pause.as_ref().map_or(retry.at, |pause| pause.until.max(retry.at)))
    }

    /// How many updates are sent later: they failed, or their lane pauses.
    pub fn postponed(&self) -> usize {
        self.retry_times.len() + self.queued
    }

    /// The pause that a queued update waits for; `None` if its lane is not paused.
    pub fn pause_of(&self, job: UpdateId) -> Option<&Pause> {
        match self.stage(job) {
            Stage::Queued(lane) => self.lanes[lane].pause.as_ref(),
            _ => None,
        }
    }

    /// Whether the endpoint of a lane asked for a pause that is not over.
    pub fn is_asked_to_pause(&self, lane: Lane, now: Duration) -> bool {
        self.lanes[lane].pause.as_ref().is_some_and(|pause| pause.requested.is_some_and(|until| until > now))
    }

    fn set(&mut self, job: UpdateId, stage: Stage) {
        self.stages[job as usize] = stage;
    }

    fn line_up(&mut self, job: UpdateId, lane: Lane) {
        self.set(job, Stage::Queued(lane));
        self.queued += 1;
        let state = &mut self.lanes[lane];
        state.queued.push_back(job);
        if state.key.strict.is_some() {
            self.turns += 1;
            state.turns.push_back(self.turns);
        }
        self.list(lane);
    }

    /// A place is free: lists this lane, and those that were crowded out.
    fn list_with_crowded(&mut self, lane: Lane) {
        self.list(lane);
        if let Some(config) = self.lanes[lane].key.strict {
            self.strict_sending.remove(&config);
            // Any of them leads to the one whose turn it is.
            if let Some(next) = self.lanes.strict(config).into_iter().find(|lane| !self.lanes[*lane].is_held()) {
                self.list(next);
            }
        }
        for lane in std::mem::take(&mut self.crowded) {
            self.list(lane);
        }
    }

    fn list(&mut self, lane: Lane) {
        let state = &mut self.lanes[lane];
        if !state.is_listed && !state.queued.is_empty() {
            state.is_listed = true;
            self.listed.push_back(lane);
        }
    }

    /// Queues updates whose retry is due, ends pauses, and lists lanes that may hang.
    fn release(&mut self, now: Duration) {
        while self.hang_at().is_some_and(|at| at <= now) {
            let Some((_, lane)) = self.watched.pop_first() else { break };
            self.lanes[lane].is_watched = false;
            self.list(lane);
        }
        while let Some((until, lane)) = self.paused.first().copied().filter(|(until, _)| *until <= now) {
            self.paused.remove(&(until, lane));
            self.lanes[lane].pause = None;
            self.list(lane);
        }
        while let Some((at, job)) = self.retry_times.first().copied().filter(|(at, _)| *at <= now) {
            self.retry_times.remove(&(at, job));
            // The failures are counted until the update is accepted: the next wait is longer.
            if let Some(lane) = self.retries.get(&job).map(|retry| retry.lane) {
                self.line_up(job, lane);
            }
        }
    }

    /// Changes the pause of a lane, and notes when it ends.
    fn change_pause(&mut self, lane: Lane, change: impl FnOnce(&mut LaneState)) {
        let state = &mut self.lanes[lane];
        if let Some(pause) = &state.pause {
            self.paused.remove(&(pause.until, lane));
        }
        change(state);
        self.paused.extend(state.pause.as_ref().map(|pause| (pause.until, lane)));
    }

    /// What an endpoint asked for counts for all lanes to its origin.
    fn pause_beside(&mut self, lane: Lane) {
        let Some(pause) = self.lanes[lane].pause.clone() else { return };
        let Some(until) = pause.requested else { return };
        for other in self.lanes.to(&self.lanes[lane].key.origin).into_iter().filter(|other| *other != lane) {
            self.change_pause(other, |state| state.extend_pause(Pause { until, ..pause.clone() }));
        }
    }

    fn take_retry(&mut self, job: UpdateId) -> Option<Retry> {
        let retry = self.retries.remove(&job)?;
        self.retry_times.remove(&(retry.at, job));
        Some(retry)
    }

    fn plan_retry(
        &mut self,
        job: UpdateId,
        lane: Lane,
        backoff: Backoff,
        (outcome, requested): (&Outcome, Option<Duration>),
        now: Duration,
        jitter: f64,
    ) {
        let failures = self.take_retry(job).map_or(0, |retry| retry.failures) + 1;
        let own = backoff.delay(failures, jitter);
        let at = now + own.max(requested.unwrap_or_default());
        let is_requested = requested.is_some_and(|requested| requested >= own);
        let retry = Retry { at, failures, outcome: outcome.clone(), is_requested, lane };
        self.retries.insert(job, retry);
        self.retry_times.insert((at, job));
        self.set(job, Stage::WaitingToRetry);
    }
}

#[cfg(test)]
mod tests;
