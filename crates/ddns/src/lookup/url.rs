//! `url:`: the first address of the family in the text of a page (F4). Connects directly, and over this family if the
//! server has it.

use std::net::IpAddr;
use std::time::Instant;

use ddns_core::address::in_text::{address_in, whole_words};
use ddns_core::address::observation::Choice;
use ddns_core::callback::Request;
use ddns_core::net::family::Family;
use ddns_core::net::proxy::Proxies;
use ddns_core::net::url::Url;
use ddns_core::text::duration::duration;

use super::Query;
use super::default::own_address;
use crate::http::{AddressFamilies, BodyUse, Client, How, MAX_BODY_BYTES};
use ddns_core::net::status::with_reason;

pub(super) async fn ask(address: &str, query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let family = query.family;
    let ip = page(address, query, AddressFamilies::Prefer(family), client).await?;
    Ok(Choice { ip, why: format!("the first {family} address in its response") })
}

/// The first address of the family in a page with a status of 200 to 299.
pub(super) async fn page(
    address: &str,
    query: Query<'_>,
    over: AddressFamilies,
    client: &Client,
) -> Result<IpAddr, String> {
    let Query { family, time: limit, ssl, .. } = query;
    let url = Url::parse(address).map_err(|why| format!("the address {why}"))?;
    let request = Request::new(url, None);
    // A server that is asked over IPv6 must see the stable address.
    let from = if family == Family::V6 { own_address(family) } else { None };
    let how = How { limit, want: BodyUse::Body, over, proxies: Proxies::DIRECT, ssl, from };
    let begun = Instant::now();
    let response = client.send(&request, how).await.map_err(|failure| failure.why)?;
    if !(200..300).contains(&response.status) {
        return Err(format!("it responded with {}", with_reason(response.status)));
    }
    if !response.is_whole && response.body.len() < MAX_BODY_BYTES {
        let is_slow = begun.elapsed() >= limit;
        return Err(if is_slow {
            format!("its response took longer than {}", duration(limit))
        } else {
            "its response was cut off".to_owned()
        });
    }
    let text = if response.is_whole { &response.body } else { whole_words(&response.body, MAX_BODY_BYTES) };
    address_in(text, family).map_err(|why| format!("its response {why}"))
}
