//! Section D, what routes cost (D5, E2): one that hangs leaves time for the others, is not waited for again and again, and
//! is reported as what it is.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::authority::Authority;
use crate::support::given::with;
use crate::support::odd_server::stalling;
use crate::support::proxies::{Proxy, Then, by};
use crate::support::tools::{SILENT, hosts};
use crate::support::tools::{inside, sh};
use crate::support::{Receiver, Response, Sandbox};

/// Accepts everything, each time on a new connection.
fn closing() -> Receiver {
    Receiver::responding(|_| Response::status(200).header("Connection", "close"))
}

/// A SOCKS5 proxy that sends these words for the last number of the address that is asked for, or hangs; it responds to the
/// request that follows in the endpoint's place.
fn socks(reply: impl Fn(usize, u8) -> Option<u8> + Send + Sync + 'static) -> Proxy {
    Proxy::serving(move |mut stream, seen| {
        let mut buffer = [0; 2048];
        let _ = stream.read(&mut buffer)?;
        stream.write_all(&[5, 0])?;
        let length = stream.read(&mut buffer)?;
        let last = buffer[..length].iter().rev().nth(2).copied().unwrap_or_default();
        let count = {
            let mut seen = seen.lock().expect("no test thread failed");
            seen.push(last.to_string());
            seen.len()
        };
        let Some(code) = reply(count, last) else {
            std::thread::sleep(Duration::from_secs(20));
            return Ok(());
        };
        stream.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0])?;
        let _ = stream.read(&mut buffer)?;
        stream.write_all(b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n")
    })
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("d{number}.example.com")).collect()
}

#[test]
fn d5_a_proxy_that_fails_at_once_stays_first() {
    let (endpoint, refuses) = (closing(), socks(|_, _| Some(5)));
    let config = by(&endpoint.url("/hook"), json!([format!("socks5h://{}", refuses.address), "DIRECT"]));
    Sandbox::new().sync(&with(&config, &json!({"ipv4": names(5), "concurrency": 1}))).expect(0);
    assert_eq!((refuses.seen().len(), endpoint.callbacks().len()), (5, 5), "tried in order each time");
}

#[test]
fn d5_a_proxy_that_works_again_is_first_again() {
    let (wakes, refuses) = (socks(|count, _| (count > 1).then_some(0)), socks(|_, _| Some(5)));
    let routes = [&wakes, &refuses].map(|proxy| format!("socks5h://{}", proxy.address));
    let config = by("http://192.0.2.1/hook", json!(routes));
    let run = Sandbox::new().sync(&with(&config, &json!({"ipv4": names(4), "concurrency": 1, "timeout": 2}))).expect(1);
    run.prints("1 failed, 3 accepted");
    // The first hangs, and the second refuses; then the second is asked first, once.
    assert_eq!((wakes.seen().len(), refuses.seen().len()), (4, 2));
}

#[test]
fn d5_a_proxy_that_cannot_be_reached_is_waited_for_once_for_all_origins() {
    let Some(()) = inside(SILENT) else { return };
    let receiver = Receiver::on("0.0.0.0:0", |_| Response::status(200));
    let id = format!("http://__DOMAIN__:{}/", receiver.port());
    let origins = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"];
    let config = with(
        &by(&id, json!(["http://198.51.100.2:3128", "DIRECT"])),
        &json!({"ipv4": origins, "concurrency": 1, "timeout": 2}),
    );
    let begun = Instant::now();
    Sandbox::new().sync(&config).expect(0);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(receiver.callbacks().len(), 5);
}

/// A resolver that never responds.
fn stuck_resolver(sandbox: &Sandbox) -> UdpSocket {
    let resolver = UdpSocket::bind("127.0.0.1:53").expect("nobody else is in the namespace");
    let file = sandbox.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:1\n");
    sh(&format!("mount --bind {} /etc/resolv.conf", file.display()));
    resolver
}

#[test]
fn e2_a_lookup_that_hangs_leaves_time_for_the_next_route() {
    let Some(()) = inside("ip link set lo up") else { return };
    let (sandbox, proxy) = (Sandbox::new(), socks(|_, _| Some(0)));
    let _resolver = stuck_resolver(&sandbox);
    let routes = json!(["DIRECT", format!("socks5h://{}", proxy.address)]);
    let config = with(&by("http://slow.example.com/hook", routes), &json!({"timeout": 4}));
    sandbox.sync(&config).expect(0);
    assert_eq!(proxy.seen().len(), 1);
    // A name of ours that cannot be looked up for a proxy, nor one of a proxy.
    for route in [format!("socks5://{}", proxy.address), "http://proxy.example.com:3128".to_owned()] {
        let config = with(&by("http://slow.example.com/hook", json!([route])), &json!({"timeout": 1, "cache": false}));
        let run = sandbox.sync(&config).expect(1);
        run.prints(&format!("(proxy {route}: the name ")).prints("could not be looked up within 0.");
    }
}

#[test]
fn d5_each_address_of_the_endpoint_has_its_share_of_the_time_of_a_socks_proxy() {
    let Some(()) = inside("ip link set lo up") else { return };
    let (sandbox, proxy) = (Sandbox::new(), socks(|count, _| (count > 1).then_some(0)));
    hosts(&sandbox, "127.0.0.2 two.example.com\n127.0.0.3 two.example.com");
    let route = format!("socks5://{}", proxy.address);
    let config = with(&by("http://two.example.com/hook", json!([route])), &json!({"timeout": 4}));
    sandbox.sync(&config).expect(0);
    assert_eq!(proxy.seen().len(), 2);
}

#[test]
fn e2_a_failed_tls_handshake_is_reported() {
    let silent = stalling(b"");
    let tunnel = Proxy::http(Then::Opens("HTTP/1.1 200 OK\r\n\r\n"));
    let id = format!("https://{silent}/hook");
    let via = format!("(through the proxy {}), but the TLS handshake did not finish within ", tunnel.url());
    let itself = format!("connected to the proxy https://{silent}, but the TLS handshake did not finish within ");
    for (id, route, part) in [
        (id.as_str(), "DIRECT".to_owned(), "but the TLS handshake did not finish within "),
        (id.as_str(), tunnel.url(), via.as_str()),
        ("http://dns.example.com/", format!("https://{silent}"), itself.as_str()),
    ] {
        let begun = Instant::now();
        let config = with(&by(id, json!([route])), &json!({"timeout": 1}));
        Authority::new("known").trusted().sync(&config).expect(1).prints(part);
        assert!(begun.elapsed() < Duration::from_secs(3), "{route}: {:?}", begun.elapsed());
    }
}

/// A name that looks local belongs to whatever network the proxy is in.
#[test]
fn d6_behind_a_proxy_that_is_not_local_nothing_is_trusted_unverified() {
    let Some(()) = inside("ip link set lo up") else { return };
    let sandbox = Authority::new("known").trusted();
    hosts(&sandbox, "127.0.0.1 proxy.example.com");
    let server = Authority::new("stranger").server("nas.lan");
    let id = format!("https://nas.lan:{}/hook", server.port);
    let tunnel = Proxy::http(Then::Opens("HTTP/1.1 200 OK\r\n\r\n"));
    let far = format!("http://proxy.example.com:{}", tunnel.address.port());
    let run = sandbox.sync(&by(&id, json!([far]))).expect(1);
    run.prints("an issuer that this system does not trust").prints("set `ssl`");
    assert_eq!(server.seen(), [""; 0]);
    sandbox.sync(&by(&id, json!([tunnel.url()]))).expect(0).prints("is trusted unverified");
    assert_eq!(server.seen().len(), 1);
}
