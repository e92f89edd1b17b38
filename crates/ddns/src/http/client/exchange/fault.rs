//! Why an exchange gave no response.

use std::io;

use super::super::tls::{WANTS_CERTIFICATE, is_certificate_wanted};
use super::limits::{MAX_HEAD_BYTES, MAX_HEADERS};

/// Why there is no response.
#[derive(Debug)]
pub(in crate::http::client) struct Fault {
    /// Whether any part of the request may have reached the other side.
    pub(in crate::http::client) is_sent: bool,
    pub(super) kind: FaultKind,
}

#[derive(Debug)]
pub(super) enum FaultKind {
    /// The other side closed before it sent anything.
    Silent,
    /// The other side closed in the middle of the head.
    CutOff,
    /// The other side spoke first.
    Early,
    /// The head is longer than [`MAX_HEAD_BYTES`], or has more than [`MAX_HEADERS`].
    TooLarge,
    /// Interim responses without end.
    OnlyInterim,
    /// The response is TLS.
    Secured,
    /// The response is not HTTP, or breaks its rules.
    Invalid(hyper::Error),
    /// The stream broke.
    Broken(io::Error),
    /// The request cannot be written as HTTP.
    Unsendable(&'static str),
}

impl Fault {
    pub(super) fn unsent(kind: FaultKind) -> Self {
        Self { is_sent: false, kind }
    }

    /// A sentence about the origin that the request was sent to.
    pub(in crate::http::client) fn describe(&self, origin: &str) -> String {
        match &self.kind {
            FaultKind::Silent => format!("{origin} closed the connection without a response"),
            FaultKind::CutOff => format!("{origin} closed the connection in the middle of its response"),
            FaultKind::Early => format!("{origin} sent something before it got a request: is the port right?"),
            FaultKind::TooLarge => {
                let limits = format!("{} KiB, or has more than {MAX_HEADERS} headers", MAX_HEAD_BYTES >> 10);
                format!("{origin} sent a response whose head is longer than {limits}")
            }
            FaultKind::OnlyInterim => format!("{origin} keeps sending interim responses (1xx)"),
            FaultKind::Secured => format!("{origin} speaks TLS: is it an https address?"),
            FaultKind::Invalid(error) => {
                let text = error.to_string();
                format!("{origin} sent a response that is not valid HTTP ({})", text.trim_end_matches(" parsed"))
            }
            FaultKind::Broken(error) => match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    format!("{origin} reset the connection before it responded")
                }
                _ if is_certificate_wanted(error) => format!("{origin} {WANTS_CERTIFICATE}"),
                _ => {
                    let text = error.to_string();
                    let words = text.split(" (os error").next().unwrap_or_default();
                    format!("the connection to {origin} broke ({words})")
                }
            },
            FaultKind::Unsendable(why) => format!("no request can be sent to {origin}: {why}"),
        }
    }
}
