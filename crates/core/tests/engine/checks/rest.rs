//! Checks a process that rests or ends: S14, S15 and L1.

use std::collections::HashMap;
use std::time::Duration;

use ddns_core::engine::Mode;
use ddns_core::journal::{Row, UpdateState};
use ddns_core::net::family::Family;
use ddns_core::update::outcome::Tally;

use super::{memory, name_of};
use crate::endpoint::{Flight, Name};
use crate::world::{What, World};

impl World {
    pub(crate) fn check_process(&mut self, process: usize) {
        let known = &self.processes[process];
        if let Some(since) = known.closing
            && known.engine.is_some()
            && self.now > since + Duration::from_secs(6)
            && !self.was_paused(process, since)
        {
            self.fail(|| format!("S14: process {process} does not end"));
        }
        self.check_lanes(process);
    }

    pub(crate) fn check_closed(&mut self, process: usize) {
        let known = &self.processes[process];
        if let Some(since) = known.closing
            && self.now > since + Duration::from_millis(5001)
            && !self.was_paused(process, since)
        {
            self.fail(|| format!("S14: process {process} was to stop at {since:?}"));
        }
    }

    /// Handles a process that has nothing to do for now.
    pub(crate) fn idle(&mut self, process: usize, tallies: &[Tally]) {
        if self.processes[process].ended.is_some() {
            return;
        }
        self.processes[process].is_mixed = false;
        let tally = tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally));
        if self.processes[process].mode == Mode::Once {
            let code = tally.exit_code();
            self.processes[process].ended = Some(code);
            if code == 0 {
                self.count("single run ended well");
                self.check_truth(process, &self.rows(process));
                self.check_forced(process);
            }
            let (to, now) = (self.who(process), self.now);
            self.at(now, What::Finish { to });
        } else {
            let is_alone = self.processes.iter().filter(|other| other.engine.is_some()).count() == 1;
            let rows = if is_alone { self.rows(process) } else { Vec::new() };
            if is_alone && rows.iter().all(|row| row.state == UpdateState::UpToDate) {
                self.count("service up to date");
                self.check_truth(process, &rows);
            }
        }
    }

    /// Checks that a process that must send everything did so.
    fn check_forced(&mut self, process: usize) {
        let (who, known) = (self.who(process), &self.processes[process]);
        if !self.is_forced(process) || self.processes.len() > 1 {
            return;
        }
        let is_sent = |(at, family): (usize, Family)| {
            let entry = &known.shape.entries[at];
            (0..entry.domains[family.index()]).all(|domain| {
                let key = (entry.origin, (entry.number, domain), family);
                self.memory.accepted.get(&memory(who, entry, key)).is_some_and(|heard| heard.by == who)
            })
        };
        let found = known.observed.iter().filter(|(_, ip)| ip.is_some());
        let unsent = found.map(|(place, _)| *place).find(|place| !is_sent(*place));
        self.count("forced");
        if let Some(unsent) = unsent {
            self.fail(|| format!("F: process {process} was to send {unsent:?} again, and did not"));
        }
    }

    /// S15: a process that reports that everything is up to date is right.
    fn check_truth(&mut self, process: usize, rows: &[Row]) {
        if self.has_several_clocks() {
            return;
        }
        let (who, now) = (self.who(process), self.now);
        let known = &self.processes[process];
        let mut wrong = None;
        let rows: HashMap<(Name, &str), &Row> =
            rows.iter().map(|row| ((name_of(&row.domain), row.kind.as_str()), row)).collect();
        for (at, entry) in known.shape.entries.iter().enumerate() {
            for family in Family::ALL {
                for domain in 0..entry.domains[family.index()] {
                    let key = (entry.origin, (entry.number, domain), family);
                    let Some(found) = known.observed.get(&(at, family)).copied().flatten() else { continue };
                    // A failed source is retried for each entry separately, so this entry may have another result.
                    let row = rows.get(&(key.1, family.record_type()));
                    if row.is_some_and(|row| row.address != Some(found)) {
                        continue;
                    }
                    // Processes of one configuration that cannot write do not know about each other.
                    let accepted = row.and_then(|row| row.accepted).unwrap_or(0).saturating_sub(crate::world::BEGIN);
                    if self.processes.len() > self.shapes.len() && self.is_lost(entry, Duration::from_secs(accepted)) {
                        continue;
                    }
                    let has = self.origins[key.0].has.get(&(key.1, family)).copied().flatten();
                    // A process with an address does not wait for another one that has none and sends a substitute.
                    let is_missing = has.is_none() && entry.combine.is_some() && self.processes.len() > 1;
                    // Processes without a cache do not know about each other: another one may have sent what it saw, or found by a step
                    // that the address is there.
                    let is_alone = entry.cache.is_none() && self.processes.len() > self.shapes.len();
                    let is_excused = is_missing
                        || is_alone
                        || self.unruly.contains(&key)
                        || entry.cache.is_some_and(|file| {
                            self.files[file].excused.contains_key(&key)
                                || self.files[file].applied.get(&key).copied().flatten() != has
                        });
                    // Another process, which this one need not wait for, sent another address. Without a cache, that stays until the next
                    // regular round.
                    let is_other = |flight: &Flight| {
                        let is_newer = flight.sent >= known.started;
                        let is_unknown = !flight.is_marked
                            || flight.entry.path != entry.path
                            || flight.entry.cache != entry.cache
                            || self.is_lost(entry, flight.sent);
                        (flight.process, flight.life) != who
                            && flight.members.iter().any(|(of, ip)| *of == key && *ip != Some(found))
                            && (is_newer
                                || is_unknown
                                    && (entry.cache.is_none() || now < flight.sent + flight.entry.timeout() * 2))
                    };
                    if has != Some(found) && !is_excused && !self.flights_of(key).any(is_other) {
                        wrong = Some(format!("S15: all is well, says {process}, but {key:?} has {has:?}, not {found}"));
                    }
                }
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// L1: in the end, everything is up to date.
    pub(crate) fn check_healed(&mut self) {
        if self.has_several_clocks() {
            return;
        }
        let mut wrong = None;
        for (number, known) in self.processes.iter().enumerate() {
            let Some(engine) = &known.engine else { continue };
            if known.mode == Mode::Once {
                wrong = Some(format!("L1: single run {number} does not end"));
                continue;
            }
            for row in engine.rows() {
                let name = name_of(&row.domain);
                let family = if row.kind == "A" { Family::V4 } else { Family::V6 };
                let Some(entry) = known.shape.entries.iter().find(|entry| entry.number == name.0) else { continue };
                let key = (entry.origin, name, family);
                // As in S15.
                let is_missing = entry.combine.is_some() && self.processes.len() > 1;
                let accepted = Duration::from_secs(row.accepted.unwrap_or(0).saturating_sub(crate::world::BEGIN));
                let has = self.origins[entry.origin].has.get(&(name, family)).copied().flatten();
                let is_excused = is_missing
                    || self.processes.len() > self.shapes.len() && self.is_lost(entry, accepted)
                    || self.unruly.contains(&key)
                    || self.files.iter().any(|file| file.excused.contains_key(&key))
                    || entry.cache.is_some_and(|file| self.files[file].applied.get(&key).copied().flatten() != has);
                // A wait is stored as a time of day, and lasts longer if the clock is set back.
                let is_waiting = row.state == UpdateState::HeldBack && self.counts.contains_key("clock set");
                if row.state == UpdateState::Stopped || is_excused || is_waiting {
                    continue;
                }
                // An update that another process sends at the end, or sent at the same time, is in doubt until the next round.
                let is_waited_for = row.state == UpdateState::Retrying && row.in_doubt == has;
                let is_fine = row.state == UpdateState::UpToDate
                    || (is_waited_for || matches!(row.state, UpdateState::Sending | UpdateState::HeldBack))
                        && row.accepted_address == has;
                if !is_fine || has != self.address[family.index()] {
                    wrong = Some(format!("L1: {number} has {row:?}, the endpoint {has:?}, and it is healed"));
                }
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }
}
