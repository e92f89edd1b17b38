//! `url:`: the first address of the family in the text of a page (F4). Connects directly, over the right family where
//! the host has it.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::callback::{Request, Url};
use ddns_core::observe::first_address;
use ddns_core::record::Family;

use crate::http::{Client, Want};
use crate::report;

pub(super) async fn look(address: &str, family: Family, limit: Duration, client: &Client) -> Result<IpAddr, String> {
    let url = Url::parse(address).map_err(|why| format!("the address {why}"))?;
    let request = Request { url, body: None };
    let answer = client.send(&request, limit, Want::Body, Some(family)).await.map_err(|failure| failure.why)?;
    if !(200..300).contains(&answer.status) {
        return Err(format!("it answered {}", report::with_reason(answer.status)));
    }
    first_address(&answer.body, family).ok_or_else(|| format!("its answer holds no {family} address"))
}
