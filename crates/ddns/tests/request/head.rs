//! Section D, the request as it leaves and the response as it counts. TLS stands in `transport/tls.rs`.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::{home, sent, with};
use crate::support::odd_server::{endless, refusing, serve, serve_at, stalling};
use crate::support::secret_forms::base64;
use crate::support::{Receiver, Response, Run, Sandbox};

/// One update against a server at `address`, with a short time limit, and how long it took.
fn update(address: SocketAddr, timeout: u64) -> (Run, Duration) {
    let begun = Instant::now();
    let config = with(&home(&format!("http://{address}/hook?ip=__IP__")), &json!({"timeout": timeout}));
    let run = Sandbox::new().sync(&config);
    (run, begun.elapsed())
}

#[test]
fn d1_post_is_sent_as_json_with_its_length() {
    let one = sent("/hook", &json!({"token": {"ip": "__IP__"}}));
    assert_eq!(one.line, "POST /hook HTTP/1.1");
    assert_eq!(one.header("content-type"), Some("application/json"));
    assert_eq!(one.header("content-length"), Some(one.body.len().to_string().as_str()));
    assert_eq!(one.json(), json!({"ip": "203.0.113.7"}));
}

#[test]
fn d1_a_large_body_arrives_whole() {
    let long = "x".repeat(700_000);
    let one = sent("/hook", &json!({"token": {"long": long, "ip": "__IP__"}}));
    assert_eq!(one.json(), json!({"long": long, "ip": "203.0.113.7"}));
}

#[test]
fn d1_get_has_no_body() {
    let one = sent("/hook", &json!({}));
    assert_eq!(one.line, "GET /hook HTTP/1.1");
    assert_eq!(one.body, b"");
    assert_eq!(one.header("content-type"), None);
    assert_eq!(one.header("transfer-encoding"), None);
    assert!(matches!(one.header("content-length"), None | Some("0")), "{:?}", one.headers);
}

#[test]
fn d2_the_request_names_host_program_and_what_it_accepts() {
    let receiver = Receiver::new();
    Sandbox::new().sync(&home(&receiver.url("/hook"))).expect(0);
    let one = receiver.only();
    let agent = format!("ddns-callback/{}", env!("CARGO_PKG_VERSION"));
    let host = format!("127.0.0.1:{}", receiver.port());
    for (name, expected) in [("user-agent", agent.as_str()), ("accept", "*/*"), ("host", host.as_str())] {
        let values: Vec<_> = one.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).collect();
        assert_eq!(values.len(), 1, "{name} is sent once: {:?}", one.headers);
        assert_eq!(values[0].1, expected, "{name}");
    }
    assert_eq!(one.header("authorization"), None);
}

/// The head as it has always been: section H adds nothing where it is not asked for.
#[test]
fn d2_the_head_is_the_same_byte_for_byte() {
    let receiver = Receiver::new();
    let id = receiver.url("/hook?ip=__IP__").replace("http://", "http://user:pw@");
    for (token, line, more) in [
        (json!({}), "GET /hook?ip=203.0.113.7 HTTP/1.1", &[][..]),
        (
            json!({"a": 1}),
            "POST /hook?ip=203.0.113.7 HTTP/1.1",
            &[("Content-Type", "application/json"), ("Content-Length", "7")],
        ),
    ] {
        Sandbox::new().sync(&with(&home(&id), &json!({"token": token}))).expect(0);
        let one = receiver.take().remove(0);
        let agent = format!("ddns-callback/{}", env!("CARGO_PKG_VERSION"));
        let host = format!("127.0.0.1:{}", receiver.port());
        let mut expected = vec![("Host", host.as_str()), ("User-Agent", &agent), ("Accept", "*/*")];
        expected.push(("Authorization", "Basic dXNlcjpwdw=="));
        expected.extend(more);
        let headers: Vec<_> = one.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((one.line.as_str(), headers), (line, expected));
    }
}

#[test]
fn d2_an_address_without_a_path_asks_for_the_root() {
    assert_eq!(sent("", &json!({})).target(), "/");
    assert_eq!(sent("?ip=__IP__", &json!({})).target(), "/?ip=203.0.113.7");
}

#[test]
fn d2_credentials_become_a_basic_header_and_no_part_of_the_request_line() {
    for (written, meant) in
        [("user:pw", "user:pw"), ("us%40er:p%3Aw%2F%C3%BC", "us@er:p:w/ü"), ("user", "user:"), ("user:", "user:")]
    {
        let receiver = Receiver::new();
        let id = receiver.url("/hook?ip=__IP__").replace("http://", &format!("http://{written}@"));
        Sandbox::new().sync(&home(&id)).expect(0);
        let one = receiver.only();
        let expected = format!("Basic {}", base64(meant.as_bytes()));
        assert_eq!(one.header("authorization"), Some(expected.as_str()), "userinfo {written}");
        assert_eq!(one.target(), "/hook?ip=203.0.113.7", "userinfo {written}");
        assert_eq!(one.header("host"), Some(format!("127.0.0.1:{}", receiver.port()).as_str()));
    }
}

#[test]
fn d2_credentials_of_endpoint_count_too() {
    let receiver = Receiver::new();
    let endpoint = receiver.url("/api").replace("http://", "http://user:pw@");
    Sandbox::new().sync(&with(&home("hook"), &json!({"endpoint": endpoint}))).expect(0);
    let one = receiver.only();
    assert_eq!(one.line, "GET /api/hook HTTP/1.1");
    assert_eq!(one.header("authorization"), Some(format!("Basic {}", base64(b"user:pw")).as_str()));
}

#[test]
fn d4_the_text_of_a_body_does_not_matter() {
    for response in [
        Response::with_body(200, r#"{"success": false, "error": "bad token"}"#),
        Response::with_body(200, "badauth"),
        Response::with_body(200, "{broken json"),
        Response::with_body(200, &"x".repeat(3_000_000)),
        Response::with_body(201, "made").header("Location", "/elsewhere"),
        Response::status(204),
        Response::with_body(200, "\0\u{1b}[2J"),
        Response::with_body(200, "not gzip").header("Content-Encoding", "gzip"),
    ] {
        let given = response.clone();
        let receiver = Receiver::responding(move |_| given.clone());
        let sandbox = Sandbox::new();
        let run = sandbox.sync(&home(&receiver.url("/"))).prints("accepted");
        let shown = format!("{response:?}").chars().take(150).collect::<String>();
        assert_eq!(run.code, 0, "{shown}: {}", run.stderr);
        sandbox.sync(&home(&receiver.url("/"))).expect(0);
        assert_eq!(receiver.callbacks().len(), 1, "{shown}: accepted once and remembered");
    }
}

/// The status decides: a body that breaks off, lies about its length or is not a body at all changes nothing.
#[test]
fn d4_a_broken_body_does_not_matter() {
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    ] {
        let receiver = Receiver::responding(move |_| Response::Raw(response.into()));
        let run = Sandbox::new().sync(&home(&receiver.url("/")));
        assert_eq!(run.code, 0, "{response:?}: {}", run.stderr);
        receiver.only();
    }
}

#[test]
fn d4_an_endless_body_is_not_read_to_the_end() {
    let (run, took) = update(endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 65536], Duration::ZERO), 5);
    run.expect(0).prints("accepted");
    assert!(took < Duration::from_secs(10), "took {took:?}");
}

#[test]
fn d4_a_slow_body_neither_fails_the_update_nor_holds_it_up() {
    let slow = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n";
    let (run, took) = update(endless(slow, b"x".to_vec(), Duration::from_millis(100)), 2);
    run.expect(0).prints("accepted");
    assert!(took < Duration::from_secs(10), "took {took:?}");
}

#[test]
fn d4_endless_headers_are_a_failure_in_bounded_time() {
    let start = b"HTTP/1.1 200 OK\r\n";
    let (run, took) = update(endless(start, b"X-More: and more\r\n".repeat(1000), Duration::ZERO), 3);
    run.expect(1).prints("failed");
    assert!(took < Duration::from_secs(10), "took {took:?}");
}

#[test]
fn e2_a_server_that_never_responds_is_a_failure_when_the_time_is_over() {
    for start in ["", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\nX-Half: ", "HTTP/1.1 100 Continue\r\n\r\n"] {
        let (run, took) = update(stalling(start.as_bytes()), 1);
        assert_eq!(run.code, 1, "after {start:?}: {}", run.stderr);
        run.prints("home.example.com A 203.0.113.7: failed");
        let expected = Duration::from_millis(900)..Duration::from_secs(5);
        assert!(expected.contains(&took), "after {start:?} it took {took:?}, the limit is one second");
    }
}

/// A limit that begins anew with every byte is none.
#[test]
fn e2_a_head_that_trickles_is_a_failure_when_the_time_is_over() {
    let (run, took) = update(endless(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x".to_vec(), Duration::from_millis(100)), 1);
    run.expect(1).prints("failed");
    assert!(took < Duration::from_secs(5), "took {took:?}, the limit is one second");
}

#[test]
fn e2_a_refused_connection_is_a_failure_that_names_the_address() {
    let address = refusing();
    let (run, _) = update(address, 5);
    run.expect(1).prints("home.example.com A 203.0.113.7: failed").prints(&address.to_string()).prints("1 failed");
}

#[test]
fn e2_a_response_that_is_not_http_is_a_failure() {
    for response in
        ["", "\r\n\r\n", "SSH-2.0-OpenSSH_9.9\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "\0\0\0"]
    {
        let receiver = Receiver::responding(move |_| Response::Raw(response.into()));
        let run = Sandbox::new().sync(&home(&receiver.url("/")));
        assert_eq!(run.code, 1, "{response:?}: {}", run.stderr);
        run.prints("failed");
        receiver.only();
    }
}

/// A host with several addresses is reached over the one that responds (A7: a connection that was never made moves on).
#[test]
fn d2_localhost_is_reached_where_only_its_ipv4_address_responds() {
    let receiver = Receiver::new();
    let id = format!("http://localhost:{}/hook", receiver.port());
    Sandbox::new().sync(&home(&id)).expect(0);
    assert_eq!(receiver.only().header("host"), Some(format!("localhost:{}", receiver.port()).as_str()));
}

#[test]
fn d2_an_ipv6_host_is_reached() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        eprintln!("not tested: this host has no IPv6 loopback");
        return;
    };
    let respond = |mut stream: std::net::TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    };
    let address = serve_at(listener, respond);
    update(address, 5).0.expect(0).prints("accepted");
}

/// Many small servers respond with `Connection: close`, and close: the next update needs a connection of its own.
#[test]
fn d2_a_server_that_closes_after_each_response_gets_every_update() {
    let address = serve(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nok");
    });
    let names: Vec<_> = (0..20).map(|number| format!("host{number}.example.com")).collect();
    let more = json!({"ipv4": names, "concurrency": 1});
    Sandbox::new().sync(&with(&home(&format!("http://{address}/__DOMAIN__")), &more)).expect(0).prints("20 accepted");
}
