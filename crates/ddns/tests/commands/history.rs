//! `ddns history` (I4): what runs and services wrote down, and how the file fares.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::thread;

use serde_json::{Value, json};

use crate::support::given::{self, files, switched, with};
use crate::support::tools::{LOOPBACK, inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Receiver, Response, Sandbox, mode};

fn history_file(sandbox: &Sandbox) -> PathBuf {
    sandbox.path(".local/state/ddns/cache.json.history")
}

/// One update to the address that the receiver names.
fn basic(receiver: &Receiver) -> Value {
    with(&given::basic(receiver), &json!({"index4": receiver.index4(), "proxy": "DIRECT"}))
}

/// What `ddns history --json` gives with these arguments.
#[track_caller]
fn records(sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let arguments = [&["history"], more, &["--json", "-c", "config.json"]].concat();
    sandbox.run(&arguments).expect(0).json()
}

/// The events of some records, with what is said of each address.
fn told(records: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    records
        .iter()
        .map(|record| {
            let [event, address, previous] = ["event", "address", "previous"].map(|name| text(&record[name]));
            format!("{event} {address} {previous}")
        })
        .collect()
}

#[test]
fn i4_a_file_of_absurd_size_is_not_read() {
    let sandbox = host();
    sandbox.sync(&basic(&Receiver::new())).expect(0);
    let file = OpenOptions::new().write(true).open(history_file(&sandbox)).expect("the history");
    file.set_len(1 << 40).expect("a hole");
    let run = sandbox.run(&["history", "-c", "config.json"]).expect(1);
    run.prints("cache.json.history is larger than 4 GiB: move it away");
}

#[test]
fn i4_runs_write_down_every_outcome_and_change() {
    let sandbox = host();
    let (receiver, status) = switched(204);
    let config = basic(&receiver);
    sandbox.sync(&config).expect(0);
    sandbox.sync(&config).expect(0);
    receiver.set_ip("203.0.113.8");
    status.store(503, Ordering::Relaxed);
    sandbox.sync(&config).expect(1);
    status.store(200, Ordering::Relaxed);
    sandbox.sync(&config).expect(0);
    let all = records(&sandbox, &[]);
    assert_eq!(
        told(&all),
        ["accepted 203.0.113.7 -", "failed 203.0.113.8 203.0.113.7", "accepted 203.0.113.8 203.0.113.7"],
        "a run that sends nothing writes nothing"
    );
    assert_eq!((&all[1]["status"], &all[1]["reason"]), (&json!(503), &json!("503")));
    assert_eq!(all[0]["endpoint"].as_str(), Some(receiver.url("").trim_end_matches('/')));
    assert!(all.iter().all(|record| record["at"].as_u64() > Some(1_700_000_000) && record["ms"].is_u64()), "{all:?}");
    assert_eq!(mode(&history_file(&sandbox)), 0o600);

    let shown = sandbox.run(&["history", "--wide", "-c", "config.json"]).expect(0).stdout;
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows[0].starts_with("TIME ") && rows.len() == 4, "{shown}");
    assert!(rows[1].contains("A     203.0.113.7  accepted (204, "), "{shown}");
    assert!(rows[2].ends_with("203.0.113.8  failed: 503"), "{shown}");
    assert!(rows[3].ends_with(" ms), 203.0.113.7 before"), "{shown}");
    let narrow = sandbox.run(&["history", "-c", "config.json"]).expect(0).stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

#[test]
fn i4_history_is_filtered_by_domain_age_and_outcome() {
    let sandbox = host();
    let (receiver, status) = switched(204);
    let config = with(&basic(&receiver), &json!({"ipv4": ["a.example.com", "b.example.com"]}));
    sandbox.sync(&config).expect(0);
    status.store(500, Ordering::Relaxed);
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1);
    let count = |more: &[&str]| records(&sandbox, more).len();
    assert_eq!(count(&[]), 4);
    assert_eq!(count(&["A.example.com"]), 2);
    assert_eq!(count(&["example.com"]), 0);
    assert_eq!(count(&["b.example.com", "--failed"]), 1);
    assert_eq!(count(&["--changed"]), 2);
    assert_eq!(count(&["--since", "1h"]), 4);
    let text = fs::read_to_string(history_file(&sandbox)).expect("a history");
    fs::write(history_file(&sandbox), text.replacen("{\"at\":1", "{\"at\":", 1)).expect("it is written");
    assert_eq!(count(&["--since", "12d"]), 3, "one is of long ago now");

    for (wrong, words) in [
        (&["--since", "7"][..], "--since: error: `7` is not an age such as 12h or 7d"),
        (&["--since", "yesterday"], "is not an age"),
        (&["a..b"], "DOMAIN: error: "),
        (&["--failed", "--changed"], "only one of --failed, --changed and --group"),
    ] {
        sandbox.run(&[&["history"], wrong].concat()).expect(2).prints(words).prints("ddns help history");
    }
}

#[test]
fn i4_no_history_is_no_error_and_a_cache_that_is_off_has_none() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let empty = sandbox.run(&["history"]).expect(0).stdout;
    assert_eq!(empty, format!("No records in {}.\n", history_file(&sandbox).display()));
    assert_eq!(sandbox.run(&["history", "--json"]).expect(0).stdout, "[]\n");
    let all: Value = sandbox.run(&["history", "--all", "--json"]).expect(0).json();
    assert_eq!(all, json!([{"process": null, "configurations": [], "records": []}]));
    sandbox.sync(&with(&basic(&receiver), &json!({"cache": false}))).expect(0).never_prints("history");
    assert!(files(&sandbox.path(".local")).is_empty(), "nothing is written");
    sandbox.run(&["history", "-c", "config.json"]).expect(1).prints("no history is kept: `cache` is off");
    sandbox.run(&["-c", "config.json", "--debug"]).expect(0).prints("no history is kept: `cache` is off");
}

#[test]
fn i4_half_a_line_of_a_killed_run_costs_no_other_line() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let config = basic(&receiver);
    sandbox.sync(&config).expect(0);
    let add = |bytes: &[u8]| {
        let mut file = OpenOptions::new().append(true).open(history_file(&sandbox)).expect("a history");
        file.write_all(bytes).expect("it is written");
    };
    add(b"{\"at\":1763170000,\"event\":\"acce");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0);
    let expected = ["accepted 203.0.113.7 -", "accepted 203.0.113.8 203.0.113.7"];
    assert_eq!(told(&records(&sandbox, &[])), expected);
    // Nor does anything else that is no line of ours.
    add(b"\xff\xfe\0\n\n[]\n");
    add(&vec![b'x'; 100_000]);
    add(b"\n{\"at\":1,\"event\":\"accepted\",\"type\":\"A\",\"domain\":\"\\u001b[2J\"}\n");
    assert_eq!(told(&records(&sandbox, &[])).len(), 3);
    sandbox.run(&["history", "-c", "config.json"]).expect(0).never_prints("\u{1b}");
    sandbox.run(&["history", "-c", "config.json"]).expect(0).never_prints("xxx");
}

#[test]
fn i4_a_full_history_becomes_the_old_one() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let config = basic(&receiver);
    sandbox.sync(&config).expect(0);
    let line = fs::read_to_string(history_file(&sandbox)).expect("a history");
    let old = sandbox.path(".local/state/ddns/cache.json.history.old");
    for round in 1..=3 {
        let lines = (1 << 20) / line.len();
        fs::write(history_file(&sandbox), line.repeat(lines)).expect("it is written");
        receiver.set_ip(&format!("203.0.113.{}", 10 + round));
        sandbox.sync(&config).expect(0);
        assert_eq!(fs::metadata(&old).expect("the old one").len(), (lines * line.len()) as u64, "round {round}");
        assert!(fs::metadata(history_file(&sandbox)).expect("a new one").len() < 1000);
        assert_eq!(records(&sandbox, &[]).len(), lines + 1);
        assert_eq!(mode(&old), 0o600);
    }
    assert_eq!(files(&sandbox.path(".local/state/ddns")).len(), 3, "the cache and two files of history");
}

#[test]
fn i4_processes_at_once_lose_no_line() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let names = |at: usize| json!((0..50).map(|number| format!("h{number}.n{at}.example.com")).collect::<Vec<_>>());
    thread::scope(|scope| {
        for at in 0..8 {
            let config = with(&basic(&receiver), &json!({"ipv4": names(at)}));
            let name = format!("config-{at}.json");
            sandbox.write(&name, config.to_string());
            let sandbox = &sandbox;
            scope.spawn(move || sandbox.run(&["-c", &name]).expect(0));
        }
    });
    sandbox.write("config.json", basic(&receiver).to_string());
    assert_eq!(records(&sandbox, &[]).len(), 400);
}

#[test]
fn i4_a_full_disk_is_reported_once_and_updates_go_on() {
    let Some(()) = inside(LOOPBACK) else { return };
    let (sandbox, receiver) = (host(), Receiver::new());
    // So many that their lines need more room than the cache leaves when it is given up.
    let names: Vec<String> = (0..100).map(|number| format!("h{number}.example.com")).collect();
    let config = with(&basic(&receiver), &json!({"cache": "state/cache.json", "ipv4": names}));
    let folder = sandbox.path("state");
    let at = folder.display();
    sh(&format!("mkdir {at} && mount -t tmpfs -o size=256k tmpfs {at}"));
    sandbox.sync(&config).expect(0);
    sh(&format!("dd if=/dev/zero of={at}/fill bs=4k 2>/dev/null || true"));
    receiver.set_ip("203.0.113.8");
    let run = sandbox.sync(&config).expect(0);
    assert_eq!(run.stderr.matches("the history cannot be written").count(), 1, "{}", run.stderr);
    assert_eq!(receiver.callbacks().len(), 200);
    sh(&format!("rm {at}/fill"));
    receiver.set_ip("203.0.113.9");
    sandbox.sync(&config).expect(0).never_prints("history");
    let all = records(&sandbox, &[]);
    let last = all.iter().filter(|record| record["address"] == "203.0.113.9").count();
    assert_eq!(last, 100, "the line after half a line is whole");
    assert!(all.len() < 300, "some are lost");
}

#[test]
fn i4_what_cannot_be_a_history_is_left_alone() {
    let (sandbox, receiver) = (host(), Receiver::new());
    let config = basic(&receiver);
    fs::create_dir_all(history_file(&sandbox)).expect("a folder");
    sandbox.sync(&config).expect(0).prints("the history cannot be written (it is not a regular file)");
    sandbox.run(&["history", "-c", "config.json"]).expect(1).prints("the history cannot be shown");
    fs::remove_dir(history_file(&sandbox)).expect("it was there");
    let target = sandbox.write("elsewhere", "");
    std::os::unix::fs::symlink(&target, history_file(&sandbox)).expect("a link");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0).prints("the history cannot be written");
    assert_eq!(fs::read_to_string(target).expect("the file"), "");
}

#[test]
fn i4_a_service_writes_down_changes_and_folds_what_fails_alike() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| match number {
        1..=5 => Response::status(503).header("Retry-After", "0"),
        _ => Response::status(200),
    });
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"interval": "10s"})));
    endpoint.wait(1, SOON);
    until(SOON, "the first record", || !records(&sandbox, &[]).is_empty());
    endpoint.receiver.set_ip("203.0.113.8");
    for number in 2..=7 {
        sandbox.run(&["sync"]);
        endpoint.wait(number, SOON);
    }
    until(SOON, "the last record", || records(&sandbox, &["--changed"]).len() == 3);
    // The service says where its history is, whatever the folder of whoever asks.
    let elsewhere = sandbox.command(&["history", "--json"]).env("HOME", "/nonexistent").output().expect("it starts");
    let all: Vec<Value> = serde_json::from_slice(&elsewhere.stdout).expect("records");
    assert_eq!(
        told(&all),
        [
            "accepted 203.0.113.7 -",
            "address 203.0.113.8 203.0.113.7",
            "failed 203.0.113.8 203.0.113.7",
            "failed 203.0.113.8 203.0.113.7",
            "failed 203.0.113.8 203.0.113.7",
            "accepted 203.0.113.8 203.0.113.7",
        ]
    );
    let attempts: Vec<u64> = all.iter().map(|record| record["attempt"].as_u64().unwrap_or(1)).collect();
    assert_eq!(attempts, [1, 1, 1, 2, 4, 6]);
    watch.stop();
    let restarted = Watch::again(&sandbox);
    restarted.prints("watching");
    assert_eq!(records(&sandbox, &[]).len(), 6, "it survives a restart");
    restarted.stop();
}

#[test]
fn i4_nothing_secret_is_written_down() {
    let sandbox = host();
    let receiver = Receiver::responding(|_| Response::with_body(200, "bad s3cret-key and s3cret-token"));
    let config = with(
        &basic(&receiver),
        &json!({"id": receiver.url("/update/s3cret-path?key=s3cret-key&ip=__IP__"), "token": "{\"t\": \"s3cret-token\"}",
            "headers": {"Authorization": "Bearer s3cret-header"}, "expect": {"accept": [{"body": "fine"}]},
            "index4": ["url:http://127.0.0.1:1/?k=s3cret-source", receiver.index4()]}),
    );
    sandbox.sync(&config).expect(1);
    let written = fs::read_to_string(history_file(&sandbox)).expect("a history");
    assert!(written.contains("source_failed") && written.contains("\"failed\""), "{written}");
    assert!(!written.contains("s3cret"), "{written}");
}

#[test]
fn i4_a_reader_that_goes_away_is_no_error() {
    let (sandbox, receiver) = (host(), Receiver::new());
    sandbox.sync(&basic(&receiver)).expect(0);
    let line = fs::read_to_string(history_file(&sandbox)).expect("a history");
    fs::write(history_file(&sandbox), line.repeat(20_000)).expect("it is written");
    for form in ["--json", "--wide"] {
        let mut child = sandbox
            .command(&["history", form, "-c", "config.json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{form}");
    }
}
