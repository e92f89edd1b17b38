//! Programs as sources (F6): what they leave behind, and what they say too much.

use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::given::{home, with, without};
use crate::support::lookup::look_up;
use crate::support::watching::{SOON, until};
use crate::support::{Receiver, Sandbox};

/// Keys and passwords in our environment are not for the programs that a source runs (G2).
#[test]
fn f6_programs_get_no_secrets_of_ours() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("DDNS_TOKEN", r#"{"key": "secret-token"}"#)
        .env("DDNS_ID", receiver.url("/hook?key=secret-id"))
        .env("http_proxy", "http://user:secret-proxy@127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .env("TZ", "UTC");
    let config = without(with(&home(""), &json!({"index4": "shell:env > seen; echo 203.0.113.7"})), "id");
    sandbox.sync(&config).expect(0);
    let seen = sandbox.read("seen");
    assert!(!seen.contains("secret") && !seen.contains("DDNS_"), "{seen}");
    assert!(seen.contains("PATH=") && seen.contains("HOME=") && seen.contains("TZ=UTC"), "{seen}");
}

#[test]
fn f6_long_output_is_listened_to_as_far_as_the_limit() {
    let cases = [
        ("shell:echo 203.0.113.7; yes | head -c 200000", Some("203.0.113.7")),
        // Cut in two at the limit, the address would be another.
        ("shell:head -c 65524 /dev/zero | tr '\\0' x; printf ' 203.0.113.77\\n'; sleep 1", None),
        ("cmd:yes", None),
    ];
    for (source, expected) in cases {
        let begun = Instant::now();
        let looked_up = look_up(4, &json!(source));
        assert_eq!(looked_up.sent.as_deref(), expected, "{source}: {}", looked_up.run.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}");
    }
}

#[test]
fn f6_what_a_program_leaves_in_the_background_is_not_waited_for() {
    for source in ["shell:sleep 20 & echo 203.0.113.7", "shell:echo 203.0.113.7; yes xxxx & exit 0"] {
        let begun = Instant::now();
        let looked_up = look_up(4, &json!(source));
        assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "{source}: {}", looked_up.run.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}: {:?}", begun.elapsed());
    }
}

/// A signal from the terminal does not reach a program in a group of its own.
#[test]
fn f6_a_run_that_a_signal_ends_leaves_no_program_behind() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let hang = "shell:sleep 200 & echo $! >child.pid; wait";
        let sandbox = Sandbox::new().configure(&with(&home("http://127.0.0.1:9/"), &json!({"index4": hang})));
        // In the background of a script, signals may be ignored.
        let defaults = ["env", "--default-signal=INT,TERM,HUP"];
        let mut run = sandbox.command_by(&defaults, &[]).spawn().expect("the program starts");
        until(SOON, "the program runs", || sandbox.path("child.pid").exists() && !sandbox.read("child.pid").is_empty());
        let process = i32::try_from(run.id()).ok().and_then(Pid::from_raw).expect("a process number");
        kill_process(process, signal).expect("it runs");
        assert_eq!(run.wait().expect("it ended").signal(), Some(signal.as_raw()));
        let child = format!("/proc/{}/stat", sandbox.read("child.pid").trim());
        let state = || std::fs::read_to_string(&child).unwrap_or_default();
        until(SOON, "the child is gone", || state().is_empty() || state().contains(") Z "));
    }
}

/// Whoever starts ddns may ignore the end of children; the system then drops their status.
#[test]
fn f6_a_program_counts_where_the_starter_ignores_its_children() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let source = json!({"index4": "shell:echo 203.0.113.7; sleep 0.2"});
    sandbox.write("config.json", with(&home(&receiver.url("/")), &source).to_string());
    let starter = ["env", "--ignore-signal=CHLD"];
    assert!(sandbox.command_by(&starter, &[]).status().expect("it starts").success());
    receiver.only();
}

/// As in the background of a script.
#[test]
fn f6_a_run_whose_signals_are_ignored_rests_while_a_program_runs() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let source = json!({"index4": "shell:sleep 2; echo 203.0.113.7"});
    sandbox.write("config.json", with(&home(&receiver.url("/")), &source).to_string());
    let script = "trap '' INT TERM; \"$0\" \"$@\"; times >times";
    assert!(sandbox.command_by(&["sh", "-c", script], &[]).status().expect("sh starts").success());
    receiver.only();
    let times = sandbox.read("times");
    let seconds = |time: &str| time.split_once('m')?.1.strip_suffix('s')?.parse::<f64>().ok();
    let spent: Vec<f64> =
        times.lines().last().into_iter().flat_map(str::split_whitespace).filter_map(seconds).collect();
    assert!(spent.len() == 2 && spent.iter().sum::<f64>() < 0.7, "{times}");
}
