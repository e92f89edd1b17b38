//! Writes the state of the group. Each write is one transaction that requires this host's holder key (J3), and the write
//! before it to be the last one, so that a late write changes nothing.

use std::time::Duration;

use ddns_core::update::state::Pair;
use ddns_group::etcd::{Compare, MAX_OPERATIONS, Operation, Range, Transaction};
use ddns_group::view::Keys;

use super::etcd::{Error, Etcd};

/// How many pairs fit into one write: one operation is needed for the name of the write.
pub(super) const MAX_PAIRS: usize = MAX_OPERATIONS - 1;

/// The prefix of the keys that hold the state of updates.
pub(super) fn entries(keys: &Keys) -> String {
    format!("{}entry/", keys.state())
}

/// The key that names the last write: a late write finds another name there, and changes nothing.
pub(super) fn written(keys: &Keys) -> String {
    format!("{}written", keys.state())
}

/// The key of a pair.
fn entry(keys: &Keys, name: &str) -> String {
    format!("{}{name}", entries(keys))
}

/// The holder's key of this host. The revision alone does not identify it: in a store that went back, another host's key may
/// have the same (J7).
#[derive(Clone)]
pub(super) struct HolderKey {
    /// The revision at which the key was created.
    pub(super) created: i64,
    pub(super) text: String,
}

impl HolderKey {
    /// The conditions that this key exists.
    pub(super) fn compares(&self, keys: &Keys) -> Vec<Compare> {
        vec![Compare::Created(keys.holder(), self.created), Compare::Value(keys.holder(), self.text.clone())]
    }
}

pub(super) struct Write {
    pub(super) own: HolderKey,
    /// The name of the write before. `None`: this is the very first write.
    pub(super) last: Option<String>,
    /// The name of this write.
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
}

/// The result of a write.
pub(super) enum WriteResult {
    Done,
    /// An earlier write of this holder, which seemed to have failed, came first. Contains the name of the last write.
    Behind(Option<String>),
    /// This host's holder key no longer exists.
    Refused,
}

impl Write {
    pub(super) async fn run(&self, store: &Etcd, keys: &Keys, limit: Duration) -> Result<WriteResult, Error> {
        let done = store.transaction(&self.transaction(keys), limit).await?;
        if done.succeeded {
            return Ok(WriteResult::Done);
        }
        let mut found = done.found.into_iter().map(|found| found.into_iter().next());
        let (holder, last) = (found.next().flatten(), found.next().flatten());
        let last = last.map(|last| last.value);
        Ok(if last.as_ref() == Some(&self.name) {
            // The write succeeded in an earlier try whose answer was lost.
            WriteResult::Done
        } else if holder
            .is_some_and(|holder| (holder.created, holder.value) == (self.own.created, self.own.text.clone()))
        {
            WriteResult::Behind(last)
        } else {
            WriteResult::Refused
        })
    }

    fn transaction(&self, keys: &Keys) -> Transaction {
        let place = written(keys);
        let before = match &self.last {
            Some(last) => Compare::Value(place.clone(), last.clone()),
            None => Compare::absent(place.clone()),
        };
        let operation = |(name, text): &Pair| match text {
            Some(text) => Operation::Put(entry(keys, name), text.clone(), None),
            None => Operation::Delete(Range::key(&entry(keys, name))),
        };
        let mut then: Vec<Operation> = self.pairs.iter().map(operation).collect();
        then.push(Operation::Put(place.clone(), self.name.clone(), None));
        Transaction {
            compares: [self.own.compares(keys), vec![before]].concat(),
            then,
            otherwise: vec![Operation::Get(Range::key(&keys.holder()), 1), Operation::Get(Range::key(&place), 1)],
        }
    }
}
