//! `public`: the address that services on the internet see (F3). ddns asks them in turn over https, each over the
//! family in question, so that they see an address of this family.

use std::time::Duration;

use ddns_core::address::observation::Choice;
use ddns_core::net::reach::{Trust, sendable};

use super::Query;
use super::url::page;
use crate::http::{AddressFamilies, Client};

/// By [`Family::index`](ddns_core::net::family::Family::index). Run by different people, so that a service that is gone
/// or wrong does not matter.
const SERVICES: [[&str; 6]; 2] = [
    [
        "https://api.ipify.org/",
        "https://ipv4.icanhazip.com/",
        "https://checkip.amazonaws.com/",
        "https://v4.ident.me/",
        "https://ip4.me/api/",
        "https://ipv4.seeip.org/",
    ],
    [
        "https://api6.ipify.org/",
        "https://ipv6.icanhazip.com/",
        "https://v6.ident.me/",
        "https://ip6.me/api/",
        "https://ipv6.seeip.org/",
        "https://6.ifcfg.me/",
    ],
];

/// How long one service may take; then the next one is asked.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn ask(query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let services = SERVICES[query.family.index()];
    let query = Query { time: query.time.min(SERVICE_TIMEOUT), ..query };
    // One reason is enough: if no service can be reached, it is the same for all.
    let mut first = None;
    for service in services {
        let seen = page(service, query, AddressFamilies::Only(query.family), client).await;
        match seen.and_then(|ip| sendable(ip, query.family, Trust::Own)) {
            Ok(ip) => return Ok(Choice { ip, why: format!("{service} saw it") }),
            Err(why) => first.get_or_insert(format!("{service}: {why}")),
        };
    }
    Err(format!("none of {} services returned an address; {}", services.len(), first.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_at_least_five_services_a_family_and_all_of_them_https() {
        for services in SERVICES {
            assert!(services.len() >= 5);
            for service in services {
                let url = ddns_core::net::url::Url::parse(service).expect("an address");
                assert!(url.secure, "{service}");
            }
        }
    }
}
