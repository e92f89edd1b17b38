//! Follows changes of the store, by one response that does not end.
//!
//! The process sleeps while nothing changes. Calls show whether the endpoint is alive: if one gets no response, the watches
//! on that endpoint end. TCP keepalive finds dead connections, and an endpoint that lost its leader ends the watch itself.

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
use crate::http::{MAX_BODY_BYTES, Streaming};

pub(crate) struct Watch {
    streaming: Streaming,
    messages: Messages,
    /// Changes that arrived before the store confirmed all ranges.
    early: VecDeque<WatchBatch>,
    origin: String,
    /// Changes when the client switches to another endpoint.
    left: Receiver<()>,
}

impl Etcd {
    /// Watches ranges from a revision on. Returns when the store has started the watch, which must happen within the limit.
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
        // Asks etcd to end the watch when the node loses its leader, because it would show no changes then.
        request.headers.push(("Grpc-Metadata-Hasleader".to_owned(), "true".to_owned()));
        let failed = |why| Refusal::Failed { why, reached: false };
        let streaming = self.client.open(&request, how(end)).await.map_err(failed)?;
        let origin = request.url.origin();
        let (messages, early) = (Messages::default(), VecDeque::new());
        let mut watch = Watch { streaming, messages, early, origin, left };
        let late = format!("{} did not start the watch in time", watch.origin);
        let begun = timeout_at(end, watch.begin(ranges)).await.unwrap_or(Err(WatchEnd::Broken(late)));
        match begun {
            // The node lags behind, and would show no changes until it catches up.
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
    /// Waits for the next changes, forever if there are none. May be dropped and called again. After an error the watch is over.
    pub(crate) async fn next(&mut self) -> Result<WatchBatch, Error> {
        if let Some(batch) = self.early.pop_front() {
            return Ok(batch);
        }
        let (mut left, origin) = (self.left.clone(), self.origin.clone());
        loop {
            // Fails if the client is gone: then no endpoint is left any more.
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

    /// Waits until every range is watched. Returns the lowest revision at which the node began.
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

    /// Reads the problem from a response that is not a watch.
    async fn problem(&mut self) -> Problem {
        let mut body = Vec::new();
        while body.len() < MAX_BODY_BYTES {
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
