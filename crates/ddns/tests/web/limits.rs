//! Strangers who connect: sizes, times and numbers are bounded, and updates go on (I2).

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::json;

use crate::support::page::{Page, within};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, until};
use crate::support::{Receiver, Response};

/// Changes the address, and waits until the endpoint has it.
#[track_caller]
fn updates_go_on(page: &Page, ip: &str) {
    let before = page.endpoint.count();
    page.endpoint.receiver.set_ip(ip);
    page.sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    assert_eq!(page.endpoint.wait(before + 1, SOON).ip(), ip);
}

#[test]
fn i2_a_thousand_idle_connections_stop_nothing() {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    let mut idle = Vec::new();
    for number in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(page.address) else { break };
        if number % 10 == 0 {
            let _ = stream.write_all(b"GET / HT");
        }
        idle.push(stream);
    }
    assert!(idle.len() > 500, "{} connections", idle.len());
    updates_go_on(&page, "203.0.113.9");
    assert!(page.watch.open_files() < 128, "{} open files", page.watch.open_files());
    assert!(page.watch.measure("status", "VmRSS:") < 60_000);
    drop(idle);
    page.get("/").expect(200);
}

/// Whoever begins many requests and ends none takes no turn of somebody else.
#[test]
fn i2_half_requests_of_one_client_do_not_delay_others() {
    let page = Page::open();
    let stranger = || {
        let SocketAddr::V4(server) = page.address else { panic!("{}", page.address) };
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 0)).expect("an address of its own");
        connect(&socket, &server).expect("the page takes connections");
        TcpStream::from(socket)
    };
    let mut half: Vec<TcpStream> = (0..150).map(|_| stranger()).collect();
    for stream in &mut half {
        let _ = stream.write_all(b"GET / HT");
    }
    let begun = Instant::now();
    page.get("/healthz").expect(200);
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
    drop(half);
}

#[test]
fn i2_what_is_too_large_or_not_http_is_refused() {
    let page = Page::open();
    let host = format!("Host: {}", page.host());
    let large = "x".repeat(100_000);
    let head = format!("GET / HTTP/1.1\r\n{host}\r\nX: {large}\r\n\r\n");
    assert_eq!(page.send(head).status, 431);
    let many = "X: y\r\n".repeat(200);
    assert_eq!(page.send(format!("GET / HTTP/1.1\r\n{host}\r\n{many}\r\n")).status, 431);
    let target = format!("GET /{large} HTTP/1.1\r\n{host}\r\n\r\n");
    assert!([414, 431].contains(&page.send(target).status));
    let declared = format!("POST /login HTTP/1.1\r\n{host}\r\nContent-Length: 99999999\r\n\r\n");
    assert_eq!(page.send(declared).status, 413);
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000)).repeat(20);
    let chunked = format!("POST /login HTTP/1.1\r\n{host}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    assert_eq!(page.send(chunked).status, 413);
    for odd in [
        "nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    ] {
        let answer = page.send(odd);
        assert!([0, 400].contains(&answer.status), "{odd:?}: {}", answer.status);
    }
    // Requests one after the other on one connection, and nothing of one in another.
    let mut stream = page.connect();
    let both = format!("GET /nothing HTTP/1.1\r\n{host}\r\n\r\nGET / HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n");
    stream.write_all(both.as_bytes()).expect("it is taken");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert_eq!(text.matches("HTTP/1.1 404").count() + text.matches("HTTP/1.1 200").count(), 2, "{text}");
    page.get("/").expect(200);
}

#[test]
fn i2_whoever_sends_slowly_is_sent_away() {
    let page = Page::open();
    let begun = Instant::now();
    let mut streams: Vec<_> = (0..3).map(|_| page.connect()).collect();
    // A head, a body, and one that trickles.
    let starts =
        ["GET / HTTP/1.1\r\nHost: ", "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab", ""];
    for (stream, start) in streams.iter_mut().zip(starts) {
        stream.write_all(start.as_bytes()).expect("it is taken");
    }
    let mut trickling = streams.pop().expect("the third");
    let writing = thread::spawn(move || {
        while trickling.write_all(b"G").is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody sends it away");
            thread::sleep(ms(100));
        }
    });
    for stream in &mut streams {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
    }
    writing.join().expect("it ends");
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
    page.get("/").expect(200);
}

#[test]
fn i2_paths_and_methods_are_taken_literally() {
    let page = Page::open();
    for path in [
        "/../etc/passwd",
        "/assets/../../etc/passwd",
        "/assets/",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "//",
        "/./",
        "/%00",
        "/login/",
        "/LOGIN",
        "/api/v1/",
        "/api/v1/status/",
        "/api/v1/status%0d%0aX:1",
    ] {
        page.get(path).expect(404);
    }
    let missing = page.get("/nothing").expect(404).body;
    assert!(missing.contains("There is nothing here") && missing.contains("href=\"/history\""), "{missing}");
    assert!(!missing.contains("aria-current"), "it is none of the views");
    for (method, path, status, allowed) in [
        ("POST", "/", 405, Some("GET, HEAD")),
        ("GET", "/sync", 405, Some("POST")),
        ("DELETE", "/api/v1/status", 405, Some("GET, HEAD")),
        ("OPTIONS", "/", 405, Some("GET, HEAD")),
        ("TRACE", "/", 405, Some("GET, HEAD")),
        ("get", "/", 405, Some("GET, HEAD")),
        ("OPTIONS", "*", 404, None),
        ("HEAD", "/", 200, None),
        ("HEAD", "/nothing", 404, None),
    ] {
        let answer = page.request(method, path, &[], "");
        assert_eq!((answer.status, answer.header("allow")), (status, allowed), "{method} {path}");
        assert!(method != "HEAD" || answer.body.is_empty(), "{}", answer.body);
    }
    // What is asked for does not come back in a header.
    let answer = page.get("/login?next=%0d%0aX-Evil:%201");
    assert!(!answer.head.contains("Evil"), "{}", answer.head);
}

#[test]
fn i1_a_port_that_is_taken_is_reported_and_updates_go_on() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"web": address})));
    watch.prints("the page cannot be opened: port ");
    watch.prints("is in use: another program listens there");
    endpoint.wait(1, SOON);
    // It is opened by the next round that finds the port free.
    drop(taken);
    sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    watch.prints("the page is at http://");
    watch.stop();
}

#[test]
fn i1_a_reload_keeps_the_page_or_moves_it() {
    let page = Page::open();
    let mut listening = page.connect();
    listening
        .write_all(format!("GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", page.host()).as_bytes())
        .expect("it is taken");
    assert!(within(&mut listening, SOON).starts_with("HTTP/1.1 200 OK"));
    let config = page.sandbox.read("config.json");
    page.sandbox.write("config.json", config.replace("home.example.com", "other.example.com"));
    page.watch.prints("reloading");
    until(SOON, "the new name", || page.get("/api/v1/status").body.contains("other.example.com"));
    assert_eq!(page.watch.lines_with("the page is at"), 1, "the same listener");
    // What was on its way before it comes first.
    until(SOON, "the connection is kept", || within(&mut listening, ms(500)).contains("changed"));
    // Another address.
    page.sandbox.write("config.json", config.replace("127.0.0.1:0", "127.0.0.3:0"));
    page.watch.prints("the page is at http://127.0.0.3:");
    until(SOON, "the old one is closed", || TcpStream::connect(page.address).is_err());
    // None.
    page.sandbox.write("config.json", config.replace("\"listen\"", "\"listen_not\""));
    page.watch.prints("keeping the previous one");
    let without: serde_json::Value = serde_json::from_str(&config).expect("JSON");
    let without = crate::support::given::without(without, "web");
    page.sandbox.write("config.json", without.to_string());
    until(SOON, "the configuration is loaded", || page.watch.lines_with("reloading") >= 3);
    page.watch.stop();
}

#[test]
fn i1_a_page_number_behind_the_last_one_shows_the_last_page() {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    for path in ["/requests", "/history"] {
        until(SOON, path, || page.get(path).expect(200).body.contains("home.example.com"));
        for number in ["2", "18446744073709551615"] {
            let shown = page.get(&format!("{path}?page={number}")).expect(200).body;
            assert!(shown.contains("home.example.com") && shown.contains(" in all"), "{path} {number}: {shown}");
        }
    }
}

/// The old result must not be taken for the new one.
#[test]
fn i1_sources_that_are_asked_again_show_what_they_say_now() {
    let is_slow = Arc::new(AtomicBool::default());
    let slow = Arc::clone(&is_slow);
    let source = Receiver::responding(move |_| {
        if slow.load(Ordering::SeqCst) {
            return Response::with_body(200, "203.0.113.22").after(ms(2500));
        }
        Response::with_body(200, "203.0.113.21")
    });
    let page = Page::with(&json!({}), &json!({"index4": format!("url:{}", source.url("/slow"))}));
    page.endpoint.wait(1, SOON);
    let before = page.get("/addresses").expect(200).body;
    assert!(before.contains("203.0.113.21") && before.contains("Ask again"), "{before}");
    is_slow.store(true, Ordering::SeqCst);
    page.post("/addresses", &page.visitor("/"), "").expect(303);
    let after = page.get("/addresses").expect(200).body;
    assert!(after.contains("The sources are being asked.") && !after.contains("203.0.113.21"), "{after}");
    until(SOON, "the new result", || page.get("/addresses").expect(200).body.contains("203.0.113.22"));
}
