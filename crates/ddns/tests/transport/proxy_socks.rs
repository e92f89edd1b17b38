//! Section D, SOCKS5 (D5): the bytes that are sent to a proxy, and what is reported of its responses.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::given::with;
use crate::support::proxies::{Proxy, by};
use crate::support::{Receiver, Sandbox};

const ACCEPTED: [u8; 10] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// Sends one of these responses to each message, then responds to a request with 204 in the endpoint's place.
fn scripted(responses: Vec<Vec<u8>>) -> Proxy {
    Proxy::serving(move |mut stream, seen| {
        let mut buffer = [0; 2048];
        for response in &responses {
            let length = stream.read(&mut buffer)?;
            let bytes: Vec<String> = buffer[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            seen.lock().expect("no test thread failed").push(bytes.join(""));
            stream.write_all(response)?;
        }
        let length = stream.read(&mut buffer)?;
        seen.lock().expect("no test thread failed").push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        stream.write_all(b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n")
    })
}

fn socks(proxy: &Proxy, scheme: &str, login: &str) -> String {
    format!("{scheme}://{login}{}", proxy.address)
}

#[test]
fn d5_names_and_addresses_are_sent_in_their_forms() {
    let cases = [
        ("socks5h", "http://dns.example.com/hook", "050100030f646e732e6578616d706c652e636f6d0050"),
        ("socks5h", "http://192.0.2.1:8080/hook", "05010001c00002011f90"),
        ("socks5", "http://192.0.2.1/hook", "05010001c00002010050"),
        ("socks5", "http://[2001:db8::1]:81/hook", "0501000420010db80000000000000000000000010051"),
        ("socks5h", "http://[2001:db8::1]:81/hook", "0501000420010db80000000000000000000000010051"),
    ];
    for (scheme, id, request) in cases {
        let proxy = scripted(vec![vec![5, 0], ACCEPTED.to_vec()]);
        Sandbox::new().sync(&by(id, json!([socks(&proxy, scheme, "")]))).expect(0);
        let seen = proxy.seen();
        assert_eq!(seen[..2], ["050100".to_owned(), request.to_owned()], "{scheme} {id}");
        assert!(seen[2].starts_with("GET /hook HTTP/1.1\r\n"), "{seen:?}");
    }
}

#[test]
fn d5_socks5_looks_names_up_here() {
    let proxy = scripted(vec![vec![5, 0], vec![5, 0, 0, 3, 4, b'n', b'a', b'm', b'e', 0, 1]]);
    Sandbox::new().sync(&by("http://localhost:81/hook", json!([socks(&proxy, "socks5", "")]))).expect(0);
    let asked = &proxy.seen()[1];
    assert!(
        ["050100017f0000010051", "05010004000000000000000000000000000000010051"].contains(&asked.as_str()),
        "{asked}"
    );
}

#[test]
fn d5_user_and_password_are_sent_where_they_are_asked_for() {
    let route = |proxy: &Proxy| socks(proxy, "socks5h", "us:p%40ss@");
    let proxy =
        scripted(vec![vec![5, 2], vec![1, 0], vec![5, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]);
    Sandbox::new().sync(&by("http://dns.example.com/hook", json!([route(&proxy)]))).expect(0);
    assert_eq!(proxy.seen()[..2], ["05020002", "010275730470407373"]);
    assert!(!proxy.seen()[3].to_lowercase().contains("authorization"), "{:?}", proxy.seen());
    // Not asked for, not sent.
    let proxy = scripted(vec![vec![5, 0], ACCEPTED.to_vec()]);
    Sandbox::new().sync(&by("http://dns.example.com/hook", json!([route(&proxy)]))).expect(0);
    assert_eq!(proxy.seen()[0], "05020002");
}

#[test]
fn e2_what_a_socks_proxy_responds_is_reported_and_passed_over() {
    let refuses = |code| vec![vec![5, 0], vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0]];
    let cases = [
        (refuses(1), "cannot connect to the endpoint: it failed"),
        (refuses(2), "its rules do not allow it"),
        (refuses(3), "network unreachable"),
        (refuses(4), "host unreachable"),
        (refuses(5), "connection refused"),
        (refuses(6), "timed out"),
        (refuses(7), "it does not support this command"),
        (refuses(8), "it does not support this kind of address"),
        (refuses(99), "its reason 99 is unknown"),
        (vec![vec![5, 255]], "asks for a user and password"),
        (vec![vec![5, 1]], "a login other than user and password"),
        (vec![b"HTTP/1.1 400 Bad\r\n\r\n".to_vec()], "does not speak SOCKS5"),
        (vec![vec![5, 0], b"SSH-2".to_vec()], "does not speak SOCKS5"),
        (vec![vec![5, 0], vec![5, 0, 0, 9, 9, 9, 9, 9]], "does not speak SOCKS5"),
    ];
    for (responses, part) in cases {
        let proxy = scripted(responses);
        let route = socks(&proxy, "socks5h", "");
        let run = Sandbox::new().sync(&by("http://dns.example.com/hook", json!([route]))).expect(1);
        run.prints(&format!("no connection to http://dns.example.com (proxy {route}: ")).prints(part);
        let endpoint = Receiver::new();
        Sandbox::new().sync(&by(&endpoint.url("/hook"), json!([route, "DIRECT"]))).expect(0);
        assert_eq!(endpoint.callbacks().len(), 1, "{part}");
    }
}

#[test]
fn e2_a_login_that_a_socks_proxy_does_not_accept_is_reported() {
    let proxy = scripted(vec![vec![5, 2], vec![1, 1]]);
    let route = socks(&proxy, "socks5h", "proxy-user:proxy-word@");
    let run =
        Sandbox::new().sync(&with(&by("http://dns.example.com/", json!([route])), &json!({"debug": true}))).expect(1);
    run.prints("does not accept the user and password").never_prints("proxy-user").never_prints("proxy-word");
}

#[test]
fn e2_a_socks_proxy_that_closes_or_hangs_is_reported_within_the_limit() {
    let closes = Proxy::serving(|mut stream, _| stream.read(&mut [0; 64]).map(|_| ()));
    let hangs = Proxy::serving(|mut stream, _| {
        let _ = stream.read(&mut [0; 64])?;
        std::thread::sleep(Duration::from_secs(10));
        Ok(())
    });
    let half = Proxy::serving(|mut stream, _| {
        let _ = stream.read(&mut [0; 64])?;
        stream.write_all(&[5, 0])?;
        let _ = stream.read(&mut [0; 64])?;
        stream.write_all(&[5, 0, 0])
    });
    for (proxy, part) in
        [(closes, "closed the connection"), (half, "closed the connection"), (hangs, "no response within")]
    {
        let config =
            with(&by("http://dns.example.com/", json!([socks(&proxy, "socks5h", "")])), &json!({"timeout": 2}));
        let begun = Instant::now();
        Sandbox::new().sync(&config).expect(1).prints(part);
        assert!(begun.elapsed() < Duration::from_secs(4), "{part}: {:?}", begun.elapsed());
    }
}
