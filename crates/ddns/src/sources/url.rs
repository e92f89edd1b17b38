//! `url:`: the first address of the family in the text of a page (F4). Connects directly, over the right family where
//! the host has it.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::callback::{Request, Url};
use ddns_core::observe::{Choice, first_address};
use ddns_core::record::Family;

use crate::http::{BODY_LIMIT, Client, Over, Want};
use crate::report;

pub(super) async fn look(address: &str, family: Family, limit: Duration, client: &Client) -> Result<Choice, String> {
    let ip = page(address, family, limit, Over::Prefer(family), client).await?;
    Ok(Choice { ip, why: format!("the first {family} address in its answer") })
}

/// The first address in a page that answers with success.
pub(super) async fn page(
    address: &str,
    family: Family,
    limit: Duration,
    over: Over,
    client: &Client,
) -> Result<IpAddr, String> {
    let url = Url::parse(address).map_err(|why| format!("the address {why}"))?;
    let request = Request { url, body: None };
    let answer = client.send(&request, limit, Want::Body, over).await.map_err(|failure| failure.why)?;
    if !(200..300).contains(&answer.status) {
        return Err(format!("it answered {}", report::with_reason(answer.status)));
    }
    let mut text = answer.body.as_slice();
    if !answer.is_whole {
        if text.len() < BODY_LIMIT {
            return Err("its answer was cut off".to_owned());
        }
        // Of a longer page what was cut in two is left out: half an address may look like another.
        let cut = text.iter().rposition(u8::is_ascii_whitespace).unwrap_or(0);
        text = &text[..cut];
    }
    first_address(text, family).ok_or_else(|| format!("its answer holds no {family} address"))
}
