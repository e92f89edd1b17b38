//! What a lookup gives: an address and the reason for it, or none; and which addresses may be sent.

use std::net::IpAddr;

use super::source::Source;

/// What is known of one family's address now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observation {
    /// This address.
    Found(Observed),
    /// No source gave one.
    Unavailable,
    /// It was not looked up yet, or never is: the family is switched off, or has no domains.
    #[default]
    Off,
}

/// An address that a source gave. Holds no other: what is only supposed, or stands for an example, has none (A8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed(IpAddr);

impl Observed {
    /// What this source gave.
    pub fn by(_source: &Source, choice: &Choice) -> Self {
        Self(choice.ip)
    }

    /// The address.
    pub fn ip(self) -> IpAddr {
        self.0
    }
}

/// An address and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What would be sent.
    pub ip: IpAddr,
    /// Why this one, for people.
    pub why: String,
}
