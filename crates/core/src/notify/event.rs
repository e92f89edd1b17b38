//! What a notification may be about.

use crate::text::vocabulary::vocabulary;

/// Failures in a row before `failed` is reported if `after` is not set.
pub const DEFAULT_AFTER: u32 = 3;

vocabulary! {
    /// Something to report; its key is used in the configuration and as `__EVENT__`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NotifyEvent {
        /// An endpoint accepted another address than before.
        Changed = "changed",
        /// An update failed `after` times in a row.
        Failed = "failed",
        /// An update that was reported as failing is up to date again.
        Recovered = "recovered",
        /// A service refused an update permanently (H5).
        Stopped = "stopped",
        /// An accepted address did not become visible in DNS in time (K11).
        NotVisible = "not-visible",
        /// DNS shows something else than the accepted address (K12).
        Drifted = "drifted",
        /// The accepted address is visible in DNS, after one of these two.
        Visible = "visible",
        /// A synchronization ended, and everything is up to date: for services that expect a sign of life.
        Synchronized = "synchronized",
        /// This host took over the lease of its group (J1).
        TookOver = "took-over",
        /// This host lost the lease, or gave it back.
        Lost = "lost",
    }
}

impl NotifyEvent {
    /// Whether it happens only to a host that is in a group.
    pub fn is_of_group(self) -> bool {
        matches!(self, Self::TookOver | Self::Lost)
    }

    /// Whether it is about what DNS shows.
    pub fn is_of_dns(self) -> bool {
        matches!(self, Self::NotVisible | Self::Drifted | Self::Visible)
    }

    /// Whether it names updates.
    pub fn names_updates(self) -> bool {
        !self.is_of_group() && self != Self::Synchronized
    }
}

/// A set of events.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct NotifyEvents([bool; NotifyEvent::ALL.len()]);

impl NotifyEvents {
    /// The default of `on`: everything that happens to an update.
    pub const DEFAULT: Self = Self::NONE
        .with(NotifyEvent::Changed)
        .with(NotifyEvent::Failed)
        .with(NotifyEvent::Recovered)
        .with(NotifyEvent::Stopped);

    /// No events.
    pub const NONE: Self = Self([false; NotifyEvent::ALL.len()]);

    /// The set with one more event.
    #[must_use]
    pub const fn with(mut self, event: NotifyEvent) -> Self {
        self.0[event as usize] = true;
        self
    }

    /// Whether the set contains an event.
    pub fn has(self, event: NotifyEvent) -> bool {
        self.0[event as usize]
    }

    /// The events of the set, in the order of [`NotifyEvent::ALL`].
    pub fn iter(self) -> impl Iterator<Item = NotifyEvent> {
        NotifyEvent::ALL.into_iter().filter(move |event| self.has(*event))
    }
}

impl std::fmt::Debug for NotifyEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
