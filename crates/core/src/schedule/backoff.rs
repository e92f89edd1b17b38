//! How long to wait before a retry.

use std::time::Duration;

/// The longest wait after the first failure.
const FIRST: Duration = Duration::from_secs(5);

/// The shortest wait, whatever the jitter.
const MIN_DELAY: Duration = Duration::from_secs(1);

/// Exponential backoff with full jitter, from 5 s, doubled up to a cap: hosts that failed together do not return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest wait of all.
    pub cap: Duration,
}

impl Backoff {
    /// The longest possible wait after this many consecutive failures.
    pub fn step(self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).filter(|_| failures <= 20).unwrap_or(u32::MAX);
        FIRST.saturating_mul(doubled).min(self.cap)
    }

    /// How long to wait after this many consecutive failures. `jitter` is from 0 to 1.
    pub fn delay(self, failures: u32, jitter: f64) -> Duration {
        self.step(failures).mul_f64(jitter.clamp(0.0, 1.0)).max(MIN_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_double_up_to_the_cap() {
        let backoff = Backoff { cap: Duration::from_secs(300) };
        let steps: Vec<u64> = (1..10).map(|failures| backoff.step(failures).as_secs()).collect();
        assert_eq!(steps, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(backoff.step(u32::MAX), Duration::from_secs(300));
    }

    #[test]
    fn the_delay_is_anywhere_in_the_step_but_never_nothing() {
        let backoff = Backoff { cap: Duration::from_secs(300) };
        assert_eq!(backoff.delay(3, 0.0), MIN_DELAY);
        assert_eq!(backoff.delay(3, 0.5), Duration::from_secs(10));
        assert!(backoff.delay(3, 0.999) < Duration::from_secs(20));
    }
}
