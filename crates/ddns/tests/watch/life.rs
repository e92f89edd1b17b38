//! `ddns watch`: how it starts, how it ends, and that there is one for each cache.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::watching::{Endpoint, SOON, Watch, host, ms, sockets, status, until};
use crate::support::{Response, mode};

#[test]
fn watch_sends_at_once_and_stays() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let begun = Instant::now();
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    let first = endpoint.wait(1, SOON);
    assert!(first.at - begun < Duration::from_secs(3), "{:?}", first.at - begun);
    assert_eq!((first.name(), first.ip()), ("home.example.com", "203.0.113.7"));
    thread::sleep(ms(700));
    assert!(watch.is_running(), "{}", watch.log());
    assert_eq!(endpoint.count(), 1);
    let log = watch.stop();
    assert!(log.contains("watching 1 record") && log.contains("every 5 min"), "{log}");
    // What was accepted is remembered by the next one.
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(endpoint.count(), 1);
    assert_eq!(mode(&sandbox.cache_file()), 0o600);
}

#[test]
fn watch_a_plain_run_with_an_interval_keeps_running() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({"interval": "90s"})).to_string());
    let mut watch = Watch::run(sandbox.command(&["-c", "config.json"]));
    endpoint.wait(1, SOON);
    thread::sleep(ms(500));
    assert!(watch.is_running(), "{}", watch.log());
    let (report, _) = status(&sandbox);
    assert!(report["next_in"].as_u64().is_some_and(|next| (75..=99).contains(&next)), "{report:#}");
    assert!(watch.stop().contains("every 90 s"));
}

#[test]
fn watch_synchronizes_again_at_the_interval() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"interval": "10s"})));
    let first = endpoint.wait(1, SOON);
    endpoint.receiver.set_ip("203.0.113.8");
    let second = endpoint.wait(2, ms(15_000));
    assert_eq!(second.ip(), "203.0.113.8");
    let gap = second.at - first.at;
    assert!(gap > ms(8500) && gap < ms(13_000), "10 s, a tenth more or less: {gap:?}");
    watch.stop();
}

/// Both signals: what is under way is waited for and remembered, what waits for its turn is not begun.
#[test]
fn watch_a_signal_lets_the_request_under_way_end_and_starts_nothing_new() {
    for signal in [Signal::TERM, Signal::INT] {
        let sandbox = host();
        let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(1000)));
        let domains = json!(["a.example.com", "b.example.com"]);
        let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": domains, "concurrency": 1})));
        endpoint.wait(1, SOON);
        let asked = Instant::now();
        watch.signal(signal);
        assert_eq!(watch.ended(SOON), 0, "{signal:?}: {}", watch.log());
        assert!(asked.elapsed() > ms(700) && asked.elapsed() < ms(4000), "{signal:?}: {:?}", asked.elapsed());
        assert_eq!(endpoint.count(), 1, "{signal:?}");
        until(SOON, "a line about it", || watch.log().contains("a.example.com A 203.0.113.7: accepted"));
        let run = sandbox.run(&["-c", "config.json"]).expect(0);
        let names: Vec<String> = endpoint.arrivals().iter().map(|arrival| arrival.name().to_owned()).collect();
        assert_eq!(names, ["a.example.com", "b.example.com"], "{signal:?}: the first was saved: {}", run.stderr);
    }
}

#[test]
fn watch_a_request_that_hangs_is_given_five_seconds() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(30_000)));
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    let asked = Instant::now();
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(SOON), 0, "{}", watch.log());
    assert!(asked.elapsed() > ms(4500) && asked.elapsed() < ms(8000), "{:?}", asked.elapsed());
    assert_eq!(sockets(&sandbox), [] as [&Path; 0]);
}

/// What was cut off may have arrived: it is not taken for accepted, nor for never sent.
#[test]
fn e4_a_request_that_is_cut_off_at_the_end_is_in_doubt_and_sent_again() {
    let sandbox = host();
    let hangs = |number| if number == 1 { ms(30_000) } else { ms(0) };
    let endpoint = Endpoint::responding(move |number| Response::status(204).after(hangs(number)));
    // Another process waits for the rest of it.
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({"timeout": 8})));
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    endpoint.wait(2, SOON);
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(SOON), 0, "{}", watch.log());
    let (now, _) = status(&sandbox);
    let update = &now["updates"][0];
    assert_eq!((&update["state"], &update["accepted_address"]), (&json!("in_doubt"), &json!("203.0.113.7")), "{now:#}");
    // Back at the old address it must be sent too: the endpoint may have the other one.
    endpoint.receiver.set_ip("203.0.113.7");
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.8", "203.0.113.7"]);
    sandbox.run(&["-c", "config.json"]).says_nothing();
}

/// A reload waits for what is under way; a signal meanwhile does not take its time away.
#[test]
fn watch_a_signal_during_a_reload_lets_the_request_under_way_end() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(2500)));
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    sandbox.write("config.json", endpoint.config(&json!({"timeout": 50})).to_string());
    watch.signal(Signal::HUP);
    watch.prints("the configuration changed: reloading");
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(SOON), 0, "{}", watch.log());
    until(SOON, "the end of the log", || watch.log().contains("stopped"));
    assert_eq!(watch.lines_with("home.example.com A 203.0.113.7: accepted"), 1, "{}", watch.log());
    sandbox.run(&["-c", "config.json"]).says_nothing();
    assert_eq!(endpoint.count(), 1);
}

#[test]
fn watch_a_second_signal_ends_it_at_once() {
    for signals in [[Signal::TERM, Signal::TERM], [Signal::INT, Signal::TERM]] {
        let sandbox = host();
        let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(30_000)));
        let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
        endpoint.wait(1, SOON);
        watch.signal(signals[0]);
        thread::sleep(ms(300));
        assert!(watch.is_running(), "one waits: {}", watch.log());
        let asked = Instant::now();
        watch.signal(signals[1]);
        watch.ended(ms(1500));
        assert!(asked.elapsed() < ms(1500), "{:?}", asked.elapsed());
        assert_eq!(sockets(&sandbox), [] as [&Path; 0]);
    }
}

/// A source that takes its time is no request: it is not waited for, and is not left behind either.
#[test]
fn watch_a_command_that_runs_as_a_source_ends_with_the_service() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "shell:echo $$ >pid; sleep 25"})));
    let pid = sandbox.path("pid");
    let written = || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
    until(SOON, "the command runs", written);
    let process = format!("/proc/{}", sandbox.read("pid").trim());
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(ms(3000)), 0, "{}", watch.log());
    until(ms(3000), "the command ends", || {
        fs::read_to_string(format!("{process}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
}

#[test]
fn watch_a_second_one_on_the_same_cache_reports_who_holds_it() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut first = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    let second = sandbox.run(&["watch", "-c", "config.json"]).expect(1);
    second.prints(&format!("process {}", first.process())).prints("cache");
    assert!(first.is_running() && endpoint.count() == 1);
    assert_eq!(status(&sandbox).1, 0, "the first is still heard");
    // On another cache there may be another, and both are asked by name.
    sandbox.write("other.json", endpoint.config(&json!({"cache": "other-cache.json"})).to_string());
    let other = Watch::run(sandbox.command(&["watch", "-c", "other.json"]));
    endpoint.wait(2, SOON);
    until(SOON, "two sockets", || sockets(&sandbox).len() == 2);
    assert_eq!(status(&sandbox).0["process"], first.process());
    other.stop();
    first.stop();
    assert_eq!(sockets(&sandbox), [] as [&Path; 0]);
}

#[test]
fn watch_one_that_was_killed_is_not_in_the_way() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut first = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    first.prints("accepted");
    first.signal(Signal::KILL);
    assert_eq!(first.ended(SOON), -1);
    let second = Watch::again(&sandbox);
    second.prints("watching");
    until(SOON, "it responds", || {
        sandbox.run(&["status", "-c", "config.json"]).stdout.contains(&format!("process {}", second.process()))
    });
    second.stop();
    assert_eq!(sockets(&sandbox), [] as [&Path; 0]);
}
