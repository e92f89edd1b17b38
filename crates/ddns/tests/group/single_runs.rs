//! Single runs of hosts of a group.

use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::{Member, two};
use crate::support::watching::{Endpoint, SOON};

#[test]
fn j1_a_single_run_takes_the_lease_sends_and_gives_it_back() {
    let Some((etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    one.sandbox.sync(&one.single(&json!({}))).expect(0).prints("accepted");
    let keys = etcd.control(&["get", "--prefix", "ddns/home/", "--keys-only"]);
    assert!(!keys.contains("holder") && !keys.contains("members"), "{keys}");
    one.sandbox.sync(&one.single(&json!({}))).expect(0);
    assert_eq!(endpoint.ips(), ["203.0.113.1"], "it is known in the store that it was accepted");
    assert!(!one.sandbox.cache_file().exists(), "nothing is remembered in a file");
    other.sandbox.sync(&other.single(&json!({}))).expect(0);
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2"]);
}

/// The store of the group does not know what this host sends alone, and its file does not know what the others send.
#[test]
fn e3_what_a_host_had_sent_alone_does_not_count_after_its_group() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let (alone, member) = (one.single(&json!({"group": null})), one.single(&json!({})));
    one.sandbox.sync(&alone).expect(0);
    one.set_ip("203.0.113.2");
    one.sandbox.sync(&member).expect(0);
    one.set_ip("203.0.113.1");
    one.sandbox.sync(&alone).expect(0).prints("accepted");
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2", "203.0.113.1"]);
}

#[test]
fn h6_min_interval_in_a_group_holds_back_the_second_request_and_not_the_first() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    one.sandbox.sync(&one.single(&json!({"min_interval": "1h"}))).expect(0).prints("accepted");
    other.sandbox.sync(&other.single(&json!({"min_interval": "1h"}))).expect(1).prints("held back for 60 min");
    assert_eq!(endpoint.ips(), ["203.0.113.1"], "the other waits its turn");
}

#[test]
fn j1_a_single_run_beside_a_holder_says_so_and_ends_well() {
    let Some((_etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let holder = one.watch();
    endpoint.wait(1, SOON);
    let run = other.sandbox.sync(&other.single(&json!({}))).expect(0);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("one holds the lease of group home"), "{}", run.stderr);
    assert_eq!(endpoint.count(), 1);
    holder.stop();
}

#[test]
fn j4_a_single_run_without_its_store_fails_with_a_sentence() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({"store": "etcd://127.0.0.1:9"}));
    let run = one.sandbox.sync(&one.single(&json!({}))).expect(1);
    run.prints("the store of group home cannot be used: ").prints("nothing was sent");
    assert_eq!(endpoint.count(), 0);
}

#[test]
fn j1_a_single_run_without_an_address_does_not_wait_for_the_lease() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "none", &etcd, &endpoint, &json!({}));
    one.sandbox.sync(&one.single(&json!({}))).expect(1).prints("no IPv4 address found");
    assert_eq!(endpoint.count(), 0);
}

#[test]
fn j6_files_of_one_run_are_in_one_group() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    one.sandbox.write("config.json", one.single(&json!({})).to_string());
    one.sandbox.write("other.json", endpoint.config(&json!({})).to_string());
    for command in [&["-c", "config.json", "-c", "other.json"][..], &["watch", "-c", "config.json", "-c", "other.json"]]
    {
        one.sandbox.run(command).expect(2).prints("`group` differs from config.json");
    }
    assert_eq!(endpoint.count(), 0);
}

#[test]
fn j2_preview_and_status_ask_no_store_and_say_what_they_do_not_know() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({"store": "etcd://127.0.0.1:9"}));
    one.sandbox.write("config.json", one.single(&json!({})).to_string());
    let preview = one.sandbox.run(&["preview", "--wide", "-c", "config.json"]).expect(0);
    preview.shows("would be sent: if this host holds the lease").shows("A run now would send at most 1 of 1 updates");
    one.sandbox.run(&["status", "-c", "config.json"]).expect(3).shows("The store of the group knows");
    assert_eq!(endpoint.count(), 0);
}
