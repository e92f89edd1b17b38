//! Section E over proxies (E2): whatever a proxy does wrong is reported, with every route that was tried.

use std::io::Write as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::authority::Authority;
use crate::support::given::with;
use crate::support::odd_server::refusing;
use crate::support::proxies::{Proxy, Then, by, read_head};
use crate::support::{Receiver, Sandbox};

/// What a proxy may respond with when it is asked for a tunnel, and what is reported.
const REFUSALS: [(Then, &str); 8] = [
    (Then::Sends("HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n"), "asks for a user and password (407)"),
    (Then::Sends("HTTP/1.1 502 Bad\r\n\r\nwhatever"), "responded with 502 Bad Gateway when asked for a tunnel"),
    (Then::Sends("HTTP/1.0 403 No\r\n\r\n"), "responded with 403 Forbidden when asked for a tunnel"),
    (Then::Sends(""), "closed the connection without a response"),
    (Then::Sends("HTTP/1.1 200 OK\r\nA: b"), "closed the connection in the middle of its response"),
    (Then::Sends("SSH-2.0-proxy\r\n\r\n"), "sent a response that is not valid HTTP"),
    (Then::Sends("HTTP/1.1 200 OK\r\n\r\nmore"), "sends data into the tunnel before the endpoint does"),
    (Then::Hangs, "no response within"),
];

#[test]
fn e2_a_proxy_that_gives_no_tunnel_is_reported() {
    std::thread::scope(|scope| {
        for (then, part) in REFUSALS {
            scope.spawn(move || {
                let proxy = Proxy::http(then);
                let config = with(&by("https://dns.example.com/hook", json!([proxy.url()])), &json!({"timeout": 2}));
                let begun = Instant::now();
                let run = Sandbox::new().sync(&config).expect(1);
                assert!(begun.elapsed() < Duration::from_secs(4), "{part}: {:?}", begun.elapsed());
                run.prints(&format!("no connection to https://dns.example.com (proxy {}: ", proxy.url())).prints(part);
                assert_eq!(proxy.seen().len(), 1, "{part}");
            });
        }
    });
}

#[test]
fn d5_a_proxy_that_gives_no_tunnel_is_passed_over() {
    std::thread::scope(|scope| {
        for (then, part) in REFUSALS {
            scope.spawn(move || {
                let authority = Authority::new("known");
                let server = authority.server("localhost");
                let proxy = Proxy::http(then);
                let config = by(&server.url("/hook"), json!([proxy.url(), "DIRECT"]));
                authority.trusted().sync(&with(&config, &json!({"ssl": true}))).expect(0);
                assert_eq!((proxy.seen().len(), server.seen().len()), (1, 1), "{part}");
            });
        }
    });
}

#[test]
fn e2_every_route_that_was_tried_is_reported() {
    let (dead, login) = (refusing(), Proxy::http(Then::Sends("HTTP/1.1 407 Login\r\n\r\n")));
    let nobody = refusing();
    let id = format!("https://{nobody}/hook");
    let config = by(&id, json!([format!("http://{dead}"), login.url(), format!("socks5://{dead}"), "DIRECT"]));
    let expected = format!(
        "no connection to https://{nobody} (proxy http://{dead}: connection refused; \
         proxy {}: asks for a user and password (407); proxy socks5://{dead}: connection refused; \
         directly: connection refused)",
        login.url()
    );
    Sandbox::new().sync(&config).expect(1).prints(&expected);
    // Alone, the direct way is not called so.
    Sandbox::new()
        .sync(&by(&id, "DIRECT"))
        .expect(1)
        .prints(&format!("no connection to https://{nobody} (connection refused)"));
}

#[test]
fn e2_a_login_that_is_not_accepted_is_reported() {
    let proxy = Proxy::http(Then::Sends("HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n"));
    let route = proxy.url().replace("://", "://proxy-user:proxy-word@");
    for id in ["http://dns.example.com/hook", "https://dns.example.com/hook"] {
        let run = Sandbox::new().sync(&by(id, json!([route]))).expect(1);
        run.prints("does not accept the user and password (407)").prints(&proxy.url());
    }
}

#[test]
fn e2_a_407_to_a_handed_on_request_is_the_proxys() {
    let proxy = Proxy::http(Then::Sends("HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n"));
    let run = Sandbox::new().sync(&by("http://dns.example.com/hook", json!([proxy.url()]))).expect(1);
    run.prints(&format!("failed: the proxy {} asks for a user and password (407)", proxy.url()));
}

/// The endpoint still has what it accepted before.
#[test]
fn e4_a_407_to_a_handed_on_request_leaves_no_doubt_about_what_was_accepted() {
    let responses = Mutex::new(vec!["407 Login", "204 No Content"]);
    let proxy = Proxy::serving(move |mut stream, seen| {
        let status = responses.lock().expect("no test thread failed").pop().unwrap_or("204 No Content");
        seen.lock().expect("no test thread failed").push(read_head(&mut stream)?);
        stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").as_bytes())
    });
    let sandbox = Sandbox::new();
    for (ip, code) in [("203.0.113.7", 0), ("203.0.113.8", 1), ("203.0.113.7", 0)] {
        let config = by("http://dns.example.com/hook?ip=__IP__", json!([proxy.url()]));
        sandbox.sync(&with(&config, &json!({"index4": format!("shell:echo {ip}")}))).expect(code);
    }
    assert_eq!(proxy.seen().len(), 2, "{:?}", proxy.seen());
}

#[test]
fn e2_a_status_that_may_be_the_proxys_own_names_the_proxy() {
    for (response, part) in [
        ("HTTP/1.1 502 A\r\nContent-Length: 0\r\n\r\n", "responded with 502 Bad Gateway, from or through the proxy "),
        (
            "HTTP/1.1 503 A\r\nContent-Length: 0\r\n\r\n",
            "responded with 503 Service Unavailable, from or through the proxy ",
        ),
        ("HTTP/1.1 403 A\r\nContent-Length: 0\r\n\r\n", "responded with 403 Forbidden, from or through the proxy "),
        (
            "HTTP/1.1 504 A\r\nContent-Length: 0\r\n\r\n",
            "responded with 504 Gateway Timeout, from or through the proxy ",
        ),
    ] {
        let proxy = Proxy::http(Then::Sends(response));
        let run = Sandbox::new().sync(&by("http://dns.example.com/hook", json!([proxy.url()]))).expect(1);
        run.prints(&format!("{part}{}", proxy.url()));
    }
    let endpoint = Receiver::responding(|_| crate::support::Response::status(502));
    Sandbox::new().sync(&by(&endpoint.url("/"), "DIRECT")).expect(1).prints("502 Bad Gateway").never_prints("proxy");
}

#[test]
fn e2_a_proxy_that_takes_a_request_and_hangs_is_reported_within_the_limit() {
    let proxy = Proxy::http(Then::Hangs);
    let config = with(&by("http://dns.example.com/hook", json!([proxy.url(), "DIRECT"])), &json!({"timeout": 1}));
    let begun = Instant::now();
    let run = Sandbox::new().sync(&config).expect(1);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    run.prints("did not respond within 1 s").prints(&format!("through the proxy {}", proxy.url()));
}

#[test]
fn e2_a_silent_proxy_leaves_time_for_the_next_route() {
    let receiver = Receiver::new();
    let authority = Authority::new("known");
    let server = authority.server("localhost");
    let proxy = Proxy::http(Then::Hangs);
    let config = with(&by(&server.url("/hook"), json!([proxy.url(), "DIRECT"])), &json!({"timeout": 2, "ssl": true}));
    authority.trusted().sync(&config).expect(0);
    assert_eq!((server.seen().len(), receiver.callbacks().len()), (1, 0));
}

#[test]
fn d5_many_requests_do_not_wait_for_the_same_dead_proxy() {
    let receiver = Receiver::responding(|_| crate::support::Response::status(200).header("Connection", "close"));
    let silent = Proxy::serving(|mut stream, seen| {
        seen.lock().expect("no test thread failed").push(String::new());
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
        Ok(())
    });
    let names: Vec<String> = (0..20).map(|number| format!("d{number}.example.com")).collect();
    let route = format!("socks5h://{}", silent.address);
    let config = by(&receiver.url("/hook"), json!([route, "DIRECT"]));
    let begun = Instant::now();
    Sandbox::new().sync(&with(&config, &json!({"ipv4": names, "concurrency": 1, "timeout": 2}))).expect(0);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!((silent.seen().len(), receiver.callbacks().len()), (1, 20));
}
