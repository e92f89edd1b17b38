//! What a notification may be about.

use crate::update::streak::Report;

/// Failures in a row before `failed` is reported, where `after` is not set.
pub const DEFAULT_AFTER: u32 = 3;

/// Something to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotifyEvent {
    /// An endpoint accepted another address than before.
    Changed,
    /// An update failed so often in a row.
    Failed,
    /// An update that was reported as failing is fine again.
    Recovered,
    /// A service refused an update for good (H5).
    Stopped,
    /// A synchronization ended, and everything is up to date: for services that expect a sign of life.
    Synchronized,
    /// This host took over the lease of its group (J1).
    TookOver,
    /// It lost the lease, or gave it back.
    Lost,
}

impl NotifyEvent {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Changed, Self::Failed, Self::Recovered, Self::Stopped, Self::Synchronized, Self::TookOver, Self::Lost];

    /// The word of the configuration, and `__EVENT__`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Recovered => "recovered",
            Self::Stopped => "stopped",
            Self::Synchronized => "synchronized",
            Self::TookOver => "took-over",
            Self::Lost => "lost",
        }
    }

    /// A word in any case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str().eq_ignore_ascii_case(word.trim()))
    }

    /// What it says of the failures of an update; `None` if it is not about them.
    pub(super) fn report(self) -> Option<Report> {
        match self {
            Self::Failed => Some(Report::Failure),
            Self::Stopped => Some(Report::Stop),
            Self::Recovered => Some(Report::Recovery),
            Self::Changed | Self::Synchronized | Self::TookOver | Self::Lost => None,
        }
    }

    /// Whether it happens only to a host that is in a group.
    pub fn is_of_group(self) -> bool {
        matches!(self, Self::TookOver | Self::Lost)
    }

    /// Whether it names updates.
    pub fn names_updates(self) -> bool {
        !self.is_of_group() && self != Self::Synchronized
    }
}

/// A set of events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NotifyEvents([bool; NotifyEvent::ALL.len()]);

impl NotifyEvents {
    /// Where `on` is not set: whatever concerns an update.
    pub const DEFAULT: Self = Self([true, true, true, true, false, false, false]);

    /// None.
    pub const NONE: Self = Self([false; NotifyEvent::ALL.len()]);

    /// With one more.
    #[must_use]
    pub fn with(mut self, event: NotifyEvent) -> Self {
        self.0[event as usize] = true;
        self
    }

    /// Whether an event is one of them.
    pub fn has(self, event: NotifyEvent) -> bool {
        self.0[event as usize]
    }

    /// All of them, in the order of [`NotifyEvent::ALL`].
    pub fn iter(self) -> impl Iterator<Item = NotifyEvent> {
        NotifyEvent::ALL.into_iter().filter(move |event| self.has(*event))
    }
}

impl std::fmt::Debug for NotifyEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
