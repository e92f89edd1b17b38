//! What a source must keep to.

use std::time::Duration;

use ddns_core::net::ssl::Ssl;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits<'a> {
    /// How long a request may take.
    pub(super) time: Duration,
    /// How the server of a page is verified.
    pub(super) ssl: &'a Ssl,
}
