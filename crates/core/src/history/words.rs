//! Records as sentences for people.

use crate::history::record::{HistoryEvent, Record};
use crate::lease::role_change;
use crate::text::duration::seconds;

impl Record {
    /// What happened, without the domain and the address: `accepted (204, 12 ms), 203.0.113.6 before`.
    pub fn sentence(&self) -> String {
        if let Some(kind) = self.event.of_group() {
            let group = self.group.as_deref().unwrap_or("unknown");
            return role_change::sentence(kind, group, self.reason.as_deref());
        }
        let before = || self.previous.map_or_else(String::new, |ip| format!(", {ip} before"));
        let reason = self.reason.as_deref().unwrap_or("no reason is known");
        let source = self.source.as_deref().unwrap_or("unknown");
        match self.event {
            HistoryEvent::Accepted if self.is_change() => format!("accepted{}{}", self.response(), before()),
            HistoryEvent::Accepted => format!("accepted again{}", self.response()),
            HistoryEvent::Unchanged => format!("accepted, it had this address already{}", self.response()),
            HistoryEvent::Failed => {
                let tries = if self.attempt > 1 { format!(", try {}", self.attempt) } else { String::new() };
                format!("failed: {reason}{tries}")
            }
            HistoryEvent::Stopped => format!("stopped: the service said `{reason}`"),
            HistoryEvent::HeldBack => {
                let left = self.until.unwrap_or(self.at).saturating_sub(self.at);
                format!("held back for {}: {reason}", seconds(left))
            }
            HistoryEvent::Address => format!("new address, from {source}{}", before()),
            HistoryEvent::NoAddress => format!("no address found{}", before()),
            HistoryEvent::SourceFailed => format!("no address from {source}: {reason}"),
            HistoryEvent::SourceRecovered => format!("an address from {source} again"),
            HistoryEvent::TookOver | HistoryEvent::GaveBack | HistoryEvent::Lost => String::new(),
        }
    }

    /// ` (204, 12 ms)`
    fn response(&self) -> String {
        match (self.status, self.took) {
            (Some(status), Some(took)) => format!(" ({status}, {took} ms)"),
            (Some(status), None) => format!(" ({status})"),
            _ => String::new(),
        }
    }
}
