//! Sending one update of one entry, and reporting how it ended.

use std::time::{Duration, Instant};

use ddns_core::config::validate::Valid;
use ddns_core::config::{Concurrency, Entry};
use ddns_core::schedule::limiter::Line;
use ddns_core::schedule::queue::{Job, Lane, LaneKey};
use ddns_core::schedule::retry_after;
use ddns_core::text::duration::duration;
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use ddns_core::update::outcome::Outcome;

use crate::clock::unix_time;
use crate::http::{Client, How, Over, Response, USER_AGENT, Want};
use crate::output::log::Log;
use crate::output::report;

/// As much of a response's body is shown in the debug log.
const SHOWN_BODY: usize = 500;

/// Sends the updates of one entry.
pub(crate) struct Sender<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) client: &'a Client,
    pub(crate) log: &'a Log<'a>,
    /// The number of its configuration.
    pub(crate) config: usize,
    pub(crate) concurrency: Concurrency,
    /// Whether its configuration has other endpoints too: log lines then name this one.
    pub(crate) is_one_of_several: bool,
}

/// An update whose sending has ended.
pub(super) struct Sent<'a> {
    pub(super) update: Update<'a>,
    pub(super) start: (Job, Lane),
    pub(super) outcome: Outcome,
    /// How long the endpoint wants no requests; none where it did not say.
    pub(super) retry_after: Option<Duration>,
    /// Where it went; none where log lines need not name it.
    pub(super) origin: Option<String>,
    /// The proxy that may have responded in the endpoint's place.
    pub(super) relay: Option<String>,
    /// What the endpoint allows, for a 405.
    pub(super) allow: Option<String>,
    /// How the line of new connections at the endpoint was at the end.
    pub(super) line: Line,
    pub(super) took: Duration,
}

impl<'a> Sender<'a> {
    /// Whether everything in its configuration is sent one after the other.
    pub(super) fn is_strict(&self) -> bool {
        matches!(self.concurrency, Concurrency::Fixed(number) if number.get() == 1)
    }

    /// The lane of an update, and whether it is that of all of them.
    pub(super) fn lane(&self, update: &Update<'_>) -> (LaneKey, bool) {
        if self.is_strict() {
            return (LaneKey::Strict(self.config), true);
        }
        // One whose URL cannot be made fails by itself, wherever it stands.
        let request = self.entry.callback.render(update, unix_time());
        let origin = request.map(|request| request.url.origin()).unwrap_or_default();
        (LaneKey::Origin(origin), self.entry.callback.target.fixed_part().is_some())
    }

    /// Sends one update.
    pub(super) async fn send(&self, update: Update<'a>, start: (Job, Lane)) -> Sent<'a> {
        let now = unix_time();
        let began = Instant::now();
        if self.log.shows(Level::Debug)
            && let Ok(request) = self.entry.callback.redacted(&update, now, USER_AGENT, false)
        {
            let way = self.entry.proxies.described(&request.url);
            self.log.debug(|| format!("{update}: sending to {}{way}", request.url.origin()));
            for line in request.lines() {
                self.log.debug(|| format!("> {line}"));
            }
        }
        let (mut retry_after, mut relay, mut allow, mut line) = (None, None, None, Line::Free);
        let request = self.entry.callback.render(&update, now);
        let outcome = match &request {
            Err(why) => {
                let why = self.log.masked(&why.to_string()).into_owned();
                Outcome::Failed { why, reached: false }
            }
            Ok(request) => match self.client.send(request, self.how()).await {
                Ok(response) => {
                    self.warn(&response.warnings);
                    self.show(&response, began.elapsed());
                    relay = response.relay().map(ToString::to_string);
                    line = response.line;
                    retry_after =
                        response.retry_after.as_deref().and_then(|text| retry_after::parse(text, now.seconds));
                    allow = response.allow;
                    Outcome::of_status(response.status)
                }
                Err(failure) => {
                    self.warn(&failure.warnings);
                    Outcome::Failed { why: self.log.masked(&failure.why).into_owned(), reached: failure.reached }
                }
            },
        };
        let origin = request.ok().filter(|_| self.is_one_of_several).map(|request| request.url.origin());
        Sent { update, start, outcome, retry_after, origin, relay, allow, line, took: began.elapsed() }
    }

    /// Logs how it ended, and when it is retried.
    pub(super) fn report(&self, sent: &Sent<'_>, retry: Option<Duration>) {
        let level = if sent.outcome.is_accepted() { Level::Info } else { Level::Error };
        self.log.line(level, || {
            let line = report::line(&report::Report {
                update: &sent.update,
                outcome: &sent.outcome,
                took: sent.took,
                origin: sent.origin.as_deref(),
                relay: sent.relay.as_deref(),
                has_body: self.entry.callback.body.is_some(),
                allow: sent.allow.as_deref(),
            });
            match retry {
                Some(retry) => format!("{line}; retry in {}", duration(retry)),
                None => line,
            }
        });
    }

    fn how(&self) -> How<'_> {
        How {
            limit: self.entry.timeout,
            want: Want::Status,
            over: Over::Any,
            proxies: &self.entry.proxies,
            ssl: &self.entry.ssl,
            from: None,
        }
    }

    fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.log.warning(warning);
        }
    }

    /// What came back. The body is masked before it is cut: a cut could split a secret so that its halves are not found
    /// (D4).
    fn show(&self, response: &Response, took: Duration) {
        self.log.debug(|| {
            let via = response.via.as_ref().map(|server| format!(", through the proxy {server}")).unwrap_or_default();
            format!("< {} ({} ms{via})", report::with_reason(response.status), took.as_millis())
        });
        if response.body.is_empty() {
            return;
        }
        self.log.debug(|| {
            let text = String::from_utf8_lossy(&response.body);
            let masked = self.log.masked(&text);
            let shown: String = masked.chars().take(SHOWN_BODY).collect();
            let cut = if shown.len() < masked.len() { "…" } else { "" };
            format!("< {shown}{cut}")
        });
    }
}

/// The senders of all configurations, each with the log of its own.
pub(crate) fn senders<'a>(configs: &'a [Valid], logs: &'a [Log<'a>], client: &'a Client) -> Vec<Sender<'a>> {
    let senders = configs.iter().zip(logs).enumerate().flat_map(|(number, ((config, _), log))| {
        config.entries.iter().map(move |entry| Sender {
            entry,
            client,
            log,
            config: number,
            concurrency: config.concurrency,
            is_one_of_several: config.entries.len() > 1,
        })
    });
    senders.collect()
}
