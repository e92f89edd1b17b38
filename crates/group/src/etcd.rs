//! What is said to etcd and what it says, by its JSON gateway: keys and values in base64, numbers of 64 bits as strings.
//!
//! What etcd leaves out is zero, false or empty; fields that are not known here are passed over.

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

/// So many operations fit into one transaction.
pub const MAX_OPERATIONS: usize = 128;

/// Where requests go.
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

/// Some keys: all from the first one up to, and without, the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    from: Vec<u8>,
    /// Empty: the first key alone.
    to: Vec<u8>,
}

impl Range {
    /// One key.
    pub fn key(key: &str) -> Self {
        Self { from: key.into(), to: Vec::new() }
    }

    /// All keys that begin so. The prefix is not empty.
    pub fn prefix(prefix: &str) -> Self {
        let mut to: Vec<u8> = prefix.into();
        // Text has no byte of 255.
        if let Some(last) = to.last_mut() {
            *last += 1;
        }
        Self { from: prefix.into(), to }
    }

    /// From one key up to, and without, another.
    pub fn between(from: &str, to: &str) -> Self {
        Self { from: from.into(), to: to.into() }
    }

    /// What of it comes behind a key.
    #[must_use]
    pub fn behind(&self, key: &[u8]) -> Self {
        Self { from: [key, b"\0"].concat(), to: self.to.clone() }
    }
}

/// What must be so for a transaction to take its first branch.
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
    /// Writes a value; where there is a lease, the key ends with it.
    Put(String, String, Option<LeaseId>),
    /// Deletes keys.
    Delete(Range),
    /// Reads keys: at most so many.
    Get(Range, u32),
}

/// What is done at once, or not at all. It may be sent again where it is not known if it was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// All of these must be so.
    pub compares: Vec<Compare>,
    /// What is done then; at most [`MAX_OPERATIONS`].
    pub then: Vec<Operation>,
    /// What is done otherwise; at most [`MAX_OPERATIONS`].
    pub otherwise: Vec<Operation>,
}

/// Which store responds, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStamp {
    /// Which store.
    pub cluster: u64,
    /// Its revision.
    pub revision: i64,
}

impl StoreStamp {
    /// Whether the store lost what it had (J7): it was known to be further, or is another one. True of responses by the whole
    /// store, to calls that were made when this much was known; one node alone may be behind the others.
    pub fn went_back(self, known: Option<Self>) -> bool {
        known.is_some_and(|known| known.cluster != self.cluster || known.revision > self.revision)
    }
}

/// What came of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Whether all was as compared.
    pub succeeded: bool,
    /// The revision of the store afterwards.
    pub revision: i64,
    /// What each operation of the branch read; nothing for those that write.
    pub found: Vec<Vec<KeyValue>>,
}

#[cfg(test)]
mod tests;
