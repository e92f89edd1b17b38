//! Processes, their caches and their endpoints, in time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Timestamp;
use ddns_core::dns::{ServerSight, Sighting};
use ddns_core::engine::plan::{Plan, StoreId, StorePlace};
use ddns_core::engine::{Effect, Engine, Event, Facts, LookupId, Mode, Now, Out, RequestId, RoundId, Stored, Ticket};
use ddns_core::net::family::Family;
use ddns_core::update::state::State;

use crate::endpoint::{Flight, Inquiry, Key, Origin};
use crate::faults::Fault;
use crate::flaws::Flaw;
use crate::random::Random;
use crate::setup::{EntryShape, Shape};

/// The time of day at the beginning, in seconds since the epoch.
pub(crate) const BEGIN: u64 = 1_763_170_000;

/// What happens at a time.
#[derive(Debug)]
pub(crate) enum What {
    Fault(Fault),
    Wake {
        to: (usize, u32),
    },
    Found {
        to: (usize, u32),
        lookup: LookupId,
        entry: usize,
        family: Family,
        asked: Option<IpAddr>,
    },
    Changed {
        to: (usize, u32),
        family: Family,
    },
    Apply {
        flight: u64,
    },
    End {
        flight: u64,
        request: RequestId,
    },
    /// An endpoint looks at a request that is no update; it ends then.
    Answer {
        inquiry: u64,
    },
    Answered {
        inquiry: u64,
    },
    /// A request goes out only now.
    SendLate {
        to: (usize, u32),
        request: RequestId,
        entry: usize,
        path: String,
    },
    /// A round of questions to DNS servers ends.
    Seen {
        to: (usize, u32),
        round: RoundId,
        sighting: Sighting,
    },
    /// A single run ends.
    Finish {
        to: (usize, u32),
    },
}

/// How a cache file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    /// Nothing can be written to it; it can be removed.
    Full,
    /// Nor can it be removed.
    ReadOnly,
    /// Somebody holds its lock.
    Locked,
}

/// A cache file.
#[derive(Debug)]
pub(crate) struct CacheFile {
    /// `None`: there is none. Damaged where it is `Err`.
    pub(crate) content: Option<Result<State, ()>>,
    /// Another one for each content.
    pub(crate) stamp: u64,
    pub(crate) health: Health,
    pub(crate) kept: Option<State>,
    /// When somebody took away what was in it, or it could not be written.
    pub(crate) lost: Option<Duration>,
    /// Claims that nobody could know to be wrong: since a former file was put back.
    pub(crate) excused: BTreeMap<Key, Duration>,
    /// What processes of this cache did to endpoints.
    pub(crate) applied: BTreeMap<Key, Option<IpAddr>>,
}

pub(crate) struct Process {
    pub(crate) site: usize,
    pub(crate) mode: Mode,
    pub(crate) life: u32,
    pub(crate) engine: Option<Engine>,
    pub(crate) plan: Rc<Plan>,
    pub(crate) shape: Rc<Shape>,
    next: Option<(Rc<Plan>, Rc<Shape>)>,
    out: Out,
    pub(crate) requests: BTreeMap<RequestId, u64>,
    /// The stamps of the files that it knows.
    seen: Vec<Option<u64>>,
    pub(crate) offset: Duration,
    /// How wrong the time of day was when it began: it does not look at it again.
    pub(crate) shift: i64,
    paused_until: Duration,
    wake: Option<Duration>,
    /// It is killed after so many effects.
    pub(crate) kill_in: Option<u64>,
    pub(crate) closing: Option<Duration>,
    /// What was found, by entry and family.
    pub(crate) observed: BTreeMap<(usize, Family), Option<IpAddr>>,
    /// The last lookup that began, by entry and family: the result of an older one is no news.
    begun: BTreeMap<(usize, Family), LookupId>,
    /// The files in which it remembered an update.
    pub(crate) used: BTreeMap<Key, BTreeSet<usize>>,
    /// Until when an origin wants no requests.
    pub(crate) pauses: BTreeMap<usize, Duration>,
    /// In strict order: the place of what was sent last, as long as nothing but good news came since.
    pub(crate) last_place: Option<(usize, usize, usize)>,
    /// Whether something came while something was to be sent.
    pub(crate) is_mixed: bool,
    /// How often it was woken in vain, one time after the other.
    idle_wakes: u32,
    pub(crate) wakes: u64,
    pub(crate) ended: Option<u8>,
    pub(crate) started: Duration,
    /// When it was last paused, until when.
    pub(crate) paused: Option<(Duration, Duration)>,
}

pub(crate) struct World {
    pub(crate) now: Duration,
    sequence: u64,
    heap: BTreeMap<(Duration, u64), What>,
    pub(crate) processes: Vec<Process>,
    pub(crate) files: Vec<CacheFile>,
    pub(crate) origins: Vec<Origin>,
    /// Requests that are no updates.
    pub(crate) inquiries: BTreeMap<u64, Inquiry>,
    pub(crate) flights: BTreeMap<u64, Flight>,
    last_flight: u64,
    pub(crate) address: [Option<IpAddr>; 2],
    /// What they were before.
    pub(crate) former: [Option<IpAddr>; 2],
    fresh: u32,
    /// How wrong the time of day is.
    pub(crate) shift: i64,
    /// What endpoints took in long after its time, or twice: nobody can know what they have.
    pub(crate) unruly: BTreeSet<Key>,
    pub(crate) shapes: Vec<Rc<Shape>>,
    /// Every configuration that there ever was.
    pub(crate) all_shapes: Vec<(Rc<Shape>, Rc<Plan>)>,
    lookups: Random,
    seeds: Random,
    is_forcing: bool,
    pub(crate) flaw: Flaw,
    pub(crate) wrong: Option<String>,
    pub(crate) is_traced: bool,
    pub(crate) trace: VecDeque<String>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) memory: crate::checks::Model,
}

impl World {
    pub(crate) fn new(seed: u64, flaw: Flaw, shapes: Vec<Shape>, files: usize, origins: usize) -> Self {
        let file = |_| CacheFile {
            content: None,
            stamp: 0,
            health: Health::Good,
            kept: None,
            lost: None,
            excused: BTreeMap::new(),
            applied: BTreeMap::new(),
        };
        let origin = |number: u64| Origin::new(seed.wrapping_mul(31).wrapping_add(number) ^ 0x0e0e);
        let mut world = Self {
            now: Duration::ZERO,
            sequence: 0,
            heap: BTreeMap::new(),
            processes: Vec::new(),
            files: (0..files).map(file).collect(),
            origins: (0..u64::try_from(origins).unwrap_or(1)).map(origin).collect(),
            flights: BTreeMap::new(),
            inquiries: BTreeMap::new(),
            last_flight: 0,
            address: [None, None],
            former: [None, None],
            fresh: 0,
            shift: 0,
            unruly: BTreeSet::new(),
            shapes: shapes.into_iter().map(Rc::new).collect(),
            all_shapes: Vec::new(),
            lookups: Random(seed ^ 0x1007),
            seeds: Random(seed ^ 0x5eed),
            is_forcing: seed.is_multiple_of(2),
            flaw,
            wrong: None,
            is_traced: false,
            trace: VecDeque::new(),
            counts: BTreeMap::new(),
            memory: crate::checks::Model::default(),
        };
        world.address = Family::ALL.map(|family| Some(world.fresh_address(family)));
        world
    }

    pub(crate) fn fresh_address(&mut self, family: Family) -> IpAddr {
        self.fresh += 1;
        match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from(0x0b00_0000 + self.fresh)),
            Family::V6 => IpAddr::V6(Ipv6Addr::from(0x2a00_u128 << 112 | u128::from(self.fresh))),
        }
    }

    pub(crate) fn at(&mut self, time: Duration, what: What) {
        self.sequence += 1;
        self.heap.insert((time.max(self.now), self.sequence), what);
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(crate) fn fail(&mut self, text: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            let text = text();
            self.note(|| format!("WRONG: {text}"));
            self.wrong = Some(format!("at {:?}: {text}", self.now));
        }
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if self.is_traced {
            self.trace.push_back(format!("{:>12.6} {}", self.now.as_secs_f64(), line()));
        }
    }

    /// Lets everything happen that happens before `then`.
    pub(crate) fn run_until(&mut self, then: Duration) {
        while self.wrong.is_none() {
            let Some(entry) = self.heap.first_entry().filter(|entry| entry.key().0 < then) else { break };
            let ((at, _), what) = entry.remove_entry();
            self.now = at;
            self.happen(what);
        }
        self.now = self.now.max(then);
    }

    fn happen(&mut self, what: What) {
        let to = match &what {
            What::Wake { to }
            | What::Found { to, .. }
            | What::Changed { to, .. }
            | What::SendLate { to, .. }
            | What::Seen { to, .. }
            | What::Finish { to } => Some(*to),
            What::End { flight, .. } => self.flights.get(flight).map(|flight| (flight.process, flight.life)),
            What::Answered { inquiry } => self.inquiries.get(inquiry).map(|inquiry| (inquiry.process, inquiry.life)),
            What::Fault(_) | What::Apply { .. } | What::Answer { .. } => None,
        };
        if let Some((process, life)) = to {
            let known = &self.processes[process];
            if known.life != life || known.engine.is_none() {
                return;
            }
            if known.paused_until > self.now {
                let until = known.paused_until;
                self.at(until, what);
                return;
            }
        }
        match what {
            What::Fault(fault) => {
                self.note(|| format!("{fault:?}"));
                self.fault(fault);
            }
            What::Wake { to: (process, _) } => self.wake(process),
            What::Found { to: (process, _), lookup, entry, family, asked } => {
                let found = if self.lookups.below(2) == 0 { asked } else { self.address[family.index()] };
                self.found(process, lookup, entry, family, found);
            }
            What::Changed { to: (process, _), family } => {
                self.feed(process, Event::Network { family, is_settling: false });
            }
            What::Seen { to: (process, _), round, sighting } => {
                self.feed(process, Event::SeenInDns { round, sighting, questions: [1, 0] });
            }
            What::Apply { flight } => self.apply(flight),
            What::Finish { to: (process, _) } => {
                self.feed(process, Event::Save);
                self.kill(process);
            }
            What::End { flight, request } => self.end(flight, request),
            What::Answer { inquiry } => self.answer(inquiry),
            What::Answered { inquiry } => self.answered(inquiry),
            What::SendLate { to: (process, _), request, entry, path } => self.send(process, request, entry, &path),
        }
    }

    fn wake(&mut self, process: usize) {
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
        // Without a cache every round sends.
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

    fn found(&mut self, process: usize, lookup: LookupId, entry: usize, family: Family, ip: Option<IpAddr>) {
        let mut found = Lookup::default();
        let result = ip.map(|ip| Choice { ip, why: String::new() }).ok_or_else(|| "none".to_owned());
        found.add(&Source::Default, result, Duration::ZERO);
        let known = &mut self.processes[process];
        for at in sharing(&known.shape, entry, family) {
            if known.begun.get(&(at, family)) == Some(&lookup) {
                known.observed.insert((at, family), ip);
            }
        }
        self.feed(process, Event::LookedUp { lookup, found });
    }

    /// The time of a process.
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

    /// Whether a process sends everything, known or not.
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

    pub(crate) fn next_flight(&self) -> u64 {
        self.last_flight + 1
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

    /// Tells a process what happened, and does what it wants.
    pub(crate) fn feed(&mut self, process: usize, event: Event) {
        if self.processes[process].engine.is_none() {
            return;
        }
        self.note(|| format!("{process} <- {event:?}"));
        if !matches!(&event, Event::Settled { facts: Facts::Response(response), .. } if response.status == 200) {
            let known = &mut self.processes[process];
            // What is in a line already goes before what comes now.
            known.is_mixed |= known.engine.as_ref().is_some_and(|engine| engine.to_send() > 0);
            known.last_place = None;
        }
        self.tell(process, event);
        self.carry_out(process);
        self.set_wake(process);
        self.check_process(process);
    }

    fn tell(&mut self, process: usize, event: Event) {
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
                        known.begun.insert((at, family), lookup);
                    }
                    let took = match self.lookups.below(6) {
                        0 => self.lookups.up_to(Duration::from_secs(5)),
                        _ => self.lookups.up_to(Duration::from_millis(20)),
                    };
                    let (asked, to) = (self.address[family.index()], (process, self.processes[process].life));
                    self.at(self.now + took, What::Found { to, lookup, entry, family, asked });
                }
                Effect::AskDns { round, sought } => {
                    self.count("DNS asked");
                    let to = (process, self.processes[process].life);
                    let took = self.lookups.up_to(Duration::from_secs(8));
                    // As if it had seen the address, or another one, or nothing.
                    let ip = match self.lookups.below(8) {
                        0 => None,
                        1 => self.former[sought.family.index()],
                        _ => self.address[sought.family.index()],
                    };
                    let said = |ip| ServerSight { server: "ns".to_owned(), said: Ok((vec![ip], Some(60))) };
                    let servers = ip.map(said).into_iter().collect();
                    let sighting = Sighting { servers, ..Sighting::default() };
                    self.at(self.now + took, What::Seen { to, round, sighting });
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
        // Whoever drives the engine ends what it was not to wait for.
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
                known.begun.clear();
                // Files are read anew.
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

    /// Which file a store is in.
    pub(crate) fn file_of(&self, process: usize, store: StoreId) -> Option<usize> {
        match &self.processes[process].plan.places()[store] {
            StorePlace::File(path) => path.to_str().and_then(|path| path.strip_prefix("file")?.parse().ok()),
            StorePlace::Memory | StorePlace::Group => None,
        }
    }

    fn read(&mut self, process: usize, store: StoreId) -> Stored {
        let salt = self.seeds.number().to_le_bytes().to_vec();
        let Some(file) = self.file_of(process, store) else { return Stored::Missing { salt } };
        let known = &mut self.files[file];
        match &known.content {
            None => Stored::Missing { salt },
            Some(_) if self.processes[process].seen[file] == Some(known.stamp) => Stored::Unchanged,
            Some(Ok(_)) if self.flaw == Flaw::IgnoreForeign && self.processes[process].seen[file].is_some() => {
                Stored::Unchanged
            }
            Some(Ok(state)) => {
                self.processes[process].seen[file] = Some(known.stamp);
                let state = Box::new(state.clone());
                let is_unwritable = matches!(known.health, Health::Full | Health::ReadOnly);
                if is_unwritable {
                    known.lost = Some(self.now);
                }
                let unwritable = is_unwritable.then(|| "full".to_owned());
                Stored::Known { state, unwritable }
            }
            Some(Err(())) => {
                known.content = None;
                known.stamp += 1;
                self.count("damaged");
                Stored::Damaged { salt, why: "is damaged".to_owned(), moved: None }
            }
        }
    }

    /// Under a lock: takes in what others wrote, and replaces the file.
    fn persist(&mut self, process: usize, store: StoreId, upto: Ticket) {
        let Some(file) = self.file_of(process, store) else { return };
        let result = self.write(process, store, file);
        if result.is_err() {
            self.count("not written");
            self.files[file].lost = Some(self.now);
        }
        let result = if self.flaw == Flaw::BelieveFailedWrite { Ok(()) } else { result };
        let text = match &self.files[file].content {
            Some(Ok(state)) if self.is_traced => state.to_string(),
            _ => String::new(),
        };
        self.note(|| format!("{process} <- Persisted {store} {upto} {result:?}: {text}"));
        self.check_file(file);
        self.tell(process, Event::Persisted { store, upto, result });
    }

    fn write(&mut self, process: usize, store: StoreId, file: usize) -> Result<(), String> {
        let known = &mut self.files[file];
        if known.health == Health::Locked {
            return Err("locked".to_owned());
        }
        let of = &mut self.processes[process];
        let Some(engine) = &mut of.engine else { return Ok(()) };
        let mut is_merged = false;
        if of.seen[file] != Some(known.stamp) && self.flaw != Flaw::IgnoreForeign {
            let on_disk = known.content.clone().and_then(Result::ok);
            is_merged = on_disk.is_some();
            engine.merge(store, on_disk);
        }
        let text = engine.text(store).to_string();
        if self.flaw == Flaw::SendBeforePersisted && self.sequence.is_multiple_of(2) {
            return Ok(());
        }
        if known.health != Health::Good {
            return Err("full".to_owned());
        }
        let before = known.content.take().and_then(Result::ok);
        let text = self.flawed(process, before, text);
        let (known, of) = (&mut self.files[file], &mut self.processes[process]);
        known.content = Some(State::from_text(&text).ok_or(()));
        known.stamp += 1;
        of.seen[file] = Some(known.stamp);
        if known.content == Some(Err(())) {
            self.fail(|| format!("a file that is written cannot be read: {text}"));
        }
        if is_merged {
            self.count("merged");
        }
        self.saved(process, file);
        Ok(())
    }

    fn send(&mut self, process: usize, request: RequestId, entry: usize, path: &str) {
        let known = &self.processes[process];
        let (shape, life) = (known.shape.entries[entry].clone(), known.life);
        if ["/login", "/find", "/after"].iter().any(|start| path.starts_with(start)) {
            self.inquire(process, request, &shape, path);
            return;
        }
        let members = crate::endpoint::members(&shape, path);
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
        let flight = Flight { process, life, shift, entry: shape, members, sent, is_marked, is_settled: false, fate };
        self.flights.insert(number, flight);
    }

    /// A request goes out that is no update.
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

    fn answer(&mut self, number: u64) {
        let Some(inquiry) = self.inquiries.get_mut(&number) else { return };
        inquiry.facts = self.origins[inquiry.origin].answer(&inquiry.path, self.flaw == Flaw::OldAnswer);
    }

    fn answered(&mut self, number: u64) {
        let Some(Inquiry { process, request, origin, facts, retry_after, .. }) = self.inquiries.remove(&number) else {
            return;
        };
        // Nobody listens any more once it is to stop.
        if let Some(pause) = retry_after
            && self.processes[process].mode == Mode::Service
            && self.processes[process].closing.is_none()
        {
            let until = self.processes[process].pauses.entry(origin).or_default();
            *until = (*until).max(self.now + Duration::from_secs(pause));
        }
        self.feed(process, Event::Settled { request, facts });
    }

    fn apply(&mut self, number: u64) {
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
        let flight_cache = self.flights[&number].entry.cache;
        let shape = &self.shapes[self.processes[process].site];
        let (path, of) = (self.flights[&number].entry.path, self.flights[&number].entry.number);
        let is_former = shape.entries.iter().any(|entry| entry.number == of && entry.path != path);
        for (key, ip) in taken {
            let before = self.origins[key.0].has.insert((key.1, key.2), ip);
            self.origins[key.0].had.extend(before.map(|before| ((key.1, key.2), before)));
            let known = &self.processes[process];
            let used: Vec<usize> = match known.used.get(&key).filter(|_| known.life == life) {
                Some(files) => files.iter().copied().collect(),
                None => flight_cache.into_iter().collect(),
            };
            for file in used {
                // What another process writes to a cache that this one has left is not its business.
                if flight_cache == Some(file) || self.processes.len() == 1 {
                    self.files[file].applied.insert(key, ip);
                }
                // Nor what one of them sent by a callback that the others do not have any more.
                if is_former && self.processes.len() > 1 {
                    self.files[file].excused.insert(key, self.now);
                }
            }
        }
        for file in 0..self.files.len() {
            self.check_file(file);
        }
    }

    /// A request has ended for the process that sent it.
    fn end(&mut self, number: u64, request: RequestId) {
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
            _ => {}
        }
        self.settled(process, number);
        self.feed(process, Event::Settled { request, facts });
        self.check_settled(process, number);
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

    /// Until when another origin hangs, in a process that lets itself be held up by it.
    fn hung_until(&self, process: usize, entry: usize) -> Option<Duration> {
        let known = &self.processes[process];
        let origin = known.shape.entries[entry].origin;
        let open = known.requests.values().filter_map(|number| self.flights.get(number));
        let hung = open.filter(|flight| flight.entry.origin != origin && flight.fate.ends >= flight.entry.timeout());
        hung.map(|flight| flight.sent + flight.fate.ends).max()
    }

    /// Another address, or none. Services are told soon, or not at all.
    pub(crate) fn set_address(&mut self, family: Family, ip: Option<IpAddr>, is_told: bool) {
        self.address[family.index()] = ip;
        for process in 0..self.processes.len() {
            let to = (process, self.processes[process].life);
            let late = self.lookups.up_to(Duration::from_millis(20));
            if is_told {
                self.at(self.now + late, What::Changed { to, family });
            }
        }
    }

    /// Forgets what is long over.
    pub(crate) fn tidy(&mut self) {
        let now = self.now;
        self.flights.retain(|_, flight| now < flight.sent + flight.entry.timeout() * 2 + Duration::from_secs(300));
    }
}

impl Process {
    /// What its engine knows, as text: how long it is.
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
            begun: BTreeMap::new(),
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

/// Entries with the same sources share one lookup, the first of them names it.
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
