//! The options of `ddns listen`: where it listens, and how it responds.

use std::net::SocketAddr;
use std::time::Duration;

use ddns_core::net::listen::listen_address;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::duration;

use crate::cli::ParsedArgs;
use crate::http::server::ReceiverResponse;

/// The default port.
const PORT: u16 = 8080;

const MAX_DELAY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct ListenOptions {
    pub(super) address: SocketAddr,
    /// The status of the first response, the second and so on; the last one repeats.
    pub(super) statuses: Vec<u16>,
    delay: Duration,
    retry_after: Option<u32>,
    redirect: Option<String>,
    /// Exit after this many requests; `None`: never.
    pub(super) count: Option<usize>,
}

impl ListenOptions {
    /// Reads the options; fails with the first error.
    pub(super) fn read(given: &ParsedArgs) -> Result<Self, Diagnostic> {
        let redirect = given.value("redirect").map(location).transpose()?;
        let retry_after = given.value("retry-after").map(|text| number("retry-after", text, 0)).transpose()?;
        // Without --status, the other options imply one.
        let usual = match (&redirect, retry_after) {
            (Some(_), _) => 307,
            (None, Some(_)) => 503,
            (None, None) => 200,
        };
        let first = given.value("status").map(|text| status("status", text)).transpose()?;
        let then = given.values("then").map(|text| status("then", text)).collect::<Result<Vec<_>, _>>()?;
        let statuses: Vec<u16> = [first.unwrap_or(usual)].into_iter().chain(then).collect();
        if redirect.is_some() && !statuses.iter().any(|status| is_redirection(*status)) {
            let why = "only a status from 300 to 399 redirects: leave --status out, or give one of those";
            return Err(wrong("redirect", why));
        }
        Ok(Self {
            address: address(given.word())?,
            statuses,
            delay: given.value("delay").map_or(Ok(Duration::ZERO), delay)?,
            retry_after,
            redirect,
            count: given.value("count").map(|text| number("count", text, 1)).transpose()?.map(|count| count as usize),
        })
    }

    /// The response to the `number`th request, counted from 1.
    pub(super) fn response(&self, number: usize) -> ReceiverResponse {
        let at = number.saturating_sub(1).min(self.statuses.len() - 1);
        let status = self.statuses[at];
        let mut headers = Vec::new();
        if let (Some(seconds), false) = (self.retry_after, (200..300).contains(&status)) {
            headers.push(("Retry-After", seconds.to_string()));
        }
        if let (Some(address), true) = (&self.redirect, is_redirection(status)) {
            headers.push(("Location", address.clone()));
        }
        ReceiverResponse { status, headers, delay: self.delay, is_last: self.count == Some(number) }
    }
}

fn is_redirection(status: u16) -> bool {
    (300..400).contains(&status) && status != 304
}

fn wrong(option: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Option(format!("--{option}")), message).hint("`ddns help listen` explains how to use it")
}

/// `127.0.0.1:8080`, `[::1]:8080`, an address or a port alone, `localhost`.
fn address(word: Option<&str>) -> Result<SocketAddr, Diagnostic> {
    listen_address(word.unwrap_or("localhost"), PORT).ok_or_else(|| {
        let message = "the place to listen on must be an address of this host and a port";
        Diagnostic::error(Place::Nowhere, message)
            .hint("such as 127.0.0.1:8080, [::1]:8080, a port alone, or port 0 for any free port")
    })
}

fn status(option: &str, text: &str) -> Result<u16, Diagnostic> {
    let status = text.parse().ok().filter(|status| (200..600).contains(status));
    status.ok_or_else(|| wrong(option, "this must be a status from 200 to 599, such as 204 or 503"))
}

fn number(option: &str, text: &str, least: u32) -> Result<u32, Diagnostic> {
    let number = text.parse().ok().filter(|number| *number >= least);
    number.ok_or_else(|| wrong(option, format!("this must be a whole number, {least} or more")))
}

/// `2s`, `500ms`, `1m`, `2`: seconds if there is no unit.
fn delay(text: &str) -> Result<Duration, Diagnostic> {
    let length = match text.strip_suffix("ms") {
        Some(number) => number.parse().ok().map(Duration::from_millis),
        None if text.ends_with(|letter: char| letter.is_ascii_digit()) => duration::parse(&format!("{text}s")),
        None => duration::parse(text),
    };
    length
        .filter(|length| *length <= MAX_DELAY)
        .ok_or_else(|| wrong("delay", "this must be a time such as 500ms, 2s or 1m, at most an hour"))
}

/// A URL that is valid in a header.
fn location(text: &str) -> Result<String, Diagnostic> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("redirect", "this must be a URL without spaces, in ASCII"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_can_be_written_in_many_ways() {
        for (word, expected) in [
            ("127.0.0.1:9", "127.0.0.1:9"),
            ("127.0.0.2", "127.0.0.2:8080"),
            ("localhost", "127.0.0.1:8080"),
            ("localhost:0", "127.0.0.1:0"),
            ("http://127.0.0.1:9/", "127.0.0.1:9"),
            ("9", "127.0.0.1:9"),
            (":9", "127.0.0.1:9"),
            ("::1", "[::1]:8080"),
            ("[::1]", "[::1]:8080"),
            ("[::1]:0", "[::1]:0"),
        ] {
            assert_eq!(address(Some(word)).expect(word).to_string(), expected, "{word}");
        }
        for word in ["", "example.com:80", "127.0.0.1:99999", "127.0.0.1:", "https://127.0.0.1", "localhosts"] {
            assert!(address(Some(word)).is_err(), "{word}");
        }
    }

    #[test]
    fn a_delay_has_a_unit_and_an_end() {
        let millis = |text| delay(text).ok().map(|delay| delay.as_millis());
        let cases = [("2", 2000), ("2s", 2000), ("500ms", 500), ("1m", 60_000), ("1h", 3_600_000), ("0", 0)];
        for (text, expected) in cases {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for text in ["", "s", "-1s", "2h", "99999999999999999999h", "18446744073709551615h", "1d", "1.5s", "2ſ"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_status_stays_and_headers_stand_where_they_mean_something() {
        let options = ListenOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            statuses: vec![503, 307, 204],
            delay: Duration::ZERO,
            retry_after: Some(30),
            redirect: Some("/x".to_owned()),
            count: Some(4),
        };
        let response = |number| {
            let one = options.response(number);
            let names: Vec<&str> = one.headers.iter().map(|(name, _)| *name).collect();
            (one.status, names.join(" "), one.is_last)
        };
        assert_eq!(response(1), (503, "Retry-After".to_owned(), false));
        assert_eq!(response(2), (307, "Retry-After Location".to_owned(), false));
        assert_eq!(response(3), (204, String::new(), false));
        assert_eq!(response(4), (204, String::new(), true));
    }
}
