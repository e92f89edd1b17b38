//! Section D, `proxy` (D5): what a proxy is asked, what the endpoint gets, and what neither of them does.

use std::net::TcpStream;

use serde_json::json;

use crate::support::authority::Authority;
use crate::support::given::with;
use crate::support::odd_server::refusing;
use crate::support::proxies::{Proxy, Then, by, pass};
use crate::support::{Receiver, Response, Sandbox};

/// `proxy-user:proxy-word`
const LOGIN: &str = "Basic cHJveHktdXNlcjpwcm94eS13b3Jk";

/// With a user and a password in front of the host.
fn with_login(url: &str) -> String {
    url.replace("://", "://proxy-user:proxy-word@")
}

#[test]
fn d5_an_http_address_is_handed_to_the_proxy_whole() {
    let proxy = Receiver::new();
    let id = "http://dns.example.com/hook?name=__DOMAIN__&ip=__IP__";
    for form in [proxy.url(""), proxy.url("/"), format!("127.0.0.1:{}", proxy.port())] {
        Sandbox::new().sync(&by(id, form)).expect(0).prints("1 accepted");
        let seen = proxy.take();
        assert_eq!(seen.len(), 1);
        let line = "GET http://dns.example.com/hook?name=home.example.com&ip=203.0.113.7 HTTP/1.1";
        assert_eq!(seen[0].line, line);
        assert_eq!(seen[0].header("host"), Some("dns.example.com"));
        assert_eq!(seen[0].header("proxy-authorization"), None);
    }
}

#[test]
fn d5_a_body_and_both_logins_go_through_an_http_proxy() {
    let proxy = Receiver::new();
    let config = by("http://me:endpoint-word@dns.example.com:8080/hook", with_login(&proxy.url("")));
    Sandbox::new().sync(&with(&config, &json!({"token": {"ip": "__IP__"}}))).expect(0);
    let seen = proxy.only();
    assert_eq!(seen.line, "POST http://dns.example.com:8080/hook HTTP/1.1");
    assert_eq!(seen.header("proxy-authorization"), Some(LOGIN));
    assert_eq!(seen.header("authorization"), Some("Basic bWU6ZW5kcG9pbnQtd29yZA=="));
    assert_eq!(seen.text(), r#"{"ip":"203.0.113.7"}"#);
}

#[test]
fn d5_https_goes_through_a_tunnel_and_the_proxys_login_stays_with_the_proxy() {
    let authority = Authority::new("known");
    for opening in [
        "HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\nVia: a\r\nContent-Length: 7\r\nX-More: b\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ] {
        let server = authority.server("localhost");
        let proxy = Proxy::http(Then::Opens(opening));
        let config = by(&server.url("/hook?ip=__IP__"), json!([with_login(&proxy.url())]));
        authority.trusted().sync(&with(&config, &json!({"ssl": true}))).expect(0);
        let (asked, seen) = (proxy.seen(), server.seen());
        assert_eq!((asked.len(), seen.len()), (1, 1), "{opening:?}");
        let authority = format!("localhost:{}", server.port);
        assert!(asked[0].starts_with(&format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n")), "{asked:?}");
        assert!(asked[0].contains(&format!("\r\nProxy-Authorization: {LOGIN}\r\n")), "{asked:?}");
        assert!(seen[0].starts_with("GET /hook?ip=203.0.113.7 HTTP/1.1\r\n"), "{seen:?}");
        assert!(!seen[0].to_lowercase().contains("proxy"), "{seen:?}");
    }
}

#[test]
fn d5_direct_in_any_case_goes_without_a_proxy() {
    for direct in [json!("DIRECT"), json!(["direct"]), json!("Direct")] {
        let receiver = Receiver::new();
        let sandbox = Sandbox::new().env("http_proxy", format!("http://{}", refusing()));
        sandbox.sync(&by(&receiver.url("/hook"), direct)).expect(0);
        assert_eq!(receiver.only().target(), "/hook");
    }
}

#[test]
fn d5_a_dead_proxy_is_passed_over() {
    let receiver = Receiver::new();
    let dead = format!("http://{}", refusing());
    for list in
        [json!([dead, "DIRECT"]), json!(format!("{dead};direct")), json!([dead, "socks5://127.0.93.7:1", "DIRECT"])]
    {
        Sandbox::new().sync(&by(&receiver.url("/hook"), list)).expect(0);
        assert_eq!(receiver.take().len(), 1);
    }
}

#[test]
fn d5_the_first_route_that_works_is_taken_and_no_other() {
    let (first, second, endpoint) = (Receiver::new(), Receiver::new(), Receiver::new());
    Sandbox::new().sync(&by(&endpoint.url("/hook"), json!([first.url(""), second.url(""), "DIRECT"]))).expect(0);
    assert_eq!([&first, &second, &endpoint].map(|receiver| receiver.callbacks().len()), [1, 0, 0]);
}

/// A7: a proxy that took the request may have handed it on.
#[test]
fn a7_a_request_that_a_proxy_took_is_not_sent_again_directly() {
    for response in
        [Response::Close, Response::Raw(b"SSH-2.0-x\r\n\r\n".to_vec()), Response::status(407), Response::status(502)]
    {
        let endpoint = Receiver::new();
        let proxy = Receiver::responding(move |_| response.clone());
        let config = by(&endpoint.url("/hook"), json!([proxy.url(""), "DIRECT"]));
        let run = Sandbox::new().sync(&with(&config, &json!({"token": {"ip": "__IP__"}}))).expect(1);
        run.prints(&format!("proxy {}", proxy.url("")));
        assert_eq!((proxy.callbacks().len(), endpoint.callbacks().len()), (1, 0));
    }
}

#[test]
fn a7_a_tls_failure_through_a_tunnel_is_not_tried_by_another_route() {
    let server = Authority::new("stranger").server("localhost");
    let proxy = Proxy::http(Then::Opens("HTTP/1.1 200 OK\r\n\r\n"));
    let config = by(&server.url("/hook"), json!([proxy.url(), "DIRECT"]));
    let run = Authority::new("known").trusted().sync(&with(&config, &json!({"ssl": true}))).expect(1);
    let who = format!("the certificate of {} (through the proxy {}) is from an issuer", server.url(""), proxy.url());
    run.prints(&who).never_prints("directly");
    assert_eq!((proxy.seen().len(), server.seen().len()), (1, 0));
}

#[test]
fn d6_auto_lets_a_local_endpoint_pass_through_a_tunnel_too() {
    let server = Authority::new("stranger").server("localhost");
    let proxy = Proxy::http(Then::Opens("HTTP/1.1 200 OK\r\n\r\n"));
    let run = Authority::new("known").trusted().sync(&by(&server.url("/hook"), json!(proxy.url()))).expect(0);
    run.prints("https://localhost").prints("is trusted unverified");
    assert_eq!((proxy.seen().len(), server.seen().len()), (2, 1));
}

#[test]
fn d5_a_connection_to_a_proxy_is_kept() {
    let proxy = Receiver::responding(|_| Response::status(204).header("Connection", "keep-alive"));
    let port = proxy.port();
    let connections = Proxy::serving(move |stream, seen| {
        seen.lock().expect("no test thread failed").push(String::new());
        pass(&stream, &TcpStream::connect(("127.0.0.1", port))?);
        Ok(())
    });
    let domains: Vec<String> = (0..20).map(|number| format!("d{number}.example.com")).collect();
    let config = by("http://dns.example.com/hook", json!([connections.url()]));
    Sandbox::new().sync(&with(&config, &json!({"ipv4": domains, "concurrency": 1}))).expect(0);
    assert_eq!((proxy.callbacks().len(), connections.seen().len()), (20, 1));
}

#[test]
fn d3_a_redirection_chooses_its_route_anew() {
    let end = Receiver::new();
    let onward = end.url("/end");
    let proxy = Receiver::responding(move |_| Response::status(307).header("Location", &onward));
    let sandbox = Sandbox::new().env("http_proxy", proxy.url("")).env("no_proxy", "127.0.0.1");
    sandbox.sync(&by("http://dns.example.com/start", "SYSTEM")).expect(0);
    assert_eq!(proxy.only().target(), "http://dns.example.com/start");
    assert_eq!(end.only().target(), "/end");
}

#[test]
fn d5_sources_of_addresses_go_directly() {
    let (proxy, receiver) = (Receiver::new(), Receiver::new());
    let config = by("http://dns.example.com/hook?ip=__IP__", json!([proxy.url("")]));
    let sandbox = Sandbox::new().env("http_proxy", proxy.url("")).env("ALL_PROXY", proxy.url(""));
    sandbox.sync(&with(&config, &json!({"index4": receiver.index4()}))).expect(0);
    assert_eq!(receiver.lookups(), 1);
    assert_eq!(proxy.only().target(), "http://dns.example.com/hook?ip=203.0.113.7");
}

#[test]
fn e3_another_proxy_does_not_send_again() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let id = receiver.url("/hook");
    sandbox.sync(&by(&id, "DIRECT")).expect(0).prints("1 accepted");
    sandbox.sync(&by(&id, json!([receiver.url("")]))).says_nothing();
}

#[test]
fn g2_nothing_of_a_proxys_login_is_ever_printed() {
    let sends = |status: &'static str| Proxy::http(Then::Sends(status));
    let echo = "HTTP/1.1 403 No\r\nContent-Length: 73\r\n\r\nproxy-user:proxy-word Basic cHJveHktdXNlcjpwcm94eS13b3Jk proxy%2Dword ....";
    let ok = sends("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let routes = [ok.url(), sends("HTTP/1.1 407 A\r\n\r\n").url(), sends(echo).url(), format!("http://{}", refusing())];
    for id in ["http://dns.example.com/hook", "https://dns.example.com/hook"] {
        for route in routes.iter().chain(&[ok.url().replace("http:", "socks5h:"), ok.url().replace("http:", "https:")])
        {
            let sandbox = Sandbox::new().env("all_proxy", with_login(&ok.url()));
            let config =
                with(&by(id, json!([with_login(route)])), &json!({"debug": true, "ssl": true, "timeout": 0.5}));
            let run = sandbox.sync(&config);
            for part in ["proxy-user", "proxy-word", "cHJveHk", "proxy%2Dword", "eHktd29yZ"] {
                let all = format!("{}{}", run.stdout, run.stderr);
                assert!(!all.contains(part), "{id} by {route} shows {part}:\n{all}");
            }
        }
    }
    let sandbox = Sandbox::new().env("http_proxy", with_login(&ok.url()));
    let run = sandbox.sync(&with(&by("http://dns.example.com/hook", "SYSTEM"), &json!({"debug": true}))).expect(0);
    run.prints(&format!("through the proxy {}", ok.url())).never_prints("proxy-user").never_prints("proxy-word");
}

/// The request line that a relay gets is another one than the endpoint's.
#[test]
fn g1_the_debug_log_names_the_way() {
    let (proxy, endpoint) = (Receiver::new(), Receiver::new());
    let run = |id: &str, proxy: serde_json::Value| {
        Sandbox::new().sync(&with(&by(id, proxy), &json!({"debug": true, "timeout": 1})))
    };
    run("http://dns.example.com/hook", json!([proxy.url("")])).expect(0).prints(&format!(
        "sending to http://dns.example.com through the proxy {} (absolute URL in the request line)",
        proxy.url("")
    ));
    run(&endpoint.url("/hook"), json!(["socks5://127.0.93.7:9", "DIRECT"]))
        .expect(0)
        .prints(&format!("sending to {} through the proxy socks5://127.0.93.7:9, else directly\n", endpoint.url("")));
    run(&endpoint.url("/hook"), json!("DIRECT")).expect(0).prints(&format!("sending to {}\n", endpoint.url("")));
}
