//! A server that misbehaves in ways for which a whole response is not enough: it trickles, never ends, or stalls.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// An address of loopback that no other test uses: a port freed there is not taken by anything else.
const QUIET_HOST: &str = "127.0.93.7:0";

/// Reads the head of each request, then leaves the connection to `handler`; returns where it listens.
pub fn serve(handler: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    serve_at(TcpListener::bind("127.0.0.1:0").expect("a free port on loopback"), handler)
}

/// The same on a listener that is already there.
pub fn serve_at(listener: TcpListener, handler: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    accept(listener, move |stream| {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
            line.clear();
        }
        handler(reader.into_inner());
    })
}

/// Leaves each connection to `handler` before anything is read; returns where it listens.
pub fn serve_raw(handler: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    accept(TcpListener::bind("127.0.0.1:0").expect("a free port on loopback"), handler)
}

fn accept(listener: TcpListener, handler: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let address = listener.local_addr().expect("the port that was bound");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let handler = handler.clone();
            thread::spawn(move || handler(stream));
        }
    });
    address
}

/// Sends `start` and then `piece` again and again, with a pause between, until the client is gone (or 30 s are over).
pub fn endless(start: &'static [u8], piece: Vec<u8>, pause: Duration) -> SocketAddr {
    serve(move |mut stream| {
        let begun = Instant::now();
        let mut open = stream.write_all(start).is_ok();
        while open && begun.elapsed() < Duration::from_secs(30) {
            open = stream.write_all(&piece).is_ok();
            thread::sleep(pause);
        }
    })
}

/// Sends `start`, then nothing more, and keeps the connection open.
pub fn stalling(start: &'static [u8]) -> SocketAddr {
    endless(start, Vec::new(), Duration::from_millis(200))
}

/// A port on which nobody listens.
pub fn refusing() -> SocketAddr {
    let listener = TcpListener::bind(QUIET_HOST).expect("a free port on loopback");
    listener.local_addr().expect("the port that was bound")
}
