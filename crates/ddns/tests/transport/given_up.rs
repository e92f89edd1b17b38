//! A request that was given up must not reach the endpoint later, from the buffers of the system: a newer address may be
//! there by then (E4a).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use rustls::version::TLS13;
use serde_json::{Value, json};

use crate::support::authority::{Authority, params_for};
use crate::support::given::{home, parameter, with};
use crate::support::network::{Host, ROUTER, SETUP};
use crate::support::odd_server::serve;
use crate::support::proxies::{Proxy, Then};
use crate::support::scripted::{Server, say};
use crate::support::tools::inside;
use crate::support::unread::UnreadServer;
use crate::support::watching::{SOON, Watch, host, ms, until};
use crate::support::{Run, Sandbox};

const OLD: &str = "203.0.113.7";
const NEW: &str = "203.0.113.8";

/// The host that the program runs on.
const CLIENT: Host = Host(1);

/// How the endpoint is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Tls,
    TlsThroughProxy,
}

/// The network loses what the host sends after the first request of two; when it is back, another address is sent. What was
/// sent of the old one must not arrive behind it.
#[test]
fn e4a_a_request_that_timed_out_does_not_arrive_after_a_newer_one() {
    let Some(()) = inside(SETUP) else { return };
    for way in [Way::Plain, Way::Tls, Way::TlsThroughProxy] {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = seen.clone();
        let script = move |target: &str| {
            noted.lock().expect("no test thread failed").push(target.to_owned());
            if target == format!("/?name=a.example.com&ip={OLD}") {
                CLIENT.silence(ROUTER);
            }
            vec![say("HTTP/1.1 204 No Content\r\n\r\n")]
        };
        let authority = Authority::new("of the test");
        let tls = (way != Way::Plain).then(|| authority.config(&params_for("localhost"), &[&TLS13]));
        let ip = if way == Way::TlsThroughProxy { "127.0.0.1".to_owned() } else { ROUTER.to_string() };
        let server = Server::on(&format!("{ip}:0"), tls, Vec::new(), script);
        let proxy = Proxy::http_at(ROUTER, Then::Opens("HTTP/1.1 200 OK\r\n\r\n"));
        let config = |ip| {
            let more = json!({"ipv4": ["a.example.com", "b.example.com"], "index4": format!("shell:echo {ip}"),
                "concurrency": 1, "timeout": 1, "ssl": false,
                "proxy": if way == Way::TlsThroughProxy { proxy.url() } else { "DIRECT".to_owned() }});
            with(&home(&server.url("/?name=__DOMAIN__&ip=__IP__")), &more)
        };
        let sandbox = Sandbox::new();
        run(&sandbox, &config(OLD)).expect(1).prints("b.example.com A 203.0.113.7: failed");
        CLIENT.hear(ROUTER);
        run(&sandbox, &config(NEW)).expect(0);
        until(SOON, "the system of the host has nothing left to deliver", || open_sockets() == 0);
        let seen = seen.lock().expect("no test thread failed");
        let of_b = seen.iter().filter(|target| parameter(target, "name") == "b.example.com");
        let of_b: Vec<&str> = of_b.map(|target| parameter(target, "ip")).collect();
        assert_eq!(of_b, [NEW], "{way:?}");
    }
}

/// A single run on the host.
fn run(sandbox: &Sandbox, config: &Value) -> Run {
    sandbox.write("config.json", config.to_string());
    Run::of(&CLIENT.ddns(sandbox, &["-c", "config.json"]).output().expect("the program starts"))
}

/// How many connections of the host are not over.
fn open_sockets() -> usize {
    const TIME_WAIT: &str = "06";
    let mut command: Command = CLIENT.command("cat");
    let output = command.arg("/proc/net/tcp").output().expect("cat starts");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    table.lines().skip(1).filter(|line| line.split_whitespace().nth(3) != Some(TIME_WAIT)).count()
}

/// A request to an endpoint that reads nothing.
fn unread(more: &Value) -> (UnreadServer, Value) {
    let unread = UnreadServer::new();
    let config = with(&with(&home(""), &unread.fields()), more);
    (unread, config)
}

#[test]
fn e4a_a_request_of_a_service_that_was_stopped_at_once_does_not_arrive_later() {
    let (unread, config) = unread(&json!({"timeout": 60}));
    let sandbox = host();
    let mut watch = Watch::start(&sandbox, &config);
    unread.wait();
    watch.signal(Signal::TERM);
    thread::sleep(ms(200));
    watch.signal(Signal::TERM);
    watch.ended(SOON);
    unread.gets_no_more();
}

#[test]
fn e4a_a_slow_request_of_a_run_that_was_killed_does_not_arrive_later() {
    let (unread, config) = unread(&json!({"timeout": 60}));
    let sandbox = Sandbox::new().configure(&config);
    let mut killed = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    unread.wait();
    thread::sleep(ms(2000));
    killed.kill().expect("it is killed");
    killed.wait().expect("it has ended");
    unread.gets_no_more();
}

/// Whoever responded, late or not, sees an orderly end.
#[test]
fn e4a_a_connection_whose_request_was_answered_is_closed_in_order() {
    for pause in [0, 1500] {
        let (sender, ends) = channel();
        let address = serve(move |mut stream: TcpStream| {
            thread::sleep(Duration::from_millis(pause));
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("the client is there");
            sender.send(stream.read(&mut [0; 64])).expect("the test waits");
        });
        Sandbox::new().sync(&home(&format!("http://{address}/"))).expect(0);
        let end = ends.recv_timeout(SOON).expect("the connection ends");
        assert_eq!(end.expect("it is not broken off"), 0, "after {pause} ms");
    }
}
