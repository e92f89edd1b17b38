//! Numbers that look random, and come again with the same seed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

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
