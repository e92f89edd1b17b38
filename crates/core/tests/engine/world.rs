//! The simulated world: processes, cache files, endpoints, addresses and time.

mod files;
mod processes;
mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;
use std::time::Duration;

use ddns_core::dns::DnsObservation;
use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Engine, Event, LookupId, Mode, Out, RequestId, RoundId};
use ddns_core::net::family::Family;
use ddns_core::update::state::State;

use crate::endpoint::{Flight, Inquiry, Key, Origin};
use crate::faults::Fault;
use crate::flaws::Flaw;
use crate::random::Random;
use crate::setup::Shape;

/// The system time at the start, in seconds since the epoch.
pub(crate) const BEGIN: u64 = 1_763_170_000;

/// Something that happens at a time.
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
    /// An endpoint reads a request around an update, and decides the answer.
    Answer {
        inquiry: u64,
    },
    Answered {
        inquiry: u64,
    },
    /// A delayed request is sent.
    SendLate {
        to: (usize, u32),
        request: RequestId,
        entry: usize,
        path: String,
    },
    /// A round of DNS questions ends.
    Seen {
        to: (usize, u32),
        round: RoundId,
        observation: DnsObservation,
    },
    /// A file is checked that could not be written.
    Check {
        to: (usize, u32),
        file: usize,
    },
    /// A single run ends.
    Finish {
        to: (usize, u32),
    },
}

/// The condition of a cache file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    /// The file cannot be written, but removed.
    Full,
    /// The file can be neither written nor removed.
    ReadOnly,
    /// Somebody else holds the lock of the file.
    Locked,
}

#[derive(Debug)]
pub(crate) struct CacheFile {
    /// `None`: the file does not exist. `Err`: it is damaged.
    pub(crate) content: Option<Result<State, ()>>,
    /// Changes with the content.
    pub(crate) stamp: u64,
    pub(crate) health: Health,
    pub(crate) kept: Option<State>,
    /// When the file last lost its content, or could not be written.
    pub(crate) lost: Option<Duration>,
    /// Claims that may be wrong without any process knowing it, because a former file was put back; with the time.
    pub(crate) excused: BTreeMap<Key, Duration>,
    /// The addresses that endpoints last applied from processes on this cache.
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
    /// The stamp of each file that the process has read or written.
    seen: Vec<Option<u64>>,
    pub(crate) offset: Duration,
    /// How wrong the system time was when the process started, in seconds. It does not read the time again.
    pub(crate) shift: i64,
    paused_until: Duration,
    wake: Option<Duration>,
    /// After how many effects the process is killed.
    pub(crate) kill_in: Option<u64>,
    pub(crate) closing: Option<Duration>,
    /// The result of the last lookup, by entry and family.
    pub(crate) observed: BTreeMap<(usize, Family), Option<IpAddr>>,
    /// By entry and family: the last lookup that began, the last whose result was used, and whether a result was left out since.
    looked_up: BTreeMap<(usize, Family), (LookupId, LookupId, bool)>,
    /// The files in which the process remembered an update.
    pub(crate) used: BTreeMap<Key, BTreeSet<usize>>,
    /// Until when an origin asked for no requests.
    pub(crate) pauses: BTreeMap<usize, Duration>,
    /// In strict order: the place of the update that was sent last. `None` after any event other than a response with status 200.
    pub(crate) last_place: Option<(usize, usize, usize)>,
    /// Whether such an event came while updates were queued.
    pub(crate) is_mixed: bool,
    /// How often in a row the process was woken in vain.
    idle_wakes: u32,
    pub(crate) wakes: u64,
    pub(crate) ended: Option<u8>,
    pub(crate) started: Duration,
    /// The last pause: from when, until when.
    pub(crate) paused: Option<(Duration, Duration)>,
}

pub(crate) struct World {
    pub(crate) now: Duration,
    sequence: u64,
    heap: BTreeMap<(Duration, u64), What>,
    pub(crate) processes: Vec<Process>,
    pub(crate) files: Vec<CacheFile>,
    pub(crate) origins: Vec<Origin>,
    /// Running requests around updates.
    pub(crate) inquiries: BTreeMap<u64, Inquiry>,
    pub(crate) flights: BTreeMap<u64, Flight>,
    /// The flights of each update.
    flights_of: BTreeMap<Key, Vec<u64>>,
    last_flight: u64,
    pub(crate) address: [Option<IpAddr>; 2],
    /// The addresses before these.
    pub(crate) former: [Option<IpAddr>; 2],
    fresh: u32,
    /// How wrong the system time is, in seconds.
    pub(crate) shift: i64,
    /// Updates that an endpoint applied after the time limit, or twice: no process can know what the endpoint has.
    pub(crate) unruly: BTreeSet<Key>,
    pub(crate) shapes: Vec<Rc<Shape>>,
    /// Every configuration so far.
    pub(crate) all_shapes: Vec<(Rc<Shape>, Rc<Plan>)>,
    lookups: Random,
    seeds: Random,
    is_forcing: bool,
    has_slow_lookups: bool,
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
            flights_of: BTreeMap::new(),
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
            has_slow_lookups: seed % 8 == 4,
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

    /// Whether this is one of 1,024 events, for expensive checks.
    pub(crate) fn is_sampled(&self) -> bool {
        self.sequence.is_multiple_of(1024)
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

    /// Runs all events before `then`.
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
            | What::Check { to, .. }
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
                self.feed(process, Event::Network(family));
            }
            What::Seen { to: (process, _), round, observation } => {
                self.feed(process, Event::SeenInDns { round, observation, questions: [1, 0] });
            }
            What::Apply { flight } => self.apply(flight),
            What::Finish { to: (process, _) } => {
                self.feed(process, Event::Save);
                self.kill(process);
            }
            What::Check { file, .. } => self.check_file(file, None),
            What::End { flight, request } => self.end(flight, request),
            What::Answer { inquiry } => self.answer(inquiry),
            What::Answered { inquiry } => self.answered(inquiry),
            What::SendLate { to: (process, _), request, entry, path } => self.send(process, request, entry, &path),
        }
    }

    /// Sets or removes the address of the hosts. Processes are told soon, or not at all.
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

    /// Forgets old flights.
    pub(crate) fn tidy(&mut self) {
        let now = self.now;
        self.flights.retain(|_, flight| now < flight.sent + flight.entry.timeout() * 2 + Duration::from_secs(300));
        self.flights_of.retain(|_, flights| {
            flights.retain(|number| self.flights.contains_key(number));
            !flights.is_empty()
        });
    }
}
