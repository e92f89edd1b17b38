//! Checks a request that is sent: S1, S2, S4, S7 to S9, S11, S12 and S16.

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::Engine;
use ddns_core::schedule::queue::UpdateId;

use super::{Memory, ReceivedAnswer, memory, name_of};
use crate::endpoint::{Flight, Inquiry, Key};
use crate::laws::{self, Sender};
use crate::setup::EntryShape;
use crate::world::World;

impl World {
    /// Checks everything that must hold when an update is sent. Returns whether other processes can know of the request.
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
        let pause = known.pauses.get(&shape.origin).copied();
        let (all, concurrency) = (known.requests.len() + 1, known.shape.concurrency);
        let is_here = |flight: &&u64| self.flights[*flight].entry.origin == shape.origin;
        let here = known.requests.values().filter(is_here).count() + 1;
        // S7, S8, S9, S14
        let laws =
            [laws::starts(known.closing.is_some()), laws::pause(pause, now), laws::limits(all, here, concurrency)];
        self.hold(process, laws);
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
        // Updates that could not be marked, or that waited for another process, come later.
        let is_smooth = self.processes.len() == 1 && self.files.iter().all(|file| file.lost.is_none());
        let is_plain = self.processes[process].shape.entries.iter().all(|entry| entry.around.is_none());
        if concurrency == Some(1) && is_smooth && is_plain && shape.min_interval == 0 {
            self.check_file_order(process, members);
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
                let is_right = match ip {
                    Some(ip) => laws::is_marked(state, &claimed, *ip, ends),
                    // A process with an address, and one that sends a substitute, do not wait for each other.
                    None => claim.in_doubt.is_some() || self.processes.len() > 1,
                };
                is_marked &= is_right;
                // If a former file was put back since the mark, nobody can know.
                let is_put_back = self.files[file].lost.is_some_and(|lost| now < lost + Duration::from_secs(3));
                if !is_right && claim.accepted.is_some() && !is_put_back && !self.has_several_clocks() {
                    wrong = Some(format!("{key:?} {ip:?} at {clock}: {claim:?}"));
                }
            }
            if let Some(wrong) = wrong {
                self.fail(|| format!("S2: process {process} sends, and its file says of it: {wrong}"));
            }
        }
        // Acceptances of other callbacks no longer count.
        for (key, ip) in members {
            let all = (*key, Ok(0), 0)..=(*key, Err((usize::MAX, u32::MAX)), u32::MAX);
            let is_other = |((_, _, path), heard): &(&Memory, &ReceivedAnswer)| *path != shape.path && heard.ip != *ip;
            let others: Vec<Memory> = self.memory.accepted.range(all).filter(is_other).map(|(of, _)| *of).collect();
            for of in others {
                self.memory.accepted.remove(&of);
            }
        }
        // Processes note this only while `min_interval` is set.
        for (key, _) in members.iter().filter(|(_, ip)| shape.min_interval > 0 && ip.is_some()) {
            let (number, shift) = (self.next_flight(), self.processes[process].shift);
            self.memory.sent.entry(memory(who, shape, *key)).or_default().push((number, now, shift));
        }
        is_marked
    }

    /// Checks what must hold when a request around an update is sent.
    pub(crate) fn check_inquiry(&mut self, process: usize, shape: &EntryShape, path: &str) {
        let known = &self.processes[process];
        let is_step = !path.starts_with("/after");
        let until = known.pauses.get(&shape.origin).copied().filter(|_| is_step);
        let laws = [laws::starts(known.closing.is_some() && is_step), laws::pause(until, self.now)];
        self.hold(process, laws);
        let known = &self.processes[process];
        let others =
            self.inquiries.values().filter(|other| (other.process, other.life) == (process, known.life)).count();
        if known.shape.concurrency == Some(1) && others + known.requests.len() > 0 {
            self.fail(|| format!("S8: process {process} has {others} other requests under way in strict order"));
        }
    }

    /// S8: updates are sent in the order of the file. Those that failed, were held back or changed in the meantime come later.
    fn check_file_order(&mut self, process: usize, members: &[(Key, Option<IpAddr>)]) {
        let place = |(_, name, family): &Key| (name.0, family.index(), name.1);
        let Some(own) = members.iter().map(|(key, _)| place(key)).min() else { return };
        let who = self.who(process);
        let first = members.iter().map(|(key, _)| *key).find(|key| place(key) == own);
        let is_again =
            first.is_some_and(|first| self.flights_of(first).any(|flight| (flight.process, flight.life) == who));
        let before = self.processes[process].last_place.replace(own);
        if before.is_some_and(|before| before > own) && !is_again && !self.processes[process].is_mixed {
            self.fail(|| format!("S8: process {process} sends {members:?} after {before:?}"));
        }
    }

    /// S12: an update that may be sent is sent, whatever happens to requests to other origins.
    pub(super) fn check_lanes(&mut self, process: usize) {
        let known = &self.processes[process];
        if known.engine.is_none() || known.closing.is_some() || known.shape.concurrency == Some(1) {
            return;
        }
        // With many updates, check only now and then.
        if known.plan.update_count() > 1000 && !self.is_sampled() {
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

    /// S1 and S4: an update waits for earlier requests with it.
    fn check_order(&mut self, process: usize, shape: &EntryShape, key: Key, ip: Option<IpAddr>) {
        let who = self.who(process);
        // An update may be marked up to two seconds ahead: a mark may be lost before it is sent.
        let marked = self.now.saturating_sub(Duration::from_secs(3));
        let sender = |flight: &Flight| {
            let is_shared = flight.entry.cache.is_some()
                && flight.entry.cache == shape.cache
                && flight.entry.path == shape.path
                && flight.shift == self.processes[process].shift
                && flight.is_marked
                && !self.is_lost(shape, flight.sent.min(marked))
                && !self.has_several_clocks();
            match (flight.process, flight.life) == who {
                true if self.processes[process].requests.values().any(|open| *open == flight.number) => Sender::Waiting,
                true => Sender::Own,
                false if is_shared => Sender::Known,
                false => Sender::Unknown,
            }
        };
        let law = laws::order(&(key, ip), shape.around.is_some(), self.now, self.flights_of(key), sender);
        self.hold(process, [law]);
    }

    /// Fails if a law is broken.
    pub(super) fn hold<const N: usize>(&mut self, process: usize, laws: [Result<(), String>; N]) {
        if let Some(wrong) = laws.into_iter().find_map(Result::err) {
            self.fail(|| format!("{wrong} (process {process})"));
        }
    }

    /// S11: a request contains all of its updates, except those that are stopped.
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
            // A process that was killed may not have written that the user wants stopped updates sent again.
            let content = shape.cache.and_then(|file| self.files[file].content.as_ref()?.as_ref().ok());
            let is_written =
                content.is_some_and(|state| state.hold(&self.claim(process, entry, key, state).1).stopped.is_some());
            let is_stopped = is_written || self.memory.stopped.contains_key(&memory(who, shape, key));
            // With a shared cache, another process may have forgotten the stop after this one left the update out.
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

    /// Whether several processes may disagree about which updates are stopped.
    fn memory_is_shared(&self, shape: &EntryShape) -> bool {
        shape.cache.is_some() && self.processes.len() > 1
    }

    /// S16: a substitute is sent only if the address is missing.
    fn check_substitutes(&mut self, process: usize, entry: usize, members: &[(Key, Option<IpAddr>)]) {
        let mut wrong = None;
        for (key, ip) in members {
            let found = self.processes[process].observed.get(&(entry, key.2)).copied();
            // A failed source is retried for each entry separately: then the entry's own address counts.
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
}
