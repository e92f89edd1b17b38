//! Outcomes as sentences for people.

use std::time::Duration;

use ddns_core::text::duration::duration;
use ddns_core::update::Update;
use ddns_core::update::outcome::Outcome;
use hyper::StatusCode;

/// What is known of an update that was sent.
pub(crate) struct UpdateReport<'a> {
    pub(crate) update: &'a Update<'a>,
    pub(crate) outcome: &'a Outcome,
    pub(crate) took: Duration,
    /// Where it went, if there are several endpoints.
    pub(crate) origin: Option<&'a str>,
    /// A proxy that may have responded in the endpoint's place.
    pub(crate) relay: Option<&'a str>,
    /// Whether it was a POST.
    pub(crate) has_body: bool,
    /// What the endpoint allows, as it was written.
    pub(crate) allow: Option<&'a str>,
    /// When it is sent again; `None` if it is not, or nobody knows.
    pub(crate) retry: Option<Duration>,
}

/// `home.example.com A 203.0.113.7: accepted (204, 12 ms)`
pub(crate) fn line(report: &UpdateReport<'_>) -> String {
    let UpdateReport { update, outcome, origin, .. } = report;
    let took = report.took.as_millis();
    let endpoint = origin.unwrap_or("the endpoint");
    let again = report.retry.map_or_else(String::new, |retry| format!("; retry in {}", duration(retry)));
    match outcome {
        Outcome::Accepted(status) => {
            let by = origin.map(|origin| format!(" by {origin}")).unwrap_or_default();
            format!("{update}: accepted{by} ({status}, {took} ms)")
        }
        Outcome::Unchanged(status) => {
            let by = origin.map(|origin| format!(" by {origin}")).unwrap_or_default();
            format!("{update}: accepted{by}, it had this address already ({status}, {took} ms)")
        }
        Outcome::Rejected { status, words } => {
            format!("{update}: failed: {endpoint} responded with {} ({took} ms){again}", quoted(*status, words))
        }
        Outcome::Wait { status, words, .. } => {
            format!("{update}: failed: {endpoint} asks to wait: {} ({took} ms){again}", quoted(*status, words))
        }
        Outcome::Stopped { status, words, .. } => {
            let response = quoted(*status, words);
            format!(
                "{update}: stopped: {endpoint} refuses it for good: {response} ({took} ms). It is not sent again before \
                 its configuration changes, or `ddns --retry-stopped` says so."
            )
        }
        Outcome::Refused(status) => {
            let advice = match status {
                405 => allowed(report.has_body, report.allow.unwrap_or_default()),
                _ => advice(*status).to_owned(),
            };
            // Nobody can know which of the two it was: proxies have their own 403, 500 or 502, tinyproxy even a 401.
            let relay = report.relay.map(|relay| format!(", by or through the proxy {relay}")).unwrap_or_default();
            format!(
                "{update}: failed: {endpoint} responded with {}{relay} ({took} ms){again}.{advice} --debug shows the \
                 response.",
                with_reason(*status)
            )
        }
        Outcome::Failed { why, .. } => format!("{update}: failed: {why} ({took} ms){again}"),
    }
}

/// ``200 `badauth` ``: a status and what the service said.
fn quoted(status: u16, words: &str) -> String {
    if words.is_empty() { format!("{status} and no text") } else { format!("{status} `{words}`") }
}

/// `404 Not Found`; a status without a name of its own is the number alone.
pub(crate) fn with_reason(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// What a status usually means for the user who configured the callback.
fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => " The redirect cannot be followed: is the URL in `id` right?",
        401 | 403 => " Are the keys in `id`, `headers` or `token` right?",
        404 => " Is the path in `id` right?",
        _ => "",
    }
}

/// What to do where the method is not allowed. Of what the endpoint wrote, only methods that we know are shown.
fn allowed(has_body: bool, allow: &str) -> String {
    const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let written: Vec<&str> = allow.split(',').map(str::trim).collect();
    let methods: Vec<&str> = METHODS.into_iter().filter(|method| written.contains(method)).collect();
    let list = methods.join(", ");
    match has_body {
        _ if methods.is_empty() => " It may want a POST (set `token`) or a GET (leave `token` out).".to_owned(),
        false if methods.contains(&"POST") => format!(" It allows {list}: set `token` to send a POST."),
        true if methods.contains(&"GET") => format!(" It allows {list}: leave `token` out to send a GET."),
        _ => format!(" It allows {list}: is the path in `id` right?"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use ddns_core::net::family::Family;
    use ddns_core::update::domain::Domain;

    use super::*;

    #[test]
    fn the_advice_after_405_follows_what_is_allowed() {
        let cases = [
            (false, "POST, OPTIONS", " It allows POST: set `token` to send a POST."),
            (true, "HEAD,GET , PUT", " It allows GET, PUT: leave `token` out to send a GET."),
            (true, "PUT", " It allows PUT: is the path in `id` right?"),
            (false, "GET", " It allows GET: is the path in `id` right?"),
            (false, "", " It may want a POST (set `token`) or a GET (leave `token` out)."),
            (true, "S3cret\u{1b}, post", " It may want a POST (set `token`) or a GET (leave `token` out)."),
        ];
        for (has_body, allow, expected) in cases {
            assert_eq!(allowed(has_body, allow), expected, "{allow}");
        }
    }

    #[test]
    fn the_time_of_a_retry_stands_before_the_advice() {
        let name = Domain::parse("home.example.com").expect("a name");
        let update = Update { domain: &name, family: Family::V4, ip: IpAddr::from([203, 0, 113, 7]) };
        let (took, retry) = (Duration::from_millis(5), Some(Duration::from_secs(2)));
        let outcome = Outcome::Refused(404);
        let report = UpdateReport {
            update: &update,
            outcome: &outcome,
            took,
            origin: None,
            relay: None,
            has_body: false,
            allow: None,
            retry,
        };
        let expected = "home.example.com A 203.0.113.7: failed: the endpoint responded with 404 Not Found (5 ms); retry in \
                        2 s. Is the path in `id` right? --debug shows the response.";
        assert_eq!(line(&report), expected);
    }
}
