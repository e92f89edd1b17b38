//! `dns`: the address that DNS servers see, for one small packet each way (F8). The answers are not signed, so no other
//! source uses them.

use std::time::Duration;

use ddns_core::address::observation::Choice;
use ddns_core::address::source::{DnsSource, Source};
use ddns_core::dns::{ServerQuestion, own_address, own_address_question};

use super::Query;
use super::server::ask_servers;
use crate::dns::exchange;
use crate::http::Client;
use crate::udp::TRIES;

/// By [`Family::index`](ddns_core::net::family::Family::index): OpenDNS, Cloudflare, Google.
const BUILT_IN: [[&str; 3]; 2] = [
    [
        "dns:resolver1.opendns.com/myip.opendns.com",
        "dns:1.1.1.1/whoami.cloudflare/TXT/CH",
        "dns:ns1.google.com/o-o.myaddr.l.google.com/TXT",
    ],
    [
        "dns:[2620:119:35::35]/myip.opendns.com",
        "dns:[2606:4700:4700::1111]/whoami.cloudflare/TXT/CH",
        "dns:ns1.google.com/o-o.myaddr.l.google.com/TXT",
    ],
];

/// How long a built-in server may take, with one packet; then the next one is asked.
const SERVER_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) async fn ask(source: Option<&DnsSource>, query: Query<'_>, client: &Client) -> Result<Choice, String> {
    if let Some(source) = source {
        return ask_server(source, query, &TRIES, client).await;
    }
    let mut refused = Vec::new();
    let query = Query { time: query.time.min(SERVER_TIMEOUT), ..query };
    for text in BUILT_IN[query.family.index()] {
        let Ok(Source::Dns(Some(source))) = Source::parse(text) else { continue };
        match ask_server(&source, query, &[SERVER_TIMEOUT], client).await {
            Ok(choice) => return Ok(choice),
            Err(why) => refused.push(why),
        }
    }
    Err(refused.join("; "))
}

async fn ask_server(
    DnsSource { host, port, name, is_text, is_chaos }: &DnsSource,
    query: Query<'_>,
    tries: &[Duration],
    client: &Client,
) -> Result<Choice, String> {
    let question = own_address_question(name, query.family, *is_text, *is_chaos);
    ask_servers((host, *port), query, client, async |server, own| {
        let asking = ServerQuestion { server, question: question.clone() };
        let answer = exchange(&asking, own, tries).await.map_err(|why| why.to_string())?;
        own_address(&question, &answer, query.family)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f8a_the_built_in_servers_are_sources() {
        for text in BUILT_IN.iter().flatten() {
            assert_eq!(Source::parse(text).expect("a source").to_string(), *text);
        }
    }
}
