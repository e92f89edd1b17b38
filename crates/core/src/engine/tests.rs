//! Sequences of events that no server can produce on demand: lookups that overtake each other, addresses that change while an
//! update is being sent.

use std::collections::HashSet;

use proptest::prelude::*;

use crate::address::observation::Choice;
use crate::address::source::Source;
use crate::config::raw::{self, Document};
use crate::config::validate::{Surroundings, validate};
use crate::config::{Cache, Entry};
use crate::engine::plan::{ConfigIdentity, StorePlace};
use crate::schedule::limiter::AcceptQueue;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::outcome::Outcome;
use crate::update::plan::{Reason, Verdict};
use crate::update::state::State;

use super::*;

/// A service that remembers in memory, and its driver.
struct Rig {
    engine: Engine,
    out: Out,
    now: Now,
}

/// A lookup that was started.
type Begun = (LookupId, usize, Family);

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

impl Rig {
    fn new(concurrency: &str, domains: &str) -> Self {
        Self::of(Mode::Service, concurrency, domains, |_| StorePlace::Memory)
    }

    fn of(mode: Mode, concurrency: &str, domains: &str, place: impl Fn(&Entry) -> StorePlace) -> Self {
        let text = format!(
            r#"{{"dns": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "concurrency": {concurrency},
                "index4": "default", "index6": "default", {domains}, "log": {{"level": "CRITICAL"}}}}"#
        );
        let document = Rc::new(Document { name: "config.json".to_owned(), text, fetched: false });
        let written = raw::read(&document).expect("a configuration");
        let valid = validate("config.json", Some(written), &Surroundings::default()).expect("a valid one");
        let identity = ConfigIdentity { name: String::new(), is_file: false };
        let plan = Plan::new(Rc::new(vec![valid]), vec![identity], |_, entry| place(entry));
        let now = Now { steady: Duration::from_secs(1), day: Timestamp { seconds: 1_763_170_000, micros: 0 } };
        Self { engine: Engine::new(Rc::new(plan), mode, 7, now), out: Out::default(), now }
    }

    /// Returns the effects of an event.
    fn on(&mut self, event: Event) -> Vec<Effect> {
        self.now.steady += Duration::from_millis(1);
        self.engine.on(event, self.now, &mut self.out);
        self.out.effects.drain(..).collect()
    }

    /// Returns the lookups that an event starts.
    fn begin(&mut self, event: Event) -> Vec<Begun> {
        let begun = |effect| match effect {
            Effect::LookUp { lookup, entry, family } => Some((lookup, entry, family)),
            _ => None,
        };
        self.on(event).into_iter().filter_map(begun).collect()
    }

    /// Ends a lookup with or without an address. Returns the requests that this sends, and their URLs.
    fn looked_up(&mut self, lookup: LookupId, found: Option<&str>) -> Vec<(RequestId, String)> {
        sent(self.on(Event::LookedUp { lookup, found: result(found) }))
    }

    /// Ends a request. Returns the requests that this sends.
    fn settled(&mut self, request: RequestId, status: u16) -> Vec<(RequestId, String)> {
        sent(self.on(Event::Settled { request, facts: responded(status) }))
    }

    /// Every lookup finds the same address, and every request is accepted. Returns how many were sent.
    fn all_accepted(&mut self, event: Event) -> usize {
        let effects = self.on(event);
        let lookups = looked_for(&effects);
        let mut all = sent(effects);
        all.extend(lookups.into_iter().flat_map(|lookup| self.looked_up(lookup, Some("203.0.113.1"))));
        for (request, _) in &all {
            assert_eq!(self.settled(*request, 200), []);
        }
        all.len()
    }

    fn journal(&mut self) -> Vec<What> {
        self.out.journal.drain(..).map(|happened| happened.what).collect()
    }
}

/// The result of a source.
fn result(found: Option<&str>) -> Lookup {
    let result = found.map(|found| Choice { ip: ip(found), why: String::new() }).ok_or_else(String::new);
    let mut found = Lookup::default();
    found.add(&Source::Default, result, Duration::ZERO);
    found
}

fn responded(status: u16) -> Facts {
    responded_with(status, "", None)
}

fn responded_with(status: u16, body: &str, retry_after: Option<&str>) -> Facts {
    let (body, line, retry_after) = (body.into(), AcceptQueue::Free, retry_after.map(str::to_owned));
    Facts::Response(Box::new(ResponseFacts {
        status,
        body,
        is_whole: true,
        retry_after,
        allow: None,
        date: None,
        via: None,
        is_relayed: false,
        line,
    }))
}

fn looked_for(effects: &[Effect]) -> Vec<LookupId> {
    let begun = |effect: &Effect| if let Effect::LookUp { lookup, .. } = effect { Some(*lookup) } else { None };
    effects.iter().filter_map(begun).collect()
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

/// Rounds wait for a slow lookup. If they replaced it, the next round would replace the new one, too, and ddns would never find
/// an address.
#[test]
fn a6_a_lookup_that_takes_longer_than_the_interval_counts() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"], "interval": "60s""#);
    let (slow, _, _) = rig.begin(Event::Begin)[0];
    for _ in 0..5 {
        rig.now.steady += Duration::from_secs(70);
        assert_eq!(rig.begin(Event::Time), [], "it is waited for");
    }
    assert_eq!(rig.looked_up(slow, Some("203.0.113.1")).len(), 1);
    rig.now.steady += Duration::from_secs(70);
    assert_eq!(rig.begin(Event::Time).len(), 1, "the next round looks up again");
}

/// Addresses that come and go, and a slow source: two lookups at once at most, and every second result counts.
#[test]
fn a6_what_changes_again_and_again_is_looked_up_and_sent() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"]"#);
    let mut under_way: VecDeque<LookupId> = rig.begin(Event::Begin).into_iter().map(|(lookup, ..)| lookup).collect();
    let mut results = Vec::new();
    for number in 0..20 {
        under_way.extend(rig.begin(Event::Synchronize).into_iter().map(|(lookup, ..)| lookup));
        assert!(under_way.len() <= 2, "{under_way:?}");
        if number % 3 == 2
            && let Some(lookup) = under_way.pop_front()
        {
            let effects = rig.on(Event::LookedUp { lookup, found: result(Some(&format!("203.0.113.{number}"))) });
            under_way.extend(looked_for(&effects));
            for (request, url) in sent(effects) {
                results.push(url);
                rig.settled(request, 200);
            }
        }
    }
    assert!(results.len() >= 3, "{results:?}");
    while let Some(lookup) = under_way.pop_front() {
        let effects = rig.on(Event::LookedUp { lookup, found: result(Some("203.0.113.99")) });
        under_way.extend(looked_for(&effects));
        results.extend(sent(effects).into_iter().map(|(_, url)| url));
    }
    assert!(results.last().is_some_and(|url| url.ends_with("203.0.113.99")), "{results:?}");
}

/// An update in a line whose endpoint works has not failed.
#[test]
fn i5_what_waits_for_its_turn_is_not_failing() {
    let mut rig = Rig::new("1", r#""ipv4": ["a.example", "b.example", "c.example"]"#);
    let (lookup, _, _) = rig.begin(Event::Begin)[0];
    let first = rig.looked_up(lookup, Some("203.0.113.1"));
    assert_eq!((first.len(), rig.engine.waiting(0).len()), (1, 0));
    let second = rig.settled(first[0].0, 500);
    let waiting: Vec<String> =
        rig.engine.waiting(0).into_iter().map(|(about, _)| about.domain.as_str().to_owned()).collect();
    assert_eq!((second.len(), waiting), (1, vec!["a.example".to_owned()]));
}

/// A mark must still be valid when its write ends: the next one lasts longer.
#[test]
fn e4_a_disk_that_takes_seconds_to_write_does_not_keep_updates_from_being_sent() {
    let place = |_: &Entry| StorePlace::File("cache.json".into());
    let mut rig = Rig::of(Mode::Once, "\"auto\"", r#""ipv4": ["a.example"]"#, place);
    let (lookup, ..) = rig.begin(Event::Begin)[0];
    let mut effects: VecDeque<Effect> = rig.on(Event::LookedUp { lookup, found: result(Some("203.0.113.1")) }).into();
    let mut requests = 0;
    for _ in 0..30 {
        let Some(effect) = effects.pop_front() else { break };
        let more = match effect {
            Effect::Read { store } => rig.on(Event::Read { store, stored: Stored::Missing { salt: vec![1; 8] } }),
            Effect::Persist { store, upto, .. } => {
                rig.now.steady += Duration::from_millis(4500);
                rig.on(Event::Persisted { store, upto, result: Ok(()) })
            }
            Effect::Send { .. } => {
                requests += 1;
                Vec::new()
            }
            _ => Vec::new(),
        };
        effects.extend(more);
    }
    assert_eq!((requests, effects.len()), (1, 0));
}

/// One entry has the address in its host, so its origin changes with the address; the other does not.
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
    // The next round finds no IPv4 address; the request under way ends while IPv6 is still being looked up.
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
    // If ddns were killed now, and the host returned to the first address, it would have to be sent again.
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

#[test]
fn h6_without_a_cache_each_round_sends_what_min_interval_does_not_hold_back() {
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"], "cache": false, "min_interval": "1h""#);
    let mut after = |seconds, event| {
        rig.now.steady += Duration::from_secs(seconds);
        rig.all_accepted(event)
    };
    assert_eq!(after(0, Event::Begin), 1);
    assert_eq!([300, 300, 2990].map(|seconds| after(seconds, Event::Synchronize)), [0, 0, 0]);
    // `min_interval` ends before the next round.
    assert_eq!(after(20, Event::Time), 1);
    assert_eq!(after(300, Event::Synchronize), 0);
    let is_repeat = |what| if let What::Held(held) = what { Some(held.is_repeat) } else { None };
    let held: Vec<bool> = rig.journal().into_iter().filter_map(is_repeat).collect();
    assert_eq!(held, [false, true, true, false]);
    let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"], "cache": false"#);
    let events = [Event::Begin, Event::Synchronize, Event::Synchronize];
    assert_eq!(events.map(|event| rig.all_accepted(event)), [1, 1, 1]);
    rig.on(Event::Network(Family::V4));
    rig.now.steady += Duration::from_secs(60);
    assert_eq!(rig.all_accepted(Event::Time), 0, "it did not change, and this is no round");
}

#[test]
fn h6_a_min_interval_ends_no_pause_and_forgets_no_failure() {
    for (retry_after, sent_in, most) in [(Some("60"), 60, 1), (None, 8, 8)] {
        let mut rig = Rig::new("\"auto\"", r#""ipv4": ["a.example"], "min_interval": "8s""#);
        let (lookup, ..) = rig.begin(Event::Begin)[0];
        let mut sent_at = Vec::new();
        let mut open = rig.looked_up(lookup, Some("203.0.113.1"));
        for second in 0..70 {
            for (request, _) in std::mem::take(&mut open) {
                sent_at.push(second);
                rig.on(Event::Settled { request, facts: responded_with(500, "", retry_after) });
            }
            rig.now.steady += Duration::from_secs(1);
            // The network changes every five seconds.
            let event = if second % 5 == 4 { Event::Network(Family::V4) } else { Event::Time };
            let effects = rig.on(event);
            let lookups = looked_for(&effects);
            open = sent(effects);
            open.extend(lookups.into_iter().flat_map(|lookup| rig.looked_up(lookup, Some("203.0.113.1"))));
        }
        let (last, first) = (sent_at.len(), sent_at.get(1).copied().unwrap_or(sent_in));
        assert!((1..=most).contains(&last) && first >= sent_in, "{retry_after:?}: {sent_at:?}");
        let journal = rig.journal();
        assert!(!journal.iter().any(|what| matches!(what, What::Held(_))), "{journal:?}");
        let settled =
            journal.into_iter().filter_map(|what| if let What::Settled(one) = what { Some(one) } else { None });
        for (number, (settled, at)) in settled.zip(&sent_at).enumerate() {
            assert_eq!(settled.attempt as usize, number + 1);
            let said = settled.retry_in.unwrap_or_default().as_secs();
            let then = sent_at.get(number + 1).map_or(said, |then| then - at);
            assert!(then.abs_diff(said) <= 2, "it says {said}, and it is {then}");
        }
    }
}

/// Two updates that need the same login.
const LOGIN: &str = r#""ipv4": ["a.example", "b.example"], "id": "http://127.0.0.1:9/__SESSION__/__DOMAIN__?ip=__IP__",
    "before": {"id": "/login", "secret": {"/session": "__SESSION__"}, "keep": "1h"},
    "expect": {"accept": {"status": 200}, "forget": {"status": 401}, "stop": {"status": 401}}"#;

#[test]
fn h22_an_update_that_waits_for_a_login_fails_by_nothing_but_a_login() {
    for retry_after in [None, Some("300")] {
        let mut rig = Rig::new("1", LOGIN);
        let (lookup, ..) = rig.begin(Event::Begin)[0];
        let [(login, _)] = rig.looked_up(lookup, Some("203.0.113.1"))[..] else { panic!("one login") };
        assert_eq!(sent(rig.on(Event::Settled { request: login, facts: responded_with(500, "", retry_after) })), []);
        let failed = |rig: &mut Rig| rig.journal().iter().filter(|what| matches!(what, What::Settled(_))).count();
        assert_eq!(failed(&mut rig), 2, "both need it");
        // The network comes and goes.
        for _ in 0..5 {
            let event = Event::Network(Family::V4);
            let [(lookup, ..)] = rig.begin(event)[..] else { continue };
            assert_eq!(rig.looked_up(lookup, Some("203.0.113.1")), []);
        }
        assert_eq!(failed(&mut rig), 0);
        // The user asks for it, but what the service asked for counts more.
        let (lookup, ..) = rig.begin(Event::Synchronize)[0];
        assert_eq!(rig.looked_up(lookup, Some("203.0.113.1")).len(), usize::from(retry_after.is_none()));
        assert_eq!(failed(&mut rig), 0);
    }
}

#[test]
fn h21_what_is_forgotten_is_not_taken_from_the_answer_that_others_share() {
    let mut rig = Rig::new("1", LOGIN);
    let (lookup, ..) = rig.begin(Event::Begin)[0];
    let [(login, _)] = rig.looked_up(lookup, Some("203.0.113.1"))[..] else { panic!("one login") };
    let facts = responded_with(200, r#"{"session": "old"}"#, None);
    let [(first, _)] = sent(rig.on(Event::Settled { request: login, facts }))[..] else { panic!("one update") };
    let [(second, _)] = rig.settled(first, 200)[..] else { panic!("the other") };
    assert_eq!(rig.settled(second, 401), [], "the session has ended meanwhile");
    rig.now.steady += Duration::from_secs(6);
    let again = sent(rig.on(Event::Time));
    assert_eq!(again.iter().map(|(_, url)| url.as_str()).collect::<Vec<_>>(), ["http://127.0.0.1:9/login"]);
}

#[test]
fn h7_a_preview_shows_what_goes_along() {
    let both = r#""ipv4": ["a.example"], "ipv6": ["a.example"], "combine": {"families": true},
        "id": "http://127.0.0.1:9/?a=__IPV4__&b=__IPV6__""#;
    let mut rig = Rig::new("\"auto\"", both);
    for (event, v6) in [(Event::Begin, "2001:db8::1"), (Event::Synchronize, "2001:db8::2")] {
        let [(first, ..), (second, ..)] = rig.begin(event)[..] else { panic!("two lookups") };
        rig.looked_up(first, Some("203.0.113.1"));
        let sent = rig.looked_up(second, Some(v6));
        if v6.ends_with('1') {
            rig.settled(sent[0].0, 200);
        } else {
            rig.on(Event::Settled { request: sent[0].0, facts: Facts::Failed { why: String::new(), reached: false } });
        }
    }
    let shown = rig.engine.previews(|_, _| true, 0, 9);
    let words: Vec<_> = shown.shown.iter().map(|one| (one.word(), one.sentence(0))).collect();
    let expected = [
        ("send", "would be sent: goes in one request with another update".to_owned()),
        ("send", "would be sent: changed from 2001:db8::1".to_owned()),
    ];
    assert_eq!((words.as_slice(), shown.due), (&expected[..], 2));
}

#[test]
fn h5_without_a_cache_what_is_stopped_is_not_sent_although_it_was_accepted_before() {
    let stops =
        r#""ipv4": ["a.example", "b.example"], "cache": false, "expect": {"stop": {"status": 403, "all": true}}"#;
    let mut rig = Rig::new("2", stops);
    assert_eq!(rig.all_accepted(Event::Begin), 2);
    let (lookup, ..) = rig.begin(Event::Synchronize)[0];
    let sent = rig.looked_up(lookup, Some("203.0.113.1"));
    rig.settled(sent[0].0, 403);
    // Nothing of the other update was sent: what was accepted before counts again.
    let facts = Facts::Failed { why: String::new(), reached: false };
    rig.on(Event::Settled { request: sent[1].0, facts });
    assert_eq!(rig.all_accepted(Event::Synchronize), 0);
}

#[test]
fn h7_a_request_is_shown_with_the_first_of_its_updates_that_has_an_address() {
    let both = r#""ipv4": ["a.example"], "ipv6": ["a.example"], "combine": {"families": true, "missing": ""},
        "id": "http://127.0.0.1:9/?a=__IPV4__&b=__IPV6__""#;
    for mode in [Mode::Service, Mode::Look] {
        for (v4, expected) in
            [(None, [(false, false), (true, false)]), (Some("203.0.113.1"), [(true, false), (true, true)])]
        {
            let mut rig = Rig::of(mode, "\"auto\"", both, |_| StorePlace::Memory);
            let [(first, ..), (second, ..)] = rig.begin(Event::Begin)[..] else { panic!("two lookups") };
            rig.looked_up(first, v4);
            rig.looked_up(second, Some("2001:db8::1"));
            let shown = rig.engine.previews(|_, _| true, 0, 9).shown;
            let shown: Vec<_> = shown.iter().map(|one| (one.redacted().is_some(), one.is_together)).collect();
            assert_eq!(shown, expected, "{mode:?} {v4:?}");
        }
    }
}

#[test]
fn h7_a_family_that_is_being_looked_up_is_waited_for() {
    let both = r#""ipv4": ["a.example"], "ipv6": ["a.example"], "combine": {"families": true},
        "id": "http://127.0.0.1:9/?a=__IPV4__&b=__IPV6__""#;
    let mut rig = Rig::new("\"auto\"", both);
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Begin)[..] else { panic!("two lookups") };
    assert_eq!(rig.looked_up(v4, Some("203.0.113.1")), []);
    let sent = rig.looked_up(v6, Some("2001:db8::1"));
    rig.settled(sent[0].0, 200);
    // Both change: no request may combine one with the former address of the other.
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Synchronize)[..] else { panic!("two lookups") };
    assert_eq!(rig.looked_up(v4, Some("203.0.113.2")), []);
    let sent = rig.looked_up(v6, Some("2001:db8::2"));
    assert_eq!(sent.len(), 1);
    assert!(sent[0].1.ends_with("a=203.0.113.2&b=2001:db8::2"), "{sent:?}");
    rig.settled(sent[0].0, 200);
    // A family that has lost its address is not sent with the former one, either.
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Synchronize)[..] else { panic!("two lookups") };
    assert_eq!(rig.looked_up(v4, Some("203.0.113.3")), []);
    assert_eq!(rig.looked_up(v6, None), []);
    // Nothing waits in vain for a lookup that ends late with a result that is not new.
    let [(v4, ..), (v6, ..)] = rig.begin(Event::Synchronize)[..] else { panic!("two lookups") };
    let [(newer_v4, ..), (newer_v6, ..)] = rig.begin(Event::Synchronize)[..] else { panic!("two lookups") };
    assert_eq!(rig.looked_up(newer_v4, Some("203.0.113.4")), []);
    assert_eq!(rig.looked_up(newer_v6, Some("2001:db8::4")), []);
    assert_eq!(rig.looked_up(v4, Some("203.0.113.3")), []);
    let sent = rig.looked_up(v6, None);
    assert!(sent[0].1.ends_with("a=203.0.113.4&b=2001:db8::4"), "{sent:?}");
}

/// Any event; its numbers often match something.
fn event() -> impl Strategy<Value = Event> {
    let number = 0..8_u64;
    let store = 0..4_usize;
    let address = prop_oneof![Just(None), Just(Some("203.0.113.1")), Just(Some("2001:db8::1"))];
    let state = || Box::new(State::new(vec![1]));
    let stored = (0..6).prop_map(move |kind| match kind {
        0 => Stored::Unchanged,
        1 => Stored::Missing { salt: vec![2] },
        2 => Stored::Known { state: state(), unwritable: None },
        3 => Stored::Known { state: state(), unwritable: Some("full".to_owned()) },
        4 => Stored::Damaged { salt: vec![3], why: "is damaged".to_owned(), moved: None },
        _ => Stored::Unfit("is a folder"),
    });
    let lease = (0..5).prop_map(move |kind| match kind {
        0 => LeaseEvent::Joined,
        1 => LeaseEvent::Left,
        2 => LeaseEvent::Gained { term: 1, state: state() },
        3 => LeaseEvent::Draining,
        _ => LeaseEvent::Lost,
    });
    let plain = (0..7).prop_map(|kind| match kind {
        0 => Event::Time,
        1 => Event::Stop,
        2 => Event::Save,
        3 => Event::Network(Family::V4),
        4 => Event::Synchronize,
        5 => Event::RetryStopped,
        _ => Event::Begin,
    });
    prop_oneof![
        plain,
        (number.clone(), address).prop_map(|(lookup, found)| Event::LookedUp { lookup, found: result(found) }),
        (number.clone(), 200..600_u16)
            .prop_map(|(request, status)| Event::Settled { request, facts: responded(status) }),
        (store.clone(), stored).prop_map(|(store, stored)| Event::Read { store, stored }),
        (store, number).prop_map(|(store, upto)| Event::Persisted { store, upto, result: Ok(()) }),
        lease.prop_map(Event::Lease),
    ]
}

const LOOKED_AT: &str = r#""providers": [
    {"provider": "callback", "ipv4": "a.example", "ipv6": "a.example"},
    {"provider": "callback", "ipv4": "b.example", "cache": false, "min_interval": 60},
    {"provider": "callback", "ipv4": "c.example", "ipv6": "c.example", "cache": "other.json", "combine": {"families": true},
        "id": "http://127.0.0.1:9/?a=__IPV4__&b=__IPV6__"}]"#;

proptest! {
    #[test]
    fn who_only_looks_never_sends_and_never_writes(events in prop::collection::vec(prop::option::of(event()), 1..40)) {
        let mut rig = Rig::of(Mode::Look, "\"auto\"", LOOKED_AT, |entry| match &entry.cache {
            Cache::Off => StorePlace::Memory,
            Cache::Standard => StorePlace::File("cache.json".into()),
            Cache::File(path) => StorePlace::File(path.into()),
        });
        for event in [Some(Event::Begin)].into_iter().chain(events) {
            let shown = format!("{event:?}");
            let effects = rig.on(event.unwrap_or_else(|| Event::Reload(Rc::clone(rig.engine.plan()))));
            let is_looking =
                |effect: &Effect| matches!(effect, Effect::Begin | Effect::LookUp { .. } | Effect::Read { .. });
            prop_assert!(effects.iter().all(is_looking), "{shown}: {effects:?}");
            prop_assert_eq!(rig.engine.wake_at(), None);
            prop_assert_eq!((rig.engine.rows().len(), rig.engine.to_send(), rig.journal().len()), (5, 0, 0));
        }
    }
}
