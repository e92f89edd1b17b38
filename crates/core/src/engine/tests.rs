//! Orders of events that no server can be made to bring about: lookups that overtake each other, addresses that change
//! while an update is being sent.

use crate::address::observation::Choice;
use crate::address::source::Source;
use crate::config::raw::{self, Document};
use crate::config::validate::{Surroundings, validate};
use crate::engine::plan::{ConfigIdentity, StorePlace};
use crate::schedule::limiter::Line;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::outcome::Outcome;
use crate::update::plan::{Reason, Verdict};

use super::*;

/// A service that remembers in memory, and whoever drives it.
struct Rig {
    engine: Engine,
    out: Out,
    now: Now,
}

/// A lookup that was begun.
type Begun = (LookupId, usize, Family);

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

impl Rig {
    fn new(concurrency: &str, domains: &str) -> Self {
        let text = format!(
            r#"{{"dns": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "concurrency": {concurrency},
                "index4": "default", "index6": "default", {domains}, "log": {{"level": "CRITICAL"}}}}"#
        );
        let document = Rc::new(Document { name: "config.json".to_owned(), text, fetched: false });
        let written = raw::read(&document).expect("a configuration");
        let valid = validate("config.json", Some(written), &Surroundings::default()).expect("a valid one");
        let identity = ConfigIdentity { name: String::new(), is_file: false };
        let plan = Plan::new(Rc::new(vec![valid]), vec![identity], |_, _| StorePlace::Memory);
        let now = Now { steady: Duration::from_secs(1), day: Timestamp { seconds: 1_763_170_000, micros: 0 } };
        Self { engine: Engine::new(Rc::new(plan), Mode::Service, 7, now), out: Out::default(), now }
    }

    /// The effects of an event.
    fn on(&mut self, event: Event) -> Vec<Effect> {
        self.now.steady += Duration::from_millis(1);
        self.engine.on(event, self.now, &mut self.out);
        self.out.effects.drain(..).collect()
    }

    /// The lookups that an event begins.
    fn begin(&mut self, event: Event) -> Vec<Begun> {
        let begun = |effect| match effect {
            Effect::LookUp { lookup, entry, family } => Some((lookup, entry, family)),
            _ => None,
        };
        self.on(event).into_iter().filter_map(begun).collect()
    }

    /// Ends a lookup with an address, or without one. The requests that are sent then, and the addresses in them.
    fn looked_up(&mut self, lookup: LookupId, found: Option<&str>) -> Vec<(RequestId, String)> {
        let result = found.map(|found| Choice { ip: ip(found), why: String::new() }).ok_or_else(String::new);
        let mut found = Lookup::default();
        found.add(&Source::Default, result, Duration::ZERO);
        sent(self.on(Event::LookedUp { lookup, found }))
    }

    /// Ends a request. Those that are sent then.
    fn settled(&mut self, request: RequestId, status: u16) -> Vec<(RequestId, String)> {
        let response = ResponseFacts {
            status,
            body: Vec::new(),
            is_whole: true,
            retry_after: None,
            allow: None,
            via: None,
            is_relayed: false,
            line: Line::Free,
        };
        sent(self.on(Event::Settled { request, facts: Facts::Response(Box::new(response)) }))
    }

    fn journal(&mut self) -> Vec<What> {
        self.out.journal.drain(..).map(|happened| happened.what).collect()
    }
}

fn sent(effects: Vec<Effect>) -> Vec<(RequestId, String)> {
    let sent = |effect| match effect {
        Effect::Send { request, message, .. } => Some((request, message.url.to_string())),
        _ => None,
    };
    effects.into_iter().filter_map(sent).collect()
}

#[test]
fn an_older_result_that_comes_last_does_not_hold_the_newer_one_back() {
    for concurrency in ["1", "\"auto\""] {
        let mut rig = Rig::new(concurrency, r#""ipv4": ["a.example"]"#);
        let (older, _, _) = rig.begin(Event::Begin)[0];
        let (newer, _, _) = rig.begin(Event::Synchronize)[0];
        let mut sent = rig.looked_up(newer, Some("203.0.113.2"));
        sent.extend(rig.looked_up(older, Some("203.0.113.1")));
        assert_eq!(sent.len(), 1, "{concurrency}");
        assert!(sent[0].1.ends_with("?ip=203.0.113.2"), "{}", sent[0].1);
    }
}

/// One entry has the address in its host, so that its origin is another one with every change; the other has not.
#[test]
fn origins_of_former_addresses_are_forgotten_and_others_are_not() {
    let providers = r#""providers": [
        {"provider": "callback", "id": "http://__IP__/", "ipv4": "a.example"},
        {"provider": "callback", "ipv4": "b.example"}]"#;
    let mut rig = Rig::new("\"auto\"", providers);
    let mut lanes = [HashSet::new(), HashSet::new()];
    rig.begin(Event::Begin);
    for number in 1..1000 {
        let (lookup, _, _) = rig.begin(Event::Synchronize)[0];
        let found = format!("203.0.{}.{}", number / 200, number % 200 + 1);
        for (request, _) in rig.looked_up(lookup, Some(&found)) {
            let (id, lane) = rig.engine.requests[&request].start;
            lanes[id as usize].insert(lane);
            rig.settled(request, 200);
        }
    }
    assert!((2..100).contains(&lanes[0].len()), "{} lanes", lanes[0].len());
    assert_eq!(lanes[1].len(), 1);
    assert!(lanes[0].is_disjoint(&lanes[1]));
}

#[test]
fn in_strict_order_a_family_that_is_gone_does_not_hold_the_other_back() {
    let mut rig = Rig::new("1", r#""ipv4": ["a.example", "b.example"], "ipv6": ["a.example"]"#);
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Begin)[..] else { panic!("two lookups") };
    assert!(rig.looked_up(v4, Some("203.0.113.1")).is_empty(), "nothing begins before all of it is known");
    let sent = rig.looked_up(v6, Some("2001:db8::1"));
    assert_eq!((sent.len(), rig.engine.to_send()), (1, 3));
    // The next round finds no IPv4 address; the one under way ends while IPv6 is still looked up.
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Synchronize)[..] else { panic!("two lookups") };
    assert!(rig.looked_up(v4, None).is_empty());
    let mut next = rig.settled(sent[0].0, 200);
    next.extend(rig.looked_up(v6, Some("2001:db8::1")));
    assert!(next.iter().any(|(_, url)| url.ends_with("?ip=2001:db8::1")), "{next:?}");
}

#[test]
fn e4_what_is_replaced_while_it_is_being_sent_does_not_count_as_up_to_date() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"]"#);
    let domain = Domain::parse("a.example").expect("a domain");
    let first = Update { domain: &domain, family: Family::V4, ip: ip("203.0.113.1") };
    let (lookup, ..) = rig.begin(Event::Begin)[0];
    let sent = rig.looked_up(lookup, Some("203.0.113.1"));
    let (lookup, ..) = rig.begin(Event::Synchronize)[0];
    assert!(rig.looked_up(lookup, Some("203.0.113.2")).is_empty(), "one at a time");
    assert_eq!(rig.settled(sent[0].0, 200).len(), 1, "the newer address follows");
    // Were it killed now, and the host back at the first address, that must be sent again.
    assert_eq!(rig.engine.judge(0, &first), Verdict::Send(Reason::InDoubt(ip("203.0.113.2"))));
}

#[test]
fn a_service_that_closes_starts_nothing_and_loses_nothing() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example", "b.example"]"#);
    let (lookup, ..) = rig.begin(Event::Begin)[0];
    assert!(rig.on(Event::Stop).iter().any(|effect| matches!(effect, Effect::Closed)));
    assert!(rig.looked_up(lookup, Some("203.0.113.1")).is_empty());
    assert_eq!(rig.engine.to_send(), 2);
}

#[test]
fn i4_what_happens_to_an_address_is_reported_once() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"]"#);
    rig.begin(Event::Begin);
    let mut look_up = |found| {
        let (lookup, ..) = rig.begin(Event::Synchronize)[0];
        for (request, _) in rig.looked_up(lookup, found) {
            rig.settled(request, 200);
        }
        let is_settled = |what: &What| matches!(what, What::Settled(_));
        rig.journal().into_iter().filter(|what| !is_settled(what)).collect::<Vec<What>>()
    };
    let address = |new, previous: Option<&str>, was_missing| What::Address {
        entries: vec![0],
        family: Family::V4,
        ip: ip(new),
        previous: previous.map(ip),
        source: "default".to_owned(),
        was_missing,
    };
    for _ in 0..3 {
        assert_eq!(look_up(Some("203.0.113.1")), [], "the first one of all is no change");
    }
    assert_eq!(look_up(Some("203.0.113.2")), [address("203.0.113.2", Some("203.0.113.1"), false)]);
    let (entries, family, source) = (vec![0], Family::V4, "default".to_owned());
    let failed = |is_repeat| What::SourceFailed {
        entries: entries.clone(),
        family,
        source: source.clone(),
        why: String::new(),
        is_repeat,
    };
    let none = What::NoAddress { entries: entries.clone(), family, previous: Some(ip("203.0.113.2")) };
    assert_eq!(look_up(None), [failed(false), none]);
    assert_eq!(look_up(None), [failed(true)]);
    let recovered = What::SourceRecovered { entries: entries.clone(), family, source: source.clone() };
    assert_eq!(look_up(Some("203.0.113.2")), [recovered, address("203.0.113.2", Some("203.0.113.2"), true)]);
}

#[test]
fn i4_an_outcome_is_reported_with_what_was_accepted_before_and_how_often_it_was_tried() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"]"#);
    let mut event = Event::Begin;
    let rounds =
        [("203.0.113.1", 503), ("203.0.113.1", 503), ("203.0.113.1", 500), ("203.0.113.1", 200), ("203.0.113.2", 204)];
    for (found, status) in rounds {
        let (lookup, ..) = rig.begin(std::mem::replace(&mut event, Event::Synchronize))[0];
        let sent = rig.looked_up(lookup, Some(found));
        assert_eq!(sent.len(), 1, "{found}");
        rig.settled(sent[0].0, status);
    }
    let mut seen = Vec::new();
    for what in rig.journal() {
        if let What::Settled(settled) = what {
            assert_eq!(settled.endpoint.as_deref(), Some("http://127.0.0.1:9"));
            seen.push((settled.outcome, settled.attempt, settled.is_repeat, settled.previous));
        }
    }
    let expected = [
        (Outcome::of_status(503), 1, false, None),
        (Outcome::of_status(503), 2, true, None),
        (Outcome::of_status(500), 3, false, None),
        (Outcome::Accepted(200), 4, false, None),
        (Outcome::Accepted(204), 1, false, Some(ip("203.0.113.1"))),
    ];
    assert_eq!(seen, expected);
}
