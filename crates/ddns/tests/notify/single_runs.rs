//! I5 in single runs: what a timer starts, again and again.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::inbox::{Inbox, SECRET};
use crate::support::scripted::Step::Close;
use crate::support::scripted::{Server, say};
use crate::support::watching::{SOON, until};
use crate::support::{Receiver, Response, Run, Sandbox};

/// An endpoint whose status can be changed.
struct Endpoint {
    receiver: Receiver,
    status: Arc<AtomicU16>,
}

impl Endpoint {
    fn new() -> Self {
        let status = Arc::new(AtomicU16::new(200));
        let own = status.clone();
        let body = |status: u16| if status == 200 { "good" } else { "badauth" };
        let respond = move |status| Response::with_body(if status == 418 { 200 } else { status }, body(status));
        let receiver = Receiver::responding(move |_| respond(own.load(Ordering::SeqCst)));
        Self { receiver, status }
    }

    fn set(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    fn config(&self, notify: &Value, more: &Value) -> Value {
        let id = self.receiver.url("/update?name=__DOMAIN__&ip=__IP__");
        let config = json!({"dns": "callback", "id": id, "ipv4": ["home.example.com"], "proxy": "DIRECT",
            "index4": self.receiver.index4(), "notify": notify, "debug": true});
        with(&config, more)
    }
}

/// Nothing of a run may show what the user typed.
#[track_caller]
fn safe(run: Run) -> Run {
    run.never_prints(SECRET)
}

#[test]
fn i5_a_notification_that_may_have_arrived_is_not_repeated() {
    let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
    let cut = Server::always(vec![say("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nok"), Close]);
    let notify = json!({"id": cut.url("/?m=__MESSAGE__"), "on": ["failed"], "after": 1,
        "expect": {"accept": "ok"}});
    endpoint.set(500);
    let config = endpoint.config(&notify, &json!({}));
    sandbox.sync(&config).expect(1).prints("the rest of the response did not arrive");
    sandbox.sync(&config).expect(1).never_prints("notification `failed`: sending");
}

#[test]
fn i5_each_event_is_told_once_and_counts_last_over_runs() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let config = endpoint.config(&inbox.notify(&json!({})), &json!({}));
    let run = |code| safe(sandbox.sync(&config).expect(code));
    run(0).prints("notification `changed` to");
    run(0);
    assert_eq!(inbox.events(), ["changed"]);
    assert_eq!(inbox.messages()[0]["message"], "home.example.com A is now 203.0.113.7");

    endpoint.receiver.set_ip("203.0.113.8");
    run(0);
    let outgoing = &inbox.messages()[1];
    assert_eq!(outgoing["message"], "home.example.com A is now 203.0.113.8 (was 203.0.113.7)");
    assert_eq!(
        (&outgoing["domains"], &outgoing["ip"], &outgoing["old"]),
        (&json!("home.example.com"), &json!("203.0.113.8"), &json!("203.0.113.7"))
    );

    endpoint.set(500);
    endpoint.receiver.set_ip("203.0.113.9");
    for count in [2, 2, 3, 3, 3] {
        run(1);
        assert_eq!(inbox.messages().len(), count, "{:?}", inbox.events());
    }
    assert_eq!(inbox.messages()[2]["event"], "failed");
    let message = "home.example.com A failed 3 times in a row: 500 Internal Server Error";
    assert_eq!(inbox.messages()[2]["message"], message);

    endpoint.set(200);
    run(0);
    run(0);
    assert_eq!(inbox.events()[3..], ["recovered", "changed"]);
    let cache = fs::read_to_string(sandbox.cache_file()).expect("a cache");
    assert!(!cache.contains("streaks") && !cache.contains(SECRET), "nothing is left of it: {cache}");
}

#[test]
fn i5_what_recovers_before_it_was_told_is_not_told() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let notify = inbox.notify(&json!({"on": ["failed", "recovered"]}));
    let config = endpoint.config(&notify, &json!({}));
    for (status, code) in [(500, 1), (503, 1), (200, 0), (200, 0)] {
        endpoint.set(status);
        safe(sandbox.sync(&config).expect(code));
    }
    assert_eq!(inbox.events(), Vec::<String>::new());
}

#[test]
fn i5_a_missing_address_is_a_failure_and_ends_when_it_is_found_again() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let notify = inbox.notify(&json!({"after": 2, "on": ["failed", "recovered"]}));
    let config = endpoint.config(&notify, &json!({}));
    sandbox.sync(&config).expect(0);
    endpoint.receiver.set_ip("none");
    for _ in 0..3 {
        safe(sandbox.sync(&config).expect(1));
    }
    assert_eq!(inbox.events(), ["failed"]);
    let message = inbox.messages()[0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.starts_with("home.example.com A failed 2 times in a row: no IPv4 address found ("), "{message}");
    endpoint.receiver.set_ip("203.0.113.7");
    sandbox.sync(&config).expect(0);
    assert_eq!(inbox.events(), ["failed", "recovered"], "although nothing had to be sent");
    assert_eq!(endpoint.receiver.callbacks().len(), 1);
}

#[test]
fn i5_a_stop_is_told_at_once_and_ends_with_another_key() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let more = json!({"expect": {"stop": "badauth"}});
    let config = endpoint.config(&inbox.notify(&json!({})), &more);
    endpoint.set(418);
    for _ in 0..3 {
        safe(sandbox.sync(&config).expect(1));
    }
    assert_eq!(inbox.events(), ["stopped"]);
    assert!(
        inbox.messages()[0]["message"]
            .as_str()
            .is_some_and(|text| text.contains("was refused permanently: 200: badauth; it is"))
    );
    // Whoever mends the key wants to hear that it helped.
    endpoint.set(200);
    let id = endpoint.receiver.url("/update?name=__DOMAIN__&ip=__IP__&key=another");
    let config = endpoint.config(&inbox.notify(&json!({})), &json!({"expect": {"stop": "badauth"}, "id": id}));
    sandbox.sync(&config).expect(0);
    assert_eq!(inbox.events(), ["stopped", "recovered", "changed"]);
}

/// The others were not sent, and are stopped all the same.
#[test]
fn h5_i5_a_stop_of_all_tells_of_all() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let names = ["a.example.com", "b.example.com", "c.example.com"];
    let more = json!({"expect": {"stop": {"body": "badauth", "all": true}}, "ipv4": names, "concurrency": 1});
    let config = endpoint.config(&inbox.notify(&json!({})), &more);
    endpoint.set(418);
    for _ in 0..2 {
        safe(sandbox.sync(&config).expect(1));
    }
    assert_eq!(inbox.events(), ["stopped"]);
    assert_eq!(inbox.messages()[0]["domains"], names.join(","));
    assert_eq!(endpoint.receiver.callbacks().len(), 1);
}

#[test]
fn i5_many_domains_are_one_notification() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let domains: Vec<String> = (0..500).map(|number| format!("h{number}.example.com")).collect();
    let notify = inbox.notify(&json!({"after": 1}));
    let config = endpoint.config(&notify, &json!({"ipv4": domains, "debug": false}));
    sandbox.sync(&config).expect(0);
    endpoint.set(500);
    endpoint.receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1);
    sandbox.sync(&config).expect(1);
    endpoint.set(200);
    sandbox.sync(&config).expect(0);
    assert_eq!(inbox.events(), ["changed", "failed", "recovered", "changed"]);
    for message in inbox.messages() {
        let text = message["message"].as_str().expect("a sentence");
        assert!(text.starts_with("500 ") && text.len() < 500, "{text}");
        assert_eq!(message["domains"].as_str().map(|all| all.matches(',').count()), Some(499));
    }
}

#[test]
fn i5_a_notification_that_fails_changes_no_outcome_and_is_tried_again() {
    let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
    let status = Arc::new(AtomicU16::new(500));
    let own = status.clone();
    let inbox = Inbox::responding(move |_| Response::status(own.load(Ordering::SeqCst)));
    let notify = inbox.notify(&json!({"timeout": 2, "after": 1}));
    let config = endpoint.config(&notify, &json!({}));
    let began = Instant::now();
    safe(sandbox.sync(&config).expect(0)).prints("warning: notification `changed` to");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(inbox.messages().len() > 1, "it is tried more than once");
    sandbox.sync(&config).expect(0);
    let count = inbox.messages().len();

    // A refusal is not tried at once again; but what was not reported is reported by the next run.
    status.store(401, Ordering::SeqCst);
    endpoint.set(500);
    endpoint.receiver.set_ip("203.0.113.8");
    safe(sandbox.sync(&config).expect(1)).prints("401");
    assert_eq!(inbox.messages().len(), count + 1);
    status.store(200, Ordering::SeqCst);
    sandbox.sync(&config).expect(1);
    sandbox.sync(&config).expect(1);
    assert_eq!(inbox.messages().len(), count + 2, "once");
    assert_eq!(inbox.events().last().map(String::as_str), Some("failed"));
}

#[test]
fn i5_no_notification_delays_the_end_beyond_its_timeout() {
    let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
    let inbox = Inbox::responding(|_| Response::status(200).after(Duration::from_secs(60)));
    let slow = inbox.notify(&json!({"timeout": 1}));
    // Two of them, and two events: they wait at the same time.
    let config = endpoint.config(&json!([slow, slow]), &json!({}));
    let began = Instant::now();
    safe(sandbox.sync(&config).expect(0)).prints("it may have arrived and is not sent again");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(inbox.messages().len(), 2, "each once");
    sandbox.sync(&config).expect(0);
    assert_eq!(inbox.messages().len(), 2);
}

#[test]
fn i5_a_dead_service_of_notifications_changes_nothing() {
    let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
    let notify = json!({"id": format!("http://127.0.0.1:9/?key={SECRET}&m=__MESSAGE__"), "timeout": 2});
    let config = endpoint.config(&notify, &json!({}));
    safe(sandbox.sync(&config).expect(0)).prints("not sent: ");
    safe(sandbox.sync(&config).expect(0));
    assert_eq!(endpoint.receiver.callbacks().len(), 1);
}

/// What was counted is not lost, and what was not reported is reported: failures of a request, and for want of an address.
#[test]
fn i5_a_kill_between_counting_and_telling_loses_nothing() {
    for ip in ["203.0.113.7", "none"] {
        let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
        let wait = Arc::new(AtomicU16::new(60));
        let own = wait.clone();
        let inbox = Inbox::responding(move |_| {
            Response::status(200).after(Duration::from_secs(own.load(Ordering::SeqCst).into()))
        });
        let notify = inbox.notify(&json!({"after": 2, "on": "failed"}));
        sandbox.write("config.json", endpoint.config(&notify, &json!({})).to_string());
        endpoint.set(500);
        endpoint.receiver.set_ip(ip);
        sandbox.run(&["-c", "config.json"]).expect(1);
        assert_eq!(inbox.events(), Vec::<String>::new());
        let mut child = sandbox.command(&["-c", "config.json"]).spawn().expect("it starts");
        until(SOON, "the notification", || !inbox.messages().is_empty());
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        wait.store(0, Ordering::SeqCst);
        sandbox.run(&["-c", "config.json"]).expect(1);
        assert_eq!(inbox.events(), ["failed", "failed"], "the killed run does not know whether it arrived");
        let message = inbox.messages()[1]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("failed 3 times in a row"), "{message}");
        sandbox.run(&["-c", "config.json"]).expect(1);
        assert_eq!(inbox.events().len(), 2);
    }
}

#[test]
fn i5_a_sign_of_life_comes_with_every_good_run() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let config = endpoint.config(&inbox.notify(&json!({"on": "synchronized"})), &json!({}));
    for (status, ip, code) in
        [(200, "203.0.113.7", 0), (200, "203.0.113.7", 0), (500, "203.0.113.8", 1), (200, "203.0.113.8", 0)]
    {
        endpoint.set(status);
        endpoint.receiver.set_ip(ip);
        sandbox.sync(&config).expect(code);
    }
    assert_eq!(inbox.events(), ["synchronized"; 3]);
    // Without a cache everything is sent, and the tally tells.
    sandbox.sync(&with(&config, &json!({"cache": false}))).expect(0);
    assert_eq!(inbox.events().len(), 4);
}

#[test]
fn i5_without_a_cache_a_single_run_says_what_it_cannot_know() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let notify = inbox.notify(&json!({"after": 1}));
    let config = endpoint.config(&notify, &json!({"cache": false}));
    for _ in 0..2 {
        safe(sandbox.sync(&config).expect(0)).prints("`cache` is off: a single run cannot report changed addresses");
    }
    assert_eq!(inbox.events(), Vec::<String>::new(), "whether it changed is not known");
    endpoint.set(500);
    sandbox.sync(&config).expect(1);
    assert_eq!(inbox.events(), ["failed"]);
}

#[test]
fn i5_it_uses_fields_of_its_own() {
    let (sandbox, endpoint) = (Sandbox::new(), Endpoint::new());
    let inbox = Inbox::responding(|_| Response::with_body(200, "{\"ok\": false}"));
    let secret = sandbox.write("secret", format!("{SECRET}\n"));
    let notify = json!({"endpoint": inbox.0.url("/"), "id": "put", "method": "PUT", "format": "form", "token": "m=__MESSAGE__",
        "headers": {"X-Key": "__KEY__"}, "extra": {"__KEY__": {"file": secret}}, "expect": {"accept": {"json": {"/ok": true}}},
        "sign": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "timeout": 5});
    let config = endpoint.config(&notify, &json!({}));
    safe(sandbox.sync(&config).expect(0)).prints("not accepted: 200 OK");
    let request = &inbox.0.callbacks()[0];
    assert_eq!((request.method(), request.target()), ("PUT", "/put"));
    assert_eq!(request.text(), "m=home.example.com+A+is+now+203.0.113.7");
    assert_eq!(request.header("x-key"), Some(SECRET));
    assert!(request.header("webhook-signature").is_some_and(|value| value.starts_with("v1,")));
}

#[test]
fn i5_a_sign_of_life_comes_after_a_changed_address_too() {
    let (sandbox, endpoint, inbox) = (Sandbox::new(), Endpoint::new(), Inbox::new());
    let notify = inbox.notify(&json!({"on": ["synchronized", "failed", "changed"]}));
    let config = endpoint.config(&notify, &json!({}));
    safe(sandbox.sync(&config).expect(0));
    assert_eq!(inbox.events(), ["changed", "synchronized"]);
    safe(sandbox.sync(&config).expect(0));
    assert_eq!(inbox.events(), ["changed", "synchronized", "synchronized"]);
}
