//! A receiver on loopback that responds as quickly as it can.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many responses were sent.
pub(crate) static RESPONSES: AtomicUsize = AtomicUsize::new(0);

/// Hands every connection to a thread of its own; the port.
pub(crate) fn listen(handle: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let port = listener.local_addr().expect("the port that was bound").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            let _ = stream.set_nodelay(true);
            thread::spawn(move || handle(stream));
        }
    });
    port
}

/// Responds to requests without a body until the client is gone: to `/ip` with an address, to everything else with 204.
pub(crate) fn respond(mut stream: impl Read + Write, said: &str) {
    let accepted = format!("HTTP/1.1 204 No Content\r\n{said}\r\n");
    let address = format!("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n{said}\r\n198.51.100.7");
    let mut buffer = [0; 4096];
    let mut length = 0;
    while let Ok(more @ 1..) = stream.read(&mut buffer[length..]) {
        length += more;
        if buffer[..length].ends_with(b"\r\n\r\n") {
            let response = if buffer.starts_with(b"GET /ip ") { &address } else { &accepted };
            length = 0;
            // Before it is sent: whoever has received it sees it counted.
            RESPONSES.fetch_add(1, Ordering::Relaxed);
            if stream.write_all(response.as_bytes()).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}
