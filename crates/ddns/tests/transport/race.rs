//! Section D, hosts with several addresses: one that leads nowhere costs a moment, and names that nobody resolves cost
//! no more than the limit.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::{home, with};
use crate::support::tools::{SILENT, hosts, inside, sh};
use crate::support::{Receiver, Sandbox};

#[test]
fn e2_an_address_that_leads_nowhere_costs_a_moment() {
    let Some(()) = inside(SILENT) else { return };
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    // Whichever family the system puts first, the silent address is among those that are tried before the last.
    hosts(&sandbox, "198.51.100.2 two.example.com\n2001:db8:1::2 two.example.com\n127.0.0.1 two.example.com");
    let id = format!("http://two.example.com:{}/hook", receiver.port());
    let begun = Instant::now();
    sandbox.sync(&with(&home(&id), &json!({"timeout": 20}))).expect(0);
    assert!(begun.elapsed() < Duration::from_secs(2), "took {:?}", begun.elapsed());
    assert_eq!(receiver.callbacks().len(), 1, "one request, however many addresses were tried");
}

#[test]
fn e2_every_address_that_was_tried_is_reported_within_the_limit() {
    let Some(()) = inside(SILENT) else { return };
    let sandbox = Sandbox::new();
    hosts(&sandbox, "198.51.100.2 two.example.com\n2001:db8:1::2 two.example.com\n127.0.0.1 two.example.com");
    let begun = Instant::now();
    let run = sandbox.sync(&with(&home("http://two.example.com:9/hook"), &json!({"timeout": 2}))).expect(1);
    assert!(begun.elapsed() < Duration::from_secs(3), "took {:?}", begun.elapsed());
    let run = run.prints("no connection to http://two.example.com:9 (").prints("127.0.0.1:9: connection refused");
    run.prints("198.51.100.2:9: no response within").prints("[2001:db8:1::2]:9: no response within");
}

#[test]
fn f4_the_other_family_is_asked_only_where_the_right_one_fails() {
    let Some(()) = inside(SILENT) else { return };
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    hosts(&sandbox, "2001:db8:1::2 two.example.com\n127.0.0.1 two.example.com");
    let source = format!("url:http://two.example.com:{}/ip6", receiver.port());
    let config = json!({"dns": "callback", "id": receiver.url("/hook?ip=__IP__"), "ipv6": "home.example.com",
        "index6": source, "timeout": 4});
    let begun = Instant::now();
    sandbox.sync(&config).expect(0);
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(1), "the right family gets its time: {took:?}");
    assert!(took < Duration::from_secs(4), "the other one is asked then: {took:?}");
    assert_eq!(receiver.only().target(), "/hook?ip=2001:db8::7");
}

#[test]
fn e2_a_stuck_lookup_is_shared_and_does_not_delay_the_end() {
    let Some(()) = inside("ip link set lo up") else { return };
    let sandbox = Sandbox::new();
    let resolver = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in the namespace");
    let file = sandbox.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n");
    sh(&format!("mount --bind {} /etc/resolv.conf", file.display()));
    let asked = thread::spawn(move || {
        let mut count = 0;
        resolver.set_read_timeout(Some(Duration::from_secs(3))).expect("a limit");
        while resolver.recv(&mut [0; 512]).is_ok() {
            count += 1;
        }
        count
    });
    let names: Vec<String> = (0..8).map(|number| format!("d{number}.example.com")).collect();
    let more = json!({"ipv4": names, "timeout": 1, "concurrency": 8});
    let begun = Instant::now();
    let run = sandbox.sync(&with(&home("http://slow.example.com/hook"), &more)).expect(1);
    assert!(begun.elapsed() < Duration::from_secs(3), "took {:?}", begun.elapsed());
    run.prints("the name slow.example.com could not be looked up within 0.9 s").prints("8 failed");
    let count = asked.join().expect("the resolver");
    assert!((1..=2).contains(&count), "one lookup, of one packet a family, for all: {count}");
}

/// That a name does not exist is asked once, however many updates go there one after another.
#[test]
fn e2_a_lookup_that_fails_is_remembered() {
    let Some(()) = inside("ip link set lo up") else { return };
    let sandbox = Sandbox::new();
    let resolver = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in the namespace");
    let file = sandbox.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n");
    sh(&format!("mount --bind {} /etc/resolv.conf", file.display()));
    let asked = thread::spawn(move || {
        let (mut count, mut packet) = (0, [0; 512]);
        resolver.set_read_timeout(Some(Duration::from_secs(3))).expect("a limit");
        while let Ok((length, from)) = resolver.recv_from(&mut packet) {
            // The question as a response: there is no such name.
            (packet[2], packet[3]) = (0x81, 0x83);
            resolver.send_to(&packet[..length], from).expect("a response");
            count += 1;
        }
        count
    });
    let names: Vec<String> = (0..8).map(|number| format!("d{number}.example.com")).collect();
    let more = json!({"ipv4": names, "timeout": 5, "concurrency": 1});
    let run = sandbox.sync(&with(&home("http://missing.example.com/hook"), &more)).expect(1);
    run.prints("the name missing.example.com cannot be looked up").prints("8 failed");
    let count = asked.join().expect("the resolver");
    assert!((1..=2).contains(&count), "one lookup, of one packet a family, for all: {count}");
}
