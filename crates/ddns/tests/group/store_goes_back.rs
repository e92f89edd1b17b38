//! A group whose store loses what it had: wiped, or restored from a snapshot (J7).

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::{Member, TAKEN_OVER, two};
use crate::support::tools::tool;
use crate::support::watching::{Endpoint, SOON, status, until};

#[test]
fn j7_after_the_store_was_wiped_one_of_the_same_members_holds_and_sends() {
    let Some((mut etcd, endpoint, one, other)) = two(["203.0.113.1", "203.0.113.2"]) else { return };
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    etcd.restart(|data| fs::remove_dir_all(data).expect("it is wiped"));
    until(SOON, "`status` shows that nobody holds", || status(&one.sandbox).1 == 1);
    // Nobody knows what was accepted: it is sent again.
    let again = endpoint.wait(2, TAKEN_OVER);
    let (member, holder) = if again.ip() == "203.0.113.1" { (&one, "one") } else { (&other, "other") };
    assert!(etcd.control(&["get", "ddns/home/holder"]).contains(holder), "the key in the store is its own");
    until(SOON, "all is well", || [&one, &other].iter().all(|member| status(&member.sandbox).1 == 0));
    assert_eq!(status(&member.sandbox).0["group"]["role"], "holder");
    for watch in [&first, &second] {
        assert_eq!(
            watch.lines_with("its data went back in time (was it wiped, or restored from a snapshot?)"),
            1,
            "{}",
            watch.log()
        );
    }
    first.stop();
    second.stop();
}

#[test]
fn j7_what_a_restored_store_claims_is_in_doubt() {
    let Some(mut etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    until(SOON, "it is remembered", || status(&one.sandbox).0["updates"][0]["state"] == "up_to_date");
    let snapshot = etcd.folder().join("snapshot");
    etcd.control(&["snapshot", "save", &snapshot.display().to_string()]);
    one.set_ip("203.0.113.2");
    first.signal(rustix::process::Signal::USR1);
    endpoint.wait(2, SOON);
    until(SOON, "it is remembered", || status(&one.sandbox).0["updates"][0]["state"] == "up_to_date");
    // By the snapshot, the endpoint has the address that the host gets back.
    one.set_ip("203.0.113.1");
    etcd.restart(|data| {
        fs::remove_dir_all(data).expect("it is gone");
        let mut restore = Command::new(tool("etcdctl").expect("it was there a moment ago"));
        restore.env("ETCDCTL_API", "3").args(["snapshot", "restore"]).arg(&snapshot).arg("--data-dir").arg(data);
        restore.args(["--initial-advertise-peer-urls", "http://127.0.0.1:0", "--initial-cluster"]);
        restore.arg("default=http://127.0.0.1:0");
        let output = restore.output().expect("etcdctl starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    first.signal(rustix::process::Signal::USR1);
    until(TAKEN_OVER, "the old address is sent again", || endpoint.ips().last().is_some_and(|ip| ip == "203.0.113.1"));
    until(SOON, "all is well", || status(&one.sandbox).1 == 0);
    first.stop();
}
