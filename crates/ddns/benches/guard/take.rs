//! Measures one value: runs the program against a receiver on loopback, in a clean environment and an empty folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::program::program;
use crate::programs::{Ended, tool};
use crate::receiver::{RESPONSES, listen, respond};

/// How long a run is held at its end, so that its memory can be read.
const HELD: Duration = Duration::from_millis(300);

/// Longer than any run takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why a value cannot be measured.
pub(crate) struct Missing(pub(crate) String);

/// The folder and the receiver that a run uses.
pub(crate) struct Load {
    folder: TempDir,
    port: u16,
}

impl Load {
    pub(crate) fn new() -> Self {
        let port = listen(|stream| respond(stream, "Connection: keep-alive\r\n"));
        Self { folder: tempfile::tempdir().expect("a temporary folder"), port }
    }

    /// The instructions in user space of one run that sends all updates.
    pub(crate) fn instructions(&self, count: usize, cache: &str, level: &str) -> Result<u64, Missing> {
        self.begin();
        self.configure(count, cache, level);
        self.counted(count)
    }

    /// The same with a cache that has all updates but one.
    pub(crate) fn instructions_of_one_more(&self, count: usize) -> Result<u64, Missing> {
        self.begin();
        self.configure(count - 1, "cache.json", "ERROR");
        self.sends(count - 1, || assert!(self.ready(program()).status().expect("the program starts").success()));
        self.configure(count, "cache.json", "ERROR");
        self.counted(1)
    }

    /// The instructions of a service that sends all updates, and is stopped once it rests.
    pub(crate) fn instructions_of_service(&self, count: usize) -> Result<u64, Missing> {
        self.begin();
        self.configure(count, "cache.json", "ERROR");
        let mut command = self.under_valgrind()?;
        command.arg("watch");
        let mut service = self.sends(count, || resting(&mut command, count));
        kill_process(Pid::from_child(&service.0), Signal::TERM).expect("the service runs");
        let status = service.0.wait().expect("its status");
        assert!(status.success(), "a service under valgrind: {status}");
        Ok(self.count())
    }

    /// The peak of the program's own memory (kB) in one run that sends all updates. Pages of its file do not count, because the system
    /// decides how many of them are in memory.
    pub(crate) fn peak(&self, count: usize) -> Result<u64, Missing> {
        let strace = needed("strace")?;
        self.begin();
        if !self.ready(&strace).arg("/bin/true").status().is_ok_and(|status| status.success()) {
            return Err(Missing("`strace` may trace nothing here".to_owned()));
        }
        loop {
            self.begin();
            self.configure(count, "cache.json", "ERROR");
            if let Some(peak) = self.sends(count, || self.held(&strace)) {
                return Ok(peak);
            }
        }
    }

    /// Holds a run at its end, when the kernel knows its peak, and how much of the file is in memory. `None`: the memory was not read
    /// while the run was held.
    fn held(&self, strace: &Path) -> Option<u64> {
        let mut command = self.ready(strace);
        let hold = format!("inject=exit_group:delay_enter={}", HELD.as_micros());
        // With -D the tracer is the child, and the process that is started here becomes the program.
        command.args(["-D", "-qq", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=exit_group", "-e", &hold]);
        let mut run = Ended(command.arg(program()).spawn().expect("strace starts"));
        let mut last = None;
        loop {
            let now = Instant::now();
            if let [Some(most), Some(file)] = in_status(&run.0, ["VmHWM", "RssFile"]) {
                last = Some((now, most.saturating_sub(file)));
            }
            if let Some(status) = run.0.try_wait().expect("its state") {
                assert!(status.success(), "under strace: {status}");
                return last.filter(|(at, _)| at.elapsed() < HELD).map(|(_, peak)| peak);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// A service's own memory (kB) once it has sent all updates.
    pub(crate) fn at_rest(&self, count: usize) -> Result<u64, Missing> {
        let service = self.service(count);
        let path = format!("/proc/{}/smaps_rollup", service.0.id());
        let text = fs::read_to_string(path).map_err(|error| Missing(format!("no smaps_rollup: {error}")))?;
        in_lines(&text, "Anonymous").ok_or_else(|| Missing("smaps_rollup without `Anonymous`".to_owned()))
    }

    /// How often a service is woken in 5 s.
    pub(crate) fn wake_ups(&self) -> u64 {
        let service = self.service(1);
        let before = switches(&service.0);
        thread::sleep(Duration::from_secs(5));
        // A service that is awake at this moment counts as woken.
        let woken = || Some(switches(&service.0)? - before?);
        woken().unwrap_or(1)
    }

    /// A service at rest that has sent all updates.
    fn service(&self, count: usize) -> Ended {
        self.begin();
        self.configure(count, "cache.json", "ERROR");
        let mut command = self.ready(program());
        command.arg("watch");
        self.sends(count, || resting(&mut command, count))
    }

    fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn begin(&self) {
        let _ = fs::remove_dir_all(self.run_folder());
        fs::create_dir(self.run_folder()).expect("an empty folder");
    }

    /// Writes a configuration with `count` domains at our receiver. `concurrency` is fixed, because `auto` depends on how long responses
    /// take.
    fn configure(&self, count: usize, cache: &str, level: &str) {
        let domains: Vec<String> = (0..count).map(|number| format!("d{number:06}.example.com")).collect();
        let origin = format!("http://127.0.0.1:{}", self.port);
        let mut config = json!({"dns": "callback", "id": format!("{origin}/update?name=__DOMAIN__&ip=__IP__"),
            "ipv4": domains, "index4": format!("url:{origin}/ip"), "cache": false, "concurrency": 10, "proxy": "DIRECT",
            "log": {"level": level}});
        if !cache.is_empty() {
            config["cache"] = cache.into();
        }
        fs::write(self.run_folder().join("config.json"), config.to_string()).expect("the file is written");
    }

    fn ready(&self, program: &Path) -> Command {
        let folder = self.run_folder();
        let mut command = Command::new(program);
        command.current_dir(&folder).env_clear().env("HOME", &folder).env("XDG_RUNTIME_DIR", &folder).env("TZ", "UTC");
        let errors = File::create(folder.join("errors")).expect("a file for what is said");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command
    }

    /// Runs something that must send `count` updates and one lookup of the address.
    fn sends<T>(&self, count: usize, run: impl FnOnce() -> T) -> T {
        RESPONSES.store(0, Ordering::Relaxed);
        let result = run();
        let said = || fs::read_to_string(self.run_folder().join("errors")).unwrap_or_default();
        assert_eq!(RESPONSES.load(Ordering::Relaxed), count + 1, "{count} updates and a lookup: {}", said());
        result
    }

    fn counted(&self, count: usize) -> Result<u64, Missing> {
        let mut command = self.under_valgrind()?;
        let status = self.sends(count, || command.status().expect("valgrind starts"));
        assert!(status.success(), "{count} domains under valgrind: {status}");
        Ok(self.count())
    }

    /// cachegrind without the simulation of caches is the fastest of valgrind's tools that count instructions.
    fn under_valgrind(&self) -> Result<Command, Missing> {
        let mut command = self.ready(&needed("valgrind")?);
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--log-file=count"]);
        command.arg(program());
        Ok(command)
    }

    fn count(&self) -> u64 {
        let text = fs::read_to_string(self.run_folder().join("count")).expect("what valgrind says");
        let found = text.lines().find_map(|line| line.split_once(" refs:"));
        let (_, number) = found.unwrap_or_else(|| panic!("no count in: {text}"));
        number.trim().replace(',', "").parse().expect("a number")
    }
}

fn needed(name: &str) -> Result<PathBuf, Missing> {
    tool(name).ok_or_else(|| Missing(format!("`{name}` is not installed")))
}

/// Starts a service, and waits until it has sent all updates and slept for two seconds without being woken. A service that waits for a
/// processor does not sleep.
fn resting(command: &mut Command, count: usize) -> Ended {
    let mut service = Ended(command.spawn().expect("the service starts"));
    let begun = Instant::now();
    let mut before = (None, begun);
    while before.1.elapsed() < Duration::from_secs(2) {
        thread::sleep(Duration::from_millis(50));
        let is_done = RESPONSES.load(Ordering::Relaxed) > count;
        let now = switches(&service.0).filter(|_| is_done);
        if now.is_none() || now != before.0 {
            before = (now, Instant::now());
        }
        let ended = service.0.try_wait().expect("its state");
        assert!(ended.is_none() && begun.elapsed() < PATIENCE, "the service does not rest: {ended:?}");
    }
    service
}

/// How often a process went to sleep. `None`: it is awake.
fn switches(of: &Child) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", of.id())).ok()?;
    text.contains("\nState:\tS").then(|| in_lines(&text, "voluntary_ctxt_switches"))?
}

fn in_status<const N: usize>(of: &Child, names: [&str; N]) -> [Option<u64>; N] {
    let text = fs::read_to_string(format!("/proc/{}/status", of.id())).unwrap_or_default();
    names.map(|name| in_lines(&text, name))
}

/// The number in the line `name: number kB`.
fn in_lines(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}
