//! What a response means: a status, a line of `expect` as JSON, and the bytes of a body; and what is remembered of it.
#![no_main]

use std::net::IpAddr;
use std::time::Duration;

use ddns_core::callback::expect::{Expect, ResponseVerdict, Meaning, suspicious};
use ddns_core::net::family::Family;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::hold::Hold;
use ddns_core::update::outcome::{Outcome, Why};
use ddns_core::update::state::{ClaimKey, Fingerprint, State};
use ddns_fuzz::configuration;
use libfuzzer_sys::fuzz_target;

const NOW: u64 = 1_763_170_000;
const MONTH: u64 = 31 * 86_400;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(3, |byte| *byte == b'\n').map(|part| (part, String::from_utf8_lossy(part)));
    let status = parts.next().and_then(|(_, text)| text.parse().ok()).unwrap_or(200);
    let expect = parts.next().and_then(|(_, text)| expect(&text));
    let body = parts.next().map(|(body, _)| body).unwrap_or_default();
    suspicious(body);
    let sent = Family::V4.documentation();
    for expect in expect.iter().chain([&Expect::Dyndns2]) {
        for domains in 1..4 {
            let judged = judge(expect, status, body, domains);
            assert!(judged.len() == 1 || judged.len() == domains);
            if !expect.needs_body() {
                assert_eq!(judged[0].verdict, judge(expect, status, b"", domains)[0].verdict);
            }
            for judgement in judged {
                check_accepted(expect, status, judgement.verdict);
                check_memory(status, judgement, sent);
            }
        }
    }
});

fn judge(expect: &Expect, status: u16, body: &[u8], domains: usize) -> Vec<ResponseVerdict> {
    expect.judge((status, body), (domains, &[Family::V4.documentation()]), true, &|found, wanted| found == wanted)
}

fn expect(text: &str) -> Option<Expect> {
    let text = format!(r#"{{"dns":"callback","ipv4":"a.example","id":"https://h.example/__IP__","expect":{text}}}"#);
    configuration(&text)?.entries.remove(0).callback.request.expect
}

/// Only a status of success is accepted, unless a condition names another.
fn check_accepted(expect: &Expect, status: u16, verdict: Meaning) {
    if matches!(verdict, Meaning::Accepted | Meaning::Unchanged) && !(200..300).contains(&status) {
        let Expect::Conditions(conditions) = expect else { panic!("{status} is accepted") };
        let mut accept = conditions.accept.iter().flatten();
        assert!(accept.any(|condition| condition.status.iter().any(|range| range.contains(&status))), "{status}");
    }
}

/// Whatever a service says, it is written to the cache and reads back, and holds an update back for a month at most.
fn check_memory(status: u16, judgement: ResponseVerdict, ip: IpAddr) {
    let words = judgement.words;
    let outcome = match judgement.verdict {
        Meaning::Accepted => Outcome::Accepted(status),
        Meaning::Unchanged => Outcome::Unchanged(status),
        Meaning::Rejected | Meaning::Forget | Meaning::Nothing => Outcome::Failed(Why::Response { status, words }),
        Meaning::Stopped { until_address, all } => Outcome::Stopped { status, words, until_address, all },
        Meaning::Wait(wait) => Outcome::Failed(Why::Wait { status, words, wait }),
    };
    let domain = Domain::parse("a.example").expect("a domain");
    let hold = Hold { sent: NOW, ..Hold::default() };
    let hold = hold.settled(&outcome, &Update { domain: &domain, family: Family::V4, ip }, true, NOW);
    assert!(hold.until(Duration::from_secs(60), NOW).is_none_or(|(until, _)| until <= NOW + MONTH));
    let mut state = State::new(vec![1]);
    state.set_hold(&ClaimKey { callback: Fingerprint::new([7; 16]), domain, family: Family::V4 }, hold);
    assert_eq!(State::from_text(&state.to_string()), Some(state));
}
