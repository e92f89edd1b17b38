//! Failures in a row of one update, and whether a notification reported them (I5). They are kept in the cache, so that
//! single runs count them together and report them once. An update that does not fail has no streak.

use crate::text::json::{Value, one_line};
use crate::text::own_json;

/// What one notification remembers of one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streak {
    /// Failures in a row; 0: the update works again.
    pub failures: u32,
    /// Whether the service permanently refused the update.
    pub is_stopped: bool,
    /// Whether the failure was reported.
    pub is_reported: bool,
    /// Whether the stop was reported.
    pub is_stop_reported: bool,
    /// In how many synchronizations the notification that is due could not be sent.
    pub tries: u8,
    /// When the streak last changed, in seconds since the epoch.
    pub at: u64,
}

impl Streak {
    /// The streak after one more failure.
    #[must_use]
    pub fn failed(self, now: u64) -> Self {
        // A failure while the recovery is still to be reported continues the old streak.
        let tries = if self.failures == 0 { 0 } else { self.tries };
        let failures = self.failures.saturating_add(1);
        Self { failures, is_stopped: false, is_stop_reported: false, tries, at: now, ..self }
    }

    /// The streak after a permanent refusal.
    #[must_use]
    pub fn stopped(self, now: u64) -> Self {
        Self { is_stopped: true, is_stop_reported: self.is_stop_reported, ..self.failed(now) }
    }

    /// The streak after a success. Failures that were not reported are forgotten.
    #[must_use]
    pub fn fine(self, now: u64) -> Self {
        match self {
            Self { is_reported: false, .. } => Self::default(),
            // The recovery is still to be reported.
            Self { failures: 0, .. } => self,
            _ => Self { is_reported: true, at: now, ..Self::default() },
        }
    }

    /// Whether the recovery is still to be reported.
    pub fn is_recovered(&self) -> bool {
        self.is_reported && self.failures == 0
    }

    pub(super) fn to_text(self) -> String {
        let flags = u8::from(self.is_reported) | u8::from(self.is_stopped) << 1 | u8::from(self.is_stop_reported) << 2;
        format!("[{},{flags},{},{}]", self.failures, self.tries, self.at)
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let (failures, flags, tries, at): (u32, u8, u8, u64) = own_json::read(&one_line(value))?;
        let [is_reported, is_stopped, is_stop_reported] = [1, 2, 4].map(|bit| flags & bit != 0);
        Some(Self { failures, is_stopped, is_reported, is_stop_reported, tries, at })
    }
}
