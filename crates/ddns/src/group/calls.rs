//! Carries out the machine's calls to the store as transactions, reads and lease requests of etcd.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::update::state::State;
use ddns_group::etcd::{Compare, Done, Grant, KeyChange, Operation, Range, Transaction, WatchBatch};
use ddns_group::machine::{Answer, Call, Settings};
use ddns_group::view::{Holder, KeyValue, Keys, LeaseId, MemberEntry, VERSION, View};
use futures_util::stream::{LocalBoxStream, StreamExt as _, try_unfold};

use super::etcd::{Error, Etcd, Watch};
use super::write::{HolderKey, MAX_PAIRS, Write, WriteResult, entries, written};
use crate::random::new_salt;

/// More members than a group can have.
const MAX_MEMBERS: u32 = 10_000;

/// The state that is read when this host takes over.
pub(super) struct LoadedState {
    pub(super) state: State,
    /// The value of [`written`]. `None`: nothing was written yet.
    pub(super) last: Option<String>,
}

/// The store of a group, as a member of it calls it.
pub(super) struct GroupStore {
    pub(super) etcd: Etcd,
    pub(super) keys: Keys,
    pub(super) settings: Settings,
}

impl GroupStore {
    fn salt(&self) -> String {
        format!("{}salt", self.keys.state())
    }

    async fn transaction(&self, transaction: &Transaction) -> Result<Done, Error> {
        self.etcd.transaction(transaction, self.settings.call_limit()).await
    }

    /// Carries out a call other than [`Call::Watch`] and [`Call::Load`].
    pub(super) async fn answer(&self, call: &Call) -> Result<Answer, Error> {
        let (etcd, settings, limit) = (&self.etcd, &self.settings, self.settings.call_limit());
        Ok(match call {
            Call::Grant => {
                let Grant { lease, seconds } = etcd.grant(settings.lease.as_secs(), settings.grant_limit()).await?;
                Answer::Granted(lease, Duration::from_secs(seconds))
            }
            Call::Renew(lease) => Answer::Renewed(*lease, etcd.renew(*lease, limit).await?.map(Duration::from_secs)),
            Call::Register(lease, entry) => Answer::Registered(*lease, self.register(*lease, entry).await?),
            Call::Campaign(lease) => Answer::Campaigned(*lease, self.campaign(*lease).await?),
            Call::Resign(lease, created) => {
                let own = HolderKey { created: *created, text: Holder::text(&settings.member, *lease) };
                let then = vec![Operation::Delete(Range::key(&self.keys.holder()))];
                let compares = own.compares(&self.keys);
                self.transaction(&Transaction { compares, then, ..Transaction::default() }).await?;
                Answer::Resigned(*created)
            }
            Call::Revoke(lease) => {
                etcd.revoke(*lease, limit).await?;
                Answer::Revoked(*lease)
            }
            Call::Watch | Call::Load(..) => unreachable!("they have functions of their own"),
        })
    }

    async fn register(&self, lease: LeaseId, entry: &MemberEntry) -> Result<Option<i64>, Error> {
        let (own, version) = (self.keys.member(lease), self.keys.version());
        let own = Operation::Put(own, entry.text(), Some(lease));
        let transaction = Transaction {
            compares: vec![Compare::absent(version.clone())],
            then: vec![Operation::Put(version, VERSION.to_owned(), None), own.clone()],
            otherwise: vec![own],
        };
        Ok(with_lease(self.transaction(&transaction).await)?.map(|done| done.revision))
    }

    async fn campaign(&self, lease: LeaseId) -> Result<Option<Holder>, Error> {
        let (holder, member) = (self.keys.holder(), &self.settings.member);
        let transaction = Transaction {
            compares: vec![Compare::absent(holder.clone())],
            otherwise: vec![Operation::Get(Range::key(&holder), 1)],
            then: vec![Operation::Put(holder, Holder::text(member, lease), Some(lease))],
        };
        let Some(done) = with_lease(self.transaction(&transaction).await)? else { return Ok(None) };
        if done.succeeded {
            return Ok(Some(Holder { member: member.clone(), lease, created: done.revision }));
        }
        let found: Vec<KeyValue> = done.found.into_iter().flatten().collect();
        Ok(View::new(&self.keys, done.revision, &found).holder)
    }

    /// Reads the group, then follows its changes until the watch fails.
    pub(super) fn watch(self: Rc<Self>) -> LocalBoxStream<'static, Result<View, Error>> {
        let next = move |before: Option<(View, Watch)>| {
            let store = Rc::clone(&self);
            async move {
                let (view, changes) = match before {
                    None => store.begin_watch().await?,
                    Some((view, mut changes)) => (store.changed(view, changes.next().await?), changes),
                };
                Ok(Some((view.clone(), Some((view, changes)))))
            }
        };
        try_unfold(None, next).boxed_local()
    }

    async fn begin_watch(&self) -> Result<(View, Watch), Error> {
        // All keys except the state: what is before `state/`, and what is after it (`0` comes after `/`).
        let keys = &self.keys;
        let prefix = keys.prefix();
        let end = prefix.strip_suffix('/').unwrap_or(prefix);
        let ranges =
            [Range::between(prefix, &keys.state()), Range::between(&format!("{prefix}state0"), &format!("{end}0"))];
        let reading = ranges.iter().map(|range| Operation::Get(range.clone(), MAX_MEMBERS));
        let done = self.transaction(&Transaction { then: reading.collect(), ..Transaction::default() }).await?;
        let found: Vec<KeyValue> = done.found.into_iter().flatten().collect();
        let changes = self.etcd.watch(&ranges, done.revision + 1, self.settings.call_limit()).await?;
        Ok((View::new(keys, done.revision, &found), changes))
    }

    fn changed(&self, mut view: View, batch: WatchBatch) -> View {
        self.etcd.saw(batch.revision);
        view.revision = batch.revision;
        for change in batch.changes {
            match change {
                KeyChange::Put(written) => view.put(&self.keys, &written),
                KeyChange::Deleted(key) => view.deleted(&self.keys, &key),
            }
        }
        view
    }

    /// Reads the state of the group. If it is doubtful, marks all its claims in doubt, in the store too. The very first holder
    /// creates the salt. `load` is the number of this load: a write of an earlier one must not count as its own.
    pub(super) async fn load(&self, own: &HolderKey, is_doubtful: bool, load: u64) -> Result<LoadedState, Error> {
        let (keys, limit) = (&self.keys, self.settings.lease);
        let (found, _) = self.etcd.range(&Range::prefix(&keys.state()), limit).await?;
        let text = |key: &str| found.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str());
        let entries = entries(keys);
        let pairs = found.iter().filter_map(|pair| Some((pair.key.strip_prefix(&entries)?, pair.value.as_str())));
        let salt = text(&self.salt());
        let known = salt.and_then(State::read_salt);
        let is_new = known.is_none();
        let mut state = State::from_pairs(known.unwrap_or_else(new_salt), pairs);
        // An earlier write of ours arrived late, or the lease is lost: the state must be read again, if at all.
        let changed = || Error::Other("the group's state changed".to_owned());
        if is_new {
            // An earlier write of the salt may arrive late.
            let before = match salt {
                Some(unreadable) => Compare::Value(self.salt(), unreadable.to_owned()),
                None => Compare::absent(self.salt()),
            };
            let compares = [own.compares(keys), vec![before]].concat();
            let then = vec![Operation::Put(self.salt(), state.salt_text(), None)];
            let transaction = Transaction { compares, then, ..Transaction::default() };
            if !self.etcd.transaction(&transaction, limit).await?.succeeded {
                return Err(changed());
            }
        }
        let mut last = text(&written(keys)).map(str::to_owned);
        if is_doubtful {
            for (number, pairs) in state.doubt_all().chunks(MAX_PAIRS).enumerate() {
                let name = format!("{}-{load}-doubt-{number}", own.created);
                let write = Write { own: own.clone(), last, name: name.clone(), pairs: pairs.to_vec() };
                match write.run(&self.etcd, keys, limit).await? {
                    WriteResult::Done => last = Some(name),
                    WriteResult::Behind(_) | WriteResult::Refused => return Err(changed()),
                }
            }
        }
        Ok(LoadedState { state, last })
    }
}

/// `None`: the lease is gone.
fn with_lease(done: Result<Done, Error>) -> Result<Option<Done>, Error> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Error::LeaseGone) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
