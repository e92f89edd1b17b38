//! Every address of this host with its verdict, and what each source returns: for `ddns addresses` and the page.

use ddns_core::address::lookup::Lookup;
use ddns_core::config::Config;
use ddns_core::net::family::Family;
use ddns_core::net::local_address::{Lifetime, LocalAddress};
use ddns_core::net::reach::doubtful;
use ddns_core::net::reach::is_private;
use ddns_core::object;
use ddns_core::text::duration::seconds;
use serde::Serialize;

use super::{Query, local_addresses, look_up_all, shared};
use crate::http::Client;

pub(crate) struct LookupReport {
    /// The addresses of this host, or why they cannot be listed.
    pub(crate) local: Result<Vec<LocalAddress>, String>,
    pub(crate) lists: Vec<SourceReport>,
}

/// What the sources of some domains return.
pub(crate) struct SourceReport {
    pub(crate) family: Family,
    pub(crate) domains: Vec<String>,
    pub(crate) lookup: Lookup,
}

impl LookupReport {
    /// The addresses of this host; asks no source.
    pub(crate) fn of_host() -> Self {
        Self { local: local_addresses(), lists: Vec::new() }
    }

    /// Asks every source, one after the other, so that the measured times are their own.
    pub(crate) async fn make(configs: &[&Config], client: &Client) -> Self {
        let mut report = Self::of_host();
        for family in Family::ALL {
            report.lists.extend(lists_of(configs, family, client).await);
        }
        report
    }

    fn local(&self) -> &[LocalAddress] {
        self.local.as_deref().unwrap_or_default()
    }

    /// As JSON.
    pub(crate) fn json(&self) -> impl Serialize {
        let local = self.local().iter().map(|address| {
            object! {
                interface: &address.interface,
                ip: address.ip,
                prefix: address.prefix,
                scope: address.scope.key(),
                flags: flags(address),
                valid: address.valid,
                preferred: address.preferred,
                private: is_private(address.ip),
                verdict: address.unusable().unwrap_or("usable"),
            }
        });
        let all = self.lists.iter().flat_map(|list| list.lookup.attempts.iter().map(move |one| (list, one)));
        let sources = all.map(|(list, attempt)| {
            let (ip, why) = match &attempt.result {
                Ok(choice) => (Some(choice.ip), &choice.why),
                Err(why) => (None, why),
            };
            object! {
                family: list.family.to_string(),
                source: &attempt.source,
                ip: ip,
                why: why,
                ms: attempt.took.as_millis(),
                domains: &list.domains,
            }
        });
        let chosen = Family::ALL.map(|family| {
            let mut found = self.lists.iter().filter(|list| list.family == family).map(|list| list.lookup.found());
            let first = found.find(Option::is_some).flatten();
            first.map(|(source, choice)| object! { ip: choice.ip, source: source, why: &choice.why })
        });
        let [a, aaaa] = chosen;
        object! {
            local: local.collect::<Vec<_>>(),
            sources: sources.collect::<Vec<_>>(),
            chosen: object! { A: a, AAAA: aaaa },
            hints: self.lists.iter().flat_map(SourceReport::doubts).collect::<Vec<_>>(),
        }
    }
}

async fn lists_of(configs: &[&Config], family: Family, client: &Client) -> Vec<SourceReport> {
    let all = configs.iter().flat_map(|config| config.entries.iter().map(move |entry| (*config, entry)));
    let queries = all.filter_map(|(config, entry)| Some((Query::needed(entry, family)?, (config, entry))));
    let mut lists = Vec::new();
    for (query, sharing) in shared(queries) {
        let secrets = sharing[0].0.secrets().longer_than(4);
        let lookup = look_up_all(query, client).await.masked(&secrets);
        let domains = sharing.iter().flat_map(|(_, entry)| entry.domains_of(family)).map(ToString::to_string).collect();
        lists.push(SourceReport { family, domains, lookup });
    }
    lists
}

impl SourceReport {
    /// `for home.example.com`, `for a.example to z.example (12 domains)`; empty if there are no domains.
    pub(crate) fn named(&self) -> String {
        match self.domains.as_slice() {
            [] => String::new(),
            [one] => format!("for {one}"),
            [one, .., last] => format!("for {one} to {last} ({} domains)", self.domains.len()),
        }
    }

    /// Which address would be sent, and why; `None` if no source gave one.
    pub(crate) fn verdict(&self) -> Option<String> {
        let (source, choice) = self.lookup.found()?;
        Some(format!("{} would be sent: {source} is the first source with an address.", choice.ip))
    }

    /// Hints and warnings about the address.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let nat = self.lookup.behind_nat().map(|why| format!("Warning: {why}."));
        let Some(ip) = self.lookup.address() else { return nat.into_iter().collect() };
        let hint = "It is private: the internet cannot reach it. `public` or `stun:` give the router's address.";
        let private = is_private(ip).then(|| hint.to_owned());
        private.into_iter().chain(doubtful(ip).map(|why| format!("Warning: {why}."))).chain(nat).collect()
    }
}

/// Whether an address of this host can be sent.
pub(crate) fn verdict(row: &LocalAddress) -> String {
    match row.unusable() {
        None if is_private(row.ip) => "usable, but private".to_owned(),
        None => "usable".to_owned(),
        Some(why) => format!("not usable: {why}"),
    }
}

/// Scope, flags and lifetimes in words.
pub(crate) fn described(row: &LocalAddress) -> String {
    let mut words = vec![format!("scope {}", row.scope.key())];
    words.extend(flags(row).into_iter().filter(|flag| *flag != "permanent").map(str::to_owned));
    words.push(match (row.valid, row.preferred) {
        (Lifetime::Forever, _) => "forever".to_owned(),
        (Lifetime::Unknown, _) => return words.join(", "),
        (Lifetime::Seconds(valid), Lifetime::Seconds(preferred)) => {
            format!("valid {}, preferred {}", seconds(valid.into()), seconds(preferred.into()))
        }
        (Lifetime::Seconds(valid), _) => format!("valid {}", seconds(valid.into())),
    });
    words.join(", ")
}

fn flags(row: &LocalAddress) -> Vec<&'static str> {
    let flags = &row.flags;
    let all = [
        (flags.temporary, "temporary"),
        (flags.deprecated, "deprecated"),
        (flags.tentative, "tentative"),
        (flags.dad_failed, "dadfailed"),
        (flags.permanent, "permanent"),
        (flags.down, "down"),
    ];
    all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
}
