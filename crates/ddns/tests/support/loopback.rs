//! Services of the internet on loopback: whoever uses the proxy here reaches, under the real name and inside of TLS, a fake.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::CertificateParams;
use rustls::{ServerConfig, ServerConnection, StreamOwned, version};

use super::authority::Authority;
use super::fakes::{self, Fake};
use super::odd_server::serve_raw;
use super::{Receiver, Response, Sandbox};

/// One service: what somebody types to find it, what its questions are answered with, and the text that comes with its acceptance.
pub struct Hosted {
    pub name: &'static str,
    pub typed: &'static str,
    pub host: &'static str,
    /// What is typed for the domain, and what it becomes.
    pub domain: (&'static str, &'static str),
    /// Names of questions and their answers, in order.
    pub answers: &'static [(&'static str, &'static str)],
    /// The place of the answer that must be right, and a wrong one.
    pub wrong: (usize, &'static str),
}

pub const SERVICES: [Hosted; 5] = [
    Hosted {
        name: "duckdns",
        typed: "duck dns",
        host: "www.duckdns.org",
        domain: ("myhome", "myhome.duckdns.org"),
        answers: &[("token", "d0ck-s3cret")],
        wrong: (0, "d0ck-wrong"),
    },
    Hosted {
        name: "cloudflare",
        typed: "Cloudflare",
        host: "api.cloudflare.com",
        domain: ("home.example.com", "home.example.com"),
        answers: &[("token", "cf-s3cret"), ("zone", "example.com")],
        wrong: (0, "cf-wrong"),
    },
    Hosted {
        name: "no-ip",
        typed: "noip",
        host: "dynupdate.no-ip.com",
        domain: ("myhome.ddns.net", "myhome.ddns.net"),
        answers: &[("user", "me"), ("password", "n01p-s3cret"), ("contact", "me@example.com")],
        wrong: (1, "n01p-wrong"),
    },
    Hosted {
        name: "desec",
        typed: "desec",
        host: "update.dedyn.io",
        domain: ("myhome", "myhome.dedyn.io"),
        answers: &[("token", "d3sec-s3cret")],
        wrong: (0, "d3sec-wrong"),
    },
    Hosted {
        name: "route53",
        typed: "route 53",
        host: "route53.amazonaws.com",
        domain: ("home.example.com", "home.example.com"),
        answers: &[
            ("id", "AKIDEXAMPLEAKIDEXAMPLE"),
            ("secret", "aws-s3cret"),
            ("zone_id", "Z0123456789ABCDEFGHIJ"),
            ("ttl", "300"),
        ],
        wrong: (1, "aws-wrong"),
    },
];

/// The services, and a place whose programs reach them and trust them.
pub struct Internet {
    pub sandbox: Sandbox,
    fakes: Arc<Vec<(&'static str, Receiver)>>,
}

impl Internet {
    pub fn new(sandbox: Sandbox) -> Self {
        let fakes: Arc<Vec<(&str, Receiver)>> = Arc::new(SERVICES.iter().map(|it| (it.host, fake(it.name))).collect());
        let authority = Authority::new("the authority of a test");
        let names: Vec<String> = SERVICES.iter().map(|service| service.host.to_owned()).collect();
        let params = CertificateParams::new(names).expect("names for a certificate");
        let config = authority.config(&params, &[&version::TLS13]);
        let known = fakes.clone();
        let proxy = serve_raw(move |stream| {
            tunnel(stream, &config, &known);
        });
        let roots = sandbox.write("roots.pem", &authority.pem);
        let sandbox = sandbox
            .env("SSL_CERT_FILE", roots.to_str().expect("a plain path"))
            .env("https_proxy", format!("http://{proxy}"));
        Self { sandbox, fakes }
    }

    /// What a service received.
    pub fn fake(&self, name: &str) -> &Receiver {
        let host = SERVICES.iter().find(|service| service.name == name).expect("a service").host;
        &self.fakes.iter().find(|(known, _)| *known == host).expect("a fake").1
    }
}

/// Answers as the service does: facts from its documentation, as the recipe names it.
fn fake(name: &str) -> Receiver {
    let says = |is_right: bool, yes: &str, (status, no): (u16, &str)| {
        if is_right { Response::with_body(200, yes) } else { Response::with_body(status, no) }
    };
    match name {
        "duckdns" => Receiver::responding(move |request| {
            let is_right = request.target() == "/update?domains=myhome&token=d0ck-s3cret&ip=203.0.113.7";
            says(is_right, "OK", (200, "KO"))
        }),
        "no-ip" => Receiver::responding(move |request| {
            // me:n01p-s3cret
            let is_right = request.header("authorization") == Some("Basic bWU6bjAxcC1zM2NyZXQ=")
                && request.target().contains("hostname=myhome.ddns.net&myip=203.0.113.7");
            says(is_right, "good 203.0.113.7", (200, "badauth"))
        }),
        "desec" => Receiver::responding(move |request| {
            let is_right = request.header("authorization") == Some("Token d3sec-s3cret")
                && request.target().contains("hostname=myhome.dedyn.io&myipv4=203.0.113.7");
            says(is_right, "good", (401, "badauth"))
        }),
        "cloudflare" => Fake::start(&fakes::cloudflare::SERVICE).receiver,
        _ => Fake::start(&fakes::route53::SERVICE).receiver,
    }
}

/// Opens a tunnel as a proxy does, and hands requests on to the fake of the name.
fn tunnel(stream: TcpStream, config: &Arc<ServerConfig>, fakes: &[(&str, Receiver)]) -> Option<()> {
    let mut plain = BufReader::new(stream);
    let (head, _) = message(&mut plain)?;
    let host = head.strip_prefix("CONNECT ")?.split(':').next()?;
    let port = fakes.iter().find(|(known, _)| *known == host)?.1.port();
    let mut stream = plain.into_inner();
    stream.write_all(b"HTTP/1.1 200 Opened\r\n\r\n").ok()?;
    let mut tls = BufReader::new(StreamOwned::new(ServerConnection::new(config.clone()).ok()?, stream));
    let mut fake = BufReader::new(TcpStream::connect(("127.0.0.1", port)).ok()?);
    loop {
        let (head, body) = message(&mut tls)?;
        fake.get_mut().write_all(&[head.as_bytes(), &body].concat()).ok()?;
        let (head, body) = message(&mut fake)?;
        tls.get_mut().write_all(&[head.as_bytes(), &body].concat()).ok()?;
    }
}

/// The head of a request or response, and its body.
fn message(from: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let begin = head.len();
        if from.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if let Some(value) = head[begin..].to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    Some((head, body))
}
