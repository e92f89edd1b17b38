//! Asking for the host's address: one file for each kind of source, all of one shape: `look` gives an address of the
//! family with the reason for it, or says why there is none.

mod command;
mod default;
mod interfaces;
mod public;
mod stun;
mod url;

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::address::local;
use ddns_core::address::observation::{Choice, Observation, agreed, agreement};
use ddns_core::address::source::Source;
use ddns_core::config::Entry;
use ddns_core::net::family::Family;
use ddns_core::net::ssl::Ssl;
use ddns_core::text::log_format::Level;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use crate::http::Client;
use crate::output::log::Log;

pub(crate) use interfaces::list as local_addresses;

/// How long those are waited for who do not matter any more: what they say is told, if they say it soon.
const QUORUM_GRACE: Duration = Duration::from_millis(500);

/// What a source must keep to.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// How long it may take.
    pub(crate) time: Duration,
    /// How a page of the user's is verified.
    pub(crate) ssl: &'a Ssl,
}

impl<'a> Limits<'a> {
    pub(crate) fn of(entry: &'a Entry) -> Self {
        Self { time: entry.timeout, ssl: &entry.ssl }
    }
}

/// Asks the sources of an entry in order; the first usable address wins. What fails is logged at `level`.
pub(crate) async fn observe(
    entry: &Entry,
    family: Family,
    client: &Client,
    log: &Log<'_>,
    level: Level,
) -> Observation {
    for source in entry.sources_of(family) {
        match look(source, family, Limits::of(entry), client).await {
            Ok(Choice { ip, why }) => {
                log.debug(|| format!("{family}: {ip}, from {source}: {why}"));
                return Observation::Found(ip);
            }
            Err(why) => log.line(level, || format!("{family}: no address from {source}: {why}")),
        }
    }
    Observation::Unavailable
}

/// Asks one source. The sources of a quorum are asked at the same time; once enough agree, the others have a moment left.
pub(crate) async fn look(
    source: &Source,
    family: Family,
    limits: Limits<'_>,
    client: &Client,
) -> Result<Choice, String> {
    let Source::Quorum(need, sources) = source else { return look_at(source, family, limits, client).await };
    let mut asked: FuturesUnordered<_> = sources
        .iter()
        .enumerate()
        .map(async |(at, source)| (at, look_at(source, family, limits, client).await))
        .collect();
    let late = || Err("no answer in time".to_owned());
    let mut said: Vec<(String, Result<Choice, String>)> =
        sources.iter().map(|source| (source.to_string(), late())).collect();
    let mut end = None;
    loop {
        let next = match end {
            None => asked.next().await,
            Some(end) => timeout_at(end, asked.next()).await.unwrap_or(None),
        };
        let Some((at, answer)) = next else { return agreed(*need, &said) };
        said[at].1 = answer;
        if agreement(*need, &said).is_some() {
            end.get_or_insert_with(|| Instant::now() + QUORUM_GRACE);
        }
    }
}

/// The stable address to ask somebody on the internet from, so that he does not see a temporary one.
fn stable_source(server: IpAddr) -> Option<IpAddr> {
    if server.is_ipv6() && local::is_far(server) { own_address(Family::V6) } else { None }
}

async fn look_at(source: &Source, family: Family, limits: Limits<'_>, client: &Client) -> Result<Choice, String> {
    match source {
        Source::Default => default::look(family),
        Source::Public => Box::pin(public::look(family, limits.time, client)).await,
        Source::Url(address) => url::look(address, family, limits, client).await,
        Source::Number(number) => local::nth_interface(*number, family, &local_addresses()?),
        Source::Interface(name) => local::of_interface(name, family, &local_addresses()?),
        Source::Pattern(pattern) => local::matching(pattern.regex(), family, &local_addresses()?),
        Source::Command(words) => Box::pin(command::look(words, family)).await,
        Source::Shell(line) => {
            let words = ["sh".to_owned(), "-c".to_owned(), line.clone()];
            Box::pin(command::look(&words, family)).await
        }
        Source::Stun(host, port) => Box::pin(stun::look((host, *port), family, limits.time, client)).await,
        Source::Quorum(..) => Err("a quorum cannot stand inside of a quorum".to_owned()),
    }
}

/// This host's address as `default` finds it.
pub(crate) fn own_address(family: Family) -> Option<IpAddr> {
    default::look(family).ok().map(|choice| choice.ip)
}
