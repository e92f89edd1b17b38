//! Section F, the host's own addresses: numbers, `regex:`, `interface:` and `default`, and what is no source at all.
//!
//! These run on whatever host there is; what exactly is chosen is tested in namespaces (`sources/namespaces.rs`).

use std::net::{IpAddr, UdpSocket};

use serde_json::json;

use crate::support::lookup::{character, look_up, lookup_config, refused};
use crate::support::{Receiver, Sandbox};

/// What the kernel would use toward the internet; connecting UDP sends no packet.
fn kernel_address(family: u8) -> Option<IpAddr> {
    let (from, toward) = if family == 4 { ("0.0.0.0:0", "198.51.100.1:9") } else { ("[::]:0", "[2001:db8::1]:9") };
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(toward).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn usable_from_outside(ip: IpAddr) -> bool {
    let local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.to_ipv4_mapped().is_some(),
    };
    !(local || ip.is_loopback() || ip.is_unspecified() || ip.is_multicast())
}

fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

#[test]
fn f5_f7_a_number_never_finds_an_address_that_others_cannot_reach() {
    for family in [4, 6] {
        for number in [json!(0), json!("0"), json!([0]), json!(["0"]), json!(1), json!("1")] {
            let looked_up = look_up(family, &number);
            let Some(sent) = looked_up.sent else { continue };
            let ip: IpAddr = sent.parse().unwrap_or_else(|_| panic!("IPv{family}, {number}: {sent}"));
            assert_eq!(ip.is_ipv4(), family == 4, "IPv{family}, {number}: {sent} is of the other family");
            assert!(usable_from_outside(ip), "IPv{family}, {number}: {sent}");
        }
    }
}

#[test]
fn f5_a_host_with_an_address_toward_the_internet_has_a_number_0() {
    for family in [4, 6] {
        if kernel_address(family).is_some_and(usable_from_outside) {
            for number in [json!(0), json!("0")] {
                let looked_up = look_up(family, &number);
                assert!(looked_up.sent.is_some(), "IPv{family}, {number}:\n{}", looked_up.run.stderr);
            }
        }
    }
}

#[test]
fn f5_a_number_beyond_the_last_interface_finds_none() {
    for family in [4, 6] {
        for number in [json!(99), json!("99"), json!([99, "98"]), json!("99,98"), json!("4294967295")] {
            let looked_up = look_up(family, &number);
            assert_eq!(looked_up.sent, None, "IPv{family}, {number}");
            assert!(
                looked_up.run.stderr.contains("no interface number"),
                "IPv{family}, {number}:\n{}",
                looked_up.run.stderr
            );
        }
    }
}

#[test]
fn f5_f7_a_pattern_may_name_loopback() {
    let mut table = vec![
        (4, json!(r"regex:127\."), Some("127.")),
        (4, json!([r"regex:127\.0\.0\.1$"]), Some("127.0.0.1")),
        (4, json!("regex:127"), Some("127.")),
        (4, json!(r"regex: 127\. "), Some("127.")),
        (4, json!(r"regex:^127\."), Some("127.")),
        (4, json!(r"regex:(no|127)\."), Some("127.")),
        // A comma is part of the pattern (B9).
        (4, json!(r"regex:127(\.\d{1,3}){3}"), Some("127.")),
        (4, json!(r"regex:127\.;x|127\."), Some("127.")),
        // From the start, not somewhere.
        (4, json!(r"regex:27\.0\.0\.1"), None),
        (4, json!(r"regex:\.0\.0\.1$"), None),
        (4, json!("regex:::1$"), None),
        (6, json!(r"regex:127\."), None),
        (4, json!("regex:no such address"), None),
    ];
    if has_ipv6() {
        table.extend([(6, json!("regex:::1$"), Some("::1")), (6, json!("regex:db8::1$"), None)]);
    }
    for (family, source, expected) in table {
        let looked_up = look_up(family, &source);
        match (expected, &looked_up.sent) {
            (Some(start), Some(sent)) => assert!(sent.starts_with(start), "IPv{family}, {source}: {sent}"),
            (None, None) => assert!(looked_up.run.stderr.contains("matches"), "{source}:\n{}", looked_up.run.stderr),
            (_, sent) => panic!("IPv{family}, {source}: {sent:?}\n{}", looked_up.run.stderr),
        }
    }
}

#[test]
fn f5_f7_the_loopback_interface_and_a_missing_one_find_none() {
    for (family, source, why) in [
        (4, "interface:lo", "loopback"),
        (4, "interface:nope", "nope"),
        (6, "interface:nope", "nope"),
        (6, "interface:lo", "lo"),
    ] {
        let looked_up = look_up(family, &json!(source));
        assert_eq!(looked_up.sent, None, "IPv{family}, {source}");
        assert!(looked_up.run.stderr.contains(source), "IPv{family}, {source} is not named:\n{}", looked_up.run.stderr);
        let reason = looked_up.run.stderr.replace(source, "");
        assert!(reason.contains(why), "IPv{family}, {source}: no word of {why:?}:\n{}", looked_up.run.stderr);
    }
}

#[test]
fn f2_default_is_what_the_kernel_uses_toward_the_internet() {
    let expected = kernel_address(4).filter(|ip| usable_from_outside(*ip)).map(|ip| ip.to_string());
    for source in [json!("default"), json!(["default"]), json!("99,default"), json!([99, "interface:nope", "default"])]
    {
        let looked_up = look_up(4, &source);
        assert_eq!(looked_up.sent, expected, "{source}:\n{}", looked_up.run.stderr);
    }
    let looked_up = look_up(6, &json!("default"));
    let usable = |sent: &String| sent.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6() && usable_from_outside(ip));
    assert!(looked_up.sent.iter().all(usable), "{:?}", looked_up.sent);
}

/// Each source that has nothing is logged with its reason, and the next one is tried.
#[test]
fn f1_a_local_source_that_fails_gives_way_to_the_next_and_is_reported() {
    let sources = json!([99, "interface:nope", "interface:lo", r"regex:999\.", "shell:echo 203.0.113.9"]);
    let looked_up = look_up(4, &sources);
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.9"), "{}", looked_up.run.stderr);
    for part in ["no interface number 99", "interface:nope", "interface:lo", r"regex:999\."] {
        assert!(looked_up.run.stderr.contains(part), "no word of {part}:\n{}", looked_up.run.stderr);
    }
    // Sources that are separated in one string are the same.
    let looked_up = look_up(4, &json!("99; interface:nope, interface:lo, shell:echo 203.0.113.9"));
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.9"), "{}", looked_up.run.stderr);
}

/// Without an address nothing is known to have changed: what was remembered stays as it is.
#[test]
fn f5_e2_when_every_source_fails_the_cache_is_untouched() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let id = receiver.url("/__IP__");
    sandbox.sync(&lookup_config(4, &json!("shell:echo 203.0.113.7"), &id)).expect(0);
    let before = std::fs::read(sandbox.cache_file()).expect("the cache is written");
    sandbox.sync(&lookup_config(4, &json!([99, "interface:nope"]), &id)).expect(1);
    assert_eq!(std::fs::read(sandbox.cache_file()).expect("the cache is there"), before, "the cache was changed");
    assert_eq!(receiver.take().len(), 1, "only the first run has an address");
    sandbox.sync(&lookup_config(4, &json!("shell:echo 203.0.113.7"), &id)).expect(0);
    assert_eq!(receiver.take().len(), 0, "the address is still known");
}

#[test]
fn f5_an_option_and_the_environment_take_the_same_sources() {
    let receiver = Receiver::new();
    let id = receiver.url("/__IP__");
    let args = ["--dns", "callback", "--ipv4", "home.example.com", "--id", &id, "--no-cache"];
    let sandbox = Sandbox::new();
    sandbox.run(&[&args[..], &["--index4", "99", r"regex:127\.0\.0\.1"]].concat()).expect(0);
    Sandbox::new().env("DDNS_INDEX4", r"99,regex:127\.0\.0\.1").run(&args).expect(0);
    let sent: Vec<_> = receiver.take().iter().map(|one| one.target().to_owned()).collect();
    assert_eq!(sent, ["/127.0.0.1", "/127.0.0.1"]);
}

#[test]
fn f_a_source_of_no_known_form_is_an_error_that_lists_the_forms() {
    let forms = ["default", "public", "url:", "regex:", "interface:", "cmd:", "shell:", "stun:", "quorum:", "false"];
    for family in [4, 6] {
        for source in ["nonsense", "-1", "1.5", "0x1", "nonsense:x", "1:2", "203.0.113.7", "default:x"] {
            let run = refused(family, &json!([source]));
            for form in forms {
                assert!(run.stderr.contains(form), "{source}: the form {form} is not listed:\n{}", run.stderr);
            }
        }
        for number in [json!(-1), json!(1.5), json!([0, -1])] {
            refused(family, &number);
        }
    }
}

#[test]
fn f_a_mistyped_form_is_reported_with_the_nearest_one() {
    for (source, near) in [
        ("defualt", "default"),
        ("pubilc", "public"),
        ("rgex:127", "regex:"),
        ("interfce:eth0", "interface:"),
        ("stunn:stun.example.com", "stun:"),
        ("qourum:1(default)", "quorum:"),
        ("shel:echo 203.0.113.7", "shell:"),
        ("ulr:https://ip.example.com/", "url:"),
    ] {
        let run = refused(4, &json!([source]));
        let hint = run.stderr.lines().find_map(|line| line.split_once("did you mean")).map(|(_, hint)| hint);
        let hint = hint.unwrap_or_else(|| panic!("{source}: no nearest form:\n{}", run.stderr));
        assert!(hint.contains(near), "{source}: {near} is nearest, not {hint}");
    }
}

/// What stands behind a mistyped form is still a command or an address with a key in it.
#[test]
fn f_g2_a_mistyped_source_is_reported_without_its_key() {
    for source in [
        "shel:curl -H key:s3cr3t https://ip.example.com/",
        "ulr:https://user:s3cr3t@ip.example.com/",
        "ulr:https://ip.example.com/?key=s3cr3t",
        "url:ip.example.com/?key=s3cr3t",
        "cmd:curl 's3cr3t",
        "quorum:2(shell:curl s3cr3t, default",
        "quorum:2(url:https://ip.example.com/?key=s3cr3t)",
    ] {
        refused(4, &json!([source])).never_prints("s3cr3t");
    }
}

#[test]
fn f_a_form_with_nothing_behind_its_colon_is_an_error() {
    for family in [4, 6] {
        for source in ["regex:", "interface:", "stun:", "quorum:", "url:", "cmd:", "shell:", "regex: ", "interface: "] {
            refused(family, &json!([source]));
        }
    }
}

#[test]
fn f5_a_wrong_pattern_is_an_error_that_points_at_the_character() {
    for source in
        ["regex:(", "regex:127)", "regex:[a-", "regex:*127", "regex:a{2,1}", r"regex:127\", "regex:(?<n", "regex:a**|["]
    {
        let run = refused(4, &json!([source]));
        character(&run, source);
        refused(6, &json!(["default", source]));
    }
}
