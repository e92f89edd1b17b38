//! Which updates must be told, and why: configuration, observations and state in, steps out.

use std::fmt;
use std::net::IpAddr;

use crate::callback::Fingerprint;
use crate::config::Entry;
use crate::observe::Observation;
use crate::record::{Family, Update};
use crate::state::{EntryKey, State};

/// What is to be done about one domain of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// Tell it.
    Send(Update<'a>, Reason),
    /// The endpoint accepted this address at this time, in seconds since the epoch.
    Known(Update<'a>, u64),
}

/// Why an update is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// This callback was never told of this domain.
    New,
    /// The endpoint holds this other address.
    Changed(IpAddr),
    /// The endpoint was told longer ago than `cache_max_age`, in seconds.
    Old(u64),
    /// Nothing is remembered.
    NoCache,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not told before"),
            Self::Changed(from) => write!(f, "changed from {from}"),
            Self::Old(age) => write!(f, "last accepted {age} s ago, longer than cache_max_age"),
            Self::NoCache => f.write_str("the cache is off"),
        }
    }
}

/// The steps of one entry, in the order of the configuration. A family without an address has none.
pub fn plan<'a>(
    entry: &'a Entry,
    observed: &[Observation; 2],
    memory: Option<(&State, Fingerprint)>,
    now: u64,
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for family in Family::ALL {
        let Observation::Found(ip, _) = observed[family.index()] else { continue };
        for domain in entry.domains_of(family) {
            let update = Update { domain, family, ip };
            steps.push(match memory {
                None => Step::Send(update, Reason::NoCache),
                Some((state, callback)) => {
                    let key = EntryKey { callback, domain: domain.clone(), family };
                    step(update, state, &key, entry, now)
                }
            });
        }
    }
    steps
}

fn step<'a>(update: Update<'a>, state: &State, key: &EntryKey, entry: &Entry, now: u64) -> Step<'a> {
    match (state.known(key, entry.cache_max_age, now), state.last(key)) {
        (Some(known), _) if known.ip == update.ip => Step::Known(update, known.at),
        (_, Some(last)) if last.ip == update.ip => Step::Send(update, Reason::Old(now.saturating_sub(last.at))),
        (_, Some(last)) => Step::Send(update, Reason::Changed(last.ip)),
        (_, None) => Step::Send(update, Reason::New),
    }
}
