//! Section F, `stun:HOST[:PORT]`: one small packet asks, one responds. Against a scripted server for what can go wrong,
//! and against a real one (coturn) where it is installed.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Sandbox;
use crate::support::lookup::{look_up, refused};
use crate::support::odd_server::refusing;
use crate::support::programs::{needed, skipped, started_when};

const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
const BINDING_REQUEST: u16 = 0x0001;
const BINDING_SUCCESS: u16 = 0x0101;
const BINDING_ERROR: u16 = 0x0111;
const ERROR_CODE: u16 = 0x0009;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const SOFTWARE: u16 = 0x8022;

/// The address of the source behind the one under test.
const NEXT: &str = "203.0.113.99";
/// Only ever in responses that must not count.
const FALSE_V4: &str = "198.51.100.66";

/// Three tries of about 0.5, 1 and 1.5 s, and room for a slow machine.
const LIMIT: Duration = Duration::from_millis(5500);

fn message(kind: u16, transaction: &[u8], attributes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(attributes.len()).expect("a short message");
    [&kind.to_be_bytes()[..], &length.to_be_bytes(), &COOKIE, transaction, attributes].concat()
}

/// One attribute, filled up to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).expect("a short attribute");
    let mut bytes = [&kind.to_be_bytes()[..], &length.to_be_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The XOR-MAPPED-ADDRESS attribute for port 32853.
fn mapped(ip: &str, transaction: &[u8]) -> Vec<u8> {
    let mask = [&COOKIE[..], transaction].concat();
    let masked = |bytes: &[u8]| -> Vec<u8> { bytes.iter().zip(&mask).map(|(byte, mask)| byte ^ mask).collect() };
    let (family, address) = match ip.parse().expect("an address") {
        IpAddr::V4(v4) => (1, masked(&v4.octets())),
        IpAddr::V6(v6) => (2, masked(&v6.octets())),
    };
    attribute(XOR_MAPPED_ADDRESS, &[&[0, family][..], &masked(&32853_u16.to_be_bytes()), &address].concat())
}

fn success(ip: &str, transaction: &[u8]) -> Vec<u8> {
    message(BINDING_SUCCESS, transaction, &mapped(ip, transaction))
}

/// Another transaction than this one.
fn other(transaction: &[u8]) -> Vec<u8> {
    transaction.iter().map(|byte| !byte).collect()
}

/// What the server sends back for one request: the number of the try (from 1) and the transaction are given.
type Script = fn(usize, &[u8]) -> Vec<Vec<u8>>;

/// Responds by a script on a port of its own until the test ends.
struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Server {
    fn at(host: &str, script: Script) -> Self {
        Self::on(UdpSocket::bind(host).expect("a free port on loopback"), script)
    }

    fn on(socket: UdpSocket, script: Script) -> Self {
        let server = Self { address: socket.local_addr().expect("the port that was bound"), seen: Arc::default() };
        let seen = server.seen.clone();
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                let request = buffer[..length].to_vec();
                let number = {
                    let mut seen = seen.lock().expect("no test thread failed");
                    seen.push(request.clone());
                    seen.len()
                };
                for response in script(number, request.get(8..20).unwrap_or_default()) {
                    let _ = socket.send_to(&response, client);
                }
            }
        });
        server
    }

    fn source(&self) -> String {
        format!("stun:{}", self.address)
    }

    /// The requests so far; each must be a binding request.
    #[track_caller]
    fn requests(&self) -> Vec<Vec<u8>> {
        let seen = self.seen.lock().expect("no test thread failed").clone();
        for request in &seen {
            assert!(request.len() >= 20, "too short for a request: {request:02x?}");
            assert_eq!(request[..2], BINDING_REQUEST.to_be_bytes(), "no binding request: {request:02x?}");
            let length = usize::from(u16::from_be_bytes([request[2], request[3]]));
            assert_eq!(length, request.len() - 20, "the length is wrong: {request:02x?}");
            assert_eq!(length % 4, 0, "attributes are filled up: {request:02x?}");
            assert_eq!(request[4..8], COOKIE, "no magic cookie: {request:02x?}");
        }
        seen
    }
}

/// Asks a server with this script and then a source that always responds; the address, and how long it took.
fn looked_up(family: u8, script: Script) -> (String, Duration, Server) {
    let server = Server::at(if family == 4 { "127.0.0.1:0" } else { "[::1]:0" }, script);
    let next = if family == 4 { NEXT } else { "2001:db8::99" };
    let begun = Instant::now();
    let result = look_up(family, &json!([server.source(), format!("shell:echo {next}")]));
    let took = begun.elapsed();
    let sent = result.sent.unwrap_or_else(|| panic!("no address at all:\n{}", result.run.stderr));
    let failed = sent == next;
    let names = result.run.stderr.contains(&server.source());
    assert!(!failed || names, "it failed and is not named:\n{}", result.run.stderr);
    (sent, took, server)
}

/// Runs all cases at the same time: most of their time is waiting.
#[track_caller]
fn all_find(cases: &[(&str, u8, Script, &str)]) {
    thread::scope(|scope| {
        let runs: Vec<_> = cases
            .iter()
            .map(|(name, family, script, expected)| (name, expected, scope.spawn(|| looked_up(*family, *script))))
            .collect();
        for (name, expected, run) in runs {
            let (sent, took, server) = run.join().unwrap_or_else(|_| panic!("{name}: see above"));
            assert_eq!(sent, **expected, "{name}");
            assert!(took < LIMIT, "{name}: took {took:?}");
            let tries = server.requests().len();
            assert!((1..=3).contains(&tries), "{name}: {tries} requests");
        }
    });
}

fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

#[test]
fn f_stun_the_mapped_address_is_sent() {
    let mut cases: Vec<(&str, u8, Script, &str)> = vec![
        ("IPv4", 4, |_, id| vec![success("203.0.113.7", id)], "203.0.113.7"),
        ("a private address (F7: the user named the server)", 4, |_, id| vec![success("10.1.2.3", id)], "10.1.2.3"),
        ("loopback (F7)", 4, |_, id| vec![success("127.0.0.1", id)], "127.0.0.1"),
        (
            "behind other attributes, one of them filled up",
            4,
            |_, id| {
                let all = [attribute(SOFTWARE, b"testing"), attribute(0xc0de, b""), mapped("203.0.113.7", id)];
                vec![message(BINDING_SUCCESS, id, &all.concat())]
            },
            "203.0.113.7",
        ),
        (
            "before other attributes",
            4,
            |_, id| {
                let all = [mapped("203.0.113.7", id), attribute(SOFTWARE, b"x")];
                vec![message(BINDING_SUCCESS, id, &all.concat())]
            },
            "203.0.113.7",
        ),
    ];
    if has_ipv6() {
        cases.extend([
            ("IPv6", 6, (|_, id| vec![success("2001:db8::7", id)]) as Script, "2001:db8::7"),
            ("a long one", 6, |_, id| vec![success("2001:db8:1:2:3:4:5:6", id)], "2001:db8:1:2:3:4:5:6"),
        ]);
    }
    all_find(&cases);
}

/// Anybody can send a packet; only the one with the transaction's random number is the response.
#[test]
fn f_stun_what_is_not_the_response_is_ignored_and_the_response_counts() {
    let cases: [(&str, u8, Script, &str); 6] = [
        (
            "another transaction first",
            4,
            |_, id| vec![success(FALSE_V4, &other(id)), success("203.0.113.7", id)],
            "203.0.113.7",
        ),
        (
            "one bit of the transaction differs",
            4,
            |_, id| {
                let mut near = id.to_vec();
                near[11] ^= 1;
                vec![success(FALSE_V4, &near), success("203.0.113.7", id)]
            },
            "203.0.113.7",
        ),
        (
            "an error of another transaction first",
            4,
            |_, id| vec![message(BINDING_ERROR, &other(id), &[]), success("203.0.113.7", id)],
            "203.0.113.7",
        ),
        ("noise first", 4, |_, id| vec![b"hello".to_vec(), Vec::new(), success("203.0.113.7", id)], "203.0.113.7"),
        (
            "many of another transaction first",
            4,
            |_, id| {
                let mut all = vec![success(FALSE_V4, &other(id)); 20];
                all.push(success("203.0.113.7", id));
                all
            },
            "203.0.113.7",
        ),
        (
            "only of another transaction at first, right at the second try",
            4,
            |number, id| vec![if number == 1 { success(FALSE_V4, &other(id)) } else { success("203.0.113.7", id) }],
            "203.0.113.7",
        ),
    ];
    all_find(&cases);
}

#[test]
fn f_stun_the_second_and_the_third_try_count() {
    let responds_from: [(usize, Script); 2] = [
        (2, |number, id| if number >= 2 { vec![success("203.0.113.7", id)] } else { Vec::new() }),
        (3, |number, id| if number >= 3 { vec![success("203.0.113.7", id)] } else { Vec::new() }),
    ];
    thread::scope(|scope| {
        for (tries, script) in responds_from {
            scope.spawn(move || {
                let (sent, took, server) = looked_up(4, script);
                assert_eq!(sent, "203.0.113.7", "responded at try {tries}");
                assert_eq!(server.requests().len(), tries, "responded at try {tries}");
                assert!(took < LIMIT, "responded at try {tries}: took {took:?}");
            });
        }
    });
}

#[test]
fn f_stun_silence_ends_after_three_tries_and_the_next_source_is_asked() {
    let (sent, took, server) = looked_up(4, |_, _| Vec::new());
    assert_eq!(sent, NEXT);
    assert_eq!(server.requests().len(), 3, "three tries");
    assert!(took >= Duration::from_millis(1500), "gave up after {took:?}");
    assert!(took < LIMIT, "took {took:?}");
}

#[test]
fn f_stun_a_broken_response_gives_way_to_the_next_source() {
    let mut cases: Vec<(&str, u8, Script, &str)> = vec![
        ("another transaction only", 4, |_, id| vec![success(FALSE_V4, &other(id))], NEXT),
        ("cut inside the head", 4, |_, id| vec![success(FALSE_V4, id)[..10].to_vec()], NEXT),
        ("the head alone", 4, |_, id| vec![success(FALSE_V4, id)[..20].to_vec()], NEXT),
        ("cut inside the address", 4, |_, id| vec![success(FALSE_V4, id)[..30].to_vec()], NEXT),
        ("one byte is missing", 4, |_, id| vec![success(FALSE_V4, id)[..31].to_vec()], NEXT),
        ("no attribute", 4, |_, id| vec![message(BINDING_SUCCESS, id, &[])], NEXT),
        ("nothing at all", 4, |_, _| vec![Vec::new()], NEXT),
        (
            "an attribute longer than the message",
            4,
            |_, id| vec![message(BINDING_SUCCESS, id, &[0x80, 0x22, 0xff, 0xff, 1, 2, 3, 4])],
            NEXT,
        ),
        (
            "an IPv4 address of two bytes",
            4,
            |_, id| vec![message(BINDING_SUCCESS, id, &attribute(XOR_MAPPED_ADDRESS, &[0, 1, 2, 3, 4, 5]))],
            NEXT,
        ),
        (
            "an IPv6 address of four bytes",
            4,
            |_, id| vec![message(BINDING_SUCCESS, id, &attribute(XOR_MAPPED_ADDRESS, &[0, 2, 2, 3, 4, 5, 6, 7]))],
            NEXT,
        ),
        (
            "an unknown family",
            4,
            |_, id| vec![message(BINDING_SUCCESS, id, &attribute(XOR_MAPPED_ADDRESS, &[0, 7, 2, 3, 4, 5, 6, 7]))],
            NEXT,
        ),
        (
            "another cookie",
            4,
            |_, id| {
                let mut response = success(FALSE_V4, id);
                response[4] ^= 0xff;
                vec![response]
            },
            NEXT,
        ),
        ("the other family", 4, |_, id| vec![success("2001:db8::66", id)], NEXT),
        ("the unspecified address (F7)", 4, |_, id| vec![success("0.0.0.0", id)], NEXT),
        ("a multicast address (F7)", 4, |_, id| vec![success("224.0.0.1", id)], NEXT),
        (
            "an error",
            4,
            |_, id| {
                let code = attribute(ERROR_CODE, b"\0\0\x04\0Bad Request");
                vec![message(BINDING_ERROR, id, &code)]
            },
            NEXT,
        ),
        ("an error with an address in it", 4, |_, id| vec![message(BINDING_ERROR, id, &mapped(FALSE_V4, id))], NEXT),
        ("a request", 4, |_, id| vec![message(BINDING_REQUEST, id, &mapped(FALSE_V4, id))], NEXT),
        ("a response to another method", 4, |_, id| vec![message(0x0103, id, &mapped(FALSE_V4, id))], NEXT),
    ];
    if has_ipv6() {
        cases.extend([
            ("IPv4 for IPv6", 6, (|_, id| vec![success(FALSE_V4, id)]) as Script, "2001:db8::99"),
            ("an IPv4-mapped address (F7)", 6, |_, id| vec![success("::ffff:198.51.100.66", id)], "2001:db8::99"),
        ]);
    }
    all_find(&cases);
}

/// The right transaction from the wrong place: somebody on the way may see the request, but not stand at the server.
#[test]
fn f_stun_a_response_from_another_port_is_ignored() {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a free port on loopback");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a free port on loopback");
    let address = server.local_addr().expect("the port that was bound");
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, client)) = server.recv_from(&mut buffer) {
            let id = buffer[..length].get(8..20).unwrap_or_default().to_vec();
            let _ = stranger.send_to(&success(FALSE_V4, &id), client);
            thread::sleep(Duration::from_millis(100));
            let _ = server.send_to(&success("203.0.113.7", &id), client);
        }
    });
    let result = look_up(4, &json!(format!("stun:{address}")));
    assert_eq!(result.sent.as_deref(), Some("203.0.113.7"), "{}", result.run.stderr);
}

#[test]
fn f_stun_each_run_has_a_random_transaction() {
    let server = Server::at("127.0.0.1:0", |_, id| vec![success("203.0.113.7", id)]);
    for _ in 0..3 {
        let result = look_up(4, &json!(server.source()));
        assert_eq!(result.sent.as_deref(), Some("203.0.113.7"), "{}", result.run.stderr);
    }
    let mut transactions: Vec<_> = server.requests().iter().map(|request| request[8..20].to_vec()).collect();
    assert_eq!(transactions.len(), 3, "one packet for each run");
    transactions.sort();
    transactions.dedup();
    assert_eq!(transactions.len(), 3, "a transaction was used twice: {transactions:02x?}");
}

#[test]
fn f_stun_a_host_may_be_a_name() {
    let server = Server::at("127.0.0.1:0", |_, id| vec![success("203.0.113.7", id)]);
    let result = look_up(4, &json!(format!("stun:localhost:{}", server.address.port())));
    assert_eq!(result.sent.as_deref(), Some("203.0.113.7"), "{}", result.run.stderr);
}

#[test]
fn f_stun_a_missing_name_and_a_closed_port_give_way_to_the_next_source() {
    for source in [format!("stun:{}", refusing()), "stun:nobody.invalid".to_owned()] {
        let begun = Instant::now();
        let result = look_up(4, &json!([source, format!("shell:echo {NEXT}")]));
        assert_eq!(result.sent.as_deref(), Some(NEXT), "{source}:\n{}", result.run.stderr);
        assert!(result.run.stderr.contains(&source), "{source} is not named:\n{}", result.run.stderr);
        assert!(begun.elapsed() < Duration::from_secs(10), "{source}: took {:?}", begun.elapsed());
    }
}

/// Port 3478 needs no rights; an address of loopback that nothing else uses makes it ours.
#[test]
fn f_stun_the_port_is_3478_where_none_is_given() {
    let Ok(socket) = UdpSocket::bind("127.0.93.8:3478") else {
        skipped("port 3478 is taken, or loopback is not 127.0.0.0/8");
        return;
    };
    let server = Server::on(socket, |_, id| vec![success("203.0.113.7", id)]);
    let result = look_up(4, &json!("stun:127.0.93.8"));
    assert_eq!(result.sent.as_deref(), Some("203.0.113.7"), "{}", result.run.stderr);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn f_stun_a_wrong_host_or_port_is_an_error() {
    for source in [
        "stun:",
        "stun::3478",
        "stun:stun.example.com:",
        "stun:stun.example.com:99999",
        "stun:stun.example.com:0",
        "stun:stun.example.com:x",
        "stun:stun.example.com:-1",
        "stun:[::1",
        "stun:[::1]x",
        "stun:a b",
    ] {
        refused(4, &json!([source]));
    }
}

/// Whether a real server responds there by now.
fn responds(port: u16) -> bool {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return false };
    let request = message(BINDING_REQUEST, b"is it there?", &[]);
    let _ = socket.set_read_timeout(Some(Duration::from_millis(200)));
    let looked_up = socket.connect(("127.0.0.1", port)).and_then(|()| socket.send(&request));
    looked_up.is_ok() && socket.recv(&mut [0; 2048]).is_ok()
}

#[test]
fn f_stun_a_real_server_sends_the_address() {
    let Some(turnserver) = needed("turnserver") else { return };
    let sandbox = Sandbox::new();
    let command = |port: u16| {
        let mut command = Command::new(&turnserver);
        command.args(["-n", "--stun-only", "--no-tls", "--no-dtls", "--no-cli", "--log-file=stdout"]);
        command.args(["--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", &format!("--listening-port={port}")]);
        command.arg(format!("--pidfile={}", sandbox.path("turnserver.pid").display()));
        // In a file, it syncs each of its tables to the disk before it answers: most of a minute where the disk is busy.
        command.arg("--userdb=:memory:").current_dir(sandbox.path(""));
        command
    };
    let (_server, port) = started_when(command, responds);
    let begun = Instant::now();
    let result = look_up(4, &json!(format!("stun:127.0.0.1:{port}")));
    assert_eq!(result.sent.as_deref(), Some("127.0.0.1"), "{}", result.run.stderr);
    assert!(begun.elapsed() < LIMIT, "took {:?}", begun.elapsed());
}
