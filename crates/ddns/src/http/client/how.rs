//! How a request is to be sent, and who receives it.

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
    /// What the response's body is needed for.
    pub(crate) want: BodyUse,
    /// Which address family connections use.
    pub(crate) over: AddressFamilies,
    /// Which routes the request may take.
    pub(crate) proxies: &'a Proxies,
    /// How certificates are verified.
    pub(crate) ssl: &'a Ssl,
    /// The local address to connect from; `None`: the system chooses.
    pub(crate) from: Option<IpAddr>,
}

/// Which address family a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressFamilies {
    /// Any, in the system's order.
    Any,
    /// This one if the host has it, otherwise the other.
    Prefer(Family),
    /// Only this one.
    Only(Family),
}

/// What the body of a response is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyUse {
    /// Only the status decides; the body is read as far as it arrives at once.
    Status,
    /// The body decides too (H4).
    Verdict,
    /// The body answers a step before an update (H14).
    Answer,
    /// The body is what was asked for.
    Body,
    /// The same, and it may be long.
    LongBody,
}

impl BodyUse {
    /// Whether the request belongs to an update or a notification: its URL contains keys too, and its warnings are reported.
    pub(super) fn is_update(self) -> bool {
        matches!(self, Self::Status | Self::Verdict | Self::Answer)
    }
}

/// Who received a request, and through which proxy.
pub(super) fn endpoint(origin: &str, via: Option<&Server>) -> String {
    match via {
        None => origin.to_owned(),
        Some(server) => format!("{origin} (through the proxy {server})"),
    }
}
