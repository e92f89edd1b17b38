//! A server that does exactly what a test wants, step by step, and counts what arrives: faults byte by byte.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use rustls::ServerConfig;
use serde_json::Value;

use crate::support::watching::{SOON, until};
use crate::support::wire::Wire;
use crate::support::{Run, Sandbox};

/// What the server does next on a connection.
#[derive(Clone)]
pub enum Step {
    Say(Vec<u8>),
    /// One byte at a time, with this pause before each.
    Trickle(&'static str, Duration),
    Pause(Duration),
    /// Reads the body of the request.
    TakeBody,
    /// Reads so many bytes.
    Take(usize),
    /// Reads a byte at a time, with this pause before each, until the client is gone.
    Sip(Duration),
    /// Sends this again and again until the client is gone.
    Flood(Vec<u8>),
    /// Keeps the connection and neither reads nor speaks until the client is gone.
    Stall,
    /// Lets the test know that it came so far.
    Note(Arc<AtomicBool>),
    Close,
    /// Closes so that the client sees a reset.
    Reset,
}

use Step::{Close, Flood, Note, Pause, Reset, Sip, Stall, Take, TakeBody, Trickle};

/// Longer than any run takes: a server that waits is not what ends a test.
const LONG: Duration = Duration::from_secs(30);

pub fn say(text: impl AsRef<[u8]>) -> Step {
    Step::Say(text.as_ref().to_vec())
}

/// What arrives on a port, and what is sent back.
pub struct Server {
    address: SocketAddr,
    listener: Mutex<Option<Arc<TcpListener>>>,
    /// Connections that fill the backlog.
    waiting: Mutex<Vec<TcpStream>>,
    shared: Arc<Shared>,
}

struct Shared {
    first: Vec<Step>,
    script: Box<Script>,
    tls: Option<Arc<ServerConfig>>,
    /// The targets of all requests whose head was read.
    seen: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: Mutex<Vec<Weak<TcpStream>>>,
    /// From now on every response is a 204.
    is_mended: AtomicBool,
}

type Script = dyn Fn(&str) -> Vec<Step> + Send + Sync;

impl Server {
    /// Does the same for each request.
    pub fn always(steps: Vec<Step>) -> Self {
        Self::start(Vec::new(), move |_| steps.clone())
    }

    /// Does this before it reads anything.
    pub fn at_once(steps: Vec<Step>) -> Self {
        Self::start(steps, |_| Vec::new())
    }

    pub fn start(first: Vec<Step>, script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1:0", None, first, script)
    }

    /// The same at another address; over TLS, which begins after the first steps, where there is a certificate.
    pub fn on(
        address: &str,
        tls: Option<Arc<ServerConfig>>,
        first: Vec<Step>,
        script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).expect("a free port on loopback");
        let shared = Shared {
            first,
            script: Box::new(script),
            tls,
            seen: Mutex::default(),
            connections: AtomicUsize::default(),
            open: Mutex::default(),
            is_mended: AtomicBool::default(),
        };
        let address = listener.local_addr().expect("the port that was bound");
        let server = Self { address, listener: Mutex::default(), waiting: Mutex::default(), shared: Arc::new(shared) };
        server.serve(listener);
        server
    }

    fn serve(&self, listener: TcpListener) {
        let listener = Arc::new(listener);
        *self.listener.lock().expect("no test thread failed") = Some(listener.clone());
        let shared = self.shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let socket = Arc::new(stream);
                shared.open.lock().expect("no test thread failed").push(Arc::downgrade(&socket));
                let shared = shared.clone();
                thread::spawn(move || converse(socket, &shared));
            }
        });
    }

    pub fn url(&self, path: &str) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    pub fn mend(&self) {
        self.shared.is_mended.store(true, Ordering::SeqCst);
    }

    /// Follows its script again.
    pub fn spoil(&self) {
        self.shared.is_mended.store(false, Ordering::SeqCst);
    }

    /// Refuses connections from now on. Those that are open stay so.
    pub fn close(&self) {
        self.waiting.lock().expect("no test thread failed").clear();
        let Some(listener) = self.listener.lock().expect("no test thread failed").take() else { return };
        let _ = rustix::net::shutdown(&*listener, rustix::net::Shutdown::Both);
        let listener = Arc::downgrade(&{ listener });
        until(SOON, "nobody listens", || listener.strong_count() == 0);
    }

    /// Leaves connections unanswered from now on: its backlog is full.
    pub fn hang(&self) {
        self.close();
        let listener = TcpListener::bind(self.address).expect("its port is free");
        rustix::net::listen(&listener, 0).expect("a short backlog");
        let mut waiting = self.waiting.lock().expect("no test thread failed");
        while let Ok(one) = TcpStream::connect_timeout(&self.address, Duration::from_millis(200)) {
            waiting.push(one);
        }
        *self.listener.lock().expect("no test thread failed") = Some(Arc::new(listener));
    }

    /// Accepts connections again.
    pub fn reopen(&self) {
        self.close();
        self.serve(TcpListener::bind(self.address).expect("its port is free"));
    }

    /// The connections that are open.
    fn open(&self) -> Vec<Weak<TcpStream>> {
        self.shared.open.lock().expect("no test thread failed").clone()
    }

    /// Ends all open connections, while they are idle.
    pub fn end_idle(&self) {
        self.drop_idle(|socket| socket.shutdown(Shutdown::Both).is_ok());
    }

    /// Resets all open connections, while they are idle.
    pub fn reset_idle(&self) {
        self.drop_idle(|socket| {
            // Who reads it sees an end, and drops it.
            set_socket_linger(socket, Some(Duration::ZERO)).is_ok() && socket.shutdown(Shutdown::Read).is_ok()
        });
    }

    fn drop_idle(&self, end: impl Fn(&TcpStream) -> bool) {
        let open = self.open();
        for socket in open.iter().filter_map(Weak::upgrade) {
            // One that the client has ended is over already.
            let _ = end(&socket);
        }
        until(SOON, "the end of all connections", || open.iter().all(|socket| socket.strong_count() == 0));
    }

    /// Sends this on all open connections, while they are idle.
    pub fn say_idle(&self, bytes: &[u8]) {
        for socket in self.open().iter().filter_map(Weak::upgrade) {
            // One that the client has ended is over already.
            let _ = (&*socket).write_all(bytes);
        }
    }

    /// How often each target was asked for since the last call of this.
    pub fn take(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for target in self.shared.seen.lock().expect("no test thread failed").drain(..) {
            *counts.entry(target).or_default() += 1;
        }
        counts
    }

    /// How many connections were made since the last call of this.
    pub fn take_connections(&self) -> usize {
        self.shared.connections.swap(0, Ordering::SeqCst)
    }
}

/// One connection, request after request, until a step or the client ends it.
fn converse(socket: Arc<TcpStream>, shared: &Shared) {
    let mut reader = BufReader::new(Wire::plain(socket));
    let is_mended = || shared.is_mended.load(Ordering::SeqCst);
    if !is_mended() && !shared.first.iter().all(|step| take_step(step, &mut reader, 0)) {
        return;
    }
    if let Some(config) = &shared.tls {
        reader = BufReader::new(reader.into_inner().secured(config));
    }
    while let Some((target, length)) = read_head(&mut reader) {
        shared.seen.lock().expect("no test thread failed").push(target.clone());
        let good = [TakeBody, say("HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n")];
        let steps = if is_mended() { good.to_vec() } else { (shared.script)(&target) };
        if !steps.iter().all(|step| take_step(step, &mut reader, length)) {
            return;
        }
    }
}

/// The target of the next request and the length of its body; none at the end of the connection.
fn read_head(reader: &mut BufReader<Wire>) -> Option<(String, usize)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    Some((lines.first()?.split(' ').nth(1)?.to_owned(), length.unwrap_or(0)))
}

/// False where the connection is over.
fn take_step(step: &Step, reader: &mut BufReader<Wire>, body: usize) -> bool {
    let begun = Instant::now();
    match step {
        Step::Say(bytes) => reader.get_mut().write_all(bytes).is_ok(),
        Trickle(text, pause) => text.bytes().all(|byte| {
            thread::sleep(*pause);
            reader.get_mut().write_all(&[byte]).is_ok()
        }),
        Pause(pause) => {
            thread::sleep(*pause);
            true
        }
        TakeBody => reader.read_exact(&mut vec![0; body]).is_ok(),
        Take(length) => reader.read_exact(&mut vec![0; *length]).is_ok(),
        Sip(pause) => {
            while begun.elapsed() < LONG {
                thread::sleep(*pause);
                if reader.read_exact(&mut [0]).is_err() {
                    break;
                }
            }
            false
        }
        Flood(bytes) => {
            while reader.get_mut().write_all(bytes).is_ok() && begun.elapsed() < LONG {}
            false
        }
        Stall => {
            // What is unread keeps a plain read from seeing the end: an error on the socket ends the wait as well.
            let socket = reader.get_ref().socket();
            while begun.elapsed() < LONG && socket.take_error().is_ok_and(|error| error.is_none()) {
                thread::sleep(Duration::from_millis(50));
                let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut [0]));
                if matches!(peeked, Ok(0)) {
                    break;
                }
            }
            false
        }
        Note(flag) => {
            flag.store(true, Ordering::SeqCst);
            true
        }
        Close => false,
        Reset => {
            set_socket_linger(reader.get_ref().socket(), Some(Duration::ZERO)).expect("a socket can be set to reset");
            false
        }
    }
}

/// What a run may take beyond its limit on a host that is busy; the limit that is not configured is 30 s.
pub const SLACK: Duration = Duration::from_secs(8);

/// One run within its limit, without a panic, and in words rather than numbers of the system.
#[track_caller]
pub fn bounded(sandbox: &Sandbox, config: &Value, name: &str) -> Run {
    let begun = Instant::now();
    let run = sandbox.sync(config);
    let (took, limit) = (begun.elapsed(), config["timeout"].as_u64().expect("a limit"));
    assert!(took < Duration::from_secs(limit) + SLACK, "{name}: took {took:?}, the limit is {limit} s\n{}", run.stderr);
    run.never_prints("panicked").never_prints("os error").never_prints("docs.rs")
}
