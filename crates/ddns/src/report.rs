//! Outcomes as sentences for people.

use std::time::Duration;

use ddns_core::outcome::Outcome;
use ddns_core::record::Update;

/// `home.example.com A 203.0.113.7: accepted (204, 12 ms)`
pub(crate) fn line(update: &Update<'_>, outcome: &Outcome, took: Duration) -> String {
    let took = took.as_millis();
    match outcome {
        Outcome::Accepted(status) => format!("{update}: accepted ({status}, {took} ms)"),
        Outcome::Refused(status) => {
            let advice = advice(*status);
            format!("{update}: failed: the endpoint answered {}{advice} ({took} ms)", with_reason(*status))
        }
        Outcome::Failed { why, .. } => format!("{update}: failed: {why} ({took} ms)"),
    }
}

/// `404 Not Found`
pub(crate) fn with_reason(status: u16) -> String {
    let code = hyper::StatusCode::from_u16(status).ok();
    match code.and_then(|code| code.canonical_reason()) {
        Some(reason) => format!("{status} {reason}"),
        None => status.to_string(),
    }
}

/// What a status usually means for who configured the callback.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => ", a redirection, which this version does not follow: set `id` to the address it leads to",
        401 | 403 => ": are the keys in `id` or `token` right?",
        404 => ": is the path in `id` right?",
        405 => ": it may want a POST (set `token`) or a GET (leave `token` out)",
        429 => ": too many requests",
        _ => "",
    }
}
