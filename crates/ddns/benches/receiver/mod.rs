//! A receiver on loopback that responds as fast as it can.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many responses were sent.
pub(crate) static RESPONSES: AtomicUsize = AtomicUsize::new(0);

/// Listens on a free port, and handles each connection in its own thread. Returns the port.
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

/// Responds to requests without a body until the client disconnects: to `/ip` with an address, to all others with 204.
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
            // Count before sending, so that a client that has the response also sees the count.
            RESPONSES.fetch_add(1, Ordering::Relaxed);
            if stream.write_all(response.as_bytes()).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}
