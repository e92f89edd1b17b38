//! Measures how soon a changed address is sent: `ddns watch` runs in its own network namespace, with an endpoint on loopback,
//! and the address changes after quiet times. Prints the time from each change to the arrival of the update, and the median.
//!
//! Each time is taken from before `ip` starts and from after it ends: the change lies in between.
//!
//! `cargo bench -p ddns-callback --bench change`

mod program;

use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use program::program;

/// How often the address changes.
const CHANGES: usize = 7;

/// Longer than ddns combines changes.
const PAUSE: Duration = Duration::from_millis(2700);

/// Longer than any update takes.
const LIMIT: Duration = Duration::from_secs(20);

/// Set for the copy of this program that runs inside the namespace.
const INSIDE: &str = "DDNS_BENCH_INSIDE_NAMESPACE";

/// Sets up the namespace, and runs this program in it. Exits with 77 if the system does not allow it.
const SETUP: &str = "
    set -eu
    ip link set lo up || exit 77
    { ip link add d0 type veth peer name d1 || ip link add d0 type dummy; } 2>/dev/null || exit 77
    ip link set d1 up 2>/dev/null || true
    ip link set d0 up
    ip route add default dev d0
    exec \"$0\"
";

fn main() {
    if env::var_os(INSIDE).is_some() {
        return measure();
    }
    for options in ["-n", "-rn"] {
        let may = Command::new("unshare").args([options, "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !may.is_ok_and(|status| status.success()) {
            continue;
        }
        let path = format!("{}:/usr/sbin:/sbin", env::var("PATH").unwrap_or_default());
        let mut command = Command::new("unshare");
        command.args([options, "sh", "-c", SETUP]).arg(env::current_exe().expect("this program"));
        let status = command.env(INSIDE, "1").env("PATH", path).status().expect("unshare starts");
        if status.code() != Some(77) {
            assert!(status.success(), "inside of the namespace: {status}");
            return;
        }
    }
    println!("not measured: a network namespace with an interface cannot be made here");
}

fn measure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (port, arrivals) = listen();
    ip(&["addr", "add", "203.0.113.1/24", "dev", "d0"]);
    let _watch = Watch(start(folder.path(), port));
    let first = arrivals.recv_timeout(LIMIT).expect("a first callback");
    assert_eq!(first.1, "203.0.113.1");
    println!("{:<14} {:>14} {:>14}", "address", "from its start", "from its end");
    let mut times = Vec::new();
    for change in 0..CHANGES {
        let address = format!("203.0.{}.1", 114 + change);
        // A second address alone changes nothing. Then the route prefers it.
        ip(&["addr", "add", &format!("{address}/24"), "dev", "d0"]);
        thread::sleep(PAUSE);
        let begun = Instant::now();
        ip(&["route", "replace", "default", "dev", "d0", "src", &address]);
        let changed = Instant::now();
        let (at, sent) = arrivals.recv_timeout(LIMIT).expect("a callback");
        assert_eq!(sent, address);
        let [whole, rest] = [at.duration_since(begun), at.saturating_duration_since(changed)];
        println!("{address:<14} {:>14} {:>14}", shown(whole), shown(rest));
        times.push((whole, rest));
        thread::sleep(PAUSE);
    }
    let middle = |times: Vec<Duration>| shown(median(times));
    let (whole, rest) = times.into_iter().unzip();
    println!("{:<14} {:>14} {:>14}", "median", middle(whole), middle(rest));
}

/// A running service, killed on drop.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, port: u16) -> Child {
    let id = format!("http://127.0.0.1:{port}/__IP__");
    let config = json!({"dns": "callback", "id": id, "ipv4": "home.example.com", "index4": "default",
        "proxy": "DIRECT", "log": {"level": "ERROR"}});
    fs::write(folder.join("config.json"), config.to_string()).expect("the file is written");
    let mut command = Command::new(program());
    command.args(["watch", "-c", "config.json"]).current_dir(folder).env_clear();
    command.env("HOME", folder).env("XDG_RUNTIME_DIR", folder).stdin(Stdio::null());
    command.spawn().expect("the program starts")
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("ip starts");
    assert!(status.success(), "ip {arguments:?}: {status}");
}

/// Accepts every update on a free port. Returns the port, and a channel with the time and address of each update.
fn listen() -> (u16, Receiver<(Instant, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
    let port = listener.local_addr().expect("the port that was bound").port();
    let (hand_on, arrivals) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hand_on = hand_on.clone();
            let _ = stream.set_nodelay(true);
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                let mut length = 0;
                while let Ok(more @ 1..) = stream.read(&mut buffer[length..]) {
                    let now = Instant::now();
                    length += more;
                    if buffer[..length].ends_with(b"\r\n\r\n") {
                        let text = String::from_utf8_lossy(&buffer[..length]);
                        let target = text.split(' ').nth(1).unwrap_or_default();
                        let _ = hand_on.send((now, target.trim_start_matches('/').to_owned()));
                        length = 0;
                        if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    (port, arrivals)
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
