//! The interface for programs (I3).

use std::process::Command;

use serde_json::{Value, json};

use crate::support::page::Page;
use crate::support::tools::{receiver_tool, skipped};
use crate::support::watching::{SOON, until};

fn page() -> Page {
    let page = Page::with(&json!({"token_file": "token"}), &json!({}));
    page.endpoint.wait(1, SOON);
    page
}

const BEARER: &str = "Authorization: Bearer 0123456789abcdef0123456789abcdef";

#[test]
fn i3_status_preview_and_addresses_are_those_of_the_commands() {
    let page = page();
    let printed = |args: &[&str]| -> Value { page.sandbox.run(args).json() };
    until(SOON, "the update is settled", || {
        page.get("/api/v1/status").json()[0]["updates"][0]["state"] == "up_to_date"
    });
    let (mut told, mut shown) =
        (page.get("/api/v1/status").json(), printed(&["status", "--json", "-c", "config.json"]));
    for status in [&mut told, &mut shown] {
        status[0]["next_in"] = Value::Null;
    }
    assert_eq!(told, shown);
    let (told, shown) = (page.get("/api/v1/preview").json(), printed(&["preview", "--json", "-c", "config.json"]));
    for name in ["domain", "type", "address", "source", "verdict", "request"] {
        assert_eq!(told[0][name], shown[0][name], "{name}");
    }
    assert_eq!(page.get("/api/v1/preview?domain=nothing").json(), json!([]));
    assert_eq!(page.get("/api/v1/preview?skip=1").json(), json!([]));
    let (told, shown) = (page.get("/api/v1/addresses").json(), printed(&["addresses", "--json", "-c", "config.json"]));
    assert_eq!((&told["local"], &told["chosen"]), (&shown["local"], &shown["chosen"]));
    for wrong in ["limit=0", "limit=1001", "limit=x", "skip=-1", "skip=", "limit=1e3"] {
        let answer = page.get(&format!("/api/v1/preview?{wrong}")).expect(400);
        assert!(answer.json()["error"].is_string());
    }
    let lookups = page.endpoint.receiver.lookups();
    page.get("/api/v1/preview").expect(200);
    page.get("/requests").expect(200);
    assert_eq!(page.endpoint.receiver.lookups(), lookups, "a preview asks nobody");
}

#[test]
fn i3_sync_responds_when_it_is_done() {
    let page = page();
    page.endpoint.receiver.set_ip("203.0.113.9");
    let answer = page.request("POST", "/api/v1/sync", &[BEARER], "").expect(200).json();
    assert_eq!(answer["good"], json!(true));
    assert_eq!(page.endpoint.arrivals().last().map(|arrival| arrival.ip().to_owned()), Some("203.0.113.9".to_owned()));
    page.request("POST", "/api/v1/sync?retry_stopped=true", &[BEARER], "").expect(200);
    page.request("POST", "/api/v1/sync?retry_stopped=maybe", &[BEARER], "").expect(400);
}

#[test]
fn i4_the_history_is_told_newest_first() {
    let page = page();
    page.endpoint.receiver.set_ip("203.0.113.9");
    page.request("POST", "/api/v1/sync", &[BEARER], "").expect(200);
    let records = page.get("/api/v1/history?domain=home.example.com&outcome=accepted").expect(200).json();
    let addresses: Vec<&str> =
        records.as_array().expect("a list").iter().filter_map(|one| one["address"].as_str()).collect();
    assert_eq!(addresses, ["203.0.113.9", "203.0.113.7"], "{records}");
    assert_eq!(page.get("/api/v1/history?limit=1").json().as_array().map(Vec::len), Some(1));
    assert_eq!(page.get("/api/v1/history?since=4294967295").json(), json!([]));
    for wrong in ["outcome=odd", "since=yesterday", "limit=0"] {
        page.get(&format!("/api/v1/history?{wrong}")).expect(400);
    }
}

#[test]
fn i2_a_configuration_is_read_and_never_replaced() {
    let page = Page::with(&json!({"token_file": "token", "allow_edit": true}), &json!({"token": {"key": "s3cret"}}));
    let shown = page.get("/api/v1/config").expect(200).json();
    assert_eq!((&shown[0]["file"], &shown[0]["name"]), (&json!(0), &json!("config.json")), "{shown}");
    let text = shown.to_string();
    assert!(!text.contains("s3cret") && text.contains("home.example.com"), "{text}");
    let answer = page.request("PUT", "/api/v1/config?version=0", &[BEARER], "{}").expect(405);
    assert_eq!(answer.header("allow"), Some("GET, PATCH, HEAD"));
}

#[test]
fn i2_checking_a_text_runs_reads_and_asks_nothing() {
    let page = page();
    let check = |text: &str| page.request("POST", "/api/v1/check", &[BEARER], text).expect(200).json();
    let good = json!({"dns": "callback", "id": "https://example.com/?ip=__IP__", "ipv4": ["a.example"]});
    assert_eq!(check(&good.to_string()), json!({"valid": true, "findings": []}));
    let answer = check("{\n  \"dns\": \"callback\",\n  \"id\": 7\n}");
    assert_eq!(answer["valid"], json!(false));
    let findings = answer["findings"].as_array().expect("a list");
    let finding = findings.iter().find(|finding| finding["line"] == 3).unwrap_or_else(|| panic!("{answer}"));
    assert_eq!((&finding["severity"], &finding["column"]), (&json!("error"), &json!(9)), "{finding}");
    assert!(finding["message"].as_str().is_some_and(|message| message.contains("`id`")), "{finding}");
    let touched = page.sandbox.path("touched");
    let touch = format!("touch {}", touched.display());
    let asked = page.endpoint.receiver.url("/asked");
    let dangerous = json!({
        "dns": "callback", "id": page.endpoint.receiver.url("/?ip=__IP__&k=__K__"), "ipv4": ["a.example"],
        "index4": [format!("shell:{touch}"), format!("cmd:{touch}"), format!("url:{asked}")],
        "extra": {"__K__": {"file": "/etc/passwd"}}, "ssl": "/etc/passwd",
        "web": {"password_file": "/etc/passwd", "listen": "0.0.0.0:1"}, "log": {"file": touched},
    });
    let (calls, lookups) = (page.endpoint.count(), page.endpoint.receiver.lookups());
    let answer = check(&dangerous.to_string());
    assert!(!answer.to_string().contains("root:"), "{answer}");
    assert!(!touched.exists());
    assert_eq!((page.endpoint.count(), page.endpoint.receiver.lookups()), (calls, lookups));
    for odd in ["", "[]", "null", "{", &"[".repeat(100_000), &format!("{{\"ipv4\": [{}]}}", "1,".repeat(10_000))] {
        assert_eq!(check(odd)["valid"], json!(false));
    }
    let mut bytes = format!(
        "POST /api/v1/check HTTP/1.1\r\nHost: localhost\r\n{BEARER}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    )
    .into_bytes();
    bytes.extend([0xff, 0xfe]);
    page.send(bytes).expect(400);
}

/// Every request that the description allows, and many that it does not, by schemathesis.
#[test]
fn i3_the_interface_does_what_its_description_says() {
    let Some(program) = receiver_tool("venv/bin/schemathesis") else {
        return skipped("schemathesis is not installed: `.ci/receivers` does it");
    };
    let page = page();
    let description = page.get("/api/v1/openapi.json").expect(200);
    page.sandbox.write("openapi.json", &description.body);
    let output = Command::new(program)
        .args(["run", "openapi.json", "--url", &format!("http://{}/api/v1", page.host())])
        .args(["--header", BEARER, "--max-examples", "20", "--checks", "all"])
        // Each of them is asked for by others than the token as well, and a text is never wrong in its form.
        .args(["--exclude-checks", "ignored_auth,negative_data_rejection,missing_required_header"])
        .args(["--seed", "1", "--generation-database", "none", "--no-color"])
        .current_dir(page.sandbox.path("."))
        .output()
        .expect("it starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
}
