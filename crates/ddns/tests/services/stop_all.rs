//! H5, `"all": true`: a wrong key is tried once, not once for each domain.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::given::{ends, targets, with};
use crate::support::watching::{SOON, Watch, host, status, until};
use crate::support::{Receiver, Response, Sandbox};

/// A receiver that says no until its key is right.
fn locked(status: u16, no: &'static str) -> (Receiver, Arc<AtomicBool>) {
    let is_right = Arc::new(AtomicBool::new(false));
    let key = Arc::clone(&is_right);
    let receiver = Receiver::responding(move |_| {
        let (status, words) = if key.load(Ordering::SeqCst) { (200, "good") } else { (status, no) };
        Response::with_body(status, words)
    });
    (receiver, is_right)
}

/// So many domains, one after the other.
fn domains(count: usize, receiver: &Receiver, expect: &Value) -> Value {
    let names: Vec<String> = (0..count).map(|number| format!("n{number}.example.com")).collect();
    let id = receiver.url("/?d=__DOMAIN__&ip=__IP__");
    json!({"dns": "callback", "id": id, "ipv4": names, "index4": receiver.index4(), "expect": expect, "concurrency": 1})
}

#[test]
fn h5_with_a_wrong_key_40_domains_make_one_request() {
    let cases = [
        (json!("dyndns2"), 200, "badauth"),
        (json!("dyndns2"), 401, "badauth"),
        (json!({"stop": {"status": [401, 403], "all": true}}), 403, "forbidden"),
        (json!({"stop": [{"body": "^x"}, {"body": "wrong key", "all": true}]}), 200, "wrong key"),
    ];
    for (expect, code, words) in cases {
        let (receiver, is_right) = locked(code, words);
        let (sandbox, config) = (Sandbox::new(), domains(40, &receiver, &expect));
        let run = sandbox.sync(&config).expect(1);
        run.prints(words).prints("1 failed, 39 stopped");
        assert_eq!(receiver.callbacks().len(), 1, "{expect}");

        receiver.set_ip("203.0.113.8");
        let again = sandbox.sync(&config).expect(1).prints("40 stopped").prints("--retry-stopped");
        again.never_prints("waiting");
        assert_eq!(receiver.callbacks().len(), 1, "{expect}: the next run sends nothing");
        let shown = sandbox.run(&["status"]).stdout;
        assert_eq!(shown.matches(&format!("stopped: the service said `{words}`")).count(), 40, "{shown}");

        is_right.store(true, Ordering::SeqCst);
        sandbox.run(&["-c", "config.json", "--retry-stopped"]).expect(0).prints("40 accepted");
        assert_eq!(receiver.callbacks().len(), 41, "{expect}");
    }
}

#[test]
fn h5_a_stop_without_all_is_about_its_update_alone() {
    for (expect, words) in [(json!("dyndns2"), "nohost"), (json!({"stop": {"body": "no", "all": false}}), "no")] {
        let (receiver, _) = locked(200, words);
        Sandbox::new().sync(&domains(4, &receiver, &expect)).expect(1).prints("4 failed");
        assert_eq!(receiver.callbacks().len(), 4, "{expect}");
    }
}

#[test]
fn h5_all_means_all_of_the_entry_and_a_changed_callback_ends_it() {
    let (receiver, is_right) = locked(200, "badauth");
    let other = Receiver::new();
    let config = domains(3, &receiver, &json!("dyndns2"));
    let entry = |id: String, expect: Value| json!({"provider": "callback", "id": id, "expect": expect});
    let two = json!({
        "ipv4": config["ipv4"], "index4": config["index4"], "concurrency": 1,
        "providers": [
            entry(receiver.url("/?d=__DOMAIN__"), json!("dyndns2")),
            entry(other.url("/?d=__DOMAIN__"), json!({"accept": {"status": 200}})),
        ],
    });
    let sandbox = Sandbox::new();
    sandbox.sync(&two).expect(1).prints("1 failed, 2 stopped, 3 accepted");
    assert_eq!((receiver.callbacks().len(), other.callbacks().len()), (1, 3));
    is_right.store(true, Ordering::SeqCst);
    let mut changed = two;
    changed["providers"][0]["id"] = json!(receiver.url("/?d=__DOMAIN__&key=right"));
    sandbox.sync(&changed).expect(0).prints("3 accepted");
}

/// Those under way may end; nothing new starts.
#[test]
fn h5_with_several_requests_at_once_no_more_than_those_are_made() {
    let (receiver, _) = locked(200, "badauth");
    let config = with(&domains(40, &receiver, &json!("dyndns2")), &json!({"concurrency": 4}));
    Sandbox::new().sync(&config).expect(1);
    assert!((1..=4).contains(&receiver.callbacks().len()), "{}", receiver.callbacks().len());
    // As many as there are domains, at most one with `auto`, which begins with one.
    let (receiver, _) = locked(200, "badauth");
    Sandbox::new().sync(&with(&config, &json!({"id": receiver.url("/"), "concurrency": "auto"}))).expect(1);
    assert_eq!(receiver.callbacks().len(), 1);
}

#[test]
fn h5_without_a_cache_all_are_stopped_for_the_run_too() {
    let (receiver, _) = locked(200, "badauth");
    let config = with(&domains(40, &receiver, &json!("dyndns2")), &json!({"cache": false}));
    let run = Sandbox::new().sync(&config).expect(1).prints("39 stopped");
    run.prints("It is not sent again until the next run: nothing is remembered without a cache.");
    assert_eq!(receiver.callbacks().len(), 1);
}

/// H7: line n is about domain n, and a line may be about all of the entry.
#[test]
fn h5_a_line_about_the_key_stops_all_of_the_entry() {
    for (lines, stopped) in [("badauth", 38), ("good\nbadauth", 38)] {
        let (receiver, _) = locked(200, lines);
        let id = receiver.url("/?d=__DOMAINS__&ip=__IP__");
        let config = with(&domains(40, &receiver, &json!("dyndns2")), &json!({"id": id, "combine": {"domains": 2}}));
        let sandbox = Sandbox::new();
        sandbox.sync(&config).expect(1).prints(&format!("{stopped} stopped"));
        receiver.set_ip("203.0.113.8");
        sandbox.sync(&config).expect(1).prints("40 stopped");
        assert_eq!(receiver.callbacks().len(), 1, "{lines}");
    }
}

/// A6: the key of one domain says nothing about those of others.
#[test]
fn h5_badauth_leaves_domains_with_keys_of_their_own_alone() {
    let receiver = Receiver::responding(|request| {
        Response::with_body(200, if request.target().contains("key=wrong") { "badauth" } else { "good" })
    });
    let id = receiver.url("/?d=__DOMAIN__&ip=__IP__&key=__KEY__");
    let domain = |name: &str, key: &str| json!({"name": name, "extra": {"__KEY__": key}});
    let names = json!([
        domain("a.example.com", "wrong"),
        domain("b.example.com", "right"),
        domain("c.example.com", "wrong"),
        "d.example.com"
    ]);
    let more = json!({"id": id, "ipv4": names, "extra": {"__KEY__": "right"}});
    let config = with(&domains(1, &receiver, &json!("dyndns2")), &more);
    Sandbox::new().sync(&config).expect(1).prints("1 failed, 1 stopped, 2 accepted");
    let asked: Vec<String> = targets(&receiver).iter().map(|target| target[4..5].to_owned()).collect();
    assert_eq!(asked, ["a", "b", "d"], "c has the key that was refused");
    // Who writes a condition knows what it is about: the ids of records differ, the key does not.
    let config = with(&config, &json!({"expect": {"stop": {"body": "badauth", "all": true}}}));
    receiver.take();
    Sandbox::new().sync(&config).expect(1).prints("3 stopped");
    assert_eq!(receiver.callbacks().len(), 1);
}

/// Each stays stopped until its own address is another; the other family is not that.
#[test]
fn h5_all_until_the_address_changes_is_about_the_address_of_each() {
    let (receiver, is_right) = locked(200, "not from here");
    let expect = json!({"stop": {"body": "not from here", "until": "address", "all": true}});
    let more = json!({"ipv6": ["n0.example.com"], "index6": "shell:echo 2001:db8::7"});
    let (sandbox, config) = (Sandbox::new(), with(&domains(3, &receiver, &expect), &more));
    sandbox.sync(&config).expect(1).prints("1 failed").prints("3 stopped");
    sandbox.sync(&config).expect(1).prints("4 stopped");
    assert_eq!(receiver.callbacks().len(), 1);
    is_right.store(true, Ordering::SeqCst);
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1).prints("3 accepted").prints("1 stopped");
}

#[test]
fn h5_a_service_stops_all_over_a_restart_until_somebody_says_so() {
    let sandbox = host();
    let (receiver, is_right) = locked(200, "badauth");
    let more =
        json!({"interval": "30s", "ipv6": ["n0.example.com", "n1.example.com"], "index6": "shell:echo 2001:db8::7"});
    let config = with(&domains(5, &receiver, &json!("dyndns2")), &more);
    let all = |state: &str| {
        let (shown, _) = status(&sandbox);
        let updates = shown["updates"].as_array().cloned().unwrap_or_default();
        updates.len() == 7 && updates.iter().all(|update| update["state"] == state)
    };
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "all to be stopped", || all("stopped"));
    assert_eq!(status(&sandbox).0["updates"][6]["reason"], "badauth");
    receiver.set_ip("203.0.113.8");
    sandbox.run(&["sync"]).expect(1);
    watch.stop();
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "all to be stopped again", || status(&sandbox).1 == 1 && all("stopped"));
    assert_eq!(receiver.callbacks().len(), 1);
    is_right.store(true, Ordering::SeqCst);
    sandbox.run(&["sync", "--retry-stopped"]).expect(0);
    until(SOON, "all to be accepted", || all("up_to_date"));
    assert_eq!(receiver.callbacks().len(), 8);
    drop(watch);
}

/// What was under way then and failed is stopped as well: its retry would be one more try with the wrong key.
#[test]
fn h5_a_request_under_way_that_fails_is_not_retried() {
    let sandbox = host();
    let order = Arc::new(AtomicUsize::new(0));
    let (said, is_said) = std::sync::mpsc::channel();
    let is_said = Mutex::new(is_said);
    let receiver = Receiver::responding({
        let order = Arc::clone(&order);
        move |_| {
            if order.fetch_add(1, Ordering::SeqCst) == 0 {
                let _ = is_said.lock().unwrap().recv_timeout(SOON);
                return Response::status(500).after(Duration::from_millis(200));
            }
            let _ = said.send(());
            Response::with_body(200, "badauth")
        }
    });
    let more = json!({"interval": "30s", "concurrency": 2, "index4": "shell:echo 203.0.113.7"});
    let watch = Watch::start(&sandbox, &with(&domains(6, &receiver, &json!("dyndns2")), &more));
    let is_stopped = |update: &Value| update["state"] == "stopped";
    until(SOON, "all to be stopped", || {
        let (shown, _) = status(&sandbox);
        shown["updates"].as_array().is_some_and(|updates| updates.len() == 6 && updates.iter().all(is_stopped))
    });
    assert_eq!(order.load(Ordering::SeqCst), 2);
    watch.prints("500");
    assert_eq!(watch.lines_with("retry in"), 0);
    drop(watch);
}

#[test]
fn h5_all_belongs_to_a_condition_of_stop() {
    let receiver = Receiver::new();
    for (expect, sentence) in [
        (json!({"stop": {"body": "x", "all": "yes"}}), "`expect.stop.all` cannot be"),
        (json!({"wait": {"body": "x", "all": true}}), "`expect.wait.all` cannot be"),
        (json!({"stop": {"all": true}}), "has an empty condition"),
    ] {
        let run = Sandbox::new().sync(&domains(1, &receiver, &expect));
        ends(&run, 2, &expect.to_string());
        assert!(run.stderr.contains(sentence), "{expect}: {}", run.stderr);
    }
    assert!(receiver.callbacks().is_empty());
}
