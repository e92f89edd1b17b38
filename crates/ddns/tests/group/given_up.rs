//! What the holder of a lease gave up must not reach the endpoint later, from the buffers of its system: another host may
//! have sent its address by then (J3).

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::members::Member;
use crate::support::odd_server::serve_raw;
use crate::support::watching::{Endpoint, SOON, Watch, ms, until};

/// More than an endpoint that reads nothing has room for, and little enough that the system takes all of it.
const BODY: usize = 400_000;

/// An endpoint that takes connections and reads nothing; its URL, and its connections.
fn silent() -> (String, Arc<Mutex<Vec<TcpStream>>>) {
    let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let taken = connections.clone();
    let address = serve_raw(move |stream| taken.lock().expect("no test thread failed").push(stream));
    (format!("http://{address}/"), connections)
}

/// Sends to an endpoint that reads nothing until `end` made the program give up; what the endpoint then still gets.
fn after(end: impl FnOnce(&mut Watch)) -> Option<usize> {
    let etcd = Etcd::start()?;
    let (url, connections) = silent();
    let one = Member::new("one", "203.0.113.1", &etcd, &Endpoint::new(), &json!({}));
    let config = one.single(&json!({"id": url, "timeout": 2, "token": {"ip": "__IP__", "more": "x".repeat(BODY)}}));
    let mut watch = Watch::start(&one.sandbox, &config);
    let count = || connections.lock().expect("no test thread failed").len();
    until(SOON, "a connection", || count() > 0);
    let mut first = connections.lock().expect("no test thread failed").remove(0);
    first.peek(&mut [0]).expect("the request has begun");
    // The system takes the rest.
    thread::sleep(ms(300));
    end(&mut watch);
    let mut received = Vec::new();
    // It ends with an error where the connection was broken off.
    let _ = first.read_to_end(&mut received);
    Some(received.len())
}

#[test]
fn j3_a_request_that_was_given_up_does_not_arrive_later() {
    let received = after(|watch| watch.prints("failed: "));
    assert!(received.is_none_or(|received| received < BODY), "the whole request arrived: {received:?}");
}

#[test]
fn j3_a_request_of_a_holder_that_was_killed_does_not_arrive_later() {
    let received = after(|watch| {
        watch.signal(Signal::KILL);
        watch.ended(SOON);
    });
    assert!(received.is_none_or(|received| received < BODY), "the whole request arrived: {received:?}");
}
