//! K21: `ddns verify` after real updates, K1: what is wrong in `verify`, and that nothing is asked without it.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::{age, dns_of};
use crate::support::dns_lab::{DnsLab, SETUP, answer, record};
use crate::support::tools::{inside, needed};
use crate::support::{Receiver, Response, Run, Sandbox};

#[track_caller]
fn shows(run: &Run, texts: &[&str]) {
    for text in texts {
        assert!(run.stdout.contains(text), "{text:?} is missing:\n{}", run.stdout);
    }
}

#[test]
fn k8_k21_accepted_then_partly_then_visible() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    lab.set("home.example.test", "198.51.100.4");
    lab.refresh();
    let receiver = Receiver::responding(|_| Response::status(204));
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": ["home.example.test", "other.example.test"],
        "index4": "cmd:echo 203.0.113.7"});
    let sandbox = Sandbox::new().configure(&config);
    // Nothing was accepted: the sources say what is expected.
    let one = ["verify", "home.example.test", "--wide"];
    shows(&sandbox.run(&one).expect(1), &["never; from cmd:echo  not visible: ns"]);
    sandbox.run(&[]).expect(0);
    // The endpoint accepted it, and did nothing.
    shows(&sandbox.run(&one).expect(1), &["ago", "not yet (", "have 198.51.100.4"]);
    // What was accepted counts, not what the source would give now.
    sandbox.write("config.json", config.to_string().replace("echo 203.0.113.7", "echo 203.0.113.99"));
    lab.set("home.example.test", "203.0.113.7");
    shows(&sandbox.run(&one).expect(1), &["partly: ns2.example.test has 198.51.100.4"]);
    let waiting = thread::spawn({
        let mut command = sandbox.command(&["verify", "--wait", "20s", "home.example.test"]);
        move || Run::of(&command.output().expect("it runs"))
    });
    thread::sleep(Duration::from_millis(500));
    lab.refresh();
    let waited = waiting.join().expect("it ends").expect(0);
    waited.shows("visible (2 servers, TTL 300)").prints("1 of 1 not visible yet; asking again in");
    let both = sandbox.run(&["verify", "--json", "home.example.test", "other.example.test"]).expect(0);
    assert!(both.stdout.contains("\"verdict\": \"visible\""), "{}", both.stdout);
    // No update was sent, and nothing was written.
    assert_eq!(receiver.callbacks().len(), 2);
    sandbox.run(&["verify", "hone.example.test"]).expect(2).prints("did you mean home.example.test?");
    sandbox.run(&["verify", "--wait", "5"]).expect(2).prints("`5` is no time such as 90s or 5m");
}

/// What is wrong is named, with the way out, and nothing is sent.
#[test]
fn k1_wrong_settings_are_refused() {
    let receiver = Receiver::new();
    let cases = [
        (json!(5), "`verify` must be `true`, `false`, or an object"),
        (json!({"ask": "google"}), "`verify`: `ask` must be `zone` or `resolver`"),
        (json!({"within": "49h"}), "`verify`: `within` must be a time from 10s to 48h"),
        (json!({"every": "1m"}), "`verify`: `every` must be a time from 5m to 30d"),
        (json!({"servers": "a"}), "use `ask`, `server`, `resolver`"),
    ];
    for (verify, expected) in cases {
        let config = json!({"dns": "callback", "id": receiver.url("/"), "ipv4": "a.example", "verify": verify,
            "index4": "cmd:echo 203.0.113.7"});
        let run = Sandbox::new().sync(&config).expect(2);
        assert!(run.stderr.contains(expected), "{verify}: {}", run.stderr);
    }
    assert!(receiver.callbacks().is_empty());
    let config = json!({"dns": "callback", "id": "https://h.example/__IP__", "ipv4": ["localhost", "bücher.example"], "verify": true});
    let sandbox = Sandbox::new().configure(&config);
    let run = sandbox.run(&["check", "--wide"]).expect(0);
    let said = run.stdout + &run.stderr;
    for expected in
        ["localhost has one label only", "bücher.example has letters that DNS does not have", "write the `xn--` form"]
    {
        assert!(said.contains(expected), "{said}");
    }
}

/// Case 37: the system is asked what was sent where.
#[test]
fn k1_without_verify_nothing_goes_to_port_53() {
    let Some(strace) = needed("strace") else { return };
    let receiver = Receiver::responding(|_| Response::status(204));
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": "cmd:echo 203.0.113.7"});
    let sandbox = Sandbox::new().configure(&config);
    let calls = |args: &[&str]| {
        let ddns = sandbox.command(args);
        let mut command = Command::new(&strace);
        command
            .args(["-f", "-qq", "-o"])
            .arg(sandbox.path("calls"))
            .args(["-e", "trace=connect,sendto,sendmsg,sendmmsg"]);
        command.arg(ddns.get_program()).args(ddns.get_args()).current_dir(sandbox.path("")).env_clear();
        command.envs(ddns.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().expect("strace starts");
        sandbox.read("calls")
    };
    let sent = calls(&[]);
    assert_eq!(receiver.callbacks().len(), 1, "{sent}");
    assert!(sent.contains("connect(") && !sent.contains("htons(53)"), "{sent}");
    // The test can fail: a source of DNS does ask.
    let asked = calls(&["addresses", "--index4", "dns:127.0.0.1/home.example.com"]);
    assert!(asked.contains("htons(53)"), "{asked}");
}

/// Who did not answer is named, and the time is that of this run.
#[test]
fn k16_a_single_run_names_who_did_not_answer_and_for_how_long() {
    let receiver = Receiver::responding(|_| Response::status(204));
    let (sandbox, silent) = (Sandbox::new(), UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let server = silent.local_addr().expect("an address").to_string();
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": "cmd:echo 203.0.113.7", "verify": {"server": server}});
    sandbox.write("config.json", config.to_string());
    sandbox.run(&[]).expect(0);
    // Nobody is asked sooner after an update.
    thread::sleep(Duration::from_millis(2500));
    sandbox.run(&[]).expect(0);
    shows(&sandbox.run(&["status", "--wide"]), &[&format!("unknown: {server} did not answer within 2 s")]);
    let run = sandbox.run(&["--verify", "1s"]).expect(0);
    run.prints(&format!("DNS: unknown: {server} did not answer within 1 s")).never_prints("within 2 s");
}

const HOME: [u8; 4] = [203, 0, 113, 7];
const OTHER: [u8; 4] = [198, 51, 100, 4];

/// A server on loopback that has one address for every name.
struct Server(String, Arc<Mutex<[u8; 4]>>);

impl Server {
    fn with(ip: [u8; 4]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let (name, ip) = (socket.local_addr().expect("an address").to_string(), Arc::new(Mutex::new(ip)));
        let current = Arc::clone(&ip);
        thread::spawn(move || {
            let mut buffer = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let (question, ip) = (&buffer[..length], *current.lock().expect("an address"));
                let _ = socket.send_to(&answer(question, [0x84, 0], &record(question, &ip)), from);
            }
        });
        Self(name, ip)
    }

    fn set(&self, ip: [u8; 4]) {
        *self.1.lock().expect("an address") = ip;
    }
}

/// A host whose one update was accepted, and what accepted it.
fn updated(verify: &Value) -> (Sandbox, Receiver) {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::responding(|_| Response::status(204)));
    configure(&sandbox, &receiver, verify);
    sandbox.run(&[]).expect(0);
    age(&sandbox, 10);
    (sandbox, receiver)
}

fn configure(sandbox: &Sandbox, receiver: &Receiver, verify: &Value) {
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": "cmd:echo 203.0.113.7", "verify": verify});
    sandbox.write("config.json", config.to_string());
}

/// Each run draws one server. Where that one lags, the other decides.
#[test]
fn k12_k14_k22_single_runs_take_no_stale_server_for_a_drift() {
    let (right, stale) = (Server::with(HOME), Server::with(OTHER));
    let (sandbox, receiver) = updated(&json!({"server": [right.0, stale.0], "repair": true}));
    age(&sandbox, 1000);
    for _ in 0..10 {
        sandbox.run(&[]).expect(0);
        let dns = dns_of(&sandbox);
        assert!(dns["verdict"] == "visible" || dns["verdict"] == "partly", "{dns}");
        age(&sandbox, 20_000);
    }
    assert_eq!(receiver.callbacks().len(), 1, "nothing is repaired");
}

/// The summary counts an update once that is up to date at first, and then repaired.
#[test]
fn k13_a_repair_in_a_single_run_is_counted_once() {
    let server = Server::with(HOME);
    let (sandbox, receiver) = updated(&json!({"server": server.0, "repair": true}));
    sandbox.run(&[]).expect(0);
    assert_eq!(dns_of(&sandbox)["verdict"], "visible");
    server.set(OTHER);
    for _ in 0..2 {
        age(&sandbox, 4000);
        sandbox.run(&[]).expect(0);
    }
    age(&sandbox, 4000);
    sandbox.run(&[]).expect(0).prints("1 accepted").never_prints("already up to date");
    assert_eq!(receiver.callbacks().len(), 2);
}

/// Other settings count at once, however late the next round was due.
#[test]
fn k11_changed_settings_are_asked_about_at_once() {
    let server = Server::with(HOME);
    let verify = |every: &str| json!({"server": server.0, "every": every});
    let (sandbox, receiver) = updated(&verify("30d"));
    let verdict = || {
        sandbox.run(&[]).expect(0);
        dns_of(&sandbox)["verdict"].clone()
    };
    assert_eq!(verdict(), "visible");
    server.set(OTHER);
    assert_eq!(verdict(), "visible", "nothing is due");
    configure(&sandbox, &receiver, &verify("5m"));
    assert_eq!(verdict(), "not_visible");
}

/// What only a resolver does not see is no verdict, and what can never be told is not waited for.
#[test]
fn k15_k21_verify_tells_no_more_than_can_be_known() {
    let resolver = Server::with([192, 168, 1, 5]);
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    configure(&sandbox, &receiver, &json!({"server": "127.0.0.1:1", "resolver": resolver.0}));
    let run = sandbox.run(&["verify", "--wait", "6s", "--wide"]).expect(3);
    shows(
        &run,
        &["unknown: the servers in `verify.server` give no usable answer; the resolver 127.0.0.1 has 192.168.1.5"],
    );
    let begun = Instant::now();
    let config = json!({"dns": "callback", "id": "http://127.0.0.1:1/__IP__", "ipv4": "localhost",
        "index4": "cmd:echo 203.0.113.7"});
    sandbox.write("config.json", config.to_string());
    sandbox.run(&["verify", "--wait", "60s"]).expect(3);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}
