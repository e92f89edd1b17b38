//! What a configuration would send, redacted. Nothing is looked up and nothing is sent.

use std::net::IpAddr;

use ddns_core::callback::{Batch, Request, Timestamp};
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::net::proxy::Route;
use ddns_core::update::Update;

use crate::http::USER_AGENT;

/// A request as it may be seen.
pub(crate) struct Sent {
    /// The number of its entry.
    pub(super) entry: usize,
    /// The updates that it is about.
    pub(crate) about: String,
    pub(crate) origin: String,
    pub(crate) shown: String,
    /// Secrets included.
    pub(super) whole: Option<Request>,
}

/// Every request of a configuration with these addresses, by [`Family::index`]; those for documentation where one is not known.
pub(super) fn all(config: &Config, addresses: [Option<IpAddr>; 2], now: Timestamp) -> Vec<Sent> {
    let address = |family: Family| addresses[family.index()].unwrap_or_else(|| family.documentation());
    let mut all = Vec::new();
    for (number, entry) in config.entries.iter().enumerate() {
        let update = |(family, place): &(Family, usize)| {
            entry.update(&entry.domains_of(*family)[*place], *family, address(*family))
        };
        let single = || {
            let of = |family: Family| (0..entry.domains_of(family).len()).map(move |place| vec![(family, place)]);
            Family::ALL.into_iter().flat_map(of).collect()
        };
        for group in entry.groups().unwrap_or_else(single) {
            let updates: Vec<Update<'_>> = group.iter().map(update).collect();
            all.extend(Batch::of(&updates).map(|batch| sent((number, entry), batch, &updates, now)));
        }
    }
    all
}

fn sent((number, entry): (usize, &Entry), batch: Batch<'_>, updates: &[Update<'_>], now: Timestamp) -> Sent {
    let about: Vec<String> =
        updates.iter().map(|update| format!("{} {}", update.domain, update.family.record_type())).collect();
    let whole = entry.callback.render(batch, now).ok();
    let route = whole.as_ref().and_then(|sent| entry.proxies.routes(&sent.url).next());
    let server = route.and_then(|route| match route {
        Route::Via(server) => Some(&**server),
        Route::Direct | Route::Unusable(..) => None,
    });
    let origin = whole.as_ref().map(|sent| sent.url.origin()).unwrap_or_default();
    let shown = match entry.callback.redacted(batch, now, USER_AGENT, false) {
        Ok(request) => {
            let request = request.through(server, false);
            let mut lines = request.lines();
            lines.extend(request.proxy.map(|proxy| format!("(through {})", proxy.address)));
            lines.join("\n")
        }
        Err(why) => format!("nothing: {why}"),
    };
    Sent { entry: number, about: about.join(", "), origin, shown, whole }
}
