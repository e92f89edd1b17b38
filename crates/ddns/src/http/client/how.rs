//! How a request is to be sent, and who gets it.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::net::proxy::{Proxies, Server};
use ddns_core::net::ssl::Ssl;

/// How a request is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How<'a> {
    /// How long everything may take, from connecting to the final status.
    pub(crate) limit: Duration,
    /// How the response's body matters.
    pub(crate) want: Want,
    /// Which family connections go over.
    pub(crate) over: Over,
    /// Which routes it may take.
    pub(crate) proxies: &'a Proxies,
    /// How certificates are verified.
    pub(crate) ssl: &'a Ssl,
    /// The address of ours to connect from; `None`: the system's choice.
    pub(crate) from: Option<IpAddr>,
}

/// Which family a connection goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Whichever the system puts first.
    Any,
    /// This one where the host has it, else the other.
    Prefer(Family),
    /// This one or none.
    Only(Family),
}

/// How the body of a response matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The status decides; the body is read as far as it comes at once.
    Status,
    /// The body decides too (H4).
    Verdict,
    /// The body is what was asked for before an update (H14).
    Answer,
    /// The body is what was asked for.
    Body,
    /// The same, and it may be long.
    LongBody,
}

impl Want {
    /// Whether an update or a notification wants it: its keys are in the address too, and its warnings are reported.
    pub(super) fn is_update(self) -> bool {
        matches!(self, Self::Status | Self::Verdict | Self::Answer)
    }
}

/// Who got a request, and through which proxy.
pub(super) fn endpoint(origin: &str, via: Option<&Server>) -> String {
    match via {
        None => origin.to_owned(),
        Some(server) => format!("{origin} (through the proxy {server})"),
    }
}
