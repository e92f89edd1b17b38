//! `ddns addresses`: every address of this host with its verdict, what each source finds now, and what is chosen and
//! why. For people as a table, with `--json` for programs.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::addresses::{addresses, local, report};
use crate::support::given::with;
use crate::support::odd_server::refusing;
use crate::support::{Receiver, Sandbox};

/// The parts of a source in the report that do not depend on time.
fn sources(report: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = report["sources"].as_array().expect("a list");
    all.iter().map(|one| (text(&one["family"]), text(&one["source"]), one["ip"].clone())).collect()
}

fn config(id: &str, more: &Value) -> Value {
    let all = json!({"dns": "callback", "id": id, "timeout": 2, "ipv4": ["a.example.com"], "ipv6": ["a.example.com"]});
    with(&all, more)
}

#[test]
fn f_addresses_without_a_configuration_uses_default_for_both_families() {
    let report = addresses();
    let asked: Vec<_> = sources(&report).into_iter().map(|(family, source, _)| (family, source)).collect();
    let expected = [("IPv4", "default"), ("IPv6", "default")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(asked, expected, "{report:#}");
    for ((family, _, ip), kind) in sources(&report).iter().zip(["A", "AAAA"]) {
        assert_eq!(report["chosen"][kind]["ip"], *ip, "{family}: {report:#}");
    }
}

#[test]
fn f_addresses_lists_loopback_with_the_reason_against_it() {
    let report = addresses();
    let row = local(&report).into_iter().find(|row| row["ip"] == "127.0.0.1");
    let row = row.unwrap_or_else(|| panic!("no loopback: {report:#}"));
    assert_eq!(row["interface"], "lo", "{row}");
    assert_eq!(row["prefix"], 8, "{row}");
    assert_eq!(row["scope"], "host", "{row}");
    assert!(row["verdict"].as_str().is_some_and(|why| why.contains("loopback")), "{row}");
}

#[test]
fn f_addresses_for_people_shows_the_same() {
    let run = Sandbox::new().run(&["addresses"]).expect(0);
    let report = addresses();
    let row = run.stdout.lines().find(|line| line.contains("127.0.0.1"));
    assert!(row.is_some_and(|row| row.contains("lo")), "no row of loopback:\n{}", run.stdout);
    for part in ["loopback", "IPv4", "IPv6", "default"] {
        assert!(run.stdout.contains(part), "no word of {part}:\n{}", run.stdout);
    }
    for row in local(&report) {
        let ip = row["ip"].as_str().expect("an address");
        assert!(run.stdout.contains(ip), "no word of {ip}:\n{}", run.stdout);
        assert!(row["verdict"] != "usable" || run.stdout.contains("usable"), "no word of usable:\n{}", run.stdout);
    }
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line, "blanks at the end: {line:?}");
    }
}

#[test]
fn f_addresses_asks_every_source_of_the_configuration_and_sends_nothing() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let sources4 = json!(["interface:nope", "shell:sleep 0.2; echo 203.0.113.9", receiver.index4()]);
    let more = json!({"index4": sources4, "index6": ["shell:true", receiver.index6()]});
    sandbox.write("config.json", config(&receiver.url("/hook"), &more).to_string());
    for args in [["addresses", "--json", "-c", "config.json"], ["addresses", "-c", "config.json", "--json"]] {
        let report = report(&sandbox.run(&args).expect(0));
        let found: Vec<_> = sources(&report).into_iter().map(|(family, _, ip)| (family, ip)).collect();
        let expected = [
            ("IPv4", Value::Null),
            ("IPv4", json!("203.0.113.9")),
            ("IPv4", json!("203.0.113.7")),
            ("IPv6", Value::Null),
            ("IPv6", json!("2001:db8::7")),
        ];
        assert_eq!(found, expected.map(|(family, ip)| (family.to_owned(), ip)), "{report:#}");
        assert!(report["sources"][0]["why"].as_str().is_some_and(|why| why.contains("nope")), "{report:#}");
        let waited = report["sources"][1]["ms"].as_f64().expect("a number");
        assert!((200.0..5000.0).contains(&waited), "0.2 s and no more: {report:#}");
        assert_eq!(report["chosen"]["A"]["ip"], "203.0.113.9", "the first that responds: {report:#}");
        assert_eq!(report["chosen"]["A"]["source"], report["sources"][1]["source"], "{report:#}");
        assert_eq!(report["chosen"]["AAAA"]["ip"], "2001:db8::7", "{report:#}");
    }
    let text = sandbox.run(&["addresses", "-c", "config.json"]).expect(0).stdout;
    for part in ["interface:nope", "203.0.113.9", "203.0.113.7", "2001:db8::7", "ms"] {
        assert!(text.contains(part), "no word of {part}:\n{text}");
    }
    assert_eq!(receiver.callbacks().len(), 0, "a report sends nothing");
    assert!(!sandbox.cache_file().exists(), "a report remembers nothing");
}

#[test]
fn f_addresses_reports_why_there_is_none() {
    let dead = format!("url:http://{}/", refusing());
    let more = json!({"index4": [99, "interface:lo", dead], "index6": "shell:echo fd00::7"});
    let sandbox = Sandbox::new().configure(&config("http://127.0.0.1:9/", &more));
    let report = report(&sandbox.run(&["addresses", "--json", "-c", "config.json"]).expect(0));
    assert_eq!(report["chosen"]["A"], Value::Null, "{report:#}");
    assert!(report["hints"][0].as_str().is_some_and(|hint| hint.starts_with("It is private")), "{report:#}");
    let families: Vec<_> = sources(&report).into_iter().map(|(family, _, ip)| (family, ip)).collect();
    assert_eq!(families[..3], vec![("IPv4".to_owned(), Value::Null); 3], "{report:#}");
    for (number, part) in [(0, "99"), (1, "loopback")] {
        let why = report["sources"][number]["why"].as_str().unwrap_or_default();
        assert!(why.contains(part), "source {number} has no word of {part}: {report:#}");
    }
    let text = sandbox.run(&["addresses", "-c", "config.json"]).expect(0).stdout;
    assert!(text.contains("interface:lo") && text.contains("loopback"), "{text}");
}

#[test]
fn f_addresses_g2_shows_no_secret() {
    let (sandbox, page) = (Sandbox::new(), Receiver::new());
    let sources = json!([
        format!("url:{}", page.url("/page?key=s3cr3t")),
        format!("url:http://user:s3cr3t@{}/", refusing()),
        "shell:echo s3cr3t >/dev/null; echo nothing",
        "shell:echo s3cr3t; exit 3",
        "cmd:echo s3cr3t",
        "quorum:2(shell:echo s3cr3t 203.0.113.7, shell:echo 203.0.113.8 s3cr3t)",
    ]);
    let more = json!({"index4": sources, "index6": sources, "token": {"key": "s3cr3t"}});
    let id = "http://user:s3cr3t@127.0.0.1:9/hook?key=s3cr3t";
    for debug in [false, true] {
        let config = with(&config(id, &more), &json!({"debug": debug}));
        sandbox.write("config.json", config.to_string());
        for args in [&["addresses", "-c", "config.json"][..], &["addresses", "--json", "-c", "config.json"]] {
            sandbox.run(args).expect(0).never_prints("s3cr3t");
        }
    }
}

#[test]
fn f_addresses_refuses_a_wrong_configuration_and_unknown_options() {
    let sandbox = Sandbox::new().configure(&config("http://127.0.0.1:9/", &json!({"index4": "nonsense"})));
    for args in [
        &["addresses", "-c", "config.json"][..],
        &["addresses", "--json", "-c", "config.json"],
        &["addresses", "-c", "missing.json"],
        &["addresses", "--jsn"],
        &["addresses", "more"],
    ] {
        let run = sandbox.run(args);
        assert_eq!(run.code, 2, "{args:?}:\n{}\n{}", run.stdout, run.stderr);
        assert_eq!(run.stdout, "", "{args:?}: an error is no report");
        assert!(run.stderr.contains("error"), "{args:?}:\n{}", run.stderr);
    }
    sandbox.run(&["adresses"]).expect(2).prints("ddns addresses");
}

/// `ddns addresses | head -1`: whoever reads may stop at any time.
#[test]
fn f_addresses_a_closed_pipe_is_no_crash() {
    for args in [&["addresses"][..], &["addresses", "--json"], &["addresses", "--wide"]] {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let mut printed = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut printed).expect("text");
        let status = child.wait().expect("it ends");
        assert!(!printed.contains("panicked"), "{args:?}: {printed}");
        assert_ne!(status.code(), Some(101), "{args:?}: {printed}");
        assert_ne!(status.code(), Some(134), "{args:?}: {printed}");
    }
}

#[test]
fn f_addresses_stands_in_the_help() {
    Sandbox::new().run(&["--help"]).expect(0).shows("addresses");
}

#[test]
fn f_addresses_is_quick() {
    let begun = Instant::now();
    addresses();
    assert!(begun.elapsed() < Duration::from_secs(2), "took {:?}", begun.elapsed());
}
