//! A server that does exactly what a test wants, step by step, and counts what arrives: faults byte by byte.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;
use serde_json::Value;

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

use Step::{Close, Flood, Note, Pause, Reset, Stall, TakeBody, Trickle};

/// Longer than any run takes: a server that waits is not what ends a test.
const LONG: Duration = Duration::from_secs(30);

pub fn say(text: impl AsRef<[u8]>) -> Step {
    Step::Say(text.as_ref().to_vec())
}

/// What arrives on a port, and what is sent back.
pub struct Server {
    address: SocketAddr,
    /// The targets of all requests whose head was read.
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    /// From now on every response is a 204.
    is_mended: Arc<AtomicBool>,
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
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("the port that was bound");
        let server = Self { address, seen: Arc::default(), connections: Arc::default(), is_mended: Arc::default() };
        let (seen, connections, is_mended) =
            (server.seen.clone(), server.connections.clone(), server.is_mended.clone());
        let script: Arc<Script> = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, is_mended, script, first) = (seen.clone(), is_mended.clone(), script.clone(), first.clone());
                thread::spawn(move || converse(stream, &first, &*script, &seen, &is_mended));
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn mend(&self) {
        self.is_mended.store(true, Ordering::SeqCst);
    }

    /// How often each target was asked for since the last call of this.
    pub fn take(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for target in self.seen.lock().expect("no test thread failed").drain(..) {
            *counts.entry(target).or_default() += 1;
        }
        counts
    }

    /// How many connections were made since the last call of this.
    pub fn take_connections(&self) -> usize {
        self.connections.swap(0, Ordering::SeqCst)
    }
}

/// One connection, request after request, until a step or the client ends it.
fn converse(stream: TcpStream, first: &[Step], script: &Script, seen: &Mutex<Vec<String>>, is_mended: &AtomicBool) {
    let mut reader = BufReader::new(stream);
    if !is_mended.load(Ordering::SeqCst) && !first.iter().all(|step| take_step(step, &mut reader, 0)) {
        return;
    }
    while let Some((target, length)) = read_head(&mut reader) {
        seen.lock().expect("no test thread failed").push(target.clone());
        let good = [TakeBody, say("HTTP/1.1 204 No Content\r\n\r\n")];
        let steps = if is_mended.load(Ordering::SeqCst) { good.to_vec() } else { script(&target) };
        if !steps.iter().all(|step| take_step(step, &mut reader, length)) {
            return;
        }
    }
}

/// The target of the next request and the length of its body; none at the end of the connection.
fn read_head(reader: &mut BufReader<TcpStream>) -> Option<(String, usize)> {
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
fn take_step(step: &Step, reader: &mut BufReader<TcpStream>, body: usize) -> bool {
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
        Flood(bytes) => {
            while reader.get_mut().write_all(bytes).is_ok() && begun.elapsed() < LONG {}
            false
        }
        Stall => {
            // What is unread keeps a plain read from seeing the end: an error on the socket ends the wait as well.
            while begun.elapsed() < LONG && reader.get_ref().take_error().is_ok_and(|error| error.is_none()) {
                thread::sleep(Duration::from_millis(50));
                let peeked = reader.get_ref().set_nonblocking(true).and_then(|()| reader.get_ref().peek(&mut [0]));
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
            set_socket_linger(reader.get_ref(), Some(Duration::ZERO)).expect("a socket can be set to reset");
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
