//! Random numbers. The simulation of a group also uses this file.

use std::time::Duration;

/// A generator that gives the same numbers in every run.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    /// A number from 0 to 1.
    pub(crate) fn jitter(&mut self) -> f64 {
        f64::from(u32::try_from(self.number() >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
    }

    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.jitter())
    }
}
