//! The rules that must hold whatever happens, as numbered in `docs/simulation.md`: S for what must never happen, L for what must
//! happen in the end.

mod files;
mod known;
mod rest;
mod sending;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::Engine;
use ddns_core::journal::Row;
use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::update::state::{Claim, ClaimKey, Fingerprint, State};

use crate::endpoint::{Key, Name};
use crate::setup::EntryShape;
use crate::world::World;

/// Identifies what is remembered about an update: in which file or, without a cache, in which process; and the path of the callback.
type Memory = (Key, Result<usize, (usize, u32)>, u32);

/// An answer of an endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedAnswer {
    at: Duration,
    by: (usize, u32),
    /// How wrong the clock of the process was, in seconds.
    shift: i64,
    ip: Option<IpAddr>,
    /// Whether a file has it, so that other processes can know it.
    is_saved: bool,
    /// Whether the clock, after it was set back, may have misled the process about it.
    is_misled: bool,
}

/// What processes must remember, as the world knows it.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// The flag: the stop ends with another address.
    stopped: BTreeMap<Memory, (ReceivedAnswer, bool)>,
    /// The time until which nothing may be sent.
    waits: BTreeMap<Memory, (ReceivedAnswer, Duration)>,
    accepted: BTreeMap<Memory, ReceivedAnswer>,
    /// For each update with a `min_interval`, its flights, when they were sent, and how wrong the clock was. `min_interval` also counts
    /// from the response, but the process may not have written that.
    sent: BTreeMap<Memory, Vec<(u64, Duration, i64)>>,
    journal: Vec<((Name, Family), IpAddr)>,
    fingerprints: HashMap<Vec<u8>, (usize, HashMap<Fingerprint, usize>)>,
}

impl Model {
    /// Notes a stop, unless another process heard an acceptance in the same second: nobody can tell which came first. Returns whether
    /// it was noted.
    fn stop(&mut self, memory: Memory, heard: ReceivedAnswer, until_address: bool) -> bool {
        let is_same = |other: &ReceivedAnswer| other.by != heard.by && other.at.as_secs() == heard.at.as_secs();
        let is_known = !self.accepted.get(&memory).is_some_and(is_same);
        if is_known {
            self.stopped.insert(memory, (heard, until_address));
        }
        is_known
    }
}

fn memory(process: (usize, u32), entry: &EntryShape, key: Key) -> Memory {
    (key, entry.cache.ok_or(process), entry.path)
}

pub(crate) fn name_of(domain: &str) -> Name {
    let number = |text: &str| text.get(1..).and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
    let mut labels = domain.split('.');
    let own = number(labels.next().unwrap_or_default());
    (number(labels.next().unwrap_or_default()), own)
}

impl World {
    pub(crate) fn who(&self, process: usize) -> (usize, u32) {
        (process, self.processes[process].life)
    }

    /// The claim of a file about an update of an entry, and its key.
    fn claim(&self, process: usize, entry: usize, key: Key, state: &State) -> (Claim, ClaimKey) {
        let (_, name, family) = key;
        let plan = &self.processes[process].plan;
        let callback = &plan.entry(entry).callback;
        let shape = &self.processes[process].shape.entries[entry];
        let domain = Domain::parse(&shape.name(name.1)).expect("a domain");
        let callback = callback.fingerprint_of(callback.fingerprint(state.salt()), &domain, family);
        let key = ClaimKey { callback, domain, family };
        (state.entry(&key), key)
    }

    /// Whether the file of an entry may have lost data since then.
    fn is_lost(&self, entry: &EntryShape, since: Duration) -> bool {
        entry.cache.is_some_and(|file| self.files[file].lost.is_some_and(|lost| lost >= since))
    }

    /// Whether processes may have different system times, because each reads the time only at its start. They then misread each other's
    /// times.
    fn has_several_clocks(&self) -> bool {
        self.processes.len() > 1 && self.counts.contains_key("clock set")
    }

    fn rows(&self, process: usize) -> Vec<Row> {
        self.processes[process].engine.as_ref().map(Engine::rows).unwrap_or_default()
    }
}
