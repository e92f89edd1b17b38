//! Tests against a real etcd, if it is installed.

#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the program")]
#[path = "../../../tests/support/programs.rs"]
mod programs;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the program")]
#[path = "../../../tests/support/etcd.rs"]
pub(in crate::group) mod server;

use std::fs;
use std::path::PathBuf;

use ddns_group::etcd::{Compare, KeyChange, Operation};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, LocalOptions};
use tokio::time::timeout;

use super::*;

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

pub(in crate::group) fn run(test: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).expect("a runtime");
    runtime.block_on(test);
}

fn group(secure: bool, ports: &[u16]) -> Group {
    let servers = ports.iter().map(|port| StoreServer { host: "127.0.0.1".to_owned(), port: *port }).collect();
    Group {
        store: StoreLocation { secure, servers },
        name: "home".to_owned(),
        lease: Duration::from_secs(15),
        member: None,
        prefer: 0,
        ca: None,
        identity: None,
        login: None,
    }
}

pub(in crate::group) fn client(ports: &[u16]) -> Etcd {
    Etcd::new(&group(false, ports)).expect("a client")
}

fn put(key: &str, value: &str, lease: Option<LeaseId>) -> Operation {
    Operation::Put(key.to_owned(), value.to_owned(), lease)
}

/// Creates the key; reads it if it already exists.
fn on_absence(key: &str, lease: Option<LeaseId>) -> Transaction {
    Transaction {
        compares: vec![Compare::absent(key)],
        then: vec![put(key, "ours", lease)],
        otherwise: vec![Operation::Get(Range::key(key), 1)],
    }
}

fn writing(operations: Vec<Operation>) -> Transaction {
    Transaction { then: operations, ..Transaction::default() }
}

async fn write(store: &Etcd, key: &str, value: &str) -> i64 {
    store.transaction(&writing(vec![put(key, value, None)]), LIMIT).await.expect("it is written").revision
}

/// A port on loopback that nobody can listen on as long as the socket exists.
fn closed_port() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let port = socket.local_addr().expect("the port that was bound").port();
    (socket, port)
}

#[test]
fn j1_of_two_that_create_a_key_one_succeeds_and_its_lease_takes_it_away() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        let store = client(&[etcd.port]);
        let granted = store.grant(30, LIMIT).await.expect("a lease");
        assert_eq!(granted.seconds, 30);
        let first = store.transaction(&on_absence("a/holder", Some(granted.lease)), LIMIT).await.expect("a response");
        assert!(first.succeeded);
        let second = store.transaction(&on_absence("a/holder", None), LIMIT).await.expect("a response");
        assert!(!second.succeeded);
        let holder = KeyValue {
            key: "a/holder".to_owned(),
            value: "ours".to_owned(),
            lease: Some(granted.lease),
            created: first.revision,
        };
        assert_eq!(second.found, [vec![holder.clone()]]);
        // A holder's writes are conditional on its key.
        for (compare, expected) in [
            (Compare::Created(holder.key.clone(), first.revision), true),
            (Compare::Created(holder.key.clone(), first.revision + 1), false),
            (Compare::Value(holder.key.clone(), "ours".to_owned()), true),
            (Compare::Value(holder.key.clone(), "another".to_owned()), false),
        ] {
            let transaction = Transaction { compares: vec![compare.clone()], ..Transaction::default() };
            let done = store.transaction(&transaction, LIMIT).await.expect("a response");
            assert_eq!(done.succeeded, expected, "{compare:?}");
        }
        assert_eq!(store.renew(granted.lease, LIMIT).await, Ok(Some(30)));
        store.revoke(granted.lease, LIMIT).await.expect("it is given back");
        let (found, _) = store.range(&Range::prefix("a/"), LIMIT).await.expect("a response");
        assert_eq!(found, []);
        assert_eq!(store.renew(granted.lease, LIMIT).await, Ok(None));
        assert_eq!(store.revoke(granted.lease, LIMIT).await, Ok(()));
        let late = store.transaction(&on_absence("a/holder", Some(granted.lease)), LIMIT).await;
        assert_eq!(late, Err(Error::LeaseGone));
    });
}

#[test]
fn j2_ten_thousand_keys_are_read_in_pages_and_in_their_order() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        let store = client(&[etcd.port]);
        for hundred in 0..100 {
            let key = |number| format!("a/{:05}", hundred * 100 + number);
            let all = (0..100).map(|number| put(&key(number), &"x".repeat(200), None)).collect();
            store.transaction(&writing(all), LIMIT).await.expect("they are written");
        }
        let last = write(&store, "b", "of another").await;
        let (found, revision) = store.range(&Range::prefix("a/"), LIMIT).await.expect("a response");
        assert_eq!((found.len(), revision), (10_000, last));
        assert!(found.is_sorted_by(|one, other| one.key < other.key));
        let two = Range::between("a/00007", "a/00009");
        assert_eq!(store.range(&two, LIMIT).await.expect("a response").0.len(), 2);
        let done = store.transaction(&writing(vec![Operation::Delete(Range::prefix("a/"))]), LIMIT).await;
        assert_eq!(done.expect("a response").revision, last + 1);
        assert_eq!(store.range(&Range::prefix("a/"), LIMIT).await, Ok((Vec::new(), last + 1)));
    });
}

#[test]
fn a_watch_shows_every_change_from_a_revision_on_and_of_its_ranges_alone() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        let store = client(&[etcd.port]);
        let revision = write(&store, "a/1", "before").await;
        let lease = store.grant(30, LIMIT).await.expect("a lease").lease;
        let member = put("a/members/x", "{}", Some(lease));
        let joined = store.transaction(&writing(vec![member]), LIMIT).await.expect("it is written").revision;
        let ranges = [Range::key("a/1"), Range::prefix("a/members/")];
        let mut watch = store.watch(&ranges, revision, LIMIT).await.expect("a watch");
        let mut next = async || timeout(LIMIT, watch.next()).await.expect("in time").expect("a batch");
        let mut seen = Vec::new();
        while seen.len() < 2 {
            seen.extend(next().await.changes);
        }
        let value = |change: &KeyChange| match change {
            KeyChange::Put(pair) => (pair.key.clone(), pair.value.clone(), pair.lease, pair.created),
            KeyChange::Deleted(key) => (key.clone(), String::new(), None, 0),
        };
        seen.sort_by_key(value);
        let expected = [
            ("a/1".to_owned(), "before".to_owned(), None, revision),
            ("a/members/x".to_owned(), "{}".to_owned(), Some(lease), joined),
        ];
        assert_eq!(seen.iter().map(value).collect::<Vec<_>>(), expected);
        write(&store, "a/2", "not watched").await;
        store.revoke(lease, LIMIT).await.expect("it is given back");
        let left = next().await;
        assert_eq!((left.changes, left.revision), (vec![KeyChange::Deleted("a/members/x".to_owned())], joined + 2));
        let many = "y".repeat(100_000);
        write(&store, "a/1", &many).await;
        let changed = next().await;
        assert!(matches!(&changed.changes[..], [KeyChange::Put(pair)] if pair.value == many));
    });
}

#[test]
fn a_watch_from_a_revision_that_is_not_kept_says_so() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        let store = client(&[etcd.port]);
        for _ in 0..3 {
            write(&store, "a/1", "x").await;
        }
        etcd.control(&["compact", "3"]);
        let mut watch = store.watch(&[Range::prefix("a/")], 1, LIMIT).await.expect("a watch");
        assert_eq!(timeout(LIMIT, watch.next()).await.expect("in time"), Err(Error::Compacted));
        let (found, revision) = store.range(&Range::prefix("a/"), LIMIT).await.expect("a response");
        assert_eq!(found.len(), 1);
        store.watch(&[Range::prefix("a/")], revision + 1, LIMIT).await.expect("a watch");
    });
}

#[test]
fn a_wrong_password_is_denied_and_an_old_token_is_renewed() {
    let Some(etcd) = server::Etcd::start() else { return };
    let with = |user: &str, password: &str| {
        let mut group = group(false, &[etcd.port]);
        group.login = Some((user.to_owned(), Password(password.to_owned())));
        Etcd::new(&group).expect("a client")
    };
    run(async {
        let root = with("root", "secret-of-root");
        // Before authentication is enabled.
        write(&root, "a/1", "x").await;
        etcd.control(&["user", "add", "root:secret-of-root"]);
        etcd.control(&["user", "grant-role", "root", "root"]);
        etcd.control(&["user", "add", "guest:secret-of-guest"]);
        etcd.control(&["role", "add", "home"]);
        etcd.control(&["role", "grant-permission", "home", "--prefix=true", "readwrite", "ddns/home/"]);
        etcd.control(&["user", "grant-role", "guest", "home"]);
        etcd.control(&["auth", "enable"]);
        write(&root, "a/1", "y").await;

        let guest = with("guest", "secret-of-guest");
        write(&guest, "ddns/home/x", "x").await;
        let range = [Range::prefix("ddns/home/")];
        guest.watch(&range, 1, LIMIT).await.expect("a watch");
        let denied = |result: Result<(), Error>, words: &str| match result {
            Err(Error::Denied(why)) => assert!(why.contains(words) && !why.contains("secret-of"), "{why}"),
            other => panic!("{other:?} is not denied"),
        };
        let elsewhere = async |store: &Etcd| store.range(&Range::prefix("a/"), LIMIT).await.map(|_| ());
        denied(elsewhere(&guest).await, "does not let this user");
        let watched = guest.watch(&[Range::prefix("a/")], 1, LIMIT).await.map(|_| ());
        denied(watched, "does not let this user");
        denied(elsewhere(&with("guest", "secret-of-nobody")).await, "refuses the user or the password");
        denied(elsewhere(&with("nobody", "secret-of-guest")).await, "refuses the user or the password");
        denied(elsewhere(&client(&[etcd.port])).await, "set `group.user` and `group.password_file`");

        // Each change of users makes older tokens invalid.
        let sure = ["--user", "root:secret-of-root"];
        etcd.control(&[sure[0], sure[1], "user", "add", "other:secret"]);
        write(&guest, "ddns/home/x", "y").await;
        etcd.control(&[sure[0], sure[1], "user", "add", "third:secret"]);
        guest.watch(&range, 1, LIMIT).await.expect("a watch");
    });
}

/// A certificate authority, and a folder for the certificates that it issues.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Issues a certificate. Returns it and its key.
    fn issue(&self, name: &str) -> (FileText, FileText) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        // etcd's gateway is a client of its own server, which would take a common name for a user.
        params.distinguished_name = DistinguishedName::new();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (self.file(&format!("{name}.pem"), certificate.pem()), self.file(&format!("{name}.key"), key.serialize_pem()))
    }

    fn ca(&self) -> FileText {
        self.file("ca.pem", self.pem.clone())
    }

    fn file(&self, name: &str, text: String) -> FileText {
        let path: PathBuf = self.folder.path().join(name);
        fs::write(&path, &text).expect("a file");
        FileText { path: path.to_str().expect("a plain path").to_owned(), text }
    }
}

#[test]
fn tls_trusts_its_authority_alone_and_shows_its_own_certificate() {
    let (ours, foreign) = (Authority::new("ours"), Authority::new("foreign"));
    let (ca, (certificate, key)) = (ours.ca(), ours.issue("127.0.0.1"));
    let options = ["--cert-file", &certificate.path, "--key-file", &key.path];
    let strict = ["--client-cert-auth", "--trusted-ca-file", &ca.path];
    let Some(etcd) = server::Etcd::with(true, &[&options[..], &strict[..]].concat()) else { return };
    let store = |ca: &FileText, identity: Option<(FileText, FileText)>, host: &str| {
        let mut group = group(true, &[etcd.port]);
        host.clone_into(&mut group.store.servers[0].host);
        (group.ca, group.identity) = (Some(ca.clone()), identity);
        Etcd::new(&group).expect("a client")
    };
    run(async {
        let identity = ours.issue("client");
        let secured = store(&ca, Some(identity.clone()), "127.0.0.1");
        let revision = write(&secured, "a/1", "x").await;
        let mut watch = secured.watch(&[Range::prefix("a/")], revision, LIMIT).await.expect("a watch");
        assert_eq!(timeout(LIMIT, watch.next()).await.expect("in time").expect("a batch").revision, revision);
        let fails = async |store: Etcd| match store.range(&Range::prefix("a/"), LIMIT).await {
            Err(Error::Unreachable(why)) => why,
            other => panic!("{other:?}"),
        };
        let unknown = fails(store(&foreign.ca(), Some(identity.clone()), "127.0.0.1")).await;
        assert!(unknown.contains("set `group.ca` to the file of the CA"), "{unknown}");
        let other = fails(store(&ca, Some(identity), "localhost")).await;
        assert!(other.contains("is for another name: is the host in `group.store` right?"), "{other}");
        fails(store(&ca, None, "127.0.0.1")).await;
        fails(store(&ca, Some(foreign.issue("client")), "127.0.0.1")).await;
        let plain = fails(client(&[etcd.port])).await;
        assert!(!plain.is_empty());
    });
}

#[test]
fn a_certificate_or_key_that_is_none_is_named() {
    let authority = Authority::new("ours");
    let (certificate, key) = authority.issue("client");
    let (_, of_another) = authority.issue("other");
    let nothing = authority.file("nothing.pem", "nothing\n".to_owned());
    let cases = [
        (Some(&nothing), None, "`group.ca`: "),
        (None, Some((&nothing, &key)), "`group.certificate`: "),
        (None, Some((&certificate, &nothing)), "`group.key`: "),
        (None, Some((&certificate, &of_another)), "`group.certificate` and `group.key`: "),
    ];
    for (ca, identity, words) in cases {
        let mut group = group(true, &[1]);
        group.ca = ca.cloned();
        group.identity = identity.map(|(certificate, key)| (certificate.clone(), key.clone()));
        let why = Etcd::new(&group).err().expect("it cannot be used");
        assert!(why.starts_with(words), "{why}");
    }
}

#[test]
fn j4_a_call_goes_to_the_next_endpoint_and_stays_there() {
    let (Some(one), Some(other)) = (server::Etcd::start(), server::Etcd::start()) else { return };
    run(async {
        write(&client(&[other.port]), "a/1", "of the other").await;
        let reads = async |store: &Etcd, limit| {
            let (found, _) = store.range(&Range::key("a/1"), limit).await.expect("a response");
            found.into_iter().map(|pair| pair.value).next()
        };
        // An endpoint that refuses connections.
        let (_socket, port) = closed_port();
        let store = client(&[port, other.port]);
        assert_eq!(reads(&store, LIMIT).await.as_deref(), Some("of the other"));

        // An endpoint that hangs gets half of the time, and the watch on it ends.
        let store = client(&[one.port, other.port]);
        assert_eq!(reads(&store, LIMIT).await, None);
        let mut watch = store.watch(&[Range::prefix("a/")], 1, LIMIT).await.expect("a watch");
        one.pause();
        let begun = Instant::now();
        assert_eq!(reads(&store, Duration::from_secs(2)).await.as_deref(), Some("of the other"));
        assert!(begun.elapsed() >= Duration::from_secs(1));
        let ended = timeout(LIMIT, watch.next()).await.expect("in time");
        assert!(matches!(&ended, Err(Error::Unreachable(why)) if why.contains("does not respond")), "{ended:?}");
        let begun = Instant::now();
        assert_eq!(reads(&store, Duration::from_secs(20)).await.as_deref(), Some("of the other"));
        assert!(begun.elapsed() < Duration::from_secs(10), "it stays with the one that responds");
        let mut watch = store.watch(&[Range::prefix("a/")], 1, LIMIT).await.expect("a watch");
        timeout(LIMIT, watch.next()).await.expect("in time").expect("a batch");
    });
}

#[test]
fn j4_where_nobody_responds_the_error_says_what_may_have_been_done() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        let sockets = [closed_port(), closed_port()];
        let nobody = client(&sockets.each_ref().map(|(_, port)| *port));
        let error = nobody.transaction(&on_absence("a/1", None), LIMIT).await.expect_err("nobody is there");
        assert!(matches!(error, Error::Unreachable(_)));
        assert_eq!(error.to_string().matches("connection refused").count(), 2, "{error}");

        let store = client(&[etcd.port]);
        let granted = store.grant(30, LIMIT).await.expect("a lease");
        etcd.pause();
        let error = store.transaction(&on_absence("a/1", None), Duration::from_secs(1)).await.expect_err("it hangs");
        assert!(matches!(error, Error::Unreachable(_)), "{error}");
        assert!(error.to_string().contains("took the connection but did not respond within"), "{error}");
        etcd.resume();
        // The result is the same whether or not the paused etcd carried out the first transaction.
        store.transaction(&on_absence("a/1", None), LIMIT).await.expect("a response");
        assert_eq!(store.range(&Range::key("a/1"), LIMIT).await.expect("a response").0.len(), 1);
        assert_eq!(store.renew(granted.lease, LIMIT).await, Ok(Some(30)));
    });
}

/// Serves connections one after the other: reads a request, sends the pieces, and closes the connection.
async fn sending(listener: TcpListener, pieces: Vec<&'static [u8]>) {
    loop {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"}\n") && !request.ends_with(b"}") {
            if stream.read_buf(&mut request).await.expect("a request") == 0 {
                break;
            }
        }
        for piece in &pieces {
            stream.write_all(piece).await.expect("it reads");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[test]
fn a_watch_in_pieces_is_put_together_and_one_that_is_cut_off_ends() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let port = listener.local_addr().expect("the port that was bound").port();
        let pieces: Vec<&[u8]> = vec![
            b"HTTP/1.1 200 OK\r\n\r\n{\"result\":{\"header\":{\"revision\":\"5\"},\"cre",
            b"ated\":true}}\n{\"result\":{\"events\":[{\"kv\":{\"key\":\"YS8x\",\"mod_",
            b"revision\":\"6\",\"create_revision\":\"6\",\"value\":\"eA==\"}}]}}\n{\"result\":{\"header\":{}}}\n{\"resu",
        ];
        tokio::task::spawn_local(sending(listener, pieces));
        let mut watch = client(&[port]).watch(&[Range::prefix("a/")], 6, LIMIT).await.expect("a watch");
        let batch = timeout(LIMIT, watch.next()).await.expect("in time").expect("a batch");
        assert_eq!(batch.revision, 6);
        let end = timeout(LIMIT, watch.next()).await.expect("in time");
        assert!(matches!(end, Err(Error::Unreachable(_))), "{end:?}");
    });
}

/// The store may send changes of one range before it confirms the next range.
#[test]
fn a_watch_of_several_ranges_loses_no_change_while_it_begins() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let port = listener.local_addr().expect("the port that was bound").port();
        let pieces: Vec<&[u8]> = vec![
            b"HTTP/1.1 200 OK\r\n\r\n{\"result\":{\"header\":{\"revision\":\"6\"},\"created\":true}}\n",
            b"{\"result\":{\"events\":[{\"type\":\"DELETE\",\"kv\":{\"key\":\"YS8x\",\"mod_revision\":\"6\"}}]}}\n",
            b"{\"result\":{\"header\":{\"revision\":\"6\"},\"created\":true}}\n",
        ];
        tokio::task::spawn_local(sending(listener, pieces));
        let ranges = [Range::key("a/1"), Range::prefix("b/")];
        let mut watch = client(&[port]).watch(&ranges, 6, LIMIT).await.expect("a watch");
        let batch = timeout(LIMIT, watch.next()).await.expect("in time").expect("a batch");
        assert_eq!(batch.changes, [KeyChange::Deleted("a/1".to_owned())]);
    });
}

#[test]
fn j4_a_watch_says_why_the_store_ends_it() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let port = listener.local_addr().expect("the port that was bound").port();
        let pieces: Vec<&[u8]> = vec![
            b"HTTP/1.1 200 OK\r\n\r\n{\"result\":{\"header\":{\"revision\":\"5\"},\"created\":true}}\n",
            b"{\"error\":{\"grpc_code\":14,\"http_code\":503,\"message\":\"etcdserver: no leader\"}}",
        ];
        tokio::task::spawn_local(sending(listener, pieces));
        let mut watch = client(&[port]).watch(&[Range::prefix("a/")], 6, LIMIT).await.expect("a watch");
        let end = timeout(LIMIT, watch.next()).await.expect("in time").expect_err("it ends");
        assert!(end.to_string().ends_with("cannot serve at the moment (no leader)"), "{end}");
    });
}

#[test]
fn what_is_not_etcd_is_named_so() {
    run(async {
        let cases: [(&'static [u8], &str); 4] = [
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found", "does not serve etcd's JSON gateway"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "is it etcd?"),
            (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "HTTP status 302"),
            (b"HTTP/1.1 500 No\r\nContent-Length: 26\r\n\r\n{\"error\":\"\\u001b[1mhello\"}", "hello"),
        ];
        for (response, words) in cases {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
            let port = listener.local_addr().expect("the port that was bound").port();
            tokio::task::spawn_local(sending(listener, vec![response]));
            let error = client(&[port]).grant(15, LIMIT).await.expect_err("it is not etcd").to_string();
            assert!(error.contains(words) && !error.contains(char::is_control), "{error}");
        }
    });
}
