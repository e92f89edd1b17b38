//! Calls of the machine to the store, each as one transaction, read or lease of etcd.

use std::time::Duration;

use ddns_core::update::state::State;
use ddns_group::etcd::{Compare, Done, Grant, KeyChange, Operation, Range, Transaction};
use ddns_group::machine::{Answer, Call, Settings};
use ddns_group::view::{Holder, KeyValue, Keys, LeaseId, MemberEntry, VERSION, View};
use tokio::sync::mpsc::UnboundedSender;

use super::etcd::{Error, Etcd};
use super::write::{MAX_PAIRS, Own, Write, Wrote, entries, written};
use crate::random::new_salt;

/// A group has fewer members.
const MAX_MEMBERS: u32 = 10_000;

/// What is read at a take-over.
pub(super) struct LoadedState {
    pub(super) state: State,
    /// What [`written`] holds; none where nothing was written yet.
    pub(super) last: Option<String>,
}

fn salt(keys: &Keys) -> String {
    format!("{}salt", keys.state())
}

/// Everything but [`Call::Watch`] and [`Call::Load`].
pub(super) async fn answer(store: &Etcd, keys: &Keys, settings: &Settings, call: &Call) -> Result<Answer, Error> {
    let limit = settings.call_limit();
    Ok(match call {
        Call::Grant => {
            let Grant { lease, seconds } = store.grant(settings.lease.as_secs(), settings.grant_limit()).await?;
            Answer::Granted(lease, Duration::from_secs(seconds))
        }
        Call::Renew(lease) => Answer::Renewed(*lease, store.renew(*lease, limit).await?.map(Duration::from_secs)),
        Call::Register(lease, entry) => Answer::Registered(*lease, register(store, keys, *lease, entry, limit).await?),
        Call::Campaign(lease) => {
            Answer::Campaigned(*lease, campaign(store, keys, &settings.member, *lease, limit).await?)
        }
        Call::Resign(lease, created) => {
            let own = Own { created: *created, text: Holder::text(&settings.member, *lease) };
            let then = vec![Operation::Delete(Range::key(&keys.holder()))];
            let transaction = Transaction { compares: own.compares(keys), then, ..Transaction::default() };
            store.transaction(&transaction, limit).await?;
            Answer::Resigned(*created)
        }
        Call::Revoke(lease) => {
            store.revoke(*lease, limit).await?;
            Answer::Revoked(*lease)
        }
        Call::Watch | Call::Load(..) => unreachable!("they have functions of their own"),
    })
}

async fn register(
    store: &Etcd,
    keys: &Keys,
    lease: LeaseId,
    entry: &MemberEntry,
    limit: Duration,
) -> Result<Option<i64>, Error> {
    let own = Operation::Put(keys.member(lease), entry.text(), Some(lease));
    let transaction = Transaction {
        compares: vec![Compare::absent(keys.version())],
        then: vec![Operation::Put(keys.version(), VERSION.to_owned(), None), own.clone()],
        otherwise: vec![own],
    };
    Ok(with_lease(store.transaction(&transaction, limit).await)?.map(|done| done.revision))
}

async fn campaign(
    store: &Etcd,
    keys: &Keys,
    member: &str,
    lease: LeaseId,
    limit: Duration,
) -> Result<Option<Holder>, Error> {
    let transaction = Transaction {
        compares: vec![Compare::absent(keys.holder())],
        then: vec![Operation::Put(keys.holder(), Holder::text(member, lease), Some(lease))],
        otherwise: vec![Operation::Get(Range::key(&keys.holder()), 1)],
    };
    let Some(done) = with_lease(store.transaction(&transaction, limit).await)? else { return Ok(None) };
    if done.succeeded {
        return Ok(Some(Holder { member: member.to_owned(), lease, created: done.revision }));
    }
    let found: Vec<KeyValue> = done.found.into_iter().flatten().collect();
    Ok(View::new(keys, done.revision, &found).holder)
}

/// None where the lease is gone.
fn with_lease(done: Result<Done, Error>) -> Result<Option<Done>, Error> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(Error::LeaseGone) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the group and goes on with what changes, until that fails.
pub(super) async fn watch(store: &Etcd, keys: &Keys, views: &UnboundedSender<View>, limit: Duration) -> Error {
    match watched(store, keys, views, limit).await {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn watched(
    store: &Etcd,
    keys: &Keys,
    views: &UnboundedSender<View>,
    limit: Duration,
) -> Result<std::convert::Infallible, Error> {
    // All but the state.
    let prefix = keys.prefix();
    let end = prefix.strip_suffix('/').unwrap_or(prefix);
    let ranges =
        [Range::between(prefix, &keys.state()), Range::between(&format!("{prefix}state0"), &format!("{end}0"))];
    let reading = ranges.iter().map(|range| Operation::Get(range.clone(), MAX_MEMBERS));
    let transaction = Transaction { then: reading.collect(), ..Transaction::default() };
    let done = store.transaction(&transaction, limit).await?;
    let found: Vec<KeyValue> = done.found.into_iter().flatten().collect();
    let mut view = View::new(keys, done.revision, &found);
    let mut changes = store.watch(&ranges, done.revision + 1, limit).await?;
    let _ = views.send(view.clone());
    loop {
        let batch = changes.next().await?;
        store.saw(batch.revision);
        view.revision = batch.revision;
        for change in batch.changes {
            match change {
                KeyChange::Put(written) => view.put(keys, &written),
                KeyChange::Deleted(key) => view.deleted(keys, &key),
            }
        }
        let _ = views.send(view.clone());
    }
}

/// Reads what the group remembers; where that is doubtful, all of it is in doubt, in the store too. The first holder of all
/// makes the salt.
pub(super) async fn load(
    store: &Etcd,
    keys: &Keys,
    (own, is_doubtful): (&Own, bool),
    limit: Duration,
) -> Result<LoadedState, Error> {
    let (found, _) = store.range(&Range::prefix(&keys.state()), limit).await?;
    let text = |key: &str| found.iter().find(|pair| pair.key == key).map(|pair| pair.value.as_str());
    let entries = entries(keys);
    let pairs = found.iter().filter_map(|pair| Some((pair.key.strip_prefix(&entries)?, pair.value.as_str())));
    let known = text(&salt(keys)).and_then(State::read_salt);
    let is_new = known.is_none();
    let mut state = State::from_pairs(known.unwrap_or_else(new_salt), pairs);
    if is_new {
        let then = vec![Operation::Put(salt(keys), state.salt_text(), None)];
        let transaction = Transaction { compares: own.compares(keys), then, ..Transaction::default() };
        store.transaction(&transaction, limit).await?;
    }
    let mut last = text(&written(keys)).map(str::to_owned);
    if is_doubtful {
        for (number, pairs) in state.doubt_all().chunks(MAX_PAIRS).enumerate() {
            let name = format!("{}-doubt-{number}", own.created);
            let write = Write { own: own.clone(), last, name: name.clone(), pairs: pairs.to_vec() };
            match write.run(store, keys, limit).await? {
                Wrote::Done => last = Some(name),
                // Another write of ours came late, or the lease is lost: what is remembered is read again, or not at all.
                Wrote::Behind(_) | Wrote::Refused => return Err(Error::Other("the group's state changed".to_owned())),
            }
        }
    }
    Ok(LoadedState { state, last })
}
