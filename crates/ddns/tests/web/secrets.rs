//! No secret reaches a browser or a program (I2, G1), and the page over TLS.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use crate::support::authority::{Authority, params_for};
use crate::support::page::Page;
use crate::support::watching::{Endpoint, SOON, host, until};
use crate::support::{Response, secret_forms};

/// Keys in the places that [`secret_forms`] does not have.
const MORE: [&str; 7] = [
    "s3cret-header",
    "s3cret-file",
    "s3cret-proxy",
    "s3cret-source",
    "s3cret-own",
    "0123456789abcdef0123456789abcdef",
    "$argon2id$",
];

/// Whatever the service knows, and whatever an unkind endpoint says.
#[test]
fn i2_no_answer_holds_a_secret() {
    let endpoint = Endpoint::responding(|_| Response::with_body(500, &secret_forms::echo()));
    let sandbox = host();
    sandbox.write("b", "s3cret-file\n");
    let mut config = secret_forms::config(&format!("127.0.0.1:{}", endpoint.receiver.port()));
    config["token"]["more"] = json!("__B__ __OWN__");
    config["headers"] = json!({"Authorization": "Bearer s3cret-header"});
    config["extra"] = json!({"__B__": {"file": "b"}});
    config["ipv4"] = json!([{"name": "home.example.com", "extra": {"__OWN__": "s3cret-own"}}]);
    config["index4"] = json!(["url:http://127.0.0.1:1/?k=s3cret-source", "shell:echo 203.0.113.7"]);
    config["proxy"] = json!(["http://user:s3cret-proxy@127.0.0.1:1", "DIRECT"]);
    let page = Page::start(
        endpoint,
        sandbox,
        &json!({"token_file": "token", "password_file": "password", "allow_edit": true}),
        config,
    );
    page.endpoint.wait(1, SOON);
    let visitor = page.logged_in();
    until(SOON, "it has failed", || page.get_as("/api/v1/status", &visitor).body.contains("\"retrying\""));
    let pages = ["/", "/login", "/update?domain=home.example.com&type=A", "/addresses", "/requests", "/history"];
    let more = [
        "/configuration",
        "/configuration/edit?file=0&entry=0",
        "/configuration/edit?file=0",
        "/log",
        "/recipes",
        "/metrics",
        "/healthz",
        "/readyz",
        "/nothing?k=v",
    ];
    let description = page.get_as("/api/v1/openapi.json", &visitor).expect(200).json();
    let described = description["paths"].as_object().expect("paths").keys().map(|path| format!("/api/v1{path}"));
    let form = page.get_as("/configuration/edit?file=0&entry=0", &visitor).expect(200).body;
    let version =
        form.split("name=\"version\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a version");
    let fields = format!("file=0&entry=0&version={version}&set.ttl=77");
    let posted = [
        ("/configuration/edit", format!("{fields}&step=check"), 200),
        ("/configuration/edit", format!("{fields}&step=edit"), 200),
        ("/configuration/edit", format!("{fields}&set.id=http%3A%2F%2Fevil.example%2F&step=check"), 422),
        ("/configuration/edit", "file=0&entry=0&version=old&set.ttl=77&step=save".to_owned(), 409),
        ("/configuration/notify", "file=0".to_owned(), 200),
    ];
    let answers = posted
        .iter()
        .map(|(path, fields, status)| ((*path).to_owned(), page.post(path, &visitor, fields).expect(*status)));
    let read = pages.iter().chain(&more).map(|path| (*path).to_owned()).chain(described);
    let read = read.map(|path| (path.clone(), page.get_as(&path, &visitor)));
    for (path, answer) in answers.chain(read) {
        let text = format!("{}\n{}", answer.head, answer.body);
        secret_forms::assert_no_secret(&text, &path);
        for secret in MORE {
            assert!(!text.contains(secret), "{path} holds {secret}:\n{text}");
        }
    }
    assert!(page.get_as("/requests", &visitor).expect(200).body.contains("***"));
}

#[test]
fn i2_the_page_speaks_tls_with_its_certificate() {
    let authority = Authority::new("ddns test");
    let (certificate, key) = authority.files(&params_for("localhost"));
    let (endpoint, sandbox) = (Endpoint::new(), host());
    sandbox.write("certificate.pem", certificate);
    sandbox.write("key.pem", key);
    let web = json!({"certificate": "certificate.pem", "key": "key.pem", "password_file": "password"});
    let config = endpoint.config(&json!({}));
    let page = Page::start(endpoint, sandbox, &web, config);
    page.watch.prints("the page is at https://");
    let mut roots = rustls::RootCertStore::empty();
    let authorities = rustls::pki_types::CertificateDer::pem_slice_iter(authority.pem.as_bytes());
    roots.add_parsable_certificates(authorities.filter_map(Result::ok));
    let config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut socket = std::net::TcpStream::connect(page.address).expect("a connection");
    let mut stream = rustls::Stream::new(&mut client, &mut socket);
    stream.write_all(b"GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it is taken");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.contains("; Secure"), "{text}");
    // What speaks no TLS gets nothing, and stops nothing.
    assert_eq!(page.get("/login").status, 0);
}
