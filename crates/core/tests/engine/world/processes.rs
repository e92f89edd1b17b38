//! Processes: they start, receive events, carry out the effects of their engines, and end.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Timestamp;
use ddns_core::dns::{DnsObservation, ServerAnswer};
use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Effect, Engine, Event, Facts, LookupId, Mode, Now, Out, Stored};
use ddns_core::net::family::Family;

use super::{BEGIN, Health, Process, What, World};
use crate::TROUBLE;
use crate::flaws::Flaw;
use crate::setup::Shape;

impl World {
    pub(super) fn wake(&mut self, process: usize) {
        let local = self.local(process).steady;
        let known = &mut self.processes[process];
        known.wake = None;
        let due = known.engine.as_ref().and_then(Engine::wake_at).is_some_and(|at| at <= local);
        if !due {
            self.set_wake(process);
            return;
        }
        let sent = self.counts.get("sent").copied();
        self.feed(process, Event::Time);
        // Without a cache, every round sends, and its wake-up is not idle.
        let is_idle = self.counts.get("sent").copied() == sent;
        // L2: no wake-up in the past.
        let known = &mut self.processes[process];
        known.wakes += u64::from(is_idle);
        let is_past = known.engine.as_ref().and_then(Engine::wake_at).is_some_and(|at| at <= local);
        known.idle_wakes = if is_past { known.idle_wakes + 1 } else { 0 };
        if known.idle_wakes > 3 {
            self.fail(|| format!("L2: process {process} is woken again and again"));
        }
    }

    pub(super) fn found(&mut self, process: usize, lookup: LookupId, entry: usize, family: Family, ip: Option<IpAddr>) {
        let mut found = Lookup::default();
        let result = ip.map(|ip| Choice { ip, why: String::new() }).ok_or_else(|| "none".to_owned());
        found.add(&Source::Default, result, Duration::ZERO);
        let known = &mut self.processes[process];
        for at in sharing(&known.shape, entry, family) {
            let Some((begun, taken, has_skipped)) = known.looked_up.get_mut(&(at, family)) else { continue };
            // A newer lookup has begun, so this result is left out, but never two in a row.
            let is_skipped = *begun != lookup && !*has_skipped;
            *has_skipped = is_skipped;
            if lookup > *taken && !is_skipped {
                *taken = lookup;
                known.observed.insert((at, family), ip);
            }
        }
        self.feed(process, Event::LookedUp { lookup, found });
    }

    /// The time as a process sees it.
    pub(crate) fn local(&self, process: usize) -> Now {
        let seconds = (BEGIN + self.now.as_secs()).saturating_add_signed(self.shift);
        let day = Timestamp { seconds, micros: self.now.subsec_micros() };
        Now { steady: self.now + self.processes[process].offset, day }
    }

    pub(crate) fn start(&mut self, process: usize, mode: Mode) {
        if self.processes[process].engine.is_some() {
            return;
        }
        let (seed, files) = (self.seeds.number(), self.files.len());
        let shape = Rc::clone(&self.shapes[self.processes[process].site]);
        let plan = self.plan_of(&shape);
        let offset = Duration::from_secs(1000) + self.seeds.up_to(Duration::from_secs(100));
        let known = &mut self.processes[process];
        *known = Process {
            mode,
            life: known.life + 1,
            plan: Rc::clone(&plan),
            offset,
            shift: self.shift,
            started: self.now,
            seen: vec![None; files],
            ..Process::new(known.site, Rc::clone(&plan), shape)
        };
        let now = self.local(process);
        self.processes[process].engine = Some(Engine::new(plan, mode, seed, now));
        self.count(if mode == Mode::Once { "single run" } else { "service" });
        if self.is_forced(process) {
            let plan = Rc::clone(&self.processes[process].plan);
            self.tell(process, Event::SendAgain((0..plan.entry_count()).flat_map(|at| plan.updates_of(at)).collect()));
        }
        self.feed(process, Event::Begin);
    }

    /// Whether a process sends everything, even updates that are accepted.
    pub(crate) fn is_forced(&self, process: usize) -> bool {
        let known = &self.processes[process];
        known.mode == Mode::Once && known.shape.is_verified && self.is_forcing
    }

    pub(crate) fn plan_of(&mut self, shape: &Rc<Shape>) -> Rc<Plan> {
        if let Some((_, plan)) = self.all_shapes.iter().find(|(known, _)| known == shape) {
            return Rc::clone(plan);
        }
        let plan = shape.plan();
        self.all_shapes.push((Rc::clone(shape), Rc::clone(&plan)));
        plan
    }

    pub(crate) fn kill(&mut self, process: usize) {
        let known = &mut self.processes[process];
        if known.engine.take().is_some() {
            known.out = Out::default();
            let (life, requests) = (known.life, std::mem::take(&mut known.requests));
            self.inquiries.retain(|_, inquiry| (inquiry.process, inquiry.life) != (process, life));
            self.note(|| format!("process {process} life {life} is gone with {} requests", requests.len()));
            if !requests.is_empty() {
                self.count("killed with requests under way");
            }
            self.forget_news(process);
        }
    }

    pub(crate) fn kill_soon(&mut self, process: usize, effects: u64) {
        self.processes[process].kill_in = Some(effects);
    }

    pub(crate) fn pause(&mut self, process: usize, time: Duration) {
        let known = &mut self.processes[process];
        known.paused_until = known.paused_until.max(self.now + time);
        known.paused = Some((self.now, known.paused_until));
    }

    pub(crate) fn was_paused(&self, process: usize, since: Duration) -> bool {
        self.processes[process].paused.is_some_and(|(_, until)| until >= since)
    }

    pub(crate) fn is_paused(&self, process: usize) -> bool {
        self.processes[process].paused_until > self.now
    }

    pub(crate) fn reload(&mut self, process: usize) {
        let shape = Rc::clone(&self.shapes[self.processes[process].site]);
        let known = &self.processes[process];
        if known.engine.is_none() || known.mode == Mode::Once || known.closing.is_some() && known.next.is_none() {
            return;
        }
        let plan = self.plan_of(&shape);
        self.processes[process].next = Some((Rc::clone(&plan), shape));
        self.processes[process].closing.get_or_insert(self.now);
        self.feed(process, Event::Reload(plan));
    }

    pub(crate) fn stop(&mut self, process: usize) {
        let known = &mut self.processes[process];
        if known.engine.is_some() {
            known.next = None;
            known.closing.get_or_insert(self.now);
            self.feed(process, Event::Stop);
        }
    }

    /// Passes an event to a process, and carries out the effects.
    pub(crate) fn feed(&mut self, process: usize, event: Event) {
        if self.processes[process].engine.is_none() {
            return;
        }
        self.note(|| format!("{process} <- {event:?}"));
        if !matches!(&event, Event::Settled { facts: Facts::Response(response), .. } if response.status == 200) {
            let known = &mut self.processes[process];
            // Queued updates go before those that this event adds, so the order of the file no longer holds.
            known.is_mixed |= known.engine.as_ref().is_some_and(|engine| engine.to_send() > 0);
            known.last_place = None;
        }
        self.tell(process, event);
        self.carry_out(process);
        self.set_wake(process);
        self.check_process(process);
    }

    pub(super) fn tell(&mut self, process: usize, event: Event) {
        let now = self.local(process);
        let known = &mut self.processes[process];
        if let Some(engine) = &mut known.engine {
            engine.on(event, now, &mut known.out);
        }
        let journal = std::mem::take(&mut known.out.journal);
        self.read_journal(process, &journal);
    }

    fn carry_out(&mut self, process: usize) {
        let mut left = 2_000;
        while let Some(effect) = self.processes[process].out.effects.pop_front() {
            if let Some(left) = &mut self.processes[process].kill_in {
                if *left == 0 {
                    self.processes[process].kill_in = None;
                    self.count("killed between two effects");
                    self.kill(process);
                    return;
                }
                *left -= 1;
            }
            self.note(|| format!("{process} -> {effect:?}"));
            left -= 1;
            if left == 0 {
                self.fail(|| format!("L2: process {process} does not come to rest"));
            }
            if self.wrong.is_some() {
                return;
            }
            match effect {
                Effect::Begin | Effect::Tell(_) | Effect::Hide { .. } => {}
                Effect::LookUp { lookup, entry, family } => {
                    let known = &mut self.processes[process];
                    for at in sharing(&known.shape, entry, family) {
                        known.looked_up.entry((at, family)).or_insert((0, 0, false)).0 = lookup;
                    }
                    let took = match self.lookups.below(6) {
                        0 => self.lookups.up_to(Duration::from_secs(5)),
                        _ => self.lookups.up_to(Duration::from_millis(20)),
                    };
                    // In some schedules, one lookup in 16 takes longer than rounds are apart. (This draws no random number, so that old
                    // seeds stay valid.)
                    let chance = lookup.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
                    let is_slow = self.has_slow_lookups && chance < 16 && self.now < TROUBLE;
                    let took = if is_slow { Duration::from_secs(50 + 25 * chance) } else { took };
                    let (asked, to) = (self.address[family.index()], (process, self.processes[process].life));
                    self.at(self.now + took, What::Found { to, lookup, entry, family, asked });
                }
                Effect::AskDns { round, dns_query } => {
                    self.count("DNS asked");
                    let to = (process, self.processes[process].life);
                    let took = self.lookups.up_to(Duration::from_secs(8));
                    // DNS shows the address, the one before, or nothing.
                    let ip = match self.lookups.below(8) {
                        0 => None,
                        1 => self.former[dns_query.family.index()],
                        _ => self.address[dns_query.family.index()],
                    };
                    let said = |ip| ServerAnswer { server: "ns".to_owned(), said: Ok((vec![ip], Some(60))) };
                    let servers = ip.map(said).into_iter().collect();
                    let observation = DnsObservation { servers, ..DnsObservation::default() };
                    self.at(self.now + took, What::Seen { to, round, observation });
                }
                Effect::Read { store } => {
                    let stored = self.read(process, store);
                    self.note(|| format!("{process} <- Read {store} {}", brief(&stored)));
                    self.tell(process, Event::Read { store, stored });
                }
                Effect::Persist { store, upto, .. } => self.persist(process, store, upto),
                Effect::Discard { store } => {
                    if let Some(file) = self.file_of(process, store)
                        && self.flaw != Flaw::NoDiscard
                        && self.files[file].health != Health::ReadOnly
                    {
                        self.count("discarded");
                        let (known, now) = (&mut self.files[file], self.now);
                        known.content = None;
                        known.stamp += 1;
                        known.lost = Some(now);
                        self.processes[process].seen[file] = None;
                    }
                }
                Effect::Send { request, entry, message, .. } => {
                    match self.hung_until(process, entry).filter(|_| self.flaw == Flaw::HungLane) {
                        None => self.send(process, request, entry, &message.url.path),
                        Some(until) => {
                            let (to, path) = ((process, self.processes[process].life), message.url.path.clone());
                            self.at(until, What::SendLate { to, request, entry, path });
                        }
                    }
                }
                Effect::Cancel => {
                    self.count("cancelled");
                    self.processes[process].requests.clear();
                    self.inquiries.retain(|_, inquiry| inquiry.process != process);
                }
                Effect::Idle { tallies, .. } => self.idle(process, &tallies),
                Effect::Closed => {
                    self.closed(process);
                }
                Effect::Ended(code) => {
                    self.processes[process].ended = Some(code);
                    self.kill(process);
                }
            }
        }
    }

    fn closed(&mut self, process: usize) {
        self.check_closed(process);
        let known = &mut self.processes[process];
        known.closing = None;
        // The driver ends the requests that the engine no longer waits for.
        self.inquiries.retain(|_, inquiry| inquiry.process != process);
        let known = &mut self.processes[process];
        match known.next.take() {
            Some((plan, shape)) => {
                let both = shape.entries.iter().zip(&known.shape.entries);
                let moved: Vec<usize> =
                    both.filter(|(next, before)| next.cache != before.cache).map(|(next, _)| next.number).collect();
                self.forget_own(process, &moved);
                let known = &mut self.processes[process];
                (known.plan, known.shape) = (plan, shape);
                known.observed.clear();
                known.looked_up.clear();
                // A reload reads the files again.
                known.seen.fill(None);
                self.count("reloaded");
                if self.flaw == Flaw::ForgetfulReload {
                    let (now, seed) = (self.local(process), self.seeds.number());
                    let known = &mut self.processes[process];
                    known.engine = Some(Engine::new(Rc::clone(&known.plan), known.mode, seed, now));
                }
                self.tell(process, Event::Begin);
            }
            None => self.kill(process),
        }
    }

    fn set_wake(&mut self, process: usize) {
        let known = &self.processes[process];
        let Some(at) = known.engine.as_ref().and_then(Engine::wake_at) else { return };
        let at = at.saturating_sub(known.offset).max(self.now);
        if known.wake.is_none_or(|wake| wake > at) {
            let to = (process, known.life);
            self.processes[process].wake = Some(at);
            self.at(at, What::Wake { to });
        }
    }
}

impl Process {
    /// The length of the engine's state as text, to see whether it grows.
    pub(crate) fn size(&self) -> usize {
        self.engine.as_ref().map_or(0, |engine| format!("{engine:?}").len())
    }

    pub(crate) fn new(site: usize, plan: Rc<Plan>, shape: Rc<Shape>) -> Self {
        Self {
            site,
            mode: Mode::Service,
            life: 0,
            engine: None,
            plan,
            shape,
            next: None,
            out: Out::default(),
            requests: BTreeMap::new(),
            seen: Vec::new(),
            offset: Duration::ZERO,
            shift: 0,
            paused_until: Duration::ZERO,
            wake: None,
            kill_in: None,
            closing: None,
            observed: BTreeMap::new(),
            looked_up: BTreeMap::new(),
            used: BTreeMap::new(),
            pauses: BTreeMap::new(),
            last_place: None,
            is_mixed: false,
            idle_wakes: 0,
            wakes: 0,
            ended: None,
            started: Duration::ZERO,
            paused: None,
        }
    }
}

/// The entries that share a lookup. The lookup names the first of them.
fn sharing(shape: &Shape, entry: usize, family: Family) -> Vec<usize> {
    let shares = |at: &usize| {
        let (one, other) = (&shape.entries[*at], &shape.entries[entry]);
        one.timeout == other.timeout && one.domains[family.index()] > 0
    };
    (entry..shape.entries.len()).filter(shares).collect()
}

fn brief(stored: &Stored) -> String {
    match stored {
        Stored::Known { state, unwritable } => format!("known, unwritable {unwritable:?}: {state}"),
        other => format!("{other:?}"),
    }
}
