//! Numbers that look random, and come again with the same seed.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::{Duration, Instant};

pub struct Random(u64);

impl Random {
    /// Other numbers in each run of the tests.
    pub fn new() -> Self {
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    pub fn seeded(seed: u64) -> Self {
        // Seeds that are close to each other give other numbers at once; never zero, which would stay so.
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1))
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).expect("less than a usize")
    }

    /// The same things in another order.
    pub fn shuffled<T: Copy>(&mut self, things: &[T]) -> Vec<T> {
        let mut things = things.to_vec();
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
        things
    }
}

/// Tries an invariant with one seed after the other, for `DDNS_TEST_SECONDS` (4 where that is not set), and prints how often. A try that fails says
/// why; `DDNS_TEST_SEED=N` repeats it alone.
#[track_caller]
pub fn try_for_a_while(invariant: &str, mut attempt: impl FnMut(&mut Random) -> Result<(), String>) {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut check = |seed| {
        if let Err(wrong) = attempt(&mut Random::seeded(seed)) {
            panic!("{invariant}: DDNS_TEST_SEED={seed}: {wrong}");
        }
    };
    if let Some(seed) = number("DDNS_TEST_SEED") {
        return check(seed);
    }
    let end = Instant::now() + Duration::from_secs(number("DDNS_TEST_SECONDS").unwrap_or(4));
    let (first, mut count) = (Random::new().below(1_000_000_000) as u64, 0);
    while count == 0 || Instant::now() < end {
        check(first + count);
        count += 1;
    }
    println!("{invariant}: held {count} times, from DDNS_TEST_SEED={first}");
}
