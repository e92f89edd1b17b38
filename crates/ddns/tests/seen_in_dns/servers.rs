//! K6, K7, K16: servers that are lame, silent, blocked or redirected, and packets that are no answers.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::names::{config, verified};
use crate::support::Sandbox;
use crate::support::dns_lab::{DnsLab, ODD, RESOLVER, SETUP, answer, odd_server, record};
use crate::support::tools::{inside, needed, sh, skipped};

const RIGHT: [u8; 4] = [203, 0, 113, 7];
const FALSE: [u8; 4] = [198, 51, 100, 66];

#[test]
fn k6_lame_and_silent_servers_say_nothing() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    let (report, code) = verified(&config(&json!(["a.half.test", "a.lame.test", "a.gone.test"])));
    assert_eq!(code, 3, "one is visible, of the others nothing can be told: {report:#?}");
    assert_eq!(report[0]["verdict"], "visible", "{report:#?}");
    assert!(report[0]["reason"].as_str().is_some_and(|why| why.contains("ns2.half.test: says REFUSED")), "{report:#?}");
    assert_eq!((&report[1]["verdict"], &report[1]["reason"]), (&json!("unknown"), &json!("ns.lame.test says REFUSED")));
    assert_eq!(
        (&report[2]["verdict"], &report[2]["reason"]),
        (&json!("unknown"), &json!("ns.gone.test cannot be reached"))
    );
    let sandbox = Sandbox::new().configure(&config(&json!("a.lame.test")));
    sandbox.run(&["verify", "--wide"]).expect(3).shows("unknown: ns.lame.test says REFUSED");
}

/// The wrong ones come first, from a server of the test's own; then the right one.
#[test]
fn k6_wrong_packets_are_passed_over() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    odd_server(|number, question| {
        let right = answer(question, [0x84, 0], &record(question, &RIGHT));
        let wrong = answer(question, [0x84, 0], &record(question, &FALSE));
        // The first try of each question is not answered at all.
        if number % 2 == 1 {
            return Vec::new();
        }
        let changed = |at: usize, byte: u8| {
            let mut packet = wrong.clone();
            packet[at] ^= byte;
            packet
        };
        let circle = answer(
            question,
            [0x84, 0],
            &[&[0xc0, u8::try_from(question.len()).expect("short")][..], &record(question, &FALSE)[2..]].concat(),
        );
        vec![
            changed(0, 0xff),
            changed(13, 0x01),
            changed(question.len() - 3, 0x1d),
            wrong[..wrong.len() - 2].to_vec(),
            wrong[..7].to_vec(),
            Vec::new(),
            circle,
            question.to_vec(),
            right,
        ]
    });
    let (report, code) = verified(&config(&json!(["a.odd.test"])));
    assert_eq!((code, &report[0]["verdict"]), (0, &json!("visible")), "{report:#?}");
}

#[test]
fn k7_an_answer_that_is_cut_off_over_tcp_too() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    odd_server(|_, question| vec![answer(question, [0x86, 0], &[])]);
    let (report, code) = verified(&config(&json!(["a.odd.test"])));
    assert_eq!((code, &report[0]["reason"]), (3, &json!("ns.odd.test: cuts its answer off")), "{report:#?}");
}

/// Packets to port 53 get lost, or end at the resolver, as some routers do it.
#[test]
fn k7_k15_k16_blocked_and_redirected() {
    let Some(()) = inside(SETUP) else { return };
    let Some(nft) = needed("nft") else { return };
    let Some(lab) = DnsLab::start() else { return };
    let rule = |rule: &str| Command::new(&nft).args(rule.split(' ')).output().expect("nft starts").status.success();
    if !rule("add table ip t") || !rule("add chain ip t out { type filter hook output priority 0 ; }") {
        return skipped("this kernel has no packet filter");
    }
    let outside = "ip saddr != 10.53.0.8 ip daddr 10.53.0.2-10.53.0.7";
    // Only TCP is left.
    assert!(rule(&format!("add rule ip t out {outside} udp dport 53 drop")));
    let (report, code) = verified(&config(&json!(["two.example.test"])));
    assert_eq!((code, &report[0]["verdict"]), (0, &json!("visible")), "{report:#?}");
    // Nothing is left but the resolver, which has a view of its own.
    assert!(rule(&format!("add rule ip t out {outside} tcp dport 53 drop")));
    let begun = Instant::now();
    let (report, code) = verified(&config(&json!(["two.example.test", "a.other.test"])));
    let why = "a.nic.test does not answer; port 53 is blocked, or the network or the server is down";
    assert_eq!((code, &report[0]["reason"]), (3, &json!(why)), "{report:#?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let mut asked = config(&json!(["a.other.test"]));
    asked["verify"] = json!({"ask": "resolver", "resolver": RESOLVER});
    let (report, code) = verified(&asked);
    assert_eq!((code, &report[0]["by"]), (0, &json!("resolver")), "{report:#?}");
    // After three rounds it is asked by itself; the fourth begins 45 s after the first, which takes too long for a test.
    sh("nft flush table ip t");
    if !rule("add chain ip t nat { type nat hook output priority -100 ; }") {
        return skipped("this kernel cannot redirect packets");
    }
    for protocol in ["udp", "tcp"] {
        assert!(rule(&format!("add rule ip t nat ip saddr != 10.53.0.8 {protocol} dport 53 dnat to {RESOLVER}")));
    }
    let (report, code) = verified(&config(&json!(["a.other.test"])));
    assert_eq!(code, 3, "{report:#?}");
    assert!(report[0]["reason"].as_str().is_some_and(|why| why.contains("port 53 is redirected")), "{report:#?}");
    drop(lab);
}

/// Case 32. BIND counts equal answers: different names pass, however fast, and what it drops is asked again, at last over TCP.
#[test]
fn k7_k14_a_servers_rate_limit_hides_nothing() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    let all_visible = |names: Vec<String>| {
        let (report, code) = verified(&config(&json!(names)));
        assert_eq!(code, 0, "{report:#?}");
        assert!(report.iter().all(|found| found["verdict"] == "visible"), "{report:#?}");
    };
    all_visible((0..60).map(|number| format!("n{number}.limited.test")).collect());
    assert!(!lab.log().contains("rate limit"), "{}", lab.log());
    // Answers out of one wildcard are equal to it.
    all_visible((0..30).map(|number| format!("n{number}.below.limited.test")).collect());
    assert!(lab.log().contains("rate limit"), "{}", lab.log());
}

/// Servers that the configuration names are asked in place of the zone's, whatever their port.
#[test]
fn k3_named_servers_take_the_place_of_the_zones() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    lab.set("home.example.test", "203.0.113.7");
    let mut named = config(&json!(["home.example.test"]));
    named["verify"] = json!({"server": ["10.53.0.3", "ns2.example.test:53"], "resolver": "10.53.0.9:53"});
    // The resolver does not know the second one: it has its own view of that zone.
    let (report, code) = verified(&named);
    assert_eq!((code, &report[0]["verdict"]), (0, &json!("visible")), "{report:#?}");
    assert!(
        report[0]["reason"].as_str().is_some_and(|why| why.contains("ns2.example.test: cannot be looked up")),
        "{report:#?}"
    );
    named["verify"] = json!({"server": ODD});
    assert_eq!(verified(&named).1, 3);
}
