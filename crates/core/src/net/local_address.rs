//! An address of one of this host's interfaces, as the system describes it.

use std::net::IpAddr;

use serde::{Serialize, Serializer};

use crate::text::vocabulary::vocabulary;

/// One address of one interface, as the system describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddress {
    /// The interface's name.
    pub interface: String,
    /// The interface's number in the system.
    pub index: u32,
    /// The address.
    pub ip: IpAddr,
    /// The length of the prefix.
    pub prefix: u8,
    /// How far the address is valid.
    pub scope: Scope,
    /// The flags that the system gives it.
    pub flags: Flags,
    /// How long the address is valid.
    pub valid: Lifetime,
    /// How long the address is preferred for new connections.
    pub preferred: Lifetime,
}

vocabulary! {
    /// How far an address is valid.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Scope {
        /// Everywhere.
        Global = "global",
        /// Within a site.
        Site = "site",
        /// On its link.
        Link = "link",
        /// On its host.
        Host = "host",
        /// The system does not report it.
        Unknown = "unknown",
    }
}

/// The flags that the system gives an address. All are false on systems other than Linux, which report none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "these are the kernel's flags, each on its own")]
pub struct Flags {
    /// A privacy address that is replaced every day or so.
    pub temporary: bool,
    /// No longer used for new connections.
    pub deprecated: bool,
    /// Not yet known to be unique on its link.
    pub tentative: bool,
    /// Known not to be unique on its link.
    pub dad_failed: bool,
    /// Set by hand, without a lifetime.
    pub permanent: bool,
    /// Its interface is switched off.
    pub down: bool,
    /// Its interface has no cable, or nothing is at the other end.
    pub unplugged: bool,
}

/// How long an address lasts: a number of seconds, `"forever"` or null in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Lifetime {
    /// Without limit.
    #[serde(serialize_with = "forever")]
    Forever,
    /// Seconds from now.
    Seconds(u32),
    /// The system does not report it.
    Unknown,
}

fn forever<S: Serializer>(to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str("forever")
}
