//! Several updates and kept connections (A6, A7): a fault costs the update that met it and no other, a response is never
//! taken for that of another request, and nothing is delivered twice.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use rustls::version;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::authority::{Authority, params_for};
use crate::support::given::{SOURCE, home, with};
use crate::support::scripted::Step::{Close, Pause, Reset, Stall, TakeBody};
use crate::support::scripted::bounded;
use crate::support::scripted::{Server, Step, say};

const ACCEPTED: &str = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";

/// The same from a server that does not say what it does with the connection.
const UNSAID: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// So many domains, updated one after another or as many at once as the program likes.
fn many(server: &Server, count: usize, concurrency: &Value) -> Value {
    let names: Vec<_> = (0..count).map(|number| format!("h{number}.example.com")).collect();
    let more = json!({"ipv4": names, "concurrency": concurrency, "timeout": 2});
    with(&home(&server.url("/__DOMAIN__")), &more)
}

/// Each of so many targets once.
fn each_once(count: usize) -> BTreeMap<String, usize> {
    (0..count).map(|number| (format!("/h{number}.example.com"), 1)).collect()
}

fn modes() -> [Value; 3] {
    [json!(1), json!("auto"), json!(20)]
}

#[test]
fn a6_a_fault_in_the_third_of_ten_responses_costs_that_update_alone() {
    let cases: [(&str, Vec<Step>); 7] = [
        ("an end", vec![Close]),
        ("a reset", vec![Reset]),
        ("silence", vec![Stall]),
        ("half a head", vec![say("HTTP/1.1 200 OK\r\nContent-"), Close]),
        ("no HTTP", vec![say("ok\r\n"), Close]),
        ("a refusal", vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")]),
        ("a broken refusal", vec![say("HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nxyz")]),
    ];
    let cases = cases.iter().flat_map(|case| modes().map(|concurrency| (case, concurrency)));
    thread::scope(|scope| {
        for ((name, fault), concurrency) in cases {
            scope.spawn(move || a_fault_costs_one_update(name, fault.clone(), &concurrency));
        }
    });
}

fn a_fault_costs_one_update(name: &str, fault: Vec<Step>, concurrency: &Value) {
    let server = Server::start(Vec::new(), move |target| match target {
        "/h2.example.com" => fault.clone(),
        _ => vec![say(ACCEPTED)],
    });
    let (sandbox, config) = (Sandbox::new(), many(&server, 10, concurrency));
    let run = bounded(&sandbox, &config, name).expect(1).prints("1 failed, 9 accepted");
    run.prints("h2.example.com A 203.0.113.7: failed: ");
    assert_eq!(server.take(), each_once(10), "{name}, {concurrency}: each once");
    server.mend();
    bounded(&sandbox, &config, name).expect(0).prints("1 accepted, 9 already up to date");
    let again = BTreeMap::from([("/h2.example.com".to_owned(), 1)]);
    assert_eq!(server.take(), again, "{name}, {concurrency}: the failed one alone, once");
    bounded(&sandbox, &config, name).says_nothing();
}

#[test]
fn a7_twenty_updates_to_a_server_that_sends_connection_close() {
    for concurrency in modes() {
        let response = "HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\nContent-Length: 2\r\n\r\nok";
        let server = Server::always(vec![say(response), Close]);
        let config = many(&server, 20, &concurrency);
        bounded(&Sandbox::new(), &config, "closing").expect(0).prints("20 accepted");
        assert_eq!(server.take(), each_once(20), "{concurrency}");
        assert_eq!(server.take_connections(), 20, "{concurrency}");
    }
}

/// The request that meets the end of a kept connection may fail, for it is not sent twice; the next run sends it.
#[test]
fn a7_twenty_updates_to_a_server_that_closes_without_a_word() {
    for end in [Close, Reset] {
        for pause in [0, 2, 20] {
            let server = Server::always(vec![say(ACCEPTED), Pause(Duration::from_millis(pause)), end.clone()]);
            let (sandbox, config) = (Sandbox::new(), many(&server, 20, &json!(1)));
            let run = bounded(&sandbox, &config, "closing silently");
            let failed = run.stderr.matches(": failed:").count();
            assert!(failed <= 1, "after the first break no connection is kept:\n{}", run.stderr);
            assert_eq!(run.code, i32::from(failed > 0), "{}", run.stderr);
            server.mend();
            let again = bounded(&sandbox, &config, "again").expect(0);
            assert_eq!(again.stderr.matches(": accepted (").count(), failed, "{}", again.stderr);
            assert_eq!(server.take(), each_once(20), "over both runs");
        }
    }
}

#[test]
fn a7_a_connection_is_kept_for_twenty_updates() {
    let server = Server::always(vec![say(ACCEPTED)]);
    bounded(&Sandbox::new(), &many(&server, 20, &json!(1)), "keeping").expect(0).prints("20 accepted");
    assert_eq!((server.take(), server.take_connections()), (each_once(20), 1));
}

/// A body where none may be is not taken for the response to the next request.
#[test]
fn a4_a_body_after_204_or_304_is_not_the_next_response() {
    let stray = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let late = Pause(Duration::from_millis(100));
    for status in ["204 No Content", "304 Not Modified"] {
        let length = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", stray.len());
        let chunked = format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let plain = format!("HTTP/1.1 {status}\r\n\r\n");
        for (name, first) in [
            ("at once", vec![say(format!("{plain}{stray}"))]),
            ("with a length, later", vec![say(&length), late.clone(), say(stray)]),
            ("in chunks, later", vec![say(&chunked), late.clone(), say(stray)]),
        ] {
            let server = Server::start(Vec::new(), move |target| match target {
                "/h0.example.com" => first.clone(),
                _ => vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")],
            });
            let run = bounded(&Sandbox::new(), &many(&server, 3, &json!(1)), name).expect(1);
            for number in [1, 2] {
                let line = format!("h{number}.example.com A 203.0.113.7: failed: the endpoint responded with 500");
                assert!(run.stderr.contains(&line), "{status}, {name}: {line} expected:\n{}", run.stderr);
            }
            assert_eq!(server.take(), each_once(3), "{status}, {name}");
        }
    }
}

/// A gateway gives up, and then passes on what the server behind it responds.
#[test]
fn a4_a_late_response_after_504_is_not_the_next_response() {
    let late = Pause(Duration::from_millis(3));
    let gives_up = "HTTP/1.1 504 Gateway Timeout\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
    let server = Server::always(vec![say(gives_up), late, say(ACCEPTED)]);
    let run = bounded(&Sandbox::new(), &many(&server, 6, &json!(1)), "504").expect(1);
    assert_eq!(run.stderr.matches("responded with 504").count(), 6, "{}", run.stderr);
    assert_eq!(server.take(), each_once(6));
}

/// It gets a connection for each request, so that nothing is lost and nothing is sent twice.
#[test]
fn a7_a_server_that_closes_a_moment_after_its_response_gets_every_update_once() {
    for (wait, token) in [(0, json!({})), (1, json!({"ip": "__IP__"})), (5, json!({})), (5, json!({"ip": "__IP__"}))] {
        for concurrency in modes() {
            for count in [2, 10, 60] {
                // On a busy machine its moment may be longer than the 50 ms that count: then it is one that keeps connections.
                let closes_in_time = || {
                    let end = Pause(Duration::from_millis(wait));
                    let server = Server::always(vec![TakeBody, say(UNSAID), end, Close]);
                    let config = with(&many(&server, count, &concurrency), &json!({"token": token}));
                    let run = bounded(&Sandbox::new(), &config, "closing");
                    let is_whole = run.code == 0 && run.stderr.contains(&format!("{count} accepted"));
                    is_whole && server.take() == each_once(count) && server.take_connections() == count
                };
                assert!((0..3).any(|_| closes_in_time()), "{count}, {wait} ms, {concurrency}, {token}");
            }
        }
    }
}

/// What stays open for 50 ms is kept, though nobody said so; the requests until then have connections of their own.
#[test]
fn a7_a_server_that_keeps_its_connections_without_a_word_is_known_by_that() {
    let server = Server::always(vec![Pause(Duration::from_millis(30)), say(UNSAID)]);
    bounded(&Sandbox::new(), &many(&server, 12, &json!(1)), "keeping").expect(0);
    let connections = server.take_connections();
    assert_eq!(server.take(), each_once(12));
    assert!((2..=4).contains(&connections), "{connections} connections");
}

/// Who says that it keeps the connection and does not is not believed again: one update pays for that.
#[test]
fn a7_a_server_that_says_it_keeps_connections_and_does_not_costs_one_update_at_most() {
    for concurrency in modes() {
        let server = Server::always(vec![say(ACCEPTED), Pause(Duration::from_millis(5)), Close]);
        let sandbox = Sandbox::new();
        let run = bounded(&sandbox, &many(&server, 20, &concurrency), "a wrong promise");
        let failed = run.stderr.matches(": failed").count();
        // Those that were under way at the same moment are believed together.
        let most = if concurrency == json!(20) { 20 } else { 2 };
        assert!(failed <= most, "{concurrency}: {}", run.stderr);
        assert!(server.take().values().all(|count| *count == 1), "{concurrency}");
    }
}

/// Bytes without a length cost at most the update that meets them.
#[test]
fn a7_a_stray_body_that_comes_late_costs_one_update_at_most() {
    let late = Pause(Duration::from_millis(100));
    let server = Server::start(Vec::new(), move |target| match target {
        "/h0.example.com" => {
            vec![say("HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n"), late.clone(), say("hello")]
        }
        _ => vec![say(ACCEPTED)],
    });
    let (sandbox, config) = (Sandbox::new(), many(&server, 5, &json!(1)));
    let run = bounded(&sandbox, &config, "stray");
    let failed = run.stderr.matches("h1.example.com A 203.0.113.7: failed").count();
    run.expect(i32::from(failed > 0)).prints(&format!("{} accepted", 5 - failed));
    assert_eq!(server.take(), each_once(5));
    bounded(&sandbox, &config, "again").expect(0).prints(&format!("{} already up to date", 5 - failed));
    assert_eq!(server.take().values().sum::<usize>(), failed, "the failed one alone, once");
}

/// Two callbacks of one server with time between them, in which the kept connection is idle.
fn with_a_rest(server: &Server) -> Value {
    let slow = format!("shell:sleep 1; {}", SOURCE.trim_start_matches("shell:"));
    json!({"ipv4": "home.example.com", "timeout": 2, "providers": [
        {"provider": "callback", "id": server.url("/first"), "index4": SOURCE},
        {"provider": "callback", "id": server.url("/second"), "index4": slow},
    ]})
}

#[test]
fn a4_what_arrives_on_an_idle_connection_is_not_a_response() {
    let (good, bad) = ("HTTP/1.1 204 Fine\r\n\r\n", "HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n");
    thread::scope(|scope| {
        for (unasked, second, code) in [(bad, good, 0), (good, bad, 1), ("junk", good, 0)] {
            for end in [Vec::new(), vec![Close], vec![Reset]] {
                scope.spawn(move || {
                    let pause = Pause(Duration::from_millis(50));
                    let first = [vec![say(ACCEPTED), pause, say(unasked)], end].concat();
                    let server = Server::start(Vec::new(), move |target| match target {
                        "/first" => first.clone(),
                        _ => vec![say(second)],
                    });
                    let run = bounded(&Sandbox::new(), &with_a_rest(&server), unasked).expect(code);
                    run.prints(&format!("{} accepted", 2 - code));
                    let once = BTreeMap::from([("/first".to_owned(), 1), ("/second".to_owned(), 1)]);
                    assert_eq!(server.take(), once, "{unasked}");
                    assert_eq!(server.take_connections(), 2, "{unasked}: the connection is not used again");
                });
            }
        }
    });
}

/// The same over TLS.
fn secured(authority: &Authority, script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Server {
    let config = authority.config(&params_for("127.0.0.1"), &[&version::TLS13, &version::TLS12]);
    Server::on("127.0.0.1:0", Some(config), Vec::new(), script)
}

fn secured_config(server: &Server, names: &[&str]) -> Value {
    let more = json!({"ipv4": names, "concurrency": 1, "timeout": 2, "ssl": true});
    with(&home(&server.url("/__DOMAIN__")), &more)
}

/// Each of these targets once.
fn once(targets: &[&str]) -> BTreeMap<String, usize> {
    targets.iter().map(|target| ((*target).to_owned(), 1)).collect()
}

/// What was decrypted with the response before it is not a response either, though the socket itself is silent.
#[test]
fn a4_what_follows_a_response_over_tls_is_not_the_next_one() {
    let authority = Authority::new("known");
    for size in [100, 1024, 2048, 4096, 8192] {
        let server = secured(&authority, move |target| match target {
            "/a.example.com" => {
                // Padded to a size that ends where a read may end.
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
                let padding = "x".repeat(size - head.len() - 4);
                let stray = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                vec![say(format!("{head}{padding}\r\n\r\n{stray}"))]
            }
            _ => vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")],
        });
        let config = secured_config(&server, &["a.example.com", "b.example.com"]);
        let run = bounded(&authority.trusted(), &config, "stray over TLS").expect(1);
        run.prints("1 failed, 1 accepted")
            .prints("b.example.com A 203.0.113.7: failed: the endpoint responded with 500");
        assert_eq!(server.take(), once(&["/a.example.com", "/b.example.com"]), "{size}");
    }
}

#[test]
fn a7_a_connection_is_kept_over_tls() {
    let authority = Authority::new("known");
    let server = secured(&authority, |_| vec![say(ACCEPTED)]);
    let config = secured_config(&server, &["a.example.com", "b.example.com", "c.example.com"]);
    bounded(&authority.trusted(), &config, "keeping over TLS").expect(0).prints("3 accepted");
    let all = once(&["/a.example.com", "/b.example.com", "/c.example.com"]);
    assert_eq!((server.take(), server.take_connections()), (all, 1));
}

/// Most servers close without the end that TLS knows; that is reported as on a plain connection.
#[test]
fn e2_a_cut_over_tls_is_reported_as_what_it_is() {
    let authority = Authority::new("known");
    for (response, part) in [
        ("", "closed the connection without a response"),
        ("HTTP/1.1 200 OK\r\nContent-", "closed the connection in the middle of its response"),
    ] {
        let server = secured(&authority, move |_| vec![say(response), Close]);
        let (sandbox, config) = (authority.trusted(), secured_config(&server, &["a.example.com"]));
        for _ in 0..2 {
            bounded(&sandbox, &config, "cut over TLS").expect(1).prints(part);
            assert_eq!(server.take(), once(&["/a.example.com"]), "once in each run");
        }
    }
    let server = secured(&authority, |_| vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), Close]);
    let config = secured_config(&server, &["a.example.com", "b.example.com"]);
    bounded(&authority.trusted(), &config, "a body cut over TLS").expect(0).prints("2 accepted");
}
