//! What the tests of `ddns watch` stand on: a running service whose log is read as it is written, and an endpoint that
//! notes when each callback came.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::{Received, Receiver, Response, Sandbox};

/// Longer than anything takes that is expected to happen soon, on a machine that does many other things.
pub const SOON: Duration = Duration::from_secs(10);

pub fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// A sandbox with the folders of a host.
pub fn host() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["run", "tmp"] {
        fs::create_dir(sandbox.path(name)).expect("the folder is made");
    }
    sandbox
}

/// Waits until it is so; fails the test where it does not come to that.
#[track_caller]
pub fn until(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        thread::sleep(ms(3));
    }
}

/// A callback, and when it came.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub at: Instant,
    pub target: String,
}

impl Arrival {
    /// What stands behind the name in the query.
    fn value(&self, name: &str) -> &str {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
    }

    pub fn ip(&self) -> &str {
        self.value("ip")
    }

    pub fn name(&self) -> &str {
        self.value("name")
    }
}

/// A receiver that notes when each callback came.
pub struct Endpoint {
    pub receiver: Receiver,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Endpoint {
    /// Accepts everything.
    pub fn new() -> Self {
        Self::responding(|_| Response::status(204))
    }

    /// Responds to the callback of this number, from 0, as the script has it.
    pub fn responding(script: impl Fn(usize) -> Response + Send + Sync + 'static) -> Self {
        let arrivals: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let noted = arrivals.clone();
        let receiver = Receiver::responding(move |request: &Received| {
            let arrival = Arrival { at: Instant::now(), target: request.target().to_owned() };
            let number = {
                let mut noted = noted.lock().expect("no test thread failed");
                noted.push(arrival);
                noted.len() - 1
            };
            script(number)
        });
        Self { receiver, arrivals }
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().expect("no test thread failed").clone()
    }

    pub fn count(&self) -> usize {
        self.arrivals.lock().expect("no test thread failed").len()
    }

    /// The addresses that were sent, in the order of their arrival.
    pub fn ips(&self) -> Vec<String> {
        self.arrivals().iter().map(|arrival| arrival.ip().to_owned()).collect()
    }

    /// Waits for this many callbacks in all; the last of them.
    #[track_caller]
    pub fn wait(&self, count: usize, limit: Duration) -> Arrival {
        until(limit, &format!("callback number {count}; came: {:?}", self.ips()), || self.count() >= count);
        self.arrivals()[count - 1].clone()
    }

    /// Where callbacks go, with name and address.
    pub fn id(&self) -> String {
        self.receiver.url("/hook?name=__DOMAIN__&ip=__IP__")
    }

    /// A configuration that updates `home.example.com` to the address that the receiver names, changed by `more`.
    pub fn config(&self, more: &Value) -> Value {
        let config = json!({"dns": "callback", "id": self.id(), "ipv4": ["home.example.com"],
            "index4": self.receiver.index4(), "proxy": "DIRECT", "timeout": 60});
        with(&config, more)
    }
}

/// A service that runs; killed at the end of the test where it still does.
pub struct Watch {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Watch {
    /// Writes `config.json` and starts `ddns watch` on it.
    pub fn start(sandbox: &Sandbox, config: &Value) -> Self {
        sandbox.write("config.json", config.to_string());
        Self::again(sandbox)
    }

    /// Starts `ddns watch` on the `config.json` that is there.
    pub fn again(sandbox: &Sandbox) -> Self {
        Self::run(sandbox.command(&["watch", "-c", "config.json"]))
    }

    pub fn run(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let log: Arc<Mutex<String>> = Arc::default();
        let written = log.clone();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = written.lock().expect("no test thread failed");
                *log += &line;
                *log += "\n";
            }
        });
        Self { child, log }
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("no test thread failed").clone()
    }

    /// How many lines of the log hold this.
    pub fn lines_with(&self, text: &str) -> usize {
        self.log().lines().filter(|line| line.contains(text)).count()
    }

    /// Waits until it has logged this.
    #[track_caller]
    pub fn prints(&self, text: &str) {
        let begun = Instant::now();
        while !self.log().contains(text) {
            assert!(begun.elapsed() < SOON, "it does not say {text:?}:\n{}", self.log());
            thread::sleep(ms(3));
        }
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process number");
        kill_process(process, signal).expect("it runs");
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its exit status, -1 where a signal ended it; fails the test where it does not end in time.
    #[track_caller]
    pub fn ended(&mut self, limit: Duration) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its state is known") {
                return status.code().unwrap_or(-1);
            }
            assert!(begun.elapsed() < limit, "still running after {limit:?}:\n{}", self.log());
            thread::sleep(ms(3));
        }
    }

    /// Asks it to stop, which it must do at once and well.
    #[track_caller]
    pub fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        let code = self.ended(SOON);
        until(SOON, "the end of the log", || self.log().contains("stopped"));
        assert_eq!(code, 0, "{}", self.log());
        self.log()
    }

    /// A number from a file in `/proc/PID`.
    pub fn measure(&self, file: &str, field: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.process())).expect("the process is there");
        let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("the field is there");
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number")
    }

    /// How many files it has open.
    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process())).expect("the process is there").count()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The control sockets in a sandbox.
pub fn sockets(sandbox: &Sandbox) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(sandbox.path("run/ddns")) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// The one row, and exit status, of `ddns status --json`.
#[track_caller]
pub fn status(sandbox: &Sandbox) -> (Value, i32) {
    let run = sandbox.run(&["status", "--json", "-c", "config.json"]);
    let value: Value = run.json();
    assert_eq!(value.as_array().map(Vec::len), Some(1), "one service: {value:#}");
    (value[0].clone(), run.code)
}
