//! How one request ended, and what that means for the cache and the exit status.

use std::time::Duration;

/// How one update ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Accepted: the final status was 200 to 299 (A4), or the response is what `expect` wants (H4).
    Accepted(u16),
    /// Accepted, and the service already had this address.
    Unchanged(u16),
    /// A step found that the service already has this address: nothing was sent (H17).
    AlreadyThere,
    /// The service had no record and created one (H18).
    Made(u16),
    /// Not accepted; may be retried.
    Failed(Why),
    /// Permanently refused (H5): not retried unless the user asks for it.
    Stopped {
        /// The status.
        status: u16,
        /// The text of the service, masked.
        words: String,
        /// Whether the update is tried again with another address.
        until_address: bool,
        /// Whether all updates of the entry are refused.
        all: bool,
    },
}

/// Why an update failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The final status is not 200 to 299 (E1), or the response is not what `expect` wants (H4).
    Response {
        /// The status.
        status: u16,
        /// The text of the service, masked; may be empty.
        words: String,
    },
    /// The service asks to wait (H4).
    Wait {
        /// The status.
        status: u16,
        /// The text of the service, masked.
        words: String,
        /// For how long; `None`: the service does not say.
        wait: Option<Duration>,
    },
    /// A request before or after the update failed (H14, H19).
    Step {
        /// The status; `None`: there was none, or it does not matter.
        status: Option<u16>,
        /// Which request failed and why, masked.
        why: String,
        /// Whether the update was sent.
        reached: bool,
    },
    /// There was no final response (E2).
    NoResponse {
        /// What was tried and what happened, masked.
        why: String,
        /// Whether the endpoint may have received the request.
        reached: bool,
    },
}

impl Outcome {
    /// The status of the final response; `None`: there was none.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Accepted(status)
            | Self::Unchanged(status)
            | Self::Made(status)
            | Self::Failed(Why::Response { status, .. } | Why::Wait { status, .. })
            | Self::Stopped { status, .. } => Some(*status),
            Self::Failed(Why::Step { status, .. }) => *status,
            Self::AlreadyThere | Self::Failed(Why::NoResponse { .. }) => None,
        }
    }

    /// Why an update failed, in short.
    pub fn reason(&self) -> String {
        match self {
            Self::Failed(Why::NoResponse { why, .. } | Why::Step { why, .. }) => why.clone(),
            Self::Failed(Why::Response { status, words } | Why::Wait { status, words, .. })
            | Self::Stopped { status, words, .. }
                if !words.is_empty() =>
            {
                format!("{status}: {words}")
            }
            _ => self.status().map_or_else(String::new, |status| status.to_string()),
        }
    }

    /// The outcome of a response that is judged only by its status (A4).
    pub fn of_status(status: u16) -> Self {
        match status {
            200..300 => Self::Accepted(status),
            _ => Self::Failed(Why::Response { status, words: String::new() }),
        }
    }

    /// Whether the endpoint accepted the update.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_) | Self::Unchanged(_) | Self::AlreadyThere | Self::Made(_))
    }

    /// Whether the endpoint refused the request, rather than asking to wait.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Stopped { .. } | Self::Failed(Why::Response { .. } | Why::Step { status: Some(_), .. }))
    }

    /// Whether ddns may retry the update: it was neither accepted nor stopped.
    pub fn is_retried(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// Whether the endpoint is overloaded or unreachable, so that other updates would fail now as well.
    pub fn is_trouble(&self) -> bool {
        self.is_overload() || matches!(self, Self::Failed(Why::NoResponse { .. } | Why::Step { status: None, .. }))
    }

    /// Whether the endpoint says that it is overloaded.
    pub fn is_overload(&self) -> bool {
        let Self::Failed(why) = self else { return false };
        matches!(
            why,
            Why::Response { status: 429 | 503, .. }
                | Why::Wait { status: 429 | 503, .. }
                | Why::Step { status: Some(429 | 503), .. }
        )
    }

    /// Whether the endpoint may have accepted the update, whatever it responded.
    pub fn may_have_reached(&self) -> bool {
        !matches!(self, Self::Failed(Why::NoResponse { reached: false, .. } | Why::Step { reached: false, .. }))
    }
}

/// The counts of one synchronization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Updates that were accepted.
    pub accepted: usize,
    /// Updates that were sent, or tried, and not accepted.
    pub failed: usize,
    /// Updates that were already up to date.
    pub up_to_date: usize,
    /// Updates that had no address.
    pub without_address: usize,
    /// Updates that are held back: the service asked to wait, or `min_interval` has not passed.
    pub held_back: usize,
    /// Updates that the service permanently refused.
    pub stopped: usize,
}

impl Tally {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            accepted: self.accepted + other.accepted,
            failed: self.failed + other.failed,
            up_to_date: self.up_to_date + other.up_to_date,
            without_address: self.without_address + other.without_address,
            held_back: self.held_back + other.held_back,
            stopped: self.stopped + other.stopped,
        }
    }

    /// Whether there is anything to report: not every update was already up to date.
    pub fn has_changes(self) -> bool {
        self.accepted + self.failed + self.without_address + self.held_back + self.stopped > 0
    }

    /// 0 if every update was accepted or already up to date, otherwise 1 (E7).
    pub fn exit_code(self) -> u8 {
        u8::from(self.failed + self.without_address + self.held_back + self.stopped > 0)
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = [
            (self.failed, "failed"),
            (self.stopped, "stopped"),
            (self.without_address, "without an address"),
            (self.held_back, "held back"),
            (self.accepted, "accepted"),
            (self.up_to_date, "already up to date"),
        ];
        let counts: Vec<String> =
            all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(if counts.is_empty() { "nothing to update" } else { "" })?;
        f.write_str(&counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a4_only_a_status_from_200_to_299_is_success() {
        for status in 100..600 {
            assert_eq!(Outcome::of_status(status).is_accepted(), status / 100 == 2, "{status}");
        }
    }

    #[test]
    fn e7_one_failure_makes_the_exit_status_1() {
        let good = Tally { accepted: 3, up_to_date: 2, ..Tally::default() };
        assert_eq!(good.exit_code(), 0);
        assert!(good.has_changes() && !Tally { up_to_date: 9, ..Tally::default() }.has_changes());
        assert_eq!(
            good.plus(Tally { accepted: 1, up_to_date: 5, ..good }).to_string(),
            "4 accepted, 7 already up to date"
        );
        // Problems come first, and counts of zero are left out.
        let all = Tally { failed: 1, stopped: 2, without_address: 3, held_back: 4, ..good };
        let words = "1 failed, 2 stopped, 3 without an address, 4 held back, 3 accepted, 2 already up to date";
        assert_eq!((all.to_string().as_str(), Tally::default().to_string().as_str()), (words, "nothing to update"));
        assert_eq!(good.plus(Tally { failed: 1, ..Tally::default() }).exit_code(), 1);
        assert_eq!(good.plus(Tally { without_address: 1, ..Tally::default() }).exit_code(), 1);
    }
}
