//! H15, H20 to H22: steps that several updates share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{config, finding, step, targets};
use crate::support::given::{with, without};
use crate::support::watching::{SOON, Watch, until};
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn h20_h22_a_step_that_all_share_is_one_request_whatever_it_says() {
    let names: Vec<String> = (0..20).map(|number| format!("n{number}.example.com")).collect();
    let list: Vec<Value> = names.iter().enumerate().map(|(id, name)| json!({"name": name, "id": id})).collect();
    let answer = json!({"list": list}).to_string();
    let login = |status: u16, answer: String| {
        Receiver::responding(move |request| match request.target() {
            "/login" => Response::with_body(status, r#"{"session": "abcdefgh"}"#).after(Duration::from_millis(100)),
            "/find" => Response::with_body(200, &answer),
            _ => Response::status(200),
        })
    };
    let more = json!({"ipv4": names, "expect": {"stop": {"status": 401}},
        "before": [{"id": "/login", "secret": {"/session": "__SESSION__"}},
            {"id": "/find", "headers": {"X-Session": "__SESSION__"}, "in": "/list", "where": {"/name": "__DOMAIN__"}, "take": {"/id": "__ID__"}}]});
    let mut expected: Vec<String> = (0..20).map(|id| format!("GET /records/{id}?ip=203.0.113.7")).collect();
    expected.extend(["GET /find".to_owned(), "GET /login".to_owned()]);
    expected.sort();
    for concurrency in [json!("auto"), json!(1), json!(4), json!(20)] {
        let receiver = login(200, answer.clone());
        let more = with(&more, &json!({"concurrency": concurrency}));
        Sandbox::new().sync(&config(&receiver, &more)).expect(0).prints("20 accepted");
        let mut seen = targets(&receiver);
        seen.sort();
        assert_eq!(seen, expected, "{concurrency}");
    }
    // A failure is one for all, and a wrong key stops all of them at once.
    for (status, word) in [(500, "20 failed"), (401, "stopped")] {
        let (receiver, sandbox) = (login(status, answer.clone()), Sandbox::new());
        sandbox.sync(&config(&receiver, &more)).expect(1).prints(word);
        assert_eq!(targets(&receiver), ["GET /login"], "{status}");
        let again = sandbox.sync(&config(&receiver, &more)).expect(1);
        assert_eq!(receiver.take().len(), usize::from(status == 500), "{}", again.stderr);
    }
}

/// One that comes while the second page is under way has the first one, too.
#[test]
fn h15_h22_who_joins_between_two_pages_sees_all_of_them() {
    let receiver = Receiver::responding(|request| match request.target() {
        "/find" => Response::with_body(200, r#"{"list": [{"name": "b.example", "id": 2}], "next": "n2"}"#),
        "/find?page=n2" => {
            let last = Response::with_body(200, r#"{"list": [{"name": "a.example", "id": 1}], "next": ""}"#);
            last.after(Duration::from_millis(900))
        }
        _ => Response::status(200),
    });
    let find = step(&json!({"id": "/find", "next": {"at": "/next", "as": "page"}}));
    // The lookup of the second one takes longer.
    let more = json!({"providers": [], "ipv4": ["a.example"], "ipv6": ["b.example"], "before": find,
        "index6": "shell:sleep 0.4; echo 2001:db8::7", "absent": {"id": "/new"}});
    let more = without(config(&receiver, &more), "providers");
    Sandbox::new().sync(&more).expect(0);
    let mut seen = targets(&receiver);
    seen.sort();
    let updates = ["GET /records/1?ip=203.0.113.7", "GET /records/2?ip=2001:db8::7"];
    assert_eq!(seen, [&["GET /find", "GET /find?page=n2"][..], &updates].concat());
}

/// Accounts differ by the credentials of the URL: no account gets the answer of another.
#[test]
fn h22_steps_are_shared_within_an_account() {
    let receiver = Receiver::responding(|request| {
        let user = request.header("authorization").unwrap_or_default().to_owned();
        let id = if user == "Basic YTp4" { 1 } else { 2 };
        let found = format!(r#"{{"list": [{{"id": {id}}}]}}"#);
        if request.target() == "/find" { Response::with_body(200, &found) } else { Response::status(200) }
    });
    let at = |path: &str| receiver.url(path).replace("http://", "http://__USER__:x@");
    let domain = |name: &str, user: &str| json!({"name": name, "extra": {"__USER__": user}});
    let find = json!({"id": at("/find"), "in": "/list", "take": {"/id": "__ID__"}, "keep": "1h"});
    let more = json!({"id": at("/records/__ID__?name=__DOMAIN__"), "before": find,
        "ipv4": [domain("a.example", "a"), domain("b.example", "b")]});
    Sandbox::new().sync(&config(&receiver, &more)).expect(0);
    let mut seen = targets(&receiver);
    seen.sort();
    let updates = ["GET /records/1?name=a.example", "GET /records/2?name=b.example"];
    assert_eq!(seen, [&["GET /find"; 2][..], &updates].concat());
}

#[test]
fn h22_an_update_whose_record_is_missing_is_no_reason_for_others_to_fail() {
    let names: Vec<String> = (0..6).map(|number| format!("n{number}.example.com")).collect();
    let list: Vec<Value> = names.iter().enumerate().skip(1).map(|(id, name)| json!({"name": name, "id": id})).collect();
    let receiver = finding(&json!({"list": list}).to_string());
    // Those that come later use what the first ones were answered.
    let more = json!({"ipv4": names, "concurrency": 2, "before": step(&json!({"id": "/find"}))});
    let run = Sandbox::new().sync(&config(&receiver, &more)).expect(1).prints("1 failed, 5 accepted");
    run.prints("nothing matches /name n0.example.com");
    assert_eq!(targets(&receiver).iter().filter(|target| *target == "GET /find").count(), 1);
}

#[test]
fn h21_h22_a_service_keeps_what_it_found_and_tries_a_login_once_for_all() {
    let logins = Arc::new(AtomicUsize::new(0));
    let (counted, is_down) = (Arc::clone(&logins), Arc::new(AtomicUsize::new(1)));
    let down = Arc::clone(&is_down);
    let receiver = Receiver::responding(move |request| match request.target() {
        "/login" => {
            counted.fetch_add(1, Ordering::SeqCst);
            let is_down = down.load(Ordering::SeqCst) == 1;
            Response::with_body(if is_down { 403 } else { 200 }, r#"{"session": "abcdefgh"}"#)
        }
        _ => Response::status(200),
    });
    let names: Vec<String> = (0..10).map(|number| format!("n{number}.example.com")).collect();
    let step = json!({"id": "/login", "secret": {"/session": "__SESSION__"}, "keep": "1h"});
    let more = json!({"ipv4": names, "before": step, "id": receiver.url("/u/__DOMAIN__/__SESSION__/__IP__"),
        "index4": receiver.index4(), "interval": "1h"});
    receiver.set_ip("203.0.113.7");
    let sandbox = Sandbox::new();
    let watch = Watch::start(&sandbox, &config(&receiver, &more));
    until(SOON, "all to fail", || watch.lines_with("before 1 of 1") >= 10);
    is_down.store(0, Ordering::SeqCst);
    let refused = logins.load(Ordering::SeqCst);
    // On a slow machine the next attempt has begun.
    assert!(refused <= 2, "{}", watch.log());
    until(SOON * 3, "all to be accepted", || watch.lines_with(": accepted") >= 10);
    assert!(logins.load(Ordering::SeqCst) <= 3, "{}", watch.log());
    assert!(watch.lines_with("before 1 of 1") <= refused * 10, "none fails without a login: {}", watch.log());
    let before = logins.load(Ordering::SeqCst);
    receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    until(SOON, "all to be accepted again", || watch.lines_with("203.0.113.8: accepted") >= 10);
    assert_eq!(logins.load(Ordering::SeqCst), before, "it is kept");
    watch.stop();
}
