//! How many requests may be under way at once.
//!
//! `auto` begins with one: a wrong key costs one failure and not sixty. Each clean round doubles the number, up to
//! [`MOST`]; an endpoint that is overloaded or cannot be reached halves it.

use crate::config::Concurrency;
use crate::update::outcome::Outcome;

/// The most that `auto` has under way.
const MOST: usize = 64;

/// The limiter toward one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limiter {
    limit: usize,
    /// Accepted since the limit last changed; none where the limit is fixed.
    clean: Option<usize>,
}

impl Limiter {
    /// As configured.
    pub fn new(concurrency: Concurrency) -> Self {
        match concurrency {
            Concurrency::Auto => Self { limit: 1, clean: Some(0) },
            Concurrency::Fixed(number) => Self { limit: number.get().into(), clean: None },
        }
    }

    /// How many requests may be under way now; at least one.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes in how one of them ended.
    pub fn learn(&mut self, outcome: &Outcome) {
        let Some(clean) = &mut self.clean else { return };
        if outcome.is_accepted() {
            *clean += 1;
            if *clean >= self.limit {
                *clean = 0;
                self.limit = (self.limit * 2).min(MOST);
            }
            return;
        }
        *clean = 0;
        // Where the endpoint works and says no, there is neither a reason to hurry nor to slow down.
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

    #[test]
    fn a_clean_round_doubles_and_an_overload_halves() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        let mut limits = Vec::new();
        for _ in 0..200 {
            limits.push(limiter.limit());
            limiter.learn(&Outcome::Accepted(204));
        }
        limits.dedup();
        assert_eq!(limits, [1, 2, 4, 8, 16, 32, 64]);
        limiter.learn(&Outcome::Refused(429));
        assert_eq!(limiter.limit(), 32);
        limiter.learn(&failed());
        assert_eq!(limiter.limit(), 16);
        limiter.learn(&Outcome::Refused(404));
        assert_eq!(limiter.limit(), 16);
    }

    #[test]
    fn a_wrong_key_never_brings_more_than_one_request_under_way() {
        let mut limiter = Limiter::new(Concurrency::Auto);
        for _ in 0..100 {
            limiter.learn(&Outcome::Refused(403));
            assert_eq!(limiter.limit(), 1);
        }
    }

    proptest! {
        #[test]
        fn the_limit_stays_between_one_and_the_most(outcomes in proptest::collection::vec(0..4u8, 0..300), fixed in 0..1000u16) {
            let concurrency = NonZeroU16::new(fixed).map_or(Concurrency::Auto, Concurrency::Fixed);
            let mut limiter = Limiter::new(concurrency);
            for outcome in outcomes {
                limiter.learn(&match outcome {
                    0 => Outcome::Refused(503),
                    1 => failed(),
                    2 => Outcome::Refused(404),
                    _ => Outcome::Accepted(200),
                });
                match concurrency {
                    Concurrency::Auto => prop_assert!((1..=MOST).contains(&limiter.limit())),
                    Concurrency::Fixed(number) => prop_assert_eq!(limiter.limit(), usize::from(number.get())),
                }
            }
        }
    }
}
