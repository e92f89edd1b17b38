//! A group with hosts that hang, a store that is gone, and a store that refuses.

use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::{LEASE, Member, TAKEN_OVER, two};
use crate::support::watching::{Endpoint, SOON, ms, status, until};

#[test]
fn j3_a_holder_that_was_stopped_for_longer_than_its_lease_sends_nothing_before_it_holds_again() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    first.signal(Signal::STOP);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    // Another address, and a request to send it, wait for it when it goes on.
    one.set_ip("203.0.113.3");
    first.signal(Signal::USR1);
    first.signal(Signal::CONT);
    first.prints("is on standby: other holds the lease of group home");
    let (standing, _) = status(&one.sandbox);
    assert_eq!(standing["updates"][0]["address"], "203.0.113.3", "{standing:#}");
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2"]);
    second.stop();
    assert_eq!(endpoint.wait(3, SOON).ip(), "203.0.113.3");
    first.stop();
}

#[test]
fn j4_without_its_store_nobody_sends_after_the_lease_and_everything_goes_on_when_it_is_back() {
    let Some((etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    etcd.pause();
    until(TAKEN_OVER, "the holder says so", || first.log().contains("could not renew the lease of group home in time"));
    one.set_ip("203.0.113.3");
    first.signal(Signal::USR1);
    thread::sleep(LEASE);
    assert_eq!(endpoint.count(), 1, "nobody sends: {:?}", endpoint.ips());
    for watch in [&first, &second] {
        assert_eq!(watch.lines_with("the store of group home cannot be used"), 1, "{}", watch.log());
    }
    assert_eq!(status(&one.sandbox).1, 1, "`status` shows that nobody can send");
    etcd.resume();
    let last = endpoint.wait(2, TAKEN_OVER);
    assert!(["203.0.113.3", "203.0.113.2"].contains(&last.ip()), "{last:?}");
    until(SOON, "both see the store", || {
        [&first, &second].iter().all(|watch| watch.log().contains("the store of group home can be used again"))
    });
    first.stop();
    second.stop();
}

#[test]
fn j4_a_service_waits_for_a_store_that_is_not_there_and_says_so_once() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({"store": "etcd://127.0.0.1:9"}));
    let mut first = one.watch();
    first.prints("the store of group home cannot be used");
    first.prints("nothing is sent until it can");
    thread::sleep(ms(1500));
    assert_eq!(first.lines_with("cannot be used"), 1, "{}", first.log());
    assert!(first.is_running());
    assert_eq!(endpoint.count(), 0);
    // Stopping does not wait for it.
    first.stop();
}

#[test]
fn j1_a_group_of_another_version_is_left_alone() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    etcd.control(&["put", "ddns/home/version", "2"]);
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let first = one.watch();
    first.prints("the group in the store has version 2");
    one.sandbox.sync(&one.single(&json!({}))).expect(1).prints("the group in the store has version 2");
    let keys = etcd.control(&["get", "--prefix", "ddns/", "--keys-only"]);
    assert_eq!(keys.trim(), "ddns/home/version");
    assert_eq!(endpoint.count(), 0);
    first.stop();
}

#[test]
fn j4_a_wrong_password_is_named_and_a_right_one_is_taken_after_a_reload() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    for args in [
        &["user", "add", "root:secret-of-root"][..],
        &["role", "add", "root"],
        &["user", "grant-role", "root", "root"],
        &["auth", "enable"],
    ] {
        etcd.control(args);
    }
    let more = json!({"user": "root", "password_file": "password"});
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &more);
    one.sandbox.write("password", "wrong-secret\n");
    let first = one.watch();
    first.prints("refuses the user or the password");
    one.sandbox.sync(&one.single(&json!({}))).expect(1).prints("refuses the user or the password");
    assert_eq!(endpoint.count(), 0);
    // It changes again while the group is left and joined.
    first.prints("the configuration changed: reloading");
    one.sandbox.write("password", "secret-of-root\n");
    assert_eq!(endpoint.wait(1, SOON).ip(), "203.0.113.1");
    let log = first.stop();
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn j4_a_store_that_takes_no_writes_is_said() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    // So long that the next renewal is far away: it is said before.
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({"lease": "2m"}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    // As a full disk does.
    etcd.alarm("ACTIVATE");
    one.set_ip("203.0.113.2");
    first.signal(Signal::USR1);
    first.prints("the store does not take what this host writes");
    assert_eq!(status(&one.sandbox).1, 1, "`status` shows it");
    assert_eq!(endpoint.count(), 1);
    etcd.alarm("DEACTIVATE");
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    first.stop();
}
