//! Nothing that came from outside drives a terminal: neither control characters nor those that turn or hide text are printed.

use serde_json::{Value, json};

use crate::support::etcd::Etcd;
use crate::support::given::{home, with};
use crate::support::members::Member;
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Receiver, Response, Run};

/// Begins a command of a terminal, turns a line around, hides a letter, and would begin a line.
const HARMFUL: &str = "x\u{1b}[2Jy\u{9b}31mz\u{202e}w\u{2066}v\u{200b}u\u{7f}";

#[track_caller]
fn is_harmless(run: &Run) {
    let is_harmful = |letter: &char| {
        (letter.is_control() && *letter != '\n')
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    let all = format!("{}{}", run.stdout, run.stderr);
    assert_eq!(all.chars().find(is_harmful), None, "{all:?}");
}

/// What an endpoint says: the host of a redirection, a body, the words of a refusal.
#[test]
fn g3_no_response_drives_the_terminal() {
    let location = format!("http://no{}host/", HARMFUL.replace(['\u{1b}', '\u{7f}'], ""));
    let redirect = move |_: &_| Response::status(302).header("Location", &location);
    let body = |_: &_| Response::with_body(500, HARMFUL);
    let words = |_: &_| Response::with_body(200, &format!("badauth {HARMFUL}"));
    let receivers = [Receiver::responding(redirect), Receiver::responding(body), Receiver::responding(words)];
    for (at, receiver) in receivers.iter().enumerate() {
        let more = if at == 2 { json!({"expect": {"stop": "badauth"}}) } else { json!({}) };
        let sandbox = host().configure(&with(&home(&receiver.url("/hook")), &more));
        is_harmless(&sandbox.run(&["--debug"]).expect(1));
        for args in [&["--log-format", "json"][..], &["status"], &["history"], &["--retry-stopped"]] {
            is_harmless(&sandbox.run(args));
        }
        for command in ["status", "history"] {
            let run = sandbox.run(&[command, "--json"]);
            is_harmless(&run);
            let _: Value = run.json();
        }
    }
}

/// Names of files and members of a group, as the status of a service has them; JSON loses nothing of them.
#[test]
fn g3_no_name_drives_the_terminal() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let name = format!("{HARMFUL}.json");
    sandbox.write(&name, endpoint.config(&json!({})).to_string());
    let watch = Watch::run(sandbox.command(&["watch", "-c", &name]));
    watch.prints("accepted");
    for args in [&["status", "--all"][..], &["sync", "--all"], &["history", "--all"], &["check"], &["check", "--json"]]
    {
        is_harmless(&sandbox.run(&[args, &["-c", &name]].concat()).expect(0));
    }
    let status = sandbox.run(&["status", "--json"]).expect(0);
    is_harmless(&status);
    let status: Value = status.json();
    assert!(status[0]["configurations"][0].as_str().is_some_and(|path| path.ends_with(&name)), "{status:#}");
    watch.stop();
    sandbox.write(&name, "{");
    is_harmless(&sandbox.run(&["-c", &name]).expect(2));
}

/// Whoever can write to the store of a group can call itself anything.
#[test]
fn g3_no_member_of_a_group_drives_the_terminal() {
    let Some(etcd) = Etcd::start() else { return };
    let endpoint = Endpoint::new();
    let member = Member::new("one", "203.0.113.1", &etcd, &endpoint, &json!({}));
    let watch = member.watch();
    watch.prints("accepted");
    let granted = etcd.control(&["lease", "grant", "60"]);
    let lease = granted.split_whitespace().nth(1).expect("a lease").to_owned();
    let text = etcd.control(&["get", "--prefix", "--print-value-only", "ddns/home/members/"]);
    let text = text.trim().replacen("\"one\"", &json!(HARMFUL).to_string(), 1);
    etcd.control(&["put", &format!("--lease={lease}"), &format!("ddns/home/members/{lease}"), &text]);
    let mut run = None;
    until(SOON, "it is seen", || run.insert(member.sandbox.run(&["status", "--wide"])).stdout.contains("31mz"));
    is_harmless(&run.expect("it ran"));
    is_harmless(&Run { code: 0, stdout: watch.stop(), stderr: String::new() });
}
