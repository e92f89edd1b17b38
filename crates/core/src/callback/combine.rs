//! `combine` (H7): which updates share a request.

use crate::update::{Sendable, Update};

/// Which updates share a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combine {
    /// Whether both families of a domain share a request.
    pub families: bool,
    /// How many domains share a request at most.
    pub domains: usize,
    /// The text for a family without an address; `None`: without an address, the request is not sent.
    pub missing: Option<String>,
}

impl Combine {
    /// Whether a request may have several updates.
    pub fn joins(&self) -> bool {
        self.families || self.domains > 1
    }
}

/// The updates of one request: one, or several that `combine` puts together.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The first update: placeholders with a single value take it from here.
    pub first: &'a Update<'a>,
    /// The other updates.
    pub others: &'a [Update<'a>],
}

/// The updates of one request that can be sent (A8).
#[derive(Debug)]
pub struct SendableBatch<'a> {
    first: Update<'a>,
    others: Vec<Update<'a>>,
}

impl<'a> SendableBatch<'a> {
    /// `None`: there are no updates.
    pub fn of(updates: impl IntoIterator<Item = Sendable<'a>>) -> Option<Self> {
        let mut updates = updates.into_iter().map(|update| *update);
        Some(Self { first: updates.next()?, others: updates.collect() })
    }

    /// The updates, in the form that can be shown.
    pub fn batch(&self) -> Batch<'_> {
        Batch { first: &self.first, others: &self.others }
    }
}

impl<'a> From<&'a Update<'a>> for Batch<'a> {
    fn from(first: &'a Update<'a>) -> Self {
        Self { first, others: &[] }
    }
}

impl<'a> Batch<'a> {
    /// `None`: there are no updates.
    pub fn of(updates: &'a [Update<'a>]) -> Option<Self> {
        updates.split_first().map(|(first, others)| Self { first, others })
    }

    /// All updates.
    pub fn iter(self) -> impl Iterator<Item = &'a Update<'a>> {
        std::iter::once(self.first).chain(self.others)
    }
}
