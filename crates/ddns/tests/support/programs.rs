//! Programs that a test starts, where they are installed. Needs nothing else of `support`: tests inside of the program use
//! it, too.

use std::env;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where a program is; folders of administrators count even where the user's `PATH` lacks them.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Reports that a test is skipped; fails it where none may be.
#[track_caller]
pub fn skipped(why: &str) {
    assert!(env::var_os("DDNS_TEST_MUST_NOT_SKIP").is_none(), "this may not be skipped: {why}");
    let test = thread::current().name().unwrap_or_default().to_owned();
    // Not `eprintln!`: what that prints is hidden while the test passes.
    let _ = writeln!(io::stderr(), "skipped {test}: {why}");
}

/// Where a program is that a test needs; reports that the test is skipped where it is not installed.
#[track_caller]
pub fn needed(name: &str) -> Option<PathBuf> {
    let found = tool(name);
    if found.is_none() {
        skipped(&format!("`{name}` is not installed"));
    }
    found
}

/// A program that is ended with the test, however that goes.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody listens on, and that the system gives to no connection as its own (those begin at 32768 on Linux): a server can be
/// started there a moment later, and again.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + u16::try_from(number % 20_000).expect("a small number");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Starts a server on a free port of loopback and waits until it takes connections; `command` is given the port. Tried
/// again where somebody else took the port first.
pub fn started(command: impl Fn(u16) -> Command) -> (Ended, u16) {
    started_when(command, |port| TcpStream::connect(("127.0.0.1", port)).is_ok())
}

/// The same for a server that may still end after it took its first connection.
pub fn started_when(command: impl Fn(u16) -> Command, is_ready: impl Fn(u16) -> bool) -> (Ended, u16) {
    for _ in 0..4 {
        let port = free_port();
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Ended(command.spawn().expect("the server starts"));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) && server.0.try_wait().expect("its state").is_none() {
            if is_ready(port) {
                return (server, port);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    panic!("the server does not start");
}
