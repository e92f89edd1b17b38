//! Proxies that do what a test wants, and record what they were asked. The real ones are in `transport/proxy_real.rs`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::given::{home, with};

/// What a proxy does once it has read the head of a request.
#[derive(Clone, Copy)]
pub enum Then {
    /// Sends this and closes.
    Sends(&'static str),
    /// Sends this, then passes bytes to and fro between the client and the port that was asked for.
    Opens(&'static str),
    /// Sends nothing, and keeps the connection.
    Hangs,
}

/// A proxy on a port of its own until the test ends.
pub struct Proxy {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// One that speaks HTTP.
    pub fn http(then: Then) -> Self {
        Self::http_at(Ipv4Addr::LOCALHOST, then)
    }

    /// The same at another address.
    pub fn http_at(ip: Ipv4Addr, then: Then) -> Self {
        Self::serving_at(ip, move |mut stream, seen| {
            let head = read_head(&mut stream)?;
            seen.lock().expect("no test thread failed").push(head.clone());
            match then {
                Then::Sends(text) => stream.write_all(text.as_bytes()),
                Then::Opens(text) => {
                    let target = head.split(' ').nth(1).unwrap_or_default();
                    let port = target.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
                    let onward = TcpStream::connect(("127.0.0.1", port))?;
                    stream.write_all(text.as_bytes())?;
                    pass(&stream, &onward);
                    Ok(())
                }
                Then::Hangs => {
                    thread::sleep(Duration::from_secs(20));
                    Ok(())
                }
            }
        })
    }

    /// One that does what `serve` does with each connection; what it notes is what was seen.
    pub fn serving(serve: impl Fn(TcpStream, &Mutex<Vec<String>>) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::serving_at(Ipv4Addr::LOCALHOST, serve)
    }

    fn serving_at(
        ip: Ipv4Addr,
        serve: impl Fn(TcpStream, &Mutex<Vec<String>>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).expect("a free port");
        let proxy = Self { address: listener.local_addr().expect("the port that was bound"), seen: Arc::default() };
        let (serve, seen) = (Arc::new(serve), proxy.seen.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (serve, seen) = (serve.clone(), seen.clone());
                thread::spawn(move || serve(stream, &seen));
            }
        });
        proxy
    }

    /// `http://IP:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no test thread failed").clone()
    }
}

/// The lines up to the first empty one, byte by byte: what follows belongs to somebody else.
pub fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Passes bytes to and fro until both sides are done.
pub fn pass(one: &TcpStream, other: &TcpStream) {
    thread::scope(|scope| {
        for (mut from, mut to) in [(one, other), (other, one)] {
            scope.spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    });
}

/// One update to `id` by these routes.
pub fn by(id: &str, proxy: impl Into<Value>) -> Value {
    with(&home(id), &json!({"proxy": proxy.into(), "timeout": 5}))
}
