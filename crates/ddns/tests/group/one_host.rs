//! Several members on one host, as somebody has them who tries a group.

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::Member;
use crate::support::watching::{Endpoint, SOON, Watch};

#[test]
fn j6_a_second_member_in_one_home_is_told_to_use_another_cache_and_then_stands_by() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    let mut config = one.single(&json!({"interval": "1m"}));
    config["group"]["member"] = json!("second");
    one.sandbox.write("second.json", config.to_string());
    let refused = one.sandbox.run(&["watch", "-c", "second.json"]).expect(1);
    for words in ["already uses the cache", "set a different `cache`", "a second group member on the same host"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    config["cache"] = json!("second-cache.json");
    one.sandbox.write("second.json", config.to_string());
    let second = Watch::run(one.sandbox.command(&["watch", "-c", "second.json"]));
    second.prints("is on standby: one holds the lease of group home");
    for (file, role) in [("config.json", "holds the lease"), ("second.json", "is on standby: one holds the lease")] {
        one.sandbox.run(&["status", "--wide", "-c", file]).expect(0).shows(role);
    }
    first.stop();
    second.prints("holds the lease of group home: sending");
    one.set_ip("203.0.113.2");
    second.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.2");
    second.stop();
}

/// It cannot tell another process of its name from an earlier one of this host, so it waits for two leases.
#[test]
fn j6_a_run_beside_a_holder_of_the_same_name_ends_with_a_sentence() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let [one, other] = ["203.0.113.1", "203.0.113.2"].map(|ip| Member::new("same", ip, &etcd, &endpoint, &json!({})));
    let holder = one.watch();
    endpoint.wait(1, SOON);
    let run = other.sandbox.sync(&other.single(&json!({}))).expect(1);
    assert!(run.stderr.contains("another process in the group has the same `member`, same: "), "{}", run.stderr);
    assert_eq!(endpoint.count(), 1);
    holder.stop();
}
