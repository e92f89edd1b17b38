//! One synchronization: observe, plan, render, send, fold, save. Decides nothing: each step asks the core.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ddns_core::callback::{Callback, Fingerprint, Secrets, Timestamp};
use ddns_core::config::{Cache, Config, Entry};
use ddns_core::domain::Domain;
use ddns_core::log_format::Level;
use ddns_core::observe::Observation;
use ddns_core::outcome::{Outcome, Tally};
use ddns_core::pace::Pace;
use ddns_core::plan::{Reason, Step, plan};
use ddns_core::record::{Family, Update};
use ddns_core::state::{EntryKey, learned};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::environment::Environment;
use crate::http::{Client, How, Over, USER_AGENT, Want};
use crate::log::Log;
use crate::report;
use crate::sources::Observations;
use crate::store::{Durability, Store};

/// As much of an answer's body is shown in the debug log.
const SHOWN_BODY: usize = 500;

/// What one synchronization works with, over all of its configurations.
pub(crate) struct Sync<'a> {
    pub(crate) client: &'a Client,
    pub(crate) environment: &'a Environment,
    pub(crate) observations: Observations,
    stores: HashMap<PathBuf, Store>,
}

impl<'a> Sync<'a> {
    pub(crate) fn new(client: &'a Client, environment: &'a Environment) -> Self {
        Self { client, environment, observations: Observations::default(), stores: HashMap::new() }
    }

    /// Tells everything of one configuration that must be told. Entries are independent: whatever one of them comes
    /// to, the next one is done (A6).
    pub(crate) async fn run(&mut self, config: &Config, log: &Log<'_>) -> Tally {
        let mut tally = Tally::default();
        for entry in &config.entries {
            let mut observed = [const { Observation::Off }; 2];
            for family in Family::ALL {
                let observation = self.observations.observe(entry, family, self.client, log).await;
                if observation == Observation::Unavailable {
                    let count = entry.domains_of(family).len();
                    log.error(format!("no {family} address was found: {count} of the updates cannot be told"));
                    tally.without_address += count;
                }
                observed[family.index()] = observation;
            }
            // Without an address nothing is looked up in the cache, and nothing about it changes (E6).
            if !observed.iter().any(|observation| matches!(observation, Observation::Found(_))) {
                continue;
            }
            let pace = Pace::new(config.concurrency);
            let is_one_of_several = config.entries.len() > 1;
            let teller = Teller { entry, client: self.client, log, is_one_of_several };
            let store = cache_path(entry, self.environment)
                .map(|path| self.stores.entry(path).or_insert_with_key(|path| Store::open(path, log)));
            tally = tally.plus(teller.tell(&observed, store, pace).await);
        }
        tally
    }
}

fn cache_path(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    match &entry.cache {
        Cache::Off => None,
        Cache::Standard => Some(environment.standard_cache()),
        Cache::File(path) => Some(environment.path(path)),
    }
}

/// Everything in a configuration that must not be seen in a log.
pub(crate) fn secrets(config: &Config) -> Secrets {
    let domains = config.entries.iter().flat_map(|entry| entry.domains.iter().flatten());
    let public: Vec<&str> = domains.map(Domain::as_str).collect();
    let mut literals = Vec::new();
    for entry in &config.entries {
        literals.extend(entry.callback.literals());
        entry.proxies.literals(&mut literals);
        entry.sources.iter().flatten().for_each(|source| source.literals(&mut literals));
    }
    Secrets::new(literals, &public)
}

/// Tells the updates of one entry.
pub(crate) struct Teller<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) client: &'a Client,
    pub(crate) log: &'a Log<'a>,
    /// Whether other endpoints are told too: lines then say which one.
    pub(crate) is_one_of_several: bool,
}

impl Teller<'_> {
    /// Plans, sends in the order of the configuration as many at once as the pace allows, remembers what was accepted,
    /// and saves while it goes.
    pub(crate) async fn tell(
        &self,
        observed: &[Observation; 2],
        mut store: Option<&mut Store>,
        mut pace: Pace,
    ) -> Tally {
        let mut tally = Tally::default();
        let print = store.as_ref().map(|store| self.entry.callback.fingerprint(store.state().salt()));
        let steps = plan(self.entry, observed, store.as_deref().map(Store::state).zip(print), unix_time().seconds);
        if let (Some(store), Some(print)) = (store.as_deref_mut(), print) {
            self.forget_what_is_replaced(&steps, store, print);
        }
        let shown = self.log.shows(Level::Debug).then(|| self.entry.callback.masked());
        let mut waiting = steps.into_iter().filter_map(|step| match step {
            Step::Send(update, reason) => Some((update, reason)),
            Step::Known(update, at) => {
                self.log.debug(|| {
                    format!("{update}: already known, accepted {} s ago", unix_time().seconds.saturating_sub(at))
                });
                tally.known += 1;
                None
            }
        });
        let mut under_way = FuturesUnordered::new();
        let max_age = self.entry.cache_max_age;
        loop {
            while under_way.len() < pace.limit()
                && let Some((update, reason)) = waiting.next()
            {
                under_way.push(self.send(update, reason, shown.as_ref()));
            }
            let Some((update, outcome)) = next(&mut under_way, store.as_deref_mut(), max_age, self.log).await else {
                break;
            };
            pace.learn(&outcome);
            if outcome.is_accepted() {
                tally.accepted += 1;
            } else {
                tally.failed += 1;
            }
            remember(store.as_deref_mut(), print, &update, &outcome);
        }
        drop(waiting);
        if let Some(store) = store {
            store.save(max_age, unix_time().seconds, Durability::Power, self.log);
        }
        tally
    }

    /// From the moment a new address is sent, nobody knows which one the endpoint holds. Should this run be killed
    /// then, the old one must not count as known: it is forgotten before anything is sent.
    fn forget_what_is_replaced(&self, steps: &[Step<'_>], store: &mut Store, callback: Fingerprint) {
        for step in steps {
            if let Step::Send(update, reason) = step
                && reason.replaces()
            {
                store.learn(EntryKey { callback, domain: update.domain.clone(), family: update.family }, None);
            }
        }
        store.save(self.entry.cache_max_age, unix_time().seconds, Durability::Process, self.log);
    }

    /// Sends one update and logs how it went.
    async fn send<'u>(&self, update: Update<'u>, reason: Reason, shown: Option<&Callback>) -> (Update<'u>, Outcome) {
        let now = unix_time();
        let start = Instant::now();
        if let Some(Ok(request)) = shown.map(|callback| callback.render(&update, now)) {
            self.log.debug(|| format!("{update}: {reason}; sending to {}", request.url.origin()));
            for line in request.lines(USER_AGENT) {
                self.log.debug(|| format!("> {line}"));
            }
        }
        let request = self.entry.callback.render(&update, now);
        let origin = request.as_ref().ok().map(|request| request.url.origin());
        let mut relay = None;
        let outcome = match request {
            Err(why) => Outcome::Failed { why: format!("the address {why}"), reached: false },
            Ok(request) => match self.client.send(&request, self.how()).await {
                Ok(answer) => {
                    if let Some(doubt) = &answer.doubt {
                        self.log.warning(doubt);
                    }
                    self.log.debug(|| {
                        let via = answer.via.as_ref().map(|server| format!(", through the proxy {server}"));
                        let (via, took) = (via.unwrap_or_default(), start.elapsed().as_millis());
                        format!("< {} ({took} ms{via})", report::with_reason(answer.status))
                    });
                    relay = answer.relay().map(ToString::to_string);
                    self.show_body(&answer.body);
                    Outcome::of_status(answer.status)
                }
                Err(failure) => {
                    Outcome::Failed { why: self.log.masked(&failure.why).into_owned(), reached: failure.reached }
                }
            },
        };
        let level = if outcome.is_accepted() { Level::Info } else { Level::Error };
        let origin = origin.filter(|_| self.is_one_of_several);
        self.log.line(level, || report::line(&update, &outcome, start.elapsed(), origin.as_deref(), relay.as_deref()));
        (update, outcome)
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

    /// The answer's body, masked before it is cut: a cut could split a secret so that its halves are not found (D4).
    fn show_body(&self, body: &[u8]) {
        if body.is_empty() {
            return;
        }
        self.log.debug(|| {
            let text = String::from_utf8_lossy(body);
            let masked = self.log.masked(&text);
            let shown: String = masked.chars().take(SHOWN_BODY).collect();
            let cut = if shown.len() < masked.len() { "…" } else { "" };
            format!("< {shown}{cut}")
        });
    }
}

/// The next request that ends. News that has waited long enough is saved meanwhile.
async fn next<F: Future>(
    under_way: &mut FuturesUnordered<F>,
    store: Option<&mut Store>,
    max_age: Duration,
    log: &Log<'_>,
) -> Option<F::Output> {
    if let Some(store) = store
        && let Some(by) = store.save_by()
    {
        match timeout_at(by.into(), under_way.next()).await {
            Ok(ended) => {
                if Instant::now() >= by {
                    store.save(max_age, unix_time().seconds, Durability::Power, log);
                }
                return ended;
            }
            Err(_) => store.save(max_age, unix_time().seconds, Durability::Power, log),
        }
    }
    under_way.next().await
}

fn remember(store: Option<&mut Store>, print: Option<Fingerprint>, update: &Update<'_>, outcome: &Outcome) {
    if let (Some(store), Some(callback)) = (store, print)
        && let Some(entry) = learned(outcome, update, unix_time().seconds)
    {
        let key = EntryKey { callback, domain: update.domain.clone(), family: update.family };
        store.learn(key, entry);
    }
}

/// The time of day; the epoch on a host whose clock is before it.
pub(crate) fn unix_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp { seconds: since.as_secs(), micros: since.subsec_micros() }
}
