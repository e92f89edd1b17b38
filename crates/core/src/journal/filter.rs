//! Which records somebody wants to see.

use super::record::Record;
use crate::text::vocabulary::vocabulary;

/// What a record must be. By default, all are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// About this domain, in small letters.
    pub domain: Option<String>,
    /// About a domain that contains this, in small letters.
    pub words: String,
    /// Not older than this, in seconds since the epoch.
    pub since: u64,
    /// Of this kind.
    pub kind: RecordKind,
}

vocabulary! {
    /// A kind of record that is looked for.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum RecordKind {
        /// Any.
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
    /// Whether a line may hold a record that is wanted: whatever it says no to need not be read.
    pub fn may_take(&self, line: &str) -> bool {
        self.domain.as_ref().is_none_or(|domain| line.contains(domain.as_str())) && line.contains(&self.words)
    }

    /// Whether a record is wanted.
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
