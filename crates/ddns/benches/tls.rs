//! Measures the cost of TLS: the built program updates one and a thousand changed domains at a server on loopback, alternating
//! between plain HTTP and TLS with a private CA (`ssl` names its file). One server sends `keep-alive`; the other keeps its
//! connections without saying so (A7). Prints the median times and their ratio.
//!
//! `cargo bench -p ddns-callback --bench tls`

mod program;
mod receiver;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use program::program;
use receiver::{listen, respond};

/// How many runs of each are measured.
const ROUNDS: usize = 15;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (config, ca) = certificates();
    let ca_file = folder.path().join("ca.pem");
    fs::write(&ca_file, ca).expect("the file is written");
    println!("{:>10} {:>8} {:>10} {:>10} {:>7}", "", "domains", "http", "https", "ratio");
    for (name, said, count) in [
        ("keep-alive", "Connection: keep-alive\r\n", 1),
        ("keep-alive", "Connection: keep-alive\r\n", 1000),
        ("unsaid", "", 1),
        ("unsaid", "", 1000),
    ] {
        let plain = format!("http://localhost:{}", serve(None, said));
        let secure = format!("https://localhost:{}", serve(Some(config.clone()), said));
        let files = [&plain, &secure].map(|origin| configuration(folder.path(), origin, &ca_file, count));
        let mut times = [Vec::new(), Vec::new()];
        // Alternating, so that other load on the machine affects both. The first round warms up.
        for round in 0..=ROUNDS {
            for (file, times) in files.iter().zip(&mut times) {
                let took = run(folder.path(), file, count);
                if round > 0 {
                    times.push(took);
                }
            }
        }
        let [http, https] = times.map(median);
        let ratio = https.as_secs_f64() / http.as_secs_f64();
        let milliseconds = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
        println!("{name:>10} {count:>8} {:>10} {:>10} {ratio:>7.2}", milliseconds(http), milliseconds(https));
    }
}

/// The TLS configuration of the server, and the certificate of its CA (PEM).
fn certificates() -> (Arc<ServerConfig>, String) {
    let ca_key = KeyPair::generate().expect("a key");
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = ca.self_signed(&ca_key).expect("a root certificate").pem();
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name for a certificate");
    let certificate = params.signed_by(&key, &Issuer::new(ca, ca_key)).expect("a certificate");
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that the provider has")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a certificate with its key");
    (Arc::new(config), pem)
}

/// Starts a server that responds with 204 and this header line. Returns its port.
fn serve(tls: Option<Arc<ServerConfig>>, said: &'static str) -> u16 {
    listen(move |stream| match tls.clone() {
        None => respond(stream, said),
        Some(config) => {
            let connection = ServerConnection::new(config).expect("a server side");
            respond(StreamOwned::new(connection, stream), said);
        }
    })
}

/// Writes a configuration that sends an update for each of `count` domains in every run. Returns its name.
fn configuration(folder: &Path, origin: &str, ca: &Path, count: usize) -> String {
    let domains: Vec<String> = (0..count).map(|number| format!("d{number}.example.com")).collect();
    let id = format!("{origin}/update?name=__DOMAIN__&ip=__IP__");
    let config = json!({"dns": "callback", "id": id, "ipv4": domains, "index4": r"regex:127\.0\.0\.1",
        "ssl": ca, "cache": false, "proxy": "DIRECT", "log": {"level": "ERROR"}});
    let name = format!("{}-{count}.json", origin.split(':').next().unwrap_or_default());
    fs::write(folder.join(&name), config.to_string()).expect("the file is written");
    name
}

fn run(folder: &Path, file: &str, count: usize) -> Duration {
    let mut command = Command::new(program());
    command.args(["-c", file]).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    let begun = Instant::now();
    let output = command.output().expect("the program starts");
    let took = begun.elapsed();
    assert!(output.status.success(), "{count} domains: {}", String::from_utf8_lossy(&output.stderr));
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
