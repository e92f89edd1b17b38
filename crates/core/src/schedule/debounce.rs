//! When to react to a series of network changes: to the first at once, to the steps of one change soon, and to an address that
//! flaps less and less often.
//!
//! An address that was not seen before is not flapping: one second without a change is then enough for ddns to react to the
//! next change at once. If the same addresses return, this takes longer and longer.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// One change often comes in steps: one address goes, another one comes. The second lookup may follow the first this soon, and
/// the third the second.
pub(super) const STEPS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// Further changes within this time are handled together.
pub(super) const GAP: Duration = Duration::from_secs(1);

/// However long an address flaps, lookups are at most this far apart.
pub(super) const MAX_GAP: Duration = Duration::from_secs(30);

/// How many addresses to remember: one that comes back is not new.
pub(super) const REMEMBERED: usize = 16;

/// The changes of one family.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    /// When a lookup is due; `None` if nothing changed since the last one.
    at: Option<Duration>,
    /// When the last lookup was taken as due.
    last: Option<Duration>,
    /// How many lookups followed each other.
    count: usize,
    /// The addresses that lookups found, latest first.
    seen: VecDeque<IpAddr>,
    /// Whether one of these lookups found an address that was not seen before.
    has_new_address: bool,
}

impl Debounce {
    /// When a lookup is due.
    pub(super) fn at(&self) -> Option<Duration> {
        self.at
    }

    /// Notes a change.
    pub(super) fn changed(&mut self, now: Duration) {
        if self.at.is_none() && self.is_quiet(now) {
            self.count = 0;
            self.has_new_address = false;
        }
        let at = self.last.map_or(now, |last| now.max(last + self.gap()));
        self.at = Some(at);
    }

    /// Whether a lookup is due now; if so, it counts as done.
    pub(super) fn due(&mut self, now: Duration) -> bool {
        if self.at.is_none_or(|at| now < at) {
            return false;
        }
        self.count += 1;
        self.last = Some(now);
        self.at = None;
        true
    }

    /// Notes the address that a lookup found.
    pub(super) fn found(&mut self, ip: IpAddr) {
        if let Some(at) = self.seen.iter().position(|seen| *seen == ip) {
            self.seen.remove(at);
        } else {
            self.has_new_address = true;
            self.seen.truncate(REMEMBERED - 1);
        }
        self.seen.push_front(ip);
    }

    /// Whether a change now is separate from the changes before it.
    fn is_quiet(&self, now: Duration) -> bool {
        let quiet = if self.has_new_address { GAP } else { self.gap().max(GAP) * 2 };
        self.last.is_none_or(|last| now > last + quiet)
    }

    /// How long to wait after the last lookup: longer and longer while an address flaps.
    fn gap(&self) -> Duration {
        match self.count.checked_sub(1) {
            None => Duration::ZERO,
            Some(before) => STEPS.get(before).copied().unwrap_or_else(|| {
                let doubled = (before - STEPS.len()).min(10);
                GAP.saturating_mul(1 << doubled).min(MAX_GAP)
            }),
        }
    }
}
