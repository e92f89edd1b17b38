//! How many requests may be under way at once.
//!
//! `auto` begins with one: a wrong key costs one failure, not sixty. Each clean round doubles the limit, up to [`MAX_LIMIT`]; an
//! endpoint that is overloaded or out of reach halves it. More than [`MAX_FAST_LIMIT`] requests are under way only while the endpoint
//! is slow: with a fast one, they would only wait elsewhere and cost memory here.
//!
//! An endpoint that is slow to accept connections has a short accept queue (five places on many small servers), and connections
//! that find it full must wait. That halves the limit, too. A server with a single thread, where new connections wait until it
//! closes another one, gets one request at a time. From there, the limit grows by one each round, and whenever that was in
//! vain, rounds become eight times as long. While connections are being made, the limit grows slowly: they may have found the
//! queue full.
//!
//! Requests that hang must not hold up others (A6): one more may then start beside them.

use std::time::Duration;

use crate::config::Concurrency;
use crate::update::outcome::Outcome;

/// The highest limit of `auto`.
const MAX_LIMIT: usize = 64;

/// Enough for an endpoint that responds within [`QUICK`]: 16,000 requests per second.
const MAX_FAST_LIMIT: usize = 32;
const QUICK: Duration = Duration::from_millis(2);

/// So few connections always fit in the accept queue of an endpoint.
const FEW: usize = 4;

/// After this time, it is known whether a connection was accepted.
const SETTLE: Duration = Duration::from_millis(25);

/// After this time without a response, the request itself is slow.
const SLOW: Duration = Duration::from_millis(250);

/// The maximum length of a round, as a multiple of the limit.
const MAX_ROUND: usize = 512;

/// The state of an endpoint's accept queue (its connections that wait to be accepted) when a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptQueue {
    /// No connection waits in it, as far as ddns knows.
    Free,
    /// Connections are being made, or have had no response yet.
    Busy,
    /// The same, and this request used another connection: more requests at once may not help.
    Ahead,
    /// The connection of this request was not accepted at first.
    Full,
    /// The request waited until another connection ended: the endpoint serves one at a time.
    Single,
}

/// The limit of requests under way to one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limiter {
    limit: usize,
    /// How many were accepted in this round; `None` if the limit is fixed.
    clean: Option<usize>,
    /// When this round began.
    since: Duration,
    /// From this value on, the limit grows by one each round.
    careful_from: usize,
    /// When the accept queue was last full; `None` if the limit has grown since.
    full_at: Option<Duration>,
    /// The length of a round, as a multiple of the limit.
    patience: usize,
    /// The accept queue when the last request ended.
    line: AcceptQueue,
    /// How many may be under way because some of them hang.
    beside: usize,
}

impl Limiter {
    /// A limiter as configured.
    pub fn new(concurrency: Concurrency) -> Self {
        let (limit, clean) = match concurrency {
            Concurrency::Auto => (1, Some(0)),
            Concurrency::Fixed(number) => (number.get().into(), None),
        };
        let (since, careful_from, patience, line) = (Duration::ZERO, MAX_LIMIT, 1, AcceptQueue::Free);
        Self { limit, clean, since, careful_from, full_at: None, patience, line, beside: 0 }
    }

    /// How many requests the endpoint takes at once, as far as ddns knows; at least one.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Whether another request may start while this many are under way.
    pub fn has_room(&self, under_way: usize) -> bool {
        under_way < self.limit.max(self.beside)
    }

    /// Whether another request could start if the ones under way hang.
    pub fn could_hang(&self, under_way: usize) -> bool {
        self.clean.is_some() && (1..MAX_LIMIT).contains(&under_way)
    }

    /// This many requests are under way and hang: one more may start.
    pub fn hang(&mut self, under_way: usize) {
        self.beside = under_way + 1;
    }

    /// Notes how a request ended, and how many are still under way.
    pub fn learn(&mut self, outcome: &Outcome, now: Duration, under_way: usize) {
        let Some(clean) = &mut self.clean else { return };
        if under_way == 0 || outcome.is_overload() {
            self.beside = 0;
        } else if outcome.is_trouble() {
            self.beside = self.beside.saturating_sub(1);
        }
        if outcome.is_accepted() {
            *clean += 1;
            let (clean, took) = (*clean, now.saturating_sub(self.since));
            let is_settled = match self.line {
                AcceptQueue::Free => true,
                // Requests without a response by then are slow, or hang.
                AcceptQueue::Ahead => took >= SLOW,
                AcceptQueue::Busy | AcceptQueue::Full | AcceptQueue::Single => self.limit < FEW || took >= SETTLE,
            };
            if clean >= self.limit * self.patience && is_settled {
                self.grow(took.as_micros() * (self.limit as u128) < QUICK.as_micros() * (clean as u128));
                (self.clean, self.since) = (Some(0), now);
            }
            return;
        }
        (*clean, self.since) = (0, now);
        // If the endpoint works and refuses, there is no reason to hurry or to slow down.
        if outcome.is_trouble() {
            self.limit = (self.limit / 2).max(1);
        }
    }

    /// Notes the state of the accept queue when a request ended. Several reports within a moment count as one.
    pub fn note(&mut self, line: AcceptQueue, now: Duration) {
        self.line = line;
        let is_known = self.full_at.is_some_and(|at| now.saturating_sub(at) < 2 * SETTLE);
        let limit = match line {
            AcceptQueue::Full if !is_known => (self.limit / 2).max(1),
            AcceptQueue::Single if self.limit > 1 => 1,
            _ => return,
        };
        if self.clean.is_some() {
            (self.limit, self.careful_from) = (limit, limit);
            self.patience = (8 * self.patience).min(MAX_ROUND);
            (self.clean, self.since, self.full_at) = (Some(0), now, Some(now));
        }
    }

    /// A clean round is over: adjusts the limit.
    fn grow(&mut self, is_quick: bool) {
        let limit = match self.limit {
            limit @ MAX_FAST_LIMIT.. if is_quick => (limit / 2).max(MAX_FAST_LIMIT),
            // With a connection each, requests are quick enough: more would find the accept queue full.
            limit @ FEW.. if is_quick && self.line != AcceptQueue::Free => limit,
            limit if limit >= self.careful_from => (limit + 1).min(MAX_LIMIT),
            limit => (limit * 2).min(self.careful_from),
        };
        if self.limit > self.careful_from {
            self.patience = (self.patience / 8).max(1);
        }
        if limit > self.limit {
            self.full_at = None;
        }
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use proptest::prelude::*;

    use super::*;
    use crate::update::outcome::Why;

    fn failed() -> Outcome {
        Outcome::Failed(Why::NoResponse { why: String::new(), reached: false })
    }

    /// The limits during a series of accepted requests, each `pause` after the one before.
    fn limits(limiter: &mut Limiter, pause: Duration) -> Vec<usize> {
        let mut limits = Vec::new();
        for number in 1..2000 {
            limits.push(limiter.limit());
            limiter.learn(&Outcome::Accepted(204), pause * number, 0);
        }
        limits.dedup();
        limits
    }

    #[test]
    fn a_clean_round_doubles_and_an_overload_halves() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        assert_eq!(limits(&mut limiter, Duration::from_millis(1)), [1, 2, 4, 8, 16, 32, 64]);
        limiter.learn(&Outcome::of_status(429), Duration::ZERO, 0);
        assert_eq!(limiter.limit(), 32);
        limiter.learn(&failed(), Duration::ZERO, 0);
        assert_eq!(limiter.limit(), 16);
        limiter.learn(&Outcome::of_status(404), Duration::ZERO, 0);
        assert_eq!(limiter.limit(), 16);
    }

    #[test]
    fn an_endpoint_whose_line_is_full_gets_half_and_then_one_more_each_round() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let pause = Duration::from_millis(10);
        for number in 1..=15 {
            limiter.learn(&Outcome::Accepted(204), pause * number, 0);
        }
        assert_eq!(limiter.limit(), 16);
        limiter.note(AcceptQueue::Full, pause * 16);
        limiter.note(AcceptQueue::Full, pause * 17);
        assert_eq!(limiter.limit(), 8, "two connections that found it full together");
        limiter.note(AcceptQueue::Free, pause * 18);
        let accept = |limiter: &mut Limiter, times: usize| {
            (0..times).for_each(|_| limiter.learn(&Outcome::Accepted(204), pause * 18, 0));
            limiter.limit()
        };
        assert_eq!((accept(&mut limiter, 63), accept(&mut limiter, 1)), (8, 9), "after a longer round");
        assert_eq!((accept(&mut limiter, 71), accept(&mut limiter, 1)), (9, 10));
        assert_eq!(accept(&mut limiter, 10), 11, "it was not in vain: rounds are as long as before");
        limiter.learn(&failed(), pause * 35, 0);
        assert_eq!(limiter.limit(), 5);
        assert_eq!(accept(&mut limiter, 5), 8, "doubled, up to where care began");
        let mut fixed = Limiter::new(Concurrency::Fixed(NonZeroU16::MAX));
        fixed.note(AcceptQueue::Full, pause);
        assert_eq!(fixed.limit(), usize::from(u16::MAX));
    }

    #[test]
    fn where_new_connections_get_no_response_the_limit_waits() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        limiter.note(AcceptQueue::Ahead, Duration::ZERO);
        for (now, limit) in [(1, 1), (249, 1), (250, 2), (251, 2), (499, 2), (500, 4)] {
            limiter.learn(&Outcome::Accepted(204), Duration::from_millis(now), 1);
            assert_eq!(limiter.limit(), limit, "{now}");
        }
        limiter.note(AcceptQueue::Free, Duration::ZERO);
        (0..4).for_each(|_| limiter.learn(&Outcome::Accepted(204), Duration::from_millis(501), 1));
        assert_eq!(limiter.limit(), 8);
    }

    #[test]
    fn an_endpoint_that_takes_one_at_a_time_is_asked_ever_more_seldom_whether_it_takes_another() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let mut rounds = Vec::new();
        for round in 1..=5 {
            let now = Duration::from_millis(1) * round;
            let mut times = 0;
            while limiter.limit() == 1 {
                limiter.learn(&Outcome::Accepted(204), now, 0);
                times += 1;
            }
            rounds.push(times);
            (0..2).for_each(|_| limiter.note(AcceptQueue::Single, now));
        }
        assert_eq!(rounds, [1, 8, 64, 512, 512]);
    }

    #[test]
    fn a6_one_more_may_start_beside_those_that_hang_until_they_end() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        for hanging in 1..MAX_LIMIT {
            assert!(!limiter.has_room(hanging) && limiter.could_hang(hanging), "{hanging}");
            limiter.hang(hanging);
            assert!(limiter.has_room(hanging) && !limiter.has_room(hanging + 1), "{hanging}");
        }
        assert!(!limiter.could_hang(MAX_LIMIT) && !limiter.could_hang(0));
        limiter.learn(&failed(), Duration::ZERO, MAX_LIMIT - 1);
        assert!(!limiter.has_room(MAX_LIMIT - 1), "its place went with it");
        limiter.learn(&Outcome::Accepted(204), Duration::ZERO, MAX_LIMIT - 2);
        assert!(limiter.has_room(MAX_LIMIT - 2), "the next one takes the place of one that was accepted");
        limiter.learn(&Outcome::of_status(503), Duration::ZERO, 9);
        assert!(!limiter.has_room(9), "an overload takes all of them");
        limiter.hang(9);
        limiter.learn(&Outcome::Accepted(204), Duration::ZERO, 0);
        assert!(!limiter.has_room(3), "nothing hangs");
        assert!(!Limiter::new(Concurrency::Fixed(NonZeroU16::MIN)).could_hang(1), "strict order stays");
    }

    #[test]
    fn while_connections_are_being_made_more_than_a_few_wait_until_it_is_known_that_they_were_taken() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let mut limit_at = |line, number: u32| {
            let now = Duration::from_millis(1) * number;
            limiter.note(line, now);
            limiter.learn(&Outcome::Accepted(204), now, 0);
            limiter.limit()
        };
        let busy: Vec<usize> = (1..=28).map(|number| limit_at(AcceptQueue::Busy, number)).collect();
        assert_eq!((busy[2], busy[26], busy[27]), (4, 4, 8));
        let free: Vec<usize> = (29..=36).map(|number| limit_at(AcceptQueue::Free, number)).collect();
        assert_eq!(free[7], 16);
    }

    #[test]
    fn a_quick_endpoint_gets_no_more_at_once_than_it_needs() {
        let quick = Duration::from_micros(20);
        let mut limiter = Limiter::new(Concurrency::Auto);
        assert_eq!(limits(&mut limiter, quick), [1, 2, 4, 8, 16, 32]);
        let mut limiter = Limiter { limit: 64, ..Limiter::new(Concurrency::Auto) };
        assert_eq!(limits(&mut limiter, quick), [64, 32], "one that became quick");
    }

    #[test]
    fn a_wrong_key_never_brings_more_than_one_request_under_way() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        for _ in 0..100 {
            limiter.learn(&Outcome::of_status(403), Duration::ZERO, 0);
            assert_eq!(limiter.limit(), 1);
        }
    }

    proptest! {
        #[test]
        fn the_limit_stays_between_one_and_the_most(outcomes in proptest::collection::vec(0..5u8, 0..300), fixed in 0..1000u16) {
            let concurrency = NonZeroU16::new(fixed).map_or(Concurrency::Auto, Concurrency::Fixed);
            let mut limiter = Limiter::new(concurrency);
            for (number, outcome) in (0u32..).zip(outcomes) {
                let now = Duration::from_millis(20) * number;
                match outcome {
                    0 => limiter.learn(&Outcome::of_status(503), now, 0),
                    1 => limiter.learn(&failed(), now, 0),
                    2 => limiter.learn(&Outcome::of_status(404), now, 0),
                    3 => limiter.note(AcceptQueue::Full, now),
                    _ => limiter.learn(&Outcome::Accepted(200), now, 0),
                }
                match concurrency {
                    Concurrency::Auto => prop_assert!((1..=MAX_LIMIT).contains(&limiter.limit())),
                    Concurrency::Fixed(number) => prop_assert_eq!(limiter.limit(), usize::from(number.get())),
                }
            }
        }
    }
}
