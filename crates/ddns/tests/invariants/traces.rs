//! The laws that every trace of the program is held to (`support::trace`): each is broken here once, and found.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::trace::{self, Applied, Known};

fn send(request: u64, ip: &str, concurrency: Option<u16>) -> Value {
    json!({"Send": {
        "request": request, "members": [["home.example.com", "A", ip]], "callback": "c", "origin": "http://o", "config": 0,
        "concurrency": concurrency, "timeout": 10.0, "file": "cache.json", "is_followed": false,
    }})
}

fn other(request: u64, concurrency: Option<u16>) -> Value {
    let mut sent = send(request, "203.0.113.1", concurrency);
    sent["Send"]["members"][0][0] = json!(format!("h{request}.example.com"));
    sent
}

fn settled(request: u64, told: &[&str], retry_after: Option<&str>) -> Value {
    let told: Vec<_> = told.iter().map(|ip| json!([["home.example.com", "A", ip], retry_after.is_some()])).collect();
    json!({"Settled": {"request": request, "retry_after": retry_after, "told": told}})
}

fn written(entry: &Value) -> Value {
    let salt = "00112233445566778899aabbccddeeff";
    let callbacks = json!({salt: {"home.example.com A": entry}});
    let text = json!({"version": 2, "salt": salt, "callbacks": callbacks}).to_string();
    json!({"Persisted": {"file": "cache.json", "text": text}})
}

fn applied(second: u64, ip: &str) -> Applied {
    (Duration::from_secs(second), "home.example.com".to_owned(), ip.parse().expect("an address"))
}

/// What is wrong with a trace; each line is a process and what it did, a second after the one before.
fn wrong(lines: &[(&str, Value)], applied: &[Applied]) -> String {
    let sandbox = Sandbox::new();
    let line = |(second, (process, what)): (usize, &(&str, Value))| {
        format!("{}\n", json!([process, second, 1000 + second, what]))
    };
    let trace: String = lines.iter().enumerate().map(line).collect();
    let path = sandbox.write("trace", trace);
    let known = Known { has_good_files: true, applied: Some(applied), is_service: true };
    trace::check(&path, &known).err().unwrap_or_default().chars().take_while(|letter| *letter != ':').collect()
}

#[test]
fn e4_e4a_every_law_is_found_broken_in_a_trace() {
    let (one, two) = ("203.0.113.1", "203.0.113.2");
    let accepted = || settled(1, &[one], None);
    assert_eq!(wrong(&[("a", send(1, one, None)), ("a", accepted()), ("a", send(2, two, None))], &[]), "");
    assert_eq!(wrong(&[("a", send(1, one, None)), ("a", send(2, one, None))], &[]), "S1");
    assert_eq!(wrong(&[("a", written(&json!([one, 990]))), ("a", send(1, two, None))], &[applied(0, one)]), "S2");
    assert_eq!(wrong(&[("a", written(&json!([one, 990])))], &[applied(0, two)]), "S3");
    assert_eq!(wrong(&[("a", send(1, one, None)), ("b", send(1, two, None))], &[]), "S4");
    assert_eq!(wrong(&[("a", send(1, one, None)), ("a", json!("Cancel")), ("a", send(2, two, None))], &[]), "S4");
    let asked = settled(1, &[one], Some("60"));
    assert_eq!(wrong(&[("a", send(1, one, None)), ("a", asked), ("a", send(2, one, None))], &[]), "S7");
    assert_eq!(wrong(&[("a", other(1, Some(1))), ("a", other(2, Some(1)))], &[]), "S8");
    assert_eq!(wrong(&[1, 2, 3].map(|number| ("a", other(number, Some(2)))), &[]), "S9");
    assert_eq!(wrong(&[("a", send(1, one, None)), ("a", settled(1, &[one, one], None))], &[]), "S13");
    assert_eq!(wrong(&[("a", json!("Closing")), ("a", send(1, one, None))], &[]), "S14");
}
