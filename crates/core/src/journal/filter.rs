//! Selects records of the history.

use super::record::Record;
use crate::text::vocabulary::vocabulary;

/// Which records to show. By default, all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only records about this domain, in lower case; `None`: about any.
    pub domain: Option<String>,
    /// Only records about domains that contain this text, in lower case; empty: any.
    pub words: String,
    /// Only records from this time on, in seconds since the epoch.
    pub since: u64,
    /// Only records of this kind.
    pub kind: RecordKind,
}

vocabulary! {
    /// The kinds of records to choose from.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum RecordKind {
        /// All records.
        #[default]
        All = "all" "everything",
        /// Something failed or was stopped.
        Failed = "failed" "failures",
        /// An address changed, of this host or at an endpoint.
        Changed = "changed" "changed addresses",
        /// An endpoint accepted an update.
        Accepted = "accepted",
        /// The lease of the group was taken over, given back or lost.
        Group = "group" "the group",
    }
}

impl Filter {
    /// Whether a line may contain a matching record. If not, the line need not be parsed.
    pub fn may_take(&self, line: &str) -> bool {
        self.domain.as_ref().is_none_or(|domain| line.contains(domain.as_str())) && line.contains(&self.words)
    }

    /// Whether a record matches.
    pub fn takes(&self, record: &Record) -> bool {
        let is_kind = match self.kind {
            RecordKind::All => true,
            RecordKind::Failed => record.event.is_failure(),
            RecordKind::Changed => record.is_change(),
            RecordKind::Accepted => record.event.is_accepted(),
            RecordKind::Group => record.event.of_group().is_some(),
        };
        is_kind
            && record.at >= self.since
            && self.domain.as_ref().is_none_or(|domain| record.domain.as_ref() == Some(domain))
            && (self.words.is_empty() || record.domain.as_ref().is_some_and(|domain| domain.contains(&self.words)))
    }
}
