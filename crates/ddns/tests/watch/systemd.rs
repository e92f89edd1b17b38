//! What `ddns watch` sends to systemd, received by a socket of the test in its place.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::watching::{Endpoint, SOON, Watch, host, ms};
use crate::support::{Response, Sandbox};

/// The end at which systemd would listen.
struct Systemd(UnixDatagram);

impl Systemd {
    fn at(path: &Path) -> Self {
        Self(UnixDatagram::bind(path).expect("a socket"))
    }

    /// The next message; none where none comes in time.
    fn next(&self, limit: Duration) -> Option<String> {
        let mut buffer = [0; 4096];
        self.0.set_read_timeout(Some(limit.max(ms(1)))).expect("a limit");
        let length = self.0.recv(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
    }

    /// Waits for a message with this line; the whole of it.
    #[track_caller]
    fn hears(&self, line: &str) -> String {
        let begun = Instant::now();
        let mut heard = Vec::new();
        while begun.elapsed() < SOON {
            if let Some(message) = self.next(ms(200)) {
                if message.lines().any(|one| one == line || (line.ends_with('=') && one.starts_with(line))) {
                    return message;
                }
                heard.push(message);
            }
        }
        panic!("{line} was not sent; received: {heard:?}");
    }
}

fn start(sandbox: &Sandbox, config: &Value, variables: &[(&str, &str)]) -> Watch {
    sandbox.write("config.json", config.to_string());
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    command.envs(variables.iter().copied());
    Watch::run(command)
}

#[test]
fn watch_notifies_systemd_when_it_is_ready_reloads_and_stops() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let mut watch = start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &path.display().to_string())]);
    let ready = systemd.hears("READY=1");
    assert!(ready.contains("STATUS="), "{ready}");
    let state = systemd.hears("STATUS=");
    assert!(state.contains("STATUS=1 record up to date, next in "), "{state}");
    endpoint.wait(1, SOON);

    for domains in [json!(["home.example.com"]), json!(["home.example.com", "b.example.com"])] {
        sandbox.write("config.json", endpoint.config(&json!({"ipv4": domains})).to_string());
        watch.signal(Signal::HUP);
        let reloading = systemd.hears("RELOADING=1");
        let time = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")?.parse::<u64>().ok());
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let now = u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1000).expect("a time");
        assert!(time.is_some_and(|time| time <= now && time + 10_000_000 > now), "{reloading}, now {now}");
        systemd.hears("READY=1");
    }
    let state = systemd.hears("STATUS=");
    assert!(state.contains("2 records up to date") || state.contains("of 2 records"), "{state}");

    // A configuration that cannot be used: ready all the same, with a word about it.
    sandbox.write("config.json", "{");
    watch.signal(Signal::HUP);
    systemd.hears("RELOADING=1");
    assert!(systemd.hears("READY=1").contains("STATUS=the new configuration is invalid"));

    watch.signal(Signal::TERM);
    systemd.hears("STOPPING=1");
    assert_eq!(watch.ended(SOON), 0);
}

#[test]
fn watch_notifies_systemd_what_is_wrong() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(503));
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let watch = start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &path.display().to_string())]);
    systemd.hears("READY=1");
    assert!(systemd.hears("STATUS=").contains("0 of 1 record up to date"));
    watch.stop();
}

/// Names without a file, as systemd uses them in some versions.
#[test]
fn watch_notifies_systemd_at_an_abstract_name() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let name = format!("ddns-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let systemd = Systemd(UnixDatagram::bind_addr(&address).expect("a socket"));
    let watch = start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &format!("@{name}"))]);
    systemd.hears("READY=1");
    watch.signal(Signal::TERM);
    systemd.hears("STOPPING=1");
}

#[test]
fn watch_goes_on_where_systemd_reads_nothing() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let path = sandbox.path("notify");
    let _systemd = Systemd::at(&path);
    let variables = [("NOTIFY_SOCKET", path.display().to_string()), ("WATCHDOG_USEC", "100000".to_owned())];
    let watch =
        start(&sandbox, &endpoint.config(&json!({})), &variables.each_ref().map(|(name, text)| (*name, text.as_str())));
    // Long enough to fill the queue of the socket.
    std::thread::sleep(ms(1500));
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8");
    watch.stop();
}

#[test]
fn watch_gives_signs_of_life_twice_as_often_as_asked() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let notify = path.display().to_string();
    let watch =
        start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &notify), ("WATCHDOG_USEC", "1000000")]);
    systemd.hears("WATCHDOG=1");
    let (begun, mut signs, mut longest) = (Instant::now(), 0, Duration::ZERO);
    let mut last = begun;
    while begun.elapsed() < ms(4000) {
        if systemd.next(ms(4000).saturating_sub(begun.elapsed())).is_some_and(|message| message == "WATCHDOG=1") {
            signs += 1;
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
    }
    assert!((6..=10).contains(&signs), "{signs} in 4 s");
    assert!(longest < ms(1000), "{longest:?}");
    watch.stop();

    // Meant for another process.
    let variables = [("NOTIFY_SOCKET", notify.as_str()), ("WATCHDOG_USEC", "200000"), ("WATCHDOG_PID", "1")];
    let watch = start(&sandbox, &endpoint.config(&json!({})), &variables);
    systemd.hears("READY=1");
    let begun = Instant::now();
    while begun.elapsed() < ms(1000) {
        let message = systemd.next(ms(1000).saturating_sub(begun.elapsed())).unwrap_or_default();
        assert!(!message.contains("WATCHDOG"), "{message}");
    }
    watch.stop();
}

#[test]
fn watch_signs_of_life_go_on_while_a_request_and_a_source_hang() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(20_000)));
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let config = endpoint.config(&json!({"ipv6": "home.example.com", "index6": "shell:sleep 20"}));
    let notify = path.display().to_string();
    let watch = start(&sandbox, &config, &[("NOTIFY_SOCKET", &notify), ("WATCHDOG_USEC", "500000")]);
    endpoint.wait(1, SOON);
    let begun = Instant::now();
    let signs = std::iter::from_fn(|| systemd.next(ms(2000).checked_sub(begun.elapsed())?)).count();
    assert!(signs >= 5, "{signs} in 2 s");
    drop(watch);
}

#[test]
fn watch_commands_do_not_see_the_socket_of_systemd() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let source = "shell:env >seen; echo 203.0.113.9";
    let notify = path.display().to_string();
    let variables = [("NOTIFY_SOCKET", notify.as_str()), ("OTHER_VARIABLE", "kept")];
    let watch = start(&sandbox, &endpoint.config(&json!({"index4": source})), &variables);
    systemd.hears("READY=1");
    endpoint.wait(1, SOON);
    let seen = sandbox.read("seen");
    assert!(seen.contains("OTHER_VARIABLE=kept") && !seen.contains("NOTIFY_SOCKET"), "{seen}");
    watch.stop();
}

/// A socket at which nobody listens is no reason to fail.
#[test]
fn watch_goes_on_where_systemd_does_not_listen() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let nowhere = sandbox.path("nobody").display().to_string();
    let watch = start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &nowhere)]);
    endpoint.wait(1, SOON);
    watch.stop();
}

/// Lines of a service have the time, unless they go to the journal, which adds it.
#[test]
fn g3_watch_writes_the_time_unless_the_journal_adds_it() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let is_timed = |line: &str| line.starts_with("20") && line.contains(" INFO ");
    let config = endpoint.config(&json!({"cache": false}));
    // Inherited from a service whose output this is not.
    let elsewhere = start(&sandbox, &config, &[("JOURNAL_STREAM", "8:1")]);
    elsewhere.prints("accepted");
    let log = elsewhere.stop();
    assert!(log.lines().all(is_timed), "{log}");
    let line = format!(
        "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec '{}' watch -c config.json",
        env!("CARGO_BIN_EXE_ddns")
    );
    let mut shell = sandbox.command(&[]);
    let folder = sandbox.path(".");
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(folder).env_clear().stdin(Stdio::null());
    command.envs(shell.env("PATH", "/usr/bin:/bin").get_envs().filter_map(|(name, value)| Some((name, value?))));
    let journal = Watch::run(command);
    journal.prints("accepted");
    let log = journal.stop();
    assert!(!log.lines().any(is_timed), "{log}");
}

#[test]
fn watch_signs_of_life_come_before_there_is_a_configuration() {
    let sandbox = host();
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let mut command = sandbox.command(&["watch", "--web", "127.0.0.1:0"]);
    command.envs([("NOTIFY_SOCKET", path.display().to_string().as_str()), ("WATCHDOG_USEC", "200000")]);
    let watch = Watch::run(command);
    assert!(systemd.hears("READY=1").contains("STATUS=waiting for a configuration"));
    (0..3).for_each(|_| drop(systemd.hears("WATCHDOG=1")));
    watch.stop();
}

#[test]
fn watch_notifies_systemd_of_its_state_after_a_reload_that_changes_nothing_in_it() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let path = sandbox.path("notify");
    let systemd = Systemd::at(&path);
    let watch = start(&sandbox, &endpoint.config(&json!({})), &[("NOTIFY_SOCKET", &path.display().to_string())]);
    systemd.hears("READY=1");
    let state = systemd.hears("STATUS=");
    sandbox.write("config.json", endpoint.config(&json!({"concurrency": 2})).to_string());
    assert!(systemd.hears("READY=1").contains("STATUS=looking up addresses"));
    assert_eq!(systemd.hears("STATUS="), state);
    watch.stop();
}
