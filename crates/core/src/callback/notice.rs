//! What a request is about: updates, or an event to report (I5).

use super::combine::{Batch, SendableBatch};
use crate::update::Update;

/// The texts of a notification's placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notice {
    /// `__EVENT__`: one word.
    pub event: &'static str,
    /// `__MESSAGE__`: a sentence on one line.
    pub message: String,
    /// `__DOMAINS__` and `__DOMAIN__`: each domain once, separated by commas.
    pub domains: String,
    /// `__IP__`: each address once, separated by commas; empty if there is no address.
    pub ips: String,
    /// `__OLDIP__`: the previous addresses, in the same form.
    pub old_ips: String,
    /// `__RECORDTYPE__`: `A`, `AAAA` or `A,AAAA`.
    pub record_types: String,
}

/// What can be sent: updates to addresses that a source returned (A8), or a notification.
#[derive(Debug, Clone, Copy)]
pub struct Outbound<'a>(pub(super) Subject<'a>);

impl<'a> From<&'a SendableBatch<'a>> for Outbound<'a> {
    fn from(parcel: &'a SendableBatch<'a>) -> Self {
        Self(Subject::Updates(parcel.batch()))
    }
}

impl<'a> From<&'a Notice> for Outbound<'a> {
    fn from(notice: &'a Notice) -> Self {
        Self(Subject::Notice(notice))
    }
}

/// What a request is about.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// Updates.
    Updates(Batch<'a>),
    /// A notification.
    Notice(&'a Notice),
}

impl<'a> From<Batch<'a>> for Subject<'a> {
    fn from(batch: Batch<'a>) -> Self {
        Self::Updates(batch)
    }
}

impl<'a> From<&'a Update<'a>> for Subject<'a> {
    fn from(update: &'a Update<'a>) -> Self {
        Self::Updates(Batch::from(update))
    }
}

impl<'a> From<&'a Notice> for Subject<'a> {
    fn from(notice: &'a Notice) -> Self {
        Self::Notice(notice)
    }
}
