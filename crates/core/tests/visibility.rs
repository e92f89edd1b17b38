//! The engine with `verify`, in time that is not real: endpoints that accept, a DNS that shows what it likes (K2, K11 to K16, K22).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Timestamp;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::dns::{DnsObservation, DnsQuery, DnsServerKind, DnsVerdict, ServerAnswer};
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::engine::{Effect, Engine, Event, Facts, Mode, Now, Out, ResponseFacts};
use ddns_core::journal::What;
use ddns_core::schedule::limiter::AcceptQueue;

const HOME: &str = "203.0.113.7";
const OTHER: &str = "198.51.100.4";
const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// What the servers of a zone say.
fn zone(said: &[&[&str]]) -> DnsObservation {
    let server = |(number, ips): (usize, &&[&str])| ServerAnswer {
        server: format!("ns{number}.example.net"),
        said: Ok((ips.iter().map(|text| ip(text)).collect(), Some(300))),
    };
    DnsObservation { servers: said.iter().enumerate().map(server).collect(), way: DnsServerKind::Zone, why: None }
}

fn silence() -> DnsObservation {
    DnsObservation { servers: Vec::new(), way: DnsServerKind::Zone, why: Some("port 53 is blocked".to_owned()) }
}

/// A name, what DNS says at a time, and whether that is a drift.
type DriftCase = (&'static str, fn(u64) -> DnsObservation, bool);

/// What DNS says: the time, what is asked, and what the endpoint has.
type Dns = Box<dyn Fn(u64, &DnsQuery, IpAddr) -> DnsObservation>;

struct World {
    engine: Engine,
    out: Out,
    now: Duration,
    address: Option<IpAddr>,
    /// The response of the endpoint: its status and text.
    response: (u16, &'static str),
    dns: Dns,
    /// What the endpoint accepted, and what it was sent: when, and the address.
    accepted: Option<IpAddr>,
    sent: Vec<(u64, String)>,
    /// Who was asked when, about what.
    asked: Vec<(u64, DnsQuery)>,
    /// What was told.
    told: Vec<(u64, What)>,
    ended: bool,
}

impl World {
    fn new(mode: Mode, fields: &str, dns: impl Fn(u64, &DnsQuery, IpAddr) -> DnsObservation + 'static) -> Self {
        let text = format!(
            r#"{{"dns": "callback", "id": "http://127.0.0.1:9/?d=__DOMAIN__&ip=__IP__", "index4": "default",
                "cache_max_age": 31536000, "log": {{"level": "WARNING"}}, {fields}}}"#
        );
        Self::of(mode, &text, dns)
    }

    /// One with this configuration.
    fn of(mode: Mode, text: &str, dns: impl Fn(u64, &DnsQuery, IpAddr) -> DnsObservation + 'static) -> Self {
        let text = text.to_owned();
        let document = Rc::new(Document { name: "config.json".to_owned(), text, fetched: false });
        let written = raw::read(&document).expect("a configuration");
        let valid = validate("config.json", Some(written), &Surroundings::default()).expect("a valid one");
        let identity = ConfigIdentity { name: String::new(), is_file: false };
        let plan = Plan::new(Rc::new(vec![valid]), vec![identity], |_, _| StorePlace::Memory);
        Self {
            engine: Engine::new(Rc::new(plan), mode, 7, Self::at(Duration::ZERO)),
            out: Out::default(),
            now: Duration::ZERO,
            address: Some(ip(HOME)),
            response: (200, ""),
            dns: Box::new(dns),
            accepted: None,
            sent: Vec::new(),
            asked: Vec::new(),
            told: Vec::new(),
            ended: false,
        }
    }

    /// One domain.
    fn one(verify: &str, dns: impl Fn(u64, &DnsQuery, IpAddr) -> DnsObservation + 'static) -> Self {
        let more = format!(r#""ipv4": ["home.example.com"], "verify": {verify}"#);
        let mut world = Self::new(Mode::Service, &more, dns);
        world.on(Event::Begin);
        world
    }

    fn at(steady: Duration) -> Now {
        Now { steady, day: Timestamp { seconds: 1_763_170_000, micros: 0 } }
    }

    fn on(&mut self, event: Event) {
        let mut events = vec![event];
        while !events.is_empty() {
            for event in std::mem::take(&mut events) {
                self.engine.on(event, Self::at(self.now), &mut self.out);
            }
            while let Some(effect) = self.out.effects.pop_front() {
                events.extend(self.carry_out(effect));
            }
        }
        let now = self.now.as_secs();
        self.told.extend(self.out.journal.drain(..).map(|event| (now, event.what)));
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        let now = self.now.as_secs();
        match effect {
            Effect::LookUp { lookup, .. } => {
                let mut found = Lookup::default();
                let choice = self.address.map(|ip| Choice { ip, why: String::new() });
                found.add(&Source::Default, choice.ok_or_else(String::new), Duration::ZERO);
                Some(Event::LookedUp { lookup, found })
            }
            Effect::Send { request, message, .. } => {
                let sent = message.url.to_string();
                let address = sent.rsplit_once("ip=").expect("an address").1.to_owned();
                if self.response.0 == 200 {
                    self.accepted = Some(ip(&address));
                }
                self.sent.push((now, address));
                let facts = ResponseFacts {
                    status: self.response.0,
                    body: self.response.1.into(),
                    is_whole: true,
                    retry_after: None,
                    allow: None,
                    date: None,
                    via: None,
                    is_relayed: false,
                    line: AcceptQueue::Free,
                };
                Some(Event::Settled { request, facts: Facts::Response(Box::new(facts)) })
            }
            Effect::AskDns { round, dns_query } => {
                let observation = (self.dns)(now, &dns_query, self.accepted.expect("asked after acceptance"));
                self.asked.push((now, *dns_query));
                Some(Event::SeenInDns { round, observation, questions: [1, 0] })
            }
            Effect::Idle { .. } => {
                self.ended = true;
                None
            }
            _ => None,
        }
    }

    /// Until so many seconds have passed.
    fn run(&mut self, until: u64) -> &mut Self {
        let until = Duration::from_secs(until);
        while let Some(at) = self.engine.wake_at().filter(|at| *at <= until) {
            assert!(at > self.now || self.told.len() < 1_000_000, "it wakes for nothing");
            self.now = at.max(self.now);
            self.on(Event::Time);
        }
        self.now = until;
        self.on(Event::Time);
        self
    }

    fn asked_at(&self) -> Vec<u64> {
        self.asked.iter().map(|(at, _)| *at).collect()
    }

    /// What was told of DNS: when, and what.
    fn sights(&self) -> Vec<(u64, DnsVerdict)> {
        let visibility = |(at, what): &(u64, What)| match what {
            What::Visibility(visibility) => Some((*at, visibility.verdict)),
            _ => None,
        };
        self.told.iter().filter_map(visibility).collect()
    }

    fn dns_text(&self) -> String {
        self.engine.rows()[0].dns.as_ref().map(|dns| dns.text.clone()).unwrap_or_default()
    }
}

#[test]
fn k11_an_accepted_address_is_asked_about_until_it_is_visible() {
    let mut world = World::one("true", |now, _, _| zone(&[&[if now < 50 { OTHER } else { HOME }], &[HOME]]));
    world.run(30 * MINUTE);
    assert_eq!(world.asked_at(), [2, 5, 15, 45, 120]);
    assert!(world.asked.iter().all(|(_, dns_query)| dns_query.most == 4), "{:?}", world.asked);
    assert_eq!(world.sights(), [(120, DnsVerdict::Visible)]);
    assert_eq!(world.dns_text(), "visible (2 servers, TTL 300)");
    // Then once an hour, give or take a tenth, and one server.
    world.run(26 * HOUR);
    let idle = &world.asked[5..];
    assert!((22..=29).contains(&idle.len()), "{}", idle.len());
    assert!(idle.iter().all(|(_, dns_query)| dns_query.most == 1));
    assert_eq!(world.sent.len(), 1);
}

#[test]
fn k11_what_is_not_visible_in_time_is_reported_once() {
    let mut world = World::one("{\"within\": \"20m\"}", |_, _, _| zone(&[&[OTHER], &[OTHER]]));
    world.run(10);
    assert!(world.dns_text().starts_with("not yet (10 s): ns0"), "{}", world.dns_text());
    world.run(24 * MINUTE);
    let rounds = [2, 5, 15, 45, 120, 300, 600, 900, 1200];
    assert_eq!(world.asked_at(), rounds);
    assert_eq!(world.sights(), [(1200, DnsVerdict::NotVisible)]);
    // At the end of `within` all servers are asked.
    assert_eq!(world.asked.iter().map(|(_, dns_query)| dns_query.most).collect::<Vec<_>>()[7..], [4, 13]);
    world.run(5 * HOUR);
    assert_eq!(world.asked_at()[9..13], [1800, 3600, 7200, 14_400]);
    assert_eq!(world.sights(), [(1200, DnsVerdict::NotVisible), (1800, DnsVerdict::Drifted)]);
    assert_eq!(world.sent.len(), 1, "nobody asked for a repair");
    assert!(world.dns_text().ends_with("set \"proxied\": true in `verify`"), "{}", world.dns_text());
}

#[test]
fn k11_a_new_address_drops_the_old_question() {
    let mut world = World::one("true", |_, _, accepted| zone(&[&[&accepted.to_string()]]));
    world.run(3);
    world.address = Some(ip("203.0.113.8"));
    world.on(Event::Synchronize);
    world.run(MINUTE);
    assert_eq!(world.sent.last(), Some(&(3, "203.0.113.8".to_owned())));
    assert_eq!(world.asked_at(), [2, 5]);
    assert!(world.dns_text().contains("resolvers may keep the old address for 4 min"), "{}", world.dns_text());
    // Without an address nobody is asked, and what was asked is not forgotten.
    world.address = None;
    world.on(Event::Synchronize);
    world.run(4 * HOUR);
    assert_eq!(world.asked_at(), [2, 5]);
}

#[test]
fn k12_drift_takes_three_rounds_without_the_address_and_a_minute() {
    let cases: [DriftCase; 5] = [
        ("something else", |_| zone(&[&[OTHER], &[OTHER]]), true),
        ("no address", |_| zone(&[&[], &[]]), true),
        ("one of two", |_| zone(&[&[OTHER], &[HOME]]), false),
        ("nobody answers", |_| silence(), false),
        // Rotating subsets: every third round has it.
        ("in turn", |now| if now / 60 % 3 == 0 { zone(&[&[HOME]]) } else { zone(&[&[OTHER]]) }, false),
    ];
    for (name, then, has_drifted) in cases {
        let mut world =
            World::one("{\"every\": \"5m\"}", move |now, _, _| if now < 100 { zone(&[&[HOME]]) } else { then(now) });
        world.run(2 * HOUR);
        let sights = world.sights();
        assert_eq!(sights[0], (2, DnsVerdict::Visible), "{name}");
        assert_eq!(sights.get(1).map(|(_, verdict)| *verdict), has_drifted.then_some(DnsVerdict::Drifted), "{name}");
        assert_eq!(sights.len(), 1 + usize::from(has_drifted), "{name}: reported once");
        let misses: Vec<u64> = world.asked_at().into_iter().filter(|at| *at >= 100).collect();
        if has_drifted {
            // The idle round, the other servers at once, and two more a minute apart.
            assert_eq!((misses[1] - misses[0], misses[2] - misses[1], misses[3] - misses[2]), (0, 60, 60), "{name}");
            assert_eq!(sights[1].0, misses[3]);
        }
        assert_eq!(world.sent.len(), 1, "{name}");
    }
}

/// Where many names wait for a round, each is asked of one server, which may be the one that lags: a drift, a repair or a
/// report takes the others, too.
#[test]
fn k12_k14_one_stale_server_of_several_is_no_drift() {
    let domains: Vec<String> = (0..120).map(|number| format!("\"n{number}.example.com\"")).collect();
    let more = format!(r#""ipv4": [{}], "verify": {{"repair": true, "within": "1m"}}"#, domains.join(","));
    let mut world = World::new(Mode::Service, &more, |_, dns_query, _| {
        if dns_query.most == 1 { zone(&[&[OTHER]]) } else { zone(&[&[OTHER], &[HOME]]) }
    });
    world.on(Event::Begin);
    world.run(MINUTE - 1);
    assert!(world.asked.iter().any(|(_, dns_query)| dns_query.most == 1), "{:?}", world.asked);
    world.run(6 * HOUR);
    let texts: Vec<String> =
        world.engine.rows().iter().filter_map(|row| Some(row.dns.as_ref()?.text.clone())).collect();
    assert!(texts.iter().all(|text| text.starts_with("partly: ")), "{texts:?}");
    assert!(world.sights().iter().all(|(_, verdict)| *verdict == DnsVerdict::NotVisible), "{:?}", world.sights());
    assert_eq!(world.sent.len(), 120);
    // Nor is the resolver asked because one of several said nothing three times (K15, K17).
    let mut world = World::new(
        Mode::Service,
        &more,
        |_, dns_query, _| {
            if dns_query.most == 1 { silence() } else { zone(&[&[HOME]]) }
        },
    );
    world.on(Event::Begin);
    world.run(HOUR);
    assert!(world.asked.iter().all(|(_, dns_query)| dns_query.way == DnsServerKind::Zone));
    assert_eq!(world.sights().len(), 120);
}

/// Somebody changes the record at 100 s, and what is sent then is right for so many times.
fn drifting(verify: &str, effective: u32) -> World {
    let sends = Rc::new(Cell::new(0));
    let repaired = Rc::clone(&sends);
    let mut world = World::one(verify, move |now, _, _| {
        if now < 100 || repaired.get() > 0 && repaired.get() <= effective {
            zone(&[&[HOME]])
        } else {
            zone(&[&[OTHER]])
        }
    });
    for minute in 0..60 * 24 * 5 {
        world.run(minute * MINUTE);
        sends.set(u32::try_from(world.sent.len()).expect("few") - 1);
    }
    world
}

#[test]
fn k13_a_drifted_record_is_sent_again_where_the_user_wants_it() {
    let world = drifting("{\"repair\": true}", 99);
    assert_eq!(world.sent.len(), 2, "{:?}", world.sent);
    let verdicts: Vec<DnsVerdict> = world.sights().into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [DnsVerdict::Visible, DnsVerdict::Drifted, DnsVerdict::Visible]);
    let is_repair = |(_, what): &&(u64, What)| matches!(what, What::Settled(settled) if settled.is_repair);
    assert_eq!(world.told.iter().filter(is_repair).count(), 1);
    assert_eq!(drifting("true", 99).sent.len(), 1, "nobody asked for it");
}

#[test]
fn k13_after_three_repairs_without_effect_it_stops() {
    let world = drifting("{\"repair\": true, \"within\": \"10m\"}", 0);
    let times: Vec<u64> = world.sent.iter().map(|(at, _)| *at).collect();
    assert_eq!(times.len(), 4, "{times:?}");
    assert!(times[2] - times[1] >= HOUR && times[3] - times[2] >= 2 * HOUR, "{times:?}");
    assert!(world.dns_text().contains("somebody else sets it to 198.51.100.4"), "{}", world.dns_text());
}

#[test]
fn k13_where_the_same_other_address_comes_back_twice_it_stops() {
    let sends = Rc::new(Cell::new((0, 0)));
    let seen = Rc::clone(&sends);
    // Half an hour after each request somebody sets it back.
    let mut world = World::one("{\"repair\": true}", move |now, _, _| {
        let (_, last) = seen.get();
        if now < last + 30 * MINUTE { zone(&[&[HOME]]) } else { zone(&[&[OTHER]]) }
    });
    for minute in 0..60 * 24 * 10 {
        world.run(minute * MINUTE);
        sends.set((world.sent.len(), world.sent.last().map_or(0, |(at, _)| *at)));
    }
    assert_eq!(world.sent.len(), 3, "{:?}", world.sent);
    assert!(world.dns_text().contains("somebody else sets it to 198.51.100.4"), "{}", world.dns_text());
    // Another address is another matter.
    world.address = Some(ip("203.0.113.8"));
    world.on(Event::Synchronize);
    assert_eq!(world.sent.len(), 4);
}

#[test]
fn k13_whatever_holds_an_update_back_comes_first() {
    let dns = |now: u64, _: &DnsQuery, _: IpAddr| zone(&[&[if now < 100 { HOME } else { OTHER }]]);
    let more = r#""ipv4": ["home.example.com"], "verify": {"repair": true}, "min_interval": "12h""#;
    let mut world = World::new(Mode::Service, more, dns);
    world.on(Event::Begin);
    world.run(11 * HOUR);
    assert_eq!((world.sent.len(), world.sights().len()), (1, 2));
    world.run(14 * HOUR);
    assert_eq!(world.sent.len(), 2, "{:?}", world.sent);
    assert!(world.sent[1].0 >= 12 * HOUR);
    // A repair that fails is retried as any update.
    let mut world = World::one("{\"repair\": true}", dns);
    world.run(MINUTE);
    world.response = (503, "");
    world.run(80 * MINUTE);
    assert!(world.sent.len() > 3, "{:?}", world.sent);
    // The third time that the service says it has it, it is believed.
    let more = r#""ipv4": ["home.example.com"], "verify": {"repair": true, "within": "10m"}, "expect": "dyndns2""#;
    let mut world = World::new(Mode::Service, more, |_, _, _| zone(&[&[OTHER]]));
    world.response = (200, "nochg 203.0.113.7");
    world.on(Event::Begin);
    world.run(48 * HOUR);
    assert_eq!(world.sent.len(), 3, "{:?}", world.sent);
    // What may not be sent is asked about no more often than what is right.
    assert!(world.asked.len() < 110, "{}", world.asked.len());
}

/// The service has it already, and somebody else's servers are asked: it was asked every two seconds, for ever.
#[test]
fn k13_what_the_service_has_already_counts_as_a_repair_that_changed_nothing() {
    let more = r#""ipv4": ["home.example.com"], "verify": {"repair": true, "within": "10m"},
        "before": {"id": "http://127.0.0.1:9/records?ip=__IP__", "in": "/r", "same": {"/ip": "__IP__"}}"#;
    let mut world = World::new(Mode::Service, more, |_, _, _| zone(&[&[OTHER]]));
    world.response = (200, r#"{"r": [{"ip": "203.0.113.7"}]}"#);
    world.on(Event::Begin);
    world.run(48 * HOUR);
    assert!((2..6).contains(&world.sent.len()), "{:?}", world.sent);
    assert!(world.asked.len() < 200, "{}", world.asked.len());
    assert!(!world.told.iter().any(|(_, what)| matches!(what, What::Settled(settled) if settled.is_repair)));
}

/// Nothing that DNS says, and nothing that keeps a repair from being sent, makes a run fail.
#[test]
fn k2_what_drifted_and_may_not_be_sent_is_up_to_date() {
    let more = r#""ipv4": ["home.example.com"], "verify": {"repair": true}, "min_interval": "12h", "interval": "5m""#;
    let mut world = World::new(Mode::Service, more, |now, _, _| zone(&[&[if now < 100 { HOME } else { OTHER }]]));
    world.on(Event::Begin);
    world.run(3 * HOUR);
    assert!(world.dns_text().starts_with("drifted"), "{}", world.dns_text());
    assert_eq!(world.sent.len(), 1);
    assert_eq!(world.engine.tally().held_back, 0);
    assert!(!world.told.iter().any(|(_, what)| matches!(what, What::Held(_))));
}

/// Without a cache each round sends what is up to date: how long ago it was first accepted counts.
#[test]
fn k11_a_refresh_does_not_begin_anew() {
    let more = r#""ipv4": ["home.example.com"], "verify": true, "cache": false, "interval": "5m""#;
    let mut world = World::new(Mode::Service, more, |_, _, _| zone(&[&[OTHER], &[OTHER]]));
    world.on(Event::Begin);
    world.run(2 * HOUR);
    assert!(world.sent.len() > 20, "{}", world.sent.len());
    let verdicts: Vec<DnsVerdict> = world.sights().into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [DnsVerdict::NotVisible, DnsVerdict::Drifted]);
    assert!(world.told.iter().all(|(_, what)| !matches!(what, What::Settled(settled) if settled.is_repair)));
}

/// Of two endpoints of one name, each is judged as it wants to be.
#[test]
fn k14_two_endpoints_of_one_name_ask_once_and_each_is_judged_by_its_own_rules() {
    let entry = |path: &str, verify: &str| {
        format!(
            r#"{{"provider": "callback", "id": "http://127.0.0.1:9/{path}?ip=__IP__", "ipv4": ["home.example.com"],
                "index4": "default", "verify": {verify}}}"#
        )
    };
    let more =
        format!(r#""providers": [{}, {}]"#, entry("a", "true"), entry("b", r#"{"proxied": true, "repair": true}"#));
    let mut world = World::of(Mode::Service, &format!("{{{more}}}"), |_, _, _| zone(&[&["9.9.9.9"]]));
    world.on(Event::Begin);
    world.run(3);
    assert_eq!(world.asked_at(), [2]);
    world.run(2 * HOUR);
    let texts: Vec<String> =
        world.engine.rows().iter().filter_map(|row| Some(row.dns.as_ref()?.text.clone())).collect();
    assert!(texts[0].starts_with("drifted") && texts[1].starts_with("behind a proxy"), "{texts:?}");
    assert_eq!(world.sent.len(), 2);
}

/// However many endpoints have a record, and however often each wants to know of it.
#[test]
fn k14_at_rest_a_record_is_asked_about_once() {
    let entry = |path: &str, every: &str| {
        format!(
            r#"{{"provider": "callback", "id": "http://127.0.0.1:9/{path}?ip=__IP__", "ipv4": ["home.example.com"],
                "index4": "default", "verify": {{"every": "{every}"}}}}"#
        )
    };
    let more = format!(r#""providers": [{}, {}, {}]"#, entry("a", "1h"), entry("b", "1h"), entry("c", "3h"));
    let mut world =
        World::of(Mode::Service, &format!("{{{more}}}"), |_, _, accepted| zone(&[&[&accepted.to_string()]]));
    world.on(Event::Begin);
    world.run(48 * HOUR);
    assert!((40..=55).contains(&world.asked.len()), "{:?}", world.asked_at());
    assert_eq!(world.sights().len(), 3);
    // What is seen counts for all of them.
    world.dns = Box::new(|_, _, _| zone(&[&[OTHER]]));
    world.run(52 * HOUR);
    let drifted = world.sights().iter().filter(|(_, verdict)| *verdict == DnsVerdict::Drifted).count();
    assert_eq!(drifted, 3, "{:?}", world.sights());
}

/// A blip is no return of somebody else's address.
#[test]
fn k13_a_round_that_nobody_answers_is_no_return() {
    let sends = Rc::new(Cell::new(0));
    let seen = Rc::clone(&sends);
    let mut world = World::one("{\"repair\": true}", move |now, _, _| match now {
        _ if now < seen.get() + 30 * MINUTE => zone(&[&[HOME]]),
        _ if (now / HOUR).is_multiple_of(2) => silence(),
        _ => zone(&[&[OTHER]]),
    });
    for minute in 0..60 * 24 {
        world.run(minute * MINUTE);
        sends.set(world.sent.last().map_or(0, |(at, _)| *at));
    }
    assert_eq!(world.sent.len(), 3, "{:?}", world.sent);
}

#[test]
fn k14_ten_thousand_names_at_rest_take_ten_thousand_questions_a_day() {
    for (names, most) in [(100, 100 * 24 * 11 / 10 + 100), (10_000, 11_200)] {
        let domains: Vec<String> = (0..names).map(|number| format!("\"n{number}.example.com\"")).collect();
        let more = format!(r#""ipv4": [{}], "verify": true"#, domains.join(","));
        let mut world = World::new(Mode::Service, &more, |_, _, accepted| zone(&[&[&accepted.to_string()]]));
        world.on(Event::Begin);
        world.run(50 * MINUTE);
        let first = world.asked.len();
        assert_eq!(first, names, "each once after acceptance");
        if names > 100 {
            assert!(world.asked.iter().all(|(_, dns_query)| dns_query.most <= 4));
            let single = world.asked.iter().filter(|(_, dns_query)| dns_query.most == 1).count();
            assert!(single > names * 9 / 10, "{single}");
        }
        world.run(24 * HOUR + 50 * MINUTE);
        let idle = world.asked.len() - first;
        assert!(idle <= most && idle * 2 >= most.min(names * 24), "{idle} of {most}");
        let mut by_name: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (at, dns_query) in &world.asked {
            by_name.entry(&dns_query.name).or_default().push(*at);
        }
        assert_eq!(by_name.len(), names);
    }
}

#[test]
fn k15_where_nobody_answers_three_times_the_resolver_is_asked() {
    let mut world = World::one("true", |_, dns_query, _| match dns_query.way {
        DnsServerKind::Zone => silence(),
        DnsServerKind::Resolver => DnsObservation { way: DnsServerKind::Resolver, ..zone(&[&[HOME]]) },
    });
    world.run(10 * MINUTE);
    let ways: Vec<(u64, DnsServerKind)> = world.asked.iter().map(|(at, dns_query)| (*at, dns_query.way)).collect();
    let zone = DnsServerKind::Zone;
    // At 15 s it is too early for a resolver.
    assert_eq!(ways, [(2, zone), (5, zone), (15, zone), (45, zone), (45, DnsServerKind::Resolver)]);
    assert_eq!(world.dns_text(), "visible (by resolver, TTL 300)");
    // From then on it is asked in each round.
    world.run(6 * HOUR);
    assert_eq!(world.dns_text(), "visible (by resolver, TTL 300)");
    assert_eq!(world.sights().len(), 1);
    assert!(!world.told.iter().any(|(at, what)| *at > MINUTE && matches!(what, What::Said { .. })));
}

/// The zone's servers may answer long before the resolver forgets what it cached.
#[test]
fn k11_k15_what_a_resolver_has_cached_delays_no_round() {
    let by_resolver = |address: &'static str| {
        let said = Ok((vec![ip(address)], Some(86_400)));
        let servers = vec![ServerAnswer { server: "192.168.1.1".to_owned(), said }];
        DnsObservation { servers, way: DnsServerKind::Resolver, why: None }
    };
    let mut world = World::one("true", move |now, dns_query, _| match dns_query.way {
        DnsServerKind::Zone if now < 200 => silence(),
        DnsServerKind::Zone => zone(&[&[OTHER]]),
        DnsServerKind::Resolver => by_resolver(OTHER),
    });
    world.run(16 * MINUTE);
    assert_eq!(world.asked_at(), [2, 5, 15, 45, 45, 120, 300, 600, 900]);
    assert_eq!(world.sights(), [(900, DnsVerdict::NotVisible)]);
    let dns = move |_, dns_query: &DnsQuery, _| {
        if dns_query.way == DnsServerKind::Zone { silence() } else { by_resolver(HOME) }
    };
    let mut world = World::one("true", dns);
    world.run(23 * HOUR);
    let by_resolver = world.asked.iter().filter(|(_, dns_query)| dns_query.way == DnsServerKind::Resolver).count();
    assert!(by_resolver == 1 && world.asked.len() > 20, "{:?}", world.asked_at());
    assert_eq!(world.dns_text(), "visible (by resolver, TTL 86400)");
}

#[test]
fn k16_that_nobody_can_be_asked_is_said_once_an_hour() {
    let mut world = World::one("{\"every\": \"5m\"}", |_, _, _| silence());
    world.run(HOUR - 1);
    let said = |world: &World| world.told.iter().filter(|(_, what)| matches!(what, What::Said { .. })).count();
    assert_eq!(said(&world), 1);
    world.run(10 * HOUR);
    assert!((5..=10).contains(&said(&world)), "{}", said(&world));
    assert_eq!(world.sights(), []);
    assert!(world.dns_text().starts_with("unknown: port 53 is blocked"), "{}", world.dns_text());
}

#[test]
fn k2_asking_changes_nothing_about_updates() {
    let dns = |now: u64, _: &DnsQuery, _: IpAddr| match now / 97 % 4 {
        0 => zone(&[&[HOME]]),
        1 => zone(&[&[OTHER], &[OTHER]]),
        2 => silence(),
        _ => zone(&[&[OTHER], &[HOME]]),
    };
    let run = |verify: &str| {
        let more = format!(r#""ipv4": ["a.example.com", "b.example.com"], "interval": "5m", {verify}"#);
        let mut world = World::new(Mode::Service, &more, dns);
        world.on(Event::Begin);
        for step in 0_u64..300 {
            world.run(step * 301);
            world.response = if step % 7 == 3 { (503, "") } else { (200, "") };
            world.address =
                (step % 11 != 5).then(|| IpAddr::from([203, 0, 113, u8::try_from(step / 20).expect("few")]));
            if step % 13 == 1 {
                world.on(Event::Synchronize);
            }
        }
        (world.sent, world.asked.len())
    };
    let (without, unasked) = run(r#""verify": false"#);
    let (with, asked) = run(r#""verify": {"every": "5m"}"#);
    assert_eq!(unasked, 0);
    assert!(asked > 100, "{asked}");
    assert!(with.len() > 40, "{}", with.len());
    assert_eq!(with, without);
}

#[test]
fn k22_a_single_run_asks_what_is_due_and_waits_where_somebody_wants_it() {
    let more = r#""ipv4": ["home.example.com"], "verify": true"#;
    let mut world = World::new(Mode::Once, more, |_, _, _| zone(&[&[HOME]]));
    world.on(Event::Begin);
    assert!(world.ended && world.asked.is_empty(), "it does not wait for what is not due");
    // The last time is just before the end of what was asked for.
    for (late, asked) in [(10, vec![2, 5, 15]), (17, vec![2, 5, 15, 18]), (100, vec![2, 5, 15, 18])] {
        let more = r#""ipv4": ["home.example.com"], "cache": false"#;
        let mut world =
            World::new(Mode::Once, more, move |now, _, _| zone(&[&[if now < late { OTHER } else { HOME }]]));
        world.on(Event::WaitForDns(Duration::from_secs(20)));
        world.on(Event::Begin);
        assert!(!world.ended);
        world.run(MINUTE);
        assert!(world.ended);
        assert_eq!(world.asked_at(), asked);
        let said =
            world.told.iter().any(|(_, what)| matches!(what, What::Said { text, .. } if text.contains("not yet (")));
        assert_eq!((world.sights().len(), said), if late < 100 { (1, false) } else { (0, true) });
    }
}
