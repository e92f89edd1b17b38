//! A group whose store wants TLS and a certificate of each client.

use rcgen::{DistinguishedName, ExtendedKeyUsagePurpose};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::authority::{Authority, params_for};
use crate::support::etcd::Etcd;
use crate::support::members::Member;
use crate::support::watching::{Endpoint, SOON, status, until};

/// An etcd with a certificate for 127.0.0.1 that asks each client for one.
struct Secured {
    etcd: Etcd,
    files: Sandbox,
}

impl Secured {
    fn start() -> Option<Self> {
        let (authority, files) = (Authority::new("ours"), Sandbox::new());
        files.write("ca.pem", &authority.pem);
        files.write("foreign.pem", Authority::new("foreign").pem);
        files.write("nothing.pem", "nothing\n");
        for name in ["server", "client"] {
            let mut params = params_for("127.0.0.1");
            // etcd's gateway is a client of its own server; a common name would be taken for a user.
            params.distinguished_name = DistinguishedName::new();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let (certificate, key) = authority.files(&params);
            files.write(&format!("{name}.pem"), certificate);
            files.write(&format!("{name}.key"), key);
        }
        let [ca, certificate, key] = ["ca.pem", "server.pem", "server.key"].map(|name| path(&files, name));
        let options = ["--cert-file", &certificate, "--key-file", &key, "--client-cert-auth", "--trusted-ca-file", &ca];
        Some(Self { etcd: Etcd::with(true, &options)?, files })
    }

    fn path(&self, name: &str) -> String {
        path(&self.files, name)
    }

    /// A member that trusts the certificates of this file, and shows its own where it has one.
    fn member(&self, name: &str, ip: &str, ca: &str, has_own: bool, endpoint: &Endpoint) -> Member {
        let store = format!("etcds://127.0.0.1:{}", self.etcd.port);
        let mut group = json!({"store": store, "ca": self.path(ca)});
        if has_own {
            group["certificate"] = json!(self.path("client.pem"));
            group["key"] = json!(self.path("client.key"));
        }
        Member::new(name, ip, &self.etcd, endpoint, &group)
    }
}

fn path(files: &Sandbox, name: &str) -> String {
    files.path(name).to_str().expect("a plain path").to_owned()
}

#[test]
fn j1_over_tls_one_sends_and_the_other_takes_over_at_once_when_it_ends() {
    let Some(store) = Secured::start() else { return };
    let endpoint = Endpoint::new();
    let one = store.member("one", "203.0.113.1", "ca.pem", true, &endpoint);
    let other = store.member("other", "203.0.113.2", "ca.pem", true, &endpoint);
    let first = one.watch();
    assert_eq!(endpoint.wait(1, SOON).ip(), "203.0.113.1");
    let second = other.watch();
    second.prints("is on standby: one holds the lease of group home");
    first.stop();
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.2");
    assert_eq!(status(&other.sandbox).1, 0);
    let log = second.stop();
    assert!(!log.contains("WARNING"), "{log}");
    other.sandbox.sync(&other.single(&json!({}))).expect(0).says_nothing();
}

#[test]
fn j4_a_store_whose_certificate_is_not_trusted_or_that_wants_one_is_named_with_the_way_out() {
    let Some(store) = Secured::start() else { return };
    let endpoint = Endpoint::new();
    let cases = [
        ("foreign.pem", true, "set `group.ca` to the file of the CA"),
        ("ca.pem", false, "set `group.certificate` and `group.key`"),
    ];
    for (ca, has_own, words) in cases {
        let one = store.member("one", "203.0.113.1", ca, has_own, &endpoint);
        let run = one.sandbox.sync(&one.single(&json!({}))).expect(1);
        run.prints("the store of group home cannot be used: ").prints(words);
        let watch = one.watch();
        watch.prints(words);
        let (now, code) = status(&one.sandbox);
        let why = now["group"]["store_error"].as_str().unwrap_or_default();
        assert!(why.contains(words) && code == 1, "{now:#}");
        watch.stop();
    }
    assert_eq!(endpoint.count(), 0);
}

/// A file that holds no certificate is refused before anything runs on it, and a service keeps what it has.
#[test]
fn j4_a_file_without_a_certificate_is_refused_and_a_service_goes_on_with_the_previous_one() {
    let Some(store) = Secured::start() else { return };
    let endpoint = Endpoint::new();
    let one = store.member("one", "203.0.113.1", "ca.pem", true, &endpoint);
    let mut first = one.watch();
    endpoint.wait(1, SOON);
    let mut config: Value = serde_json::from_str(&one.sandbox.read("config.json")).expect("JSON");
    config["group"]["ca"] = json!(store.path("nothing.pem"));
    one.sandbox.write("config.json", config.to_string());
    first.signal(Signal::HUP);
    first.prints("keeping the previous one");
    let words = "nothing.pem contains no PEM certificate";
    assert!(first.log().contains(words), "{}", first.log());
    one.sandbox.run(&["check", "--wide", "-c", "config.json"]).expect(2).shows(words);
    one.set_ip("203.0.113.3");
    first.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.3");
    assert!(first.is_running());
    until(SOON, "it is told", || !status(&one.sandbox).0["errors"].as_array().is_none_or(Vec::is_empty));
    first.stop();
}
