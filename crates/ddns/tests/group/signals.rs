//! A signal to stop while something is under way: the lease is given back when that is over, and not before.

use std::io::Read as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::Response;
use crate::support::etcd::Etcd;
use crate::support::members::Member;
use crate::support::odd_server::serve_raw;
use crate::support::watching::{Endpoint, SOON, Watch, ms, status, until};

/// So long the endpoint takes for its first response.
const SLOW: Duration = Duration::from_millis(2500);

/// Requests under way have five seconds, the store three (running-as-a-service.md); and a while for a busy machine.
const GRACE: Duration = Duration::from_secs(5 + 3 + 4);

fn slow_at_first() -> Endpoint {
    Endpoint::responding(|number| Response::status(204).after(if number == 0 { SLOW } else { Duration::ZERO }))
}

/// Ends the holder as `end` does while its request is under way: the other, which has another address, sends when that is over.
fn other_waits_for_the_request(end: impl FnOnce(&Member, &Watch)) {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = slow_at_first();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let other = Member::new("other", "203.0.113.2", &etcd, &endpoint, &json!({}));
    let mut first = one.watch();
    let begun = endpoint.wait(1, SOON).at;
    let second = other.watch();
    second.prints("is on standby: one");
    end(&one, &first);
    first.signal(Signal::TERM);
    assert_eq!(first.ended(GRACE), 0, "{}", first.log());
    until(SOON, "the end of the log", || first.log().contains("stopped"));
    let log = first.log();
    assert!(log.contains("home.example.com A 203.0.113.1: accepted"), "{log}");
    assert!(log.contains("gave the lease of group home back"), "{log}");
    let next = endpoint.wait(2, SOON);
    assert_eq!(next.ip(), "203.0.113.2");
    assert!(next.at.duration_since(begun) >= SLOW, "it was sent before the request was over");
    // It knows what was accepted before.
    let accepted = etcd.control(&["get", "--prefix", "ddns/home/state/entry/", "--print-value-only"]);
    until(SOON, "it is up to date", || status(&other.sandbox).0["updates"][0]["state"] == "up_to_date");
    assert!(accepted.contains("203.0.113."), "{accepted}");
    second.stop();
    assert_eq!(endpoint.ips(), ["203.0.113.1", "203.0.113.2"]);
}

#[test]
fn j1_a_holder_that_is_ended_gives_the_lease_back_after_its_request_is_over() {
    other_waits_for_the_request(|_, _| {});
}

#[test]
fn j1_a_holder_that_is_ended_during_a_reload_gives_the_lease_back_after_its_request_is_over() {
    other_waits_for_the_request(|one, first| {
        one.sandbox.write("config.json", one.single(&json!({"interval": "2m"})).to_string());
        first.signal(Signal::HUP);
        first.prints("the configuration changed: reloading");
    });
}

/// What was accepted while it ended is in the store before the lease is another's.
#[test]
fn j2_what_is_accepted_while_the_holder_ends_is_not_sent_again() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = slow_at_first();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let other = Member::new("other", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let first = one.watch();
    endpoint.wait(1, SOON);
    let second = other.watch();
    second.prints("is on standby: one");
    first.stop();
    second.prints("holds the lease of group home: sending");
    until(SOON, "it is up to date", || status(&other.sandbox).0["updates"][0]["state"] == "up_to_date");
    second.stop();
    assert_eq!(endpoint.count(), 1, "{:?}", endpoint.ips());
}

/// A request that does not end is cut off after its five seconds, before the other sends.
#[test]
fn j3_a_request_that_hangs_is_cut_off_before_the_lease_is_given_back() {
    let Some(etcd) = Etcd::start() else { return };
    let closed: Arc<Mutex<Option<Instant>>> = Arc::default();
    let noted = closed.clone();
    let hanging = serve_raw(move |mut stream| {
        // It ends with an error where the connection was broken off.
        let _ = stream.read_to_end(&mut Vec::new());
        *noted.lock().expect("no test thread failed") = Some(Instant::now());
    });
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let other = Member::new("other", "203.0.113.2", &etcd, &endpoint, &json!({}));
    let id = format!("http://{hanging}/?name=__DOMAIN__&ip=__IP__");
    let mut first = Watch::start(&one.sandbox, &one.single(&json!({"interval": "1m", "id": id})));
    first.prints("holds the lease of group home: sending");
    until(SOON, "a request under way", || status(&one.sandbox).0["updates"][0]["state"] == "sending");
    let second = other.watch();
    second.prints("is on standby: one");
    let asked = Instant::now();
    first.signal(Signal::TERM);
    assert_eq!(first.ended(GRACE), 0, "{}", first.log());
    let next = endpoint.wait(1, SOON);
    assert!(next.at.duration_since(asked) > ms(3000), "the request had its time: {:?}", next.at.duration_since(asked));
    until(SOON, "it was cut off", || closed.lock().expect("no test thread failed").is_some());
    let closed = closed.lock().expect("no test thread failed").expect("a moment");
    assert!(closed < next.at, "{:?} after the other sent", closed.duration_since(next.at));
    second.stop();
}

/// A reload leaves one group for another; the store of the first one hangs.
#[test]
fn j4_a_service_that_is_ended_while_it_leaves_its_group_does_not_wait_long_for_the_store() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let mut first = one.watch();
    endpoint.wait(1, SOON);
    first.prints("accepted");
    etcd.pause();
    let mut config = one.single(&json!({"interval": "1m"}));
    config["group"]["name"] = json!("office");
    one.sandbox.write("config.json", config.to_string());
    first.signal(Signal::HUP);
    first.prints("the configuration changed: reloading");
    first.signal(Signal::TERM);
    assert_eq!(first.ended(GRACE), 0, "{}", first.log());
    until(SOON, "the end of the log", || first.log().contains("stopped"));
    etcd.resume();
    assert_eq!(endpoint.count(), 1);
}
