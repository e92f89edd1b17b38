//! Looking up the host's address: the sources of an entry are asked in order, and the first usable address wins. One
//! file for each kind of source. The caller decides what is logged or shown of it.

mod command;
mod default;
mod interfaces;
mod limits;
mod public;
mod quorum;
pub(crate) mod report;
mod source;
mod stun;
mod url;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use ddns_core::address::observation::{Choice, Observed};
use ddns_core::address::source::Source;
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::text::secrets::Secrets;
use futures_util::future::join_all;

use crate::http::Client;
use limits::Limits;

pub(crate) use default::own_address;
pub(crate) use interfaces::list as local_addresses;

/// What is looked up. Equal queries have equal results, so one lookup serves all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Query<'a> {
    pub(crate) family: Family,
    sources: &'a [Source],
    limits: Limits<'a>,
}

impl<'a> Query<'a> {
    pub(crate) fn new(entry: &'a Entry, family: Family) -> Self {
        let limits = Limits { time: entry.timeout, ssl: &entry.ssl };
        Self { family, sources: entry.sources_of(family), limits }
    }

    /// None where the family has no domains or is switched off: there is nothing to look up.
    pub(crate) fn needed(entry: &'a Entry, family: Family) -> Option<Self> {
        (!entry.domains_of(family).is_empty()).then(|| Self::new(entry, family))
    }
}

/// What the sources of a query gave, in the order in which they were asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lookup {
    pub(crate) attempts: Vec<Attempt>,
    observed: Option<Observed>,
}

/// What one source gave.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) source: String,
    /// The address and the reason for it, or why there is none.
    pub(crate) result: Result<Choice, String>,
    pub(crate) took: Duration,
}

impl Lookup {
    /// An example that the user gave: nothing is asked, and nothing can be sent (A8).
    fn given(ip: IpAddr) -> Self {
        let choice = Choice { ip, why: "an example, given on the command line".to_owned() };
        let attempt = Attempt { source: "--ip".to_owned(), result: Ok(choice), took: Duration::ZERO };
        Self { attempts: vec![attempt], observed: None }
    }

    /// Takes in what a source gave. Whether that is an address.
    pub(crate) fn add(&mut self, source: &Source, result: Result<Choice, String>, took: Duration) -> bool {
        let is_found = result.is_ok();
        self.observed = self.observed.or(result.as_ref().ok().map(|choice| Observed::by(source, choice)));
        self.attempts.push(Attempt { source: source.to_string(), result, took });
        is_found
    }

    /// The address that the first source gave; `None` if no source did, or an example stands in its place.
    pub(crate) fn observed(&self) -> Option<Observed> {
        self.observed
    }

    /// Whether its address is an example.
    pub(crate) fn is_example(&self) -> bool {
        self.observed.is_none() && self.found().is_some()
    }

    /// The first source that gave an address, and what it gave.
    pub(crate) fn found(&self) -> Option<(&str, &Choice)> {
        self.attempts.iter().find_map(|attempt| Some((attempt.source.as_str(), attempt.result.as_ref().ok()?)))
    }

    /// The address, to be shown; `None` if no source gave one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.found().map(|(_, choice)| choice.ip)
    }

    /// The sources that gave no address, and why.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attempts
            .iter()
            .filter_map(|attempt| Some((attempt.source.as_str(), attempt.result.as_ref().err()?.as_str())))
    }

    /// Whether the same sources gave the same, however long they took.
    pub(crate) fn has_same_results(&self, other: &Self) -> bool {
        let results = |lookup: &'_ Self| -> Vec<_> {
            lookup.attempts.iter().map(|attempt| (attempt.source.clone(), attempt.result.clone())).collect()
        };
        results(self) == results(other)
    }

    /// With these secrets masked: what a server or a program responded may hold what the user typed.
    pub(crate) fn masked(mut self, secrets: &Secrets) -> Self {
        for attempt in &mut self.attempts {
            match &mut attempt.result {
                Ok(choice) => choice.why = secrets.mask(&choice.why).into_owned(),
                Err(why) => *why = secrets.mask(why).into_owned(),
            }
        }
        self
    }
}

/// Asks the sources in order until one gives an address.
pub(crate) async fn look_up(query: Query<'_>, client: &Client) -> Lookup {
    let mut lookup = Lookup::default();
    for source in query.sources {
        if ask(&mut lookup, source, query, client).await {
            break;
        }
    }
    lookup
}

/// Asks every source, also those behind the first that gives an address.
pub(crate) async fn look_up_all(query: Query<'_>, client: &Client) -> Lookup {
    let mut lookup = Lookup::default();
    for source in query.sources {
        ask(&mut lookup, source, query, client).await;
    }
    lookup
}

async fn ask(lookup: &mut Lookup, source: &Source, query: Query<'_>, client: &Client) -> bool {
    let start = Instant::now();
    let result = quorum::ask(source, query.family, query.limits, client).await;
    lookup.add(source, result, start.elapsed())
}

/// Each distinct query once, with all who ask it.
pub(crate) fn shared<'a, T>(queries: impl IntoIterator<Item = (Query<'a>, T)>) -> Vec<(Query<'a>, Vec<T>)> {
    let mut groups: Vec<(Query<'a>, Vec<T>)> = Vec::new();
    for (query, who) in queries {
        match groups.iter_mut().find(|(known, _)| *known == query) {
            Some((_, all)) => all.push(who),
            None => groups.push((query, vec![who])),
        }
    }
    groups
}

/// The lookups of an entry, by [`Family::index`]; `None` if a family has no domains or is switched off.
pub(crate) type LookupPair = [Option<Lookup>; 2];

/// Looks up the addresses of all entries at the same time: one pair for each, in the order of the configurations. An
/// address in `given` is taken for its family without asking. What may be secret is masked.
pub(crate) async fn look_up_entries(
    configs: &[&Config],
    given: [Option<IpAddr>; 2],
    client: &Client,
) -> Vec<LookupPair> {
    let entries = || configs.iter().flat_map(|config| &config.entries);
    let queries = entries().enumerate().flat_map(|(at, entry)| {
        Family::ALL.into_iter().filter_map(move |family| Some((Query::needed(entry, family)?, at)))
    });
    let lookups = join_all(shared(queries).into_iter().map(async |(query, who)| match given[query.family.index()] {
        Some(ip) => (query.family, who, Lookup::given(ip)),
        None => (query.family, who, look_up(query, client).await),
    }));
    let mut pairs: Vec<LookupPair> = entries().map(|_| LookupPair::default()).collect();
    for (family, who, lookup) in lookups.await {
        for at in who {
            pairs[at][family.index()] = Some(lookup.clone());
        }
    }
    let mut pairs = pairs.into_iter();
    let mut all = Vec::new();
    for config in configs {
        // A key of three letters is a word of ours as well.
        let secrets = config.secrets().longer_than(4);
        let of_config = pairs.by_ref().take(config.entries.len());
        all.extend(of_config.map(|pair| pair.map(|lookup| lookup.map(|lookup| lookup.masked(&secrets)))));
    }
    all
}

#[cfg(test)]
mod tests;
