//! Orders of events that no server can be made to bring about: lookups that overtake each other, addresses that change
//! while an update is being sent.

use std::rc::Rc;

use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::update::happened::What;
use ddns_core::update::plan::Reason;

use super::*;
use crate::http::Client;
use crate::lookup::Lookup;

/// Runs `check` on a service for one configuration without a cache file.
fn with(concurrency: &str, domains: &str, check: impl FnOnce(&mut Sync<'_>)) {
    let text = format!(
        r#"{{"dns": "callback", "id": "http://127.0.0.1:9/", "cache": false, "concurrency": {concurrency},
            "index4": "shell:true", "index6": "shell:true", {domains}, "log": {{"level": "CRITICAL"}}}}"#
    );
    let document = Rc::new(Document { name: "config.json".to_owned(), text, fetched: false });
    let written = raw::read(&document).expect("a configuration");
    let configs = [validate("config.json", Some(written), &Surroundings::default()).expect("a valid one")];
    let (environment, client) = (Environment::read(), Client::default());
    let logs = [crate::output::log::Log::open(&configs[0], &environment)];
    let senders = senders(&configs, &logs, &client);
    let mut sync = Sync::new(&senders, &environment, Some(Backoff { cap: Duration::from_secs(300) }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let _guard = runtime.enter();
    check(&mut sync);
}

fn finished(ip: Option<&str>, family: Family, number: u32) -> Finished {
    let result = match ip {
        Some(ip) => Ok(Choice { ip: ip.parse().expect("an address"), why: String::new() }),
        None => Err(String::new()),
    };
    let mut lookup = Lookup::default();
    lookup.add(&Source::Default, result, Duration::ZERO);
    Finished { lookup, family, senders: vec![(0, number)], is_round: false }
}

#[test]
fn an_older_result_that_comes_last_does_not_hold_the_newer_one_back() {
    for concurrency in ["1", "\"auto\""] {
        with(concurrency, r#""ipv4": ["a.example"]"#, |sync| {
            sync.look_up(&Due::everything(1));
            sync.look_up(&Due::everything(1));
            sync.looked_up(&finished(Some("203.0.113.2"), Family::V4, 2));
            sync.looked_up(&finished(Some("203.0.113.1"), Family::V4, 1));
            assert_eq!(sync.queue.open(), 1);
            let (_, update) = sync.updates.update(0).expect("an update");
            assert_eq!(update.ip.to_string(), "203.0.113.2");
        });
    }
}

/// One entry has the address in its host, so that its origin is another one with every change; the other has not.
#[test]
fn origins_of_former_addresses_are_forgotten_and_others_are_not() {
    let providers = r#""providers": [
        {"provider": "callback", "id": "http://__IP__/", "ipv4": "a.example"},
        {"provider": "callback", "ipv4": "b.example"}]"#;
    with("\"auto\"", providers, |sync| {
        let mut lanes = [HashSet::new(), HashSet::new()];
        for number in 1..1000 {
            sync.look_up(&Due::everything(1));
            let ip = format!("203.0.{}.{}", number / 200, number % 200 + 1);
            let both = vec![(0, number), (1, number)];
            sync.looked_up(&Finished { senders: both, ..finished(Some(&ip), Family::V4, number) });
            for start in std::iter::from_fn(|| sync.queue.start(steady_time())).collect::<Vec<_>>() {
                lanes[start.0 as usize].insert(start.1);
                let (_, update) = sync.updates.update(start.0).expect("an update");
                sync.sent(&Sent::of(vec![(start.0, update)], start, Outcome::Accepted(200)));
            }
        }
        assert!((2..100).contains(&lanes[0].len()), "{} lanes", lanes[0].len());
        assert_eq!(lanes[1].len(), 1);
        assert!(lanes[0].is_disjoint(&lanes[1]));
    });
}

#[test]
fn in_strict_order_a_family_that_is_gone_does_not_hold_the_other_back() {
    with("1", r#""ipv4": ["a.example", "b.example"], "ipv6": ["a.example"]"#, |sync| {
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(Some("203.0.113.1"), Family::V4, 1));
        sync.looked_up(&finished(Some("2001:db8::1"), Family::V6, 1));
        sync.start();
        assert_eq!((sync.sending.len(), sync.queue.open()), (1, 3));
        // The next round finds no IPv4 address; the one under way ends while IPv6 is still looked up.
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(None, Family::V4, 2));
        sync.sending.clear();
        let lane = sync.lanes[0].expect("a lane");
        sync.queue.finish((0, lane), &Outcome::Accepted(200), None, steady_time(), 0.5);
        sync.start();
        sync.looked_up(&finished(Some("2001:db8::1"), Family::V6, 2));
        sync.start();
        assert_eq!(sync.sending.len(), 1, "the IPv6 update is under way");
    });
}

#[test]
fn e4_what_is_replaced_while_it_is_being_sent_does_not_count_as_up_to_date() {
    with("\"auto\"", r#""ipv4": ["a.example"]"#, |sync| {
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(Some("203.0.113.1"), Family::V4, 1));
        let start = sync.queue.start(steady_time()).expect("a start");
        let (_, update) = sync.updates.update(0).expect("an update");
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(Some("203.0.113.2"), Family::V4, 2));
        sync.sent(&Sent::of(vec![(0, update)], start, Outcome::Accepted(200)));
        assert_eq!(sync.queue.open(), 1, "the newer address follows");
        assert!(matches!(sync.updates.judge(0, &update), Verdict::UpToDate(_)), "until the newer one is sent");
        sync.start();
        // Were it killed now, and the host back at the first address, that must be sent again.
        let newer = "203.0.113.2".parse().expect("an address");
        assert_eq!(sync.updates.judge(0, &update), Verdict::Send(Reason::InDoubt(newer)));
    });
}

#[test]
fn a_service_that_closes_starts_nothing_and_loses_nothing() {
    with("\"auto\"", r#""ipv4": ["a.example", "b.example"]"#, |sync| {
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(Some("203.0.113.1"), Family::V4, 1));
        sync.close();
        sync.start();
        assert_eq!((sync.sending.len(), sync.queue.open()), (0, 2));
    });
}

#[test]
fn i4_what_happens_is_reported_once_and_only_to_whoever_wants_it() {
    with("\"auto\"", r#""ipv4": ["a.example"]"#, |sync| {
        let mut number = 0;
        let mut look_up = |sync: &mut Sync<'_>, ip| {
            number += 1;
            sync.look_up(&Due::everything(1));
            sync.looked_up(&finished(ip, Family::V4, number));
            sync.take_news().into_iter().map(|happened| happened.what).collect::<Vec<What>>()
        };
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let address = |new, previous: Option<&str>, was_missing| What::Address {
            entries: vec![0],
            family: Family::V4,
            ip: ip(new),
            previous: previous.map(ip),
            source: "default".to_owned(),
            was_missing,
        };
        assert_eq!(look_up(sync, Some("203.0.113.1")), []);
        sync.collect_news();
        for _ in 0..2 {
            assert_eq!(look_up(sync, Some("203.0.113.1")), [], "it is no change");
        }
        assert_eq!(look_up(sync, Some("203.0.113.2")), [address("203.0.113.2", Some("203.0.113.1"), false)]);
        let (entries, family, source, why) = (vec![0], Family::V4, "default".to_owned(), String::new());
        let failed = |is_repeat| What::SourceFailed {
            entries: entries.clone(),
            family,
            source: source.clone(),
            why: why.clone(),
            is_repeat,
        };
        let none = What::NoAddress { entries: entries.clone(), family, previous: Some(ip("203.0.113.2")) };
        assert_eq!(look_up(sync, None), [failed(false), none]);
        assert_eq!(look_up(sync, None), [failed(true)]);
        let recovered = What::SourceRecovered { entries: entries.clone(), family, source: source.clone() };
        let again = address("203.0.113.2", Some("203.0.113.2"), true);
        assert_eq!(look_up(sync, Some("203.0.113.2")), [recovered, again]);
    });
}

#[test]
fn i4_an_outcome_is_reported_with_what_was_accepted_before_and_how_often_it_was_tried() {
    with("\"auto\"", r#""ipv4": ["a.example"]"#, |sync| {
        sync.collect_news();
        let mut seen = Vec::new();
        let outcomes = [Outcome::Refused(503), Outcome::Refused(503), Outcome::Refused(500), Outcome::Accepted(200)];
        for (number, (ip, outcome)) in (1..).zip(std::iter::repeat("203.0.113.1").zip(outcomes.clone())) {
            sync.look_up(&Due::everything(1));
            sync.looked_up(&finished(Some(ip), Family::V4, number));
            sync.retry_now(true);
            let start = sync.queue.start(steady_time()).expect("a start");
            let (_, update) = sync.updates.update(0).expect("an update");
            sync.sent(&Sent::of(vec![(0, update)], start, outcome));
        }
        sync.look_up(&Due::everything(1));
        sync.looked_up(&finished(Some("203.0.113.2"), Family::V4, 5));
        let start = sync.queue.start(steady_time()).expect("a start");
        let (_, update) = sync.updates.update(0).expect("an update");
        sync.sent(&Sent::of(vec![(0, update)], start, Outcome::Unchanged(200)));
        for happened in sync.take_news() {
            if let What::Settled(settled) = happened.what.clone() {
                assert_eq!(settled.endpoint.as_deref(), Some("http://127.0.0.1:9"));
                let previous = settled.previous.map(|ip| ip.to_string());
                seen.push((settled.outcome, settled.attempt, settled.is_repeat, previous));
            }
        }
        let [first, second, third, fourth] = outcomes;
        let before = Some("203.0.113.1".to_owned());
        assert_eq!(
            seen,
            [
                (first, 1, false, None),
                (second, 2, true, None),
                (third, 3, false, None),
                (fourth, 4, false, None),
                (Outcome::Unchanged(200), 1, false, before),
            ]
        );
    });
}
