//! An endpoint that takes connections and reads nothing: what the system of a client still delivers after the client gave up.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::odd_server::serve_raw;
use crate::support::watching::{SOON, ms, until};

/// More than an endpoint that reads nothing has room for, and little enough that the system takes all of it.
const BODY: usize = 400_000;

pub struct UnreadServer {
    url: String,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl UnreadServer {
    pub fn new() -> Self {
        let connections: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let taken = connections.clone();
        let address = serve_raw(move |stream| taken.lock().expect("no test thread failed").push(stream));
        Self { url: format!("http://{address}/"), connections }
    }

    /// The fields of a large request to it.
    pub fn fields(&self) -> Value {
        json!({"id": self.url, "token": {"ip": "__IP__", "more": "x".repeat(BODY)}})
    }

    /// Waits until the system of the client has all of a request.
    pub fn wait(&self) {
        let first = || Some(self.connections.lock().expect("no test thread failed").first()?.try_clone());
        until(SOON, "a connection", || first().is_some());
        let first = first().expect("a connection").expect("a socket");
        first.peek(&mut [0]).expect("the request has begun");
        // The system takes the rest.
        thread::sleep(ms(300));
    }

    /// Fails the test where all of the first request arrives after it was given up.
    #[track_caller]
    pub fn gets_no_more(self) {
        let mut received = Vec::new();
        let mut first = self.connections.lock().expect("no test thread failed").remove(0);
        // It ends with an error where the connection was broken off.
        let _ = first.read_to_end(&mut received);
        assert!(received.len() < BODY, "the whole request arrived: {} bytes", received.len());
    }
}
