//! What programs read: one JSON document in every case, and nothing in it that is not so.

use std::fs;

use serde_json::{Value, json};

use crate::support::watching::{Endpoint, SOON, Watch, host, status, until};
use crate::support::{Response, Sandbox};

/// The document that a command prints.
#[track_caller]
fn document(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    sandbox.run(arguments).expect(code).json()
}

fn write(sandbox: &Sandbox, config: &Value) {
    sandbox.write("config.json", config.to_string());
}

#[test]
fn a8_an_example_has_no_commands_in_json_and_requests_that_go_together_say_so() {
    let sandbox = host();
    let step = json!({"id": "/find", "take": {"/id": "__ID__"}});
    let entry = json!({"dns": "callback", "id": "http://127.0.0.1:9/__ID__?ip=__IP__", "ipv4": ["a.example.com"],
        "index4": "shell:false", "before": step, "proxy": "DIRECT"});
    write(&sandbox, &entry);
    let example = ["preview", "-c", "config.json", "--json", "--curl", "--ip", "198.51.100.1"];
    let shown = document(&sandbox, &example, 0);
    assert_eq!((&shown[0]["example"], &shown[0]["curl"]), (&json!(true), &json!(null)), "{shown:#}");
    let commands: Vec<&Value> = shown[0]["requests"].as_array().expect("both").iter().map(|one| &one["curl"]).collect();
    assert_eq!(commands, [&Value::Null; 2], "{shown:#}");
    let batch = json!({"dns": "callback", "id": "http://127.0.0.1:9/?d=__DOMAINS__&ip=__IP__", "combine": {"domains": 9},
        "ipv4": ["a.example.com", "b.example.com"], "index4": "shell:echo 203.0.113.7", "proxy": "DIRECT"});
    write(&sandbox, &batch);
    let shown = document(&sandbox, &["preview", "-c", "config.json", "--json"], 0);
    assert_eq!([0, 1].map(|at| shown[at]["together"].clone()), [json!(null), json!(true)], "{shown:#}");
}

#[test]
fn f1_addresses_for_programs_name_the_domains_of_each_source() {
    let sandbox = host();
    let source = |domain: &str, source: &str| json!({"provider": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "ipv4": [domain], "index4": source});
    let both = [source("a.example.com", "shell:false"), source("b.example.com", "shell:echo 203.0.113.5")];
    write(&sandbox, &json!({"providers": both}));
    let found = document(&sandbox, &["addresses", "-c", "config.json", "--json"], 0);
    assert_eq!(found["chosen"]["A"]["ip"], "203.0.113.5", "{found:#}");
    let domains: Vec<&Value> = found["sources"].as_array().expect("a list").iter().map(|one| &one["domains"]).collect();
    assert_eq!(domains, [&json!(["a.example.com"]), &json!(["b.example.com"])], "{found:#}");
}

#[test]
fn h12_l14_what_has_nothing_to_tell_is_json_too() {
    let sandbox = host();
    write(&sandbox, &json!({"dns": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "ipv4": ["a.example.com"]}));
    let import = document(&sandbox, &["import", "config.json", "new.json", "--json"], 0);
    assert_eq!((&import["client"], &import["written"]), (&json!("ddns"), &json!(false)));
    sandbox.write("wrong.json", "{\"name\": 7}");
    let check = document(&sandbox, &["recipes", "check", "wrong.json", "--json"], 2);
    assert!(!check["errors"].as_array().expect("a list").is_empty(), "{check:#}");
    assert_eq!(document(&sandbox, &["recipes", "zzzz", "--json"], 1), json!([]));
    let each = document(&sandbox, &["recipes", "show", "he-net", "--json"], 0)["questions"][0]["each"].clone();
    assert_eq!(each, "domain");
    assert_eq!(document(&sandbox, &["recipes", "show", "healthchecks", "--json"], 0)["families"], json!(null));
    sandbox.run(&["status", "--alive", "--json"]).expect(2).prints("--alive has no --json");
}

#[test]
fn i3_without_a_cache_and_a_service_nothing_is_said_of_updates() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.sync(&endpoint.config(&json!({"cache": false}))).expect(0);
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(3);
    assert!(run.stdout.contains("Nothing is remembered between runs: `cache` is off."), "{}", run.stdout);
    assert!(!run.stdout.contains("in doubt"), "{}", run.stdout);
}

#[test]
fn i4_of_a_history_that_cannot_be_read_the_others_are_still_shown() {
    let sandbox = host();
    let endpoint = Endpoint::new();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("accepted");
    let history = sandbox.path(".local/state/ddns/cache.json.history");
    let _ = fs::remove_file(&history);
    fs::create_dir(&history).expect("a folder in its place");
    let all = document(&sandbox, &["history", "--all", "--json"], 1);
    assert_eq!(all[0]["records"], json!(null), "{all:#}");
    assert!(all[0]["process"].is_number(), "{all:#}");
    watch.stop();
}

#[test]
fn i3_an_update_that_waits_for_its_endpoint_keeps_its_failures() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(500));
    let names: Vec<String> = (0..4).map(|number| format!("n{number}.example.com")).collect();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": names, "interval": "1h"})));
    until(SOON, "each to fail", || names.iter().all(|name| watch.lines_with(&format!("{name} A")) > 0));
    let report = status(&sandbox).0;
    for row in report["updates"].as_array().expect("a list") {
        assert!(row["failures"].as_u64().is_some_and(|failures| failures > 0), "{report:#}");
    }
    watch.stop();
}
