//! One of a group sends, and hands over.

use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::{LEASE, Member, TAKEN_OVER, two};
use crate::support::watching::{Endpoint, SOON, Watch, status, until};

#[test]
fn j1_one_of_two_sends_and_the_other_takes_over_at_once_when_it_ends() {
    let Some((etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    first.prints("holds the lease of group home: sending");
    assert_eq!(endpoint.wait(1, SOON).ip(), "203.0.113.1");
    let second = other.watch();
    second.prints("is on standby: one holds the lease of group home");

    let (holding, code) = status(&one.sandbox);
    assert_eq!((&holding["group"]["role"], code), (&json!("holder"), 0), "{holding:#}");
    let (standing, code) = status(&other.sandbox);
    assert_eq!(
        (&standing["group"]["role"], &standing["group"]["holder"], code),
        (&json!("stand-by"), &json!("one"), 0)
    );
    assert_eq!(standing["updates"][0]["state"], "stand_by", "{standing:#}");
    other.sandbox.run(&["sync", "-c", "config.json"]).expect(0).shows("is on standby: one holds the lease");
    assert_eq!(endpoint.count(), 1, "who stands by sends nothing");

    let log = first.stop();
    assert!(log.contains("gave the lease of group home back"), "{log}");
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.2");
    second.prints("holds the lease of group home: sending");
    let keys = etcd.control(&["get", "--prefix", "ddns/home/members/", "--keys-only"]);
    assert_eq!(keys.lines().filter(|line| !line.is_empty()).count(), 1, "who left is not a member: {keys}");
    second.stop();
}

#[test]
fn j1_when_the_holder_is_killed_the_other_sends_its_own_address_within_the_lease() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    first.signal(Signal::KILL);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    second.stop();
}

#[test]
fn j2_what_was_accepted_is_not_sent_again_by_the_next_holder() {
    // Both have the same address: two routers of one line.
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.1"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    first.stop();
    second.prints("holds the lease of group home: sending");
    until(SOON, "it knows that the address was accepted", || {
        let (status, _) = status(&other.sandbox);
        status["updates"][0]["state"] == "up_to_date"
    });
    assert_eq!(endpoint.ips(), ["203.0.113.1"]);
    // It goes on with what it took over.
    other.set_ip("203.0.113.9");
    second.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.9");
    second.stop();
}

#[test]
fn j2_a_host_with_a_callback_of_its_own_sends_again_after_another_did() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let own = other.single(&json!({"id": endpoint.receiver.url("/other?name=__DOMAIN__&ip=__IP__")}));
    one.sandbox.sync(&one.single(&json!({}))).expect(0);
    other.sandbox.sync(&own).expect(0);
    one.sandbox.sync(&one.single(&json!({}))).expect(0);
    one.sandbox.sync(&one.single(&json!({}))).expect(0);
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2", "203.0.113.1"]);
}

#[test]
fn j5_a_holder_without_an_address_gives_the_lease_to_a_host_that_has_one() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    one.set_ip("none");
    first.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    first.prints("is on standby: other holds the lease of group home");
    // It goes back when the other one ends.
    one.set_ip("203.0.113.3");
    first.signal(Signal::USR1);
    first.prints("address found again");
    second.stop();
    assert_eq!(endpoint.wait(3, SOON).ip(), "203.0.113.3");
    first.stop();
}

#[test]
fn j5_a_holder_that_reaches_no_endpoint_gives_the_lease_to_another() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let config = one.single(&json!({"interval": "1m", "id": "http://127.0.0.1:9/?name=__DOMAIN__&ip=__IP__"}));
    let first = Watch::start(&one.sandbox, &config);
    first.prints("holds the lease of group home: sending");
    let second = other.watch();
    assert_eq!(endpoint.wait(1, TAKEN_OVER).ip(), "203.0.113.2");
    first.prints("is on standby: other holds the lease of group home");
    second.stop();
    first.stop();
}

#[test]
fn j6_another_name_in_the_same_store_is_another_group() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let other = Member::new("other", "203.0.113.2", &etcd, &endpoint, &json!({"name": "office"}));
    let (first, second) = (one.watch(), other.watch());
    first.prints("holds the lease of group home: sending");
    second.prints("holds the lease of group office: sending");
    endpoint.wait(2, SOON);
    first.stop();
    second.stop();
}

#[test]
fn j1_a_reload_keeps_the_lease() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    let held = etcd.control(&["get", "ddns/home/holder", "-w", "fields"]);
    let config = one.single(&json!({"interval": "1m", "ipv4": ["home.example.com", "more.example.com"]}));
    one.sandbox.write("config.json", config.to_string());
    first.signal(Signal::HUP);
    assert_eq!(endpoint.wait(2, SOON).name(), "more.example.com");
    assert_eq!(first.lines_with("holds the lease"), 1, "{}", first.log());
    let created = |text: &str| text.lines().find(|line| line.contains("CreateRevision")).map(str::to_owned);
    assert_eq!(created(&etcd.control(&["get", "ddns/home/holder", "-w", "fields"])), created(&held));
    first.stop();
    assert_eq!(endpoint.count(), 2);
}

/// It must have been ready for four leases: a host that comes and goes does not move the name.
#[test]
fn j5_a_preferred_host_gets_the_lease_back_after_a_while() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let preferred = Member::new("preferred", "203.0.113.2", &etcd, &endpoint, &json!({"prefer": 10}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = preferred.watch();
    second.prints("is on standby: one");
    let began = Instant::now();
    assert_eq!(endpoint.wait(2, LEASE * 4 + TAKEN_OVER).ip(), "203.0.113.2");
    assert!(began.elapsed() > LEASE * 3, "{:?}", began.elapsed());
    first.prints("is on standby: preferred holds the lease of group home");
    second.stop();
    assert_eq!(endpoint.wait(3, SOON).ip(), "203.0.113.1");
    first.stop();
}

/// Each group has a store of its own: what the first one knows is in doubt when its service goes to another.
#[test]
fn e3_a_group_that_gets_its_name_back_does_not_believe_what_it_knew() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let watch = one.watch();
    endpoint.wait(1, SOON);
    let config = one.sandbox.read("config.json");
    for (count, ip, name) in [(2, "203.0.113.2", "\"other\""), (3, "203.0.113.1", "\"home\"")] {
        one.set_ip(ip);
        one.sandbox.write("config.json", config.replace("\"home\"", name));
        watch.signal(Signal::HUP);
        assert_eq!(endpoint.wait(count, TAKEN_OVER).ip(), ip);
    }
    watch.stop();
}
