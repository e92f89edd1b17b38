//! E3, its end: what callbacks claim that a file no longer has is in doubt as soon as another address is sent in their place, over reloads,
//! restarts and single runs alike; what other files claim is left alone.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::watching::{SOON, Watch, host, until};
use crate::support::{Receiver, Response, Sandbox};

fn entry(receiver: &Receiver, variant: &str, domains: &[&str]) -> Value {
    json!({"provider": "callback", "id": receiver.url(&format!("/{variant}?name=__DOMAIN__&ip=__IP__")), "ipv4": domains})
}

/// A file whose entries these are.
fn file(receiver: &Receiver, entries: &[Value]) -> Value {
    json!({"index4": receiver.index4(), "proxy": "DIRECT", "cache": "cache.json", "timeout": 5, "providers": entries})
}

/// What was sent since, as `VARIANT NAME IP`.
fn sent(receiver: &Receiver) -> Vec<String> {
    let words = |target: &str| target.replace('/', "").replace("?name=", " ").replace("&ip=", " ");
    let mut all: Vec<String> = receiver.take().iter().map(|request| words(request.target())).collect();
    all.sort();
    all
}

#[test]
fn e3_a_callback_that_is_changed_and_changed_back_over_single_runs_is_sent_again() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let run = |variant: &str, ip: &str| {
        receiver.set_ip(ip);
        sandbox.sync(&file(&receiver, &[entry(&receiver, variant, &["a.example"])])).expect(0);
        sent(&receiver)
    };
    assert_eq!(run("one", "203.0.113.7"), ["one a.example 203.0.113.7"]);
    assert_eq!(run("two", "203.0.113.8"), ["two a.example 203.0.113.8"]);
    assert_eq!(run("one", "203.0.113.7"), ["one a.example 203.0.113.7"], "the endpoint has the other");
    assert!(run("one", "203.0.113.7").is_empty(), "once");
    // With the same address nothing is in doubt: whichever callback sent it, the endpoint has it.
    assert_eq!(run("two", "203.0.113.7"), ["two a.example 203.0.113.7"]);
    assert!(run("one", "203.0.113.7").is_empty() && run("two", "203.0.113.7").is_empty());
}

#[test]
fn e3_a_file_is_the_same_whichever_link_leads_to_it() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    fs::create_dir(sandbox.path("real")).expect("a folder");
    std::os::unix::fs::symlink("real", sandbox.path("link")).expect("a link");
    let run = |name: &str, variant: &str, ip: &str| {
        receiver.set_ip(ip);
        sandbox.write("real/config.json", file(&receiver, &[entry(&receiver, variant, &["a.example"])]).to_string());
        sandbox.run(&["-c", name]).expect(0);
        sent(&receiver)
    };
    run("link/config.json", "one", "203.0.113.7");
    run("real/config.json", "two", "203.0.113.8");
    assert_eq!(run("link/config.json", "one", "203.0.113.7"), ["one a.example 203.0.113.7"]);
}

#[test]
fn e3_a_domain_that_moves_to_another_entry_and_back_is_sent_again() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let run = |one: &[&str], two: &[&str], ip: &str| {
        receiver.set_ip(ip);
        sandbox.sync(&file(&receiver, &[entry(&receiver, "one", one), entry(&receiver, "two", two)])).expect(0);
        sent(&receiver)
    };
    run(&["a.example", "m.example"], &["b.example"], "203.0.113.7");
    run(&["a.example"], &["b.example", "m.example"], "203.0.113.8");
    let back = run(&["a.example", "m.example"], &["b.example"], "203.0.113.7");
    assert_eq!(back, ["one a.example 203.0.113.7", "one m.example 203.0.113.7", "two b.example 203.0.113.7"]);
}

/// The same by reloads of a service, and a restart between them.
#[test]
fn e3_a_domain_that_leaves_an_entry_by_a_reload_and_returns_is_sent_again() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let write = |one: &[&str], two: &[&str]| {
        let entries = [entry(&receiver, "one", one), entry(&receiver, "two", two)];
        sandbox.write("config.json", file(&receiver, &entries).to_string());
    };
    let comes = |wanted: &str| {
        let mut seen = Vec::new();
        until(SOON, &format!("{wanted} is sent"), || {
            seen.extend(sent(&receiver));
            seen.iter().any(|one| one == wanted)
        });
        until(SOON, "all is well", || sandbox.run(&["status"]).code == 0);
    };
    write(&["a.example", "m.example"], &["b.example"]);
    let watch = Watch::again(&sandbox);
    comes("one m.example 203.0.113.7");
    write(&["a.example"], &["b.example", "m.example"]);
    comes("two m.example 203.0.113.7");
    receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    comes("two m.example 203.0.113.8");
    watch.stop();
    receiver.set_ip("203.0.113.7");
    write(&["a.example", "m.example"], &["b.example"]);
    let watch = Watch::again(&sandbox);
    comes("one m.example 203.0.113.7");
    watch.stop();
}

#[test]
fn e3_two_files_for_one_domain_do_not_send_for_ever() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    for (name, ip) in [("one", "203.0.113.1"), ("two", "203.0.113.2")] {
        let config = with(
            &file(&receiver, &[entry(&receiver, name, &["a.example"])]),
            &json!({"index4": format!("shell:echo {ip}")}),
        );
        sandbox.write(&format!("{name}.json"), config.to_string());
    }
    let round = || {
        // However a file is named, it is the same one.
        sandbox.run(&["-c", "one.json"]).expect(0);
        sandbox.run(&["-c", &sandbox.path("two.json").display().to_string()]).expect(0);
        sandbox.run(&["-c", &sandbox.path("one.json").display().to_string()]).expect(0);
        sandbox.run(&["-c", "two.json"]).expect(0);
        sent(&receiver)
    };
    assert_eq!(round(), ["one a.example 203.0.113.1", "two a.example 203.0.113.2"]);
    assert!(round().is_empty());
    // From a cache of the last version nobody knows whose a claim is: each is sent once more at most.
    let text = sandbox.read("cache.json");
    let old: Vec<&str> =
        text.split("\"by\":").map(|part| part.split_once("],").map_or(part, |(_, rest)| rest)).collect();
    sandbox.write("cache.json", old.concat());
    sandbox.run(&["-c", "one.json"]).expect(0).says_nothing();
    let changed = sandbox.read("one.json").replace("203.0.113.1", "203.0.113.3");
    sandbox.write("one.json", changed);
    assert_eq!(round(), ["one a.example 203.0.113.3", "two a.example 203.0.113.2"]);
    assert!(round().is_empty());
}

#[test]
fn e3_nothing_is_in_doubt_where_nothing_was_sent_or_the_origin_is_another() {
    let (sandbox, receiver, other) = (Sandbox::new(), Receiver::new(), Receiver::new());
    let run = |config: &Value, code| {
        sandbox.sync(config).expect(code);
        sent(&receiver)
    };
    let one = file(&receiver, &[entry(&receiver, "one", &["a.example"])]);
    let two = file(&receiver, &[entry(&receiver, "two", &["a.example"])]);
    let elsewhere = file(&receiver, &[entry(&other, "one", &["a.example"])]);
    assert_eq!(run(&one, 0).len(), 1);
    receiver.set_ip("203.0.113.8");
    assert!(run(&with(&two, &json!({"proxy": "http://127.0.0.1:9"})), 1).is_empty());
    assert!(run(&elsewhere, 0).is_empty());
    assert_eq!(sent(&other), ["one a.example 203.0.113.8"]);
    receiver.set_ip("203.0.113.7");
    assert!(run(&one, 0).is_empty(), "this endpoint has it");
}

/// A request that failed may have been taken all the same.
#[test]
fn e3_what_a_failed_request_replaced_is_in_doubt() {
    let receiver =
        Receiver::responding(|request| Response::status(if request.target().starts_with("/two") { 500 } else { 200 }));
    let sandbox = Sandbox::new();
    let run = |variant: &str, ip: &str, code| {
        receiver.set_ip(ip);
        sandbox.sync(&file(&receiver, &[entry(&receiver, variant, &["a.example"])])).expect(code);
        sent(&receiver)
    };
    run("one", "203.0.113.7", 0);
    run("two", "203.0.113.8", 1);
    assert_eq!(run("one", "203.0.113.7", 0), ["one a.example 203.0.113.7"]);
}

/// What a later version adds to the file, this one keeps, and goes on believing the rest.
#[test]
fn e4_members_that_are_not_known_are_kept() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let config = file(&receiver, &[entry(&receiver, "one", &["a.example", "b.example"])]);
    sandbox.sync(&config).expect(0);
    assert_eq!(sent(&receiver).len(), 2);
    let mut cache: Value = serde_json::from_str(&sandbox.read("cache.json")).expect("the cache");
    cache["later"] = json!({"a": [1, {"b": "c ]}},\n"}]});
    let callbacks = cache["callbacks"].as_object_mut().expect("callbacks");
    let callback = callbacks.values_mut().next().expect("a callback");
    callback["seen"] = json!([1, 2]);
    callback["a.example A"].as_array_mut().expect("an entry").push(json!({"ttl": 60}));
    sandbox.write("cache.json", cache.to_string());
    sandbox.sync(&config).says_nothing();
    for ip in ["203.0.113.8", "203.0.113.9"] {
        receiver.set_ip(ip);
        sandbox.sync(&config).expect(0);
        assert_eq!(sent(&receiver).len(), 2);
        let text = sandbox.read("cache.json");
        let kept: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let callback = kept["callbacks"].as_object().expect("callbacks").values().next().expect("a callback");
        assert_eq!((&kept["later"], &callback["seen"]), (&cache["later"], &json!([1, 2])), "{text}");
        assert_eq!(callback["a.example A"][2], json!({"ttl": 60}), "{text}");
        assert_eq!(callback["a.example A"][0], json!(ip), "{text}");
        assert_eq!(kept["version"], 2);
    }
    assert!(!sandbox.path("cache.json.damaged").exists());
    assert_eq!(fs::read_dir(sandbox.path("")).expect("the folder").count(), 3, "configuration, cache and history");
}

/// Two views of one name, for example: neither takes the place of the other.
#[test]
fn e3_two_entries_with_one_domain_at_one_origin_are_both_up_to_date() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let entry = |path: &str, ip: &str| {
        let id = receiver.url(&format!("{path}?d=__DOMAIN__&ip=__IP__"));
        json!({"provider": "callback", "id": id, "ipv4": ["a.example"], "index4": format!("shell:echo {ip}")})
    };
    let config = json!({"providers": [entry("/in", "203.0.113.7"), entry("/out", "203.0.113.8")]});
    sandbox.sync(&config).expect(0).prints("2 accepted");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take().len(), 2);
}
