//! Requests on their way, and how endpoints treat them.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::{Event, Facts, Mode, RequestId};

use super::{What, World};
use crate::endpoint::{Flight, Inquiry, Key};
use crate::flaws::Flaw;
use crate::setup::EntryShape;

impl World {
    /// The requests that contain an update, oldest first.
    pub(crate) fn flights_of(&self, key: Key) -> impl Iterator<Item = &Flight> {
        let numbers = self.flights_of.get(&key).into_iter().flatten();
        numbers.filter_map(|number| self.flights.get(number))
    }

    pub(crate) fn next_flight(&self) -> u64 {
        self.last_flight + 1
    }

    pub(super) fn send(&mut self, process: usize, request: RequestId, entry: usize, path: &str) {
        let known = &self.processes[process];
        let (shape, life) = (known.shape.entries[entry].clone(), known.life);
        if ["/login", "/find", "/after"].iter().any(|start| path.starts_with(start)) {
            self.inquire(process, request, &shape, path);
            return;
        }
        let mut members = crate::endpoint::members(&shape, path);
        if let (Flaw::NeedlessSubstitute, Some((_, ip))) = (self.flaw, members.last_mut()) {
            *ip = ip.filter(|_| shape.combine.is_none_or(|combine| !combine.has_missing));
        }
        let is_marked = self.check_send(process, entry, &shape, &members);
        let fate = self.origins[shape.origin].decide(&shape, &members);
        self.last_flight += 1;
        let number = self.last_flight;
        for at in fate.applied.iter().map(|(at, _)| *at).chain(fate.again) {
            self.at(self.now + at, What::Apply { flight: number });
        }
        self.at(self.now + fate.ends, What::End { flight: number, request });
        self.note(|| format!("  flight {number}: {members:?} {fate:?}"));
        let known = &mut self.processes[process];
        for (key, _) in &members {
            known.used.entry(*key).or_default().extend(shape.cache);
        }
        known.requests.insert(request, number);
        let (sent, shift) = (self.now, known.shift);
        self.count("sent");
        if members.iter().any(|(_, ip)| ip.is_none()) {
            self.count("sent with something in the place of an address");
        }
        let flight =
            Flight { number, process, life, shift, entry: shape, members, sent, is_marked, is_settled: false, fate };
        for (key, _) in &flight.members {
            self.flights_of.entry(*key).or_default().push(number);
        }
        self.flights.insert(number, flight);
    }

    /// Sends a request around an update.
    fn inquire(&mut self, process: usize, request: RequestId, shape: &EntryShape, path: &str) {
        self.check_inquiry(process, shape, path);
        let (at, ends, facts) = self.origins[shape.origin].fare(shape.timeout());
        self.last_flight += 1;
        let (number, life) = (self.last_flight, self.processes[process].life);
        if facts.is_none() {
            self.at(self.now + at, What::Answer { inquiry: number });
        } else {
            self.count("asked in vain");
        }
        self.at(self.now + ends, What::Answered { inquiry: number });
        let none = Facts::Failed { why: String::new(), reached: false };
        let (facts, retry_after) = facts.unwrap_or((none, None));
        self.note(|| format!("  inquiry {number}: {path} {facts:?}"));
        self.count(if path.starts_with("/after") { "followed" } else { "asked" });
        let (origin, path) = (shape.origin, path.to_owned());
        self.inquiries.insert(number, Inquiry { process, life, request, origin, path, facts, retry_after });
    }

    pub(super) fn answer(&mut self, number: u64) {
        let Some(inquiry) = self.inquiries.get_mut(&number) else { return };
        inquiry.facts = self.origins[inquiry.origin].answer(&inquiry.path, self.flaw == Flaw::OldAnswer);
    }

    pub(super) fn answered(&mut self, number: u64) {
        let Some(Inquiry { process, request, origin, facts, retry_after, .. }) = self.inquiries.remove(&number) else {
            return;
        };
        // A process that is stopping ignores the response.
        if let Some(pause) = retry_after
            && self.processes[process].mode == Mode::Service
            && self.processes[process].closing.is_none()
        {
            let until = self.processes[process].pauses.entry(origin).or_default();
            *until = (*until).max(self.now + Duration::from_secs(pause));
        }
        self.feed(process, Event::Settled { request, facts });
    }

    pub(super) fn apply(&mut self, number: u64) {
        let Some(flight) = self.flights.get(&number) else { return };
        let Some((_, taken)) = &flight.fate.applied else { return };
        let taken: Vec<(Key, Option<IpAddr>)> =
            flight.members.iter().zip(taken).filter(|(_, taken)| **taken).map(|(member, _)| *member).collect();
        let (process, life) = (flight.process, flight.life);
        self.note(|| format!("flight {number} is applied: {taken:?}"));
        if self.processes[process].life != life || self.processes[process].engine.is_none() {
            self.count("applied after its process ended");
        } else if !self.processes[process].requests.values().any(|other| *other == number) {
            self.count("applied after it was given up");
        }
        let flight = &self.flights[&number];
        if self.now > flight.sent + flight.fate.ends {
            self.unruly.extend(taken.iter().map(|(key, _)| *key));
            self.count("applied too late, or twice");
        }
        // A process that started with another system time takes the mark of this request for an expired one.
        let flight = &self.flights[&number];
        let is_later = |other: &Flight| other.sent > flight.sent && other.shift != flight.shift;
        let misread = taken.iter().map(|(key, _)| *key).filter(|key| self.flights_of(*key).any(is_later));
        let misread: Vec<Key> = misread.collect();
        self.unruly.extend(misread);
        let flight_cache = self.flights[&number].entry.cache;
        let shape = &self.shapes[self.processes[process].site];
        let (path, of) = (self.flights[&number].entry.path, self.flights[&number].entry.number);
        let is_former = shape.entries.iter().any(|entry| entry.number == of && entry.path != path);
        for (key, ip) in taken.iter().copied() {
            let before = self.origins[key.0].has.insert((key.1, key.2), ip);
            self.origins[key.0].had.extend(before.map(|before| ((key.1, key.2), before)));
            let known = &self.processes[process];
            let used: Vec<usize> = match known.used.get(&key).filter(|_| known.life == life) {
                Some(files) => files.iter().copied().collect(),
                None => flight_cache.into_iter().collect(),
            };
            for file in used {
                // With several processes, only the cache that the request was sent with counts: another process may write to the others.
                if flight_cache == Some(file) || self.processes.len() == 1 {
                    self.files[file].applied.insert(key, ip);
                }
                // Other processes do not know what one of them sent with a callback that they no longer have.
                if is_former && self.processes.len() > 1 {
                    self.files[file].excused.insert(key, self.now);
                }
            }
        }
        let keys: Vec<Key> = taken.into_iter().map(|(key, _)| key).collect();
        for file in 0..self.files.len() {
            self.check_file(file, Some(&keys));
        }
    }

    /// Tells the process that sent a request its result.
    pub(super) fn end(&mut self, number: u64, request: RequestId) {
        let Some(flight) = self.flights.get_mut(&number) else { return };
        let process = flight.process;
        if self.processes[process].requests.remove(&request).is_none() {
            return;
        }
        flight.is_settled = true;
        let none = Facts::Failed { why: String::new(), reached: false };
        let mut facts = std::mem::replace(&mut flight.fate.facts, none);
        match (&mut facts, self.flaw) {
            (Facts::Failed { reached, .. }, Flaw::NeverReached) => *reached = false,
            (Facts::Failed { reached, .. }, Flaw::AlwaysReached) => *reached = true,
            (Facts::Response(response), Flaw::RefusedIsAccepted) => response.status = 200,
            _ => {}
        }
        self.settled(process, number);
        self.feed(process, Event::Settled { request, facts });
        self.check_settled(process, number);
    }

    /// Until when a request to another origin hangs, for `Flaw::HungLane`.
    pub(super) fn hung_until(&self, process: usize, entry: usize) -> Option<Duration> {
        let known = &self.processes[process];
        let origin = known.shape.entries[entry].origin;
        let open = known.requests.values().filter_map(|number| self.flights.get(number));
        let hung = open.filter(|flight| flight.entry.origin != origin && flight.fate.ends >= flight.entry.timeout());
        hung.map(|flight| flight.sent + flight.fate.ends).max()
    }
}
