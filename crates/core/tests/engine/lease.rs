//! Hosts of a group (J): the holder of the lease sends, and its successor knows what it did. Here the lease is granted, lost and
//! handed back at random; `crates/group/tests/simulation` tests which member gets it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Timestamp;
use ddns_core::engine::plan::{Plan, StoreId, StorePlace};
use ddns_core::engine::{
    Effect, Engine, Event, Facts, LeaseEvent, LookupId, Mode, Note, Now, Out, RequestId, Term, Ticket,
};
use ddns_core::journal::UpdateState;
use ddns_core::net::family::Family;
use ddns_core::update::state::{Pair, State};

use crate::checks::name_of;
use crate::endpoint::{EndpointMode, Key, Origin, members};
use crate::number;
use crate::random::Random;
use crate::setup::{EntryShape, Shape, index};
use crate::world::BEGIN;

/// How long hosts lose the lease to each other, and then how long they have to recover.
const TROUBLE: Duration = Duration::from_secs(600);
const CALM: Duration = Duration::from_secs(900);

enum What {
    Wake(usize),
    Found(usize, LookupId, Family),
    /// The endpoint applies these addresses.
    Apply(Term, Vec<(Key, Option<IpAddr>)>),
    End(usize, Term, RequestId, Facts),
    Written(usize, u32, Term, StoreId, Ticket, Vec<Pair>),
    Address(usize, Family),
    EndpointMode(EndpointMode),
    Grant,
    /// The lease runs out. True: its holder learns this at once, otherwise later.
    RunOut(bool),
    Hear(usize, Term),
    Drain,
    /// The configuration is read again; nothing in it has changed.
    Reload(usize),
}

struct Host {
    engine: Engine,
    out: Out,
    address: [IpAddr; 2],
    plan: Rc<Plan>,
    /// How often the configuration was read again. Nobody hears how writes of before ended.
    reloads: u32,
    /// The term that the host believes to hold.
    term: Option<Term>,
    open: usize,
}

struct Group {
    now: Duration,
    random: Random,
    sequence: u64,
    heap: BTreeMap<(Duration, u64), What>,
    hosts: Vec<Host>,
    shape: EntryShape,
    origin: Origin,
    /// The state of the group, which only the holder may change.
    store: BTreeMap<String, String>,
    holder: Option<(usize, Term)>,
    last: Term,
    fresh: u8,
    sent: u64,
    /// The endpoint accepts addresses without applying them: the checks must find this.
    is_flawed: bool,
    wrong: Option<String>,
}

impl Group {
    fn new(seed: u64, is_flawed: bool) -> Self {
        let mut random = Random(seed ^ 0x001e_a5ed);
        let shape = EntryShape { cache: Some(0), max_age: 259_200, ..EntryShape::any(1, 1, 1, &mut random) };
        let entries = vec![shape.clone()];
        let plan = Shape { site: 0, interval: 60, concurrency: None, is_verified: true, entries }
            .plan_in(|_| StorePlace::Group("home".to_owned()));
        let count = 2 + random.below(2);
        let mut group = Self {
            now: Duration::ZERO,
            sequence: 0,
            heap: BTreeMap::new(),
            hosts: (0..count).map(|number| Host::new(&plan, seed ^ number)).collect(),
            shape,
            origin: Origin::new(seed),
            store: BTreeMap::new(),
            holder: None,
            last: 0,
            fresh: 10,
            sent: 0,
            is_flawed,
            wrong: None,
            random,
        };
        for host in 0..group.hosts.len() {
            group.feed(host, Event::Lease(LeaseEvent::Joined));
            group.feed(host, Event::Begin);
        }
        group.plan_trouble();
        group
    }

    fn plan_trouble(&mut self) {
        for second in (1..TROUBLE.as_secs()).step_by(2) {
            let at = Duration::from_secs(second) + self.random.up_to(Duration::from_secs(2));
            let host = index(&mut self.random, self.hosts.len());
            let family = Family::ALL[index(&mut self.random, 2)];
            let what = match self.random.below(24) {
                0..=2 => What::RunOut(true),
                3 | 4 => What::RunOut(false),
                5 => What::Drain,
                6..=8 => What::Address(host, family),
                9 => What::EndpointMode(EndpointMode::Any),
                10 => What::EndpointMode(EndpointMode::Good),
                11 => What::Reload(host),
                _ => What::Grant,
            };
            self.at(at, what);
        }
        for (seconds, what) in
            [(1, What::EndpointMode(EndpointMode::Good)), (2, What::Grant), (30, What::Grant), (60, What::Grant)]
        {
            self.at(TROUBLE + Duration::from_secs(seconds), what);
        }
        // The lease stays where it is now. Reloads come while the store is being written, and nothing else mends what they break.
        let begin = TROUBLE + Duration::from_secs(70);
        self.at(begin, What::EndpointMode(EndpointMode::Any));
        for host in 0..self.hosts.len() {
            for change in 0..20 {
                let at = begin + Duration::from_millis(500 * change);
                let what =
                    if change < 10 { What::Address(host, Family::V4) } else { What::EndpointMode(EndpointMode::Any) };
                self.at(at, what);
                let soon = self.random.up_to(Duration::from_millis(200));
                self.at(at + soon, What::Reload(host));
            }
        }
        self.at(begin + Duration::from_secs(20), What::EndpointMode(EndpointMode::Good));
    }

    fn at(&mut self, time: Duration, what: What) {
        self.sequence += 1;
        self.heap.insert((time, self.sequence), what);
    }

    fn fail(&mut self, text: impl FnOnce() -> String) {
        let now = self.now;
        self.wrong.get_or_insert_with(|| format!("at {now:?}: {}", text()));
    }

    fn run(&mut self) {
        while let Some(entry) = self.heap.first_entry().filter(|entry| entry.key().0 < TROUBLE + CALM) {
            let ((at, _), what) = entry.remove_entry();
            self.now = at;
            let is_new = matches!(what, What::Apply(..) | What::Written(..));
            self.happen(what);
            if is_new {
                self.check_store();
            }
            if self.wrong.is_some() {
                return;
            }
        }
        self.check_healed();
    }

    fn happen(&mut self, what: What) {
        match what {
            What::Wake(host) => {
                let now = self.now;
                let is_due = |engine: &Engine| engine.wake_at().is_some_and(|at| at <= now);
                if is_due(&self.hosts[host].engine) {
                    self.feed(host, Event::Time);
                    if is_due(&self.hosts[host].engine) {
                        self.fail(|| format!("L2: {host} is woken again and again"));
                    }
                }
            }
            What::Found(host, lookup, family) => {
                let mut found = Lookup::default();
                let ip = self.hosts[host].address[family.index()];
                found.add(&Source::Default, Ok(Choice { ip, why: String::new() }), Duration::ZERO);
                self.feed(host, Event::LookedUp { lookup, found });
            }
            // A request ends with its lease: it arrives before that, or not at all.
            What::Apply(term, taken) if self.holder.is_some_and(|(_, of)| of == term) => {
                self.origin.has.extend(taken.into_iter().map(|((_, name, family), ip)| ((name, family), ip)));
            }
            What::End(host, term, request, facts) => {
                self.hosts[host].open = self.hosts[host].open.saturating_sub(1);
                // A host without the lease ignores results (J3).
                if self.hosts[host].term == Some(term) && self.holder == Some((host, term)) {
                    self.feed(host, Event::Settled { request, facts });
                }
            }
            What::Written(host, reloads, term, store, upto, pairs) => {
                if self.holder == Some((host, term)) {
                    for (key, text) in pairs {
                        match text {
                            Some(text) => self.store.insert(key, text),
                            None => self.store.remove(&key),
                        };
                    }
                    if self.hosts[host].reloads == reloads {
                        self.feed(host, Event::Persisted { store, upto, result: Ok(()) });
                    }
                }
            }
            What::Address(host, family) => {
                self.fresh = self.fresh.wrapping_add(1).max(1);
                self.hosts[host].address[family.index()] = address(family, self.fresh);
                self.feed(host, Event::Network(family));
            }
            What::EndpointMode(mood) => self.origin.mood = mood,
            What::Grant => self.grant(),
            What::RunOut(is_told) => {
                if let Some((host, term)) = self.holder.take() {
                    let late = if is_told { Duration::ZERO } else { self.random.up_to(Duration::from_secs(5)) };
                    self.at(self.now + late, What::Hear(host, term));
                }
            }
            What::Hear(host, term) if self.hosts[host].term == Some(term) => {
                (self.hosts[host].term, self.hosts[host].open) = (None, 0);
                self.feed(host, Event::Lease(LeaseEvent::Lost));
            }
            What::Apply(..) | What::Hear(..) => {}
            What::Reload(host) => self.feed(host, Event::Reload(Rc::clone(&self.hosts[host].plan))),
            What::Drain => {
                if let Some((host, _)) = self.holder {
                    self.feed(host, Event::Lease(LeaseEvent::Draining));
                }
            }
        }
    }

    fn grant(&mut self) {
        let host = index(&mut self.random, self.hosts.len());
        if self.holder.is_some() || self.hosts[host].term.is_some() {
            return;
        }
        self.last += 1;
        let term = self.last;
        (self.holder, self.hosts[host].term) = (Some((host, term)), Some(term));
        let state = Box::new(self.remembered());
        self.feed(host, Event::Lease(LeaseEvent::Gained { term, state }));
    }

    fn remembered(&self) -> State {
        State::from_pairs(vec![7; 8], self.store.iter().map(|(key, text)| (key.as_str(), text.as_str())))
    }

    fn feed(&mut self, host: usize, event: Event) {
        let day = Timestamp { seconds: BEGIN + self.now.as_secs(), micros: self.now.subsec_micros() };
        let now = Now { steady: self.now, day };
        let known = &mut self.hosts[host];
        known.engine.on(event, now, &mut known.out);
        while let Some(effect) = self.hosts[host].out.effects.pop_front() {
            self.carry_out(host, effect);
        }
        self.hosts[host].out.journal.clear();
        if let Some(at) = self.hosts[host].engine.wake_at() {
            self.at(at.max(self.now), What::Wake(host));
        }
    }

    fn carry_out(&mut self, host: usize, effect: Effect) {
        let soon = |random: &mut Random| random.up_to(Duration::from_millis(50));
        match effect {
            Effect::LookUp { lookup, family, .. } => {
                let at = self.now + soon(&mut self.random);
                self.at(at, What::Found(host, lookup, family));
            }
            Effect::Persist { store, upto, .. } => {
                let known = &mut self.hosts[host];
                let Some(term) = known.engine.term() else { return };
                let pairs = known.engine.pairs(store);
                // Writes arrive in order.
                let written = What::Written(host, known.reloads, term, store, upto, pairs);
                self.at(self.now + Duration::from_millis(20), written);
            }
            Effect::Send { request, message, term, .. } => self.send(host, request, &message.url.path, term),
            Effect::Cancel => self.hosts[host].open = 0,
            Effect::Closed => {
                self.hosts[host].reloads += 1;
                self.feed(host, Event::Begin);
            }
            Effect::Tell(Note::Drained) => {
                if self.hosts[host].open > 0 {
                    self.fail(|| format!("S10: {host} gives the lease back while a request is under way"));
                }
                // The lease ends after the host's last write.
                if let Some((_, term)) = self.holder.filter(|(holder, _)| *holder == host) {
                    let at = self.now + Duration::from_millis(30);
                    self.at(at, What::RunOut(true));
                    self.at(at, What::Hear(host, term));
                }
            }
            _ => {}
        }
    }

    /// Sends an update. Checks S10, and S2 with the store of the group.
    fn send(&mut self, host: usize, request: RequestId, path: &str, term: Option<Term>) {
        let Some(term) = term.filter(|term| self.hosts[host].term == Some(*term)) else {
            return self.fail(|| format!("S10: {host} sends without the lease"));
        };
        // The lease ran out, but the host does not know yet: nothing leaves the host (J3).
        if self.holder != Some((host, term)) {
            return;
        }
        self.sent += 1;
        let members = members(&self.shape, path);
        let state = self.remembered();
        for (key, ip) in &members {
            let name = self.shape.name(key.1.1);
            let claims = |of: &ddns_core::update::state::ClaimKey| of.domain.as_str() == name && of.family == key.2;
            let claim = state.keys().find(claims).map(|key| state.entry(&key));
            let is_marked = claim.is_some_and(|claim| claim.in_doubt.is_some());
            if !is_marked && claim.is_some_and(|claim| claim.accepted.is_some()) {
                self.fail(|| format!("S2: {host} sends {key:?} {ip:?}, and the group takes {claim:?} for true"));
            }
        }
        let fate = self.origin.decide(&self.shape, &members);
        if let Some((at, taken)) = fate.applied {
            let taken = members.into_iter().zip(taken).filter(|(_, taken)| *taken && !self.is_flawed);
            self.at(self.now + at, What::Apply(term, taken.map(|(member, _)| member).collect()));
        }
        self.hosts[host].open += 1;
        self.at(self.now + fate.ends, What::End(host, term, request, fate.facts));
    }

    /// S3: the endpoint has what the store of the group claims.
    fn check_store(&mut self) {
        let state = self.remembered();
        for key in state.keys() {
            let claim = state.entry(&key);
            let has = self.origin.has.get(&(name_of(key.domain.as_str()), key.family)).copied().flatten();
            if let Some(accepted) = claim.accepted.filter(|_| claim.in_doubt.is_none())
                && has != Some(accepted.ip)
            {
                self.fail(|| format!("S3: the group takes {key:?} {claim:?} for true, and the endpoint has {has:?}"));
            }
        }
    }

    /// L1: in the end, the endpoint has the holder's addresses.
    fn check_healed(&mut self) {
        let Some((host, _)) = self.holder else { return self.fail(|| "L1: nobody holds the lease".to_owned()) };
        for row in self.hosts[host].engine.rows() {
            let family = if row.kind == "A" { Family::V4 } else { Family::V6 };
            let has = self.origin.has.get(&(name_of(&row.domain), family)).copied().flatten();
            let is_fine = row.state == UpdateState::UpToDate && has == Some(self.hosts[host].address[family.index()]);
            if !is_fine && row.state != UpdateState::Stopped {
                self.fail(|| format!("L1: {row:?}, and the endpoint has {has:?}"));
            }
        }
    }
}

impl Host {
    fn new(plan: &Rc<Plan>, seed: u64) -> Self {
        let now = Now { steady: Duration::ZERO, day: Timestamp { seconds: BEGIN, micros: 0 } };
        let number = u8::try_from(seed % 4).unwrap_or(0) + 1;
        Self {
            engine: Engine::new(Rc::clone(plan), Mode::Service, seed, now),
            out: Out::default(),
            address: Family::ALL.map(|family| address(family, number)),
            plan: Rc::clone(plan),
            reloads: 0,
            term: None,
            open: 0,
        }
    }
}

fn address(family: Family, number: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::from([11, 0, 0, number]),
        Family::V6 => IpAddr::from([0x2a00, 0, 0, 0, 0, 0, 0, u16::from(number)]),
    }
}

#[test]
fn j1_j3_only_the_holder_of_the_lease_sends_and_the_next_one_knows_what_it_did() {
    let play = |seed| {
        let mut group = Group::new(seed, false);
        group.run();
        assert_eq!(group.wrong, None, "DDNS_TEST_SEED={seed}");
        group.sent
    };
    if let Some(seed) = number("DDNS_TEST_SEED") {
        play(seed);
        return;
    }
    let count = number("DDNS_TEST_SCHEDULES").unwrap_or(300);
    let sent: u64 = (0..count).map(play).sum();
    assert!(sent > count * 10, "{sent} requests in {count} schedules");
}

#[test]
fn an_endpoint_that_lies_is_found_out() {
    let is_found = |seed| {
        let mut group = Group::new(seed, true);
        group.run();
        group.wrong.is_some()
    };
    assert!((0..20).any(is_found));
}
