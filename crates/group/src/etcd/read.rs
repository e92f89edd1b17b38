//! Reads etcd's responses.

use ddns_core::text::json::{Node, Value};

use super::problem::{Problem, in_stream};
use super::value::{Malformed, bytes, field, list, number, object, text};
use super::{Done, KeyValue, LeaseId, StoreStamp};

/// The longest message of a watch. Even a transaction with the most operations in the largest request that etcd accepts
/// (1.5 MiB) stays below this.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// A lease that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The id of the lease.
    pub lease: LeaseId,
    /// The time to live, in seconds.
    pub seconds: u64,
}

/// Some of the keys of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangePage {
    /// The keys, in order.
    pub found: Vec<KeyValue>,
    /// The revision of the store.
    pub revision: i64,
    /// The last of these keys, if more keys follow.
    pub last: Option<Vec<u8>>,
}

/// One message of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// One of the ranges is watched from now on, by a node at this revision.
    Created(i64),
    /// No change.
    Progress,
    /// Keys changed.
    Changed(WatchBatch),
    /// The watch is over.
    Ended(Problem),
}

/// The changes of one or more revisions, in order. A revision is never split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchBatch {
    /// The last of these revisions.
    pub revision: i64,
    /// The keys that changed.
    pub changes: Vec<KeyChange>,
}

/// A key that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyChange {
    /// The key was written.
    Put(KeyValue),
    /// The key was deleted, or its lease ended.
    Deleted(String),
}

/// Reads the response to a range.
pub fn page(body: &[u8]) -> Result<(RangePage, StoreStamp), Malformed> {
    let response = object(body)?;
    let at = stamp(&response)?;
    let keys = list(&response, "kvs");
    let has_more = matches!(field(&response, "more"), Some(Value::Bool(true)));
    let last = keys.last().filter(|_| has_more).map(|last| bytes(&last.value, "key")).transpose()?;
    Ok((RangePage { found: key_values(keys)?, revision: at.revision, last }, at))
}

/// Reads the response to a transaction.
pub fn transaction(body: &[u8]) -> Result<(Done, StoreStamp), Malformed> {
    let response = object(body)?;
    let at = stamp(&response)?;
    let succeeded = matches!(field(&response, "succeeded"), Some(Value::Bool(true)));
    let found = list(&response, "responses").iter().map(|of_one| match field(&of_one.value, "response_range") {
        Some(range) => key_values(list(range, "kvs")),
        None => Ok(Vec::new()),
    });
    Ok((Done { succeeded, revision: at.revision, found: found.collect::<Result<_, _>>()? }, at))
}

/// Reads the response to a grant.
pub fn grant(body: &[u8]) -> Result<(Grant, StoreStamp), Malformed> {
    let response = object(body)?;
    match (number(&response, "ID")?, u64::try_from(number::<i64>(&response, "TTL")?)) {
        (id, Ok(seconds)) if seconds > 0 && id != 0 => Ok((Grant { lease: LeaseId(id), seconds }, stamp(&response)?)),
        _ => Err(Malformed),
    }
}

/// Reads the response to a renewal: the seconds that the lease lasts from now on. `None`: the lease is gone. The response is
/// a stream of one message, which may be an error.
pub fn renewal(body: &[u8]) -> Result<Result<(Option<u64>, StoreStamp), Problem>, Malformed> {
    let response = object(body)?;
    if let Some(error) = field(&response, "error") {
        return Ok(Err(in_stream(error)));
    }
    let result = field(&response, "result").ok_or(Malformed)?;
    let seconds = u64::try_from(number::<i64>(result, "TTL")?).ok().filter(|seconds| *seconds > 0);
    Ok(Ok((seconds, stamp(result)?)))
}

/// Reads the token from the response to a login.
pub fn token(body: &[u8]) -> Result<String, Malformed> {
    let response = object(body)?;
    let token = field(&response, "token").and_then(Value::text).ok_or(Malformed)?;
    // The token is sent in a header.
    let is_plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_plain { Ok(token.to_owned()) } else { Err(Malformed) }
}

/// Reads one message of a watch.
pub fn watched(message: &[u8]) -> Result<WatchEvent, Malformed> {
    let message = object(message)?;
    if let Some(error) = field(&message, "error") {
        return Ok(WatchEvent::Ended(in_stream(error)));
    }
    let result = field(&message, "result").ok_or(Malformed)?;
    let is = |name| matches!(field(result, name), Some(Value::Bool(true)));
    if is("canceled") {
        if number::<i64>(result, "compact_revision")? > 0 {
            return Ok(WatchEvent::Ended(Problem::Compacted));
        }
        let reason = field(result, "cancel_reason").and_then(Value::text);
        return Ok(WatchEvent::Ended(Problem::of(reason.unwrap_or("the watch was cancelled"), None)));
    }
    if is("created") {
        return Ok(WatchEvent::Created(stamp(result)?.revision));
    }
    let mut batch = WatchBatch { revision: 0, changes: Vec::new() };
    for event in list(result, "events") {
        let pair = field(&event.value, "kv").ok_or(Malformed)?;
        let changed = key_value(pair)?;
        batch.revision = batch.revision.max(number(pair, "mod_revision")?);
        batch.changes.push(match field(&event.value, "type").and_then(Value::text) {
            Some("DELETE") => KeyChange::Deleted(changed.key),
            _ => KeyChange::Put(changed),
        });
    }
    Ok(if batch.changes.is_empty() { WatchEvent::Progress } else { WatchEvent::Changed(batch) })
}

/// Assembles the messages of a watch, which arrive in pieces. Each message is one line.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// How many of the bytes were searched and contain no end of a line.
    searched: usize,
}

impl Messages {
    /// Adds a piece. The caller must have taken all complete messages. Fails if a message is longer than etcd would send.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        // All bytes without an end of a line belong to one message.
        if self.searched > MAX_MESSAGE_BYTES {
            return Err(Malformed);
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// The next complete message.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(end) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.bytes.len();
                return None;
            };
            let rest = self.bytes.split_off(self.searched + end + 1);
            let message = std::mem::replace(&mut self.bytes, rest);
            self.searched = 0;
            if !message.trim_ascii().is_empty() {
                return Some(message);
            }
        }
    }

    /// The bytes after the last line. At the end of a watch they may be etcd's reason for ending it, without an end of the line.
    pub fn rest(&self) -> &[u8] {
        &self.bytes
    }
}

/// The header, which every response has.
fn stamp(response: &Value) -> Result<StoreStamp, Malformed> {
    let header = field(response, "header").ok_or(Malformed)?;
    match (number(header, "cluster_id")?, number(header, "revision")?) {
        (cluster, revision) if revision > 0 => Ok(StoreStamp { cluster, revision }),
        _ => Err(Malformed),
    }
}

fn key_values(nodes: &[Node]) -> Result<Vec<KeyValue>, Malformed> {
    nodes.iter().map(|node| key_value(&node.value)).collect()
}

fn key_value(value: &Value) -> Result<KeyValue, Malformed> {
    Ok(KeyValue {
        key: text(value, "key")?,
        value: text(value, "value")?,
        lease: Some(number(value, "lease")?).filter(|lease| *lease != 0).map(LeaseId),
        created: number(value, "create_revision")?,
    })
}
