//! Which updates go out when: as many at once as each origin takes, failed ones again after a while.
//!
//! Updates to one origin share a lane, in the order of the configuration. A lane has its own [`Limiter`], so that an
//! endpoint which hangs holds its own places and nobody else's. Where failures are tried again (`ddns watch`), each
//! update has its own next try, and a lane whose endpoint is overloaded or out of reach rests as a whole.
//!
//! An update waits here as a number: what it tells is looked up when it starts, so that a newer address takes the
//! place of an older one by itself. Time is a parameter: a duration since some fixed moment.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use crate::config::Concurrency;
use crate::schedule::backoff::Backoff;
use crate::schedule::limiter::Limiter;
use crate::update::outcome::Outcome;

/// So many requests are under way at once over all lanes...
const MANY: usize = 256;

/// ...and so many where lanes that have none under way begin their first one.
const MOST: usize = 768;

/// However long an endpoint asks for rest, nobody is forgotten for longer.
const LONGEST_REST: Duration = Duration::from_secs(86_400);

/// One update: its number in the order of the configuration.
pub type Job = u32;

/// One lane: its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(u32);

/// What the updates of a lane have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LaneKey {
    /// They go to the same origin.
    Origin(String),
    /// They stand in this configuration, which asks for strict order.
    Strict(usize),
}

/// An update that failed, and when it is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// When.
    pub at: Duration,
    /// Failures in a row.
    pub failures: u32,
    /// How it failed last.
    pub outcome: Outcome,
    /// Whether the endpoint named the time itself.
    pub is_asked: bool,
    lane: Lane,
}

/// Where an update is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is to be done.
    Idle,
    /// It is to be sent as soon as its lane has a place.
    Waiting(Lane),
    /// It stands in the line of its lane, but need not be sent any more.
    Passed(Lane),
    /// It is being sent.
    UnderWay,
    /// It is being sent, and was wanted again meanwhile.
    Again,
    /// It failed and is tried again later.
    Resting,
}

#[derive(Debug)]
struct LaneState {
    limiter: Limiter,
    under_way: usize,
    waiting: VecDeque<Job>,
    /// Whether it stands among those that may have something to start.
    is_listed: bool,
    rest: Option<Rest>,
    /// Overloads and broken connections since the last acceptance, or the last rest.
    trouble: usize,
    /// Rests since the last acceptance.
    rests: u32,
}

#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Duration,
    is_asked: bool,
}

/// Every update that is not idle.
#[derive(Debug)]
pub struct Queue {
    /// None: what failed is not tried again.
    backoff: Option<Backoff>,
    lanes: Vec<LaneState>,
    numbers: HashMap<(LaneKey, Concurrency), Lane>,
    /// Lanes that may have something to start, in the order in which they get their turn.
    listed: VecDeque<Lane>,
    /// Lanes that wait for a place, although their limiter would allow more.
    crowded: Vec<Lane>,
    resting: BTreeSet<(Duration, Lane)>,
    stages: Vec<Stage>,
    due: BTreeSet<(Duration, Job)>,
    retries: HashMap<Job, Retry>,
    waiting: usize,
    under_way: usize,
    /// Rests that were asked for before this queue was made.
    before: HashMap<LaneKey, Duration>,
}

impl Queue {
    /// A queue for so many updates.
    pub fn new(updates: usize, backoff: Option<Backoff>) -> Self {
        Self {
            backoff,
            lanes: Vec::new(),
            numbers: HashMap::new(),
            listed: VecDeque::new(),
            crowded: Vec::new(),
            resting: BTreeSet::new(),
            stages: vec![Stage::Idle; updates],
            due: BTreeSet::new(),
            retries: HashMap::new(),
            waiting: 0,
            under_way: 0,
            before: HashMap::new(),
        }
    }

    /// With rests that were asked of another queue before.
    #[must_use]
    pub fn resting(mut self, rests: HashMap<LaneKey, Duration>) -> Self {
        self.before = rests;
        self
    }

    /// The rests that endpoints asked for, and until when.
    pub fn asked_rests(&self) -> HashMap<LaneKey, Duration> {
        let asked = self.numbers.iter().filter_map(|((key, _), lane)| {
            let rest = self.lanes[lane.0 as usize].rest.filter(|rest| rest.is_asked)?;
            Some((key.clone(), rest.until))
        });
        // A lane that was never asked for keeps what it was given.
        self.before.iter().map(|(key, until)| (key.clone(), *until)).chain(asked).collect()
    }

    /// The lane of a key; made where there is none yet.
    pub fn lane(&mut self, key: LaneKey, concurrency: Concurrency) -> Lane {
        *self.numbers.entry((key, concurrency)).or_insert_with_key(|(key, _)| {
            let lane = Lane(u32::try_from(self.lanes.len()).unwrap_or(u32::MAX));
            let rest = self.before.get(key).map(|until| Rest { until: *until, is_asked: true });
            self.resting.extend(rest.map(|rest| (rest.until, lane)));
            self.lanes.push(LaneState {
                limiter: Limiter::new(concurrency),
                under_way: 0,
                waiting: VecDeque::new(),
                is_listed: false,
                rest,
                trouble: 0,
                rests: 0,
            });
            lane
        })
    }

    /// An update is to be told. One that is under way is looked at again when it ends; one that rests keeps its time.
    pub fn want(&mut self, job: Job, lane: Lane) {
        match self.stage(job) {
            // It still has its place in the line.
            Stage::Passed(before) if before == lane => {
                self.waiting += 1;
                self.set(job, Stage::Waiting(lane));
                self.list(lane);
            }
            Stage::Idle | Stage::Passed(_) => self.wait(job, lane),
            Stage::UnderWay => self.set(job, Stage::Again),
            Stage::Waiting(_) | Stage::Again | Stage::Resting => {}
        }
    }

    /// An update need not be told any more: the endpoint knows, or there is no address.
    pub fn forget(&mut self, job: Job) {
        match self.stage(job) {
            Stage::Waiting(lane) => {
                self.waiting -= 1;
                self.retries.remove(&job);
                self.set(job, Stage::Passed(lane));
            }
            Stage::Again => self.set(job, Stage::UnderWay),
            Stage::Resting => {
                self.take_retry(job);
                self.set(job, Stage::Idle);
            }
            Stage::Idle | Stage::Passed(_) | Stage::UnderWay => {}
        }
    }

    /// What was started cannot be sent after all, and is not wanted any more.
    pub fn give_back(&mut self, (job, lane): (Job, Lane)) {
        self.under_way -= 1;
        self.lanes[lane.0 as usize].under_way -= 1;
        self.retries.remove(&job);
        self.set(job, Stage::Idle);
        self.list_all(lane);
    }

    /// What may start now: called until there is none.
    pub fn start(&mut self, now: Duration) -> Option<(Job, Lane)> {
        self.release(now);
        while let Some(lane) = self.listed.pop_front() {
            let state = &mut self.lanes[lane.0 as usize];
            state.is_listed = false;
            while let Some(job) = state.waiting.front().copied() {
                match self.stages[job as usize] {
                    Stage::Waiting(own) if own == lane => break,
                    Stage::Passed(own) if own == lane => self.stages[job as usize] = Stage::Idle,
                    // It stands in another line now.
                    _ => {}
                }
                state.waiting.pop_front();
            }
            // Whatever keeps it from starting puts it on the list again when it ends.
            if state.rest.is_some() || state.under_way >= state.limiter.limit() || state.waiting.is_empty() {
                continue;
            }
            if self.under_way >= MOST || (self.under_way >= MANY && state.under_way > 0) {
                self.crowded.push(lane);
                continue;
            }
            let job = state.waiting.pop_front()?;
            state.under_way += 1;
            self.under_way += 1;
            self.waiting -= 1;
            self.set(job, Stage::UnderWay);
            self.list(lane);
            return Some((job, lane));
        }
        None
    }

    /// Takes in how an update ended. `asked` is how long the endpoint wants to be left alone. Says whether the update
    /// was wanted again meanwhile.
    pub fn ended(
        &mut self,
        (job, lane): (Job, Lane),
        outcome: &Outcome,
        asked: Option<Duration>,
        now: Duration,
        dice: f64,
    ) -> bool {
        let again = self.stage(job) == Stage::Again;
        self.under_way -= 1;
        let state = &mut self.lanes[lane.0 as usize];
        state.under_way -= 1;
        state.limiter.learn(outcome);
        if outcome.is_accepted() {
            state.trouble = 0;
            state.rests = 0;
        }
        self.set(job, Stage::Idle);
        match self.backoff {
            Some(backoff) if !outcome.is_accepted() => {
                let asked = asked.map(|asked| asked.min(LONGEST_REST));
                self.rest(job, lane, backoff, outcome, asked, now, dice);
            }
            _ => {
                self.retries.remove(&job);
            }
        }
        self.list_all(lane);
        again
    }

    /// Tries again at once what rests after a connection that was never made: the network is another one now.
    /// With `everything`, whatever failed. Only where an endpoint asked to be left alone, it is.
    pub fn hurry(&mut self, everything: bool) {
        let is_meant = |retry: &Retry| !retry.is_asked && (everything || !retry.outcome.may_have_reached());
        let mut jobs: Vec<Job> =
            self.retries.iter().filter(|(_, retry)| is_meant(retry)).map(|(job, _)| *job).collect();
        jobs.sort_unstable();
        for at in 0..self.lanes.len() {
            let lane = Lane(u32::try_from(at).unwrap_or(u32::MAX));
            if let Some(rest) = self.lanes[at].rest.filter(|rest| !rest.is_asked) {
                self.resting.remove(&(rest.until, lane));
                self.lanes[at].rest = None;
                self.list(lane);
            }
        }
        for job in jobs {
            if self.stage(job) == Stage::Resting
                && let Some(retry) = self.retries.get(&job)
            {
                let lane = retry.lane;
                self.due.remove(&(retry.at, job));
                self.wait(job, lane);
            }
        }
    }

    /// When to ask for a start again, if nothing else happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let has_work = |lane: Lane| !self.lanes[lane.0 as usize].waiting.is_empty();
        let lane = self.resting.iter().find(|(_, lane)| has_work(*lane)).map(|(until, _)| *until);
        let job = self.due.first().map(|(at, _)| *at);
        lane.into_iter().chain(job).min()
    }

    /// Whether nothing is under way, and nothing waits but for an endpoint that is left alone.
    pub fn is_idle(&self) -> bool {
        let is_held = |lane: &LaneState| lane.rest.is_some() || lane.waiting.is_empty();
        self.under_way == 0 && (self.waiting == 0 || self.lanes.iter().all(is_held))
    }

    /// How many are under way, or wait for a place.
    pub fn open(&self) -> usize {
        self.under_way + self.waiting
    }

    /// Where an update is.
    pub fn stage(&self, job: Job) -> Stage {
        self.stages[job as usize]
    }

    /// When an update that failed is tried again.
    pub fn retry(&self, job: Job) -> Option<&Retry> {
        self.retries.get(&job)
    }

    /// How many updates are to be told later: they failed, or their endpoint is left alone.
    pub fn untold(&self) -> usize {
        self.due.len() + self.waiting
    }

    /// Until when an update waits for its endpoint, which is left alone.
    pub fn held_until(&self, job: Job) -> Option<Duration> {
        match self.stage(job) {
            Stage::Waiting(lane) => self.lanes[lane.0 as usize].rest.map(|rest| rest.until),
            _ => None,
        }
    }

    fn set(&mut self, job: Job, stage: Stage) {
        self.stages[job as usize] = stage;
    }

    fn wait(&mut self, job: Job, lane: Lane) {
        self.set(job, Stage::Waiting(lane));
        self.waiting += 1;
        self.lanes[lane.0 as usize].waiting.push_back(job);
        self.list(lane);
    }

    /// A place is free: for this lane, and for those that waited for one.
    fn list_all(&mut self, lane: Lane) {
        self.list(lane);
        for lane in std::mem::take(&mut self.crowded) {
            self.list(lane);
        }
    }

    fn list(&mut self, lane: Lane) {
        let state = &mut self.lanes[lane.0 as usize];
        if !state.is_listed && !state.waiting.is_empty() {
            state.is_listed = true;
            self.listed.push_back(lane);
        }
    }

    /// What has rested long enough waits for its place.
    fn release(&mut self, now: Duration) {
        while let Some((until, lane)) = self.resting.first().copied().filter(|(until, _)| *until <= now) {
            self.resting.remove(&(until, lane));
            self.lanes[lane.0 as usize].rest = None;
            self.list(lane);
        }
        while let Some((at, job)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, job));
            // The failures stay known until one is accepted: the next step is longer.
            if let Some(lane) = self.retries.get(&job).map(|retry| retry.lane) {
                self.wait(job, lane);
            }
        }
    }

    fn take_retry(&mut self, job: Job) -> Option<Retry> {
        let retry = self.retries.remove(&job)?;
        self.due.remove(&(retry.at, job));
        Some(retry)
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of one failure, and only here")]
    fn rest(
        &mut self,
        job: Job,
        lane: Lane,
        backoff: Backoff,
        outcome: &Outcome,
        asked: Option<Duration>,
        now: Duration,
        dice: f64,
    ) {
        let failures = self.take_retry(job).map_or(0, |retry| retry.failures) + 1;
        let at = now + backoff.delay(failures, dice).max(asked.unwrap_or_default());
        self.retries.insert(job, Retry { at, failures, outcome: outcome.clone(), is_asked: asked.is_some(), lane });
        self.due.insert((at, job));
        self.set(job, Stage::Resting);
        if !outcome.is_trouble() {
            return;
        }
        let state = &mut self.lanes[lane.0 as usize];
        state.trouble += 1;
        let until = match asked {
            Some(asked) => now + asked,
            None if state.rest.is_none() && state.trouble >= state.limiter.limit() => {
                state.trouble = 0;
                state.rests += 1;
                now + backoff.delay(state.rests, dice)
            }
            None => return,
        };
        if let Some(rest) = state.rest {
            self.resting.remove(&(rest.until, lane));
        }
        let until = state.rest.map_or(until, |rest| rest.until.max(until));
        state.rest = Some(Rest { until, is_asked: asked.is_some() || state.rest.is_some_and(|rest| rest.is_asked) });
        self.resting.insert((until, lane));
    }
}

#[cfg(test)]
mod tests;
