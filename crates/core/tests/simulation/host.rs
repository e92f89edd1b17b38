//! A host that runs `ddns watch`: the parts of the core that the program drives, called in the order in which it calls them
//! (`sync.rs` and `watch/event_loop.rs`). One entry, IPv4; looking up an address takes no time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::config::Concurrency;
use ddns_core::net::family::Family;
use ddns_core::schedule::lookups::Schedule;
use ddns_core::schedule::queue::{Lane, LaneKey, Queue, UpdateId};
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::{Rules, Verdict, judge};
use ddns_core::update::state::{ClaimKey, Fingerprint, InDoubt, State};

use crate::random::Random;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const MAX_AGE: Duration = Duration::from_secs(3 * 86_400);

/// The time of day at the beginning, in seconds since the epoch.
pub(crate) const BEGIN: u64 = 1_763_170_000;

/// The number that marks of this process carry.
const OWN: u32 = 7;

/// A request that begins.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) start: (UpdateId, Lane),
    pub(crate) ip: IpAddr,
}

#[derive(Debug)]
pub(crate) struct Host {
    keys: Vec<ClaimKey>,
    schedule: Schedule,
    queue: Queue,
    lane: Lane,
    state: State,
    observed: Option<IpAddr>,
    doubts: HashMap<UpdateId, InDoubt>,
}

impl Host {
    pub(crate) fn new(domains: &[Domain], interval: Duration, now: Duration) -> Self {
        let callback = Fingerprint::new([7; 16]);
        let key = |domain: &Domain| ClaimKey { callback, domain: domain.clone(), family: Family::V4 };
        let mut queue = Queue::new(domains.len(), Some(Schedule::backoff(&[interval])));
        Self {
            lane: queue.lane(LaneKey::Origin("http://endpoint".to_owned()), Concurrency::Auto),
            queue,
            keys: domains.iter().map(key).collect(),
            schedule: Schedule::new(&[interval], now),
            state: State::new(vec![1]),
            observed: None,
            doubts: HashMap::new(),
        }
    }

    /// When to step again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.schedule.wake_at().into_iter().chain(self.queue.wake_at()).min()
    }

    pub(crate) fn network_changed(&mut self, now: Duration) {
        self.schedule.network_changed(Family::V4, false, now);
    }

    pub(crate) fn request(&mut self, now: Duration) {
        self.schedule.request(now);
    }

    /// Looks up what is due, where the host's address is this one, and begins what may begin.
    pub(crate) fn step(&mut self, address: Option<IpAddr>, now: Duration, random: &mut Random) -> Vec<Request> {
        if self.schedule.wake_at().is_some_and(|at| at <= now) {
            let due = self.schedule.due(now, random.jitter());
            if due.includes(0, 0, Family::V4) {
                self.observed = address;
                self.schedule.looked_up(0, Family::V4, address, now, random.jitter());
                (0..).zip(0..self.keys.len()).for_each(|(job, _)| self.queue_update(job, now));
            }
            if let Some(everything) = self.schedule.take_retry() {
                self.queue.retry_now(everything);
            }
        }
        self.start(now)
    }

    fn start(&mut self, now: Duration) -> Vec<Request> {
        let mut requests = Vec::new();
        while let Some(start) = self.queue.start(now) {
            let Some(ip) = self.observed else {
                self.queue.give_back(start);
                continue;
            };
            let key = &self.keys[start.0 as usize];
            let update = Update { domain: &key.domain, family: Family::V4, ip };
            let until = clock(now + TIMEOUT);
            if let Some((marked, before)) = self.state.entry(key).marked(&update, until, OWN, clock(now)) {
                self.state.set(key, marked);
                self.doubts.extend(before.map(|before| (start.0, before)));
            }
            requests.push(Request { start, ip });
        }
        requests
    }

    /// Takes in how a request ended.
    pub(crate) fn ended(
        &mut self,
        request: &Request,
        outcome: &Outcome,
        retry_after: Option<Duration>,
        now: Duration,
        random: &mut Random,
    ) {
        let job = request.start.0;
        let key = &self.keys[job as usize];
        let update = Update { domain: &key.domain, family: Family::V4, ip: request.ip };
        let before = self.doubts.remove(&job);
        let entry = self.state.entry(key).settled(outcome, &update, before, clock(now));
        self.state.set(key, entry);
        let is_outdated = self.queue.finish(request.start, outcome, retry_after, now, random.jitter());
        match self.observed {
            None => self.queue.withdraw(job),
            Some(_) if is_outdated => self.queue_update(job, now),
            Some(_) => {}
        }
    }

    fn queue_update(&mut self, job: UpdateId, now: Duration) {
        let Some(ip) = self.observed else {
            self.queue.withdraw(job);
            return;
        };
        let key = &self.keys[job as usize];
        let update = Update { domain: &key.domain, family: Family::V4, ip };
        let rules = Rules { max_age: Some(MAX_AGE), min_interval: Duration::ZERO };
        match judge(&update, rules, Some(self.state.of(key.callback)), OWN, clock(now)) {
            Verdict::Send(_) => self.queue.push(job, self.lane),
            Verdict::UpToDate(_) => self.queue.withdraw(job),
            other => unreachable!("nobody else sends, and nothing is held back: {other:?}"),
        }
    }
}

pub(crate) fn clock(now: Duration) -> u64 {
    BEGIN + now.as_secs()
}
