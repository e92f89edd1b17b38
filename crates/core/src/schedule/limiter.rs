//! How many requests may be under way at once.
//!
//! `auto` begins with one: a wrong key costs one failure and not sixty. Each clean round doubles the number, up to
//! [`MOST`]; an endpoint that is overloaded or cannot be reached halves it. Beyond [`ENOUGH`] more are under way only
//! while the endpoint takes its time: with a quick one they would wait in another place, and cost memory here.
//!
//! An endpoint that is slow to take a connection has a short line for new ones (five places, with many small servers), and
//! whoever finds it full waits. That halves the number too, and from there it grows by one a round. While connections are
//! being made, the number grows slowly: they may be those that found the line full.

use std::time::Duration;

use crate::config::Concurrency;
use crate::update::outcome::Outcome;

/// The most that `auto` has under way.
const MOST: usize = 64;

/// As many are enough for an endpoint that responds to them within [`QUICK`]: 16,000 requests in a second.
const ENOUGH: usize = 32;
const QUICK: Duration = Duration::from_millis(2);

/// So many find room in the line of any endpoint.
const FEW: usize = 4;

/// After this time it is known whether a connection was taken.
const SETTLE: Duration = Duration::from_millis(25);

/// How the line of new connections at an endpoint was when one of the requests ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Nobody waits in it, as far as we know.
    Free,
    /// Connections are being made.
    Busy,
    /// The connection of this request was not taken at first.
    Full,
}

/// The limiter toward one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limiter {
    limit: usize,
    /// Accepted in this round; none where the limit is fixed.
    clean: Option<usize>,
    /// When this round began.
    since: Duration,
    /// From here on the limit grows by one a round.
    careful_from: usize,
    /// When the line was full last.
    full_at: Option<Duration>,
    /// Whether connections are being made.
    is_busy: bool,
}

impl Limiter {
    /// As configured.
    pub fn new(concurrency: Concurrency) -> Self {
        let (limit, clean) = match concurrency {
            Concurrency::Auto => (1, Some(0)),
            Concurrency::Fixed(number) => (number.get().into(), None),
        };
        Self { limit, clean, since: Duration::ZERO, careful_from: MOST, full_at: None, is_busy: false }
    }

    /// How many requests may be under way now; at least one.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes in how one of them ended, and when.
    pub fn learn(&mut self, outcome: &Outcome, now: Duration) {
        let Some(clean) = &mut self.clean else { return };
        if outcome.is_accepted() {
            *clean += 1;
            let (clean, took) = (*clean, now.saturating_sub(self.since));
            let is_settled = self.limit < FEW || !self.is_busy || took >= SETTLE;
            if clean >= self.limit && is_settled {
                self.limit = self.next_limit(took < QUICK);
                (self.clean, self.since) = (Some(0), now);
            }
            return;
        }
        (*clean, self.since) = (0, now);
        // Where the endpoint works and refuses, there is neither a reason to hurry nor to slow down.
        if outcome.is_trouble() {
            self.limit = (self.limit / 2).max(1);
        }
    }

    /// Takes in how the line of new connections was when a request ended. What is full within a moment is full once.
    pub fn note(&mut self, line: Line, now: Duration) {
        self.is_busy = line != Line::Free;
        let is_known = self.full_at.is_some_and(|at| now.saturating_sub(at) < 2 * SETTLE);
        if line == Line::Full && self.clean.is_some() && !is_known {
            self.limit = (self.limit / 2).max(1);
            self.careful_from = self.limit;
            (self.clean, self.since, self.full_at) = (Some(0), now, Some(now));
        }
    }

    /// The limit after a clean round.
    fn next_limit(&self, is_quick: bool) -> usize {
        match self.limit {
            limit @ ENOUGH.. if is_quick => (limit / 2).max(ENOUGH),
            limit if limit >= self.careful_from => (limit + 1).min(MOST),
            limit => (limit * 2).min(self.careful_from),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use proptest::prelude::*;

    use super::*;

    fn failed() -> Outcome {
        Outcome::Failed { why: String::new(), reached: false }
    }

    /// The limits that a series of accepted requests goes through, each this long after the other.
    fn limits(limiter: &mut Limiter, pause: Duration) -> Vec<usize> {
        let mut limits = Vec::new();
        for number in 1..2000 {
            limits.push(limiter.limit());
            limiter.learn(&Outcome::Accepted(204), pause * number);
        }
        limits.dedup();
        limits
    }

    #[test]
    fn a_clean_round_doubles_and_an_overload_halves() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        assert_eq!(limits(&mut limiter, Duration::from_millis(1)), [1, 2, 4, 8, 16, 32, 64]);
        limiter.learn(&Outcome::Refused(429), Duration::ZERO);
        assert_eq!(limiter.limit(), 32);
        limiter.learn(&failed(), Duration::ZERO);
        assert_eq!(limiter.limit(), 16);
        limiter.learn(&Outcome::Refused(404), Duration::ZERO);
        assert_eq!(limiter.limit(), 16);
    }

    #[test]
    fn an_endpoint_whose_line_is_full_gets_half_and_then_one_more_each_round() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let pause = Duration::from_millis(10);
        for number in 1..=15 {
            limiter.learn(&Outcome::Accepted(204), pause * number);
        }
        assert_eq!(limiter.limit(), 16);
        limiter.note(Line::Full, pause * 16);
        limiter.note(Line::Full, pause * 17);
        assert_eq!(limiter.limit(), 8, "two connections that found it full together");
        for number in 18..=34 {
            limiter.learn(&Outcome::Accepted(204), pause * number);
        }
        assert_eq!(limiter.limit(), 10);
        limiter.learn(&failed(), pause * 35);
        assert_eq!(limiter.limit(), 5);
        for number in 36..=40 {
            limiter.learn(&Outcome::Accepted(204), pause * number);
        }
        assert_eq!(limiter.limit(), 8, "doubled, up to where care began");
        let mut fixed = Limiter::new(Concurrency::Fixed(NonZeroU16::MAX));
        fixed.note(Line::Full, pause);
        assert_eq!(fixed.limit(), usize::from(u16::MAX));
    }

    #[test]
    fn while_connections_are_being_made_more_than_a_few_wait_until_it_is_known_that_they_were_taken() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let mut limit_at = |line, number: u32| {
            let now = Duration::from_millis(1) * number;
            limiter.note(line, now);
            limiter.learn(&Outcome::Accepted(204), now);
            limiter.limit()
        };
        let busy: Vec<usize> = (1..=28).map(|number| limit_at(Line::Busy, number)).collect();
        assert_eq!((busy[2], busy[26], busy[27]), (4, 4, 8));
        let free: Vec<usize> = (29..=36).map(|number| limit_at(Line::Free, number)).collect();
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
            limiter.learn(&Outcome::Refused(403), Duration::ZERO);
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
                    0 => limiter.learn(&Outcome::Refused(503), now),
                    1 => limiter.learn(&failed(), now),
                    2 => limiter.learn(&Outcome::Refused(404), now),
                    3 => limiter.note(Line::Full, now),
                    _ => limiter.learn(&Outcome::Accepted(200), now),
                }
                match concurrency {
                    Concurrency::Auto => prop_assert!((1..=MOST).contains(&limiter.limit())),
                    Concurrency::Fixed(number) => prop_assert_eq!(limiter.limit(), usize::from(number.get())),
                }
            }
        }
    }
}
