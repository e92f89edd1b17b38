//! When to react to changes of the network that follow each other: the first at once, the steps of one change soon, and an
//! address that flaps less and less often.

use std::time::Duration;

/// A change often comes in steps, one address going and another one coming: the first few lookups follow so soon after
/// each other...
pub(super) const STEP: Duration = Duration::from_millis(50);

/// ...as long as they are no more than these.
pub(super) const STEPS: u32 = 3;

/// Changes that follow each other within this are taken together.
pub(super) const GAP: Duration = Duration::from_secs(1);

/// However long an address flaps, lookups are no further apart than this.
pub(super) const LONGEST_GAP: Duration = Duration::from_secs(30);

/// The kernel needs about two seconds to know that an address is unique. After this, it is not waited for any more.
pub(super) const SETTLING: Duration = Duration::from_secs(5);

/// The changes of one family.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Debounce {
    /// When a lookup is due; none where nothing changed since the last one.
    at: Option<Duration>,
    /// When the last one was due.
    last: Option<Duration>,
    /// How many followed each other.
    count: u32,
    /// Since when an address has been settling.
    settling: Option<Duration>,
}

impl Debounce {
    /// When a lookup is due.
    pub(super) fn at(&self) -> Option<Duration> {
        self.at
    }

    /// Takes in a change.
    pub(super) fn changed(&mut self, is_settling: bool, now: Duration) {
        let at = self.last.map_or(now, |last| now.max(last + self.gap()));
        let at = if is_settling {
            // The kernel will report when the address is good.
            at.max(*self.settling.get_or_insert(now) + SETTLING)
        } else {
            self.settling = None;
            at
        };
        let has_settled = self.at.is_some() && !is_settling;
        self.at = Some(if has_settled { at } else { self.at.map_or(at, |before| before.max(at)) });
    }

    /// Whether a lookup is due now; then it counts as done.
    pub(super) fn due(&mut self, now: Duration) -> bool {
        if self.at.is_none_or(|at| now < at) {
            return false;
        }
        let is_quiet = self.last.is_none_or(|last| now > last + self.gap().max(GAP) * 2);
        self.count = if is_quiet { 1 } else { self.count.saturating_add(1) };
        self.last = Some(now);
        self.at = None;
        self.settling = None;
        true
    }

    /// How long to wait after the last lookup: longer and longer while an address flaps.
    fn gap(&self) -> Duration {
        match self.count.checked_sub(STEPS) {
            None => STEP,
            Some(more) => GAP.saturating_mul(1 << more.min(10)).min(LONGEST_GAP),
        }
    }
}
