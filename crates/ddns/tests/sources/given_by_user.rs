//! Section F, where the address comes from, as far as `default`, `url:`, `cmd:`, `shell:` and `false` go.

use std::net::{IpAddr, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::authority::Authority;
use crate::support::given::{home, with};
use crate::support::lookup::look_up_in;
use crate::support::odd_server::{endless, refusing, stalling};
use crate::support::{Receiver, Response, Sandbox};

/// The address that a family's source leads to: what the callback sends, or none (exit 1 and nothing sent).
#[track_caller]
fn found(family: u8, source: &Value) -> Option<String> {
    let receiver = Receiver::responding(|_| Response::status(204));
    let (domains, index) = if family == 4 { ("ipv4", "index4") } else { ("ipv6", "index6") };
    let mut config = json!({"dns": "callback", "id": receiver.url("/__IP__"), "timeout": 3});
    config[domains] = json!(["home.example.com"]);
    config[index] = source.clone();
    let run = Sandbox::new().sync(&config);
    let seen = receiver.callbacks();
    match run.code {
        0 => Some(receiver.only().target()[1..].to_owned()),
        1 => {
            assert!(seen.is_empty(), "nothing may be sent without an address: {seen:?}\n{}", run.stderr);
            None
        }
        other => panic!("source {source}: exit {other}:\n{}", run.stderr),
    }
}

/// The address that a page with this response leads to.
#[track_caller]
fn found_on_page(family: u8, response: Response) -> Option<String> {
    let page = Receiver::responding(move |_| response.clone());
    found(family, &json!(format!("url:{}", page.url("/page"))))
}

/// What the kernel would use toward the internet; connecting UDP sends no packet.
fn kernel_address(from: &str, toward: &str) -> Option<IpAddr> {
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(toward).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn usable_from_outside(address: IpAddr) -> bool {
    let local = match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local() || six.to_ipv4_mapped().is_some(),
    };
    !(local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// It is the user's decision (F7), but hardly meant: a page behind a proxy on this host, for example.
#[test]
fn f7_a_loopback_address_from_a_page_is_sent_with_a_warning() {
    let page = Receiver::responding(|_| Response::with_body(200, "127.0.0.1"));
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let source = format!("url:{}", page.url("/page"));
    let config = with(&home(&receiver.url("/__IP__")), &json!({"index4": source}));
    let warning = "it is a loopback address: other hosts cannot reach it";
    let run = sandbox.sync(&config).expect(0);
    assert_eq!(run.stderr.matches(warning).count(), 1, "{}", run.stderr);
    run.prints(&format!("warning: IPv4: 127.0.0.1 from {source}"));
    assert_eq!(receiver.only().target(), "/127.0.0.1");
    for args in [&["addresses", "--wide"][..], &["preview", "--wide"], &["check", "--online", "--wide"]] {
        let run = sandbox.run(args).expect(0);
        assert!(run.stdout.contains(warning), "{args:?}: {}", run.stdout);
    }
    let usual = with(&config, &json!({"index4": receiver.index4(), "cache": false}));
    sandbox.sync(&usual).expect(0).never_prints("warning");
}

#[test]
fn f2_default_is_the_address_toward_the_internet() {
    let expected = kernel_address("0.0.0.0:0", "198.51.100.1:9").filter(|address| usable_from_outside(*address));
    let expected = expected.map(|address| address.to_string());
    assert_eq!(found(4, &json!("default")), expected);
    assert_eq!(found(4, &json!(["default"])), expected);
}

/// Which of several IPv6 addresses is the stable one is the program's to know; that it can be used is ours.
#[test]
fn f2_default_for_ipv6_is_usable_from_outside() {
    let sent = found(6, &json!("default"));
    if let Some(text) = &sent {
        let address: IpAddr = text.parse().expect("an address is sent");
        assert!(address.is_ipv6() && usable_from_outside(address), "{address}");
    }
    let kernel = kernel_address("[::]:0", "[2001:db8::1]:9").filter(|address| usable_from_outside(*address));
    assert_eq!(sent.is_some(), kernel.is_some(), "sent {sent:?}, the kernel would use {kernel:?}");
}

#[test]
fn f1_without_a_source_it_is_default() {
    let receiver = Receiver::new();
    let config = json!({"dns": "callback", "id": receiver.url("/__IP__"), "ipv4": ["home.example.com"]});
    let run = Sandbox::new().sync(&config);
    let sent = receiver.callbacks().first().map(|one| one.target()[1..].to_owned());
    assert_eq!(sent, found(4, &json!("default")));
    assert_eq!(run.code, i32::from(sent.is_none()), "{}", run.stderr);
}

#[test]
fn f_false_switches_a_family_off() {
    let receiver = Receiver::new();
    let off = json!({"index4": false, "ipv6": ["home.example.com"], "index6": receiver.index6()});
    Sandbox::new().sync(&with(&home(&receiver.url("/__IP__")), &off)).expect(0);
    assert_eq!(receiver.only().target(), "/2001:db8::7");
}

#[test]
fn f1_sources_are_tried_in_order_and_the_first_usable_address_wins() {
    let page = Receiver::new();
    let dead = format!("url:http://{}/", refusing());
    for (sources, expected) in [
        (json!(["shell:echo 203.0.113.1", "shell:echo 203.0.113.2"]), "203.0.113.1"),
        (json!(["shell:true", "shell:echo 203.0.113.2"]), "203.0.113.2"),
        (json!([dead, "cmd:/nonexistent/program", "shell:echo 2001:db8::1", page.index4()]), "203.0.113.7"),
    ] {
        assert_eq!(found(4, &sources).as_deref(), Some(expected), "sources {sources}");
    }
    let asked = page.lookups();
    found(4, &json!(["shell:echo 203.0.113.1", page.index4()]));
    assert_eq!(page.lookups(), asked, "what comes after a found address is not asked");
}

/// What is not cut has no word that may be half.
#[test]
fn f4_f6_a_text_of_exactly_64_kib_is_whole() {
    let text = format!("{}203.0.113.7", " ".repeat(65_536 - 11));
    assert_eq!(found_on_page(4, Response::with_body(200, &text)).as_deref(), Some("203.0.113.7"));
    assert_eq!(found_on_page(4, Response::with_body(200, &format!("{text}8"))), None, "an address that is cut");
    for (more, expected) in [(0, Some("203.0.113.7")), (1, None)] {
        let line = format!("shell:printf '%{}s' 203.0.113.7; printf '%{more}.{more}s' 8", 65_536);
        assert_eq!(found(4, &json!(line)).as_deref(), expected, "{line}");
    }
}

#[test]
fn f_sources_that_fail_say_why_in_plain_words() {
    let receiver = Receiver::new();
    for (source, expected) in [
        ("shell:echo 224.0.0.1", "has only 224.0.0.1, which no host can have: it is a multicast address"),
        ("cmd:/nonexistent/program", "`program` cannot be started (no such file or directory)"),
        ("quorum:1(shell:true, shell:true)", "none of its 2 sources gives an address"),
    ] {
        let config = with(&home(&receiver.url("/__IP__")), &json!({"index4": [source]}));
        Sandbox::new().sync(&config).expect(1).prints(expected).never_prints("os error");
    }
}

#[test]
fn f4_the_first_address_of_the_right_family_in_the_text() {
    for (family, text, expected) in [
        (4, "203.0.113.7", Some("203.0.113.7")),
        (4, "  203.0.113.7\r\n", Some("203.0.113.7")),
        (4, "<b>Your address: 203.0.113.7</b>", Some("203.0.113.7")),
        (4, r#"{"ip":"203.0.113.7","ok":true}"#, Some("203.0.113.7")),
        (4, "ip=203.0.113.7&port=8080", Some("203.0.113.7")),
        (4, "203.0.113.7, 198.51.100.1", Some("203.0.113.7")),
        (4, "It is 203.0.113.7.", Some("203.0.113.7")),
        (4, "2001:db8::7 and 203.0.113.7", Some("203.0.113.7")),
        (4, "v1.2.3.4.5 203.0.113.7", Some("203.0.113.7")),
        (4, "v1.2.3.4.5", None),
        (4, "999.1.2.3", None),
        (4, "1.2.3.999", None),
        (4, "1203.0.113.7", None),
        (4, "203.0.113.7000", None),
        (4, "203.0.113", None),
        (4, "2001:db8::7", None),
        (4, "", None),
        (6, "2001:db8::7", Some("2001:db8::7")),
        (6, "[2001:DB8::7]", Some("2001:db8::7")),
        (6, "203.0.113.7 then 2001:db8::7", Some("2001:db8::7")),
        (6, "at 12:34:56 it was 2001:db8::7", Some("2001:db8::7")),
        (6, "12:34:56", None),
        (6, "00:1a:2b:3c:4d:5e", None),
        (6, "2001:db8:::7", None),
        (6, "2001:db8::12345", None),
        (6, "203.0.113.7", None),
    ] {
        let sent = found_on_page(family, Response::with_body(200, text));
        assert_eq!(sent.as_deref(), expected, "IPv{family} in {text:?}");
    }
}

#[test]
fn f4_only_a_2xx_page_counts() {
    for (status, expected) in [(200, true), (203, true), (300, false), (404, false), (429, false), (500, false)] {
        let sent = found_on_page(4, Response::with_body(status, "203.0.113.7"));
        assert_eq!(sent.is_some(), expected, "a page with status {status}");
    }
}

#[test]
fn f4_a_page_is_read_up_to_64_kib() {
    for (blanks, expected) in [(60_000, true), (70_000, false), (3_000_000, false)] {
        let sent = found_on_page(4, Response::with_body(200, &format!("{}203.0.113.7", " ".repeat(blanks))));
        assert_eq!(sent.is_some(), expected, "an address after {blanks} blanks");
    }
}

#[test]
fn f4_a_page_that_never_ends_or_never_responds_gives_way_to_the_next_source() {
    let begun = Instant::now();
    for address in [stalling(b""), endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b' '; 65536], Duration::ZERO)] {
        let sent = found(4, &json!([format!("url:http://{address}/"), "shell:echo 203.0.113.9"]));
        assert_eq!(sent.as_deref(), Some("203.0.113.9"));
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "took {:?} with a limit of 3 s", begun.elapsed());
}

/// Many small servers close a TLS connection without notice. What then counts as whole must be known to be whole, or end in
/// a line end.
#[test]
fn f4_a_page_whose_server_closes_without_notice_counts_where_it_is_whole() {
    let authority = Authority::new("testing");
    let known = "HTTP/1.1 200 OK\r\nContent-Length";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n203.0.113.7\n";
    let to_the_end = "HTTP/1.1 200 OK\r\n\r\n";
    for (response, with_notice, is_found) in [
        (format!("{known}: 11\r\n\r\n203.0.113.7"), false, true),
        (format!("{known}: 40\r\n\r\n203.0.113.7\n"), false, false),
        (format!("{chunked}\r\n0\r\n\r\n"), false, true),
        (format!("{chunked}\r\n"), false, false),
        (chunked.to_owned(), false, false),
        (format!("{to_the_end}203.0.113.7\n"), false, true),
        (format!("{to_the_end}203.0.113.7\r\n"), false, true),
        ("HTTP/1.0 200 OK\r\n\r\n203.0.113.7\n".to_owned(), false, true),
        (format!("{to_the_end}203.0.113.7"), false, false),
        (format!("{to_the_end}203.0.113.7"), true, true),
    ] {
        let port = authority.sending(response.clone(), with_notice);
        let looked_up = look_up_in(&authority.trusted(), 4, &json!(format!("url:https://localhost:{port}/")));
        let expected = is_found.then_some("203.0.113.7");
        assert_eq!(looked_up.sent.as_deref(), expected, "{response:?}: {}", looked_up.run.stderr);
        assert_eq!(looked_up.run.stderr.contains("its response was cut off"), !is_found, "{}", looked_up.run.stderr);
    }
}

#[test]
fn f6_shell_runs_a_whole_line_of_shell() {
    for line in [
        "shell:echo x; echo 203.0.113.7 | cat",
        "shell:printf '%s,%s' a 203.0.113.7",
        "shell:echo ${NONE:-203.0.113.7}",
    ] {
        assert_eq!(found(4, &json!(line)).as_deref(), Some("203.0.113.7"), "{line}");
    }
}

#[test]
fn f6_cmd_understands_quotes_and_knows_no_shell() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("show.sh", "for part; do echo \"<$part>\"; done >arguments.txt; echo 203.0.113.7");
    let more = json!({"index4": r#"cmd:sh show.sh 'a  b' "c; d" $HOME > file, | * e"#});
    sandbox.sync(&with(&home(&receiver.url("/__IP__")), &more)).expect(0);
    assert_eq!(receiver.only().target(), "/203.0.113.7");
    let given = sandbox.read("arguments.txt");
    let expected = ["<a  b>", "<c; d>", "<$HOME>", "<>>", "<file,>", "<|>", "<*>", "<e>"];
    assert_eq!(given.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn f6_the_first_address_of_the_right_family_in_the_output() {
    for source in ["shell:echo 2001:db8::7; echo at 203.0.113.7 or 203.0.113.8", "cmd:echo 2001:db8::7 203.0.113.7"] {
        assert_eq!(found(4, &json!([source])).as_deref(), Some("203.0.113.7"), "{source}");
        assert_eq!(found(6, &json!([source])).as_deref(), Some("2001:db8::7"), "{source}");
    }
}

/// A command that reads must not wait for, or take, what was meant for the program.
#[test]
fn f6_commands_have_no_standard_input() {
    for source in ["shell:cat; echo 203.0.113.7", "cmd:sh -c 'cat; echo 203.0.113.7'"] {
        let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
        sandbox.write("config.json", with(&home(&receiver.url("/__IP__")), &json!({"index4": [source]})).to_string());
        let begun = Instant::now();
        let mut child = sandbox
            .command(&["-c", "config.json"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut open = child.stdin.take().expect("a pipe");
        let _ = std::io::Write::write_all(&mut open, b"198.51.100.99\n");
        assert_eq!(child.wait().expect("the program ends").code(), Some(0), "{source}");
        assert_eq!(receiver.only().target(), "/203.0.113.7", "{source}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{source} took {:?}", begun.elapsed());
        drop(open);
    }
}

/// Takes half a minute by its nature, but only waits.
#[test]
fn f6_a_command_that_hangs_is_ended_with_its_children() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let hang = "shell:sleep 200 & echo $! >child.pid; wait";
    let begun = Instant::now();
    sandbox.sync(&with(&home(&receiver.url("/")), &json!({"index4": [hang]}))).expect(1);
    let expected = Duration::from_secs(29)..Duration::from_secs(40);
    assert!(expected.contains(&begun.elapsed()), "took {:?}", begun.elapsed());
    let child = format!("/proc/{}/stat", sandbox.read("child.pid").trim());
    let state = || std::fs::read_to_string(&child).unwrap_or_default();
    let is_ended = || state().is_empty() || state().contains(") Z ");
    // It was killed; on a busy machine it takes a moment until it is gone.
    let ended_by = Instant::now() + Duration::from_secs(10);
    while !is_ended() && Instant::now() < ended_by {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_ended(), "the child still runs: {}", state());
}

#[test]
fn f7_any_unicast_address_that_the_user_gave_passes_and_others_never_do() {
    for (family, address, passes) in [
        (4, "203.0.113.7", true),
        (4, "127.0.0.1", true),
        (4, "10.1.2.3", true),
        (4, "192.168.1.2", true),
        (4, "169.254.1.1", true),
        (4, "100.64.0.1", true),
        (4, "0.0.0.0", false),
        (4, "224.0.0.1", false),
        (4, "239.255.255.250", false),
        (6, "2001:db8::7", true),
        (6, "fd00::1", true),
        (6, "fe80::1", true),
        (6, "::1", true),
        (6, "::", false),
        (6, "ff02::1", false),
        (6, "::ffff:203.0.113.7", false),
        (6, "::ffff:cb00:7107", false),
    ] {
        let expected = passes.then_some(address);
        assert_eq!(found(family, &json!(format!("shell:echo {address}"))).as_deref(), expected, "shell: {address}");
        assert_eq!(found_on_page(family, Response::with_body(200, address)).as_deref(), expected, "url: {address}");
    }
}
