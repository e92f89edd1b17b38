//! What a configuration would send, redacted. Nothing is looked up and nothing is sent.

use std::net::IpAddr;

use ddns_core::callback::{Batch, Timestamp};
use ddns_core::config::Config;
use ddns_core::net::family::Family;
use ddns_core::update::Update;

use ddns_core::engine::redacted;

/// A request as it may be seen.
pub(crate) struct RedactedRequest {
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

/// The first requests of a configuration with these addresses, by [`Family::index`], and how many there are; examples where an
/// address is not known. What can be sent comes first.
pub(super) fn first(
    most: usize,
    config: &Config,
    addresses: [Option<IpAddr>; 2],
    now: Timestamp,
) -> (Vec<RedactedRequest>, usize) {
    let has_address = |family: Family| addresses[family.index()].is_some();
    let mut all = Vec::new();
    for (number, entry) in config.entries.iter().enumerate() {
        let may_lack = entry.callback.variables.combine().is_some_and(|combine| combine.missing.is_some());
        for mut members in entry.requests() {
            if may_lack && members.iter().any(|(family, _)| has_address(*family)) {
                members.retain(|(family, _)| has_address(*family));
            }
            let is_missing = |family: &Family| !has_address(*family) && members.iter().any(|(own, _)| own == family);
            let missing: Vec<Family> = Family::ALL.into_iter().filter(is_missing).collect();
            all.push((number, members, missing));
        }
    }
    all.sort_by_key(|(.., missing)| !missing.is_empty());
    let total = all.len();
    (all.into_iter().take(most).filter_map(|request| sent(config, request, addresses, now)).collect(), total)
}

fn sent(
    config: &Config,
    (number, members, missing): (usize, Vec<(Family, usize)>, Vec<Family>),
    addresses: [Option<IpAddr>; 2],
    now: Timestamp,
) -> Option<RedactedRequest> {
    let entry = &config.entries[number];
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
    Some(RedactedRequest { entry: number, about: about.join(", "), origin, shown, missing, members })
}
