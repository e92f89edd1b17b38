//! Section F on hosts that the test makes: network namespaces with real interfaces, addresses and routes, so that what
//! is chosen, and what the kernel reports of each address, is known exactly.

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::addresses::{addresses, local};
use crate::support::lookup::look_up;
use crate::support::tools::{LOOPBACK, inside, sh};

/// One interface, `d0`.
fn one_interface() -> String {
    format!("{LOOPBACK}\ninterface d0\n")
}

fn with_three_interfaces() -> String {
    one_interface() + "\ninterface d1\ninterface d2\n"
}

fn flags(row: &Value) -> Vec<&str> {
    row["flags"].as_array().expect("flags are a list").iter().filter_map(Value::as_str).collect()
}

/// The one row of this address.
#[track_caller]
fn row(report: &Value, ip: &str) -> Value {
    let rows: Vec<_> = local(report).into_iter().filter(|row| row["ip"] == ip).collect();
    assert_eq!(rows.len(), 1, "rows of {ip} in {report:#}");
    rows[0].clone()
}

/// What `default` finds for a family, and why.
fn verdict(report: &Value, family: &str) -> String {
    let sources = report["sources"].as_array().expect("sources are a list");
    let found = sources.iter().find(|source| source["family"] == family && source["source"] == "default");
    found.unwrap_or_else(|| panic!("no default for {family} in {report:#}"))["why"].as_str().unwrap_or("").to_owned()
}

#[test]
fn f2_f7_an_address_is_added_deprecated_and_removed() {
    let Some(()) = inside(&one_interface()) else { return };
    let report = addresses();
    assert_eq!(report["chosen"]["A"], Value::Null, "before: {report:#}");

    sh("ip addr add 203.0.113.7/24 dev d0; ip route add default dev d0");
    let report = addresses();
    let added = row(&report, "203.0.113.7");
    assert_eq!(added["interface"], "d0", "{added}");
    assert_eq!(added["prefix"], 24, "{added}");
    assert_eq!(added["scope"], "global", "{added}");
    assert_eq!(added["verdict"], "usable", "{added}");
    assert_eq!(flags(&added), ["permanent"], "{added}");
    assert!(!added["valid"].is_number() && !added["preferred"].is_number(), "no end: {added}");
    assert_eq!(report["chosen"]["A"]["ip"], "203.0.113.7", "{report:#}");
    assert_eq!(report["chosen"]["A"]["source"], "default", "{report:#}");
    assert!(verdict(&report, "IPv4").contains("d0"), "the reason names the interface: {report:#}");
    assert_eq!(look_up(4, &json!("default")).sent.as_deref(), Some("203.0.113.7"));
    assert_eq!(look_up(4, &json!("interface:d0")).sent.as_deref(), Some("203.0.113.7"));

    sh("ip addr change 203.0.113.7/24 dev d0 valid_lft 600 preferred_lft 0");
    let report = addresses();
    let old = row(&report, "203.0.113.7");
    assert!(flags(&old).contains(&"deprecated") && !flags(&old).contains(&"permanent"), "{old}");
    assert!(old["valid"].as_u64().is_some_and(|seconds| (500..=600).contains(&seconds)), "{old}");
    assert_eq!(old["preferred"], 0, "{old}");
    assert!(old["verdict"].as_str().is_some_and(|why| why.contains("deprecated")), "{old}");
    assert_eq!(report["chosen"]["A"], Value::Null, "{report:#}");
    assert!(verdict(&report, "IPv4").contains("deprecated"), "{report:#}");
    for source in [json!("default"), json!("interface:d0"), json!(0)] {
        let looked_up = look_up(4, &source);
        assert_eq!(looked_up.sent, None, "{source}");
    }
    let looked_up = look_up(4, &json!(r"regex:203\."));
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "a pattern may name it: {}", looked_up.run.stderr);

    sh("ip addr del 203.0.113.7/24 dev d0");
    let report = addresses();
    assert!(local(&report).iter().all(|row| row["ip"] != "203.0.113.7"), "removed: {report:#}");
    assert_eq!(report["chosen"]["A"], Value::Null, "removed: {report:#}");
}

#[test]
fn f7_an_address_of_an_interface_that_is_down_is_not_sent() {
    let Some(()) = inside(&one_interface()) else { return };
    sh("ip addr add 203.0.113.7/24 dev d0; ip link set d0 down");
    let report = addresses();
    let off = row(&report, "203.0.113.7");
    assert!(off["verdict"].as_str().is_some_and(|why| why.contains("down")), "{off}");
    assert_eq!(look_up(4, &json!("interface:d0")).sent, None);
    assert_eq!(look_up(4, &json!(0)).sent, None);
    sh("ip link set d0 up");
    assert_eq!(look_up(4, &json!("interface:d0")).sent.as_deref(), Some("203.0.113.7"));
}

#[test]
fn f2_the_stable_address_is_sent_in_place_of_the_temporary_one() {
    let setup = one_interface() + "\necho 2 >/proc/sys/net/ipv6/conf/d0/use_tempaddr || exit 77\n";
    let Some(()) = inside(&setup) else { return };
    sh("ip -6 addr add 2001:db8:1::7/64 dev d0 mngtmpaddr valid_lft 86400 preferred_lft 3600 nodad
        ip -6 addr add 2001:db8:2::a/64 dev d0 nodad
        ip -6 route add default dev d0");
    let report = addresses();
    let temporary: Vec<_> = local(&report).into_iter().filter(|row| flags(row).contains(&"temporary")).collect();
    assert_eq!(temporary.len(), 1, "the kernel makes one temporary address: {report:#}");
    let temporary = &temporary[0];
    let ip = temporary["ip"].as_str().expect("an address");
    assert!(ip.starts_with("2001:db8:1:"), "{temporary}");
    assert_eq!(temporary["verdict"], "usable", "{temporary}");
    assert!(temporary["valid"].as_u64().is_some_and(|seconds| seconds <= 86400), "{temporary}");
    let stable = row(&report, "2001:db8:1::7");
    assert!(!flags(&stable).contains(&"temporary") && !flags(&stable).contains(&"permanent"), "{stable}");
    assert!(stable["preferred"].as_u64().is_some_and(|seconds| (3000..=3600).contains(&seconds)), "{stable}");

    let kernel = std::net::UdpSocket::bind("[::]:0").expect("a socket");
    kernel.connect("[2606:4700:4700::1111]:53").expect("a route");
    let kernel = kernel.local_addr().expect("an address").ip().to_string();
    assert_eq!(kernel, ip, "the kernel prefers the temporary one, or this proves nothing");

    assert_eq!(report["chosen"]["AAAA"]["ip"], "2001:db8:1::7", "{report:#}");
    assert!(verdict(&report, "IPv6").contains("temporary"), "the reason: {report:#}");
    assert_eq!(look_up(6, &json!("default")).sent.as_deref(), Some("2001:db8:1::7"));
    let sent = look_up(6, &json!("interface:d0")).sent.expect("an address");
    assert!(["2001:db8:1::7", "2001:db8:2::a"].contains(&sent.as_str()), "a stable one: {sent}");
    let sent = look_up(6, &json!(format!("regex:{ip}"))).sent;
    assert_eq!(sent.as_deref(), Some(ip), "a pattern may name the temporary one");

    sh("ip -6 addr del 2001:db8:1::7/64 dev d0");
    let report = addresses();
    assert_eq!(report["chosen"]["AAAA"]["ip"], "2001:db8:2::a", "removed: {report:#}");
}

#[test]
fn f2_a_stable_address_that_is_tentative_is_waited_for() {
    // A dummy interface knows no tentative addresses.
    let setup = one_interface()
        + "\nip link show p-d0 >/dev/null 2>&1 || exit 77
        echo 2 >/proc/sys/net/ipv6/conf/d0/use_tempaddr || exit 77
        echo 1 >/proc/sys/net/ipv6/conf/d0/accept_dad; echo 1 >/proc/sys/net/ipv6/conf/d0/dad_transmits
        ip -6 route add default dev d0\n";
    let Some(()) = inside(&setup) else { return };
    for source in ["default", "interface:d0", "0"] {
        sh("ip -6 addr add 2001:db8:1::7/64 dev d0 mngtmpaddr valid_lft 86400 preferred_lft 3600");
        assert_eq!(look_up(6, &json!(source)).sent.as_deref(), Some("2001:db8:1::7"), "{source}");
        sh("ip -6 addr del 2001:db8:1::7/64 dev d0");
    }
}

#[test]
fn f7_a_tentative_address_and_a_link_local_one_are_not_sent() {
    // A dummy interface knows no tentative addresses.
    let setup = one_interface() + "\nip link show p-d0 >/dev/null 2>&1 || exit 77\n";
    let Some(()) = inside(&setup) else { return };
    sh("echo 1 >/proc/sys/net/ipv6/conf/d0/accept_dad
        echo 60 >/proc/sys/net/ipv6/conf/d0/dad_transmits
        ip addr add 169.254.3.3/16 dev d0 scope link
        ip -6 addr add 2001:db8::7/64 dev d0
        ip -6 route add default dev d0");
    let report = addresses();
    let tentative = row(&report, "2001:db8::7");
    assert!(flags(&tentative).contains(&"tentative"), "{tentative}");
    assert!(tentative["verdict"].as_str().is_some_and(|why| why.contains("tentative")), "{tentative}");
    let link = row(&report, "169.254.3.3");
    assert_eq!(link["scope"], "link", "{link}");
    assert!(link["verdict"].as_str().is_some_and(|why| why.contains("link-local")), "{link}");
    assert_eq!(report["chosen"], json!({"A": null, "AAAA": null}), "{report:#}");
    for (family, source, why) in
        [(6, "interface:d0", "d0"), (6, "0", "no interface number"), (4, "interface:d0", "link")]
    {
        let looked_up = look_up(family, &json!(source));
        assert_eq!(looked_up.sent, None, "IPv{family}, {source}");
        assert!(looked_up.run.stderr.contains(why), "IPv{family}, {source}: {}", looked_up.run.stderr);
    }
    assert_eq!(look_up(4, &json!(r"regex:169\.254")).sent.as_deref(), Some("169.254.3.3"));
}

#[test]
fn f5_numbers_names_and_patterns_choose_exactly() {
    let Some(()) = inside(&with_three_interfaces()) else { return };
    sh("ip addr add 169.254.3.3/16 dev d0
        ip addr add 192.168.1.2/24 dev d1; ip addr add 203.0.113.7/24 dev d1; ip addr add 10.0.0.3/8 dev d2
        ip -6 addr add fd00::2/64 dev d2 nodad; ip -6 addr add 2001:db8::7/64 dev d2 nodad");
    for (family, source, expected) in [
        (4, json!(0), Some("203.0.113.7")),
        (4, json!("0"), Some("203.0.113.7")),
        (4, json!(1), Some("10.0.0.3")),
        (4, json!(2), None),
        (4, json!([2, 1]), Some("10.0.0.3")),
        (6, json!(0), Some("2001:db8::7")),
        (6, json!(1), None),
        (4, json!("interface:d0"), None),
        (4, json!("interface:d1"), Some("203.0.113.7")),
        (4, json!("interface:d2"), Some("10.0.0.3")),
        (4, json!("interface:d"), None),
        (4, json!("interface:D1"), None),
        (4, json!("interface:d0, interface:d2"), Some("10.0.0.3")),
        (6, json!("interface:d1"), None),
        (6, json!("interface:d2"), Some("2001:db8::7")),
        (4, json!(r"regex:192\.168\."), Some("192.168.1.2")),
        (4, json!(r"regex:.*\.7$"), Some("203.0.113.7")),
        (4, json!(r"regex:169\.254\."), Some("169.254.3.3")),
        (4, json!(r"regex:168\."), None),
        (6, json!("regex:fd"), Some("fd00::2")),
        (6, json!("regex:(?i)FD"), Some("fd00::2")),
        (4, json!("default"), None),
        (6, json!("default"), None),
    ] {
        let looked_up = look_up(family, &source);
        assert_eq!(looked_up.sent.as_deref(), expected, "IPv{family}, {source}:\n{}", looked_up.run.stderr);
    }
    sh("ip route add default dev d2");
    assert_eq!(look_up(4, &json!("default")).sent.as_deref(), Some("10.0.0.3"), "the route's interface counts");
}

/// Two ways in which the kernel describes an IPv4 address that are easily misread: a label in place of the interface's
/// name, and the peer's address where one's own is expected.
#[test]
fn f5_labels_and_point_to_point_addresses_are_read_rightly() {
    let Some(()) = inside(&with_three_interfaces()) else { return };
    sh("ip addr add 203.0.113.7/24 dev d0 label d0:home
        ip addr add 198.51.100.7 peer 198.51.100.8/32 dev d1
        ip -6 addr add 2001:db8::7 peer 2001:db8::8/128 dev d2 nodad");
    let report = addresses();
    for (ip, interface) in [("203.0.113.7", "d0"), ("198.51.100.7", "d1"), ("2001:db8::7", "d2")] {
        assert_eq!(row(&report, ip)["interface"], interface, "{ip}");
        let looked_up = look_up(if ip.contains(':') { 6 } else { 4 }, &json!(format!("interface:{interface}")));
        assert_eq!(looked_up.sent.as_deref(), Some(ip), "{interface}: {}", looked_up.run.stderr);
    }
    let peers = ["198.51.100.8", "2001:db8::8"];
    assert!(local(&report).iter().all(|row| peers.iter().all(|peer| row["ip"] != *peer)), "a peer: {report:#}");
}

/// More than one response of the kernel holds.
#[test]
fn f5_every_one_of_many_addresses_is_listed() {
    let Some(()) = inside(&one_interface()) else { return };
    let sandbox = Sandbox::new();
    let mut batch = String::new();
    for number in 1..=400 {
        batch += &format!("addr add 10.0.{}.{}/32 dev d0\n", number / 250, number % 250 + 1);
        batch += &format!("addr add 2001:db8::{number:x}/128 dev d0 nodad\n");
    }
    let file = sandbox.write("batch", batch);
    sh(&format!("ip -batch {}", file.display()));
    let report = addresses();
    let mut listed: Vec<String> = local(&report).iter().map(|row| row["ip"].to_string()).collect();
    listed.sort();
    listed.dedup();
    let four = listed.iter().filter(|ip| ip.starts_with("\"10.0.")).count();
    let six = listed.iter().filter(|ip| ip.starts_with("\"2001:db8::")).count();
    assert_eq!((four, six), (400, 400), "of {} rows", local(&report).len());
    // The last one is as good as the first.
    assert_eq!(look_up(4, &json!(r"regex:10\.0\.1\.151$")).sent.as_deref(), Some("10.0.1.151"));
}

#[test]
fn f_addresses_a_host_without_any_address_is_reported_as_that() {
    let Some(()) = inside("true") else { return };
    let report = addresses();
    assert_eq!(local(&report).len(), 0, "{report:#}");
    assert_eq!(report["chosen"], json!({"A": null, "AAAA": null}), "{report:#}");
    Sandbox::new().run(&["addresses"]).expect(0).shows("default");
}

/// The longest names and addresses that there are still fit a terminal; `--wide` may need more.
#[test]
fn f_addresses_lines_fit_a_terminal() {
    let Some(()) = inside(&(one_interface() + "\ninterface d1")) else { return };
    sh("ip link set d1 down; ip link set d1 name wlan-0123456789; ip link set wlan-0123456789 up
        ip addr add 203.213.113.117/24 dev wlan-0123456789 valid_lft 600 preferred_lft 0
        ip -6 addr add 2001:db8:1234:5678:9abc:def0:1234:5678/64 dev wlan-0123456789 nodad \
            valid_lft 8640000 preferred_lft 0
        ip route add default dev wlan-0123456789");
    let run = Sandbox::new().run(&["addresses"]).expect(0);
    for part in ["203.213.113.117", "2001:db8:1234:5678:9abc:def0:1234:5678", "wlan-0123456789", "deprecated"] {
        assert!(run.stdout.contains(part), "no word of {part}:\n{}", run.stdout);
    }
    for line in run.stdout.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    let wide = Sandbox::new().run(&["addresses", "--wide"]).expect(0);
    let ip = "2001:db8:1234:5678:9abc:def0:1234:5678";
    let whole = |line: &str| line.contains("wlan-0123456789") && line.contains(ip) && line.contains("deprecated");
    assert!(wide.stdout.lines().any(whole), "a row to a line:\n{}", wide.stdout);
}
