//! Order (E4a): an endpoint that is slow never gets an older address after a newer one, also over reloads and between
//! processes that share a cache.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::given::{with, without};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, status, until};
use crate::support::{Receiver, Response, Sandbox};

const OLD: &str = "203.0.113.7";
const NEW: &str = "203.0.113.8";

/// Takes three seconds over the old address, and none over any other.
fn slow_over_the_old() -> Receiver {
    Receiver::responding(|request| {
        let wait = if request.target().contains(OLD) { 3 } else { 0 };
        Response::status(200).after(Duration::from_secs(wait))
    })
}

fn config(receiver: &Receiver, ip: &str, timeout: u64) -> Value {
    json!({
        "dns": "callback", "id": receiver.url("/hook?ip=__IP__"), "ipv4": ["home.example.com"],
        "index4": format!("shell:echo {ip}"), "cache": "cache.json", "timeout": timeout,
    })
}

fn addresses(receiver: &Receiver) -> Vec<String> {
    receiver.callbacks().iter().map(|request| request.target()[9..].to_owned()).collect()
}

/// E4a: a request that was begun is waited for before another for the same update is sent. What changed meanwhile is sent
/// then, the latest address alone.
#[test]
fn e4a_a_newer_address_waits_for_the_request_under_way() {
    let slow = ms(1500);
    let endpoint =
        Endpoint::responding(move |number| Response::status(204).after(if number == 0 { slow } else { ms(0) }));
    let sandbox = host();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    let first = endpoint.wait(1, SOON);
    for ip in ["203.0.113.8", "203.0.113.9"] {
        endpoint.receiver.set_ip(ip);
        let lookups = endpoint.receiver.lookups();
        watch.signal(Signal::USR1);
        until(SOON, "the new address is looked up", || endpoint.receiver.lookups() > lookups);
    }
    assert!(first.at.elapsed() < slow, "the first request is over: this proves nothing");
    let second = endpoint.wait(2, SOON);
    assert!(second.at - first.at >= slow, "sent after {:?}, while the older one was under way", second.at - first.at);
    watch.stop();
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.9"]);
}

#[test]
fn e4a_a_second_run_waits_for_the_request_of_the_first() {
    let (sandbox, receiver) = (Sandbox::new(), slow_over_the_old());
    sandbox.write("config.json", config(&receiver, OLD, 20).to_string());
    let begun = Instant::now();
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    until(SOON, "the first request", || receiver.callbacks().len() == 1);
    sandbox.write("newer.json", config(&receiver, NEW, 20).to_string());
    sandbox.run(&["-c", "newer.json"]).expect(0).prints("waiting: an earlier request").prints("accepted");
    assert!(begun.elapsed() >= Duration::from_secs(3), "the old address was applied first");
    assert!(first.wait().expect("it ends").success());
    assert_eq!(addresses(&receiver), [OLD, NEW]);
    // What was accepted last is what counts.
    sandbox.run(&["-c", "newer.json"]).says_nothing();
    sandbox.run(&["-c", "config.json"]).expect(0).prints("accepted");
}

#[test]
fn e4a_a_request_of_a_run_that_was_killed_is_waited_for_up_to_its_timeout() {
    let (sandbox, receiver) = (Sandbox::new(), slow_over_the_old());
    sandbox.write("config.json", config(&receiver, OLD, 2).to_string());
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    until(SOON, "the first request", || receiver.callbacks().len() == 1);
    let begun = Instant::now();
    first.kill().expect("it is killed");
    first.wait().expect("it has ended");
    // The same address can do no harm and is sent at once; another one could.
    sandbox.sync(&config(&receiver, OLD, 2)).expect(1);
    assert!(begun.elapsed() < Duration::from_millis(3500), "took {:?}", begun.elapsed());
    assert_eq!(addresses(&receiver), [OLD, OLD]);
    let mut second = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    until(SOON, "the third request", || receiver.callbacks().len() == 3);
    second.kill().expect("it is killed");
    second.wait().expect("it has ended");
    let begun = Instant::now();
    sandbox.sync(&config(&receiver, NEW, 2)).expect(0);
    assert!((1500..15_000).contains(&begun.elapsed().as_millis()), "took {:?}", begun.elapsed());
    assert_eq!(addresses(&receiver), [OLD, OLD, OLD, NEW]);
}

/// Nothing is made twice (H18): the second process looks only after the first has made the record.
#[test]
fn e4a_h18_two_processes_make_one_record() {
    let made: Arc<Mutex<Vec<String>>> = Arc::default();
    let state = Arc::clone(&made);
    let receiver = Receiver::responding(move |request| {
        if request.target().starts_with("/find") {
            let entries = state.lock().expect("the records").join(",");
            return Response::with_body(200, &format!("[{entries}]"));
        }
        if request.method() == "POST" {
            thread::sleep(ms(1500));
            let mut made = state.lock().expect("the records");
            let number = made.len();
            made.push(format!(r#"{{"name": "home.example.com", "id": {number}}}"#));
        }
        Response::status(200)
    });
    let step = json!({"id": "/find", "in": "", "where": {"/name": "__DOMAIN__"}, "take": {"/id": "__ID__"}});
    let more = json!({"id": receiver.url("/records/__ID__?ip=__IP__"), "before": step,
        "absent": {"id": "/records", "method": "POST"}});
    let sandbox = Sandbox::new().configure(&with(&config(&receiver, OLD, 20), &more));
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    let posts = || receiver.callbacks().iter().filter(|request| request.method() == "POST").count();
    until(SOON, "the record is being made", || posts() == 1);
    sandbox.run(&["-c", "config.json"]).expect(0).prints("waiting: an earlier request");
    assert!(first.wait().expect("it ends").success());
    assert_eq!(made.lock().expect("the records").len(), 1);
    // The same after a kill: the request may still arrive.
    made.lock().expect("the records").clear();
    sandbox.write("config.json", with(&config(&receiver, NEW, 3), &more).to_string());
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    until(SOON, "the record is being made", || posts() == 2);
    first.kill().expect("it is killed");
    first.wait().expect("it has ended");
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(made.lock().expect("the records").len(), 1);
}

#[test]
fn e4a_a_run_on_other_domains_does_not_wait() {
    let (sandbox, receiver) = (Sandbox::new(), slow_over_the_old());
    sandbox.write("config.json", config(&receiver, OLD, 20).to_string());
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    until(SOON, "the first request", || receiver.callbacks().len() == 1);
    let mut other = config(&receiver, NEW, 20);
    other["ipv4"] = json!(["other.example.com"]);
    sandbox.write("other.json", other.to_string());
    sandbox.run(&["-c", "other.json"]).expect(0).never_prints("waiting");
    assert!(first.try_wait().expect("its state").is_none(), "the first is still under way");
    first.wait().expect("it ends");
}

/// A service whose address comes from a file, at an endpoint that takes its time over the first request.
fn service(sandbox: &Sandbox, ip: &str, slow: u64) -> (Endpoint, Value) {
    sandbox.write("ip", ip);
    let endpoint = Endpoint::responding(move |number| {
        Response::status(200).after(Duration::from_secs(if number == 0 { slow } else { 0 }))
    });
    let config = endpoint.config(&json!({"index4": "shell:cat ip", "interval": "10s", "timeout": 9}));
    (endpoint, config)
}

#[test]
fn e4a_a_reload_does_not_overtake_a_request_under_way() {
    // Another callback may go to the same endpoint, and another cache has no mark of the request.
    let cases = [
        (json!({}), json!({"interval": "11s"})),
        (json!({"cache": false}), json!({"interval": "11s"})),
        (json!({}), json!({"ttl": 300})),
        (json!({}), json!({"cache": "other.json"})),
        (json!({}), json!({"cache": false})),
    ];
    thread::scope(|scope| {
        for (before, after) in cases {
            scope.spawn(move || is_in_order_over_a_reload(&before, &after));
        }
    });
}

/// With a configuration that is changed while an older address is sent.
fn is_in_order_over_a_reload(before: &Value, after: &Value) {
    let sandbox = host();
    let (endpoint, config) = service(&sandbox, OLD, 7);
    let config = with(&config, before);
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    sandbox.write("ip", NEW);
    sandbox.write("config.json", with(&config, after).to_string());
    watch.prints("the configuration changed: reloading");
    let second = endpoint.wait(2, Duration::from_secs(30));
    assert_eq!(second.ip(), NEW);
    let took = second.at - endpoint.arrivals()[0].at;
    assert!(took >= Duration::from_secs(7), "{after}: sent after {took:?}, before the old one was applied");
    until(SOON, "up to date", || status(&sandbox).1 == 0);
    assert_eq!(endpoint.ips()[..2], [OLD, NEW]);
    watch.stop();
}

/// With another callback, or another cache, the endpoint got another address meanwhile.
#[test]
fn e3_a_callback_that_was_changed_and_changed_back_is_sent_again() {
    for changed in [json!({"ttl": 300}), json!({"cache": "other.json"}), json!({"cache": false})] {
        let sandbox = host();
        let (endpoint, config) = service(&sandbox, OLD, 0);
        let watch = Watch::start(&sandbox, &config);
        endpoint.wait(1, SOON);
        for (count, ip, config) in [(2, NEW, with(&config, &changed)), (3, OLD, config)] {
            sandbox.write("ip", ip);
            sandbox.write("config.json", config.to_string());
            assert_eq!(endpoint.wait(count, SOON).ip(), ip, "{changed}");
        }
        until(SOON, "up to date", || status(&sandbox).1 == 0);
        assert_eq!(endpoint.count(), 3, "{changed}: {:?}", endpoint.ips());
        watch.stop();
    }
}

/// What a run waits for is all that it has to do.
#[test]
fn e4a_a_run_ends_when_the_service_has_sent_what_it_waits_for() {
    let sandbox = host();
    let (endpoint, config) = service(&sandbox, OLD, 3);
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    sandbox.write("ip", NEW);
    watch.signal(Signal::USR1);
    sandbox.write("by-hand.json", without(config, "interval").to_string());
    let mut run = Watch::run(sandbox.command(&["-c", "by-hand.json"]));
    run.prints("waiting: an earlier request");
    assert_eq!(run.ended(Duration::from_secs(20)), 0, "{}", run.log());
    assert_eq!(endpoint.ips()[..2], [OLD, NEW]);
    watch.stop();
}

#[test]
fn e4a_a_service_and_a_single_run_agree_on_what_the_endpoint_has() {
    let sandbox = host();
    let (endpoint, config) = service(&sandbox, NEW, 0);
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    thread::sleep(ms(1200));
    // Somebody runs it by hand with another address: the service notices at its next round, and corrects it.
    let mut by_hand = config.clone();
    by_hand["index4"] = json!(format!("shell:echo {OLD}"));
    by_hand.as_object_mut().expect("an object").remove("interval");
    sandbox.write("by-hand.json", by_hand.to_string());
    sandbox.run(&["-c", "by-hand.json"]).expect(0);
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(3, Duration::from_secs(15)).ip(), NEW);
    assert_eq!(endpoint.ips(), [NEW, OLD, NEW]);
    watch.stop();
}
