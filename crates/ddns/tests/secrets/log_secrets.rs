//! Section G, secrets: nothing that the user typed as a literal value comes to light, at any level, in any form, however
//! the update ends; what came from the update is shown.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::odd_server::refusing;
use crate::support::secret_forms::{SECRETS, assert_no_secret, config, echo};
use crate::support::{Receiver, Response, Run, Sandbox};

/// Every amount of talk.
fn levels() -> Vec<Value> {
    let mut all: Vec<_> =
        ["DEBUG", "INFO", "WARNING", "ERROR"].iter().map(|level| json!({"log": {"level": level}})).collect();
    all.push(json!({"debug": true}));
    all.push(json!({"debug": true, "log": {"format": "json", "level": "DEBUG"}}));
    all.push(json!({"debug": true, "log": {"file": "log.txt"}}));
    all
}

/// Runs with secrets everywhere against `address` and fails the test if one comes to light.
#[track_caller]
fn assert_kept(address: &str, more: &Value, code: i32) -> Run {
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&with(&with(&config(address), &json!({"timeout": 1})), more)).expect(code);
    assert_no_secret(&run.stdout, &format!("standard output with {more}"));
    assert_no_secret(&run.stderr, &format!("standard error with {more}"));
    let log = fs::read_to_string(sandbox.path("log.txt")).unwrap_or_default();
    assert_no_secret(&log, &format!("the log file with {more}"));
    run
}

fn at(receiver: &Receiver) -> String {
    format!("127.0.0.1:{}", receiver.port())
}

/// The secrets must have been sent, or the other tests here prove nothing.
#[test]
fn g2_the_request_itself_is_not_masked() {
    let receiver = Receiver::new();
    assert_kept(&at(&receiver), &json!({}), 0);
    let one = receiver.only();
    let path = format!("/{}/hook?key=marker3%2Bquery%3D%26x&ip=203.0.113.7&d=home.example.com", SECRETS[3]);
    assert_eq!(one.target(), path);
    let deep = json!({"pin": SECRETS[5], "list": [SECRETS[6], 5]});
    assert_eq!(one.json(), json!({"auth": SECRETS[4], "deep": deep, "address": "203.0.113.7"}));
}

#[test]
fn g2_no_secret_at_any_level_when_the_endpoint_echoes_everything() {
    for status in [200, 500] {
        let receiver = Receiver::responding(move |request| {
            let heads: Vec<_> = request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            let body = format!("{}\n{}\n{}\n{}", request.line, heads.join("\n"), request.text(), echo());
            Response::with_body(status, &body).header("X-Echo", SECRETS[5]).header("WWW-Authenticate", SECRETS[1])
        });
        for more in levels() {
            assert_kept(&at(&receiver), &more, i32::from(status == 500));
        }
        assert_eq!(receiver.callbacks().len(), levels().len());
    }
}

/// An answer may repeat the password of a pair, or one cookie of several.
#[test]
fn g2_a_part_of_a_secret_that_comes_back_alone_is_masked() {
    let parts = ["Kje3vb7Q", "abc123x", "hunter2!", "0123abcd99", "zz-top-44"];
    let receiver = Receiver::responding(move |_| {
        let body = parts.map(|part| format!("wrong key <{part}>")).join("\n");
        Response::with_body(403, &body)
    });
    let fields = json!({
        "dns": "callback", "id": receiver.url("/token:0123abcd99/?login=nas%3Azz-top-44&ip=__IP__"),
        "headers": {"Authorization": "sso-key dLf3kj9a:Kje3vb7Q", "Cookie": "session=abc123x; theme=dark"},
        "format": "text", "token": "user=nas;pw=hunter2!;ip=__IP__", "debug": true,
        "ipv4": ["home.example.com"], "index4": "shell:echo 203.0.113.7",
    });
    let run = Sandbox::new().sync(&fields).expect(1);
    for part in parts {
        assert!(!run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    run.prints("wrong key <***>").prints("203.0.113.7");
}

#[test]
fn g2_no_secret_at_any_level_when_the_connection_fails() {
    let closing = Receiver::responding(|_| Response::Close);
    let garbage = Receiver::responding(|_| Response::Raw(echo().into_bytes()));
    for more in levels() {
        assert_kept(&refusing().to_string(), &more, 1);
        assert_kept(&at(&closing), &more, 1);
        assert_kept(&at(&garbage), &more, 1);
    }
    let silent = Receiver::responding(|_| Response::status(200).after(Duration::from_secs(60)));
    assert_kept(&at(&silent), &json!({"debug": true}), 1);
}

/// A long response is shown cut: the cut must not leave the beginning of a secret that is no longer recognised.
#[test]
fn g2_the_cut_of_a_long_response_leaves_no_part_of_a_secret() {
    for shift in 0..4 {
        let body = format!("{}{}", "-".repeat(shift * 5), SECRETS[5].repeat(8000));
        let receiver = Receiver::responding(move |_| Response::with_body(200, &body));
        let run = assert_kept(&at(&receiver), &json!({"debug": true}), 0);
        let shown = ["marke", "-nested-", "nested-v"].iter().find(|part| run.stderr.contains(**part));
        assert_eq!(shown, None, "shift {shift}: a part of a secret is shown:\n{}", run.stderr);
    }
}

#[test]
fn g2_a_string_token_is_masked_like_an_object() {
    let receiver = Receiver::responding(|_| Response::with_body(500, &echo()));
    let token = config("x")["token"].to_string();
    assert_kept(&at(&receiver), &json!({"debug": true, "token": token}), 1);
    let bare = token.replace("\"__IP__\"", "__IP__");
    assert_kept(&at(&receiver), &json!({"debug": true, "token": bare}), 1);
}

#[test]
fn g2_substituted_values_are_logged_and_masked_text_becomes_stars() {
    let receiver = Receiver::new();
    let run = assert_kept(&at(&receiver), &json!({"debug": true}), 0);
    run.prints("ip=203.0.113.7").prints("d=home.example.com").prints("key=***").prints(r#""address":"203.0.113.7""#);
}

/// The same value may stand in the update and in a secret's place; the one line per update stays readable.
#[test]
fn g2_the_line_of_an_update_is_never_masked() {
    let receiver = Receiver::new();
    let more = json!({"token": {"a": "home.example.com", "b": "A", "c": "203.0.113.7"}});
    assert_kept(&at(&receiver), &more, 0).prints("home.example.com A 203.0.113.7: accepted (200");
}

#[test]
fn g2_errors_of_the_configuration_hold_no_secret() {
    let receiver = Receiver::new();
    let good = config(&at(&receiver));
    let broken_token = format!("{{\"auth\": {}, oops", Value::from(SECRETS[4]));
    for (case, more) in [
        ("a token that is not JSON", json!({"token": broken_token})),
        ("a token that is a text", json!({"token": format!("\"{}\"", SECRETS[5])})),
        ("a scheme that is not known", json!({"id": good["id"].as_str().expect("an id").replace("http:", "ftp:")})),
        ("a port that cannot be", json!({"id": format!("http://{}:pw@h:99999/{}", SECRETS[0], SECRETS[3])})),
        ("a field of a wrong type", json!({"ttl": {"x": SECRETS[5]}})),
        ("a domain that cannot be", json!({"ipv4": ["bad domain"]})),
    ] {
        let sandbox = Sandbox::new();
        for debug in [false, true] {
            let wrong = with(&with(&good, &more), &json!({"debug": debug}));
            let run = sandbox.sync(&wrong);
            assert_eq!(run.code, 2, "{case}: {}", run.stderr);
            assert_no_secret(&format!("{}{}", run.stdout, run.stderr), case);
        }
    }
    assert_eq!(receiver.callbacks().len(), 0);
}
