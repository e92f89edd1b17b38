//! Tracks the running calls to the store, and when a failed call is repeated.

use std::time::Duration;

use super::{Answer, Call};

/// The delay after the first failure; it doubles with each further one.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The longest delay. It is short because a member must hold soon after the store is back (J4).
const MAX_CALL: Duration = Duration::from_secs(1);

/// How long after the retry was due a failure is still reported as the current state of the store.
const PRESENT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Grant,
    Renew,
    Watch,
    Register,
    Campaign,
    Load,
    Resign,
    Revoke,
}

impl CallKind {
    pub(super) fn of(call: &Call) -> Self {
        match call {
            Call::Grant => Self::Grant,
            Call::Renew(_) => Self::Renew,
            Call::Watch => Self::Watch,
            Call::Register(..) => Self::Register,
            Call::Campaign(_) => Self::Campaign,
            Call::Load(..) => Self::Load,
            Call::Resign(..) => Self::Resign,
            Call::Revoke(_) => Self::Revoke,
        }
    }

    pub(super) fn answered_by(answer: &Answer) -> Self {
        match answer {
            Answer::Granted(..) => Self::Grant,
            Answer::Renewed(..) => Self::Renew,
            Answer::Registered(..) => Self::Register,
            Answer::Campaigned(..) => Self::Campaign,
            Answer::Loaded(_) => Self::Load,
            Answer::Resigned(_) => Self::Resign,
            Answer::Revoked(_) => Self::Revoke,
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Slot {
    is_under_way: bool,
    failures: u32,
    not_before: Duration,
    why: String,
}

/// One call of each kind at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls([Slot; 8]);

impl Calls {
    fn slot(&mut self, kind: CallKind) -> &mut Slot {
        &mut self.0[kind as usize]
    }

    pub(super) fn is_under_way(&self, kind: CallKind) -> bool {
        self.0[kind as usize].is_under_way
    }

    /// When a failed call may be repeated.
    pub(super) fn not_before(&self, kind: CallKind) -> Duration {
        self.0[kind as usize].not_before
    }

    pub(super) fn failures(&self, kind: CallKind) -> u32 {
        self.0[kind as usize].failures
    }

    pub(super) fn started(&mut self, kind: CallKind) {
        self.slot(kind).is_under_way = true;
    }

    pub(super) fn answered(&mut self, kind: CallKind) {
        *self.slot(kind) = Slot { is_under_way: kind == CallKind::Watch, ..Slot::default() };
    }

    /// Allows the call again at once.
    pub(super) fn forget(&mut self, kind: CallKind) {
        *self.slot(kind) = Slot::default();
    }

    pub(super) fn failed(&mut self, kind: CallKind, why: String, now: Duration, jitter: f64) {
        let slot = self.slot(kind);
        let step = FIRST_RETRY_DELAY.saturating_mul(1 << slot.failures.min(10)).min(MAX_CALL);
        slot.is_under_way = false;
        slot.failures = slot.failures.saturating_add(1);
        slot.not_before = now + step.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        slot.why = why;
    }

    /// Why calls to the store fail. `None`: they do not.
    pub(super) fn why(&self, now: Duration) -> Option<&str> {
        let fails = |slot: &&Slot| slot.failures > 0 && (slot.is_under_way || now < slot.not_before + PRESENT);
        self.0.iter().filter(fails).max_by_key(|slot| slot.not_before).map(|slot| slot.why.as_str())
    }
}
