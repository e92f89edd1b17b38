//! Outcomes as sentences for people.

use std::time::Duration;

use ddns_core::update::Update;
use ddns_core::update::outcome::Outcome;
use hyper::StatusCode;

/// `home.example.com A 203.0.113.7: accepted (204, 12 ms)`; with `origin` if there are several endpoints. A `relay` is
/// a proxy that may have responded in the endpoint's place.
pub(crate) fn line(
    update: &Update<'_>,
    outcome: &Outcome,
    took: Duration,
    origin: Option<&str>,
    relay: Option<&str>,
) -> String {
    let took = took.as_millis();
    let endpoint = origin.unwrap_or("the endpoint");
    match outcome {
        Outcome::Accepted(status) => {
            let by = origin.map(|origin| format!(" by {origin}")).unwrap_or_default();
            format!("{update}: accepted{by} ({status}, {took} ms)")
        }
        Outcome::Refused(status) => {
            let advice = advice(*status);
            // Nobody can know which of the two it was: proxies have their own 403, 500 or 502, tinyproxy even a 401.
            let relay = relay.map(|relay| format!(", by or through the proxy {relay}")).unwrap_or_default();
            format!(
                "{update}: failed: {endpoint} responded with {}{relay} ({took} ms).{advice} --debug shows the response.",
                with_reason(*status)
            )
        }
        Outcome::Failed { why, .. } => format!("{update}: failed: {why} ({took} ms)"),
    }
}

/// `404 Not Found`; a status without a name of its own is the number alone.
pub(crate) fn with_reason(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// What a status usually means for whoever configured the callback.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => " The redirect cannot be followed: is the URL in `id` right?",
        401 | 403 => " Are the keys in `id` or `token` right?",
        404 => " Is the path in `id` right?",
        405 => " It may want a POST (set `token`) or a GET (leave `token` out).",
        _ => "",
    }
}
