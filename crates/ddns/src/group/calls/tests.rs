//! Tests against a real etcd, if it is installed.

use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::update::state::{Accepted, Claim, ClaimKey, Fingerprint};
use futures_util::future::join;

use super::super::etcd::tests::{client, run, server};
use super::*;

/// How often two loads run at once, in case one is over before the other has begun.
const TRIES: u8 = 20;

fn store(port: u16, try_: u8) -> GroupStore {
    let settings = Settings { member: "one".to_owned(), lease: Duration::from_secs(20), prefer: 0 };
    GroupStore { etcd: client(&[port]), keys: Keys::new(&format!("home{try_}")), settings }
}

/// This host becomes the holder.
async fn holding(store: &GroupStore, more: Vec<Operation>) -> HolderKey {
    let text = Holder::text(&store.settings.member, LeaseId(0));
    let then = [vec![Operation::Put(store.keys.holder(), text.clone(), None)], more].concat();
    let done = store.transaction(&Transaction { then, ..Transaction::default() }).await.expect("it is written");
    HolderKey { created: done.revision, text }
}

/// As when the first of two loads was given up, but arrives after all.
#[test]
fn j3_a_late_load_does_not_replace_the_salt() {
    let Some(etcd) = server::Etcd::start() else { return };
    run(async {
        for number in 0..TRIES {
            let store = store(etcd.port, number);
            let own = holding(&store, Vec::new()).await;
            let (one, other) = join(store.load(&own, false, 1), store.load(&own, false, 2)).await;
            let loaded = store.load(&own, false, 3).await.expect("it has a salt").state;
            for state in [one, other].into_iter().flatten().map(|loaded| loaded.state) {
                assert_eq!(state.salt(), loaded.salt());
            }
        }
        let store = store(etcd.port, TRIES);
        let own = HolderKey { created: 1, text: "another".to_owned() };
        assert!(store.load(&own, false, 1).await.is_err(), "only the holder creates it");
    });
}

#[test]
fn j7_a_late_write_of_doubts_does_not_count_as_that_of_the_next_load() {
    let Some(etcd) = server::Etcd::start() else { return };
    let salt = State::new(vec![7; 16]);
    let mut state = salt.clone();
    let domain = Domain::parse("a.example.com").expect("a domain");
    let key = ClaimKey { callback: Fingerprint::new([1; 16]), domain, family: Family::V4 };
    let accepted = Some(Accepted { ip: [203, 0, 113, 7].into(), at: 1 });
    state.set(&key, Claim { accepted, in_doubt: None });
    let (name, text) = state.pair(&key);
    run(async {
        for number in 0..TRIES {
            let store = store(etcd.port, number);
            let entry = format!("{}{name}", entries(&store.keys));
            let put = |key, text| Operation::Put(key, text, None);
            let more = vec![put(store.salt(), salt.salt_text()), put(entry, text.clone().expect("it is known"))];
            let own = holding(&store, more).await;
            let (one, other) = join(store.load(&own, true, 1), store.load(&own, true, 2)).await;
            if one.is_err() != other.is_err() {
                return;
            }
        }
        panic!("both loads say that they wrote");
    });
}
