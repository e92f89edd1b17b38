//! A group whose store is far away: its answers take long, or too long for the lease.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::etcd::Etcd;
use crate::support::members::{Member, TAKEN_OVER};
use crate::support::slow_way::SlowWay;
use crate::support::watching::{Endpoint, SOON, Watch, ms, status, until};

/// There and back it is three seconds: more than a renewal of a lease of 5 s may take, and less than one of 15 s may.
const FAR: Duration = Duration::from_millis(1500);

/// A member of the group on the other side of a slow way.
fn behind(way: &SlowWay, lease: &str, etcd: &Etcd, endpoint: &Endpoint) -> Member {
    let store = format!("etcd://127.0.0.1:{}", way.port);
    Member::new("one", "203.0.113.1", etcd, endpoint, &json!({"store": store, "lease": lease}))
}

fn group(member: &Member) -> Value {
    status(&member.sandbox).0["group"].clone()
}

/// What `ddns status` says to people, on one line.
fn said(member: &Member) -> String {
    let run = member.sandbox.run(&["status", "--wide", "-c", "config.json"]);
    run.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn holds(watch: &Watch, endpoint: &Endpoint) {
    watch.prints("holds the lease of group home: sending");
    endpoint.wait(1, SOON);
}

#[test]
fn j3_a_holder_whose_store_answers_late_but_in_time_keeps_the_lease_and_sends() {
    let Some(etcd) = Etcd::start() else { return };
    let (endpoint, way) = (Endpoint::new(), SlowWay::to(etcd.port));
    let one = behind(&way, "15s", &etcd, &endpoint);
    let watch = one.watch();
    holds(&watch, &endpoint);
    way.delay(FAR);
    one.set_ip("203.0.113.3");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.3");
    let left = || group(&one)["lease_left"].as_u64().unwrap_or_default();
    let mut least = left();
    until(TAKEN_OVER, "another renewal", || {
        let now = left();
        let is_renewed = now > least;
        least = now;
        is_renewed
    });
    let (now, code) = status(&one.sandbox);
    assert_eq!((&now["group"]["role"], &now["group"]["trouble"], code), (&json!("holder"), &Value::Null, 0), "{now:#}");
    assert_eq!(watch.lines_with("WARNING"), 0, "{}", watch.log());
    watch.stop();
}

/// Renewals that arrive, but whose answers come too late, must not keep the lease from the others.
#[test]
fn j3_a_holder_whose_store_answers_too_late_stops_in_time_and_leaves_the_lease_to_another() {
    let Some(etcd) = Etcd::start() else { return };
    let (endpoint, way) = (Endpoint::new(), SlowWay::to(etcd.port));
    let one = behind(&way, "5s", &etcd, &endpoint);
    let first = one.watch();
    holds(&first, &endpoint);
    let other = Member::new("other", "203.0.113.2", &etcd, &endpoint, &json!({}));
    let second = other.watch();
    second.prints("is on standby: one");
    way.delay(FAR);
    first.prints("could not renew the lease of group home in time");
    let text = said(&one);
    assert!(text.starts_with("1 record on standby: the lease of the group is not confirmed (process "), "{text}");
    assert!(text.contains(&format!("the store cannot be used: http://127.0.0.1:{}", way.port)), "{text}");
    assert!(!text.contains("up to date"), "{text}");
    one.set_ip("203.0.113.3");
    first.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    // Longer than the lease: nothing can be said for certain any more.
    way.delay(ms(6000));
    until(SOON, "it says so", || said(&one).contains("the store cannot be used: "));
    assert_eq!(status(&one.sandbox).1, 1);
    way.delay(Duration::ZERO);
    until(TAKEN_OVER, "it stands by", || group(&one)["role"] == "stand-by" && group(&one)["holder"] == "other");
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2"], "nobody sent without the lease");
    first.stop();
    second.stop();
}

#[test]
fn j1_a_lease_that_is_too_short_for_its_store_is_never_used_and_it_is_said() {
    let Some(etcd) = Etcd::start() else { return };
    let (endpoint, way) = (Endpoint::new(), SlowWay::to(etcd.port));
    way.delay(FAR);
    let one = behind(&way, "5s", &etcd, &endpoint);
    let watch = one.watch();
    watch.prints("which is too long for a lease of 5 s: check the nodes of `store`, or set a longer `lease`");
    let text = said(&one);
    assert!(text.starts_with("1 record on standby: the group needs attention"), "{text}");
    assert!(
        text.contains("which is too long for a lease of 5 s: check the nodes of `store`, or set a longer `lease`"),
        "{text}"
    );
    assert_eq!(endpoint.count(), 0);
    watch.stop();
}
