//! A real etcd on loopback. Like [`super::programs`] it needs nothing else of `support`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tempfile::TempDir;

use super::programs::{Ended, skipped, started, started_when, tool};

/// An etcd of one member; ended with the test.
pub struct Etcd {
    server: Ended,
    pub port: u16,
    folder: TempDir,
    secure: bool,
    options: Vec<String>,
}

impl Etcd {
    /// None where etcd is not installed: the test is skipped.
    pub fn start() -> Option<Self> {
        Self::with(false, &[])
    }

    /// One with options of its own; `secure` where they give it a certificate.
    pub fn with(secure: bool, options: &[&str]) -> Option<Self> {
        let (Some(etcd), Some(_)) = (tool("etcd"), tool("etcdctl")) else {
            skipped("`etcd` and `etcdctl` are not installed");
            return None;
        };
        let folder = TempDir::new().expect("a folder");
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let command = |port: u16| command(&etcd, port, secure, &folder.path().join(port.to_string()), &options);
        let (server, port) = if secure { started(command) } else { started_when(command, is_healthy) };
        Some(Self { server, port, folder, secure, options })
    }

    /// Where it keeps its data.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join(self.port.to_string())
    }

    /// Ends it, lets its data change meanwhile, and starts it on the same port; returns when it answers.
    pub fn restart(&mut self, meanwhile: impl FnOnce(&Path)) {
        self.server.0.kill().expect("it runs");
        self.server.0.wait().expect("it ends");
        meanwhile(&self.data());
        let etcd = tool("etcd").expect("it was there a moment ago");
        let mut command = command(&etcd, self.port, self.secure, &self.data(), &self.options);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let log = self.folder.path().join("log");
        let begun = Instant::now();
        loop {
            // Somebody may have the port for a moment.
            if self.server.0.try_wait().expect("its state").is_some() {
                command.stderr(fs::File::create(&log).expect("a log"));
                self.server = Ended(command.spawn().expect("it starts"));
            }
            if self.run(&["--command-timeout", "1s", "get", "nothing"]).status.success() {
                return;
            }
            let is_late = begun.elapsed() > Duration::from_secs(30);
            assert!(!is_late, "etcd does not start: {}", fs::read_to_string(&log).unwrap_or_default());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Raises or ends the alarm of a full disk: `ACTIVATE`, `DEACTIVATE`.
    pub fn alarm(&self, action: &str) {
        let body = format!("{{\"action\": \"{action}\", \"memberID\": 0, \"alarm\": \"NOSPACE\"}}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head = format!("POST /v3/maintenance/alarm HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.contains(" 200 "), "{answer}");
    }

    /// Runs `etcdctl`; what it prints.
    #[track_caller]
    pub fn control(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "etcdctl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn run(&self, args: &[&str]) -> Output {
        assert!(!self.secure, "etcdctl would need certificates");
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let mut command = Command::new(tool("etcdctl").expect("it was there a moment ago"));
        command.env("ETCDCTL_API", "3").args(["--endpoints", &endpoint]).args(args);
        command.output().expect("etcdctl starts")
    }

    /// Stops the process, as a machine that hangs does: its connections stay open.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        // Its threads stop one after the other.
        waitpid(Some(Pid::from_child(&self.server.0)), WaitOptions::UNTRACED).expect("it stops");
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server.0), signal).expect("it runs");
    }

    /// A folder that ends with it.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }
}

fn is_healthy(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    ask().is_ok_and(|answer| answer.contains(" 200 "))
}

fn command(etcd: &Path, port: u16, secure: bool, data: &Path, options: &[String]) -> Command {
    let mut command = Command::new(etcd);
    let scheme = if secure { "https" } else { "http" };
    let (url, nobody) = (format!("{scheme}://127.0.0.1:{port}"), "http://127.0.0.1:0");
    command.arg("--data-dir").arg(data);
    command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url, "--listen-peer-urls", nobody]);
    command.args(["--initial-advertise-peer-urls", nobody, "--initial-cluster", "default=http://127.0.0.1:0"]);
    // It elects itself at once.
    command.args(["--heartbeat-interval", "10", "--election-timeout", "100"]);
    // A password takes it a moment, and many times that on a busy machine.
    command.args(["--bcrypt-cost", "4"]);
    command.args(options);
    command
}
