//! Section D over https: what the system's roots vouch for is told, anything else is a failure that tells nothing.
//!
//! The roots of a run are those of a file that the test makes (`SSL_CERT_FILE`), never those of the machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};
use serde_json::{Value, json};

use crate::given::{home, with};
use crate::support::{Receiver, Sandbox};

/// An authority of the test's own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a root certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A sandbox whose programs trust this authority and no other.
    fn trusted(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        let file = sandbox.write("roots.pem", &self.pem);
        sandbox.env("SSL_CERT_FILE", file.to_str().expect("a plain path"))
    }

    /// A server that answers 204 with a certificate for `name`.
    fn server(&self, name: &str) -> TlsReceiver {
        self.server_with(&params_for(name), &[&version::TLS13, &version::TLS12])
    }

    fn server_with(&self, params: &CertificateParams, versions: &[&'static SupportedProtocolVersion]) -> TlsReceiver {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("versions that the provider has")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a certificate with its key");
        TlsReceiver::start(Arc::new(config))
    }
}

fn params_for(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).expect("a name for a certificate")
}

/// What arrives after a handshake, as text.
struct TlsReceiver {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl TlsReceiver {
    fn start(config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let port = listener.local_addr().expect("the port that was bound").port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let record = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (config, record) = (config.clone(), record.clone());
                thread::spawn(move || answer(stream, config, &record));
            }
        });
        Self { port, seen }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// The requests so far.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no test thread failed").clone()
    }
}

/// Reads one whole request (its end is that of a JSON body or of the head), answers 204 and closes.
fn answer(mut stream: TcpStream, config: Arc<ServerConfig>, record: &Mutex<Vec<String>>) {
    let mut connection = ServerConnection::new(config).expect("a server side");
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !whole(&request) {
        match tls.read(&mut buffer) {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    record.lock().expect("no test thread failed").push(String::from_utf8_lossy(&request).into_owned());
    let _ = tls.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    connection.send_close_notify();
    let _ = connection.complete_io(&mut stream);
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| head.starts_with("GET") || body.ends_with('}'))
}

fn secure(id: &str, ssl: &Value) -> Value {
    with(&home(id), &json!({"ssl": ssl, "timeout": 5}))
}

#[test]
fn d6_https_with_a_known_issuer_is_delivered() {
    let authority = Authority::new("known");
    for ssl in [json!(true), json!("true"), json!("auto")] {
        let server = authority.server("localhost");
        let sandbox = authority.trusted();
        let config = secure(&server.url("/hook?ip=__IP__"), &ssl);
        sandbox.sync(&config).expect(0).says("accepted").never_says("warning");
        sandbox.sync(&config).expect(0);
        let seen = server.seen();
        assert_eq!(seen.len(), 1, "ssl {ssl}: once, then remembered: {seen:?}");
        assert!(seen[0].starts_with("GET /hook?ip=203.0.113.7 HTTP/1.1\r\n"), "ssl {ssl}: {}", seen[0]);
    }
}

#[test]
fn d6_a_body_is_delivered_over_https() {
    let authority = Authority::new("known");
    let server = authority.server("localhost");
    let more = json!({"ssl": true, "token": {"ip": "__IP__"}});
    authority.trusted().sync(&with(&home(&server.url("/hook")), &more)).expect(0);
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].starts_with("POST /hook HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[0].ends_with("\r\n\r\n{\"ip\":\"203.0.113.7\"}"), "{}", seen[0]);
}

#[test]
fn d6_tls_1_2_is_enough() {
    let authority = Authority::new("known");
    let server = authority.server_with(&params_for("localhost"), &[&version::TLS12]);
    authority.trusted().sync(&secure(&server.url("/"), &json!(true))).expect(0);
    assert_eq!(server.seen().len(), 1);
}

/// E2: nothing is told to a stranger, and the update is tried again once the certificate is in order.
#[test]
fn d6_e2_an_unknown_issuer_is_a_failure_and_is_not_cached() {
    let server = Authority::new("stranger").server("localhost");
    let sandbox = Authority::new("known").trusted();
    let config = secure(&server.url("/hook"), &json!(true));
    sandbox.sync(&config).expect(1).says("home.example.com A 203.0.113.7: failed").says("certificate");
    assert_eq!(server.seen(), [""; 0], "the request must not arrive");
}

#[test]
fn e2_a_tls_failure_is_sent_again_once_the_issuer_is_known() {
    let authority = Authority::new("late");
    let server = authority.server("localhost");
    let sandbox = Authority::new("known").trusted();
    let config = secure(&server.url("/hook"), &json!(true));
    sandbox.sync(&config).expect(1);
    sandbox.write("roots.pem", &authority.pem);
    sandbox.sync(&config).expect(0).says("1 accepted");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn d6_a_certificate_for_another_name_or_another_time_is_a_failure() {
    let authority = Authority::new("known");
    let other = params_for("other.example.com");
    let mut expired = params_for("localhost");
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    let mut early = params_for("localhost");
    (early.not_before, early.not_after) = (date_time_ymd(2090, 1, 1), date_time_ymd(2091, 1, 1));
    for (name, params) in [("another name", other), ("expired", expired), ("not yet valid", early)] {
        let server = authority.server_with(&params, &[&version::TLS13]);
        let run = authority.trusted().sync(&secure(&server.url("/hook"), &json!(true)));
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        run.says("failed");
        assert_eq!(server.seen(), [""; 0], "{name}: the request must not arrive");
    }
}

#[test]
fn e2_https_toward_a_plain_server_is_a_failure() {
    let receiver = Receiver::new();
    let id = receiver.url("/hook").replace("http://", "https://");
    let config = with(&secure(&id, &json!(true)), &json!({"timeout": 1}));
    Authority::new("known").trusted().sync(&config).expect(1).says("failed");
    assert_eq!(receiver.callbacks().len(), 0, "nothing is sent in the clear");
}
