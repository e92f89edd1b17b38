//! Asking for the host's address: one file for each kind of source, all of one shape: `look` gives an address of the
//! family, or says why there is none.

mod command;
mod route;
mod url;

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::config::Entry;
use ddns_core::observe::Observation;
use ddns_core::record::Family;
use ddns_core::source::Source;

use crate::http::Client;
use crate::log::Log;

/// What was observed in this synchronization: a list of sources is asked once per family, however many entries use it.
#[derive(Default)]
pub(crate) struct Observations {
    asked: HashMap<(Family, Vec<Source>), Observation>,
}

impl Observations {
    /// Asks the sources in order; the first usable address wins.
    pub(crate) async fn observe(
        &mut self,
        entry: &Entry,
        family: Family,
        client: &Client,
        log: &Log<'_>,
    ) -> Observation {
        if entry.domains_of(family).is_empty() {
            return Observation::Off;
        }
        let sources = entry.sources_of(family);
        let key = (family, sources.to_vec());
        if let Some(known) = self.asked.get(&key) {
            return known.clone();
        }
        let mut observation = Observation::Unavailable;
        for source in sources {
            match look(source, family, entry.timeout, client).await {
                Ok(ip) => {
                    log.debug(|| format!("{family}: {ip}, from {source}"));
                    observation = Observation::Found(ip, source.to_string());
                    break;
                }
                Err(why) => log.warning(format!("{family}: no address from {source}: {why}")),
            }
        }
        self.asked.insert(key, observation.clone());
        observation
    }
}

async fn look(source: &Source, family: Family, limit: Duration, client: &Client) -> Result<IpAddr, String> {
    match source {
        Source::Default => route::look(family),
        Source::Url(address) => url::look(address, family, limit, client).await,
        Source::Command(words) => command::look(words, family).await,
        Source::Shell(line) => command::look(&["sh".to_owned(), "-c".to_owned(), line.clone()], family).await,
    }
}

/// This host's address as `default` finds it.
pub(crate) fn own_address(family: Family) -> Option<IpAddr> {
    route::look(family).ok()
}
