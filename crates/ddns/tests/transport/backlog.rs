//! Endpoints that are slow to take connections, or send a response in two parts: many updates at once are never much
//! slower than one after the other.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::listen;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::given::{home, with};

/// Responds to every request on a connection, head and body apart, with `more` in its head; after the first one it closes
/// if that says so.
fn respond(stream: TcpStream, more: &str) {
    let is_kept = more != CLOSE;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|length| length > 0) {
        if line == "\r\n" {
            let head = format!("HTTP/1.1 200 OK\r\n{more}Content-Length: 4\r\n\r\n");
            let stream = reader.get_mut();
            let is_sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(b"good")).is_ok();
            if !is_sent || !is_kept {
                return;
            }
        }
        line.clear();
    }
}

const CLOSE: &str = "Connection: close\r\n";
const KEEP: &str = "Connection: keep-alive\r\n";
const UNSAID: &str = "";

/// An endpoint with a line for so many new connections.
fn endpoint(backlog: i32, take: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    listen(&listener, backlog).expect("a shorter line");
    let address = listener.local_addr().expect("the port that was bound");
    thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(take));
    address
}

/// Takes a connection each half millisecond.
fn at_leisure(stream: TcpStream, more: &'static str) {
    thread::spawn(move || respond(stream, more));
    thread::sleep(Duration::from_micros(500));
}

/// How long so many updates take.
fn time(endpoint: SocketAddr, count: usize, concurrency: &Value) -> Duration {
    let names: Vec<String> = (0..count).map(|number| format!("h{number}.example.com")).collect();
    let more = json!({"ipv4": names, "concurrency": concurrency, "log": {"level": "ERROR"}, "cache": false});
    let config = with(&home(&format!("http://{endpoint}/__DOMAIN__")), &more);
    let begun = Instant::now();
    Sandbox::new().sync(&config).expect(0);
    begun.elapsed()
}

/// Where the line is full, the system drops what knocks, and tries again after a second, then two.
#[test]
#[cfg(target_os = "linux")]
fn a6_a_short_line_of_new_connections_makes_auto_hardly_slower_than_one_at_a_time() {
    for more in [CLOSE, KEEP, UNSAID] {
        let endpoint = endpoint(5, move |stream| at_leisure(stream, more));
        let [one, auto] = [json!(1), json!("auto")].map(|concurrency| time(endpoint, 300, &concurrency));
        assert!(auto < 2 * one + Duration::from_millis(800), "{more:?}, one at a time {one:?}, auto {auto:?}");
    }
}

/// The endpoint holds the body back until the head is acknowledged, and this host has 40 ms for that.
#[test]
#[cfg(target_os = "linux")]
fn a6_a_response_in_two_parts_is_acknowledged_at_once() {
    let took = time(endpoint(100, |stream| at_leisure(stream, KEEP)), 60, &json!(1));
    assert!(took < Duration::from_millis(1500), "{took:?}");
}

/// A server of one thread waits for the next request on the connection that it serves, while others wait in line: more at
/// once than it takes must not cost time.
#[test]
#[cfg(target_os = "linux")]
fn a6_a_server_of_one_thread_makes_auto_hardly_slower_than_one_at_a_time() {
    for more in [KEEP, UNSAID] {
        let endpoint = endpoint(5, move |stream| respond(stream, more));
        let run = || [json!(1), json!("auto")].map(|concurrency| time(endpoint, 300, &concurrency));
        // One that had to wait in line is noticed after 50 ms at the latest. Where it is never so, it is not the machine.
        let is_quick = |[one, auto]: &[Duration; 2]| *auto < one.mul_f32(1.5) + Duration::from_millis(60);
        let mut runs = Vec::new();
        while !runs.last().is_some_and(is_quick) {
            assert!(runs.len() < 8, "{more:?}, one at a time, and auto: {runs:?}");
            runs.push(run());
        }
    }
}
