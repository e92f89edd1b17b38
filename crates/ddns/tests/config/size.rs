//! Large configurations, right, wrong or hostile: the cost grows with the size and not with its square, what is reported
//! stays readable, and memory has a limit (B8).
//!
//! The times are far above what a linear cost takes here, also on a busy machine, and far below what the square of it would.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::{ends, home, with};
use crate::support::large::{CASES, keys};
use crate::support::{Receiver, Response, Run, Sandbox};

const LIMIT: Duration = Duration::from_secs(30);

/// Runs the program on this text; fails where it takes longer than [`LIMIT`].
#[track_caller]
fn in_time(text: &str, arguments: &[&str], case: &str) -> Run {
    let sandbox = Sandbox::new();
    sandbox.write("config.json", text);
    let mut command = sandbox.command(&[arguments, &["-c", "config.json"]].concat());
    let [out, err] = ["out", "err"].map(|name| std::fs::File::create(sandbox.path(name)).expect("a file"));
    let mut child = command.stdout(Stdio::from(out)).stderr(Stdio::from(err)).spawn().expect("the program starts");
    let begun = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status.code().unwrap_or(-1);
        }
        if begun.elapsed() > LIMIT {
            child.kill().and_then(|()| child.wait()).expect("a child of ours");
            panic!("{case}: {arguments:?} takes more than {LIMIT:?}");
        }
        sleep(Duration::from_millis(5));
    };
    Run { code, stdout: sandbox.read("out"), stderr: sandbox.read("err") }
}

/// Checks a part of the cases, so that they run side by side.
fn check_every_third(first: usize) {
    for (case, text) in CASES.iter().skip(first).step_by(3) {
        let text = text(5_000);
        let run = in_time(&text, &["check"], case);
        assert!([0, 2].contains(&run.code), "{case}: {run:?}");
        // Every entry is listed with its settings; a long value may be shown whole.
        let most = if case.contains("entries") { 20_000_000 } else { text.len() + 50_000 };
        assert!(run.stdout.len() < most, "{case}: nobody reads {} bytes", run.stdout.len());
    }
}

#[test]
fn b8_a_large_configuration_is_checked_in_time_1() {
    check_every_third(0);
}

#[test]
fn b8_a_large_configuration_is_checked_in_time_2() {
    check_every_third(1);
}

#[test]
fn b8_a_large_configuration_is_checked_in_time_3() {
    check_every_third(2);
}

#[test]
fn b8_many_errors_are_counted_and_the_first_ones_shown() {
    let domains: Vec<String> = (0..1234).map(|at| format!("host..{at}")).collect();
    let config = with(&home("http://127.0.0.1:9/"), &json!({"ipv4": domains, "ttl": "ten", "tll": 5}));
    let run = Sandbox::new().sync(&config).expect(2);
    let run = run.prints("`host..17`").prints("1,215 more errors are not shown").prints("unknown field `tll`");
    assert_eq!(run.stderr.matches("is not a domain name").count(), 19, "{}", run.stderr);

    let sandbox = Sandbox::new().configure(&config);
    sandbox.run(&["check", "-c", "config.json"]).expect(2).shows("\n1,235 errors, 1 warning.");
}

#[test]
fn b8_a_file_that_is_too_large_is_refused() {
    let run = in_time(&" ".repeat((16 << 20) + 1), &[], "more than 16 MiB");
    ends(&run, 2, "more than 16 MiB");
    run.prints("config.json: error: the configuration is larger than 16 MiB");
}

/// Too many values: in a list of domains, in nothing at all, in a text.
#[test]
fn b8_a_hostile_file_is_refused_in_time() {
    let ones = "1,".repeat(1_100_000);
    let names = "a,".repeat(1_100_000);
    let cases = [
        (format!("{{\"dns\":\"callback\",\"ipv4\":[{ones}1]}}"), "more than 1,000,000 values"),
        (format!("[{ones}"), "more than 1,000,000 values"),
        (format!("{{\"ipv4\":\"[{ones}1]\"}}"), "more than 1,000,000 items"),
        (format!("{{\"ipv4\":\"{names}a\"}}"), "more than 1,000,000 items"),
        (format!("{{\"token\":\"[{ones}1]\"}}"), "more than 1,000,000 values"),
    ];
    for (text, why) in cases {
        let run = in_time(&text, &[], &text[..30]);
        ends(&run, 2, &text[..30]);
        assert!(run.stderr.len() < 20_000, "{}", run.stderr.len());
        run.prints(why);
    }
}

/// What stands outside of `providers` is read for each entry.
#[test]
fn b8_too_many_entries_cannot_inherit_too_much() {
    let domains = "a.example,".repeat(100_000);
    let entries = "{\"provider\":\"callback\"},".repeat(100_000);
    let text = format!("{{\"id\":\"http://127.0.0.1:9/\",\"ipv4\":\"{domains}\",\"providers\":[{entries}]}}");
    let run = in_time(&text, &["check"], "many entries inherit many domains");
    ends(&run, 2, "many entries inherit many domains");
    assert!(run.stdout.contains("100,000 entries"), "{}", run.stdout);
}

/// Each failure is a line of the log, and each line is searched for all keys.
#[test]
fn g2_many_keys_are_masked_in_time() {
    let run = in_time(&keys(2000), &[], "2,000 entries with a key each");
    ends(&run, 1, "nobody listens");
    assert!(run.stderr.contains("Connection refused") || run.stderr.contains("refused"), "{:.1000}", run.stderr);
}

#[test]
fn g2_a_hostile_response_is_masked_in_time() {
    let receiver = Receiver::responding(|_| Response::with_body(200, &"&".repeat(60_000)));
    let token: Vec<String> = (0..40).map(|at| format!("&&&&&&&&key-{at}")).collect();
    let config = with(&home(&receiver.url("/")), &json!({"token": token, "debug": true}));
    ends(&in_time(&config.to_string(), &[], "a response of ampersands"), 0, "a response of ampersands");
}

#[test]
fn b8_an_error_counts_however_many_warnings_there_are() {
    let unknown: Vec<String> = (0..100_001).map(|number| format!("\"u{number}\":1,")).collect();
    let unknown = unknown.concat();
    let text = format!(
        "{{{unknown}\"dns\":\"callback\",\"id\":\"http://127.0.0.1:9/\",\"ipv4\":\"a.example\",\"timeout\":0}}"
    );
    let run = in_time(&text, &["check"], "an error after 100,001 warnings");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stdout.contains("`timeout` must be") && run.stdout.contains("more warnings are not shown"), "{run:?}");
}
