//! A real etcd on loopback. Like [`super::programs`] it needs nothing else of `support`.

use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tempfile::TempDir;

use super::programs::{Ended, skipped, started, tool};

/// An etcd of one member; ended with the test.
pub struct Etcd {
    server: Ended,
    pub port: u16,
    folder: TempDir,
    secure: bool,
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
        let scheme = if secure { "https" } else { "http" };
        let (server, port) = started(|port| {
            let mut command = Command::new(&etcd);
            let (url, nobody) = (format!("{scheme}://127.0.0.1:{port}"), "http://127.0.0.1:0");
            command.arg("--data-dir").arg(folder.path().join(port.to_string()));
            command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url, "--listen-peer-urls", nobody]);
            command.args(["--initial-advertise-peer-urls", nobody, "--initial-cluster", "default=http://127.0.0.1:0"]);
            // It keeps nothing, and elects itself at once.
            command.args(["--unsafe-no-fsync", "--heartbeat-interval", "10", "--election-timeout", "100"]);
            // A password takes it a moment, and many times that on a busy machine.
            command.args(["--bcrypt-cost", "4"]);
            command.args(options);
            command
        });
        Some(Self { server, port, folder, secure })
    }

    /// Runs `etcdctl`; what it prints.
    #[track_caller]
    pub fn control(&self, args: &[&str]) -> String {
        assert!(!self.secure, "etcdctl would need certificates");
        let endpoint = format!("http://127.0.0.1:{}", self.port);
        let mut command = Command::new(tool("etcdctl").expect("it was there a moment ago"));
        command.env("ETCDCTL_API", "3").args(["--endpoints", &endpoint]).args(args);
        let output = command.output().expect("etcdctl starts");
        assert!(output.status.success(), "etcdctl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
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
