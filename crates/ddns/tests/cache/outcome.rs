//! Section E, outcome and exit: which responses count, what is sent again and what is known. The file itself stands in
//! `cache/file.rs`, long and simultaneous runs in `cache/long_runs.rs`.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::given::{home, switched, with};
use crate::support::odd_server::{refusing, serve_at};
use crate::support::{Received, Receiver, Response, Sandbox};

/// A callback per domain; the receiver responds with the number in the domain's name.
fn by_name(statuses: &[u16]) -> (Receiver, Value) {
    let receiver = Receiver::responding(|request| {
        let number: String = request.target().chars().filter(char::is_ascii_digit).collect();
        Response::status(number.parse().expect("a status in the path"))
    });
    let names: Vec<_> = statuses.iter().map(|status| format!("s{status}.example.com")).collect();
    let config = with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": names}));
    (receiver, config)
}

fn targets(seen: &[Received]) -> BTreeSet<String> {
    seen.iter().map(|one| one.target().to_owned()).collect()
}

#[test]
fn e1_404_is_a_failure_and_is_sent_again() {
    sent_again_after(404);
}

#[test]
fn e1_429_is_a_failure_and_is_sent_again() {
    sent_again_after(429);
}

/// A failure, reported with its status; sent again and accepted; then known.
#[track_caller]
fn sent_again_after(status: u16) {
    let (receiver, switch) = switched(status);
    let (sandbox, config) = (Sandbox::new(), home(&receiver.url("/")));
    let failed = sandbox.sync(&config).expect(1);
    failed.prints("home.example.com A 203.0.113.7: failed").prints(&status.to_string()).prints("1 failed");
    switch.store(200, Ordering::SeqCst);
    sandbox.sync(&config).expect(0).prints("home.example.com A 203.0.113.7: accepted (200");
    sandbox.sync(&config).says_nothing();
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn e1_every_status_outside_200_to_299_is_a_failure_and_is_sent_again() {
    let statuses = [300, 301, 302, 304, 307, 308, 400, 401, 403, 405, 407, 408, 409, 410, 418, 421, 422, 425, 429, 451];
    let statuses = [&statuses[..], &[500, 501, 502, 503, 504, 511, 599, 600, 999]].concat();
    let (receiver, config) = by_name(&statuses);
    let sandbox = Sandbox::new();
    for round in ["first", "second"] {
        let run =
            sandbox.sync(&config).expect(1).never_prints("accepted (").prints(&format!("{} failed", statuses.len()));
        for status in &statuses {
            let line = format!("s{status}.example.com A 203.0.113.7: failed");
            assert!(run.stderr.contains(&line), "{round} run lacks {line:?}:\n{}", run.stderr);
        }
        let seen = receiver.take();
        assert_eq!(seen.len(), statuses.len(), "{round} run: one request for each");
        assert_eq!(targets(&seen).len(), statuses.len(), "{round} run: each once");
    }
}

#[test]
fn e1_every_status_from_200_to_299_is_a_success_and_is_not_sent_again() {
    let statuses = [200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 250, 299];
    let (receiver, config) = by_name(&statuses);
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&config).expect(0).prints(&format!("{} accepted", statuses.len()));
    for status in statuses {
        let line = format!("s{status}.example.com A 203.0.113.7: accepted ({status}");
        assert!(run.stderr.contains(&line), "lacks {line:?}:\n{}", run.stderr);
    }
    assert_eq!(receiver.take().len(), statuses.len());
    sandbox.sync(&config).says_nothing();
    assert_eq!(receiver.take().len(), 0, "nothing is sent again");
}

#[test]
fn e1_after_405_the_advice_is_what_the_endpoint_allows() {
    let cases = [
        (json!(null), "POST", "It allows POST: set `token` to send a POST."),
        (json!({"ip": "__IP__"}), "GET, HEAD", "It allows GET: leave `token` out to send a GET."),
        (json!(null), "S3cret", "It may want a POST (set `token`) or a GET (leave `token` out)."),
    ];
    for (token, allow, advice) in cases {
        let receiver = Receiver::responding(move |_| Response::status(405).header("Allow", allow));
        let config = with(&home(&receiver.url("/?ip=__IP__")), &json!({"token": token}));
        Sandbox::new().sync(&config).expect(1).prints(advice).never_prints("S3cret");
    }
}

/// A4 speaks of the final response: what comes before it is no outcome, and what is never followed by one is a failure.
#[test]
fn e1_an_informational_status_is_not_the_final_one() {
    for (response, code) in [
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 0),
        ("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0),
        ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 1),
        ("HTTP/1.1 199 Odd\r\n\r\n", 1),
        ("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 1),
    ] {
        let receiver = Receiver::responding(move |_| Response::Raw(response.into()));
        let run = Sandbox::new().sync(&with(&home(&receiver.url("/")), &json!({"timeout": 3})));
        assert_eq!(run.code, code, "{response:?}: {}", run.stderr);
        receiver.only();
    }
}

/// A7: the endpoint may have read it before it closed.
#[test]
fn e2_a_closed_connection_is_a_failure_that_is_not_repeated_in_the_same_run() {
    let working = Arc::new(AtomicBool::new(false));
    let works = working.clone();
    let close = move |request: &Received| {
        let closes = request.target() == "/b.example.com" && !works.load(Ordering::SeqCst);
        if closes { Response::Close } else { Response::status(200) }
    };
    let receiver = Receiver::responding(close);
    let names = json!({"ipv4": ["a.example.com", "b.example.com", "c.example.com"], "concurrency": 1});
    let (sandbox, config) = (Sandbox::new(), with(&home(&receiver.url("/__DOMAIN__")), &names));
    sandbox.sync(&config).expect(1).prints("b.example.com A 203.0.113.7: failed").prints("1 failed, 2 accepted");
    let seen = receiver.take();
    let order: Vec<_> = seen.iter().map(Received::target).collect();
    assert_eq!(order, ["/a.example.com", "/b.example.com", "/c.example.com"], "each once, whatever became of it");
    working.store(true, Ordering::SeqCst);
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.only().target(), "/b.example.com");
}

#[test]
fn e2_a_refused_connection_is_sent_again_once_the_endpoint_is_back() {
    let address = refusing();
    let (sandbox, config) = (Sandbox::new(), home(&format!("http://{address}/")));
    sandbox.sync(&config).expect(1).prints("failed");
    let listener = TcpListener::bind(address).expect("the port is still free");
    serve_at(listener, |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    });
    sandbox.sync(&config).expect(0).prints("1 accepted");
    sandbox.sync(&config).says_nothing();
}

#[test]
fn e2_a_time_out_is_sent_again() {
    let slow = Arc::new(AtomicBool::new(true));
    let is_slow = slow.clone();
    let receiver = Receiver::responding(move |_| {
        let wait = if is_slow.load(Ordering::SeqCst) { Duration::from_secs(60) } else { Duration::ZERO };
        Response::status(200).after(wait)
    });
    let (sandbox, config) = (Sandbox::new(), with(&home(&receiver.url("/")), &json!({"timeout": 1})));
    sandbox.sync(&config).expect(1).prints("failed");
    slow.store(false, Ordering::SeqCst);
    sandbox.sync(&config).expect(0).prints("1 accepted");
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn e3_a_success_is_not_sent_again_and_a_changed_address_is() {
    let receiver = Receiver::new();
    let (sandbox, config) =
        (Sandbox::new(), with(&home(&receiver.url("/?ip=__IP__")), &json!({"index4": receiver.index4()})));
    for (address, expected) in [
        ("203.0.113.7", vec!["/?ip=203.0.113.7"]),
        ("203.0.113.7", vec![]),
        ("203.0.113.8", vec!["/?ip=203.0.113.8"]),
        ("203.0.113.8", vec![]),
        ("203.0.113.7", vec!["/?ip=203.0.113.7"]),
        ("203.0.113.7", vec![]),
    ] {
        receiver.set_ip(address);
        sandbox.sync(&config).expect(0);
        let seen = receiver.take();
        assert_eq!(seen.iter().map(Received::target).collect::<Vec<_>>(), expected, "address {address}");
    }
}

/// The endpoint may have taken the new address before it failed: what it got before is in doubt.
#[test]
fn e3_after_a_failed_attempt_the_old_address_is_sent_again() {
    let (receiver, switch) = switched(200);
    let (sandbox, config) =
        (Sandbox::new(), with(&home(&receiver.url("/?ip=__IP__")), &json!({"index4": receiver.index4()})));
    sandbox.sync(&config).expect(0);
    receiver.set_ip("203.0.113.8");
    switch.store(500, Ordering::SeqCst);
    sandbox.sync(&config).expect(1);
    receiver.take();
    receiver.set_ip("203.0.113.7");
    switch.store(200, Ordering::SeqCst);
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take()[0].target(), "/?ip=203.0.113.7");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.take().len(), 0, "then it is known again");
}

#[test]
fn e3_a_changed_callback_is_sent_again() {
    let receiver = Receiver::new();
    let id = "/hook?ttl=__TTL__&line=__LINE__&host=__HOST__";
    let token = json!({"key": "one", "deep": [{"er": 1.0}]});
    let own = json!({"token": token, "ttl": 600, "line": "a", "extra": {"__HOST__": "nas"}});
    let base = with(&home(&receiver.url(id)), &own);
    for more in [
        json!({"id": receiver.url("/other?ttl=__TTL__&line=__LINE__&host=__HOST__")}),
        json!({"id": receiver.url("/hook?ttl=__TTL__&line=__LINE__&host=__HOST__&more=")}),
        json!({"id": "hook", "endpoint": receiver.url("/base")}),
        json!({"id": receiver.url(id).replace("http://", "http://user:pw@")}),
        json!({"token": {"key": "two", "deep": [{"er": 1.0}]}}),
        json!({"token": {"key": "one", "deep": [{"er": 2.0}]}}),
        json!({"token": {}}),
        json!({"ttl": 601}),
        json!({"line": "b"}),
        json!({"extra": {"__HOST__": "nas2"}}),
    ] {
        let (sandbox, changed) = (Sandbox::new(), with(&base, &more));
        sandbox.sync(&base).expect(0);
        assert_eq!(receiver.take().len(), 1, "the first time");
        sandbox.sync(&changed).expect(0);
        assert_eq!(receiver.take().len(), 1, "changed by {more}: sent again");
        sandbox.sync(&changed).expect(0);
        assert_eq!(receiver.take().len(), 0, "changed by {more}: known by now");
    }
}

#[test]
fn e3_what_does_not_shape_the_request_is_not_sent_again() {
    let receiver = Receiver::new();
    let (sandbox, base) = (Sandbox::new(), home(&receiver.url("/hook?ip=__IP__")));
    sandbox.sync(&base).expect(0);
    receiver.take();
    for more in [
        json!({"log": {"level": "DEBUG"}}),
        json!({"log": {"level": "ERROR", "file": "log.txt", "format": "%(message)s"}}),
        json!({"debug": true}),
        json!({"proxy": ["DIRECT"]}),
        json!({"ssl": true}),
        json!({"timeout": 7}),
        json!({"concurrency": 1}),
        json!({"cache_max_age": 100_000}),
        json!({"$schema": "https://ddns.example/schema/v4.1.json"}),
        json!({"index4": ["cmd:echo 203.0.113.7", "default"]}),
        json!({"ipv4": "HOME.example.com"}),
    ] {
        sandbox.sync(&with(&base, &more)).expect(0);
        assert_eq!(receiver.take().len(), 0, "changed by {more}: nothing is sent");
    }
}

#[test]
fn e3_domains_and_types_are_entries_of_their_own() {
    let receiver = Receiver::new();
    let (sandbox, base) = (Sandbox::new(), home(&receiver.url("/__DOMAIN__/__RECORDTYPE__")));
    sandbox.sync(&base).expect(0);
    receiver.take();
    sandbox.sync(&with(&base, &json!({"ipv4": ["home.example.com", "new.example.com"]}))).expect(0);
    assert_eq!(receiver.only().target(), "/new.example.com/A");
    receiver.take();
    sandbox.sync(&with(&base, &json!({"ipv6": ["home.example.com"], "index6": receiver.index6()}))).expect(0);
    assert_eq!(receiver.only().target(), "/home.example.com/AAAA");
}

#[test]
fn e3_two_callbacks_for_one_domain_are_two_entries() {
    let (receiver, switch) = switched(204);
    let failing = Receiver::responding(|_| Response::status(500));
    let config = |second: &Receiver| {
        json!({"ipv4": ["home.example.com"], "index4": receiver.index4(), "providers": [
            {"provider": "callback", "id": receiver.url("/one")},
            {"provider": "callback", "id": receiver.url("/two")},
            {"provider": "callback", "id": second.url("/three")},
        ]})
    };
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&failing)).expect(1).prints("1 failed, 2 accepted");
    assert_eq!(targets(&receiver.take()), BTreeSet::from(["/one".to_owned(), "/two".to_owned()]));
    switch.store(500, Ordering::SeqCst);
    sandbox.sync(&config(&failing)).expect(1).prints("2 already up to date");
    assert_eq!(receiver.take().len(), 0, "both are known");
    assert_eq!(failing.callbacks().len(), 2, "the failed one is sent again");
}

#[test]
fn e3_a_success_older_than_cache_max_age_is_sent_again() {
    let receiver = Receiver::new();
    let (sandbox, base) = (Sandbox::new(), home(&receiver.url("/")));
    sandbox.sync(&base).expect(0);
    for (age, wait, expected) in [(0, 0, 1), (0, 0, 1), (3600, 0, 0), (1, 2100, 1), (3600, 0, 0)] {
        receiver.take();
        thread::sleep(Duration::from_millis(wait));
        sandbox.sync(&with(&base, &json!({"cache_max_age": age}))).expect(0);
        assert_eq!(receiver.take().len(), expected, "cache_max_age {age}, {wait} ms later");
    }
}

#[test]
fn e6_no_address_sends_nothing_and_leaves_the_cache_as_it_is() {
    let receiver = Receiver::new();
    let (sandbox, base) = (Sandbox::new(), home(&receiver.url("/")));
    sandbox.sync(&base).expect(0);
    receiver.take();
    let before = std::fs::read(sandbox.cache_file()).expect("a cache");
    for source in ["shell:true", "cmd:/nonexistent/program", "shell:echo none here", "shell:echo 2001:db8::7"] {
        let run = sandbox.sync(&with(&base, &json!({"index4": source})));
        assert_eq!(run.code, 1, "{source}: {}", run.stderr);
        assert_eq!(receiver.callbacks().len(), 0, "{source}: nothing is sent");
        let after = std::fs::read(sandbox.cache_file()).expect("a cache");
        assert!(before == after, "{source}: the cache changed");
    }
    sandbox.sync(&base).expect(0);
    assert_eq!(receiver.callbacks().len(), 0, "the address is still known");
}

#[test]
fn e6_a_family_without_an_address_does_not_hold_up_the_other() {
    let receiver = Receiver::new();
    let more = json!({"index4": "shell:true", "ipv6": ["home.example.com"], "index6": receiver.index6()});
    Sandbox::new().sync(&with(&home(&receiver.url("/__IP__")), &more)).expect(1).prints("1 accepted");
    assert_eq!(receiver.only().target(), "/2001:db8::7");
}

#[test]
fn e7_the_exit_status_reports_how_it_went() {
    let (receiver, config) = by_name(&[200, 204, 404]);
    let sandbox = Sandbox::new();
    sandbox.sync(&with(&config, &json!({"ipv4": "s200.example.com"}))).expect(0).prints("1 accepted");
    sandbox.sync(&with(&config, &json!({"ipv4": "s200.example.com"}))).says_nothing();
    let mixed = sandbox.sync(&config).expect(1);
    mixed.prints("1 accepted").prints("1 failed").prints("1 already up to date");
    sandbox.sync(&with(&config, &json!({"ipv4": "s200.example.com", "index4": "shell:true"}))).expect(1);
    receiver.take();
    for (name, text) in [
        ("broken JSON", r#"{"dns": "callback", "#.to_owned()),
        ("no address to send to", r#"{"dns": "callback", "ipv4": "s200.example.com"}"#.to_owned()),
        ("wrong type", with(&config, &json!({"ttl": [1]})).to_string()),
        ("another provider", with(&config, &json!({"dns": "other"})).to_string()),
    ] {
        let run = sandbox.sync_text(&text);
        assert_eq!(run.code, 2, "{name}: {}", run.stderr);
    }
    sandbox.run(&["-c", "missing.json"]).expect(2);
    sandbox.run(&["--no-such-option"]).expect(2);
    assert_eq!(receiver.callbacks().len(), 0, "nothing is sent after a mistake in configuration or usage");
}
