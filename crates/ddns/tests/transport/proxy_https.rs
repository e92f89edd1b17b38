//! Section D, proxies that are spoken to over TLS (D5, D6): verified as `ssl` says, by the proxy's own name.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned, version};
use serde_json::json;

use crate::support::Receiver;
use crate::support::authority::{Authority, params_for};
use crate::support::given::with;
use crate::support::odd_server::refusing;
use crate::support::proxies::{Proxy, by};

/// A proxy that gives tunnels inside of TLS.
fn tunnels(config: Arc<ServerConfig>) -> Proxy {
    Proxy::serving(move |stream, seen| {
        let connection = ServerConnection::new(config.clone()).expect("a server side");
        let mut tls = StreamOwned::new(connection, stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            tls.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        seen.lock().expect("no test thread failed").push(head.clone());
        let target = head.split(' ').nth(1).unwrap_or_default();
        let port = target.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
        let mut onward = TcpStream::connect(("127.0.0.1", port))?;
        tls.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        for socket in [&tls.sock, &onward] {
            socket.set_read_timeout(Some(Duration::from_millis(5)))?;
        }
        while moved(&mut tls, &mut onward) && moved(&mut onward, &mut tls) {}
        Ok(())
    })
}

/// Passes on what has come; false where nothing more will.
fn moved(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut buffer = [0; 16384];
    match from.read(&mut buffer) {
        Ok(0) => false,
        Ok(length) => to.write_all(&buffer[..length]).is_ok(),
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

fn https(port: u16) -> String {
    format!("https://proxy-user:proxy-word@localhost:{port}")
}

#[test]
fn d5_an_http_address_goes_to_an_https_proxy_inside_of_tls() {
    let authority = Authority::new("known");
    let proxy = authority.server("localhost");
    let config = by("http://dns.example.com/hook", json!([https(proxy.port)]));
    authority.trusted().sync(&with(&config, &json!({"ssl": true}))).expect(0).never_prints("warning");
    let seen = proxy.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].starts_with("GET http://dns.example.com/hook HTTP/1.1\r\n"), "{seen:?}");
    assert!(seen[0].contains("Proxy-Authorization: Basic "), "{seen:?}");
}

#[test]
fn d5_an_https_address_goes_through_an_https_proxy_in_tls_inside_of_tls() {
    let authority = Authority::new("known");
    for proxy_version in [&version::TLS13, &version::TLS12] {
        let proxy = tunnels(authority.config(&params_for("localhost"), &[proxy_version]));
        let server = authority.server("localhost");
        let config = by(&server.url("/hook?ip=__IP__"), json!([https(proxy.address.port())]));
        authority.trusted().sync(&with(&config, &json!({"ssl": true}))).expect(0);
        assert!(proxy.seen()[0].starts_with("CONNECT localhost:"), "{:?}", proxy.seen());
        assert!(server.seen()[0].starts_with("GET /hook?ip=203.0.113.7 HTTP/1.1\r\n"), "{:?}", server.seen());
    }
}

#[test]
fn d6_a_proxy_with_a_wrong_certificate_is_passed_over_or_reported() {
    let authority = Authority::new("known");
    let stranger = Authority::new("stranger");
    let endpoint = Receiver::new();
    let other_name = authority.server("other.example.com");
    let unknown = stranger.server("localhost");
    for (proxy, part) in [(&other_name, "is for another name: is the host in `proxy` right?"), (&unknown, "an issuer")]
    {
        let alone = by(&endpoint.url("/hook"), json!([https(proxy.port)]));
        let expected = format!("(proxy https://localhost:{}: the certificate of the proxy", proxy.port);
        let run = authority.trusted().sync(&with(&alone, &json!({"ssl": true}))).expect(1);
        run.prints(&expected).prints(part).never_prints("proxy-word");
        let both = by(&endpoint.url("/hook"), json!([https(proxy.port), "DIRECT"]));
        authority.trusted().sync(&with(&both, &json!({"ssl": true}))).expect(0);
        assert_eq!((proxy.seen().len(), endpoint.take().len()), (0, 1), "{part}");
    }
}

#[test]
fn d6_auto_lets_a_local_proxy_pass_and_warns() {
    let proxy = Authority::new("stranger").server("localhost");
    let config = by("http://dns.example.com/hook", json!([https(proxy.port)]));
    let run = Authority::new("known").trusted().sync(&config).expect(0);
    run.prints(&format!("the proxy https://localhost:{} is trusted unverified", proxy.port));
    assert_eq!(proxy.seen().len(), 1);
}

#[test]
fn d6_a_ca_file_counts_for_the_proxy_too() {
    let own = Authority::new("own");
    let proxy = own.server("localhost");
    let sandbox = Authority::new("system").trusted();
    sandbox.write("ca.pem", &own.pem);
    let config = by("http://dns.example.com/hook", json!([https(proxy.port)]));
    sandbox.sync(&with(&config, &json!({"ssl": "ca.pem"}))).expect(0).never_prints("warning");
    assert_eq!(proxy.seen().len(), 1);
}

#[test]
fn e2_https_toward_a_plain_proxy_is_reported() {
    let proxy = Receiver::new();
    let route = format!("https://127.0.0.1:{}", proxy.port());
    let config = with(&by("http://dns.example.com/hook", json!([route])), &json!({"timeout": 2}));
    Authority::new("known").trusted().sync(&config).expect(1).prints(&format!("(proxy {route}: "));
    let dead = refusing();
    let config = by("http://dns.example.com/hook", json!([format!("https://{dead}")]));
    Authority::new("known")
        .trusted()
        .sync(&config)
        .expect(1)
        .prints(&format!("proxy https://{dead}: connection refused"));
}
