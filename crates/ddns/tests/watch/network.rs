//! `ddns watch` on hosts that the test makes: a change is sent within moments, few requests for much noise, and always the
//! last address.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::tools::{LOOPBACK, inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, until};

/// Within this time of a lookup, what follows is taken together; after it, a change leads to a lookup at once.
const QUIET: Duration = Duration::from_millis(2600);

fn interfaces(names: &[&str]) -> String {
    names.iter().fold(LOOPBACK.to_owned(), |script, name| format!("{script}\ninterface {name}"))
}

/// A service that sends the address of `source`, and whose first one was accepted.
fn watching(source: &str) -> (Sandbox, Endpoint, Watch) {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": source})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    (sandbox, endpoint, watch)
}

/// After a change of several steps it takes longer until a moment counts as quiet.
const QUIET_AGAIN: Duration = Duration::from_millis(6500);

/// Changes the address by one of these lines after the other, in quiet moments, until a request arrives within `limit` of
/// the return of the command: the machine may be busy with something else. Each change must be exactly one request.
#[track_caller]
fn one_is_sent_within(
    limit: Duration,
    (endpoint, watch): (&Endpoint, &Watch),
    pause: Duration,
    changes: &[(String, String)],
) {
    let mut times = Vec::new();
    for (at, (line, ip)) in changes.iter().enumerate() {
        // Nothing happened before the first one: that moment is quiet.
        thread::sleep(if at == 0 { Duration::ZERO } else { pause });
        let before = endpoint.count();
        sh(line);
        let begun = Instant::now();
        let arrival = endpoint.wait(before + 1, SOON);
        assert_eq!(arrival.ip(), ip, "{line}");
        times.push(arrival.at.saturating_duration_since(begun));
        if times[at] < limit {
            thread::sleep(ms(300));
            assert_eq!(endpoint.count(), 2 + at, "{:?}", endpoint.ips());
            return;
        }
    }
    panic!("none within {limit:?}: {times:?}\n{}", watch.log());
}

#[test]
fn watch_a_new_address_is_sent_in_under_100_ms() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 10.0.0.1/24 dev d0; ip route add default dev d0");
    let (_sandbox, endpoint, watch) = watching("default");
    // The route names the address: one notification.
    let changes: Vec<(String, String)> = (1..=5)
        .map(|n| format!("10.0.{n}.1"))
        .map(|ip| (format!("ip addr add {ip}/24 dev d0; sleep 2.6; ip route replace default dev d0 src {ip}"), ip))
        .collect();
    one_is_sent_within(ms(100), (&endpoint, &watch), QUIET, &changes);
    watch.stop();
}

/// Step by step, with a pause between: the first step is looked at at once, the others together a second later.
#[test]
fn watch_a_change_of_several_steps_is_sent_within_two_seconds() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0; ip route add default dev d0");
    let (_sandbox, endpoint, watch) = watching("default");
    let changes = [(113, 114), (114, 115), (115, 116)].map(|(old, new)| {
        let line = format!(
            "ip addr del 203.0.{old}.1/24 dev d0; sleep 0.1; ip addr add 203.0.{new}.1/24 dev d0; sleep 0.1
            ip route add default dev d0"
        );
        (line, format!("203.0.{new}.1"))
    });
    one_is_sent_within(ms(2000), (&endpoint, &watch), QUIET_AGAIN, &changes);
    watch.stop();
}

/// `ip`, which carries out each line at once: no process has to start in between.
struct Ip(Child);

impl Ip {
    fn start() -> Self {
        Self(Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().expect("ip starts"))
    }

    fn run(&mut self, lines: &str) {
        let input = self.0.stdin.as_mut().expect("a pipe");
        input.write_all(lines.as_bytes()).expect("ip reads");
    }
}

impl Drop for Ip {
    fn drop(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

/// As a router does it that gets a new address: the new one is added, then the old one is taken away. Of several tries one
/// must be as quick: the machine may be busy with something else.
#[test]
fn watch_an_address_that_takes_the_place_of_another_is_sent_within_10_ms() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0");
    let (_sandbox, endpoint, watch) = watching("interface:d0");
    let mut ip = Ip::start();
    let mut times = Vec::new();
    for number in 1..=10 {
        ip.run(&format!("addr add 203.0.{}.1/24 dev d0\n", 113 + number));
        // What this leads to has been looked at.
        thread::sleep(ms(10));
        let begun = Instant::now();
        ip.run(&format!("addr del 203.0.{}.1/24 dev d0\n", 112 + number));
        let arrival = endpoint.wait(1 + number, SOON);
        assert_eq!(arrival.ip(), format!("203.0.{}.1", 113 + number));
        times.push(arrival.at.saturating_duration_since(begun));
        if times[number - 1] < ms(10) {
            watch.stop();
            return;
        }
        thread::sleep(ms(1200));
    }
    panic!("none within 10 ms: {times:?}\n{}", watch.log());
}

/// How far apart changes are in the next two tests: sooner than a moment counts as quiet after a flap.
const APART: Duration = Duration::from_millis(1600);

/// Replaces the address `203.0.FROM.1` by `203.0.TO.1`. When that was.
fn replace(ip: &mut Ip, from: usize, to: usize) -> Instant {
    ip.run(&format!("addr add 203.0.{to}.1/24 dev d0\naddr del 203.0.{from}.1/24 dev d0\n"));
    Instant::now()
}

/// An address that is new each time is no flap: every change is sent at once.
#[test]
fn watch_addresses_that_are_new_each_time_are_sent_in_under_100_ms() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0");
    let (_sandbox, endpoint, watch) = watching("interface:d0");
    let (mut ip, mut times) = (Ip::start(), Vec::new());
    for number in 1..=5 {
        let begun = replace(&mut ip, 112 + number, 113 + number);
        let arrival = endpoint.wait(1 + number, APART);
        assert_eq!(arrival.ip(), format!("203.0.{}.1", 113 + number));
        times.push(arrival.at.saturating_duration_since(begun));
        thread::sleep(APART.saturating_sub(begun.elapsed()));
    }
    // The machine may be busy with something else.
    assert!(times.iter().filter(|time| **time < ms(100)).count() >= 3, "{times:?}\n{}", watch.log());
    watch.stop();
}

#[test]
fn watch_addresses_that_go_back_and_forth_are_damped_and_the_last_one_is_sent() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0");
    let (_sandbox, endpoint, watch) = watching("interface:d0");
    let mut ip = Ip::start();
    for number in 0..7 {
        let begun = replace(&mut ip, 113 + number % 2, 114 - number % 2);
        thread::sleep(APART.saturating_sub(begun.elapsed()));
    }
    assert!(endpoint.count() <= 1 + 5, "{:?}", endpoint.ips());
    until(SOON, "the last address is sent", || endpoint.ips().last().is_some_and(|ip| ip == "203.0.114.1"));
    watch.stop();
}

/// As dial-up does it: the old one goes, then the new one comes, with its route.
#[test]
fn watch_an_address_that_goes_before_the_next_comes_is_sent_in_under_100_ms() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0; ip route add default dev d0");
    let (_sandbox, endpoint, watch) = watching("default");
    let changes: Vec<(String, String)> = (1..=3)
        .map(|n| {
            let batch = format!(
                "addr del 203.0.{}.1/24 dev d0\\naddr add 203.0.{}.1/24 dev d0\\nroute add default dev d0\\n",
                112 + n,
                113 + n
            );
            (format!("printf '{batch}' | ip -batch -"), format!("203.0.{}.1", 113 + n))
        })
        .collect();
    one_is_sent_within(ms(100), (&endpoint, &watch), QUIET_AGAIN, &changes);
    watch.stop();
}

#[test]
fn watch_a_tentative_address_is_sent_once_when_it_is_good() {
    let setup = "\necho 1 >/proc/sys/net/ipv6/conf/d0/accept_dad
        echo 1 >/proc/sys/net/ipv6/conf/d0/dad_transmits\n";
    let Some(()) = inside(&(interfaces(&["d0"]) + setup)) else { return };
    sh("ip -6 addr add 2001:db8::1/64 dev d0 nodad");
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let config = endpoint.config(&json!({"ipv4": Value::Null, "ipv6": "home.example.com", "index6": "interface:d0"}));
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    thread::sleep(QUIET);
    sh("ip -6 addr add 2001:db8::2/64 dev d0; ip -6 addr del 2001:db8::1/64 dev d0");
    let begun = Instant::now();
    until(SOON, "the kernel reports it as good", || {
        let listed = Command::new("ip").args(["-6", "addr", "show", "dev", "d0", "tentative"]).output();
        listed.is_ok_and(|output| output.stdout.is_empty())
    });
    let good = Instant::now();
    let second = endpoint.wait(2, SOON);
    assert_eq!(second.ip(), "2001:db8::2");
    assert!(good - begun > ms(400), "it was tentative for a while: {:?}", good - begun);
    assert!(second.at.saturating_duration_since(good) < ms(500), "{:?}", second.at - good);
    thread::sleep(ms(2000));
    assert_eq!(endpoint.ips(), ["2001:db8::1", "2001:db8::2"], "once");
    assert_eq!(watch.lines_with("no IPv6 address"), 0, "it is waited for in silence:\n{}", watch.log());
    watch.stop();
}

#[test]
fn watch_another_default_route_is_sent() {
    let Some(()) = inside(&interfaces(&["d0", "d1"])) else { return };
    sh("ip addr add 203.0.113.7/24 dev d0; ip addr add 198.51.100.7/24 dev d1; ip route add default via 203.0.113.1");
    let (_sandbox, endpoint, watch) = watching("default");
    thread::sleep(QUIET);
    sh("ip route add default via 198.51.100.1 metric 5; ip route del default via 203.0.113.1");
    assert_eq!(endpoint.wait(2, SOON).ip(), "198.51.100.7");
    watch.stop();
}

/// The kernel's notification of a new route does not mention the route that it replaces.
#[test]
fn watch_a_route_that_is_replaced_and_comes_back_is_sent() {
    let Some(()) = inside(&interfaces(&["d0", "d1"])) else { return };
    sh("ip addr add 203.0.113.7/24 dev d0; ip addr add 198.51.100.7/24 dev d1");
    sh("ip route add default via 203.0.113.1");
    let (_sandbox, endpoint, watch) = watching("default");
    for (number, gateway, ip) in
        [(2, "198.51.100.1", "198.51.100.7"), (3, "203.0.113.1", "203.0.113.7"), (4, "198.51.100.1", "198.51.100.7")]
    {
        // No lookup that an earlier change led to is still to come.
        thread::sleep(if number == 2 { Duration::ZERO } else { QUIET });
        sh(&format!("ip route replace default via {gateway}"));
        assert_eq!(endpoint.wait(number, SOON).ip(), ip, "change {number}");
    }
    watch.stop();
}

#[test]
fn watch_a_thousand_flaps_are_few_requests_and_the_last_address_is_sent() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0");
    let (sandbox, endpoint, watch) = watching("interface:d0");
    let mut last = String::from("203.0.113.1");
    for part in 0..20 {
        let mut batch = String::new();
        for flap in 0..50 {
            let next = format!("203.0.{}.{}", 114 + part, 1 + flap);
            batch += &format!("addr del {last}/24 dev d0\naddr add {next}/24 dev d0\n");
            last = next;
        }
        let file = sandbox.write("batch", batch);
        sh(&format!("ip -batch {}", file.display()));
        thread::sleep(ms(100));
    }
    until(ms(60_000), &format!("{last} is sent; sent: {:?}", endpoint.ips()), || endpoint.ips().contains(&last));
    thread::sleep(ms(3000));
    let ips = endpoint.ips();
    assert_eq!(ips.last(), Some(&last), "{ips:?}");
    assert!(ips.len() <= 6, "{} requests: {ips:?}", ips.len());
    assert!(watch.log().lines().count() <= 20, "{}", watch.log());
    watch.stop();
}

#[test]
fn watch_a_link_that_goes_down_and_comes_back_with_another_address_is_sent() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    sh("ip addr add 203.0.113.7/24 dev d0");
    let (_sandbox, endpoint, watch) = watching("interface:d0");
    let missing = "no IPv4 address found";
    sh("ip link set d0 down");
    watch.prints(missing);
    // The same address again: it is up to date.
    sh("ip link set d0 up");
    watch.prints("address found again");
    thread::sleep(ms(1000));
    assert_eq!(endpoint.count(), 1, "{:?}", endpoint.ips());
    sh("ip link set d0 down");
    until(SOON, "it is missing again", || watch.lines_with(missing) == 2);
    sh("ip addr flush dev d0; ip addr add 203.0.113.8/24 dev d0");
    thread::sleep(ms(300));
    assert_eq!(endpoint.count(), 1, "{:?}", endpoint.ips());
    sh("ip link set d0 up");
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8");
    assert_eq!(watch.lines_with(missing), 2, "once each time:\n{}", watch.log());
    watch.stop();
}

#[test]
fn watch_no_network_at_the_start_is_waited_out_and_logged_once() {
    let Some(()) = inside(&interfaces(&["d0"])) else { return };
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "default"})));
    watch.prints("no IPv4 address found");
    let early = watch.log().lines().count();
    // Longer than the first retry of the source takes; and a round.
    thread::sleep(ms(5500));
    watch.signal(Signal::USR1);
    watch.prints("synchronization requested");
    thread::sleep(ms(500));
    assert!(watch.is_running(), "{}", watch.log());
    assert_eq!(watch.log().lines().count(), early + 1, "it is logged once:\n{}", watch.log());
    assert_eq!(endpoint.count(), 0);
    sh("ip addr add 203.0.113.7/24 dev d0; ip route add default dev d0");
    let came = Instant::now();
    let first = endpoint.wait(1, SOON);
    assert_eq!(first.ip(), "203.0.113.7");
    assert!(first.at.saturating_duration_since(came) < ms(3000), "{:?}", first.at - came);
    watch.stop();
}

/// A VPN takes the internet in two halves, which win over the default route without touching it.
#[test]
fn watch_the_two_halves_of_a_vpn_are_noticed_at_once() {
    let Some(()) = inside(&interfaces(&["d0", "tun0"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0; ip route add default dev d0; ip addr add 10.8.0.2/24 dev tun0");
    let (_sandbox, endpoint, watch) = watching("default");
    sh("ip route add 0.0.0.0/1 dev tun0; ip route add 128.0.0.0/1 dev tun0");
    assert_eq!(endpoint.wait(2, SOON).ip(), "10.8.0.2");
    sh("ip route del 0.0.0.0/1 dev tun0; ip route del 128.0.0.0/1 dev tun0");
    assert_eq!(endpoint.wait(3, SOON).ip(), "203.0.113.1");
    watch.stop();
}

#[test]
fn watch_a_rule_that_chooses_another_table_is_noticed_at_once() {
    let Some(()) = inside(&interfaces(&["d0", "d1"])) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0; ip route add default dev d0; ip addr add 198.51.100.1/24 dev d1
        ip route add default dev d1 table 100");
    let (_sandbox, endpoint, watch) = watching("default");
    sh("ip rule add pref 1000 lookup 100");
    assert_eq!(endpoint.wait(2, SOON).ip(), "198.51.100.1");
    sh("ip rule del pref 1000");
    assert_eq!(endpoint.wait(3, SOON).ip(), "203.0.113.1");
    watch.stop();
}
