//! A host that runs `ddns watch`: the engine with one IPv4 entry and a cache that always works. Lookups take no time.

use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Timestamp;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::engine::{Effect, Engine, Event, Facts, Mode, Now, Out, RequestId, ResponseFacts, Stored};
use ddns_core::schedule::limiter::AcceptQueue;
use ddns_core::text::diagnostic::Diagnostic;

use crate::random::Random;

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const MAX_AGE: Duration = Duration::from_secs(3 * 86_400);

/// The system time at the start, in seconds since the epoch.
pub(crate) const BEGIN: u64 = 1_763_170_000;

/// A request that is sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    number: RequestId,
    /// The number of its domain.
    pub(crate) domain: usize,
    pub(crate) ip: IpAddr,
}

#[derive(Debug)]
pub(crate) struct Host {
    engine: Engine,
    out: Out,
    has_file: bool,
    /// When the host starts. `None`: it has started.
    begins: Option<Duration>,
}

/// The configuration of a host with this many domains: `d0.example.com` and so on.
pub(crate) fn plan(domains: usize, interval: Duration) -> Rc<Plan> {
    let names: Vec<String> = (0..domains).map(|number| format!("\"d{number}.example.com\"")).collect();
    let text = format!(
        r#"{{"dns":"callback","id":"http://endpoint/__DOMAIN__/__IP__","ipv4":[{}],"ipv6":[],"interval":"{}s","timeout":{}}}"#,
        names.join(","),
        interval.as_secs(),
        TIMEOUT.as_secs()
    );
    let document = Document { name: "config.json".to_owned(), text, fetched: false };
    let written = raw::read(&Rc::new(document)).map_err(|error| vec![error]);
    let valid = written.and_then(|written| validate("config.json", Some(written), &Surroundings::default()));
    let valid = valid.unwrap_or_else(|wrong| panic!("{}", wrong.iter().map(Diagnostic::shown).collect::<String>()));
    let identity = ConfigIdentity { name: "config.json".to_owned(), is_file: true };
    Rc::new(Plan::new(Rc::new(vec![valid]), vec![identity], |_, _| StorePlace::File(PathBuf::from("cache"))))
}

impl Host {
    pub(crate) fn new(plan: &Rc<Plan>, now: Duration, random: &mut Random) -> Self {
        let engine = Engine::new(Rc::clone(plan), Mode::Service, random.number(), at(now));
        Self { engine, out: Out::default(), has_file: false, begins: Some(now) }
    }

    /// When to call [`Self::step`] again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.begins.or_else(|| self.engine.wake_at())
    }

    pub(crate) fn tell(&mut self, event: Event, now: Duration) {
        self.engine.on(event, at(now), &mut self.out);
        self.out.journal.clear();
    }

    /// Does what is due while the host has this address. Returns the requests that it sends.
    pub(crate) fn step(&mut self, address: Option<IpAddr>, now: Duration) -> Vec<Request> {
        if self.wake_at().is_some_and(|at| at <= now) {
            let event = if self.begins.take().is_some() { Event::Begin } else { Event::Time };
            self.tell(event, now);
        }
        let mut requests = Vec::new();
        while let Some(effect) = self.out.effects.pop_front() {
            match effect {
                Effect::LookUp { lookup, .. } => {
                    let mut found = Lookup::default();
                    let choice = address.map(|ip| Choice { ip, why: String::new() }).ok_or_else(String::new);
                    found.add(&Source::Default, choice, Duration::ZERO);
                    self.tell(Event::LookedUp { lookup, found }, now);
                }
                Effect::Read { store } => {
                    let stored = if self.has_file { Stored::Unchanged } else { Stored::Missing { salt: vec![1] } };
                    self.tell(Event::Read { store, stored }, now);
                }
                Effect::Persist { store, upto, .. } => {
                    self.has_file = true;
                    self.engine.text(store);
                    self.tell(Event::Persisted { store, upto, result: Ok(()) }, now);
                }
                Effect::Send { request: number, message, .. } => {
                    let (domain, ip) = message.url.path[1..].split_once('/').expect("a domain and an address");
                    let (label, _) = domain[1..].split_once('.').expect("a number");
                    let (domain, ip) = (label.parse().expect("a number"), ip.parse().expect("an address"));
                    requests.push(Request { number, domain, ip });
                }
                Effect::Begin | Effect::Idle { .. } => {}
                other => unreachable!("nobody ends it, and it is in no group: {other:?}"),
            }
        }
        requests
    }

    /// Tells the host how a request ended.
    pub(crate) fn ended(&mut self, request: &Request, facts: Facts, now: Duration) {
        self.tell(Event::Settled { request: request.number, facts }, now);
    }
}

pub(crate) fn response(status: u16, retry_after: Option<String>) -> Facts {
    Facts::Response(Box::new(ResponseFacts {
        status,
        body: Vec::new(),
        is_whole: true,
        retry_after,
        allow: None,
        date: None,
        via: None,
        is_relayed: false,
        line: AcceptQueue::Free,
    }))
}

/// No response came.
pub(crate) fn failure(reached: bool) -> Facts {
    Facts::Failed { why: String::new(), reached }
}

fn at(now: Duration) -> Now {
    Now { steady: now, day: Timestamp { seconds: clock(now), micros: now.subsec_micros() } }
}

pub(crate) fn clock(now: Duration) -> u64 {
    BEGIN + now.as_secs()
}
