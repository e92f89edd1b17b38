//! Which updates are sent when: as many at once as each origin takes, failed ones again after a while.
//!
//! Updates to one origin share a lane, in the order of the configuration. A lane has its own limiter, so that an endpoint
//! which hangs holds its own places and no others. Where failures are retried (`ddns watch`), each update has its own next
//! attempt, and a lane whose endpoint is overloaded or out of reach pauses as a whole.
//!
//! An update waits here as a number: its address is read when it starts, so that a newer address takes the place of an
//! older one by itself. Time is a parameter: a duration since some fixed moment.

mod lane;
mod lanes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::callback::expect::LONGEST_PAUSE;
use crate::config::Concurrency;
use crate::schedule::backoff::Backoff;
use crate::schedule::limiter::Line;
use crate::schedule::retry_after;
use crate::update::outcome::Outcome;
use lane::LaneState;
use lanes::Lanes;

pub use lane::{Lane, LaneKey, Pause, UpdateId};

/// From so many requests on, over all lanes, a lane that has one under way starts no other...
const MANY: usize = 256;

/// ...and from so many on, none starts at all.
const MOST: usize = 768;

/// Where requests hang, another starts beside them each time that this has passed (A6).
const HANGING: Duration = Duration::from_millis(250);

/// An update that failed, and when it is retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// When it may be sent again.
    pub at: Duration,
    /// Failures in a row.
    pub failures: u32,
    /// How it failed last.
    pub outcome: Outcome,
    /// Whether the endpoint named the time itself (`Retry-After`).
    pub is_requested: bool,
    /// The lane it is sent in.
    pub lane: Lane,
}

/// Where an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is to be done.
    Idle,
    /// It is sent as soon as its lane has a place.
    Queued(Lane),
    /// It still stands in the line of its lane, but need not be sent any more.
    Withdrawn(Lane),
    /// It is being sent.
    Sending,
    /// It is being sent, and was queued again meanwhile.
    SendingOutdated,
    /// It failed, and waits for its retry.
    WaitingToRetry,
}

/// Every update that is not idle.
#[derive(Debug, Default)]
pub struct Queue {
    /// None: what failed is not retried.
    backoff: Option<Backoff>,
    lanes: Lanes,
    /// Lanes that may have something to start, in the order in which they get their turn.
    listed: VecDeque<Lane>,
    /// Lanes that have room of their own, but too many requests are under way in all.
    crowded: Vec<Lane>,
    paused: BTreeSet<(Duration, Lane)>,
    /// Lanes that are full, and when to look whether they hang.
    watched: BTreeSet<(Duration, Lane)>,
    stages: Vec<Stage>,
    retries: BTreeMap<UpdateId, Retry>,
    /// The same by time.
    retry_times: BTreeSet<(Duration, UpdateId)>,
    queued: usize,
    sending: usize,
    /// Pauses that were requested before this queue was made.
    inherited: HashMap<LaneKey, Pause>,
}

impl Queue {
    /// A queue for so many updates.
    pub fn new(updates: usize, backoff: Option<Backoff>) -> Self {
        Self { backoff, stages: vec![Stage::Idle; updates], ..Self::default() }
    }

    /// With pauses that were requested of another queue before.
    #[must_use]
    pub fn with_pauses(mut self, pauses: HashMap<LaneKey, Pause>) -> Self {
        self.inherited = pauses;
        self
    }

    /// The pauses that endpoints asked for and that are not over.
    pub fn requested_pauses(&self, now: Duration) -> HashMap<LaneKey, Pause> {
        let requested = self.lanes.numbers.iter().filter_map(|((key, _), lane)| {
            let pause = self.lanes[*lane].pause.as_ref().filter(|pause| pause.is_requested)?;
            Some((key, pause))
        });
        // A lane that was never used keeps what it was given.
        let all = self.inherited.iter().chain(requested).filter(|(_, pause)| pause.until > now);
        all.map(|(key, pause)| (key.clone(), pause.clone())).collect()
    }

    /// The lane of a key; made where there is none yet. Without [`Queue::keep`] its number is good for a push that follows at
    /// once.
    pub fn lane(&mut self, key: LaneKey, concurrency: Concurrency) -> Lane {
        let key = (key, concurrency);
        if let Some(lane) = self.lanes.numbers.get(&key) {
            return *lane;
        }
        if self.lanes.are_many() {
            let retrying: HashSet<Lane> = self.retries.values().map(|retry| retry.lane).collect();
            self.lanes.end_idle(|lane| retrying.contains(&lane));
        }
        // Where a file is sent in strict order now, or was before, nobody knows whose pause it is.
        let is_meant = |of: &LaneKey| *of == key.0 || std::mem::discriminant(of) != std::mem::discriminant(&key.0);
        let meant = self.inherited.iter().filter(|(of, _)| is_meant(of)).map(|(_, pause)| pause);
        let pause = meant.max_by_key(|pause| pause.until).cloned();
        let until = pause.as_ref().map(|pause| pause.until);
        let lane = self.lanes.add(key, pause);
        self.paused.extend(until.map(|until| (until, lane)));
        lane
    }

    /// The number of a lane stays good as long as this queue is there.
    pub fn keep(&mut self, lane: Lane) {
        self.lanes[lane].is_kept = true;
    }

    /// An update is to be sent. One that is being sent is judged again when it ends; one that waits to retry keeps its
    /// time.
    pub fn push(&mut self, job: UpdateId, lane: Lane) {
        let is_cut = |state: &LaneState| state.pause.as_ref().is_some_and(|pause| !pause.is_requested);
        // A pause that nobody asked for is for those that failed (A6).
        if matches!(self.stage(job), Stage::Idle | Stage::Withdrawn(_))
            && !self.retries.contains_key(&job)
            && is_cut(&self.lanes[lane])
        {
            self.change_pause(lane, |state| state.pause = None);
        }
        match self.stage(job) {
            // It still has its place in the line.
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

    /// An update need not be sent any more: it is up to date, or there is no address.
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

    /// What was started cannot be sent after all, and is not wanted any more.
    pub fn give_back(&mut self, (job, lane): (UpdateId, Lane)) {
        self.sending -= 1;
        self.lanes[lane].sending -= 1;
        self.retries.remove(&job);
        self.set(job, Stage::Idle);
        self.list_with_crowded(lane);
    }

    /// What was started is not tried yet, and waits: by that nothing is known of its lane. Whether the update was queued again meanwhile.
    pub fn put_back(&mut self, start: (UpdateId, Lane), retry: Retry) -> bool {
        let job = start.0;
        let is_outdated = self.stage(job) == Stage::SendingOutdated;
        self.give_back(start);
        self.retry_times.insert((retry.at, job));
        self.retries.insert(job, retry);
        self.set(job, Stage::WaitingToRetry);
        is_outdated
    }

    /// What may start now: called until there is none.
    pub fn start(&mut self, now: Duration) -> Option<(UpdateId, Lane)> {
        self.release(now);
        while let Some(lane) = self.listed.pop_front() {
            let state = &mut self.lanes[lane];
            state.is_listed = false;
            while let Some(job) = state.queued.front().copied() {
                match self.stages[job as usize] {
                    Stage::Queued(own) if own == lane => break,
                    Stage::Withdrawn(own) if own == lane => self.stages[job as usize] = Stage::Idle,
                    // It stands in another line now.
                    _ => {}
                }
                state.queued.pop_front();
            }
            // Whatever keeps it from starting puts it on the list again when it ends.
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
            if self.sending >= MOST || (self.sending >= MANY && state.sending > 0) {
                self.crowded.push(lane);
                continue;
            }
            let job = state.queued.pop_front()?;
            state.sending += 1;
            state.moved = now;
            self.sending += 1;
            self.queued -= 1;
            self.set(job, Stage::Sending);
            self.list(lane);
            return Some((job, lane));
        }
        None
    }

    /// What starts until then, if nothing changes: updates that are queued, and those whose retry comes.
    pub fn starting_by(&self, then: Duration) -> Vec<UpdateId> {
        let is_open = |lane: &LaneState| lane.pause.as_ref().is_none_or(|pause| pause.until <= then);
        let lanes = self.lanes.iter().filter(|(_, lane)| is_open(lane));
        let queued = lanes.flat_map(|(number, lane)| {
            // One that moved to another lane may still stand in the line of this one.
            lane.queued.iter().copied().filter(move |job| self.stage(*job) == Stage::Queued(number))
        });
        let retried = self.retry_times.iter().take_while(|(at, _)| *at <= then).map(|(_, job)| *job);
        queued.chain(retried).collect()
    }

    /// Takes in how an update ended. `requested` is how long the endpoint wants no requests. Whether the update was queued
    /// again meanwhile.
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
                    requested.map(|requested| retry_after::spread(requested.min(LONGEST_PAUSE), backoff.cap, jitter));
                self.plan_retry(job, lane, backoff, (outcome, requested), now, jitter);
                self.change_pause(lane, |state| state.fail(outcome, requested, backoff, now, jitter));
            }
            _ => {
                self.retries.remove(&job);
            }
        }
        self.list_with_crowded(lane);
        is_outdated
    }

    /// Retries an update not before then.
    pub fn put_off(&mut self, job: UpdateId, until: Duration) {
        if let Some(retry) = self.retries.get_mut(&job).filter(|retry| retry.at < until)
            && self.retry_times.remove(&(retry.at, job))
        {
            retry.at = until;
            self.retry_times.insert((until, job));
        }
    }

    /// Takes in how the line of new connections was when a request of a lane ended.
    pub fn note(&mut self, lane: Lane, found: Line, now: Duration) {
        self.lanes[lane].limiter.note(found, now);
    }

    /// Retries at once what waits after a connection that was never made: the network is another one now. With
    /// `everything`, whatever failed. A pause that an endpoint asked for is kept all the same.
    pub fn retry_now(&mut self, everything: bool) {
        let is_meant = |retry: &Retry| !retry.is_requested && (everything || !retry.outcome.may_have_reached());
        let mut jobs: Vec<UpdateId> =
            self.retries.iter().filter(|(_, retry)| is_meant(retry)).map(|(job, _)| *job).collect();
        jobs.sort_unstable();
        let is_cut = |lane: &Lane| self.lanes[*lane].pause.as_ref().is_some_and(|pause| !pause.is_requested);
        let mut paused: Vec<Lane> = self.paused.iter().map(|(_, lane)| *lane).filter(is_cut).collect();
        paused.sort_unstable();
        for lane in paused {
            self.change_pause(lane, |state| state.pause = None);
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

    /// When to ask for a start again because requests may hang.
    pub fn hang_at(&self) -> Option<Duration> {
        self.watched.first().map(|(at, _)| *at)
    }

    /// When to ask for a start again, if nothing else happens before. For those that hang see [`Queue::hang_at`].
    pub fn wake_at(&self) -> Option<Duration> {
        let has_work = |lane: Lane| !self.lanes[lane].queued.is_empty();
        let lane = self.paused.iter().find(|(_, lane)| has_work(*lane)).map(|(until, _)| *until);
        let job = self.retry_times.first().map(|(at, _)| *at);
        lane.into_iter().chain(job).min()
    }

    /// Whether nothing is being sent, and nothing is queued but in lanes that pause.
    pub fn is_idle(&self) -> bool {
        self.sending == 0 && (self.queued == 0 || self.lanes.iter().all(|(_, lane)| lane.is_held()))
    }

    /// How many are being sent or queued.
    pub fn open(&self) -> usize {
        self.sending + self.queued
    }

    /// Where an update is.
    pub fn stage(&self, job: UpdateId) -> Stage {
        self.stages[job as usize]
    }

    /// How an update failed last, and when it is retried; none where it did not fail.
    pub fn retry(&self, job: UpdateId) -> Option<&Retry> {
        self.retries.get(&job)
    }

    /// When an update that failed is tried again: not before its lane is, too.
    pub fn retry_at(&self, job: UpdateId) -> Option<Duration> {
        let retry = self.retries.get(&job)?;
        Some(self.lanes[retry.lane].pause.as_ref().map_or(retry.at, |pause| pause.until.max(retry.at)))
    }

    /// How many updates are sent later: they failed, or their lane pauses.
    pub fn postponed(&self) -> usize {
        self.retry_times.len() + self.queued
    }

    /// The pause that a queued update waits for; none where its lane does not pause.
    pub fn pause_of(&self, job: UpdateId) -> Option<&Pause> {
        match self.stage(job) {
            Stage::Queued(lane) => self.lanes[lane].pause.as_ref(),
            _ => None,
        }
    }

    /// Whether the endpoint of a lane asked for a pause that is not over.
    pub fn is_asked_to_pause(&self, lane: Lane, now: Duration) -> bool {
        self.lanes[lane].pause.as_ref().is_some_and(|pause| pause.is_requested && pause.until > now)
    }

    fn set(&mut self, job: UpdateId, stage: Stage) {
        self.stages[job as usize] = stage;
    }

    fn line_up(&mut self, job: UpdateId, lane: Lane) {
        self.set(job, Stage::Queued(lane));
        self.queued += 1;
        self.lanes[lane].queued.push_back(job);
        self.list(lane);
    }

    /// A place is free: for this lane, and for those that were crowded out.
    fn list_with_crowded(&mut self, lane: Lane) {
        self.list(lane);
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

    /// Lines up what has waited long enough, and lanes that may hang.
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
            // The failures stay known until one is accepted: the next step is longer.
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
        let at = now + backoff.delay(failures, jitter).max(requested.unwrap_or_default());
        let retry = Retry { at, failures, outcome: outcome.clone(), is_requested: requested.is_some(), lane };
        self.retries.insert(job, retry);
        self.retry_times.insert((at, job));
        self.set(job, Stage::WaitingToRetry);
    }
}

#[cfg(test)]
mod tests;
