//! Section F, `public`: several https services in turn, over the right family. Without a network each fails at once; with one that the test makes (a namespace where every service is this test) their order can be seen.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use serde_json::json;

use crate::support::Sandbox;
use crate::support::lookup::{look_up, look_up_in, refused};
use crate::support::pages::root;
use crate::support::tools::{inside, sh};

/// The services of a family, as the page on sources lists them.
fn services(family: u8) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/sources.md")).expect("the page");
    let row = format!("| IPv{family} | https://");
    let services = hosts(page.lines().find(|line| line.trim_start().starts_with(&row)).expect("the row"));
    assert!(services.len() >= 5, "IPv{family}: at least five services: {services:?}");
    services
}

/// The hosts behind `https://` in a text, in their order, each once.
fn hosts(text: &str) -> Vec<String> {
    let mut hosts = Vec::new();
    for part in text.split("https://").skip(1) {
        let host: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || "-.".contains(*c)).collect();
        let host = host.trim_end_matches('.').to_owned();
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

#[test]
fn f3_public_without_a_network_gives_one_reason() {
    let Some(()) = inside("ip link set lo up") else { return };
    for family in [4, 6] {
        let begun = Instant::now();
        let looked_up = look_up(family, &json!("public"));
        let took = begun.elapsed();
        let printed = &looked_up.run.stderr;
        assert_eq!(looked_up.sent, None, "IPv{family}");
        let services = services(family);
        assert_eq!(hosts(printed), services[..1], "IPv{family}: one reason is enough\n{printed}");
        assert!(printed.contains(&format!("none of {} services returned an address; ", services.len())), "{printed}");
        let plain = printed.replace("http://127.0.0.1", "");
        assert!(!plain.contains("http://"), "IPv{family}: never over plain http:\n{printed}");
        assert!(took < Duration::from_secs(5), "IPv{family}: took {took:?}");
    }
}

#[test]
fn f3_public_gives_way_to_the_next_source() {
    let Some(()) = inside("ip link set lo up") else { return };
    let looked_up = look_up(4, &json!(["public", "shell:echo 203.0.113.9"]));
    assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.9"), "{}", looked_up.run.stderr);
    assert!(looked_up.run.stderr.contains("public"), "{}", looked_up.run.stderr);
}

#[test]
fn f3_public_takes_nothing_behind_it() {
    refused(4, &json!(["public:x"]));
}

/// What one service responds with: the head and the body.
type Pages = Arc<Mutex<BTreeMap<String, &'static str>>>;
/// Who was asked over which family, in this order.
type Seen = Arc<Mutex<Vec<(u8, String)>>>;

const REFUSED: &str = "HTTP/1.1 503 No\r\nContent-Length: 11\r\nConnection: close\r\n\r\n198.51.1.66";
const NO_ADDRESS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
const BOTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 24\r\nConnection: close\r\n\r\n203.0.113.7\n2001:db8::7\n";
const USELESS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\nConnection: close\r\n\r\n127.0.0.1 ::1       ";

/// Serves every host of `names` on port 443 of loopback, over both families; returns the authority's certificate.
fn serve(names: &[String], pages: &Pages, seen: &Seen) -> String {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "testing");
    let root = params.self_signed(&key).expect("a root certificate").pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(names.to_vec()).expect("names").signed_by(&key, &issuer);
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that the provider has")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("a certificate").der().clone()], private)
        .expect("a certificate with its key");
    let config = Arc::new(config);
    for (family, address) in [(4, "127.0.0.1:443"), (6, "[::1]:443")] {
        let listener = TcpListener::bind(address).expect("port 443 of the namespace");
        let (config, pages, seen) = (config.clone(), pages.clone(), seen.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, pages, seen) = (config.clone(), pages.clone(), seen.clone());
                thread::spawn(move || respond(stream, config, family, &pages, &seen));
            }
        });
    }
    root
}

/// Reads one request and responds with its host's page.
fn respond(mut stream: TcpStream, config: Arc<ServerConfig>, family: u8, pages: &Pages, seen: &Seen) {
    let mut connection = ServerConnection::new(config).expect("a server side");
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        match tls.read(&mut buffer) {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
    let host = text.lines().find_map(|line| line.strip_prefix("host:")).unwrap_or_default().trim().to_owned();
    seen.lock().expect("no test thread failed").push((family, host.clone()));
    let page = pages.lock().expect("no test thread failed").get(&host).copied().unwrap_or(REFUSED);
    let _ = tls.write_all(page.as_bytes());
    connection.send_close_notify();
    let _ = connection.complete_io(&mut stream);
}

/// Every service is this test: first all refuse, then one after the other responds.
#[test]
fn f3_public_asks_in_turn_over_the_right_family_until_one_responds() {
    let Some(()) = inside("ip link set lo up") else { return };
    let services = [4, 6].map(services);
    let names: Vec<String> = services.concat();
    let sandbox = Sandbox::new();
    let known: Vec<_> = names.iter().map(|name| format!("127.0.0.1 {name}\n::1 {name}\n")).collect();
    let file = sandbox.write("hosts", format!("127.0.0.1 localhost\n::1 localhost\n{}", known.concat()));
    sh(&format!("mount --bind {} /etc/hosts", file.display()));
    let (pages, seen) = (Pages::default(), Seen::default());
    let root = serve(&names, &pages, &seen);
    let roots = sandbox.write("roots.pem", &root);
    let sandbox = sandbox.env("SSL_CERT_FILE", roots.to_str().expect("a plain path")).env("DDNS_CACHE", "false");
    for (family, services, expected) in [(4, &services[0], "203.0.113.7"), (6, &services[1], "2001:db8::7")] {
        let run = |pages_now: &[(&String, &'static str)]| {
            *pages.lock().expect("no test thread failed") =
                pages_now.iter().map(|(host, page)| ((*host).clone(), *page)).collect();
            seen.lock().expect("no test thread failed").clear();
            let looked_up = look_up_in(&sandbox, family, &json!("public"));
            (looked_up, seen.lock().expect("no test thread failed").clone())
        };
        let order = |count: usize| services[..count].iter().map(|host| (family, host.clone())).collect::<Vec<_>>();

        let (looked_up, requests) = run(&[]);
        assert_eq!(looked_up.sent, None, "IPv{family}: an error page holds no address");
        assert_eq!(requests, order(services.len()), "IPv{family}: all in turn\n{}", looked_up.run.stderr);

        let (looked_up, requests) = run(&[(&services[0], BOTH)]);
        assert_eq!(looked_up.sent.as_deref(), Some(expected), "IPv{family}: the first\n{}", looked_up.run.stderr);
        assert_eq!(requests, order(1), "IPv{family}: no more than the first");

        let (looked_up, requests) = run(&[(&services[0], NO_ADDRESS), (&services[1], USELESS), (&services[2], BOTH)]);
        assert_eq!(looked_up.sent.as_deref(), Some(expected), "IPv{family}: the third\n{}", looked_up.run.stderr);
        assert_eq!(requests, order(3), "IPv{family}: up to the third");
    }
    // A certificate that nobody vouches for is as good as no response.
    fs::write(&roots, another_authority()).expect("the file is written");
    let looked_up = look_up_in(&sandbox, 4, &json!("public"));
    assert_eq!(looked_up.sent, None, "{}", looked_up.run.stderr);
    // `ssl` counts for sources too (D6).
    *pages.lock().expect("no test thread failed") = services[0].iter().map(|host| (host.clone(), BOTH)).collect();
    assert_eq!(look_up_in(&sandbox, 4, &json!("public")).sent, None, "its issuer is unknown");
    let own = sandbox.write("own.pem", root);
    for ssl in ["false", own.to_str().expect("a plain path")] {
        let sandbox = Sandbox::new().env("SSL_CERT_FILE", roots.to_str().expect("a plain path")).env("DDNS_SSL", ssl);
        let looked_up = look_up_in(&sandbox, 4, &json!("public"));
        assert_eq!(looked_up.sent.as_deref(), Some("203.0.113.7"), "ssl: {ssl}: {}", looked_up.run.stderr);
    }
}

/// The certificate of an authority that signed nothing.
fn another_authority() -> String {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&key).expect("a root certificate").pem()
}
