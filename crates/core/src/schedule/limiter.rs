//! How many requests may be under way at once.
//!
//! `auto` begins with one: a wrong key costs one failure and not sixty. Each clean round doubles the number, up to
//! [`MOST`]; an endpoint that is overloaded or cannot be reached halves it. Beyond [`ENOUGH`] more are under way only
//! while the endpoint takes its time: with a quick one they would wait in another place, and cost memory here.

use std::time::Duration;

use crate::config::Concurrency;
use crate::update::outcome::Outcome;

/// The most that `auto` has under way.
const MOST: usize = 64;

/// As many are enough for an endpoint that responds to them within [`QUICK`]: 16,000 requests in a second.
const ENOUGH: usize = 32;
const QUICK: Duration = Duration::from_millis(2);

/// The limiter toward one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limiter {
    limit: usize,
    /// Accepted in this round; none where the limit is fixed.
    clean: Option<usize>,
    /// When this round began.
    since: Duration,
}

impl Limiter {
    /// As configured.
    pub fn new(concurrency: Concurrency) -> Self {
        match concurrency {
            Concurrency::Auto => Self { limit: 1, clean: Some(0), since: Duration::ZERO },
            Concurrency::Fixed(number) => Self { limit: number.get().into(), clean: None, since: Duration::ZERO },
        }
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
            if *clean >= self.limit {
                *clean = 0;
                let is_quick = now.saturating_sub(self.since) < QUICK;
                self.since = now;
                self.limit = match self.limit {
                    limit @ ENOUGH.. if is_quick => (limit / 2).max(ENOUGH),
                    limit => (limit * 2).min(MOST),
                };
            }
            return;
        }
        (*clean, self.since) = (0, now);
        // Where the endpoint works and refuses, there is neither a reason to hurry nor to slow down.
        if outcome.is_trouble() {
            self.limit = (self.limit / 2).max(1);
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
        fn the_limit_stays_between_one_and_the_most(outcomes in proptest::collection::vec(0..4u8, 0..300), fixed in 0..1000u16) {
            let concurrency = NonZeroU16::new(fixed).map_or(Concurrency::Auto, Concurrency::Fixed);
            let mut limiter = Limiter::new(concurrency);
            for outcome in outcomes {
                let outcome = match outcome {
                    0 => Outcome::Refused(503),
                    1 => failed(),
                    2 => Outcome::Refused(404),
                    _ => Outcome::Accepted(200),
                };
                limiter.learn(&outcome, Duration::ZERO);
                match concurrency {
                    Concurrency::Auto => prop_assert!((1..=MOST).contains(&limiter.limit())),
                    Concurrency::Fixed(number) => prop_assert_eq!(limiter.limit(), usize::from(number.get())),
                }
            }
        }
    }
}
