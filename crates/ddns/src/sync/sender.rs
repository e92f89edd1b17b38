//! Sending one update of one entry, and reporting how it ended.

use std::cell::Cell;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ddns_core::callback::expect::{BODY_LIMIT, Expect, Judgement, Meaning, suspicious};
use ddns_core::callback::{Moment, Parcel};
use ddns_core::config::validate::Valid;
use ddns_core::config::{Concurrency, Entry};
use ddns_core::schedule::limiter::Line;
use ddns_core::schedule::queue::{Job, Lane, LaneKey};
use ddns_core::schedule::retry_after;
use ddns_core::text::log_format::Level;
use ddns_core::update::domain::Domain;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::{Sendable, Update};

use crate::clock::unix_time;
use crate::http::{Client, How, Over, Response, USER_AGENT, Want};
use crate::output::log::Log;
use crate::output::report;

/// As much of a response's body is shown in the debug log.
const SHOWN_BODY: usize = 500;

/// As much of what a service said is shown in a message.
const SHOWN_WORDS: usize = 120;

/// Sends the updates of one entry.
pub(crate) struct Sender<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) client: &'a Client,
    pub(crate) log: &'a Log<'a>,
    /// The number of its configuration.
    pub(crate) config: usize,
    /// The name of its configuration.
    pub(crate) file: &'a str,
    pub(crate) concurrency: Concurrency,
    /// Whether its configuration has other endpoints too: log lines then name this one.
    pub(crate) is_one_of_several: bool,
    /// Whether `expect` was recommended.
    has_hinted: Cell<bool>,
}

/// Updates that go in one request, with their numbers: one, unless `combine` says otherwise (H7).
pub(super) type Batch<'a> = Vec<(Job, Sendable<'a>)>;

/// A request that has ended.
pub(super) struct Sent<'a> {
    pub(super) batch: Batch<'a>,
    pub(super) start: (Job, Lane),
    /// One for each update, or one for all of them.
    pub(super) outcomes: Vec<Outcome>,
    /// Which condition of `expect` decided, one for each update; empty where the status did.
    pub(super) because: Vec<String>,
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

impl<'a> Sent<'a> {
    /// Each update and how it ended.
    pub(super) fn outcomes(&self) -> impl Iterator<Item = ((Job, Update<'a>), &Outcome)> {
        let outcome = |at: usize| self.outcomes.get(at).or(self.outcomes.first());
        self.batch.iter().enumerate().filter_map(move |(at, member)| Some(((member.0, *member.1), outcome(at)?)))
    }

    /// How the request ended: what must be retried counts most, then what was stopped.
    pub(super) fn outcome(&self) -> &Outcome {
        let find = |is_meant: fn(&Outcome) -> bool| self.outcomes.iter().find(|outcome| is_meant(outcome));
        find(Outcome::is_retried).or(find(|outcome| !outcome.is_accepted())).unwrap_or(&self.outcomes[0])
    }

    /// One that was not sent after all.
    pub(super) fn unsent(batch: Batch<'a>, start: (Job, Lane), why: &str) -> Self {
        Self::of(batch, start, Outcome::Failed { why: why.to_owned(), reached: false })
    }

    /// One that ended like this, and of which nothing else is known.
    pub(super) fn of(batch: Batch<'a>, start: (Job, Lane), outcome: Outcome) -> Self {
        Self {
            batch,
            start,
            outcomes: vec![outcome],
            because: Vec::new(),
            retry_after: None,
            origin: None,
            relay: None,
            allow: None,
            line: Line::Free,
            took: Duration::ZERO,
        }
    }
}

impl<'a> Sender<'a> {
    /// Whether everything in its configuration is sent one after the other.
    pub(super) fn is_strict(&self) -> bool {
        matches!(self.concurrency, Concurrency::Fixed(number) if number.get() == 1)
    }

    /// The lane of an update, and whether it is that of all of them.
    pub(super) fn lane(&self, batch: &Batch<'_>) -> (LaneKey, bool) {
        if self.is_strict() {
            return (LaneKey::Strict(self.config), true);
        }
        if let Some(url) = self.entry.callback.target.fixed_part() {
            return (LaneKey::Origin(url.origin()), true);
        }
        // One whose URL cannot be made fails by itself, wherever it stands.
        let url = parcel(batch).and_then(|parcel| self.entry.callback.url(parcel.batch(), unix_time()).ok());
        let origin = url.map(|url| url.origin()).unwrap_or_default();
        (LaneKey::Origin(origin), false)
    }

    /// Sends the updates of one request.
    pub(super) async fn send(&self, batch: Batch<'a>, start: (Job, Lane), moment: Moment) -> Sent<'a> {
        let Some(parcel) = parcel(&batch) else {
            return Sent::unsent(batch, start, "there is nothing to send");
        };
        let now = moment.now;
        let began = Instant::now();
        if self.log.shows(Level::Debug)
            && let Ok(request) = self.entry.callback.redacted(parcel.batch(), moment, USER_AGENT, false)
        {
            let way = self.entry.proxies.described(&request.url);
            self.log.debug(|| format!("{}: sending to {}{way}", parcel.batch().first, request.url.origin()));
            for line in request.lines() {
                self.log.debug(|| format!("> {line}"));
            }
        }
        let (mut retry_after, mut relay, mut allow, mut line) = (None, None, None, Line::Free);
        let mut because = Vec::new();
        let request = self.entry.callback.render(&parcel, moment);
        let outcomes = match &request {
            Err(why) => {
                let why = self.log.masked(&why.to_string()).into_owned();
                vec![Outcome::Failed { why, reached: false }]
            }
            Ok(request) => match self.client.send(request, self.how()).await {
                Ok(response) => {
                    self.warn(&response.warnings);
                    self.show(&response, began.elapsed());
                    relay = response.relay().map(ToString::to_string);
                    line = response.line;
                    retry_after =
                        response.retry_after.as_deref().and_then(|text| retry_after::parse(text, now.seconds));
                    let mut outcomes;
                    (outcomes, because) = self.judge(&response, &batch);
                    for outcome in &mut outcomes {
                        if let Outcome::Wait { wait, .. } = outcome {
                            *wait = wait.or(retry_after);
                            retry_after = *wait;
                        }
                    }
                    allow = response.allow;
                    outcomes
                }
                Err(failure) => {
                    self.warn(&failure.warnings);
                    let why = self.log.masked(&failure.why).into_owned();
                    vec![Outcome::Failed { why, reached: failure.reached }]
                }
            },
        };
        let origin = request.ok().filter(|_| self.is_one_of_several).map(|request| request.url.origin());
        Sent { batch, start, outcomes, because, retry_after, origin, relay, allow, line, took: began.elapsed() }
    }

    /// What a response means: its status decides, or `expect` where it is set. One for each update, or one for all; and
    /// which condition decided.
    fn judge(&self, response: &Response, batch: &Batch<'_>) -> (Vec<Outcome>, Vec<String>) {
        let status = response.status;
        let Some(expect) = &self.entry.callback.expect else {
            self.hint_at_expect(response);
            return (vec![Outcome::of_status(status)], Vec::new());
        };
        if expect.needs_body() && !response.is_whole && response.body.len() < BODY_LIMIT {
            let why = format!("{status}, but the rest of the response did not come, and `expect` needs it");
            return (vec![Outcome::Failed { why, reached: true }], Vec::new());
        }
        let mut domains: Vec<&Domain> = Vec::new();
        for (_, update) in batch {
            if !domains.contains(&update.domain) {
                domains.push(update.domain);
            }
        }
        let sent: Vec<IpAddr> = batch.iter().map(|(_, update)| update.ip).collect();
        let judged = expect.judge(status, &response.body, domains.len(), &sent);
        let outcome = |update: &Update<'_>| {
            let at = domains.iter().position(|domain| *domain == update.domain).unwrap_or_default();
            match judged.get(at).or(judged.first()) {
                Some(judgement) => (self.outcome(status, judgement, update), judgement.because.clone()),
                None => (Outcome::of_status(status), String::new()),
            }
        };
        batch.iter().map(|(_, update)| outcome(update)).unzip()
    }

    fn outcome(&self, status: u16, Judgement { verdict, words, because }: &Judgement, update: &Update<'_>) -> Outcome {
        let words = self.words(words);
        self.log.debug(|| format!("{update}: expect: {because}"));
        match *verdict {
            Meaning::Accepted => Outcome::Accepted(status),
            Meaning::Unchanged => Outcome::Unchanged(status),
            Meaning::Rejected if !(200..300).contains(&status) => Outcome::Refused(status),
            Meaning::Rejected => Outcome::Rejected { status, words },
            Meaning::Stopped { until_address, all } => Outcome::Stopped { status, words, until_address, all },
            Meaning::Wait(wait) => Outcome::Wait { status, words, wait },
        }
    }

    /// The words of a service as they may be seen: on one line, and masked before they are cut.
    fn words(&self, words: &str) -> String {
        let masked = self.log.masked(words);
        let words = masked.split(|letter: char| letter.is_whitespace() || letter.is_control());
        let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        line.chars().take(SHOWN_WORDS).collect()
    }

    /// Some services respond with 200 whatever happened. Nothing is decided by it.
    fn hint_at_expect(&self, response: &Response) {
        let is_success = (200..300).contains(&response.status);
        if is_success
            && !self.has_hinted.get()
            && let Some(word) = suspicious(&response.body)
        {
            self.has_hinted.set(true);
            let (status, word) = (response.status, self.words(&word));
            self.log.warning(format!(
                "the response says `{word}`, but only its status counts ({status}): set `expect` if that is a failure"
            ));
        }
    }

    /// Logs how it ended, and when it is retried.
    pub(super) fn report(&self, sent: &Sent<'_>, update: &Update<'_>, outcome: &Outcome, retry: Option<Duration>) {
        let level = if outcome.is_accepted() { Level::Info } else { Level::Error };
        self.log.line(level, || {
            report::line(&report::UpdateReport {
                update,
                outcome,
                took: sent.took,
                origin: sent.origin.as_deref(),
                relay: sent.relay.as_deref(),
                has_body: self.entry.callback.body.is_some(),
                allow: sent.allow.as_deref(),
                retry,
            })
        });
    }

    fn how(&self) -> How<'_> {
        How {
            limit: self.entry.timeout,
            want: if self.entry.callback.expect.as_ref().is_some_and(Expect::needs_body) {
                Want::Verdict
            } else {
                Want::Status
            },
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

fn parcel<'a>(batch: &Batch<'a>) -> Option<Parcel<'a>> {
    Parcel::of(batch.iter().map(|(_, update)| *update))
}

/// The senders of all configurations, each with the log of its own.
pub(crate) fn senders<'a>(configs: &'a [Valid], logs: &'a [Log<'a>], client: &'a Client) -> Vec<Sender<'a>> {
    let senders = configs.iter().zip(logs).enumerate().flat_map(|(number, ((config, _), log))| {
        config.entries.iter().map(move |entry| Sender {
            entry,
            client,
            log,
            config: number,
            file: &config.name,
            concurrency: config.concurrency,
            is_one_of_several: config.entries.len() > 1,
            has_hinted: Cell::new(false),
        })
    });
    senders.collect()
}
