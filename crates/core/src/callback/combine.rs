//! `combine` (H7): which updates go in one request.

use crate::update::{Sendable, Update};

/// Which updates go in one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combine {
    /// Both families of a domain.
    pub families: bool,
    /// The limit of domains.
    pub domains: usize,
    /// What stands in the place of a family without an address; `None` if such a request is not sent.
    pub missing: Option<String>,
}

/// The updates of one request: one, and those that `combine` puts beside it.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The one that is named where only one can be.
    pub first: &'a Update<'a>,
    /// Those beside it.
    pub others: &'a [Update<'a>],
}

/// The updates of one request that can be sent (A8).
#[derive(Debug)]
pub struct Parcel<'a> {
    first: Update<'a>,
    others: Vec<Update<'a>>,
}

impl<'a> Parcel<'a> {
    /// None where there are none.
    pub fn of(updates: impl IntoIterator<Item = Sendable<'a>>) -> Option<Self> {
        let mut updates = updates.into_iter().map(|update| *update);
        Some(Self { first: updates.next()?, others: updates.collect() })
    }

    /// As they can be shown.
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
    /// None where there are none.
    pub fn of(updates: &'a [Update<'a>]) -> Option<Self> {
        updates.split_first().map(|(first, others)| Self { first, others })
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = &'a Update<'a>> {
        std::iter::once(self.first).chain(self.others)
    }
}
