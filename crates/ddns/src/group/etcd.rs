//! A client for etcd's JSON gateway, over our own HTTP.
//!
//! A call goes to the etcd endpoint that responded last. If that one does not respond within its share of the time limit,
//! the client switches to the next. The client is separate from the one for updates: calls never wait for the endpoints of
//! updates, use no proxy, and follow no redirection.

mod ask;
mod error;
mod watch;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ddns_core::config::group::{FileText, Group, Password, StoreLocation, StoreServer};
use ddns_core::net::url::Url;
use ddns_group::etcd::{self, Done, Grant, MAX_OPERATIONS, Malformed, Problem, Range, StoreStamp, Transaction, path};
use ddns_group::view::{KeyValue, LeaseId};
use tokio::sync;
use tokio::time::Instant;

use crate::http::{Client, Pem, TlsTrust};
use ask::{Refusal, Token};
pub(crate) use error::Error;
pub(crate) use watch::Watch;

/// How many keys one request reads, so that a page stays below a megabyte.
const PAGE: u32 = 500;

/// More keys than a group can have.
const MAX_KEYS: usize = 1_000_000;

/// How often a range is read from the start, in case the store compacts the revision between two pages.
const MAX_BEGINNINGS: usize = 3;

/// A client of one store.
pub(crate) struct Etcd {
    client: Client,
    endpoints: Vec<Url>,
    login: Option<(String, Password)>,
    token: RefCell<Token>,
    /// The endpoint that the next call tries first.
    at: Cell<usize>,
    /// Ends the watches when the client switches to another endpoint.
    left: sync::watch::Sender<()>,
    /// The cluster, and its highest revision seen.
    seen: Cell<Option<StoreStamp>>,
}

impl Etcd {
    /// Does not connect yet. Fails with a sentence if a certificate or a key cannot be used.
    pub(crate) fn new(group: &Group) -> Result<Self, String> {
        let StoreLocation { secure, servers } = &group.store;
        let url = |server: &StoreServer| Url {
            secure: *secure,
            host: server.host.clone(),
            port: server.port,
            path: String::new(),
            credentials: None,
        };
        // Without TLS, skip reading the system's root certificates: it takes a while.
        let client = if *secure { Client::trusting(&trust(group))? } else { Client::default() };
        Ok(Self {
            client,
            endpoints: servers.iter().map(url).collect(),
            login: group.login.clone(),
            token: RefCell::default(),
            at: Cell::new(0),
            left: sync::watch::Sender::default(),
            seen: Cell::default(),
        })
    }

    /// Asks for a lease. The store may grant a longer one.
    pub(crate) async fn grant(&self, seconds: u64, limit: Duration) -> Result<Grant, Error> {
        // If the response is lost, the granted lease expires by itself.
        self.call(path::GRANT, &etcd::grant_body(seconds), limit, etcd::grant).await
    }

    /// Renews a lease. Returns the seconds that it lasts from now on. `None`: the lease is gone.
    pub(crate) async fn renew(&self, lease: LeaseId, limit: Duration) -> Result<Option<u64>, Error> {
        let (body, known) = (etcd::lease_body(lease), self.seen.get());
        self.attempt(limit, async |at, limit| {
            let response = self.ask(at, path::RENEW, &body, limit).await?;
            let renewed = self.read(at, etcd::renewal(&response))?;
            let (seconds, stamp) = renewed.map_err(|problem| self.refused(at, &problem))?;
            // The stamp is that of a single node, which may just lag behind.
            if stamp.went_back(known) {
                return Err(self.behind(at));
            }
            self.saw(stamp.revision);
            Ok(seconds)
        })
        .await
    }

    /// Revokes a lease, which deletes its keys. Succeeds if the lease is already gone.
    pub(crate) async fn revoke(&self, lease: LeaseId, limit: Duration) -> Result<(), Error> {
        let body = etcd::lease_body(lease);
        match self.attempt(limit, async |at, limit| self.ask(at, path::REVOKE, &body, limit).await).await {
            Ok(_) | Err(Error::LeaseGone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs a transaction with at most [`MAX_OPERATIONS`] in each branch. If the response is lost, sends the transaction again.
    pub(crate) async fn transaction(&self, transaction: &Transaction, limit: Duration) -> Result<Done, Error> {
        debug_assert!(transaction.then.len().max(transaction.otherwise.len()) <= MAX_OPERATIONS, "etcd refuses more");
        self.call(path::TRANSACTION, &etcd::transaction_body(transaction), limit, etcd::transaction).await
    }

    /// All keys of a range at one revision, in order, and that revision.
    pub(crate) async fn range(&self, range: &Range, limit: Duration) -> Result<(Vec<KeyValue>, i64), Error> {
        let end = Instant::now() + limit;
        let mut beginnings = 0;
        loop {
            beginnings += 1;
            match self.pages(range, end).await {
                // The store compacted the revision between two pages.
                Err(Error::Compacted) if beginnings < MAX_BEGINNINGS => {}
                result => return result,
            }
        }
    }

    async fn pages(&self, range: &Range, end: Instant) -> Result<(Vec<KeyValue>, i64), Error> {
        let (mut found, mut begun, mut rest) = (Vec::new(), None, range.clone());
        loop {
            let limit = end.saturating_duration_since(Instant::now());
            let body = etcd::range_body(&rest, PAGE, begun);
            let page = self.call(path::RANGE, &body, limit, etcd::page).await?;
            found.extend(page.found);
            let revision = *begun.get_or_insert(page.revision);
            let Some(last) = page.last else { return Ok((found, revision)) };
            if found.len() > MAX_KEYS {
                return Err(Error::Other("the store has more keys of the group than a group can have".to_owned()));
            }
            rest = range.behind(&last);
        }
    }

    /// Notes that the store has reached this revision.
    pub(crate) fn saw(&self, revision: i64) {
        let further = |seen: StoreStamp| StoreStamp { revision: seen.revision.max(revision), ..seen };
        self.seen.set(self.seen.get().map(further));
    }

    /// Makes a call that is answered for the whole store, and reads the response.
    async fn call<T>(
        &self,
        path: &str,
        body: &str,
        limit: Duration,
        read: impl Fn(&[u8]) -> Result<(T, StoreStamp), Malformed>,
    ) -> Result<T, Error> {
        let known = self.seen.get();
        let asked = self.attempt(limit, async |at, limit| {
            let response = self.ask(at, path, body, limit).await?;
            self.read(at, read(&response))
        });
        let (value, stamp) = asked.await?;
        if stamp.went_back(known) {
            self.seen.set(Some(stamp));
            return Err(Error::WentBack);
        }
        self.seen.set(self.seen.get().or(Some(stamp)));
        self.saw(stamp.revision);
        Ok(value)
    }

    /// Tries one endpoint after the other until one responds, each for its share of the time.
    async fn attempt<T>(
        &self,
        limit: Duration,
        ask: impl AsyncFn(usize, Duration) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        let (end, first, count) = (Instant::now() + limit, self.at.get(), self.endpoints.len());
        let (mut failures, mut may_be_done): (Vec<String>, bool) = (Vec::new(), false);
        // A kept connection may break during the call, so allow one more try.
        for number in 0..=count {
            let left = end.saturating_duration_since(Instant::now());
            if number > 0 && left.is_zero() || number == count && !may_be_done {
                break;
            }
            let at = (first + number) % count;
            let others = u32::try_from(count.saturating_sub(number + 1)).unwrap_or(u32::MAX - 1);
            match ask(at, left / (others + 1)).await {
                Ok(value) => return Ok(value),
                Err(Refusal::Refused(error)) => return Err(error),
                Err(Refusal::Failed { why, reached }) => {
                    self.leave(at);
                    may_be_done |= reached;
                    if !failures.contains(&why) {
                        failures.push(why);
                    }
                }
            }
        }
        Err(Error::Unreachable(failures.join("; ")))
    }

    /// Switches to the next endpoint, because this one did not respond, and ends the watches on this one.
    fn leave(&self, at: usize) {
        // Kept connections and resolved addresses may be outdated.
        self.client.rest();
        if self.at.get() == at {
            self.at.set((at + 1) % self.endpoints.len());
            self.left.send_replace(());
        }
    }

    /// An endpoint lags behind the revision seen. It may catch up, or the store went back, which the next call shows.
    fn behind(&self, at: usize) -> Refusal {
        let why = format!("{} is behind an earlier state of the store", self.endpoints[at].origin());
        Refusal::Failed { why, reached: true }
    }

    /// Takes the content of a response. Fails if etcd would not send it.
    fn read<T>(&self, at: usize, read: Result<T, Malformed>) -> Result<T, Refusal> {
        read.map_err(|malformed| Refusal::Refused(Error::Other(format!("{} {malformed}", self.endpoints[at].origin()))))
    }

    /// Decides whether another endpoint may succeed after this problem.
    fn refused(&self, at: usize, problem: &Problem) -> Refusal {
        let why = format!("{} {problem}", self.endpoints[at].origin());
        Refusal::Refused(match problem {
            Problem::Unavailable(_) => return Refusal::Failed { why, reached: true },
            Problem::Token | Problem::NeedsUser | Problem::Login | Problem::Permission | Problem::CommonName => {
                Error::Denied(why)
            }
            Problem::Compacted => Error::Compacted,
            Problem::LeaseGone => Error::LeaseGone,
            Problem::NoUsers | Problem::NoGateway | Problem::Other(_) => Error::Other(why),
        })
    }
}

fn trust(group: &Group) -> TlsTrust<'_> {
    fn pem(file: &FileText) -> Pem<'_> {
        Pem { path: &file.path, text: &file.text }
    }
    let identity = group.identity.as_ref().map(|(certificate, key)| (pem(certificate), pem(key)));
    TlsTrust { ca: group.ca.as_ref().map(pem), identity }
}

#[cfg(test)]
pub(super) mod tests;
