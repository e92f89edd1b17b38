//! Which address each entry would tell now, which source gave it, and what the sources before it said. Every list of
//! sources is asked once, all at the same time; nothing is told.

use std::net::IpAddr;

use ddns_core::address::observation::Choice;
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use futures_util::future::join_all;

use crate::http::Client;
use crate::lookup;
use crate::lookup::Limits;

/// What a list of sources came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The first source that gave an address, and its answer.
    pub(super) answer: Option<(String, Choice)>,
    /// Those before it, and why they gave none.
    pub(super) failed: Vec<(String, String)>,
}

/// What was found for each family of an entry, by [`Family::index`]; none where a family has no domains or is off.
pub(super) type Pair = [Option<Found>; 2];

/// Asks for the addresses of all entries: one pair for each, in the order of the configurations. An address in `given`
/// is taken for its family without asking.
pub(super) async fn find(configs: &[&Config], given: [Option<IpAddr>; 2], client: &Client) -> Vec<Pair> {
    let all = configs.iter().flat_map(|config| config.entries.iter().map(move |entry| (*config, entry)));
    let mut questions: Vec<(&Config, &Entry, Family)> = Vec::new();
    let mut asked: Vec<[Option<usize>; 2]> = Vec::new();
    for (config, entry) in all {
        asked.push(Family::ALL.map(|family| {
            if entry.domains_of(family).is_empty() {
                return None;
            }
            let is_same = |(_, other, of): &(&Config, &Entry, Family)| {
                *of == family && other.sources_of(family) == entry.sources_of(family) && other.ssl == entry.ssl
            };
            Some(questions.iter().position(is_same).unwrap_or_else(|| {
                questions.push((config, entry, family));
                questions.len() - 1
            }))
        }));
    }
    let answers = join_all(questions.into_iter().map(async |(config, entry, family)| match given[family.index()] {
        Some(ip) => {
            let choice = Choice { ip, why: "given on the command line".to_owned() };
            Found { answer: Some(("--ip".to_owned(), choice)), failed: Vec::new() }
        }
        None => look(config, entry, family, client).await,
    }));
    let answers = answers.await;
    asked.into_iter().map(|pair| pair.map(|at| at.map(|at| answers[at].clone()))).collect()
}

async fn look(config: &Config, entry: &Entry, family: Family, client: &Client) -> Found {
    let mut failed = Vec::new();
    for source in entry.sources_of(family) {
        match lookup::look(source, family, Limits::of(entry), client).await {
            Ok(choice) => return Found { answer: Some((source.to_string(), choice)), failed },
            Err(why) => {
                // What others say may hold what the user typed. (A key of three letters is a word of ours as well.)
                let secrets = config.secrets().longer_than(4);
                failed.push((source.to_string(), secrets.mask(&why).into_owned()));
            }
        }
    }
    Found { answer: None, failed }
}
