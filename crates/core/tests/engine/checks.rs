//! What must hold, whatever happens. The letters are those of the design: S for what must never be, L for what must come at last.

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

/// Where a process remembers something of an update: in a file, or in itself; with the path of its callback.
type Memory = (Key, Result<usize, (usize, u32)>, u32);

/// What a service said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    at: Duration,
    by: (usize, u32),
    /// How wrong its clock was.
    shift: i64,
    ip: Option<IpAddr>,
    /// Whether another process can know it.
    is_saved: bool,
}

/// What must be remembered, as the world knows it.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// With whether another address is tried again.
    stopped: BTreeMap<Memory, (Heard, bool)>,
    /// With the time until which nothing is to be sent.
    waits: BTreeMap<Memory, (Heard, Duration)>,
    accepted: BTreeMap<Memory, Heard>,
    /// The flights of each update that has a `min_interval`, and when they were sent. It counts from the response, too, but that may not
    /// have been written.
    sent: BTreeMap<Memory, Vec<(u64, Duration, i64)>>,
    journal: Vec<((Name, Family), IpAddr)>,
    fingerprints: HashMap<Vec<u8>, (usize, HashMap<Fingerprint, usize>)>,
}

impl Model {
    /// Whether it is to be known. Of what two processes hear in one second, nobody can tell which came first.
    fn stop(&mut self, memory: Memory, heard: Heard, until_address: bool) -> bool {
        let is_same = |other: &Heard| other.by != heard.by && other.at.as_secs() == heard.at.as_secs();
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
    fn who(&self, process: usize) -> (usize, u32) {
        (process, self.processes[process].life)
    }

    /// The claim of a file about an update of an entry.
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

    /// Whether a file may have lost something since then.
    fn is_lost(&self, entry: &EntryShape, since: Duration) -> bool {
        entry.cache.is_some_and(|file| self.files[file].lost.is_some_and(|lost| lost >= since))
    }

    /// Whether processes may have different times of day: each keeps that of its beginning. What they write for each other is then
    /// not understood.
    fn has_several_clocks(&self) -> bool {
        self.processes.len() > 1 && self.counts.contains_key("clock set")
    }

    fn rows(&self, process: usize) -> Vec<Row> {
        self.processes[process].engine.as_ref().map(Engine::rows).unwrap_or_default()
    }
}
