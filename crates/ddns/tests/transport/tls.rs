//! Section D over https: what the system's roots vouch for gets the update, anything else is a failure and gets nothing.
//!
//! The roots of a run are those of a file that the test makes (`SSL_CERT_FILE`), never those of the machine.

use std::sync::Arc;

use rcgen::{BasicConstraints, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, version};
use serde_json::json;

use crate::support::authority::{Authority, TlsReceiver, params_for, secure};
use crate::support::given::{home, with};
use crate::support::tools::{inside, sh};
use crate::support::{Receiver, Sandbox};

#[test]
fn d6_https_with_a_known_issuer_is_delivered() {
    let authority = Authority::new("known");
    for ssl in [json!(true), json!("true"), json!("auto")] {
        let server = authority.server("localhost");
        let sandbox = authority.trusted();
        let config = secure(&server.url("/hook?ip=__IP__"), &ssl);
        sandbox.sync(&config).expect(0).prints("accepted").never_prints("warning");
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

/// E2: nothing is sent to a stranger, and the update is tried again once the certificate is in order.
#[test]
fn d6_e2_an_unknown_issuer_is_a_failure_and_is_not_cached() {
    let server = Authority::new("stranger").server("localhost");
    let sandbox = Authority::new("known").trusted();
    let config = secure(&server.url("/hook"), &json!(true));
    sandbox.sync(&config).expect(1).prints("home.example.com A 203.0.113.7: failed").prints("certificate");
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
    sandbox.sync(&config).expect(0).prints("1 accepted");
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
        run.prints("failed");
        assert_eq!(server.seen(), [""; 0], "{name}: the request must not arrive");
    }
}

#[test]
fn e2_https_toward_a_plain_server_is_a_failure() {
    let receiver = Receiver::new();
    let id = receiver.url("/hook").replace("http://", "https://");
    let config = with(&secure(&id, &json!(true)), &json!({"timeout": 1}));
    Authority::new("known").trusted().sync(&config).expect(1).prints("failed");
    assert_eq!(receiver.callbacks().len(), 0, "nothing is sent in the clear");
}

#[test]
fn d6_auto_lets_an_unknown_issuer_pass_for_a_local_host_and_warns_once() {
    let server = Authority::new("stranger").server("localhost");
    let sandbox = Authority::new("known").trusted();
    let more = json!({"ipv4": ["a.example.com", "b.example.com"]});
    let run = sandbox.sync(&with(&secure(&server.url("/hook"), &json!("auto")), &more)).expect(0);
    assert_eq!(run.stderr.matches("is trusted unverified").count(), 1, "{}", run.stderr);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn d6_auto_lets_an_expired_certificate_of_an_unknown_issuer_pass_as_it_is_not_verified_anyway() {
    for (from, to) in [(2001, 2002), (2101, 2102)] {
        let mut params = params_for("localhost");
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let server = Authority::new("stranger").server_with(&params, &[&version::TLS13]);
        let sandbox = Authority::new("known").trusted();
        sandbox.sync(&secure(&server.url("/hook"), &json!("auto"))).expect(0).prints("is trusted unverified");
        let verified = sandbox.sync(&secure(&server.url("/other"), &json!(true))).expect(1);
        verified.prints("an issuer that this system does not trust").prints("set `ssl`");
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn d6_auto_lets_nothing_else_pass() {
    let authority = Authority::new("known");
    let mut expired = params_for("localhost");
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    for (params, part) in [(expired, "has expired"), (params_for("other.example.com"), "is for another name")] {
        let server = authority.server_with(&params, &[&version::TLS13]);
        authority.trusted().sync(&secure(&server.url("/hook"), &json!("auto"))).expect(1).prints(part);
        assert_eq!(server.seen(), [""; 0], "{part}");
    }
}

#[test]
fn d6_a_public_host_is_never_trusted_unverified_by_itself() {
    let Some(()) = inside("ip link set lo up") else { return };
    let sandbox = Authority::new("known").trusted();
    let hosts = sandbox.write("hosts", "127.0.0.1 localhost dns.example.com\n");
    sh(&format!("mount --bind {} /etc/hosts", hosts.display()));
    let server = Authority::new("stranger").server("dns.example.com");
    let id = server.url("/hook").replace("localhost", "dns.example.com");
    for ssl in [json!("auto"), json!(true)] {
        let run = sandbox.sync(&secure(&id, &ssl)).expect(1);
        run.prints("an issuer that this system does not trust").prints("set `ssl`");
    }
    assert_eq!(server.seen(), [""; 0]);
    sandbox.sync(&secure(&id, &json!(false))).expect(0);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn d6_off_takes_any_certificate_and_warns() {
    let mut expired = params_for("other.example.com");
    (expired.not_before, expired.not_after) = (date_time_ymd(2001, 1, 1), date_time_ymd(2002, 1, 1));
    for version in [&version::TLS13, &version::TLS12] {
        let server = Authority::new("stranger").server_with(&expired, &[version]);
        let run = Authority::new("known").trusted().sync(&secure(&server.url("/hook"), &json!(false))).expect(0);
        run.prints("`ssl` is off");
        assert_eq!(server.seen().len(), 1);
    }
    let server = Authority::new("stranger").server("localhost");
    let sandbox = Authority::new("known").trusted();
    sandbox.write("config.json", secure(&server.url("/hook"), &json!(true)).to_string());
    sandbox.run(&["-c", "config.json", "--no-ssl"]).expect(0);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn d6_a_ca_file_is_trusted_besides_the_systems_roots() {
    let (own, system) = (Authority::new("own"), Authority::new("system"));
    for authority in [&own, &system] {
        let server = authority.server("localhost");
        let sandbox = system.trusted();
        // A byte order mark before it does not matter.
        sandbox.write("ca.pem", format!("\u{feff}{}", own.pem));
        let run = sandbox.sync(&secure(&server.url("/hook"), &json!("ca.pem"))).expect(0);
        run.never_prints("warning");
        assert_eq!(server.seen().len(), 1);
    }
    let server = Authority::new("stranger").server("localhost");
    let sandbox = system.trusted();
    sandbox.write("ca.pem", &own.pem);
    sandbox.sync(&secure(&server.url("/hook"), &json!("ca.pem"))).expect(1);
    assert_eq!(server.seen(), [""; 0]);
}

#[test]
fn d6_a_ca_file_that_cannot_be_used_is_a_mistake_in_the_configuration() {
    let sandbox = Sandbox::new();
    let known = Authority::new("known").pem;
    sandbox.write("empty.pem", "nothing");
    sandbox.write("cut.pem", &known[..known.len() / 2]);
    sandbox.write("damaged.pem", known.replace("\nMII", "\nMMM"));
    sandbox.write("key.pem", KeyPair::generate().expect("a key").serialize_pem());
    sandbox.write("ca.der", CertificateDer::from_pem_slice(known.as_bytes()).expect("a certificate"));
    for (file, part) in [
        ("missing.pem", "cannot be read"),
        ("empty.pem", "contains no PEM certificate"),
        ("cut.pem", "contains a damaged PEM certificate"),
        ("damaged.pem", "contains a damaged PEM certificate"),
        ("key.pem", "contains a private key, but no PEM certificate"),
        ("ca.der", "is in DER form: convert it with `openssl x509 -inform der -in ca.der -out ca.pem`"),
    ] {
        sandbox.sync(&secure("https://127.0.0.1:9/", &json!(file))).expect(2).prints(part).prints(file);
    }
}

#[test]
fn d3_from_https_to_http_is_not_followed() {
    let plain = Receiver::new();
    let authority = Authority::new("known");
    let server = authority.server("localhost");
    server.redirect_to(&plain.url("/end"));
    let run = authority.trusted().sync(&secure(&server.url("/start"), &json!(true))).expect(1);
    run.prints("redirects from https to http://");
    assert!(plain.callbacks().is_empty());
}

/// What `openssl req -x509` makes: a certificate that is its own CA.
#[test]
fn d6_the_servers_own_certificate_can_be_named_in_place_of_a_ca() {
    let key = KeyPair::generate().expect("a key");
    let mut params = params_for("localhost");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("a certificate");
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a private key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .expect("a certificate with its key");
    let server = TlsReceiver::start(Arc::new(config));
    let sandbox = Authority::new("known").trusted();
    sandbox.sync(&secure(&server.url("/hook"), &json!(true))).expect(1).prints("is self-signed");
    sandbox.write("own.pem", certificate.pem());
    sandbox.sync(&secure(&server.url("/hook"), &json!("own.pem"))).expect(0).never_prints("warning");
    assert_eq!(server.seen().len(), 1);
    // Its name counts all the same.
    let elsewhere = server.url("/hook").replace("localhost", "127.0.0.1");
    sandbox.sync(&secure(&elsewhere, &json!("own.pem"))).expect(1).prints("another name");
}
