//! F8: the sources `dns` and `dns:SERVER/NAME`, at Knot's whoami and at a server of the test's own.

use std::net::UdpSocket;

use serde_json::json;

use crate::support::dns_lab::{DnsLab, ODD, SETUP, answer, odd_server, record};
use crate::support::lookup::{look_up, refused};
use crate::support::tools::inside;

#[test]
fn f8_what_a_dns_server_saw_is_sent() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    // A server that sees our packets come from its own address, which is a public one.
    let knot = "dns:203.0.113.53/whoami.test";
    assert_eq!(look_up(4, &json!(knot)).sent.as_deref(), Some("203.0.113.53"));
    let agreed = look_up(4, &json!(format!("quorum:2({knot}, cmd:echo 203.0.113.53)")));
    assert_eq!(agreed.sent.as_deref(), Some("203.0.113.53"));
    // Asked over the family in question alone.
    let none = look_up(6, &json!(knot));
    assert!(none.sent.is_none() && none.run.stderr.contains("has no IPv6 address"), "{}", none.run.stderr);
    // A private address is no address to the world.
    let private = look_up(4, &json!("dns:10.53.0.4/whoami.test"));
    assert!(
        private.sent.is_none() && private.run.stderr.contains("it is a private or reserved address"),
        "{}",
        private.run.stderr
    );
    // A resolver answers without authority, as where port 53 is redirected.
    let resolver = look_up(4, &json!("dns:10.53.0.9/a.other.test"));
    assert!(resolver.sent.is_none(), "{}", resolver.run.stderr);
    assert!(resolver.run.stderr.contains("port 53 seems to be redirected"), "{}", resolver.run.stderr);
}

#[test]
fn f8b_f8c_texts_and_what_is_no_address() {
    let Some(()) = inside(SETUP) else { return };
    odd_server(|_, question| {
        let text = |text: &str| [&[u8::try_from(text.len()).expect("short")][..], text.as_bytes()].concat();
        let is = |label: &[u8]| question.windows(label.len()).any(|window| window == label);
        let answer = |flags, data: &[u8]| vec![answer(question, flags, &record(question, data))];
        match () {
            () if is(b"chaos") => answer([0x80, 0], &text("203.0.113.8")),
            () if is(b"subnet") => answer([0x84, 0], &text("edns0-client-subnet 203.0.113.0/24")),
            () if is(b"foreign") => answer([0x80, 0], &text("203.0.113.8")),
            () => answer([0x84, 0], &text("203.0.113.9")),
        }
    });
    let sent = |source: &str| look_up(4, &json!(source)).sent;
    assert_eq!(sent(&format!("dns:{ODD}/who.test/TXT")).as_deref(), Some("203.0.113.9"));
    assert_eq!(sent(&format!("dns:{ODD}:53/chaos/TXT/CH")).as_deref(), Some("203.0.113.8"));
    for (name, why) in [("subnet", "a text that is no address"), ("foreign", "port 53 seems to be redirected")] {
        let none = look_up(4, &json!(format!("dns:{ODD}/{name}/TXT")));
        assert!(none.sent.is_none() && none.run.stderr.contains(why), "{}", none.run.stderr);
    }
    // The next source is tried.
    assert_eq!(sent(&format!("dns:{ODD}/subnet/TXT, cmd:echo 203.0.113.10")).as_deref(), Some("203.0.113.10"));
}

#[test]
fn f8a_wrong_forms_are_refused() {
    for source in ["dns:", "dns:ns.example", "dns:ns.example/a/AAAA", "dns:u@h/a", "dns:ns.example/a..b"] {
        refused(4, &json!(source));
    }
}

/// Nobody is asked twice: one packet each, and the reason names every server.
#[test]
fn f8a_f8d_built_in_servers_are_tried_in_turn() {
    let Some(()) = inside("ip link set lo up; ip addr add 1.1.1.1/32 dev lo") else { return };
    let server = UdpSocket::bind("1.1.1.1:53").expect("port 53");
    let heard = std::thread::spawn(move || {
        let mut buffer = [0; 512];
        let (length, from) = server.recv_from(&mut buffer).expect("a question");
        let question = &buffer[..length];
        let _ = server.send_to(&answer(question, [0x80, 0], &record(question, b"\x0b203.0.113.9")), from);
        question.to_vec()
    });
    assert_eq!(look_up(4, &json!("dns")).sent.as_deref(), Some("203.0.113.9"), "1.1.1.1 saw it");
    let question = heard.join().expect("it was asked");
    assert!(question.ends_with(b"\x06whoami\x0acloudflare\x00\x00\x10\x00\x03"), "TXT of the class CH: {question:?}");
    assert_eq!(question[2], 0, "RD is for OpenDNS alone");
}
