//! The matrix of faults (A4, A7, E1, E2, E4): at each stage of an exchange each kind of fault, on a connection that is made
//! for the update and on one that was kept, in a single run and in `ddns watch`. For each cell: the outcome, how many
//! requests arrived, what the cache holds, and that the update is sent once more where it failed, and only there.
//! Single faults in all their forms stand in `transport/faults.rs`.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use rustls::{ServerConfig, version};
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::authority::{Authority, params_for};
use crate::support::scripted::Step::{Close, Reset, Sip, Stall, Take, TakeBody, Trickle};
use crate::support::scripted::{Server, Step, say};
use crate::support::watching::{Watch, host, ms, until};

/// Where the fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connect,
    Tls,
    /// The head of the request has arrived, its body has not.
    Request,
    /// The request has arrived.
    Head,
    /// The head of the response was sent.
    Body,
    /// The whole response was sent.
    Close,
}

/// What the server does. To refuse is to say no in the way that the stage has for it: with an alert, a status, an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Refuse,
    Reset,
    Hang,
    Drip,
    Garbage,
}

const FAULTS: [Fault; 5] = [Fault::Refuse, Fault::Reset, Fault::Hang, Fault::Drip, Fault::Garbage];

/// What comes of it.
#[derive(Debug, Clone, Copy)]
enum Expected {
    Accepted,
    /// With one of these sentences; then the cache holds this.
    Failed(&'static [&'static str], Holds),
    /// There is no such thing, for this reason.
    Senseless(&'static str),
}

/// What the cache holds of an update that failed, where the old address was accepted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Nothing was sent: the endpoint has the old address.
    Old,
    /// The endpoint has the old address or the new one.
    InDoubt,
    /// The one or the other, depending on whether the request was begun before the reset came.
    Either,
}

use Expected::{Accepted, Failed, Senseless};
use Holds::{Either, InDoubt, Old};

/// The table: first on a connection that is made for the update, then where one was kept. While connecting, that one has
/// ended, and the connection in its place meets the fault; at the close, the kept one meets it before the update is sent.
fn expected(stage: Stage, fault: Fault) -> [Expected; 2] {
    let no_byte = Senseless("a connection is made before the server sends a byte");
    let late: &[&str] = &["took the connection but did not respond within 2 s"];
    let broken: &[&str] = &["reset the connection before it responded"];
    match (stage, fault) {
        (Stage::Connect, Fault::Refuse) => [Failed(&["connection refused"], Old); 2],
        (Stage::Connect, Fault::Reset) => {
            let ended = &["reset the connection", "connection reset", "closed the connection without a response"];
            [Failed(ended, Either); 2]
        }
        (Stage::Connect, Fault::Hang) => [Failed(&["no response within", "within 2 s"], Old); 2],
        (Stage::Connect, Fault::Drip | Fault::Garbage) => [no_byte; 2],
        (Stage::Tls, Fault::Refuse) => [Failed(&["no TLS connection to https://"], Old); 2],
        (Stage::Tls, Fault::Reset) => [Failed(&["closed the connection during the TLS handshake"], Old); 2],
        (Stage::Tls, Fault::Hang | Fault::Drip) => [Failed(&["the TLS handshake did not finish within"], Old); 2],
        (Stage::Tls, Fault::Garbage) => [Failed(&["does not speak TLS"], Old); 2],
        (Stage::Request, Fault::Refuse) => [Failed(&["responded with 413"], InDoubt); 2],
        (Stage::Head, Fault::Refuse) => [Failed(&["responded with 503"], InDoubt); 2],
        (Stage::Request | Stage::Head, Fault::Reset) => [Failed(broken, InDoubt); 2],
        (Stage::Request | Stage::Head, Fault::Hang | Fault::Drip) => [Failed(late, InDoubt); 2],
        (Stage::Request | Stage::Head, Fault::Garbage) => [Failed(&["is not valid HTTP"], InDoubt); 2],
        (Stage::Close, Fault::Hang) => {
            [Accepted, Senseless("a kept connection that is silent is one that hangs at the next request")]
        }
        (Stage::Body | Stage::Close, _) => [Accepted; 2],
    }
}

/// What a new connection meets, and what a request meets.
fn script(stage: Stage, fault: Fault) -> (Vec<Step>, Vec<Step>) {
    let slowly = ms(300);
    let (head, half) = ("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Le");
    let done = say("HTTP/1.1 204 No Content\r\n\r\n");
    let hello = "\x16\x03\x03\0\x7a\x02\0\0\x76\x03\x03................................";
    let steps = match (stage, fault) {
        (Stage::Connect | Stage::Request, Fault::Reset) => vec![Reset],
        (Stage::Connect, _) => vec![],
        (Stage::Tls, Fault::Refuse) => vec![Take(5), say(b"\x15\x03\x03\0\x02\x02\x28"), Stall],
        (Stage::Tls, Fault::Reset) => vec![Take(5), Reset],
        (Stage::Tls, Fault::Drip) => vec![Take(5), Trickle(hello, slowly)],
        (Stage::Tls, Fault::Garbage) => vec![Take(5), say("HTTP/1.1 400 Bad Request\r\n\r\n"), Stall],
        (Stage::Request, Fault::Refuse) => vec![say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), Stall],
        (Stage::Request, Fault::Drip) => vec![Sip(slowly)],
        (Stage::Request, Fault::Garbage) => vec![say("what is this?\r\n"), Stall],
        (Stage::Tls | Stage::Request, Fault::Hang) => vec![Stall],
        (Stage::Head, Fault::Refuse) => vec![TakeBody, say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")],
        (Stage::Head, Fault::Reset) => vec![TakeBody, say(half), Reset],
        (Stage::Head, Fault::Hang) => vec![TakeBody, say(half), Stall],
        (Stage::Head, Fault::Drip) => vec![TakeBody, Trickle(head, slowly)],
        (Stage::Head, Fault::Garbage) => vec![TakeBody, say("<html>all went well</html>\r\n"), Stall],
        (Stage::Body, Fault::Refuse) => vec![TakeBody, say(head), say("{\"error\": \"bad key\"}")],
        (Stage::Body, Fault::Reset) => vec![TakeBody, say(head), say("half"), Reset],
        (Stage::Body, Fault::Hang) => vec![TakeBody, say(head), Stall],
        (Stage::Body, Fault::Drip) => vec![TakeBody, say(head), Trickle("{\"error\": \"bad key\"}", slowly)],
        (Stage::Body, Fault::Garbage) => {
            vec![TakeBody, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"), Stall]
        }
        (Stage::Close, Fault::Refuse) => {
            vec![TakeBody, say("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"), Close]
        }
        (Stage::Close, Fault::Reset) => vec![TakeBody, done, Reset],
        (Stage::Close, Fault::Hang) => vec![TakeBody, done, Stall],
        (Stage::Close, Fault::Drip) => vec![TakeBody, done, Trickle("HTTP/1.1 500", slowly)],
        (Stage::Close, Fault::Garbage) => vec![TakeBody, done, say("HTTP/1.1 500 Stray\r\n\r\n"), Stall],
    };
    if matches!(stage, Stage::Connect | Stage::Tls) { (steps, Vec::new()) } else { (Vec::new(), steps) }
}

const BEFORE: &str = "203.0.113.7";
const NOW: &str = "203.0.113.8";

/// For what must come in the end, on a machine that does many other things.
const LIMIT: Duration = Duration::from_secs(30);

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct Cell {
    stage: Stage,
    fault: Fault,
    is_kept: bool,
    is_watch: bool,
    expected: Expected,
}

impl Cell {
    /// An address of loopback that no other cell has: a port that is closed is not taken by anybody else.
    fn host(&self) -> String {
        let [stage, fault] = [self.stage as u8, self.fault as u8];
        format!("127.77.{}.{}", 16 * stage + fault, 1 + 2 * u8::from(self.is_kept) + u8::from(self.is_watch))
    }

    fn server(&self, tls: Option<Arc<ServerConfig>>) -> Server {
        let (first, steps) = script(self.stage, self.fault);
        let steps = if self.meets_it_idle() { vec![TakeBody, say("HTTP/1.1 204 Fine\r\n\r\n")] } else { steps };
        let server = Server::on(&format!("{}:0", self.host()), tls, first, move |_| steps.clone());
        server.mend();
        server
    }

    /// Whether the fault strikes the kept connection before the update is sent.
    fn meets_it_idle(&self) -> bool {
        self.is_kept && self.stage == Stage::Close
    }

    /// The update under test is that of `home.example.com`. Where a connection is to be kept, another one goes before it.
    fn config(&self, server: &Server) -> Value {
        let is_late = matches!((self.fault, self.expected), (Fault::Hang | Fault::Drip, Failed(..)));
        let line = if self.stage == Stage::Request { "x".repeat(4096) } else { String::new() };
        let token = json!({"ip": "__IP__", "long": "__LINE__".repeat(256)});
        let home = json!({
            "provider": "callback", "id": server.url("/home"), "ipv4": "home.example.com", "token": token, "line": line,
            "index4": "shell:read ip <later && echo $ip", "timeout": if is_late { 2 } else { 20 },
        });
        let before = json!({
            "provider": "callback", "id": server.url("/before"), "ipv4": "before.example.com",
            "index4": "shell:cat ip", "timeout": 20,
        });
        let providers = if self.is_kept { vec![before, home] } else { vec![home] };
        json!({"ssl": true, "proxy": "DIRECT", "providers": providers})
    }

    /// The fault is there from now on.
    fn strike(&self, server: &Server) {
        if self.is_kept {
            match (self.stage, self.fault) {
                (Stage::Connect | Stage::Tls, _) | (Stage::Close, Fault::Refuse | Fault::Hang) => server.end_idle(),
                (Stage::Close, Fault::Reset) => server.reset_idle(),
                (Stage::Close, Fault::Drip) => server.say_idle(b"H"),
                (Stage::Close, Fault::Garbage) => server.say_idle(b"HTTP/1.1 500 Stray\r\n\r\n"),
                _ => {}
            }
        }
        server.spoil();
        match (self.stage, self.fault) {
            (Stage::Connect, Fault::Refuse) => server.close(),
            (Stage::Connect, Fault::Hang) => server.hang(),
            _ => {}
        }
    }

    /// How often the request of the update arrives in one try.
    fn requests(&self) -> usize {
        usize::from(!matches!(self.stage, Stage::Connect | Stage::Tls))
    }

    /// How many connections are made in one try: a kept one is used, unless it has ended.
    fn connections(&self) -> usize {
        let is_new = !self.is_kept || matches!(self.stage, Stage::Connect | Stage::Tls | Stage::Close);
        usize::from(self.is_kept) + usize::from(is_new && !self.is_unanswered())
    }

    /// Whether no connection is accepted.
    fn is_unanswered(&self) -> bool {
        self.stage == Stage::Connect && self.fault != Fault::Reset
    }

    fn prove(&self, authority: &Authority) {
        let tls = (self.stage == Stage::Tls)
            .then(|| authority.config(&params_for(&self.host()), &[&version::TLS13, &version::TLS12]));
        let server = self.server(tls);
        let sandbox = host();
        let roots = sandbox.write("roots.pem", &authority.pem);
        let sandbox = sandbox.env("SSL_CERT_FILE", roots.to_str().expect("a plain path"));
        set_addresses(&sandbox, BEFORE);
        sandbox.sync(&self.config(&server)).expect(0);
        server.take();
        server.take_connections();

        let mut process = self.begin(&sandbox, &server);
        self.check_outcome(&mut process, &server);
        self.check_cache(&sandbox, &process);
        server.mend();
        if self.is_unanswered() {
            server.reopen();
        }
        self.recover(&sandbox, &server, process);
        assert_eq!(held(&sandbox)[0], NOW, "{self:?}: in the end the new address is accepted");
        assert!(!is_in_doubt(&held(&sandbox)), "{self:?}");
    }

    /// Starts the program with a new address, up to where the update meets the fault.
    fn begin(&self, sandbox: &Sandbox, server: &Server) -> Watch {
        let args: &[&str] = if self.is_watch { &["watch", "-c", "config.json"] } else { &["-c", "config.json"] };
        if !self.is_kept {
            self.strike(server);
            set_addresses(sandbox, NOW);
            return Watch::run(sandbox.command(args));
        }
        // The address of the update is known once the connection of the other one is kept.
        let gate = Gate::new(sandbox);
        let process = Watch::run(sandbox.command(args));
        let line = format!("before.example.com A {NOW}: accepted");
        until(LIMIT, "the update before it is accepted", || process.log().contains(&line));
        self.strike(server);
        gate.open(sandbox);
        process
    }

    fn check_outcome(&self, process: &mut Watch, server: &Server) {
        let start = format!("home.example.com A {NOW}: ");
        let ended = |log: &str| log.lines().find(|line| line.contains(&start)).map(str::to_owned);
        until(LIMIT, &format!("{self:?}: an outcome"), || ended(&process.log()).is_some());
        let line = ended(&process.log()).expect("it is there");
        let sentences = match self.expected {
            Failed(sentences, _) => sentences,
            _ => &["accepted"],
        };
        assert!(sentences.iter().any(|part| line.contains(part)), "{self:?}: {sentences:?} expected:\n{line}");
        assert_eq!(line.contains(": failed: "), self.fails(), "{self:?}: {line}");
        if !self.is_watch {
            assert_eq!(process.ended(LIMIT), i32::from(self.fails()), "{self:?}: exit status");
            let seen = server.take().remove("/home").unwrap_or(0);
            assert_eq!(seen, self.requests(), "{self:?}: one try in one run");
            assert_eq!(server.take_connections(), self.connections(), "{self:?}: connections");
        }
    }

    fn fails(&self) -> bool {
        matches!(self.expected, Failed(..))
    }

    /// What the service knows is on the disk after a second.
    fn check_cache(&self, sandbox: &Sandbox, process: &Watch) {
        let is_right = || {
            let entry = held(sandbox);
            let is_doubted = is_in_doubt(&entry) && entry[2] == NOW;
            match self.expected {
                Failed(_, Old) => entry[0] == BEFORE && !is_in_doubt(&entry),
                Failed(_, InDoubt) => entry[0] == BEFORE && is_doubted,
                Failed(_, Either) => entry[0] == BEFORE && (is_doubted || !is_in_doubt(&entry)),
                _ => entry[0] == NOW && !is_in_doubt(&entry),
            }
        };
        let limit = if self.is_watch { LIMIT } else { Duration::ZERO };
        if !is_right() {
            until(limit, &format!("{self:?}: held: {:?}\n{}", held(sandbox), process.log()), is_right);
        }
    }

    /// The server is well again: what failed is sent once more, and what was accepted is not.
    fn recover(&self, sandbox: &Sandbox, server: &Server, process: Watch) {
        if self.is_watch {
            let line = |what| format!("home.example.com A {NOW}: {what}");
            if self.fails() {
                process.signal(Signal::USR1);
                until(LIMIT, &format!("{self:?}: sent again"), || process.lines_with(&line("accepted")) == 1);
            }
            let tries = process.lines_with(&line("failed")).max(1);
            process.stop();
            let sent = server.take().remove("/home").unwrap_or(0);
            assert_eq!(sent, tries * self.requests() + usize::from(self.fails()), "{self:?}: after {tries} tries");
        } else {
            // Whatever the limit was, a busy machine has time for what is right.
            let text = sandbox.read("config.json").replace("\"timeout\":2,", "\"timeout\":20,");
            let run = sandbox.sync_text(&text).expect(0);
            let sent = server.take().remove("/home").unwrap_or(0);
            assert_eq!(sent, usize::from(self.fails()), "{self:?}: sent again\n{}", run.stderr);
        }
    }
}

/// What the cache holds of the update under test: address and time, then what is in doubt.
fn held(sandbox: &Sandbox) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.cache_file()).expect("the cache");
    let cache: Value = serde_json::from_str(&text).expect("a whole file");
    let callbacks = cache["callbacks"].as_object().expect("callbacks");
    let entry = callbacks.values().find_map(|entries| entries.get("home.example.com A"));
    entry.and_then(Value::as_array).expect("an entry").clone()
}

fn is_in_doubt(entry: &[Value]) -> bool {
    entry.len() > 2
}

fn set_addresses(sandbox: &Sandbox, ip: &str) {
    sandbox.write("ip", format!("{ip}\n"));
    sandbox.write("later", format!("{ip}\n"));
}

/// Keeps the address of the update back until it is opened.
struct Gate(File);

impl Gate {
    fn new(sandbox: &Sandbox) -> Self {
        sandbox.write("ip", format!("{NOW}\n"));
        let path = sandbox.path("later");
        fs::remove_file(&path).expect("it is there");
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        // Open at both ends: neither this nor what is written waits for a reader.
        Self(OpenOptions::new().read(true).write(true).open(&path).expect("the pipe"))
    }

    /// For who reads already, and for who comes later.
    fn open(mut self, sandbox: &Sandbox) {
        let fresh = sandbox.write("later.new", format!("{NOW}\n"));
        self.0.write_all(format!("{NOW}\n").as_bytes()).expect("the pipe has room");
        fs::rename(fresh, sandbox.path("later")).expect("it is replaced");
    }
}

/// So many cells are proved side by side.
const WORKERS: usize = 8;

fn prove(stage: Stage) {
    let authority = Authority::new("known");
    let mut cells = VecDeque::new();
    for fault in FAULTS {
        for (is_kept, expected) in [false, true].into_iter().zip(expected(stage, fault)) {
            match expected {
                Senseless(why) => println!("left out: {stage:?}, {fault:?}, kept {is_kept}: {why}"),
                expected => {
                    cells.extend([false, true].map(|is_watch| Cell { stage, fault, is_kept, is_watch, expected }));
                }
            }
        }
    }
    let cells = Mutex::new(cells);
    let next = || cells.lock().expect("no thread fails with the lock").pop_front();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(cell) = next() {
                    // A reset right behind a response may overtake it, now and then, on a busy machine.
                    let overtakes = cell.stage == Stage::Close && cell.fault == Fault::Reset;
                    let attempt = || cell.prove(&authority);
                    if !(overtakes && (0..2).any(|_| catch_unwind(AssertUnwindSafe(attempt)).is_ok())) {
                        attempt();
                    }
                }
            });
        }
    });
}

#[test]
fn e2_e4_a7_faults_of_connecting() {
    prove(Stage::Connect);
}

#[test]
fn e2_e4_a7_faults_of_tls() {
    prove(Stage::Tls);
}

#[test]
fn e2_e4_a7_faults_while_the_request_is_sent() {
    prove(Stage::Request);
}

#[test]
fn e1_e2_e4_a7_faults_in_the_head_of_the_response() {
    prove(Stage::Head);
}

#[test]
fn a4_a7_faults_in_the_body_of_the_response() {
    prove(Stage::Body);
}

#[test]
fn a4_a7_faults_of_the_close() {
    prove(Stage::Close);
}
