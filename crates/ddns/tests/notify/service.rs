//! I5 in `ddns watch`: nothing waits for a notification.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::inbox::{Inbox, SECRET};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Response, Sandbox};

#[test]
fn i5_a_service_tells_what_happens() {
    let (sandbox, inbox) = (host(), Inbox::new());
    let status = Arc::new(AtomicU16::new(200));
    let own = status.clone();
    let endpoint = Endpoint::responding(move |_| Response::status(own.load(Ordering::SeqCst)));
    let notify = inbox.notify(&json!({"after": 2}));
    let config = endpoint.config(&json!({"notify": notify, "interval": "10s", "debug": true}));
    let watch = Watch::start(&sandbox, &config);
    inbox.wait(&["changed"]);
    status.store(500, Ordering::SeqCst);
    endpoint.receiver.set_ip("203.0.113.8");
    sandbox.run(&["sync", "-c", "config.json"]);
    inbox.wait(&["changed", "failed"]);
    status.store(200, Ordering::SeqCst);
    sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    inbox.wait(&["changed", "failed", "recovered"]);
    // Another change so soon after the first is sent with what may follow, or when the service ends.
    let log = watch.stop();
    inbox.wait(&["changed", "failed", "recovered", "changed"]);
    let message = &inbox.messages()[3];
    assert_eq!(message["message"], "home.example.com A is now 203.0.113.8 (was 203.0.113.7)");
    assert!(!log.contains(SECRET), "{log}");
}

/// All wait for one endpoint that is out of reach: they are told together, and fine again together.
#[test]
fn i5_many_domains_behind_a_dead_endpoint_are_one_notification() {
    let (sandbox, inbox) = (host(), Inbox::new());
    let status = Arc::new(AtomicU16::new(503));
    let own = status.clone();
    let endpoint = Endpoint::responding(move |_| Response::status(own.load(Ordering::SeqCst)));
    let domains: Vec<String> = (0..200).map(|number| format!("h{number}.example.com")).collect();
    let notify = inbox.notify(&json!({"after": 1, "on": ["failed", "recovered"]}));
    let config = endpoint.config(&json!({"notify": notify, "ipv4": domains}));
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "failed", || !inbox.messages().is_empty());
    assert!(inbox.messages()[0]["message"].as_str().is_some_and(|text| text.starts_with("200 updates fail: ")));
    let before = endpoint.count();
    until(SOON * 3, "others fail", || endpoint.count() > before);
    assert_eq!(inbox.events(), ["failed"], "they were told");
    status.store(200, Ordering::SeqCst);
    until(SOON * 3, "all of them are accepted", || {
        sandbox.run(&["sync", "-c", "config.json"]);
        inbox.messages().len() > 1
    });
    watch.stop();
    let events = inbox.events();
    assert!(events[0] == "failed" && events[1..].iter().all(|event| event == "recovered"), "{events:?}");
    assert!(events.len() <= 3, "{events:?}");
    let named: usize = inbox.messages()[1..]
        .iter()
        .map(|message| message["domains"].as_str().unwrap_or_default().split(',').count())
        .sum();
    assert_eq!(named, 200, "each once");
}

#[test]
fn i5_updates_go_on_while_a_notification_hangs() {
    let sandbox = host();
    let inbox = Inbox::responding(|_| Response::status(200).after(Duration::from_secs(60)));
    let endpoint = Endpoint::new();
    let config = endpoint.config(&json!({"notify": inbox.notify(&json!({"timeout": 60}))}));
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    until(SOON, "the notification", || !inbox.messages().is_empty());
    for last in [8, 9, 10] {
        endpoint.receiver.set_ip(&format!("203.0.113.{last}"));
        sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    }
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.8", "203.0.113.9", "203.0.113.10"]);
    assert_eq!(inbox.messages().len(), 1, "one at a time");
    // It does not keep the service from ending either.
    watch.stop();
}

#[test]
fn i5_a_reload_keeps_what_was_told() {
    let (sandbox, inbox) = (host(), Inbox::new());
    let endpoint = Endpoint::responding(|_| Response::status(500));
    let notify = inbox.notify(&json!({"after": 1, "on": ["failed", "recovered"]}));
    let config = endpoint.config(&json!({"notify": notify}));
    let watch = Watch::start(&sandbox, &config);
    inbox.wait(&["failed"]);
    sandbox.write("config.json", endpoint.config(&json!({"notify": notify, "ttl": 5})).to_string());
    watch.prints("the configuration changed: reloading");
    let before = endpoint.count();
    until(SOON, "it fails again", || endpoint.count() > before);
    sandbox.run(&["sync", "-c", "config.json"]);
    watch.stop();
    assert_eq!(inbox.events(), ["failed"]);
}

/// What could not be told before a reload is told after it; and a reload does not wait for it.
#[test]
fn i5_a_reload_keeps_what_is_still_to_be_told() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let is_open = Arc::new(AtomicU16::new(503));
    let status = is_open.clone();
    let inbox = Inbox::responding(move |_| Response::status(status.load(Ordering::SeqCst)));
    let notify = inbox.notify(&json!({"on": ["changed"], "timeout": 4}));
    let config = |more: u64| endpoint.config(&json!({"notify": notify, "interval": "10s", "timeout": more}));
    let watch = Watch::start(&sandbox, &config(60));
    until(SOON, "a try", || !inbox.messages().is_empty());
    watch.prints("not accepted");
    sandbox.write("config.json", config(61).to_string());
    watch.prints("the configuration changed: reloading");
    is_open.store(200, Ordering::SeqCst);
    let before = inbox.messages().len();
    // It ends the pause after a notification that failed.
    let log = watch.stop();
    assert!(inbox.messages().len() > before, "{log}");
    assert_eq!(inbox.messages()[before]["message"], "home.example.com A is now 203.0.113.7");
}

#[test]
fn i5_a_reload_does_not_wait_for_a_notification_that_hangs() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let inbox = Inbox::responding(|_| Response::status(200).after(Duration::from_secs(60)));
    let config =
        |more: u64| endpoint.config(&json!({"notify": inbox.notify(&json!({"timeout": 60})), "timeout": more}));
    let watch = Watch::start(&sandbox, &config(60));
    until(SOON, "the notification", || !inbox.messages().is_empty());
    sandbox.write("config.json", config(61).to_string());
    watch.prints("the configuration changed: reloading");
    let begun = std::time::Instant::now();
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(rustix::process::Signal::USR1);
    endpoint.wait(2, SOON);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    watch.stop();
}

/// Where nobody wants to be told anything, nothing is written for it.
#[test]
fn i5_it_leaves_no_trace_where_it_is_not_set() {
    let sandbox = Sandbox::new();
    let endpoint = Endpoint::responding(|_| Response::status(500));
    sandbox.sync(&endpoint.config(&json!({}))).expect(1);
    let cache = std::fs::read_to_string(sandbox.cache_file()).expect("a cache");
    assert!(!cache.contains("streaks"), "{cache}");
}
