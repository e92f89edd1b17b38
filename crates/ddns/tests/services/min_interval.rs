//! H6: the least time between two requests for one update, and what must be remembered.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::watching::{SOON, Watch, host, until};
use crate::support::{Receiver, Response, Sandbox};

fn every(receiver: &Receiver, interval: &str) -> Value {
    let more = json!({"index4": receiver.index4(), "min_interval": interval});
    with(&home(&receiver.url("/?ip=__IP__")), &more)
}

#[test]
fn h6_a_newer_address_waits_until_min_interval_has_passed() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), every(&receiver, "2s"));
    sandbox.sync(&config).expect(0);
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1).prints("held back for").prints("it was sent less than min_interval ago");
    receiver.set_ip("203.0.113.9");
    until(SOON, "the interval to pass", || sandbox.sync(&config).code == 0);
    let sent: Vec<_> = receiver.callbacks().iter().map(|one| one.target().to_owned()).collect();
    assert_eq!(sent, ["/?ip=203.0.113.7", "/?ip=203.0.113.9"], "the newer one replaced the older");
}

/// They are marked together, and one after the other is sent.
#[test]
fn h6_every_domain_is_sent_and_then_each_is_held_back() {
    for concurrency in [json!("auto"), json!(1)] {
        let receiver = Receiver::new();
        let more = json!({"ipv4": ["a.example", "b.example", "c.example"], "concurrency": concurrency});
        let (sandbox, config) = (Sandbox::new(), with(&every(&receiver, "1h"), &more));
        sandbox.sync(&config).expect(0).prints("3 accepted");
        receiver.set_ip("203.0.113.8");
        sandbox.sync(&config).expect(1).prints("3 held back");
        assert_eq!(receiver.callbacks().len(), 3);
    }
}

#[test]
fn h6_a_request_that_never_left_does_not_count() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), every(&receiver, "1h"));
    let nowhere = with(&config, &json!({"proxy": "http://127.0.0.1:1"}));
    sandbox.sync(&nowhere).expect(1);
    sandbox.sync(&nowhere).expect(1).never_prints("held back");
    sandbox.sync(&config).expect(0);
}

#[test]
fn h6_a_failure_counts_as_sent() {
    let receiver = Receiver::responding(|_| Response::status(500));
    let (sandbox, config) = (Sandbox::new(), every(&receiver, "1h"));
    sandbox.sync(&config).expect(1);
    sandbox.sync(&config).expect(1).prints("held back for");
    assert_eq!(receiver.callbacks().len(), 1);
    let status = sandbox.run(&["status"]).expect(3).stdout;
    assert!(status.contains("held back for ") && status.contains("min_interval ago"), "{status}");
    // What was accepted is not due.
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.sync(&every(&receiver, "1h")).expect(0);
    let status = sandbox.run(&["status"]).expect(3).stdout;
    assert!(status.contains("accepted") && !status.contains("held back"), "{status}");
}

#[test]
fn h6_a_service_sends_the_newest_address_when_the_interval_has_passed() {
    let sandbox = host();
    let receiver = Receiver::new();
    let config = with(&every(&receiver, "3s"), &json!({"interval": "30s"}));
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "the first request", || receiver.callbacks().len() == 1);
    for ip in ["203.0.113.8", "203.0.113.9"] {
        receiver.set_ip(ip);
        sandbox.run(&["sync"]).expect(1);
    }
    until(SOON, "the second request", || receiver.callbacks().len() == 2);
    assert_eq!(receiver.callbacks()[1].target(), "/?ip=203.0.113.9");
    drop(watch);
}

#[test]
fn h6_what_must_be_remembered_is_not_sent_where_the_cache_cannot_be_written() {
    // Root may write anywhere.
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let folder = sandbox.path("locked");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("its mode");
    let cache = if fs::write(folder.join("probe"), "").is_ok() {
        "/proc/cache.json".to_owned()
    } else {
        folder.join("cache.json").display().to_string()
    };
    let config = with(&every(&receiver, "1h"), &json!({"cache": cache}));
    sandbox.sync(&config).expect(1).prints("the cache cannot be written").prints("not sent");
    assert!(receiver.callbacks().is_empty());
    let config = with(&config, &json!({"min_interval": null, "expect": {"reject": "x"}}));
    sandbox.sync(&config).expect(0);
}

#[test]
fn h6_without_a_cache_there_is_a_warning() {
    let receiver = Receiver::new();
    let config = with(&every(&receiver, "1h"), &json!({"cache": false}));
    Sandbox::new().sync(&config).expect(0).prints("`cache` is off").prints("min_interval");
}

#[test]
fn h6_min_interval_is_a_time() {
    let receiver = Receiver::new();
    for wrong in [json!("soon"), json!(-1), json!("99d"), json!([]), json!(true)] {
        let config = with(&every(&receiver, ""), &json!({"min_interval": wrong}));
        Sandbox::new().sync(&config).expect(2).prints("`min_interval` must be");
    }
    let sandbox = Sandbox::new();
    sandbox.sync(&with(&every(&receiver, ""), &json!({"min_interval": 10}))).expect(0);
    receiver.set_ip("203.0.113.8");
    let run = sandbox.sync(&with(&every(&receiver, ""), &json!({"min_interval": 10}))).expect(1);
    assert!(run.stderr.contains("held back for 9 min") || run.stderr.contains("10 min"), "{}", run.stderr);
}
