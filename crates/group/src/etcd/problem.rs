//! Reads why etcd did not carry out a request.

use std::fmt;

use super::value::{field, number, object};
use ddns_core::text::json::Value;
use ddns_core::text::screen;

/// How many characters of a message are shown.
const MAX_CHARS: usize = 200;

/// Why etcd did not carry out a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// This etcd node cannot serve now: it has no leader, or is too slow. It may have carried out the request anyway.
    Unavailable(String),
    /// The token is no longer valid.
    Token,
    /// Authentication is on, and the request named no user.
    NeedsUser,
    /// Authentication is off.
    NoUsers,
    /// Wrong user or password.
    Login,
    /// The user has no permission.
    Permission,
    /// Authentication is on, and etcd takes the common name of our certificate for a user.
    CommonName,
    /// The store no longer keeps the requested revision.
    Compacted,
    /// The lease no longer exists.
    LeaseGone,
    /// The JSON gateway does not answer.
    NoGateway,
    /// Anything else, in etcd's words.
    Other(String),
}

/// A phrase that continues the name of the endpoint.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "cannot serve at the moment ({why})"),
            Self::Token => f.write_str("does not accept the token it gave a moment ago"),
            Self::NeedsUser => f.write_str("wants a user: set `group.user` and `group.password_file`"),
            Self::NoUsers => f.write_str("has no users"),
            Self::Login => {
                f.write_str("refuses the user or the password: are `group.user` and `group.password_file` right?")
            }
            Self::Permission => {
                f.write_str("does not let this user read and write the group's keys: grant it a role for their prefix")
            }
            Self::CommonName => f.write_str(
                "takes the common name of `group.certificate` for a user: use a certificate without a common name",
            ),
            Self::Compacted => f.write_str("no longer has the requested revision"),
            Self::LeaseGone => f.write_str("no longer has the lease"),
            Self::NoGateway => {
                f.write_str("does not serve etcd's JSON gateway: is it etcd 3.4 or later, with the gateway enabled?")
            }
            Self::Other(why) => write!(f, "refused the request ({why})"),
        }
    }
}

/// Reads a response with a status other than 200.
pub fn problem(status: u16, body: &[u8]) -> Problem {
    let response = object(body).unwrap_or(Value::Null);
    match (message(&response), status) {
        (Some(message), _) => Problem::of(message, code(&response)),
        (None, 502..=504) => Problem::Unavailable(format!("HTTP status {status}")),
        (None, 400) if body.starts_with(b"CommonName of client") => Problem::CommonName,
        (None, 401) => Problem::NeedsUser,
        (None, 403) => Problem::Permission,
        (None, 404 | 405 | 415) => Problem::NoGateway,
        (None, _) => Problem::Other(format!("HTTP status {status}")),
    }
}

/// Reads the `error` of a message in a stream: a text, or an object with a text.
pub(super) fn in_stream(error: &Value) -> Problem {
    let text = error.text().or_else(|| message(error));
    Problem::of(text.unwrap_or("it does not say why"), code(error))
}

fn message(response: &Value) -> Option<&str> {
    ["message", "error"].iter().find_map(|name| field(response, name).and_then(Value::text))
}

/// The gRPC status code.
fn code(response: &Value) -> Option<i64> {
    ["grpc_code", "code"].iter().find_map(|name| number(response, name).ok().filter(|code: &i64| *code != 0))
}

impl Problem {
    /// Reads an error message of etcd.
    pub(super) fn of(message: &str, code: Option<i64>) -> Self {
        let has = |words: &[&str]| words.iter().any(|words| message.contains(words));
        if has(&["invalid auth token", "revision in header is old", "revision of auth store is old"]) {
            Self::Token
        } else if has(&["authentication is not enabled"]) {
            Self::NoUsers
        } else if has(&["authentication failed", "user name not found"]) {
            Self::Login
        } else if has(&["user name is empty"]) {
            Self::NeedsUser
        } else if has(&["permission denied", "PermissionDenied"]) || code == Some(7) {
            Self::Permission
        } else if has(&["requested lease not found"]) {
            Self::LeaseGone
        } else if has(&["required revision has been compacted"]) {
            Self::Compacted
        } else if has(&["no leader", "leader changed", "request timed out", "server stopped"])
            || matches!(code, Some(1 | 4 | 14))
        {
            Self::Unavailable(shown(message))
        } else {
            Self::Other(shown(message))
        }
    }
}

/// Shortens a message for people, and removes anything that could end a line or control a terminal.
fn shown(message: &str) -> String {
    let message = message.strip_prefix("etcdserver: ").unwrap_or(message);
    screen::line(message).chars().take(MAX_CHARS).collect()
}
