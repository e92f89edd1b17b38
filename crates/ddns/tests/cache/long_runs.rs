//! Section E and the size of things: a run that is killed, runs at the same time, ten thousand domains.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::{Received, Receiver, Response, Sandbox};

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}.example.com")).collect()
}

/// Waits until `done`, at most half a minute.
#[track_caller]
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "never came: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// What a kill may lose is the news of one second; half a second more is for a busy machine.
const AT_RISK: Duration = Duration::from_millis(1500);

#[test]
fn e4_a_kill_in_a_long_run_loses_at_most_a_second_of_news() {
    const DELAY: Duration = Duration::from_millis(60);
    let slow = Arc::new(AtomicBool::new(true));
    let responded: Arc<Mutex<Vec<(String, Instant)>>> = Arc::default();
    let (is_slow, record) = (slow.clone(), responded.clone());
    let receiver = Receiver::responding(move |request| {
        if !is_slow.load(Ordering::SeqCst) {
            return Response::status(200);
        }
        record.lock().unwrap().push((request.target().to_owned(), Instant::now() + DELAY));
        Response::status(200).after(DELAY)
    });
    let all = names("host", 120);
    let config = with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": all, "concurrency": 1}));
    let sandbox = Sandbox::new().configure(&config);
    let mut child = sandbox.command(&["-c", "config.json"]).stderr(Stdio::null()).spawn().expect("the program starts");
    wait_until("60 callbacks", || receiver.callbacks().len() >= 60);
    let killed = Instant::now();
    child.kill().expect("the program runs");
    child.wait().expect("the program ended");

    slow.store(false, Ordering::SeqCst);
    receiver.take();
    sandbox.sync(&config).expect(0).never_prints("arning");
    let again: BTreeSet<_> = receiver.take().iter().map(|one| one.target().to_owned()).collect();
    let responded = responded.lock().unwrap();
    let safe: BTreeSet<_> = responded.iter().filter(|(_, at)| *at + AT_RISK < killed).map(|(name, _)| name).collect();
    assert!(safe.len() > 10, "the run was long enough to prove something: {} safe", safe.len());
    let repeated: Vec<_> = safe.iter().filter(|name| again.contains(**name)).collect();
    assert!(repeated.is_empty(), "accepted long before the kill, and sent again: {repeated:?}");
    let known: BTreeSet<_> = responded.iter().map(|(name, _)| name.clone()).collect();
    let lost: Vec<_> = all.iter().map(|name| format!("/{name}")).filter(|name| !known.contains(name)).collect();
    assert!(lost.iter().all(|name| again.contains(name)), "what was not yet sent is sent now");
    drop(responded);
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take().len(), 0, "then all is known");
}

/// Starts one run per configuration at the same moment, waits for all, and expects exit 0 of each.
fn run_together(sandbox: &Sandbox, configs: &[Value]) {
    let children: Vec<_> = (0..configs.len())
        .map(|number| {
            let name = format!("config{number}.json");
            sandbox.write(&name, configs[number].to_string());
            let mut command = sandbox.command(&["-c", &name]);
            command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("the program ends");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{printed}");
        assert!(!printed.to_lowercase().contains("warning"), "no run finds the file damaged or in the way:\n{printed}");
    }
}

#[test]
fn e4_programs_at_once_on_one_file_lose_no_entry() {
    let receiver = Receiver::responding(|_| Response::status(204).after(Duration::from_millis(3)));
    let sandbox = Sandbox::new();
    let config = |group: usize| {
        let more = json!({"ipv4": names(&format!("g{group}h"), 25), "cache": "state/shared.json"});
        with(&home(&receiver.url("/__DOMAIN__")), &more)
    };
    let configs: Vec<_> = (0..4).map(config).collect();
    run_together(&sandbox, &configs);
    assert_eq!(receiver.take().len(), 100, "all are sent");
    run_together(&sandbox, &configs);
    let again = receiver.take();
    assert!(again.is_empty(), "{} entries were lost: {:?}", again.len(), again.first());
}

/// The slow run read the file before the quick one wrote its entry, and writes after it.
#[test]
fn e4_a_slow_run_does_not_overwrite_what_a_quick_one_wrote() {
    let receiver = Receiver::responding(|request| {
        let wait = if request.target().contains("slow") { Duration::from_millis(400) } else { Duration::ZERO };
        Response::status(204).after(wait)
    });
    let sandbox = Sandbox::new();
    let config = |prefix: &str, count: usize| {
        with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": names(prefix, count), "concurrency": 1}))
    };
    let (slow, quick) = (config("slow", 4), config("quick", 1));
    sandbox.write("slow.json", slow.to_string());
    let mut child = sandbox.command(&["-c", "slow.json"]).stderr(Stdio::null()).spawn().expect("the program starts");
    wait_until("the first slow callback", || !receiver.callbacks().is_empty());
    sandbox.sync(&quick).expect(0).prints("1 accepted");
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
    receiver.take();
    sandbox.sync(&quick).says_nothing();
    sandbox.sync(&slow).says_nothing();
    assert_eq!(receiver.take().len(), 0, "no entry is lost");
}

#[test]
fn a1_ten_thousand_domains_in_one_run() {
    const MANY: usize = 10_000;
    let receiver = Receiver::responding(|_| Response::status(204));
    let more = json!({"ipv4": names("host", MANY), "log": {"level": "WARNING"}});
    let (sandbox, config) = (Sandbox::new(), with(&home(&receiver.url("/__DOMAIN__")), &more));
    let begun = Instant::now();
    sandbox.sync(&config).expect(0);
    let seen = receiver.take();
    let different: BTreeSet<_> = seen.iter().map(Received::target).collect();
    assert_eq!((seen.len(), different.len()), (MANY, MANY), "one request for each domain");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take().len(), 0, "all are known");
    assert!(begun.elapsed() < Duration::from_secs(90), "took {:?}", begun.elapsed());
}
