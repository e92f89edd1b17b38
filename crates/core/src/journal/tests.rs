use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::lease::role_change as group;
use crate::net::family::Family;
use crate::update::domain::Domain;
use crate::update::outcome::{Outcome, Why};

const NOW: u64 = 1_763_170_000;
const DAY: u64 = 86_400;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn settled(outcome: Outcome) -> Settled {
    Settled {
        about: About { entry: 0, domain: Domain::parse("home.example.com").expect("a domain"), family: Family::V4 },
        endpoint: Some("https://dns.example".into()),
        ip: ip("203.0.113.7"),
        previous: Some(ip("203.0.113.6")),
        is_repair: false,
        outcome,
        took: Duration::from_micros(12_999),
        attempt: 1,
        is_repeat: false,
        is_requested: false,
        retry_in: None,
        relay: None,
        allow: None,
    }
}

fn line(what: What) -> String {
    let mut out = String::new();
    RecordWriter::default().push(&mut out, &JournalEvent { at: NOW, what });
    out
}

fn role(kind: group::LeaseChange, why: Option<&str>) -> What {
    let (group, member) = ("home".to_owned(), "a".to_owned());
    What::Role(group::RoleChange { group, member, kind, why: why.map(str::to_owned) })
}

fn record(event: EventKind, at: u64) -> Record {
    let (domain, ip) = (Some("a.example".to_owned()), Some(ip("203.0.113.7")));
    Record { domain, address: ip, previous: ip, ..Record::new(at, event, Some(Family::V4)) }
}

#[test]
fn i4_what_happened_is_one_line_of_json() {
    let (entries, family) = (vec![0], Family::V6);
    let (domain, address) = (Domain::parse("bücher.example").expect("a domain"), ip("2001:db8::7"));
    let refused = Outcome::Failed(Why::Response { status: 200, words: "no \"host\"\n".to_owned() });
    let cases = [
        (
            What::Settled(settled(Outcome::Accepted(204))),
            r#"{"at":1763170000,"event":"accepted","type":"A","domain":"home.example.com","endpoint":"https://dns.example","address":"203.0.113.7","previous":"203.0.113.6","status":204,"ms":12}"#,
        ),
        (
            What::Settled(Settled { endpoint: None, previous: None, attempt: 3, ..settled(refused) }),
            r#"{"at":1763170000,"event":"failed","type":"A","domain":"home.example.com","address":"203.0.113.7","status":200,"ms":12,"attempt":3,"reason":"200: no \"host\"\n"}"#,
        ),
        (
            What::Settled(Settled { is_repair: true, endpoint: None, ..settled(Outcome::Accepted(204)) }),
            r#"{"at":1763170000,"event":"accepted","type":"A","domain":"home.example.com","address":"203.0.113.7","previous":"203.0.113.6","status":204,"ms":12,"reason":"drifted"}"#,
        ),
        (
            What::Held(Held {
                about: About { entry: 0, domain, family },
                ip: address,
                until: Some(NOW + 60),
                why: "it asked".to_owned(),
                is_repeat: false,
            }),
            r#"{"at":1763170000,"event":"held_back","type":"AAAA","domain":"bücher.example","address":"2001:db8::7","until":1763170060,"reason":"it asked"}"#,
        ),
        (
            What::Address {
                entries: entries.clone(),
                family,
                ip: address,
                previous: None,
                source: "default".to_owned(),
                was_missing: true,
            },
            r#"{"at":1763170000,"event":"address","type":"AAAA","address":"2001:db8::7","source":"default"}"#,
        ),
        (
            What::NoAddress { entries: entries.clone(), family, previous: Some(address) },
            r#"{"at":1763170000,"event":"no_address","type":"AAAA","previous":"2001:db8::7"}"#,
        ),
        (role(group::LeaseChange::TookOver, None), r#"{"at":1763170000,"event":"took_over","group":"home"}"#),
        (
            role(group::LeaseChange::Lost, Some("b holds it now")),
            r#"{"at":1763170000,"event":"lost","group":"home","reason":"b holds it now"}"#,
        ),
        (
            What::SourceRecovered { entries, family, source: "public".to_owned() },
            r#"{"at":1763170000,"event":"source_recovered","type":"AAAA","source":"public"}"#,
        ),
    ];
    for (what, expected) in cases {
        let line = line(what);
        assert_eq!(line, format!("{expected}\n"));
        assert_eq!(line.lines().count(), 1);
        let read = Record::from_line(&line).expect("a record");
        assert_eq!(read.to_line(), expected, "what is read back is the same");
    }
}

/// One line for each event, as the first version with that event wrote it.
const LINES: &str = r#"{"at":1763170000,"event":"accepted","type":"A","domain":"home.example.com","endpoint":"https://dns.example","address":"203.0.113.7","previous":"203.0.113.6","status":204,"ms":12}
{"at":1763170000,"event":"unchanged","type":"AAAA","domain":"bücher.example","endpoint":"https://dns.example","address":"2001:db8::7","status":200,"ms":3,"attempt":2}
{"at":1763170000,"event":"already_there","type":"A","domain":"home.example.com","address":"203.0.113.7","ms":0}
{"at":1763170000,"event":"made","type":"A","domain":"home.example.com","address":"203.0.113.7","status":201,"ms":9}
{"at":1763170000,"event":"failed","type":"A","domain":"home.example.com","address":"203.0.113.7","ms":30000,"attempt":4,"reason":"no response: \"a\"\n\u0001ü"}
{"at":1763170000,"event":"stopped","type":"A","domain":"home.example.com","endpoint":"https://dns.example","address":"203.0.113.7","status":200,"ms":7,"reason":"200: badauth"}
{"at":1763170000,"event":"held_back","type":"A","domain":"home.example.com","address":"203.0.113.7","until":1763170060,"reason":"it asked"}
{"at":1763170000,"event":"address","type":"A","address":"203.0.113.7","previous":"203.0.113.6","source":"public"}
{"at":1763170000,"event":"no_address","type":"AAAA","previous":"2001:db8::7"}
{"at":1763170000,"event":"source_failed","type":"A","source":"public","reason":"gone"}
{"at":1763170000,"event":"source_recovered","type":"A","source":"public"}
{"at":1763170000,"event":"visible","type":"A","domain":"home.example.com","address":"203.0.113.7","after":5,"ttl":300,"reason":"(2 servers, TTL 300)"}
{"at":1763170000,"event":"not_visible","type":"A","domain":"home.example.com","address":"203.0.113.7","after":900,"reason":"ns1.example.net has no address"}
{"at":1763170000,"event":"drifted","type":"A","domain":"home.example.com","address":"203.0.113.7","after":7200,"ttl":300,"reason":"ns1.example.net has 198.51.100.4"}
{"at":1763170000,"event":"took_over","group":"home"}
{"at":1763170000,"event":"gave_back","group":"home","reason":"this host has no address"}
{"at":1763170000,"event":"lost","group":"home","reason":"b holds it now"}"#;

fn events() -> Vec<EventKind> {
    LINES.lines().map(|line| Record::from_line(line).expect("a record").event).collect()
}

#[test]
fn i4_lines_of_a_former_version_are_read_and_written_as_they_are() {
    for line in LINES.lines() {
        assert_eq!(Record::from_line(line).map(|record| record.to_line()).as_deref(), Some(line));
    }
    assert_eq!(events(), EventKind::ALL, "one of each");
    for event in EventKind::ALL {
        assert_eq!(crate::text::own_json::line(&event), format!("\"{}\"", event.key()));
    }
}

#[test]
fn i4_lines_that_share_much_are_the_lines_they_were_alone() {
    let accepted = settled(Outcome::Accepted(204));
    let about = &accepted.about;
    let other = About { domain: Domain::parse("b\"\\.example").expect("a domain"), ..about.clone() };
    let all = [
        (NOW, accepted.clone()),
        (NOW, Settled { about: other, took: Duration::from_secs(3), ..accepted.clone() }),
        (NOW + 1, accepted.clone()),
        (NOW + 1, Settled { previous: None, ..accepted.clone() }),
        (NOW + 1, Settled { endpoint: None, ..accepted.clone() }),
        (
            NOW + 1,
            Settled { about: About { family: Family::V6, ..about.clone() }, ip: ip("2001:db8::1"), ..accepted.clone() },
        ),
        (NOW + 1, settled(Outcome::Unchanged(204))),
        (NOW + 1, settled(Outcome::Accepted(200))),
        (NOW + 1, Settled { attempt: 2, ..settled(Outcome::Accepted(200)) }),
        (NOW + 1, settled(Outcome::of_status(500))),
    ];
    let mut writer = RecordWriter::default();
    for (at, settled) in all {
        let event = JournalEvent { at, what: What::Settled(settled) };
        let (mut shared, mut alone) = (String::new(), String::new());
        writer.push(&mut shared, &event);
        RecordWriter::default().push(&mut alone, &event);
        assert_eq!(shared, alone);
        assert_eq!(Record::from_line(&shared).map(|record| record.to_line() + "\n"), Some(shared));
    }
}

#[test]
fn i4_tries_that_fail_alike_have_a_line_when_their_number_has_doubled() {
    let lines = |is_repeat| {
        let is_line = |attempt: &u32| {
            !line(What::Settled(Settled { attempt: *attempt, is_repeat, ..settled(Outcome::of_status(503)) }))
                .is_empty()
        };
        (1..=20).filter(is_line).collect::<Vec<u32>>()
    };
    assert_eq!(lines(true), [1, 2, 4, 8, 16]);
    assert_eq!(lines(false), (1..=20).collect::<Vec<u32>>());
    let (entries, family, source) = (vec![0], Family::V4, "public".to_owned());
    for is_repeat in [false, true] {
        let (entries, source) = (entries.clone(), source.clone());
        let failed = What::SourceFailed { entries, family, source, why: "gone".to_owned(), is_repeat };
        assert_eq!(line(failed).is_empty(), is_repeat);
    }
}

#[test]
fn i4_what_is_not_a_whole_record_is_left_out() {
    let whole = line(What::Settled(settled(Outcome::Accepted(200))));
    let whole = whole.trim_end();
    assert!(Record::from_line(whole).is_some());
    for end in 0..whole.len() {
        assert_eq!(Record::from_line(&whole[..end]), None, "{end}");
    }
    let odd = [
        "null",
        "[]",
        "{}",
        "{\"at\":-1,\"event\":\"failed\",\"type\":\"A\"}",
        "{\"at\":1,\"event\":\"moved\",\"type\":\"A\"}",
        "{\"at\":1,\"event\":\"failed\",\"type\":\"MX\"}",
        "{\"at\":1,\"event\":\"failed\"}",
    ];
    for line in odd {
        assert_eq!(Record::from_line(line), None, "{line}");
    }
    let newer = "{\"at\":1,\"event\":\"failed\",\"type\":\"A\",\"colour\":[1],\"status\":\"x\",\"ms\":99}";
    assert_eq!(Record::from_line(newer).map(|record| (record.status, record.took)), Some((None, Some(99))));
}

#[test]
fn i4_a_filter_takes_a_domain_a_time_and_a_kind() {
    let changed = Record { previous: None, ..record(EventKind::Accepted, NOW) };
    let address = Record { domain: None, ..record(EventKind::Address, NOW) };
    let of_group = |event| Record { domain: None, family: None, group: Some("home".to_owned()), ..record(event, NOW) };
    let all = [
        record(EventKind::Accepted, NOW - 10),
        changed,
        record(EventKind::Failed, NOW),
        record(EventKind::Stopped, NOW),
        address,
        of_group(EventKind::TookOver),
        of_group(EventKind::Lost),
    ];
    let taken = |filter: &Filter| {
        let is_taken = |at: &usize| filter.takes(&all[*at]);
        assert!((0..all.len()).filter(is_taken).all(|at| filter.may_take(&all[at].to_line())));
        (0..all.len()).filter(is_taken).collect::<Vec<_>>()
    };
    let kind = |kind| Filter { kind, ..Filter::default() };
    assert_eq!(taken(&Filter::default()), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(taken(&kind(RecordKind::Failed)), [2, 3, 6]);
    assert_eq!(taken(&kind(RecordKind::Group)), [5, 6]);
    assert_eq!(taken(&kind(RecordKind::Changed)), [1, 4]);
    assert_eq!(taken(&kind(RecordKind::Accepted)), [0, 1]);
    assert_eq!(taken(&Filter { since: NOW, ..kind(RecordKind::Accepted) }), [1]);
    assert_eq!(taken(&Filter { domain: Some("a.example".to_owned()), ..Filter::default() }), [0, 1, 2, 3]);
    assert_eq!(taken(&Filter { domain: Some("example".to_owned()), ..Filter::default() }), [0; 0]);
    assert_eq!(taken(&Filter { words: ".exam".to_owned(), ..kind(RecordKind::Accepted) }), [0, 1]);
    assert_eq!(taken(&Filter { words: "b.".to_owned(), ..Filter::default() }), [0; 0]);
    for kind in RecordKind::ALL {
        assert_eq!(RecordKind::parse(kind.key()), Some(kind));
    }
}

#[test]
fn i4_a_day_shows_its_worst_and_a_failure_lasts_until_it_is_over() {
    let mut days = Days::new(0);
    let today = NOW / DAY;
    let at = |ago: u64| (today - ago) * DAY + 3600;
    for (event, ago, previous) in [
        (EventKind::Accepted, 40, None),
        (EventKind::Accepted, 20, None),
        (EventKind::Failed, 12, Some("203.0.113.7")),
        (EventKind::Accepted, 9, None),
        (EventKind::Failed, 9, None),
        (EventKind::Stopped, 2, None),
    ] {
        days.take(&Record { previous: previous.map(ip), ..record(event, at(ago)) });
    }
    let strip = days.of("a.example", Family::V4, NOW);
    let shown: String = strip
        .iter()
        .map(|day| match (day.worst, day.is_change) {
            (None, _) => '?',
            (Some(EventKind::Accepted), false) => '.',
            (Some(EventKind::Accepted), true) => 'c',
            (Some(EventKind::Failed), false) => 'f',
            (Some(EventKind::Failed), true) => 'F',
            (Some(_), _) => 's',
        })
        .collect();
    assert_eq!(shown, ".........c.......fffFffffffsss");
    assert_eq!(shown.len(), DAYS);
    assert_eq!(days.of("b.example", Family::V4, NOW), [Day::default(); DAYS]);
    assert_eq!(days.of("a.example", Family::V6, NOW), [Day::default(); DAYS]);
    let later = days.of("a.example", Family::V4, NOW + 100 * DAY);
    assert!(later.iter().all(|day| *day == Day { worst: Some(EventKind::Stopped), is_change: false }));
}

#[test]
fn i4_a_day_begins_where_the_host_is() {
    let midnight = NOW / DAY * DAY;
    for (offset, ago) in [(0, 0), (3600, 0), (-3600, 1)] {
        let mut days = Days::new(offset);
        days.take(&record(EventKind::Accepted, midnight));
        let strip = days.of("a.example", Family::V4, midnight + DAY / 2);
        let first = strip.iter().position(|day| day.worst == Some(EventKind::Accepted)).expect("a day");
        assert_eq!(DAYS - 1 - first, ago, "{offset}");
    }
}

proptest! {
    /// Other programs may write to the file: nothing in it may make ddns panic.
    #[test]
    fn i4_any_records_make_a_strip(times in proptest::collection::vec((any::<u64>(), 0_usize..9), 0..20), now: u64, offset: i64) {
        let mut days = Days::new(offset);
        for (at, event) in times {
            days.take(&record(events()[event], at));
        }
        days.of("a.example", Family::V4, now);
    }

    #[test]
    fn i4_any_reason_reads_back(words in ".*", at: u64, took: u64) {
        let outcome = Outcome::Failed(Why::NoResponse { why: words.clone(), reached: false });
        let mut out = String::new();
        let settled = Settled { took: Duration::from_millis(took), ..settled(outcome) };
        RecordWriter::default().push(&mut out, &JournalEvent { at, what: What::Settled(settled) });
        prop_assert_eq!(out.matches('\n').count(), 1);
        let read = Record::from_line(&out).expect("a record");
        prop_assert_eq!((read.at, read.took), (at, Some(took)));
        prop_assert_eq!(read.reason, Some(words.chars().take(300).collect::<String>()));
    }
}
