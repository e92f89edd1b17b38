//! Requests to etcd's JSON gateway and its responses: keys and values are in base64, 64-bit numbers are strings.
//!
//! A field that etcd leaves out is zero, false or empty. Unknown fields are ignored.

mod problem;
mod read;
mod value;
mod write;

use super::view::{KeyValue, LeaseId};
pub use problem::{Problem, problem};
pub use read::{
    Grant, KeyChange, Messages, RangePage, WatchBatch, WatchEvent, grant, page, renewal, token, transaction, watched,
};
pub use value::Malformed;
pub use write::{authenticate_body, grant_body, lease_body, range_body, transaction_body, watch_body};

/// How many operations fit into one transaction.
pub const MAX_OPERATIONS: usize = 128;

/// The paths of the gateway.
pub mod path {
    #![allow(missing_docs, reason = "each is the name of the call")]
    pub const AUTHENTICATE: &str = "/v3/auth/authenticate";
    pub const GRANT: &str = "/v3/lease/grant";
    pub const RANGE: &str = "/v3/kv/range";
    pub const RENEW: &str = "/v3/lease/keepalive";
    pub const REVOKE: &str = "/v3/lease/revoke";
    pub const TRANSACTION: &str = "/v3/kv/txn";
    pub const WATCH: &str = "/v3/watch";
}

/// A range of keys, from the first key up to but not including the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    from: Vec<u8>,
    /// Empty: only the first key.
    to: Vec<u8>,
}

impl Range {
    /// One key.
    pub fn key(key: &str) -> Self {
        Self { from: key.into(), to: Vec::new() }
    }

    /// All keys with this prefix, which must not be empty.
    pub fn prefix(prefix: &str) -> Self {
        let mut to: Vec<u8> = prefix.into();
        // Cannot overflow: UTF-8 text has no byte 255.
        if let Some(last) = to.last_mut() {
            *last += 1;
        }
        Self { from: prefix.into(), to }
    }

    /// From one key up to but not including another.
    pub fn between(from: &str, to: &str) -> Self {
        Self { from: from.into(), to: to.into() }
    }

    /// The part of the range behind a key.
    #[must_use]
    pub fn behind(&self, key: &[u8]) -> Self {
        Self { from: [key, b"\0"].concat(), to: self.to.clone() }
    }
}

/// A condition of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compare {
    /// The key was created at this revision; 0: it does not exist.
    Created(String, i64),
    /// The key has this value.
    Value(String, String),
}

impl Compare {
    /// The key does not exist.
    pub fn absent(key: impl Into<String>) -> Self {
        Self::Created(key.into(), 0)
    }
}

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Writes a value. A key with a lease is deleted when the lease ends.
    Put(String, String, Option<LeaseId>),
    /// Deletes keys.
    Delete(Range),
    /// Reads at most this many keys.
    Get(Range, u32),
}

/// Operations that etcd carries out together or not at all. The client may send a transaction again if its response is lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// The conditions.
    pub compares: Vec<Compare>,
    /// Carried out if all conditions are true; at most [`MAX_OPERATIONS`].
    pub then: Vec<Operation>,
    /// Carried out otherwise; at most [`MAX_OPERATIONS`].
    pub otherwise: Vec<Operation>,
}

/// The header of a response: which store answered, and at which revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStamp {
    /// The id of the cluster.
    pub cluster: u64,
    /// The revision of the store.
    pub revision: i64,
}

impl StoreStamp {
    /// Whether the store lost data (J7): its revision is lower than one already seen, or it is another cluster. Use this only
    /// for responses of the whole store, with the stamp known when the call was made: a single node may lag behind the others.
    pub fn went_back(self, known: Option<Self>) -> bool {
        known.is_some_and(|known| known.cluster != self.cluster || known.revision > self.revision)
    }
}

/// The result of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Whether all conditions were true.
    pub succeeded: bool,
    /// The revision of the store afterwards.
    pub revision: i64,
    /// The keys that each operation of the branch read; empty for operations that write.
    pub found: Vec<Vec<KeyValue>>,
}

#[cfg(test)]
mod tests;
