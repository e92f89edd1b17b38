//! Writes the bodies of requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ddns_core::object;
use ddns_core::text::own_json::line;
use serde::{Serialize, Serializer};

use super::{Compare, LeaseId, Operation, Range, Transaction};

/// A range: at most how many keys to read, at which revision to read, and from which revision on to watch.
fn part(range: &Range, most: Option<u32>, revision: Option<i64>, from: Option<i64>) -> impl Serialize {
    object! {
        key: STANDARD.encode(&range.from);
        range_end: Some(STANDARD.encode(&range.to)).filter(|end| !end.is_empty()),
        limit: most.map(|most| most.to_string()),
        revision: revision.map(|revision| revision.to_string()),
        start_revision: from.map(|from| from.to_string()),
    }
}

/// Reads at most `most` keys, at `revision` if it is given.
pub fn range_body(range: &Range, most: u32, revision: Option<i64>) -> String {
    line(&part(range, Some(most), revision, None))
}

/// Asks for a lease with this time to live.
pub fn grant_body(seconds: u64) -> String {
    line(&object! { TTL: seconds.to_string() })
}

/// Names the lease to renew or revoke.
pub fn lease_body(lease: LeaseId) -> String {
    line(&object! { ID: lease.0.to_string() })
}

/// Asks for a token.
pub fn authenticate_body(user: &str, password: &str) -> String {
    line(&object! { name: user, password: password })
}

/// Asks for all changes from a revision on, with one message for each range.
pub fn watch_body(ranges: &[Range], from: i64) -> String {
    let watch = |range| line(&object! { create_request: part(range, None, None, Some(from)) }) + "\n";
    ranges.iter().map(watch).collect()
}

/// Asks for a transaction.
pub fn transaction_body(transaction: &Transaction) -> String {
    let Transaction { compares, then, otherwise, .. } = transaction;
    line(&object! { compare: compares, success: then, failure: otherwise })
}

impl Serialize for Compare {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (target, key, revision, value) = match self {
            Self::Created(key, revision) => ("CREATE", key, Some(revision.to_string()), None),
            Self::Value(key, value) => ("VALUE", key, None, Some(STANDARD.encode(value))),
        };
        let key = STANDARD.encode(key);
        object! { result: "EQUAL", target: target, key: key; create_revision: revision, value: value }.serialize(to)
    }
}

impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Put(key, value, lease) => {
                let (key, value) = (STANDARD.encode(key), STANDARD.encode(value));
                let lease = lease.map(|lease| lease.0.to_string());
                object! { request_put: object! { key: key, value: value; lease: lease } }.serialize(to)
            }
            Self::Delete(range) => object! { request_delete_range: part(range, None, None, None) }.serialize(to),
            Self::Get(range, most) => object! { request_range: part(range, Some(*most), None, None) }.serialize(to),
        }
    }
}
