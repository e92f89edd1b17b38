//! What a configuration would send, redacted. Nothing is looked up and nothing is sent.

use std::net::IpAddr;

use ddns_core::callback::{Batch, Timestamp};
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::update::Update;

use crate::sync::preview::redacted;

/// A request as it may be seen.
pub(crate) struct Sent {
    /// The number of its entry.
    pub(super) entry: usize,
    /// The updates that it is about: families, and places in their lists.
    pub(super) members: Vec<(Family, usize)>,
    /// The same in words.
    pub(crate) about: String,
    pub(crate) origin: String,
    pub(crate) shown: String,
    /// The families that have no address: an example stands in its place, and the request cannot be sent (A8).
    pub(crate) missing: Vec<Family>,
}

/// Every request of a configuration with these addresses, by [`Family::index`]; examples where one is not known.
pub(super) fn all(config: &Config, addresses: [Option<IpAddr>; 2], now: Timestamp) -> Vec<Sent> {
    let mut all = Vec::new();
    for (number, entry) in config.entries.iter().enumerate() {
        let single = || {
            let of = |family: Family| (0..entry.domains_of(family).len()).map(move |place| vec![(family, place)]);
            Family::ALL.into_iter().flat_map(of).collect()
        };
        for group in entry.groups().unwrap_or_else(single) {
            all.extend(sent((number, entry), group, addresses, now));
        }
    }
    all
}

fn sent(
    (number, entry): (usize, &Entry),
    mut members: Vec<(Family, usize)>,
    addresses: [Option<IpAddr>; 2],
    now: Timestamp,
) -> Option<Sent> {
    let has_address = |family: Family| addresses[family.index()].is_some();
    let may_lack = entry.callback.variables.combine().is_some_and(|combine| combine.missing.is_some());
    if may_lack && members.iter().any(|(family, _)| has_address(*family)) {
        members.retain(|(family, _)| has_address(*family));
    }
    let is_missing = |family: &Family| !has_address(*family) && members.iter().any(|(own, _)| own == family);
    let missing: Vec<Family> = Family::ALL.into_iter().filter(is_missing).collect();
    let update = |(family, place): &(Family, usize)| {
        let ip = addresses[family.index()].unwrap_or_else(|| family.documentation());
        entry.update(&entry.domains_of(*family)[*place], *family, ip)
    };
    let updates: Vec<Update<'_>> = members.iter().map(update).collect();
    let about: Vec<String> =
        updates.iter().map(|update| format!("{} {}", update.domain, update.family.record_type())).collect();
    let batch = Batch::of(&updates)?;
    let origin = entry.callback.url(batch, now).map(|url| url.origin()).unwrap_or_default();
    let shown = match redacted((&entry.callback, &entry.proxies), batch, now.into(), false) {
        Ok(request) => {
            let mut lines = request.lines();
            lines.extend(request.proxy.map(|proxy| format!("(through {})", proxy.address)));
            lines.join("\n")
        }
        Err(why) => format!("nothing: {why}"),
    };
    Some(Sent { entry: number, about: about.join(", "), origin, shown, missing, members })
}
