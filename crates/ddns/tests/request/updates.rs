//! Section A: what the program does, seen from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::given::{basic, ends, targets, with};
use crate::support::{Received, Receiver, Response, Sandbox};

/// An address on loopback at which nobody listens: a free port could soon be that of another test's receiver.
const NOBODY: &str = "http://127.0.0.1:1/hook";

#[test]
fn a1_one_request_for_each_domain_of_each_family() {
    let receiver = Receiver::new();
    let config = json!({
        "dns": "callback",
        "id": receiver.url("/hook?__RECORDTYPE__,__DOMAIN__,__IP__"),
        "ipv4": ["a.example", "b.example"],
        "ipv6": ["a.example", "c.example"],
        "index4": receiver.index4(),
        "index6": receiver.index6(),
    });
    Sandbox::new().sync(&config).expect(0);
    let sent = [
        "/hook?A,a.example,203.0.113.7",
        "/hook?A,b.example,203.0.113.7",
        "/hook?AAAA,a.example,2001:db8::7",
        "/hook?AAAA,c.example,2001:db8::7",
    ];
    assert_eq!(targets(&receiver), sent);
}

#[test]
fn a1_only_what_must_be_updated_is_sent() {
    let receiver = Receiver::new();
    let config = json!({
        "dns": "callback",
        "id": receiver.url("/hook?__DOMAIN__,__IP__"),
        "ipv4": ["a.example", "b.example"],
        "ipv6": ["a.example"],
        "index4": receiver.index4(),
        "index6": receiver.index6(),
    });
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take().len(), 3, "the first synchronization sends everything");

    sandbox.sync(&config).expect(0);
    assert_eq!(targets(&receiver), [""; 0], "nothing changed, nothing is sent");

    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0);
    assert_eq!(targets(&receiver), ["/hook?a.example,203.0.113.8", "/hook?b.example,203.0.113.8"]);
    receiver.take();

    let more = with(&config, &json!({"ipv4": ["a.example", "b.example", "new.example"]}));
    sandbox.sync(&more).expect(0);
    assert_eq!(targets(&receiver), ["/hook?new.example,203.0.113.8"], "a new domain is sent, the known ones are not");
}

#[test]
fn a2_no_token_is_a_get_and_a_token_is_a_post_with_a_json_body() {
    let receiver = Receiver::new();
    Sandbox::new().sync(&basic(&receiver)).expect(0);
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"token": {"key": "k-1"}}))).expect(0);
    let seen = receiver.callbacks();
    assert_eq!(seen.iter().map(Received::method).collect::<Vec<_>>(), ["GET", "POST"]);
    assert_eq!((seen[0].text(), seen[1].text()), ("", r#"{"key":"k-1"}"#));
}

#[test]
fn a3_placeholders_are_replaced_by_the_values_of_the_update() {
    let receiver = Receiver::new();
    let config = json!({
        "dns": "callback",
        "id": receiver.url("/__RECORDTYPE__/__DOMAIN__?ip=__IP__&ttl=__TTL__&line=__LINE__"),
        "token": r#"{"ip": "__IP__", "who": ["__DOMAIN__ (__RECORDTYPE__)"]}"#,
        "ttl": 600,
        "line": "east",
        "ipv4": "home.example.com",
        "ipv6": "home.example.com",
        "index4": "shell:echo 203.0.113.7",
        "index6": "shell:echo 2001:db8::7",
    });
    Sandbox::new().sync(&config).expect(0);
    let mut sent: Vec<_> = receiver.callbacks().iter().map(|r| format!("{} {}", r.target(), r.text())).collect();
    sent.sort();
    let expected = [
        concat!(
            "/A/home.example.com?ip=203.0.113.7&ttl=600&line=east ",
            r#"{"ip":"203.0.113.7","who":["home.example.com (A)"]}"#
        ),
        concat!(
            "/AAAA/home.example.com?ip=2001:db8::7&ttl=600&line=east ",
            r#"{"ip":"2001:db8::7","who":["home.example.com (AAAA)"]}"#
        ),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn a4_any_status_from_200_to_299_is_success_whatever_the_body() {
    let error = r#"{"error": "unknown domain", "status": 500, "success": false}"#;
    let responses = [
        Response::status(200),
        Response::with_body(200, error),
        Response::with_body(200, "badauth"),
        Response::with_body(201, error),
        Response::status(202),
        Response::status(204),
        Response::with_body(206, "nohost"),
        Response::with_body(299, error).header("Content-Type", "application/json"),
        Response::with_body(200, "{broken").header("Content-Type", "application/json"),
        Response::Raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\xff\xfe\x00 no text".to_vec()),
        // The status arrived; that the body ends early does not matter.
        Response::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\ncut".to_vec()),
        // An interim response is not the final one.
        Response::Raw(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".to_vec()),
    ];
    for response in responses {
        let case = format!("{response:?}");
        let receiver = Receiver::responding(move |_| response.clone());
        let run = Sandbox::new().sync(&basic(&receiver));
        ends(&run, 0, &case);
        assert!(run.stderr.contains("home.example.com A 203.0.113.7: accepted (2"), "{case}: {}", run.stderr);
        receiver.only();
    }
}

#[test]
fn a4_any_other_status_is_a_failure_whatever_the_body() {
    let plain = [300, 302, 304, 400, 401, 403, 404, 409, 410, 418, 429, 500, 502, 503, 599];
    let mut responses: Vec<_> =
        plain.into_iter().map(|status| (status, Response::with_body(status, r#"{"success": true}"#))).collect();
    responses[2].1 = Response::Raw(b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec());
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\ngood";
    responses.push((404, Response::Raw(interim.to_vec())));
    for (status, response) in responses {
        let case = format!("{response:?}");
        let receiver = Receiver::responding(move |_| response.clone());
        let run = Sandbox::new().sync(&basic(&receiver));
        ends(&run, 1, &case);
        assert!(run.stderr.contains("home.example.com A 203.0.113.7: failed"), "{case}: {}", run.stderr);
        assert!(run.stderr.contains(&status.to_string()), "{case}: the status is not named: {}", run.stderr);
        receiver.only();
    }
}

#[test]
fn a5_a_success_is_cached_and_a_failure_is_sent_again() {
    let mended = Arc::new(AtomicBool::new(false));
    let works = mended.clone();
    let receiver = Receiver::responding(move |request| {
        let fails = request.target().contains("bad") && !works.load(Ordering::SeqCst);
        Response::status(if fails { 503 } else { 204 })
    });
    let config = with(&basic(&receiver), &json!({"ipv4": ["bad.example", "good.example"]}));
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(1);
    assert_eq!(receiver.take().len(), 2);

    sandbox.sync(&config).expect(1);
    assert_eq!(targets(&receiver), ["/hook?d=bad.example&ip=203.0.113.7"], "only what failed is sent again");
    receiver.take();

    mended.store(true, Ordering::SeqCst);
    sandbox.sync(&config).expect(0);
    assert_eq!(targets(&receiver), ["/hook?d=bad.example&ip=203.0.113.7"]);
    receiver.take();

    sandbox.sync(&config).expect(0);
    assert_eq!(targets(&receiver), [""; 0], "now both are known");
}

#[test]
fn a6_a_failing_domain_keeps_no_other_from_being_sent() {
    for (case, response) in [("500", Response::status(500)), ("no response", Response::Close)] {
        // Strict order and the failing one first, then many at once.
        for concurrency in [json!(1), json!("auto")] {
            let case = format!("{case}, concurrency {concurrency}");
            let response = response.clone();
            let receiver = Receiver::responding(move |request| {
                if request.target().contains("bad") { response.clone() } else { Response::status(200) }
            });
            let domains = json!(["bad.example", "good.example", "fine.example"]);
            let config = with(&basic(&receiver), &json!({"ipv4": domains, "concurrency": concurrency}));
            let run = Sandbox::new().sync(&config);
            ends(&run, 1, &case);
            assert_eq!(targets(&receiver).len(), 3, "{case}: {:?}", targets(&receiver));
            for line in ["bad.example A 203.0.113.7: failed", "good.example A 203.0.113.7: accepted (200"] {
                assert!(run.stderr.contains(line), "{case}: {line:?} is missing: {}", run.stderr);
            }
        }
    }
}

#[test]
fn a6_a_family_without_an_address_keeps_the_other_from_nothing() {
    for (index4, index6, sent) in [
        ("shell:exit 1", "shell:echo 2001:db8::7", "/hook?d=home.example.com&ip=2001:db8::7"),
        ("shell:echo 203.0.113.7", "shell:exit 1", "/hook?d=home.example.com&ip=203.0.113.7"),
    ] {
        let receiver = Receiver::new();
        let more = json!({"ipv6": "home.example.com", "index4": index4, "index6": index6});
        let run = Sandbox::new().sync(&with(&basic(&receiver), &more));
        ends(&run, 1, sent);
        assert_eq!(targets(&receiver), [sent], "{}", run.stderr);
    }
}

#[test]
fn a6_a_failing_provider_entry_keeps_no_other_from_being_sent() {
    let receiver = Receiver::new();
    let config = json!({
        "ipv4": "home.example.com",
        "index4": "shell:echo 203.0.113.7",
        "timeout": 5,
        "concurrency": 1,
        "providers": [
            {"provider": "callback", "id": NOBODY},
            {"provider": "callback", "id": receiver.url("/second")},
            {"provider": "callback", "id": receiver.url("/third"), "index4": "shell:exit 1"},
            {"provider": "callback", "id": receiver.url("/fourth")},
        ],
    });
    Sandbox::new().sync(&config).expect(1);
    assert_eq!(targets(&receiver), ["/fourth", "/second"]);
}

#[test]
fn a6_a_failing_configuration_file_keeps_no_other_from_being_sent() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("first.json", with(&basic(&receiver), &json!({"id": NOBODY, "timeout": 5})).to_string());
    sandbox.write("second.json", basic(&receiver).to_string());
    sandbox.run(&["-c", "first.json", "second.json"]).expect(1);
    assert_eq!(receiver.only().target(), "/hook?d=home.example.com&ip=203.0.113.7");
    // The other way round the failure still shows in the exit status.
    sandbox.run(&["-c", "second.json", "first.json"]).expect(1);
}

#[test]
fn a7_a_request_that_may_have_arrived_is_not_sent_again() {
    let cut = Response::Raw(b"HTTP/1.1 200 O".to_vec());
    let responses = [
        ("408", Response::status(408)),
        ("425", Response::status(425)),
        ("429 with Retry-After", Response::status(429).header("Retry-After", "0")),
        ("500", Response::status(500)),
        ("503 with Retry-After", Response::status(503).header("Retry-After", "0")),
        ("closed without an response", Response::Close),
        ("closed in the status line", cut),
        ("no HTTP at all", Response::Raw(b"hello\r\n\r\n".to_vec())),
        ("no response in time", Response::status(200).after(Duration::from_secs(20))),
    ];
    for (case, response) in responses {
        let receiver = Receiver::responding(move |_| response.clone());
        let config = with(&basic(&receiver), &json!({"timeout": 1, "token": {"ip": "__IP__"}}));
        let run = Sandbox::new().sync(&config);
        ends(&run, 1, case);
        assert_eq!(receiver.callbacks().len(), 1, "{case}: {:#?}", receiver.callbacks());
    }
}

#[test]
fn a7_each_update_goes_out_once_where_the_endpoint_closes_after_every_response() {
    let receiver = Receiver::responding(|_| Response::status(200).header("Connection", "close"));
    let domains: Vec<_> = (0..12).map(|n| format!("h{n:02}.example")).collect();
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"ipv4": domains}))).expect(0);
    let expected: Vec<_> = domains.iter().map(|domain| format!("/hook?d={domain}&ip=203.0.113.7")).collect();
    assert_eq!(targets(&receiver), expected);
}

/// `localhost` is `::1` too on most hosts, where the receiver does not listen: that connection is never made, so the
/// next address of the host is tried.
#[test]
fn a7_a_connection_that_was_never_made_moves_on_to_the_next_address_of_the_host() {
    let receiver = Receiver::new();
    let id = format!("http://localhost:{}/hook", receiver.port());
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"id": id}))).expect(0);
    assert_eq!(receiver.only().target(), "/hook");
}
