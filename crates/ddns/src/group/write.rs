//! Writing what the group remembers: each write is one transaction on the holder's key (J3), and on the write before it, so
//! that one that comes late changes nothing.

use std::time::Duration;

use ddns_core::update::state::Pair;
use ddns_group::etcd::{Compare, MAX_OPERATIONS, Operation, Range, Transaction};
use ddns_group::view::Keys;

use super::etcd::{Error, Etcd};

/// So much is written at once: one operation says which write it is.
pub(super) const MAX_PAIRS: usize = MAX_OPERATIONS - 1;

/// What is remembered of the callbacks' updates.
pub(super) fn entries(keys: &Keys) -> String {
    format!("{}entry/", keys.state())
}

/// Which transaction wrote last: one that comes late, after another, changes nothing.
pub(super) fn written(keys: &Keys) -> String {
    format!("{}written", keys.state())
}

/// The key of a pair.
fn entry(keys: &Keys, name: &str) -> String {
    format!("{}{name}", entries(keys))
}

/// The holder's key of this host. Its revision alone may be that of another's, in a store that went back (J7).
#[derive(Clone)]
pub(super) struct Own {
    /// The revision at which it was created.
    pub(super) created: i64,
    /// Its text.
    pub(super) text: String,
}

impl Own {
    /// What must be so for it to be there.
    pub(super) fn compares(&self, keys: &Keys) -> Vec<Compare> {
        vec![Compare::Created(keys.holder(), self.created), Compare::Value(keys.holder(), self.text.clone())]
    }
}

/// A write.
pub(super) struct Write {
    pub(super) own: Own,
    /// Which write came before; none where this is the first of all.
    pub(super) last: Option<String>,
    /// Which one this is.
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
}

/// What came of it.
pub(super) enum Wrote {
    Done,
    /// Another write of this holder came before it, which was thought to have failed.
    Behind(Option<String>),
    /// The holder's key is another's.
    Refused,
}

impl Write {
    pub(super) async fn run(&self, store: &Etcd, keys: &Keys, limit: Duration) -> Result<Wrote, Error> {
        let done = store.transaction(&self.transaction(keys), limit).await?;
        if done.succeeded {
            return Ok(Wrote::Done);
        }
        let mut found = done.found.into_iter().map(|found| found.into_iter().next());
        let (holder, last) = (found.next().flatten(), found.next().flatten());
        let last = last.map(|last| last.value);
        Ok(if last.as_ref() == Some(&self.name) {
            // It was done by a try whose answer was lost.
            Wrote::Done
        } else if holder
            .is_some_and(|holder| (holder.created, holder.value) == (self.own.created, self.own.text.clone()))
        {
            Wrote::Behind(last)
        } else {
            Wrote::Refused
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
