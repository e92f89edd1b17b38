//! Checks what processes know of the endpoints' answers: S5, S6 and S13.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::Mode;
use ddns_core::journal::{JournalEvent, Settled, What as Journal};
use ddns_core::net::family::Family;
use ddns_core::update::outcome::{Outcome, Why};
use ddns_core::update::state::ClaimKey;

use super::{Memory, ReceivedAnswer, memory, name_of};
use crate::endpoint::{Flight, Key, Name, UpdateAnswer};
use crate::laws::{self, Sent as _};
use crate::setup::EntryShape;
use crate::world::World;

impl World {
    /// S6: no update is sent that is stopped, held back, or within `min_interval`.
    pub(super) fn check_holds(&mut self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) {
        let (who, now) = (self.who(process), self.now);
        let memory = memory(who, shape, key);
        // An update may be marked up to two seconds ahead, and is then sent without reading the file again.
        let ahead = Duration::from_secs(3);
        let shift = self.processes[process].shift;
        let is_heard = |heard: &ReceivedAnswer| {
            let is_read = heard.is_saved && heard.at + ahead < now && heard.shift == shift;
            (heard.by == who || is_read) && !self.is_lost(shape, heard.at)
        };
        if self.has_several_clocks() {
            return;
        }
        let mut wrong = None;
        if let Some((heard, until_address)) = self.memory.stopped.get(&memory)
            && is_heard(heard)
            && (!until_address || heard.ip == ip)
            // With `combine`, one family of a domain is sent along with the other (H7).
            && !shape.combine.is_some_and(|combine| combine.families)
        {
            wrong = Some(format!("S6: {key:?} {ip:?} is sent although it was stopped: {heard:?}"));
        }
        // Stored times are whole seconds.
        let slack = Duration::from_secs(1);
        if let Some((heard, until)) = self.memory.waits.get(&memory)
            && is_heard(heard)
            && now + slack < *until
        {
            wrong = Some(format!("S6: {key:?} is sent although it was to wait until {until:?}: {heard:?}"));
        }
        let last = self.memory.sent.get(&memory).and_then(|sent| sent.last().copied());
        if let Some((_, last, of)) = last
            && of == shift
            && shape.min_interval > 0
            && ip.is_some()
            && now + ahead < last + Duration::from_secs(shape.min_interval)
            && !self.is_lost(shape, last.saturating_sub(ahead))
        {
            wrong = Some(format!("S6: {key:?} was sent at {last:?}, and min_interval is {} s", shape.min_interval));
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// Whether the process can know that an update is accepted and need not be sent.
    pub(super) fn is_known(&self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) -> bool {
        let (who, now) = (self.who(process), self.now);
        let Some(heard) = self.memory.accepted.get(&memory(who, shape, key)) else { return false };
        // `cache_max_age` counts from when the request was sent.
        let max_age = Duration::from_secs(shape.max_age.saturating_sub(3)).saturating_sub(shape.timeout());
        let started = self.processes[process].started;
        let is_later = |flight: &Flight| {
            let place = flight.members.iter().position(|(of, _)| *of == key);
            let is_sent = |place: usize| flight.fate.told[place] != UpdateAnswer::Failed { reached: false };
            place.is_some_and(|place| is_sent(place) || !flight.is_settled)
                && (flight.sent >= heard.at || flight.may_arrive(heard.at))
        };
        // Two processes that send the same update at once put each other's claim in doubt: one of them may send it again.
        self.processes.len() == 1
            && heard.ip == ip
            && !heard.is_misled
            && (heard.by == who || !self.is_forced(process))
            && (heard.by == who || heard.is_saved && started > heard.at && heard.shift == self.processes[process].shift)
            && !self.is_lost(shape, heard.at.saturating_sub(shape.timeout() + Duration::from_secs(60)))
            && now < heard.at + max_age
            && !self.was_paused(process, heard.at.saturating_sub(shape.timeout()))
            && self.processes[process].used.get(&key).is_none_or(|files| files.len() < 2)
            && !self.flights_of(key).any(is_later)
            && !self.was_misled_by_clock(process, shape, key, heard.at)
    }

    /// Whether the clock, after it was set back, could mislead the process at that time about a former callback: the mark of a killed
    /// process looks current, or what was accepted before looks newer than a request that was sent since.
    fn was_misled_by_clock(&self, process: usize, shape: &EntryShape, key: Key, then: Duration) -> bool {
        let known = &self.processes[process];
        let content = shape.cache.and_then(|file| self.files[file].content.as_ref());
        let entry = known.shape.entries.iter().position(|entry| entry.number == shape.number);
        let (Some(Ok(state)), Some(entry), Some(engine)) = (content, entry, &known.engine) else { return false };
        let clock = engine.clock().saturating_sub(self.now.saturating_sub(then).as_secs());
        let began = clock.saturating_sub(shape.timeout().as_secs());
        let was_set = self.counts.contains_key("clock set");
        let (_, own) = self.claim(process, entry, key, state);
        let is_other = |other: &ClaimKey| {
            other.callback != own.callback && other.domain == own.domain && other.family == own.family
        };
        state.keys().filter(is_other).map(|other| (state.entry(&other), state.hold(&other))).any(|(other, hold)| {
            other.in_doubt.is_some_and(|doubt| doubt.until >= clock)
                || hold.under_way.iter().any(|beside| beside.until >= clock)
                || was_set && other.accepted.is_some_and(|accepted| accepted.at >= began)
        })
    }

    /// Notes the answer of a request that a process is about to receive.
    pub(crate) fn settled(&mut self, process: usize, number: u64) {
        let (who, now) = (self.who(process), self.now);
        self.memory.journal.clear();
        let Some(flight) = self.flights.get(&number) else { return };
        let (entry, members, told) = (flight.entry.clone(), flight.members.clone(), flight.fate.told.clone());
        if let Some(pause) = flight.fate.retry_after
            && self.processes[process].mode == Mode::Service
        {
            let until = self.processes[process].pauses.entry(entry.origin).or_default();
            *until = (*until).max(now + Duration::from_secs(pause));
            self.count("Retry-After");
        }
        // In strict order, another origin goes on while one pauses.
        let is_trouble = told.iter().any(|told| !matches!(told, UpdateAnswer::Accepted));
        self.processes[process].is_mixed |= is_trouble;
        for ((key, ip), told) in members.into_iter().zip(told) {
            let memory_key = memory(who, &entry, key);
            let (shift, is_misled) =
                (self.processes[process].shift, self.was_misled_by_clock(process, &entry, key, now));
            let heard = ReceivedAnswer { at: now, by: who, shift, ip, is_saved: false, is_misled };
            let model = &mut self.memory;
            if told != (UpdateAnswer::Failed { reached: false }) {
                model.waits.remove(&memory_key);
            }
            match told {
                UpdateAnswer::Accepted if ip.is_some() && !entry.follows() => {
                    model.accepted.insert(memory_key, heard);
                    model.stopped.remove(&memory_key);
                }
                UpdateAnswer::Accepted | UpdateAnswer::Refused | UpdateAnswer::Failed { reached: true } => {
                    model.accepted.remove(&memory_key);
                }
                UpdateAnswer::Failed { reached: false } => {
                    // Nothing was sent.
                    if let Some(sent) = model.sent.get_mut(&memory_key) {
                        sent.retain(|(flight, ..)| *flight != number);
                    }
                }
                UpdateAnswer::Wait(seconds) => {
                    model.accepted.remove(&memory_key);
                    model.waits.insert(memory_key, (heard, now + Duration::from_secs(seconds)));
                }
                UpdateAnswer::Stopped { until_address, all } => {
                    if model.stop(memory_key, heard, until_address) {
                        model.accepted.remove(&memory_key);
                    }
                    if all {
                        for family in Family::ALL {
                            for domain in 0..entry.domains[family.index()] {
                                let key = (entry.origin, (entry.number, domain), family);
                                model.stop(memory(who, &entry, key), heard, until_address);
                            }
                        }
                    }
                }
            }
        }
    }

    /// S13: the journal reports each update of the request once.
    pub(crate) fn check_settled(&mut self, process: usize, number: u64) {
        let Some(flight) = self.flights.get(&number) else { return };
        // The journal reports these updates only after the request that follows has ended.
        if flight.entry.follows() {
            return;
        }
        let members: Vec<_> = flight.members.iter().map(|((_, name, family), ip)| ((*name, *family), *ip)).collect();
        let law = laws::told(&members, &self.memory.journal);
        self.hold(process, [law]);
    }

    pub(crate) fn read_journal(&mut self, process: usize, journal: &[JournalEvent]) {
        for JournalEvent { what, .. } in journal {
            if let Journal::Settled(settled) = what {
                match settled.outcome {
                    Outcome::AlreadyThere => self.is_there(process, settled),
                    Outcome::Made(_) => self.count("made"),
                    _ => {}
                }
                if settled.outcome.is_accepted() {
                    self.followed(process, settled);
                }
                let is_unsent = matches!(&settled.outcome, Outcome::Failed(Why::NoResponse { why, .. }) if why.starts_with("not sent"));
                if is_unsent {
                    self.processes[process].last_place = None;
                    self.count("not sent because it could not be remembered");
                }
                if !is_unsent {
                    let key = (name_of(settled.about.domain.as_str()), settled.about.family);
                    self.memory.journal.push((key, settled.ip));
                }
            }
            if let Journal::Said { text, .. } = what {
                if text.contains("waiting: an earlier request") {
                    self.count("waited for another process");
                }
                self.note(|| format!("{process} says {text}"));
            }
        }
    }

    /// H17: a step found the address at the endpoint. The file's claim is then judged by what the endpoint has now.
    fn is_there(&mut self, process: usize, settled: &Settled) {
        self.count("already there");
        let (name, family) = (name_of(settled.about.domain.as_str()), settled.about.family);
        let shape = &self.processes[process].shape;
        let Some(entry) = shape.entries.iter().find(|entry| entry.number == name.0) else { return };
        let has = self.origins[entry.origin].has.get(&(name, family)).copied().flatten();
        // What was accepted before is no longer there, although nothing was sent since.
        let before = memory(self.who(process), entry, (entry.origin, name, family));
        if self.memory.accepted.get(&before).is_some_and(|heard| heard.ip != Some(settled.ip)) {
            self.memory.accepted.remove(&before);
        }
        if let Some(file) = entry.cache {
            self.files[file].applied.insert((entry.origin, name, family), has);
        }
    }

    /// The request that follows an update was accepted, and so was the update.
    fn followed(&mut self, process: usize, settled: &Settled) {
        let (who, name) = (self.who(process), name_of(settled.about.domain.as_str()));
        let shape = &self.processes[process].shape;
        let entry = shape.entries.iter().find(|entry| entry.number == name.0 && entry.follows());
        let Some(entry) = entry.filter(|_| settled.outcome != Outcome::AlreadyThere) else { return };
        let memory = memory(who, entry, (entry.origin, name, settled.about.family));
        self.memory.stopped.remove(&memory);
    }

    /// Forgets what a process knew and did not write before it ended.
    pub(crate) fn forget_news(&mut self, process: usize) {
        let who = self.who(process);
        let is_kept = |heard: &ReceivedAnswer| heard.by != who || heard.is_saved;
        self.memory.stopped.retain(|_, (heard, _)| is_kept(heard));
        self.memory.waits.retain(|_, (heard, _)| is_kept(heard));
        self.memory.accepted.retain(|_, heard| is_kept(heard));
        // Updates that it marked, but did not send, are still in doubt.
        for file in 0..self.files.len() {
            let Some(Ok(state)) = &self.files[file].content else { continue };
            let doubted: Vec<(Name, Family)> = state
                .keys()
                .filter(|key| state.entry(key).in_doubt.is_some())
                .map(|key| (name_of(key.domain.as_str()), key.family))
                .collect();
            self.memory.accepted.retain(|((_, name, family), _, _), _| !doubted.contains(&(*name, *family)));
        }
    }

    /// Forgets what a process knew of entries whose `cache` changed.
    pub(crate) fn forget_own(&mut self, process: usize, entries: &[usize]) {
        let own = Err(self.who(process));
        let is_kept = |((_, name, _), of, _): &Memory| *of != own || !entries.contains(&name.0);
        self.memory.stopped.retain(|memory, _| is_kept(memory));
        self.memory.waits.retain(|memory, _| is_kept(memory));
        self.memory.sent.retain(|memory, _| is_kept(memory));
        // The claims of a file are in doubt once an entry has left it, even if nothing is sent before the entry comes back.
        self.memory.accepted.retain(|((_, name, _), ..), _| !entries.contains(&name.0));
    }

    /// Notes that a process wrote what it knows to a file.
    pub(crate) fn saved(&mut self, process: usize, file: usize) {
        let who = self.who(process);
        let save =
            |memory: &Memory, heard: &mut ReceivedAnswer| heard.is_saved |= memory.1 == Ok(file) && heard.by == who;
        self.memory.stopped.iter_mut().for_each(|(memory, (heard, _))| save(memory, heard));
        self.memory.waits.iter_mut().for_each(|(memory, (heard, _))| save(memory, heard));
        self.memory.accepted.iter_mut().for_each(|(memory, heard)| save(memory, heard));
    }

    /// Forgets stops, because a user asked the process to retry them.
    pub(crate) fn forget_stopped(&mut self, process: usize) {
        let who = self.who(process);
        let shape = &self.processes[process].shape;
        // A stop of a former callback stays, because that callback is not retried.
        let is_its = |memory: &Memory| {
            let is_meant = |entry: &EntryShape| (entry.number, entry.path) == (memory.0.1.0, memory.2);
            shape.entries.iter().any(|entry| entry.cache.ok_or(who) == memory.1 && is_meant(entry))
        };
        self.memory.stopped.retain(|memory, _| !is_its(memory));
    }
}
