//! Looks up the host's address: asks the sources of an entry in order, and takes the first usable address. One file for
//! each kind of source. The caller decides what to log or show.

mod command;
mod default;
mod dns;
mod interfaces;
mod public;
mod pushed;
mod quorum;
pub(crate) mod report;
mod router;
mod server;
mod source;
mod stun;
mod url;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use ddns_core::address::lookup::Lookup;
use ddns_core::address::source::Source;
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::net::ssl::Ssl;
use futures_util::future::join_all;

use crate::http::Client;

pub(crate) use default::own_address;
pub(crate) use interfaces::list as local_addresses;

/// What is looked up. Equal queries have equal results, so one lookup serves all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Query<'a> {
    pub(crate) family: Family,
    sources: &'a [Source],
    /// How long a request may take.
    time: Duration,
    /// How the server of a page is verified.
    ssl: &'a Ssl,
}

impl<'a> Query<'a> {
    pub(crate) fn new(entry: &'a Entry, family: Family) -> Self {
        Self { family, sources: entry.sources_of(family), time: entry.timeout, ssl: &entry.ssl }
    }

    /// A query for any sources.
    pub(crate) fn of(family: Family, sources: &'a [Source], time: Duration, ssl: &'a Ssl) -> Self {
        Self { family, sources, time, ssl }
    }

    /// `None` if the family has no domains or is turned off: there is nothing to look up.
    pub(crate) fn needed(entry: &'a Entry, family: Family) -> Option<Self> {
        (!entry.domains_of(family).is_empty()).then(|| Self::new(entry, family))
    }
}

/// Asks the sources in order until one gives an address.
pub(crate) async fn look_up(query: Query<'_>, client: &Client) -> Lookup {
    ask_in_order(query, client, false).await
}

/// Asks every source, also those after the first that gives an address.
pub(crate) async fn look_up_all(query: Query<'_>, client: &Client) -> Lookup {
    ask_in_order(query, client, true).await
}

async fn ask_in_order(query: Query<'_>, client: &Client, all: bool) -> Lookup {
    let mut lookup = Lookup::default();
    // These sources use or see an address of this host; others, such as a router, do not depend on it.
    if query.family == Family::V6 && query.sources.iter().any(Source::is_of_this_host) {
        interfaces::settle().await;
    }
    for source in query.sources {
        let start = Instant::now();
        let result = quorum::ask(source, query, client).await;
        if lookup.add(source, result, start.elapsed()) && !all {
            break;
        }
    }
    lookup
}

/// Groups equal queries: each query once, with everything that asks it.
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

/// Looks up the addresses of all entries at the same time. Returns one pair for each, in the order of the
/// configurations. An address in `given` replaces the lookup of its family. Secrets are masked.
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
        // Shorter secrets match ordinary words.
        let secrets = config.secrets().longer_than(4);
        let of_config = pairs.by_ref().take(config.entries.len());
        all.extend(of_config.map(|pair| pair.map(|lookup| lookup.map(|lookup| lookup.masked(&secrets)))));
    }
    all
}

#[cfg(test)]
mod tests;
