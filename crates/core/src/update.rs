//! Updates: what should be sent and why, how it ended, and what is remembered of it.

pub mod domain;
pub mod hold;
pub mod outcome;
pub mod plan;
pub mod state;
pub mod streak;

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

use crate::net::family::Family;
use domain::Domain;

/// One domain and the address it should have. It can be judged and shown; what is sent is a [`Sendable`] one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    /// Whose address it is.
    pub domain: &'a Domain,
    /// Which list of the configuration the domain stands in.
    pub family: Family,
    /// The address that the domain should have.
    pub ip: IpAddr,
}

/// An update to an address that a source gave, or that was made of one: only such an update can be sent (A8). Made by
/// [`Entry::sendable`](crate::config::Entry::sendable). Of any other there is no request:
///
/// ```compile_fail,E0277
/// # use ddns_core::{callback::{Callback, Timestamp}, update::Update};
/// fn send(callback: &Callback, supposed: &Update<'_>, now: Timestamp) {
///     let _ = callback.render(supposed, now);
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sendable<'a>(pub(crate) Update<'a>);

impl<'a> Deref for Sendable<'a> {
    type Target = Update<'a>;

    fn deref(&self) -> &Update<'a> {
        &self.0
    }
}

impl fmt::Display for Sendable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Update<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.domain, self.family.record_type(), self.ip)
    }
}
