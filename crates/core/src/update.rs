//! Updates: what must be sent and why, how it ended, and what ddns remembers of it.

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

/// One domain and the address it should have. An update can be judged and shown; only a [`Sendable`] can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    /// The domain.
    pub domain: &'a Domain,
    /// The record type. Also tells which list of the configuration contains the domain.
    pub family: Family,
    /// The address that the domain should have.
    pub ip: IpAddr,
}

/// An update to an address that a source returned, or that was derived from one: nothing else can be sent (A8). Made by
/// [`Entry::sendable`](crate::config::Entry::sendable). Any other update cannot be rendered as a request:
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
