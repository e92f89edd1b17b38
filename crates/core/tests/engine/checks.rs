//! What must hold, whatever happens. The letters are those of the design: S for what must never be, L for what must come at last.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::{Engine, Mode};
use ddns_core::journal::{JournalEvent, Row, Settled, UpdateState, What as Journal};
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::UpdateId;
use ddns_core::update::domain::Domain;
use ddns_core::update::outcome::{Outcome, Tally, Why};
use ddns_core::update::state::{Claim, ClaimKey, Fingerprint, State};

use crate::endpoint::{Flight, Inquiry, Key, Name, Told};
use crate::setup::EntryShape;
use crate::world::{Health, Process, What, World};

/// Where a process remembers something of an update: in a file, or in itself; with the path of its callback.
type Memory = (Result<usize, (usize, u32)>, u32, Key);

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
    journal: Vec<(Name, Family, IpAddr, bool)>,
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
    (entry.cache.ok_or(process), entry.path, key)
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

    /// Everything that must hold when a request is sent. Whether other processes can know of it.
    pub(crate) fn check_send(
        &mut self,
        process: usize,
        entry: usize,
        shape: &EntryShape,
        members: &[(Key, Option<IpAddr>)],
    ) -> bool {
        let (who, now) = (self.who(process), self.now);
        let known = &self.processes[process];
        let clock = known.engine.as_ref().map_or(0, Engine::clock);
        if known.closing.is_some() {
            self.fail(|| format!("S14: process {process} starts something after it was to stop"));
        }
        // S1, S4, S5, S6
        let mut is_needed = shape.cache.is_none() || members.is_empty();
        for (key, ip) in members {
            self.check_order(process, shape, *key, *ip);
            self.check_holds(process, shape, *key, *ip);
            is_needed |= ip.is_none() || !self.is_known(process, shape, *key, *ip);
        }
        if !is_needed {
            self.fail(|| format!("S5: process {process} sends what is accepted: {members:?}"));
        }
        // S7
        let known = &self.processes[process];
        if let Some(until) = known.pauses.get(&shape.origin).copied().filter(|until| *until > now) {
            self.fail(|| format!("S7: origin {} wants no request before {until:?}", shape.origin));
        }
        // S8, S9
        let known = &self.processes[process];
        let (all, concurrency) = (known.requests.len() + 1, known.shape.concurrency);
        let here =
            known.requests.values().filter(|flight| self.flights[flight].entry.origin == shape.origin).count() + 1;
        let most = concurrency.map_or(64, usize::from);
        if concurrency == Some(1) && all > 1 {
            self.fail(|| format!("S8: process {process} has {all} requests under way in strict order"));
        }
        // What could not be remembered, or waited for another process, comes later.
        let is_smooth = self.processes.len() == 1 && self.files.iter().all(|file| file.lost.is_none());
        let is_plain = self.processes[process].shape.entries.iter().all(|entry| entry.around.is_none());
        if concurrency == Some(1) && is_smooth && is_plain && shape.min_interval == 0 {
            self.check_file_order(process, members);
        }
        if all > 768 || here > most {
            self.fail(|| format!("S9: {all} requests are under way, {here} of them to origin {}", shape.origin));
        }
        self.check_batch(process, entry, shape, members);
        self.check_substitutes(process, entry, members);
        // S2
        let mut is_marked = false;
        if let Some(file) = shape.cache
            && let Some(Ok(state)) = &self.files[file].content
        {
            is_marked = true;
            let ends = Duration::from_secs(clock) + shape.timeout();
            let mut wrong = None;
            for (key, ip) in members {
                let (claim, claimed) = self.claim(process, entry, *key, state);
                let lasts = |of: IpAddr, until: u64| Some(of) == *ip && Duration::from_secs(until) >= ends;
                // Another process may have had the same address accepted since it was marked, or sent one that may have arrived.
                let is_beside = || {
                    (claim.in_doubt.is_some() || claim.accepted.map(|accepted| accepted.ip) == *ip)
                        && state.hold(&claimed).under_way.iter().any(|beside| lasts(beside.ip, beside.until))
                };
                let is_right = match ip {
                    Some(_) => claim.in_doubt.is_some_and(|doubt| lasts(doubt.ip, doubt.until)) || is_beside(),
                    // Who has an address, and who sends something in its place, do not wait for each other.
                    None => claim.in_doubt.is_some() || self.processes.len() > 1,
                };
                is_marked &= is_right;
                // Where a former file was put back since it was marked, nobody can know.
                let is_put_back = self.files[file].lost.is_some_and(|lost| now < lost + Duration::from_secs(3));
                if !is_right && claim.accepted.is_some() && !is_put_back && !self.has_several_clocks() {
                    wrong = Some(format!("{key:?} {ip:?} at {clock}: {claim:?}"));
                }
            }
            if let Some(wrong) = wrong {
                self.fail(|| format!("S2: process {process} sends, and its file says of it: {wrong}"));
            }
        }
        // What another callback had accepted does not count any more.
        for (key, ip) in members {
            let is_other = |(_, path, of): &Memory| of == key && *path != shape.path;
            self.memory.accepted.retain(|memory, heard| !is_other(memory) || heard.ip == *ip);
        }
        // Before it was set, nobody noted it.
        for (key, _) in members.iter().filter(|(_, ip)| shape.min_interval > 0 && ip.is_some()) {
            let (number, shift) = (self.next_flight(), self.processes[process].shift);
            self.memory.sent.entry(memory(who, shape, *key)).or_default().push((number, now, shift));
        }
        is_marked
    }

    /// What must hold when a request is sent that is no update.
    pub(crate) fn check_inquiry(&mut self, process: usize, shape: &EntryShape, path: &str) {
        let known = &self.processes[process];
        let is_step = !path.starts_with("/after");
        if known.closing.is_some() && is_step {
            self.fail(|| format!("S14: process {process} looks something up after it was to stop"));
        }
        let until = self.processes[process].pauses.get(&shape.origin).copied();
        if let Some(until) = until.filter(|until| *until > self.now && is_step) {
            self.fail(|| format!("S7: origin {} wants no request before {until:?}", shape.origin));
        }
        let known = &self.processes[process];
        let others =
            self.inquiries.values().filter(|other| (other.process, other.life) == (process, known.life)).count();
        if known.shape.concurrency == Some(1) && others + known.requests.len() > 0 {
            self.fail(|| format!("S8: process {process} has {others} other requests under way in strict order"));
        }
    }

    /// S8: in the order of the file. What failed, was held back or changed meanwhile comes after the others.
    fn check_file_order(&mut self, process: usize, members: &[(Key, Option<IpAddr>)]) {
        let place = |(_, name, family): &Key| (name.0, family.index(), name.1);
        let Some(own) = members.iter().map(|(key, _)| place(key)).min() else { return };
        let who = self.who(process);
        let is_again = self.flights.values().any(|flight| {
            (flight.process, flight.life) == who && flight.members.iter().any(|(key, _)| place(key) == own)
        });
        let before = self.processes[process].last_place.replace(own);
        if before.is_some_and(|before| before > own) && !is_again && !self.processes[process].is_mixed {
            self.fail(|| format!("S8: process {process} sends {members:?} after {before:?}"));
        }
    }

    /// S12: what may be sent is sent, whatever becomes of requests to other origins.
    fn check_lanes(&mut self, process: usize) {
        let known = &self.processes[process];
        if known.engine.is_none() || known.closing.is_some() || known.shape.concurrency == Some(1) {
            return;
        }
        let is_open = |origin: usize| {
            let is_asked = |inquiry: &Inquiry| inquiry.process == process && inquiry.origin == origin;
            self.inquiries.values().any(is_asked)
                || known
                    .requests
                    .values()
                    .any(|number| self.flights.get(number).is_some_and(|flight| flight.entry.origin == origin))
        };
        let (Some(engine), plan) = (&known.engine, &known.plan) else { return };
        let ids = (0..plan.entry_count()).flat_map(|at| plan.updates_of(at)).filter(|id| engine.is_queued(*id));
        let mut held_up = ids.map(|id| plan.about(id)).filter(|(at, ..)| !is_open(known.shape.entries[*at].origin));
        let held_up = held_up.next().map(|(_, domain, family)| format!("{domain} {family}"));
        if let Some(update) = held_up {
            self.fail(|| {
                format!("S12: process {process} does not send {update}, and nothing is under way to its origin")
            });
        }
    }

    /// S1 and S4: what was begun is waited for.
    fn check_order(&mut self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) {
        let (who, now) = (self.who(process), self.now);
        let mut wrong = None;
        for (number, flight) in self.flights.iter().filter(|(_, flight)| flight.may_arrive(now)) {
            let Some((_, other)) = flight.members.iter().find(|(of, _)| *of == key) else { continue };
            let is_own = (flight.process, flight.life) == who;
            if is_own && self.processes[process].requests.values().any(|open| open == number) {
                wrong = Some(format!("S1: {key:?} is under way already, in flight {number}"));
            }
            if *other == ip || other.is_none() || ip.is_none() {
                continue;
            }
            let is_shared = flight.entry.cache.is_some()
                && flight.entry.cache == shape.cache
                && flight.entry.path == shape.path
                && flight.shift == self.processes[process].shift
                && flight.is_marked
                && !self.is_lost(shape, flight.sent);
            if is_own || is_shared && !self.has_several_clocks() {
                wrong = Some(format!("S4: {key:?} {ip:?} is sent while flight {number} with {other:?} may arrive"));
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// Whether processes may have different times of day: each keeps that of its beginning. What they write for each other is then
    /// not understood.
    fn has_several_clocks(&self) -> bool {
        self.processes.len() > 1 && self.counts.contains_key("clock set")
    }

    /// S6: what a service said, and `min_interval`.
    fn check_holds(&mut self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) {
        let (who, now) = (self.who(process), self.now);
        let memory = memory(who, shape, key);
        // What is marked ahead, two seconds at most, is sent without another look at the file.
        let ahead = Duration::from_secs(3);
        let shift = self.processes[process].shift;
        let is_heard = |heard: &Heard| {
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
            // One family of a domain goes along with the other (H7).
            && !shape.combine.is_some_and(|combine| combine.families)
        {
            wrong = Some(format!("S6: {key:?} {ip:?} is sent although it was stopped: {heard:?}"));
        }
        // Clocks have whole seconds.
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

    /// Whether an update need not be sent, as far as its process can know.
    fn is_known(&self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) -> bool {
        let (who, now) = (self.who(process), self.now);
        let Some(heard) = self.memory.accepted.get(&memory(who, shape, key)) else { return false };
        // It counts from when the request was sent.
        let max_age = Duration::from_secs(shape.max_age.saturating_sub(3)).saturating_sub(shape.timeout());
        let started = self.processes[process].started;
        let is_later = |flight: &Flight| {
            let place = flight.members.iter().position(|(of, _)| *of == key);
            let is_sent = |place: usize| flight.fate.told[place] != Told::Failed { reached: false };
            place.is_some_and(|place| is_sent(place) || !flight.is_settled)
                && (flight.sent >= heard.at || flight.may_arrive(heard.at))
        };
        // Two processes that send the same at once doubt each other's: one may come once more.
        self.processes.len() == 1
            && heard.ip == ip
            && (heard.by == who || !self.is_forced(process))
            && (heard.by == who || heard.is_saved && started > heard.at && heard.shift == self.processes[process].shift)
            && !self.is_lost(shape, heard.at.saturating_sub(shape.timeout() + Duration::from_secs(60)))
            && now < heard.at + max_age
            && !self.was_paused(process, heard.at.saturating_sub(shape.timeout()))
            && self.processes[process].used.get(&key).is_none_or(|files| files.len() < 2)
            && !self.flights.values().any(is_later)
            && !self.was_marked_elsewhere(process, shape, key, heard.at)
    }

    /// Whether a mark of a former callback could be taken for a live one then: that of a process that was killed, by a clock that was set back
    /// since.
    fn was_marked_elsewhere(&self, process: usize, shape: &EntryShape, key: Key, then: Duration) -> bool {
        let known = &self.processes[process];
        let content = shape.cache.and_then(|file| self.files[file].content.as_ref());
        let entry = known.shape.entries.iter().position(|entry| entry.number == shape.number);
        let (Some(Ok(state)), Some(entry), Some(engine)) = (content, entry, &known.engine) else { return false };
        let clock = engine.clock().saturating_sub(self.now.saturating_sub(then).as_secs());
        let (_, own) = self.claim(process, entry, key, state);
        let is_other = |other: &ClaimKey| {
            other.callback != own.callback && other.domain == own.domain && other.family == own.family
        };
        state
            .keys()
            .filter(is_other)
            .any(|other| state.entry(&other).in_doubt.is_some_and(|doubt| doubt.until >= clock))
    }

    /// S11: a batch has all its members, or fewer where one is stopped.
    fn check_batch(&mut self, process: usize, entry: usize, shape: &EntryShape, members: &[(Key, Option<IpAddr>)]) {
        if shape.combine.is_none() {
            return;
        }
        let who = self.who(process);
        let plan = &self.processes[process].plan;
        let id_of = |key: &Key| plan.first(entry, key.2) + UpdateId::try_from(key.1.1).unwrap_or(0);
        let Some((first, _)) = members.first() else { return };
        let id = id_of(first);
        let mut wrong = None;
        for id in plan.members(&id) {
            let (_, domain, family) = plan.about(*id);
            let key = (shape.origin, name_of(domain.as_str()), family);
            let is_stopped = self.memory.stopped.contains_key(&memory(who, shape, key));
            // Whoever forgot that it is stopped did so after it was left out.
            if !is_stopped && members.iter().all(|(member, _)| *member != key) && !self.memory_is_shared(shape) {
                wrong = Some(format!("S11: {key:?} is not in the request with {first:?}"));
            }
        }
        for (key, _) in members {
            if !plan.members(&id).contains(&id_of(key)) {
                wrong = Some(format!("S11: {key:?} does not belong to the request with {first:?}"));
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// Whether several processes may have different views of what is stopped.
    fn memory_is_shared(&self, shape: &EntryShape) -> bool {
        shape.cache.is_some() && self.processes.len() > 1
    }

    /// S16: something stands in the place of an address only where there is none.
    fn check_substitutes(&mut self, process: usize, entry: usize, members: &[(Key, Option<IpAddr>)]) {
        let mut wrong = None;
        for (key, ip) in members {
            let found = self.processes[process].observed.get(&(entry, key.2)).copied();
            // Sources that failed are asked again for one entry at a time: its own view counts then.
            let row = || {
                let kind = key.2.record_type();
                self.rows(process).into_iter().find(|row| name_of(&row.domain) == key.1 && row.kind == kind)
            };
            if found != Some(*ip) && row().is_none_or(|row| row.address != *ip) {
                wrong = Some(format!("S16: {key:?} is sent with {ip:?}, and {found:?} was found"));
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// A process is about to be told how a request ended.
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
        for ((key, ip), told) in members.into_iter().zip(told) {
            let memory_key = memory(who, &entry, key);
            let heard = Heard { at: now, by: who, shift: self.processes[process].shift, ip, is_saved: false };
            let model = &mut self.memory;
            if told != (Told::Failed { reached: false }) {
                model.waits.remove(&memory_key);
            }
            match told {
                Told::Accepted if ip.is_some() && !entry.follows() => {
                    model.accepted.insert(memory_key, heard);
                    model.stopped.remove(&memory_key);
                }
                Told::Accepted | Told::Refused | Told::Failed { reached: true } => {
                    model.accepted.remove(&memory_key);
                }
                Told::Failed { reached: false } => {
                    // Nothing was sent.
                    if let Some(sent) = model.sent.get_mut(&memory_key) {
                        sent.retain(|(flight, ..)| *flight != number);
                    }
                }
                Told::Wait(seconds) => {
                    model.accepted.remove(&memory_key);
                    model.waits.insert(memory_key, (heard, now + Duration::from_secs(seconds)));
                }
                Told::Stopped { until_address, all } => {
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

    /// S13: the journal has one for each update of the request.
    pub(crate) fn check_settled(&mut self, process: usize, number: u64) {
        let Some(flight) = self.flights.get(&number) else { return };
        // It is told when what follows has ended, too.
        if flight.entry.follows() {
            return;
        }
        let mut wrong = None;
        for ((_, name, family), ip) in &flight.members {
            let Some(ip) = ip else { continue };
            let is_it =
                |told: &&(Name, Family, IpAddr, bool)| (told.0, told.1, told.2, told.3) == (*name, *family, *ip, true);
            let count = self.memory.journal.iter().filter(is_it).count();
            if count != 1 {
                wrong = Some(format!("S13: the journal of process {process} has {name:?} {family} {count} times"));
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
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
                self.memory.journal.push((
                    name_of(settled.about.domain.as_str()),
                    settled.about.family,
                    settled.ip,
                    !is_unsent,
                ));
            }
            if let Journal::Said { text, .. } = what {
                if text.contains("waiting: another") {
                    self.count("waited for another process");
                }
                self.note(|| format!("{process} says {text}"));
            }
        }
    }

    /// H17: an endpoint was seen to have an address. What is remembered of that is judged by what it has now.
    fn is_there(&mut self, process: usize, settled: &Settled) {
        self.count("already there");
        let (name, family) = (name_of(settled.about.domain.as_str()), settled.about.family);
        let shape = &self.processes[process].shape;
        let Some(entry) = shape.entries.iter().find(|entry| entry.number == name.0) else { return };
        let has = self.origins[entry.origin].has.get(&(name, family)).copied().flatten();
        if let Some(file) = entry.cache {
            self.files[file].applied.insert((entry.origin, name, family), has);
        }
    }

    /// What follows an update was accepted, and with it the update.
    fn followed(&mut self, process: usize, settled: &Settled) {
        let (who, name) = (self.who(process), name_of(settled.about.domain.as_str()));
        let shape = &self.processes[process].shape;
        let entry = shape.entries.iter().find(|entry| entry.number == name.0 && entry.follows());
        let Some(entry) = entry.filter(|_| settled.outcome != Outcome::AlreadyThere) else { return };
        let memory = memory(who, entry, (entry.origin, name, settled.about.family));
        self.memory.stopped.remove(&memory);
    }

    /// What a process knew and did not write is lost with it.
    pub(crate) fn forget_news(&mut self, process: usize) {
        let who = self.who(process);
        let is_kept = |heard: &Heard| heard.by != who || heard.is_saved;
        self.memory.stopped.retain(|_, (heard, _)| is_kept(heard));
        self.memory.waits.retain(|_, (heard, _)| is_kept(heard));
        self.memory.accepted.retain(|_, heard| is_kept(heard));
        // What it marked and did not send is in doubt all the same.
        for file in 0..self.files.len() {
            let Some(Ok(state)) = &self.files[file].content else { continue };
            let doubted: Vec<(Name, Family)> = state
                .keys()
                .filter(|key| state.entry(key).in_doubt.is_some())
                .map(|key| (name_of(key.domain.as_str()), key.family))
                .collect();
            self.memory.accepted.retain(|(_, _, (_, name, family)), _| !doubted.contains(&(*name, *family)));
        }
    }

    /// A process remembers by itself what it is to remember in a file from now on, or the other way round.
    pub(crate) fn forget_own(&mut self, process: usize, entries: &[usize]) {
        let own = Err(self.who(process));
        let is_kept = |(of, _, (_, name, _)): &Memory| *of != own || !entries.contains(&name.0);
        self.memory.stopped.retain(|memory, _| is_kept(memory));
        self.memory.waits.retain(|memory, _| is_kept(memory));
        self.memory.accepted.retain(|memory, _| is_kept(memory));
        self.memory.sent.retain(|memory, _| is_kept(memory));
    }

    /// A process wrote what it knows.
    pub(crate) fn saved(&mut self, process: usize, file: usize) {
        let who = self.who(process);
        let save = |memory: &Memory, heard: &mut Heard| heard.is_saved |= memory.0 == Ok(file) && heard.by == who;
        self.memory.stopped.iter_mut().for_each(|(memory, (heard, _))| save(memory, heard));
        self.memory.waits.iter_mut().for_each(|(memory, (heard, _))| save(memory, heard));
        self.memory.accepted.iter_mut().for_each(|(memory, heard)| save(memory, heard));
    }

    /// Somebody asked a process to send what was stopped.
    pub(crate) fn forget_stopped(&mut self, process: usize) {
        let who = self.who(process);
        let shape = &self.processes[process].shape;
        let is_its = |memory: &Memory| {
            shape.entries.iter().any(|entry| entry.cache.ok_or(who) == memory.0 && entry.number == memory.2.1.0)
        };
        self.memory.stopped.retain(|memory, _| !is_its(memory));
    }

    /// S3: a claim that counts names what the endpoint applied last.
    pub(crate) fn check_file(&mut self, file: usize) {
        // What can be neither written nor removed says what was true before.
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
        let now = (crate::world::BEGIN + self.now.as_secs()).saturating_add_signed(self.shift);
        let (begin, sites) = (Duration::from_secs(crate::world::BEGIN), self.shapes.len());
        // A process that still has the configuration of before does not know what the others send.
        let is_former = |process: &Process| process.engine.is_some() && process.shape != self.shapes[process.site];
        if self.processes.len() > sites && self.processes.iter().any(is_former) {
            return;
        }
        let (mut wrong, mut healed, mut unsure) = (None, Vec::new(), Vec::new());
        for key in state.keys() {
            let entry = state.entry(&key);
            let Some(origin) = known.get(&key.callback).copied() else { continue };
            let at = (origin, name_of(key.domain.as_str()), key.family);
            let excused = self.files[file].excused.get(&at);
            let accepted = Duration::from_secs(entry.accepted.map_or(0, |accepted| accepted.at));
            let is_unknown = |flight: &Flight, lost: Duration| {
                flight.sent <= lost && flight.may_arrive(lost) && flight.members.iter().any(|(key, _)| *key == at)
            };
            let is_lost = self.files[file].lost.is_some_and(|lost| {
                lost + begin >= accepted || self.flights.values().any(|flight| is_unknown(flight, lost))
            });
            // Two processes of one configuration that cannot write do not know of each other.
            if is_lost && self.processes.len() > sites {
                continue;
            }
            // Nor does one that has an address wait for one that has none and sends something in its place.
            if self.files[file].applied.get(&at) == Some(&None) && self.processes.len() > sites {
                continue;
            }
            let has = self.files[file].applied.get(&at).copied().flatten();
            let is_right = match entry.accepted {
                Some(accepted) if entry.in_doubt.is_none() => {
                    !accepted.counts(Duration::from_secs(259_200), now) || has == Some(accepted.ip)
                }
                _ => true,
            };
            if !is_right {
                unsure.push(at);
            }
            if !is_right && excused.is_none() && !self.unruly.contains(&at) {
                wrong = Some(format!("S3: file {file} says {at:?} {entry:?}, and it has {has:?}"));
            }
            let is_open = |since: Duration| {
                let is_it = |flight: &Flight| {
                    flight.sent <= since
                        && flight.may_arrive(self.now)
                        && flight.members.iter().any(|(key, _)| *key == at)
                };
                self.flights.values().any(is_it)
            };
            // What was marked before and is sent a little later is not known there either.
            let is_over = |since: Duration| self.now > since + Duration::from_secs(5) && !is_open(since);
            let is_kept = |process: &Process| {
                let is_here = |entry: &EntryShape| entry.number == at.1.0 && entry.cache == Some(file);
                process.engine.is_some() && process.shape.entries.iter().any(is_here)
            };
            let is_sure = is_right && entry.in_doubt.is_none();
            if is_sure && excused.is_some_and(|since| is_over(*since)) && self.processes.iter().any(is_kept) {
                healed.push(at);
            }
        }
        // A name may have several claims, one of each callback that it had.
        for at in healed.into_iter().filter(|at| !unsure.contains(at)) {
            self.files[file].excused.remove(&at);
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

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

    /// A process has nothing to do for now.
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

    fn rows(&self, process: usize) -> Vec<Row> {
        self.processes[process].engine.as_ref().map(Engine::rows).unwrap_or_default()
    }

    /// What was to be sent again was sent.
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

    /// S15: who says that everything is well is right.
    fn check_truth(&mut self, process: usize, rows: &[Row]) {
        if self.has_several_clocks() {
            return;
        }
        let (who, now) = (self.who(process), self.now);
        let known = &self.processes[process];
        let mut wrong = None;
        for (at, entry) in known.shape.entries.iter().enumerate() {
            for family in Family::ALL {
                for domain in 0..entry.domains[family.index()] {
                    let key = (entry.origin, (entry.number, domain), family);
                    let Some(found) = known.observed.get(&(at, family)).copied().flatten() else { continue };
                    // Sources that failed are asked again for one entry at a time.
                    let is_it = |row: &&Row| name_of(&row.domain) == key.1 && row.kind == family.record_type();
                    let row = rows.iter().find(is_it);
                    if row.is_some_and(|row| row.address != Some(found)) {
                        continue;
                    }
                    // Processes that cannot write do not know of each other.
                    let accepted = row.and_then(|row| row.accepted).unwrap_or(0).saturating_sub(crate::world::BEGIN);
                    if self.processes.len() > self.shapes.len() && self.is_lost(entry, Duration::from_secs(accepted)) {
                        continue;
                    }
                    let has = self.origins[key.0].has.get(&(key.1, family)).copied().flatten();
                    // Who has an address does not wait for another process that has none and sends something in its place.
                    let is_missing = has.is_none() && entry.combine.is_some() && self.processes.len() > 1;
                    // Nor do processes without a cache know of each other, where what a step kept from being sent was sent by another.
                    let is_alone = entry.around.is_some() && entry.cache.is_none() && self.processes.len() > 1;
                    let is_excused = is_missing
                        || is_alone
                        || self.unruly.contains(&key)
                        || entry.cache.is_some_and(|file| {
                            self.files[file].excused.contains_key(&key)
                                || self.files[file].applied.get(&key).copied().flatten() != has
                        });
                    // Somebody else, whom it need not wait for, sent another one.
                    let is_other = |flight: &Flight| {
                        let is_newer = flight.sent >= known.started;
                        let is_unknown = !flight.is_marked
                            || flight.entry.path != entry.path
                            || flight.entry.cache != entry.cache
                            || self.is_lost(entry, flight.sent);
                        (flight.process, flight.life) != who
                            && flight.members.iter().any(|(of, ip)| *of == key && *ip != Some(found))
                            && (is_newer || is_unknown && now < flight.sent + flight.entry.timeout() * 2)
                    };
                    if has != Some(found) && !is_excused && !self.flights.values().any(is_other) {
                        wrong = Some(format!("S15: all is well, says {process}, but {key:?} has {has:?}, not {found}"));
                    }
                }
            }
        }
        if let Some(wrong) = wrong {
            self.fail(|| wrong);
        }
    }

    /// L1: at last everything is up to date.
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
                let is_excused = is_missing
                    || self.processes.len() > self.shapes.len() && self.is_lost(entry, accepted)
                    || self.unruly.contains(&key)
                    || self.files.iter().any(|file| file.excused.contains_key(&key));
                // A wait is remembered by a time of day, and lasts longer where the clock is set back.
                let is_waiting = row.state == UpdateState::HeldBack && self.counts.contains_key("clock set");
                if row.state == UpdateState::Stopped || is_excused || is_waiting {
                    continue;
                }
                let has = self.origins[entry.origin].has.get(&(name, family)).copied().flatten();
                // What another process was sending at the same time is in doubt until the next round.
                let is_fine = row.state == UpdateState::UpToDate
                    || matches!(row.state, UpdateState::Sending | UpdateState::HeldBack) && row.accepted_address == has;
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
