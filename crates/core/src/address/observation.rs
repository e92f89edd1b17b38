//! The result of a lookup, and the type for addresses that may be sent.

use std::net::IpAddr;

use super::source::Source;

/// What is known about the address of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observation {
    /// A source gave this address.
    Found(Observed),
    /// No source gave one.
    Unavailable,
    /// The address was not looked up yet, or never is: the family is switched off or has no domains.
    #[default]
    Off,
}

/// An address that a source gave, and never an assumed or example address: only such an address can be sent (A8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed(IpAddr);

impl Observed {
    /// The address that this source gave.
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
    /// The address.
    pub ip: IpAddr,
    /// Why this address was chosen, for people.
    pub why: String,
}
