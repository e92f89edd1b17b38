//! A raw HTTP/1.1 receiver: no HTTP library, so that a test sees the very bytes of the request line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::watching::until;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// The request line without its line end: `GET /path?query HTTP/1.1`.
    pub line: String,
    /// Header names as sent, in the order in which they were sent.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// What stands between method and version, as it was sent.
    pub fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// The response of the receiver to one request.
#[derive(Debug, Clone)]
pub enum Response {
    /// A whole response, after a delay.
    Http { status: u16, headers: Vec<(String, String)>, body: String, delay: Duration },
    /// These bytes and nothing else; then the connection is closed.
    Raw(Vec<u8>),
    /// The connection is closed without a response.
    Close,
}

impl Response {
    pub fn status(status: u16) -> Self {
        Self::Http { status, headers: Vec::new(), body: String::new(), delay: Duration::ZERO }
    }

    pub fn with_body(status: u16, body: &str) -> Self {
        Self::Http { status, headers: Vec::new(), body: body.to_owned(), delay: Duration::ZERO }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    pub fn after(mut self, wait: Duration) -> Self {
        if let Self::Http { delay, .. } = &mut self {
            *delay = wait;
        }
        self
    }
}

type Script = dyn Fn(&Received) -> Response + Send + Sync;

/// Listens on a free port of 127.0.0.1 until the test ends.
///
/// `GET /ip` returns the host's address as the receiver has it (see [`Receiver::set_ip`]) and is not counted
/// among the callbacks; `GET /ip6` likewise for IPv6.
pub struct Receiver {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Received>>>,
    ip: Arc<Mutex<String>>,
    ip6: Arc<Mutex<String>>,
    looked_up: Arc<AtomicUsize>,
    /// How many connections are open.
    open: Arc<AtomicUsize>,
}

impl Receiver {
    /// Responds with 200 to everything.
    pub fn new() -> Self {
        Self::responding(|_| Response::status(200))
    }

    pub fn responding(script: impl Fn(&Received) -> Response + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", script)
    }

    /// The same on another address: `0.0.0.0:0` hears what is sent to any of loopback.
    pub fn on(address: &str, script: impl Fn(&Received) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(address).expect("a free port on loopback");
        let receiver = Self {
            address: listener.local_addr().expect("the port that was bound"),
            seen: Arc::default(),
            ip: Arc::new(Mutex::new("203.0.113.7".to_owned())),
            ip6: Arc::new(Mutex::new("2001:db8::7".to_owned())),
            looked_up: Arc::default(),
            open: Arc::default(),
        };
        let script: Arc<Script> = Arc::new(script);
        let (seen, looked_up) = (receiver.seen.clone(), receiver.looked_up.clone());
        let (ip, ip6, open) = (receiver.ip.clone(), receiver.ip6.clone(), receiver.open.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (script, seen, looked_up) = (script.clone(), seen.clone(), looked_up.clone());
                let (ip, ip6) = (ip.clone(), ip6.clone());
                let counted = Counted::new(&open);
                thread::spawn(move || {
                    let _counted = counted;
                    let mut reader = BufReader::new(stream);
                    while let Some(request) = read_request(&mut reader) {
                        let page = match request.target() {
                            "/ip" => Some(ip.lock().unwrap().clone()),
                            "/ip6" => Some(ip6.lock().unwrap().clone()),
                            _ => None,
                        };
                        let response = if let Some(text) = page {
                            looked_up.fetch_add(1, Ordering::SeqCst);
                            Response::with_body(200, &text)
                        } else {
                            seen.lock().unwrap().push(request.clone());
                            script(&request)
                        };
                        if write_response(reader.get_mut(), &response).is_err() {
                            return;
                        }
                        if !matches!(response, Response::Http { .. }) {
                            return;
                        }
                    }
                });
            }
        });
        receiver
    }

    /// `http://127.0.0.1:PORT` followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// An `index4` that takes the address from this receiver.
    pub fn index4(&self) -> String {
        format!("url:{}", self.url("/ip"))
    }

    /// An `index6` that takes the address from this receiver.
    pub fn index6(&self) -> String {
        format!("url:{}", self.url("/ip6"))
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address that `/ip` gives from now on.
    pub fn set_ip(&self, ip: &str) {
        ip.clone_into(&mut self.ip.lock().unwrap());
    }

    /// How often an address was asked for.
    pub fn lookups(&self) -> usize {
        self.looked_up.load(Ordering::SeqCst)
    }

    /// The callbacks so far, in the order of their arrival.
    pub fn callbacks(&self) -> Vec<Received> {
        self.seen.lock().unwrap().clone()
    }

    /// The one callback that must have come.
    pub fn only(&self) -> Received {
        let mut seen = self.callbacks();
        assert_eq!(seen.len(), 1, "exactly one callback was expected: {seen:#?}");
        seen.remove(0)
    }

    /// Waits until everything is handled that clients sent which have ended.
    #[track_caller]
    pub fn settle(&self) {
        // Connections are accepted in their order: once this one has its response, so are all before it.
        let mut last = TcpStream::connect(self.address).expect("it listens");
        last.write_all(b"GET /ip HTTP/1.1\r\n\r\n").and_then(|()| last.read_exact(&mut [0])).expect("it responds");
        drop(last);
        until(Duration::from_secs(30), "the end of all connections", || self.open.load(Ordering::SeqCst) == 0);
    }

    /// The callbacks since the last call of this.
    pub fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

/// Counts as one as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let line = read_line(reader)?;
    let mut headers = Vec::new();
    loop {
        let header = read_line(reader)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Received { line, headers, body: Vec::new() };
    if let Some(length) = request.header("content-length") {
        request.body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

fn read_line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).ok()?;
    let text = String::from_utf8_lossy(line.strip_suffix(b"\r\n")?).into_owned();
    Some(text)
}

fn write_response(stream: &mut TcpStream, response: &Response) -> std::io::Result<()> {
    match response {
        Response::Http { status, headers, body, delay } => {
            thread::sleep(*delay);
            let mut text = format!("HTTP/1.1 {status} Response\r\n");
            for (name, value) in headers {
                text += &format!("{name}: {value}\r\n");
            }
            if *status != 204 {
                text += &format!("Content-Length: {}\r\n", body.len());
            }
            text += "\r\n";
            text += body;
            stream.write_all(text.as_bytes())
        }
        Response::Raw(bytes) => stream.write_all(bytes),
        Response::Close => Ok(()),
    }
}
