//! A certificate authority of the test's own, and servers with its certificates.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion, version};

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::given::{home, with};
use crate::support::odd_server::serve_raw;

/// An authority of the test's own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a root certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A sandbox whose programs trust this authority and no other.
    pub fn trusted(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        let file = sandbox.write("roots.pem", &self.pem);
        sandbox.env("SSL_CERT_FILE", file.to_str().expect("a plain path"))
    }

    /// A server with a certificate for `name` that responds with 204.
    pub fn server(&self, name: &str) -> TlsReceiver {
        self.server_with(&params_for(name), &[&version::TLS13, &version::TLS12])
    }

    pub fn server_with(
        &self,
        params: &CertificateParams,
        versions: &[&'static SupportedProtocolVersion],
    ) -> TlsReceiver {
        TlsReceiver::start(self.config(params, versions))
    }

    /// A server with a certificate for `localhost` that sends these bytes to everybody and closes, with or without a
    /// `close_notify`; its port.
    pub fn sending(&self, response: String, with_notice: bool) -> u16 {
        let config = self.config(&params_for("localhost"), &[&version::TLS13, &version::TLS12]);
        let address = serve_raw(move |mut stream| {
            let mut connection = ServerConnection::new(config.clone()).expect("a server side");
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            if read_request(&mut tls).is_none() {
                return;
            }
            let _ = tls.write_all(response.as_bytes()).and_then(|()| tls.flush());
            if with_notice {
                connection.send_close_notify();
                let _ = connection.complete_io(&mut stream);
            }
        });
        address.port()
    }

    /// What a server needs for a certificate of this authority.
    pub fn config(
        &self,
        params: &CertificateParams,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("versions that the provider has")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a certificate with its key");
        Arc::new(config)
    }

    /// A certificate with its key, as files for a server have them.
    pub fn files(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

pub fn params_for(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).expect("a name for a certificate")
}

/// What arrives after a handshake, as text.
pub struct TlsReceiver {
    pub port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    /// Where requests are sent on to; nowhere where it is empty.
    location: Arc<Mutex<String>>,
}

impl TlsReceiver {
    pub fn start(config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let port = listener.local_addr().expect("the port that was bound").port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let location: Arc<Mutex<String>> = Arc::default();
        let (record, onward) = (seen.clone(), location.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (config, record, onward) = (config.clone(), record.clone(), onward.clone());
                thread::spawn(move || respond(stream, config, &record, &onward));
            }
        });
        Self { port, seen, location }
    }

    pub fn redirect_to(&self, location: &str) {
        location.clone_into(&mut self.location.lock().expect("no test thread failed"));
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("no test thread failed").clone()
    }
}

/// Reads one whole request (its end is that of a JSON body or of the head), responds with 204 and closes.
fn respond(mut stream: TcpStream, config: Arc<ServerConfig>, record: &Mutex<Vec<String>>, onward: &Mutex<String>) {
    let mut connection = ServerConnection::new(config).expect("a server side");
    let mut tls = rustls::Stream::new(&mut connection, &mut stream);
    let Some(request) = read_request(&mut tls) else { return };
    record.lock().expect("no test thread failed").push(String::from_utf8_lossy(&request).into_owned());
    let location = onward.lock().expect("no test thread failed").clone();
    let head = match location.as_str() {
        "" => "204 No Content".to_owned(),
        location => format!("307 Onward\r\nLocation: {location}\r\nContent-Length: 0"),
    };
    let _ = tls.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
    connection.send_close_notify();
    let _ = connection.complete_io(&mut stream);
}

/// One whole request; none where the client goes away before.
fn read_request(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !whole(&request) {
        match from.read(&mut buffer) {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return None,
        }
    }
    Some(request)
}

fn whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    text.split_once("\r\n\r\n").is_some_and(|(head, body)| head.starts_with("GET") || body.ends_with('}'))
}

pub fn secure(id: &str, ssl: &Value) -> Value {
    with(&home(id), &json!({"ssl": ssl, "timeout": 5}))
}
