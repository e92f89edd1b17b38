//! Checks the claims of files: S3.

use std::collections::HashMap;
use std::time::Duration;

use ddns_core::update::domain::Domain;
use ddns_core::update::state::{ClaimKey, Fingerprint};

use super::name_of;
use crate::endpoint::{Flight, Key};
use crate::laws::{self, Sent as _};
use crate::setup::EntryShape;
use crate::world::{Health, Process, World};

impl World {
    /// S3: a claim that counts names the address that the endpoint applied last. Checks the updates in `about`; `None`: all.
    pub(crate) fn check_file(&mut self, file: usize, about: Option<&[Key]>) {
        // A file that can be neither written nor removed keeps its old claims.
        if self.files[file].health == Health::ReadOnly || self.has_several_clocks() {
            return;
        }
        let Some(Ok(state)) = &self.files[file].content else { return };
        let salt = state.salt().to_vec();
        let (count, known) = self.memory.fingerprints.entry(salt.clone()).or_default();
        for (_, plan) in &self.all_shapes[*count..] {
            for at in 0..plan.entry_count() {
                let callback = &plan.entry(at).callback;
                let origin = callback.request.target.fixed_part().map(|url| url.origin()).unwrap_or_default();
                let number = origin.trim_start_matches("http://o").trim_end_matches(".example").parse().unwrap_or(0);
                known.insert(callback.fingerprint(&salt), number);
            }
        }
        *count = self.all_shapes.len();
        let (_, known) = &self.memory.fingerprints[&salt];
        let now = (crate::world::BEGIN + self.now.as_secs()).saturating_add_signed(self.shift);
        let (begin, sites) = (Duration::from_secs(crate::world::BEGIN), self.shapes.len());
        // A process that still has the former configuration does not know what the others send.
        let is_former = |process: &Process| process.engine.is_some() && process.shape != self.shapes[process.site];
        if self.processes.len() > sites && self.processes.iter().any(is_former) {
            return;
        }
        let (mut wrong, mut healed, mut unsure) = (None, Vec::new(), Vec::new());
        let claimed: Vec<ClaimKey> = match about {
            None => state.keys().collect(),
            Some(about) => about.iter().flat_map(|about| claims_of(known, *about)).collect(),
        };
        for key in claimed {
            let entry = state.entry(&key);
            let Some(origin) = known.get(&key.callback).copied() else { continue };
            let at = (origin, name_of(key.domain.as_str()), key.family);
            let excused = self.files[file].excused.get(&at);
            let accepted = Duration::from_secs(entry.accepted.map_or(0, |accepted| accepted.at));
            let is_unknown = |flight: &Flight, lost: Duration| flight.sent <= lost && flight.may_arrive(lost);
            // The outcome of a request without a response is written a moment later.
            let is_lost = self.files[file].lost.is_some_and(|lost| {
                lost + begin >= accepted
                    || self.now < lost + Duration::from_secs(45)
                    || self.flights_of(at).any(|flight| is_unknown(flight, lost))
            });
            // Processes of one configuration that cannot write do not know about each other.
            if is_lost && self.processes.len() > sites {
                continue;
            }
            // A process with an address does not wait for another one that has none and sends a substitute.
            if self.files[file].applied.get(&at) == Some(&None) && self.processes.len() > sites {
                continue;
            }
            let has = self.files[file].applied.get(&at).copied().flatten();
            let is_right = laws::is_right(entry, Duration::from_secs(259_200), now, has);
            // A claim in doubt may count again, if the request that would have replaced it was never sent.
            let is_sure = is_right && entry.in_doubt.is_none();
            if !is_sure {
                unsure.push(at);
            }
            if !is_right && excused.is_none() && !self.unruly.contains(&at) {
                wrong = Some(format!("S3: file {file} says {at:?} {entry:?}, and it has {has:?}"));
            }
            let is_open =
                |since: Duration| self.flights_of(at).any(|flight| flight.sent <= since && flight.may_arrive(self.now));
            // An update that was marked before and sent shortly after is not known in the file either.
            let is_over = |since: Duration| self.now > since + Duration::from_secs(5) && !is_open(since);
            let is_kept = |process: &Process| {
                let is_here = |entry: &EntryShape| entry.number == at.1.0 && entry.cache == Some(file);
                process.engine.is_some() && process.shape.entries.iter().any(is_here)
            };
            if is_sure && excused.is_some_and(|since| is_over(*since)) && self.processes.iter().any(is_kept) {
                healed.push(at);
            }
        }
        // A name may have several claims, one for each callback that it had.
        for at in healed.into_iter().filter(|at| !unsure.contains(at)) {
            self.files[file].excused.remove(&at);
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }
}

/// The keys of all claims about an update that callbacks of its origin may have.
fn claims_of(known: &HashMap<Fingerprint, usize>, (origin, name, family): Key) -> impl Iterator<Item = ClaimKey> {
    let domain = Domain::parse(&format!("d{}.e{}.example", name.1, name.0)).expect("a domain");
    let callbacks = known.iter().filter(move |(_, of)| **of == origin);
    callbacks.map(move |(callback, _)| ClaimKey { callback: *callback, domain: domain.clone(), family })
}
