//! Changes as they happen: one response that does not end.
//!
//! The process sleeps while nothing changes. That the endpoint is alive shows in the calls: one that does not respond ends
//! the watches on it. A connection that is dead without notice is found by the system (TCP keepalive); an endpoint that
//! lost its leader ends the watch itself.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use ddns_group::etcd::{self, Messages, Problem, Range, WatchBatch, WatchEvent, path};
use futures_util::future::{Either, select};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, timeout_at};

use super::ask::{Refusal, how};
use super::{Error, Etcd};
use crate::http::{BODY_LIMIT, Streaming};

/// Changes from a revision on.
pub(crate) struct Watch {
    streaming: Streaming,
    messages: Messages,
    /// What changed in one range before the store began to watch all of them.
    early: VecDeque<WatchBatch>,
    origin: String,
    /// Changes when an endpoint is left.
    left: Receiver<()>,
}

impl Etcd {
    /// Watches ranges from a revision on; returns when the store does. The limit holds for that.
    pub(crate) async fn watch(&self, ranges: &[Range], from: i64, limit: Duration) -> Result<Watch, Error> {
        let body = etcd::watch_body(ranges, from);
        self.attempt(limit, async |at, limit| {
            let end = Instant::now() + limit;
            self.renewing(at, async || self.watch_at(at, &body, (ranges.len(), from), end).await).await
        })
        .await
    }

    async fn watch_at(
        &self,
        at: usize,
        body: &str,
        (ranges, from): (usize, i64),
        end: Instant,
    ) -> Result<Result<Watch, Problem>, Refusal> {
        let left = self.left.subscribe();
        let mut request = self.request(at, path::WATCH, body, self.token(at, end).await?);
        // Without a leader there is nothing to see: then it shall end.
        request.headers.push(("Grpc-Metadata-Hasleader".to_owned(), "true".to_owned()));
        let failed = |why| Refusal::Failed { why, reached: false };
        let streaming = self.client.open(&request, how(end)).await.map_err(failed)?;
        let origin = request.url.origin();
        let (messages, early) = (Messages::default(), VecDeque::new());
        let mut watch = Watch { streaming, messages, early, origin, left };
        let late = format!("{} did not start the watch in time", watch.origin);
        let begun = timeout_at(end, watch.begin(ranges)).await.unwrap_or(Err(WatchEnd::Broken(late)));
        match begun {
            // It would hear nothing of what happens until then.
            Ok(revision) if revision + 1 < from => Err(self.behind(at)),
            Ok(_) => Ok(Ok(watch)),
            Err(WatchEnd::Problem(problem)) => Ok(Err(problem)),
            Err(WatchEnd::Broken(why)) => Err(failed(why)),
        }
    }
}

/// Why a watch is over.
enum WatchEnd {
    Broken(String),
    Problem(Problem),
}

impl Watch {
    /// What changed next. Waits for ever where nothing does; may be dropped and called again. After an error the watch is
    /// over.
    pub(crate) async fn next(&mut self) -> Result<WatchBatch, Error> {
        if let Some(batch) = self.early.pop_front() {
            return Ok(batch);
        }
        let (mut left, origin) = (self.left.clone(), self.origin.clone());
        loop {
            // It fails where the store's client is gone: that leaves no endpoint.
            let is_left = async {
                if left.changed().await.is_err() {
                    pending::<()>().await;
                }
            };
            let why = match select(pin!(self.event()), pin!(is_left)).await {
                Either::Left((Ok(WatchEvent::Changed(batch)), _)) => return Ok(batch),
                Either::Left((Ok(_), _)) => continue,
                Either::Left((Err(WatchEnd::Problem(Problem::Compacted)), _)) => return Err(Error::Compacted),
                Either::Left((Err(WatchEnd::Problem(problem)), _)) => format!("{origin} {problem}"),
                Either::Left((Err(WatchEnd::Broken(why)), _)) => why,
                Either::Right(_) => format!("{origin} does not respond to requests"),
            };
            return Err(Error::Unreachable(why));
        }
    }

    /// Waits until every range is watched, from the revision on that the node was at then.
    async fn begin(&mut self, ranges: usize) -> Result<i64, WatchEnd> {
        if self.streaming.status != 200 {
            return Err(WatchEnd::Problem(self.problem().await));
        }
        let (mut created, mut first) = (0, i64::MAX);
        while created < ranges {
            match self.event().await? {
                WatchEvent::Created(revision) => (created, first) = (created + 1, first.min(revision)),
                WatchEvent::Changed(batch) => self.early.push_back(batch),
                WatchEvent::Ended(_) | WatchEvent::Progress => {}
            }
        }
        Ok(first)
    }

    /// What a response says that is none.
    async fn problem(&mut self) -> Problem {
        let mut body = Vec::new();
        while body.len() < BODY_LIMIT {
            let Ok(piece) = self.streaming.next().await else { break };
            body.extend_from_slice(&piece);
        }
        etcd::problem(self.streaming.status, &body)
    }

    async fn event(&mut self) -> Result<WatchEvent, WatchEnd> {
        let malformed = |origin: &str, malformed| WatchEnd::Broken(format!("{origin} {malformed}"));
        loop {
            if let Some(message) = self.messages.take() {
                return match etcd::watched(&message) {
                    Ok(WatchEvent::Ended(problem)) => Err(WatchEnd::Problem(problem)),
                    Ok(event) => Ok(event),
                    Err(why) => Err(malformed(&self.origin, why)),
                };
            }
            let piece = self.streaming.next().await.map_err(|why| match etcd::watched(self.messages.rest()) {
                Ok(WatchEvent::Ended(problem)) => WatchEnd::Problem(problem),
                _ => WatchEnd::Broken(why),
            })?;
            self.messages.add(&piece).map_err(|why| malformed(&self.origin, why))?;
        }
    }
}
