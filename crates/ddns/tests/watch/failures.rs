//! `ddns watch` and endpoints that fail: nothing is lost, nothing outdated is sent, no endpoint is flooded.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::support::Response;
use crate::support::watching::{Arrival, Endpoint, SOON, Watch, host, ms, status, until};

/// The first step of the backoff is 5 s; the rest is for a machine that is busy.
const FIRST_STEP: u64 = 7000;

/// Each case waits: they wait side by side.
fn for_each_at_once<const N: usize>(codes: [u16; N], case: impl Fn(u16) + Sync) {
    thread::scope(|scope| {
        for code in codes {
            let case = &case;
            scope.spawn(move || case(code));
        }
    });
}

#[test]
fn watch_a_failure_is_retried_within_the_first_step() {
    for_each_at_once([500, 503, 429, 404], |code| {
        let sandbox = host();
        let endpoint = Endpoint::responding(move |number| Response::status(if number == 0 { code } else { 204 }));
        let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
        let first = endpoint.wait(1, SOON);
        let second = endpoint.wait(2, ms(FIRST_STEP));
        let gap = second.at - first.at;
        assert!(gap > ms(900) && gap < ms(FIRST_STEP), "{code}: {gap:?}");
        watch.prints("accepted");
        assert_eq!(watch.lines_with("retry in"), 1, "{code}: {}", watch.log());
        thread::sleep(ms(1500));
        assert_eq!(endpoint.count(), 2, "{code}: accepted is accepted");
        watch.stop();
    });
}

#[test]
fn watch_retry_after_rests_the_whole_origin() {
    for_each_at_once([503, 429], |code| {
        let sandbox = host();
        let endpoint = Endpoint::responding(move |number| match number {
            0 => Response::status(code).header("Retry-After", "3"),
            _ => Response::status(204),
        });
        // One at a time: on a busy machine the second one would not wait for the first.
        let more = json!({"ipv4": ["a.example.com", "b.example.com"], "concurrency": 1});
        let watch = Watch::start(&sandbox, &endpoint.config(&more));
        let first = endpoint.wait(1, SOON);
        // Nobody who asks makes it sooner.
        thread::sleep(ms(500));
        watch.signal(Signal::USR1);
        endpoint.wait(3, SOON * 2);
        let arrivals = endpoint.arrivals();
        let early: Vec<&Arrival> = arrivals[1..].iter().filter(|next| next.at - first.at < ms(2990)).collect();
        assert!(early.is_empty(), "{code}: before 3 s: {early:?} after {first:?}");
        let mut names: Vec<&str> = arrivals[1..].iter().map(Arrival::name).collect();
        names.sort_unstable();
        assert_eq!(names, ["a.example.com", "b.example.com"], "{code}");
        watch.stop();
    });
}

/// Another origin is not concerned.
#[test]
fn watch_retry_after_of_one_origin_does_not_hold_another() {
    let sandbox = host();
    let tired = Endpoint::responding(|_| Response::status(503).header("Retry-After", "30"));
    let endpoint = Endpoint::new();
    let config = json!({"index4": endpoint.receiver.index4(), "ipv4": "home.example.com", "proxy": "DIRECT",
        "providers": [{"provider": "callback", "id": tired.id()}, {"provider": "callback", "id": endpoint.id()}]});
    let watch = Watch::start(&sandbox, &config);
    tired.wait(1, SOON);
    endpoint.wait(1, SOON);
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8");
    assert_eq!(tired.count(), 1, "it rests, although its address changed");
    watch.stop();
}

/// In strict order neither: not a pause that is asked for, nor an endpoint out of reach.
#[test]
fn a6_in_strict_order_an_endpoint_that_fails_does_not_hold_up_another() {
    for tired in [true, false] {
        let sandbox = host();
        let (down, endpoint) =
            (Endpoint::responding(|_| Response::status(429).header("Retry-After", "300")), Endpoint::new());
        let gone = format!("http://{}/hook?ip=__IP__", closed_port());
        let id = if tired { down.id() } else { gone };
        let names: Vec<String> = (0..8).map(|number| format!("h{number}.example.com")).collect();
        let config = json!({"index4": endpoint.receiver.index4(), "proxy": "DIRECT", "concurrency": 1, "providers": [
            {"provider": "callback", "id": id, "ipv4": names},
            {"provider": "callback", "id": endpoint.id(), "ipv4": ["home.example.com"]}]});
        let watch = Watch::start(&sandbox, &config);
        endpoint.wait(1, SOON);
        endpoint.receiver.set_ip("203.0.113.8");
        watch.signal(Signal::USR1);
        assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8");
        assert!(down.count() <= 1, "it rests");
        watch.stop();
    }
}

/// The pause belongs to the endpoint: whatever `concurrency` says, and also after a reload.
#[test]
fn a6_a_pause_counts_for_its_endpoint_in_all_files() {
    let sandbox = host();
    let tired = Endpoint::responding(|_| Response::status(429).header("Retry-After", "300"));
    let endpoint = Endpoint::new();
    let of = |endpoint: &Endpoint, more: serde_json::Value| endpoint.config(&more).to_string();
    sandbox.write("a.json", of(&tired, json!({"ipv4": "a.example.com"})));
    let late = json!({"ipv4": "b.example.com", "concurrency": 1, "index4": "shell:sleep 1; echo 203.0.113.7"});
    sandbox.write("b.json", of(&tired, late));
    let good = |line: &str| of(&endpoint, json!({"ipv4": "c.example.com", "concurrency": 1, "line": line}));
    sandbox.write("c.json", good("x"));
    let watch = Watch::run(sandbox.command(&["watch", "-c", "a.json", "-c", "b.json", "-c", "c.json"]));
    tired.wait(1, SOON);
    endpoint.wait(1, SOON);
    thread::sleep(ms(1500));
    assert_eq!(tired.count(), 1, "it asked both to wait");
    sandbox.write("c.json", good("y"));
    watch.signal(Signal::HUP);
    watch.prints("reloading");
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    until(SOON, "the new address", || endpoint.ips().iter().any(|ip| ip == "203.0.113.8"));
    assert_eq!(tired.count(), 1);
    watch.stop();
}

/// Less than ddns waits by itself.
#[test]
fn watch_a_retry_after_of_nothing_is_not_called_a_wish() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(429).header("Retry-After", "0"));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(3, SOON * 2);
    watch.prints("retry in");
    assert_eq!(watch.lines_with("as the endpoint asks"), 0, "{}", watch.log());
    watch.stop();
}

#[test]
fn watch_retry_after_as_a_date_is_respected() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| {
        let date = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(7);
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        if number == 0 { Response::status(503).header("Retry-After", &date) } else { Response::status(204) }
    });
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    let first = endpoint.wait(1, SOON);
    // Longer than the first step.
    let second = endpoint.wait(2, SOON * 2);
    assert!(second.at - first.at > ms(5900), "{:?}", second.at - first.at);
    watch.stop();
}

/// However long an endpoint asks for, nothing waits longer than a day, and no number is too large.
#[test]
fn watch_a_huge_retry_after_is_a_day() {
    for huge in ["18446744073709551615", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let sandbox = host();
        let endpoint = Endpoint::responding(move |_| Response::status(503).header("Retry-After", huge));
        let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
        endpoint.wait(1, SOON);
        watch.prints("retry in 24 h");
        watch.stop();
    }
}

/// A port at which nobody listens for now.
fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}

/// From now on whatever comes to the port goes to the endpoint.
fn open(port: SocketAddr, endpoint: &Endpoint) {
    let listener = TcpListener::bind(port).expect("the port is still free");
    let target = endpoint.receiver.port();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else { return };
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
                thread::spawn(move || io::copy(&mut from, &mut to));
            }
        }
    });
}

/// The endpoint is away while the address changes twice: on its return it gets the last one, once.
#[test]
fn watch_an_endpoint_that_comes_back_gets_the_last_address_only() {
    let (sandbox, endpoint, port) = (host(), Endpoint::new(), closed_port());
    let id = format!("http://{port}/hook?name=__DOMAIN__&ip=__IP__");
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"id": id})));
    watch.prints("failed");
    for (failures, ip) in [(2, "203.0.113.8"), (3, "203.0.113.9")] {
        endpoint.receiver.set_ip(ip);
        watch.signal(Signal::USR1);
        until(SOON, "it is tried", || watch.lines_with("failed") >= failures);
    }
    assert_eq!(status(&sandbox).0["updates"][0]["address"], "203.0.113.9");
    open(port, &endpoint);
    // Three to five failures: the step is 40 s at most; who asks need not wait.
    watch.signal(Signal::USR1);
    endpoint.wait(1, ms(45_000));
    watch.prints("accepted");
    thread::sleep(ms(2000));
    assert_eq!(endpoint.ips(), ["203.0.113.9"]);
    assert_eq!(status(&sandbox).1, 0);
    watch.stop();
}

#[test]
fn watch_an_endpoint_that_refuses_connections_is_retried_by_itself() {
    let (sandbox, endpoint, port) = (host(), Endpoint::new(), closed_port());
    let id = format!("http://{port}/hook?name=__DOMAIN__&ip=__IP__");
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"id": id})));
    watch.prints("retry in");
    open(port, &endpoint);
    endpoint.wait(1, ms(FIRST_STEP));
    watch.prints("accepted");
    watch.stop();
}

/// The old address is under way when the new one is found: first the one, then the other, whatever becomes of the first.
#[test]
fn watch_a_new_address_waits_for_the_old_one_that_is_under_way() {
    for_each_at_once([204, 503], |code| {
        let sandbox = host();
        let endpoint = Endpoint::responding(move |number| match number {
            0 => Response::status(code).after(ms(1500)),
            _ => Response::status(204),
        });
        let watch = Watch::start(&sandbox, &endpoint.config(&json!({"concurrency": 8})));
        let old = endpoint.wait(1, SOON);
        endpoint.receiver.set_ip("203.0.113.8");
        watch.signal(Signal::USR1);
        let new = endpoint.wait(2, SOON);
        assert!(new.at - old.at > ms(1400), "{code}: {:?}", new.at - old.at);
        thread::sleep(ms(2500));
        assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.8"], "{code}");
        let (report, good) = status(&sandbox);
        assert_eq!((&report["updates"][0]["address"], good), (&json!("203.0.113.8"), 0), "{code}: {report:#}");
        watch.stop();
    });
}

/// It changed and changed back while it was under way: the endpoint holds the right one.
#[test]
fn watch_an_address_that_came_back_while_it_was_under_way_is_sent_once() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(2000)));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    for ip in ["203.0.113.8", "203.0.113.7"] {
        let before = endpoint.receiver.lookups();
        endpoint.receiver.set_ip(ip);
        watch.signal(Signal::USR1);
        until(SOON, "it is looked up", || endpoint.receiver.lookups() > before);
        thread::sleep(ms(100));
    }
    watch.prints("accepted");
    thread::sleep(ms(2500));
    assert_eq!(endpoint.ips(), ["203.0.113.7"]);
    assert_eq!(status(&sandbox).1, 0);
    watch.stop();
}

#[test]
fn watch_a_source_that_fails_is_asked_again_within_the_first_step() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "shell:cat address"})));
    watch.prints("no IPv4 address found");
    sandbox.write("address", "203.0.113.9\n");
    assert_eq!(endpoint.wait(1, ms(FIRST_STEP)).ip(), "203.0.113.9");
    watch.stop();
}

/// An endpoint that is overloaded is asked by one at a time, and ever more rarely.
#[test]
fn watch_an_endpoint_that_is_overloaded_sees_no_burst() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(503));
    let domains: Vec<String> = (0..200).map(|number| format!("d{number}.example.com")).collect();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": domains})));
    endpoint.wait(1, SOON);
    thread::sleep(ms(5000));
    assert!(endpoint.count() <= 6, "{} requests in 5 s", endpoint.count());
    watch.stop();
}
