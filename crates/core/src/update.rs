//! Updates: what should be sent and why, how it ended, and what is remembered of it.

pub mod domain;
pub mod endpoint;
pub mod happened;
pub mod hold;
pub mod outcome;
pub mod plan;
pub mod state;
pub mod status;
pub mod streak;

use std::fmt;
use std::net::IpAddr;

use crate::net::family::Family;
use domain::Domain;

/// One domain and the address it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    /// Whose address it is.
    pub domain: &'a Domain,
    /// Which list of the configuration the domain stands in.
    pub family: Family,
    /// The address that the domain should have.
    pub ip: IpAddr,
}

impl fmt::Display for Update<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.domain, self.family.record_type(), self.ip)
    }
}
