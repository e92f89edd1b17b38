//! Events as sentences for people, in the log and in the history.

use std::net::IpAddr;

use super::event::{EventKind, Held, JournalEvent, Settled, VisibilityChange, What};
use super::record::Record;
use crate::lease::role_change;
use crate::net::status::with_reason;
use crate::text::duration::{duration, seconds};
use crate::update::outcome::{Outcome, Why};

/// Follows "accepted" if the endpoint did not have to change anything.
const HAD_IT: &str = "; the service already had this address";

/// An event as a sentence for the log; empty if [`What::level`] is `None`. `is_one_of_several`: whether to name the origin;
/// `has_body`: whether the callback sends a body; `is_remembered`: whether the next run knows what happened.
pub fn sentence(
    JournalEvent { at, what }: &JournalEvent,
    is_one_of_several: bool,
    has_body: bool,
    is_remembered: bool,
) -> String {
    match what {
        What::Settled(settled) => {
            let origin = settled.endpoint.as_deref().filter(|_| is_one_of_several);
            line(settled, origin, has_body, is_remembered)
        }
        What::Held(Held { about, ip, until: Some(until), why, .. }) => {
            format!("{about} {ip}: held back for {}: {why}", seconds(until.saturating_sub(*at)))
        }
        What::Held(Held { about, ip, why, .. }) => {
            let way_out = "change its configuration, or run `ddns --retry-stopped`";
            let why = match why.as_str() {
                "" => String::new(),
                why if is_around(why) => format!(": {why}"),
                why => format!(" with `{why}`"),
            };
            format!("{about} {ip}: stopped: the service refused it permanently{why}; {way_out}")
        }
        What::Visibility(VisibilityChange { about, ip, verdict, after, reason, is_timed, .. }) => {
            let between = if verdict.is_good() { " " } else { ": " };
            let after = if verdict.is_good() && !is_timed {
                String::new()
            } else {
                format!(" {} after it was accepted", seconds(*after))
            };
            format!("{about} {ip}: {}{after}{between}{reason}", visibility_word(what.kind()))
        }
        What::Said { text, .. } => text.clone(),
        _ => String::new(),
    }
}

/// What DNS says about an address, in words.
fn visibility_word(kind: Option<EventKind>) -> &'static str {
    kind.map_or("", EventKind::word)
}

/// `home.example.com A 203.0.113.7: accepted (204, 12 ms)`. `origin` is `None` if there is only one.
fn line(settled: &Settled, origin: Option<&str>, has_body: bool, is_remembered: bool) -> String {
    let update = format!("{} {}", settled.about, settled.ip);
    let took = settled.took.as_millis();
    let endpoint = origin.unwrap_or("the endpoint");
    let again = match (&settled.outcome, settled.retry_in) {
        (Outcome::Failed(Why::Wait { wait: Some(wait), .. }), None) if is_remembered => {
            format!("; it is not sent for {}", duration(*wait))
        }
        (Outcome::Failed(Why::Wait { .. }), Some(retry)) => format!("; retry in {}", duration(retry)),
        (_, Some(retry)) if settled.is_requested => format!("; retry in {}, as {endpoint} asks", duration(retry)),
        (_, retry) => retry.map_or_else(String::new, |retry| format!("; retry in {}", duration(retry))),
    };
    match &settled.outcome {
        outcome @ (Outcome::Accepted(status) | Outcome::Unchanged(status) | Outcome::Made(status)) => {
            let by = origin.map(|origin| format!(" by {origin}")).unwrap_or_default();
            let more = match outcome {
                Outcome::Unchanged(_) => HAD_IT,
                Outcome::Made(_) => ": the record was created",
                _ => "",
            };
            format!("{update}: accepted{by}{more} ({status}, {took} ms)")
        }
        Outcome::AlreadyThere => format!("{update}: already there: {endpoint} has this address, no update was sent"),
        Outcome::Failed(Why::Response { status: status @ 200..300, words }) => {
            format!("{update}: failed: {endpoint} responded with {} ({took} ms){again}", quoted(*status, words))
        }
        Outcome::Failed(Why::Wait { status, words, .. }) => {
            format!("{update}: failed: {endpoint} asks to wait: {} ({took} ms){again}", quoted(*status, words))
        }
        Outcome::Stopped { status, words, until_address, .. } => {
            let response = quoted(*status, words);
            let what = match set_instead(words, settled.ip) {
                Some(other) => format!("set {other} instead of {}", settled.ip),
                None => "refused it permanently".to_owned(),
            };
            let until = match (is_remembered, until_address) {
                (false, _) => "the next run: nothing is remembered without a cache",
                (_, true) => "the address changes, you change its configuration or run `ddns --retry-stopped`",
                (_, false) => "you change its configuration or run `ddns --retry-stopped`",
            };
            format!("{update}: stopped: {endpoint} {what}: {response} ({took} ms). It is not sent again until {until}.")
        }
        Outcome::Failed(Why::Response { status, words }) => {
            let advice = match status {
                405 => allowed(has_body, settled.allow.as_deref().unwrap_or_default()),
                _ => advice(*status).to_owned(),
            };
            // The response may come from either: proxies send their own 403, 500 or 502, and tinyproxy even a 401.
            let relay =
                settled.relay.as_ref().map(|relay| format!(", from or through the proxy {relay}")).unwrap_or_default();
            let (said, advice) = match words.as_str() {
                "" => (String::new(), format!("{advice} --debug shows the response.")),
                words => (format!(": `{words}`"), advice),
            };
            let status = with_reason(*status);
            format!("{update}: failed: {endpoint} responded with {status}{relay}{said} ({took} ms){again}.{advice}")
        }
        Outcome::Failed(Why::NoResponse { why, .. } | Why::Step { why, .. }) => {
            format!("{update}: failed: {why} ({took} ms){again}")
        }
    }
}

/// The other address in ``good 192.0.2.2``: the service set an address that ddns did not send (dyndns2).
pub fn set_instead(words: &str, sent: IpAddr) -> Option<IpAddr> {
    let rest = ["good ", "nochg "].iter().find_map(|code| words.strip_prefix(code))?;
    let addresses = rest.split([' ', ',']).filter_map(|word| word.parse().ok());
    addresses.filter(|ip: &IpAddr| ip.is_ipv4() == sent.is_ipv4()).find(|ip| *ip != sent)
}

/// ``200 `badauth` ``: a status and the words of the service. Words about a request before or after the update are already quoted.
fn quoted(status: u16, words: &str) -> String {
    match words {
        "" => format!("{status} with no text"),
        words if is_around(words) => format!("{status}, {words}"),
        words => format!("{status} `{words}`"),
    }
}

/// Whether the words are about a request before or after the update.
fn is_around(words: &str) -> bool {
    words.starts_with("before ") || words.contains("; after (")
}

/// What the user should check after this status.
fn advice(status: u16) -> &'static str {
    match status {
        304 => " Is the URL in `id` right?",
        300..=399 => " The redirect cannot be followed: is the URL in `id` right?",
        401 | 403 => " Are the keys in `id`, `headers`, `token` or `sign` right?",
        404 => " Is the path in `id` right?",
        _ => "",
    }
}

/// What to do after a 405. Only known methods are shown, because `allow` comes from the endpoint.
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

impl Record {
    /// The event without its domain and address: `accepted (204, 12 ms), 203.0.113.6 before`.
    pub fn sentence(&self) -> String {
        if let Some(kind) = self.event.of_group() {
            let group = self.group.as_deref().unwrap_or("unknown");
            return role_change::sentence(kind, group, self.reason.as_deref());
        }
        let before = || self.previous.map_or_else(String::new, |ip| format!(", {ip} before"));
        let reason = self.reason.as_deref().unwrap_or("no reason is known");
        let source = self.source.as_deref().unwrap_or("unknown");
        match self.event {
            EventKind::Accepted if self.reason.is_some() => {
                format!("accepted again, because DNS had something else{}", self.response())
            }
            EventKind::Accepted if self.is_change() => format!("accepted{}{}", self.response(), before()),
            EventKind::Accepted => format!("accepted again{}", self.response()),
            EventKind::Unchanged => format!("accepted{HAD_IT}{}", self.response()),
            EventKind::AlreadyThere => format!("already there, no update was sent{}", before()),
            EventKind::Made => format!("accepted: the record was created{}", self.response()),
            EventKind::Failed => {
                let tries = if self.attempt > 1 { format!(", try {}", self.attempt) } else { String::new() };
                format!("failed: {reason}{tries}")
            }
            // The reason quotes the words itself where they are about a request before or after the update.
            EventKind::Stopped if reason.contains('`') => format!("stopped: the service said {reason}"),
            EventKind::Stopped => {
                let status = self.status.map_or_else(String::new, |status| status.to_string());
                match reason.strip_prefix(&status).and_then(|rest| rest.strip_prefix(": ")) {
                    Some(words) => format!("stopped: the service said `{words}` with status {status}"),
                    None => format!("stopped: the service responded with {reason}"),
                }
            }
            EventKind::HeldBack => {
                let left = self.until.unwrap_or(self.at).saturating_sub(self.at);
                format!("held back for {}: {reason}", seconds(left))
            }
            EventKind::Address => format!("new address, from {source}{}", before()),
            EventKind::NoAddress => format!("no address found{}", before()),
            EventKind::SourceFailed => format!("no address from {source}: {reason}"),
            EventKind::SourceRecovered => format!("{source} gives an address again"),
            EventKind::Visible | EventKind::NotVisible | EventKind::Drifted => {
                let after =
                    self.after.map_or_else(String::new, |after| format!(" {} after it was accepted", seconds(after)));
                let between = if self.event == EventKind::Visible { " " } else { ": " };
                format!("{}{after}{between}{reason}", visibility_word(Some(self.event)))
            }
            EventKind::TookOver | EventKind::GaveBack | EventKind::Lost => String::new(),
        }
    }

    /// ` (204, 12 ms)`
    fn response(&self) -> String {
        match (self.status, self.took) {
            (Some(status), Some(took)) => format!(" ({status}, {took} ms)"),
            (Some(status), None) => format!(" ({status})"),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::Duration;

    use super::*;
    use crate::journal::About;
    use crate::net::family::Family;
    use crate::update::domain::Domain;

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
        let settled = Settled {
            about: About { entry: 0, domain: Domain::parse("home.example.com").expect("a name"), family: Family::V4 },
            endpoint: None,
            ip: IpAddr::from([203, 0, 113, 7]),
            previous: None,
            is_repair: false,
            outcome: Outcome::of_status(404),
            took: Duration::from_millis(5),
            attempt: 1,
            is_repeat: false,
            retry_in: Some(Duration::from_secs(2)),
            is_requested: false,
            relay: None,
            allow: None,
        };
        let expected = "home.example.com A 203.0.113.7: failed: the endpoint responded with 404 Not Found (5 ms); retry in \
                        2 s. Is the path in `id` right? --debug shows the response.";
        assert_eq!(line(&settled, None, false, true), expected);
        let requested = Settled { is_requested: true, ..settled.clone() };
        assert!(line(&requested, None, false, true).contains("; retry in 2 s, as the endpoint asks. "));
        let wait = Some(Duration::from_secs(1800));
        let outcome = Outcome::Failed(Why::Wait { status: 429, words: "slow".to_owned(), wait });
        let waiting = Settled { outcome, retry_in: None, ..settled };
        let expected = "failed: the endpoint asks to wait: 429 `slow` (5 ms); it is not sent for 30 min";
        assert!(line(&waiting, None, false, true).ends_with(expected), "{}", line(&waiting, None, false, true));
        assert!(!line(&waiting, None, false, false).contains("not sent"), "nothing is remembered");
    }
}
