//! Names that no server resolves: each holds its own updates and no others.

use std::collections::HashMap;
use std::net::UdpSocket;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::tools::{inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};

const SETUP: &str = "ip link set lo up";

/// How many names are never resolved.
const DEAD: usize = 8;

/// A nameserver that knows `good.example.com` and is silent about all others; how often it was asked for each.
fn nameserver(sandbox: &Sandbox) -> Arc<Mutex<HashMap<String, usize>>> {
    let socket = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in the namespace");
    let file = sandbox.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n");
    sh(&format!("mount --bind {} /etc/resolv.conf", file.display()));
    let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let noted = asked.clone();
    thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            let question = &packet[12..length];
            let name = question.iter().position(|byte| *byte == 0).expect("a name ends");
            let label = String::from_utf8_lossy(&question[1..=usize::from(question[0])]).into_owned();
            *noted.lock().expect("no test thread failed").entry(label.clone()).or_default() += 1;
            if label != "good" {
                continue;
            }
            let is_ipv4 = question[name + 2] == 1;
            // The question as a response, with one address where that is IPv4.
            let mut response = packet[..12 + name + 5].to_vec();
            (response[2], response[3]) = (0x81, 0x80);
            response[6..12].copy_from_slice(&[0, u8::from(is_ipv4), 0, 0, 0, 0]);
            if is_ipv4 {
                response.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
            }
            socket.send_to(&response, from).expect("a response");
        }
    });
    asked
}

/// An entry for each of so many dead names, and behind them one for the good name.
fn config(good: &Endpoint, dead: usize, timeout: u64) -> Value {
    let entry = |id: String| json!({"provider": "callback", "id": id, "ipv4": ["home.example.com"]});
    let dead = (0..dead).map(|number| entry(format!("http://dead{number}.example.com/hook")));
    let id = format!("http://good.example.com:{}/hook?ip=__IP__", good.receiver.port());
    let providers: Vec<Value> = dead.chain([entry(id)]).collect();
    json!({"index4": good.receiver.index4(), "proxy": "DIRECT", "timeout": timeout, "providers": providers})
}

#[test]
fn a6_names_that_are_never_resolved_do_not_delay_another_endpoint() {
    let Some(()) = inside(SETUP) else { return };
    let (sandbox, good) = (Sandbox::new(), Endpoint::new());
    nameserver(&sandbox);
    sandbox.write("config.json", config(&good, DEAD, 25).to_string());
    let mut child = sandbox.command(&[]).stderr(Stdio::null()).spawn().expect("the program starts");
    good.wait(1, SOON);
    child.kill().expect("the program still waits for the others");
    child.wait().expect("it ended");
}

#[test]
fn a6_names_that_are_never_resolved_do_not_pile_up_in_a_service() {
    let Some(()) = inside(SETUP) else { return };
    let (sandbox, good) = (host(), Endpoint::new());
    let asked = nameserver(&sandbox);
    let watch = Watch::start(&sandbox, &config(&good, DEAD, 1));
    for round in 1..=4 {
        good.wait(round, SOON);
        until(SOON, "every dead name failed", || watch.lines_with("could not be looked up within") >= round * DEAD);
        good.receiver.set_ip(&format!("203.0.113.{}", 100 + round));
        sandbox.run(&["sync"]);
    }
    // The second lookup begins because the network may have changed; there is no third beside these two.
    let threads = watch.measure("status", "Threads:");
    assert!((DEAD as u64..=1 + 2 * DEAD as u64).contains(&threads), "{threads} threads");
    let asked = asked.lock().expect("no test thread failed").clone();
    assert!(asked.iter().filter(|(name, _)| *name != "good").all(|(_, count)| *count <= 4), "{asked:?}");
    watch.stop();
    assert!(good.count() >= 5, "{:?}", good.ips());
}

/// Each of them has a thread for half a minute, and no more threads than there may be.
#[test]
fn a6_hundreds_of_names_that_are_never_resolved_do_not_delay_another_in_a_service() {
    let Some(()) = inside(SETUP) else { return };
    let (sandbox, good) = (host(), Endpoint::new());
    nameserver(&sandbox);
    // So many questions at once may fill the line of the nameserver: this name needs none.
    let hosts = sandbox.write("hosts", "127.0.0.1 good.example.com\n");
    sh(&format!("mount --bind {} /etc/hosts", hosts.display()));
    let watch = Watch::start(&sandbox, &config(&good, 300, 3));
    for round in 1..=3 {
        good.wait(round, SOON);
        until(SOON, "every dead name failed", || watch.lines_with("could not be looked up within") >= round * 300);
        good.receiver.set_ip(&format!("203.0.113.{}", 100 + round));
        watch.signal(Signal::USR1);
    }
    good.wait(4, SOON);
    assert!(watch.measure("status", "Threads:") <= 513);
}
