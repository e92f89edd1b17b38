//! Records as sentences for people.

use crate::history::record::{Event, Record};
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
            Event::Accepted if self.is_change() => format!("accepted{}{}", self.response(), before()),
            Event::Accepted => format!("accepted again{}", self.response()),
            Event::Unchanged => format!("accepted, it had this address already{}", self.response()),
            Event::Failed => {
                let tries = if self.attempt > 1 { format!(", try {}", self.attempt) } else { String::new() };
                format!("failed: {reason}{tries}")
            }
            Event::Stopped => format!("stopped: the service said `{reason}`"),
            Event::HeldBack => {
                let left = self.until.unwrap_or(self.at).saturating_sub(self.at);
                format!("held back for {}: {reason}", seconds(left))
            }
            Event::Address => format!("new address, from {source}{}", before()),
            Event::NoAddress => format!("no address found{}", before()),
            Event::SourceFailed => format!("no address from {source}: {reason}"),
            Event::SourceRecovered => format!("an address from {source} again"),
            Event::TookOver | Event::GaveBack | Event::Lost => String::new(),
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
