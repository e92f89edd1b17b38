//! Checks whether an endpoint can be reached, without a request: its name, a connection, TLS, its certificate.

use std::net::IpAddr;

use ddns_core::net::proxy::Route;
use ddns_core::net::ssl::Ssl;
use ddns_core::net::url::Url;
use ddns_core::text::duration::{duration, seconds};
use ddns_core::text::screen;
use tokio::time::{Instant, timeout};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::Client;
use super::connect::Connector;
use super::how::{AddressFamilies, How};
use super::stream::{Connection, Stream};
use crate::clock::unix_time;

/// One step on the way to an endpoint: what was found, or why it failed.
pub(crate) struct ProbeStep {
    pub(crate) name: &'static str,
    pub(crate) result: Result<String, String>,
}

impl Client {
    /// Goes as far as a request would start. If a step fails, it is the last one.
    pub(crate) async fn probe(&self, url: &Url, how: How<'_>) -> Vec<ProbeStep> {
        let mut steps = Vec::new();
        // A proxy looks the name up itself.
        let is_direct = matches!(how.proxies.routes(url).next(), Some(Route::Direct));
        if is_direct && url.host.parse::<IpAddr>().is_err() {
            let found = timeout(how.limit, self.connector.dialer.names.look_up(&url.host, AddressFamilies::Any)).await;
            let found = found.unwrap_or_else(|_| Err(format!("no response within {}", duration(how.limit))));
            let is_known = found.is_ok();
            let result = found.map(|ips| {
                let ips: Vec<String> = ips.iter().map(ToString::to_string).collect();
                format!("{} is {}", url.host, ips.join(", "))
            });
            steps.push(ProbeStep { name: "name", result });
            if !is_known {
                return steps;
            }
        }
        match open(&self.connector, url, how).await {
            Ok(connection) => steps.extend(described(&connection, how.ssl)),
            Err(why) => {
                // A connection without TLS shows which of the two failed.
                let plain = Url { secure: false, ..url.clone() };
                let without = if url.secure { open(&self.connector, &plain, how).await.ok() } else { None };
                let peer = without.as_ref().map(peer);
                steps.extend(peer.map(|peer| ProbeStep { name: "connection", result: Ok(peer) }));
                steps.push(ProbeStep { name: if without.is_some() { "TLS" } else { "connection" }, result: Err(why) });
            }
        }
        steps
    }
}

async fn open(connector: &Connector, url: &Url, how: How<'_>) -> Result<Connection, String> {
    let opened = timeout(how.limit, connector.connect(url, how, Instant::now() + how.limit)).await;
    let late = || format!("no connection to {} within {}", url.origin(), duration(how.limit));
    opened.unwrap_or_else(|_| Err(late()))
}

fn peer(connection: &Connection) -> String {
    let via = connection.via.as_ref().map(|server| format!(", the proxy {server}")).unwrap_or_default();
    let peer = connection.stream.socket().peer_addr();
    peer.map_or_else(|error| error.to_string(), |peer| format!("made to {peer}{via}"))
}

/// The steps that an open connection shows.
fn described(connection: &Connection, ssl: &Ssl) -> Vec<ProbeStep> {
    let mut steps = vec![ProbeStep { name: "connection", result: Ok(peer(connection)) }];
    let Stream::Tls(stream) = &connection.stream else { return steps };
    let tls = stream.get_ref().1;
    let version = tls
        .protocol_version()
        .and_then(|version| version.as_str())
        .unwrap_or("TLS")
        .replace("TLSv", "TLS ")
        .replace('_', ".");
    let trust = match ssl {
        Ssl::Off => "the certificate is not verified: `ssl` is off",
        _ if !connection.unverified.is_empty() => {
            "the certificate is from an unknown issuer: accepted, because the host is local"
        }
        _ => "the certificate is verified",
    };
    steps.push(ProbeStep { name: "TLS", result: Ok(format!("{version}; {trust}")) });
    let first = tls.peer_certificates().and_then(<[_]>::first);
    if let Some(certificate) = first.and_then(|certificate| Certificate::from_der(certificate).ok()) {
        steps.push(ProbeStep { name: "certificate", result: Ok(validity(&certificate, unix_time().seconds)) });
    }
    steps
}

fn validity(certificate: &Certificate, now: u64) -> String {
    let certificate = certificate.tbs_certificate();
    let end = certificate.validity().not_after;
    // `2026-11-15T09:30:00Z`
    let time = end.to_string();
    let until = time.split('T').next().unwrap_or_default();
    let validity = match end.to_unix_duration().as_secs().checked_sub(now) {
        Some(left) => format!("valid until {until} (for {})", seconds(left)),
        None => format!("it expired on {until}"),
    };
    let issuer = certificate.issuer();
    let name = issuer.common_name().ok().flatten().or_else(|| issuer.organization().ok().flatten());
    let shown = |name: &str| screen::line(name).chars().take(100).collect::<String>();
    let name = name.map(|name| format!(", issued by {}", shown(&name.value()))).unwrap_or_default();
    validity + &name
}
