//! Asks servers that see this host's address, by host name.

use std::net::{IpAddr, SocketAddr};

use ddns_core::address::observation::Choice;
use ddns_core::text::duration::duration;
use tokio::time::timeout;

use super::Query;
use super::default::stable_source;
use crate::http::{AddressFamilies, Client};

/// How many addresses of a host name are asked.
const MAX_SERVERS: usize = 3;

/// Asks one server after the other, over the family in question alone, until one saw an address. `ask` gets a server
/// and the address to ask from; its error is a phrase that follows the server's name.
pub(super) async fn ask_servers(
    (host, port): (&str, u16),
    query: Query<'_>,
    client: &Client,
    ask: impl AsyncFn(SocketAddr, Option<IpAddr>) -> Result<IpAddr, String>,
) -> Result<Choice, String> {
    let asked = async {
        let mut refused = Vec::new();
        for ip in client.look_up(host, AddressFamilies::Only(query.family)).await?.into_iter().take(MAX_SERVERS) {
            let server = SocketAddr::new(ip, port);
            match ask(server, stable_source(ip)).await {
                Ok(ip) => return Ok(Choice { ip, why: format!("{server} saw it") }),
                Err(why) => refused.push(format!("{server} {why}")),
            }
        }
        Err(refused.join("; "))
    };
    let late = |_| Err(format!("{host} did not respond within {}", duration(query.time)));
    timeout(query.time, asked).await.unwrap_or_else(late)
}
