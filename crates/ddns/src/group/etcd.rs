//! A client of etcd, by its JSON gateway over our own HTTP.
//!
//! A call goes to the endpoint that responded last. Where it does not respond within its part of the time limit, the next
//! one is asked, and kept. A client of its own: nothing waits here for the endpoints of updates, no proxy is used, and no
//! redirection is followed.

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

/// So many keys are read with one request: a page stays below a megabyte.
const PAGE: u32 = 500;

/// No group has more keys.
const MAX_KEYS: usize = 1_000_000;

/// How often a range is begun anew because the store has forgotten the revision at which it was begun.
const MAX_BEGINNINGS: usize = 3;

/// A client of one store.
pub(crate) struct Etcd {
    client: Client,
    endpoints: Vec<Url>,
    login: Option<(String, Password)>,
    token: RefCell<Token>,
    /// The endpoint that the next call begins with.
    at: Cell<usize>,
    /// Tells watches that an endpoint was left.
    left: sync::watch::Sender<()>,
    /// Which store it is, and how far it was seen to be.
    seen: Cell<Option<StoreStamp>>,
}

impl Etcd {
    /// Connects to nobody yet. Fails with a sentence where a certificate or a key cannot be used.
    pub(crate) fn new(group: &Group) -> Result<Self, String> {
        let StoreLocation { secure, servers } = &group.store;
        let url = |server: &StoreServer| Url {
            secure: *secure,
            host: server.host.clone(),
            port: server.port,
            path: String::new(),
            credentials: None,
        };
        // Reading the system's roots takes a while.
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

    /// A lease of so many seconds. The store may grant a longer one.
    pub(crate) async fn grant(&self, seconds: u64, limit: Duration) -> Result<Grant, Error> {
        // One that nobody knows of ends by itself.
        self.call(path::GRANT, &etcd::grant_body(seconds), limit, etcd::grant).await
    }

    /// Renews a lease: how many seconds it lasts from now on; none where it is gone.
    pub(crate) async fn renew(&self, lease: LeaseId, limit: Duration) -> Result<Option<u64>, Error> {
        let (body, known) = (etcd::lease_body(lease), self.seen.get());
        self.attempt(limit, async |at, limit| {
            let response = self.ask(at, path::RENEW, &body, limit).await?;
            let renewed = self.read(at, etcd::renewal(&response))?;
            let (seconds, stamp) = renewed.map_err(|problem| self.refused(at, &problem))?;
            // It says how far this one node is.
            if stamp.went_back(known) {
                return Err(self.behind(at));
            }
            self.saw(stamp.revision);
            Ok(seconds)
        })
        .await
    }

    /// Gives a lease back, and with it the keys that are attached to it. One that is gone already is no failure.
    pub(crate) async fn revoke(&self, lease: LeaseId, limit: Duration) -> Result<(), Error> {
        let body = etcd::lease_body(lease);
        match self.attempt(limit, async |at, limit| self.ask(at, path::REVOKE, &body, limit).await).await {
            Ok(_) | Err(Error::LeaseGone) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Does all of a transaction or nothing. At most [`MAX_OPERATIONS`] in each branch. Where the response is lost, it
    /// is sent again.
    pub(crate) async fn transaction(&self, transaction: &Transaction, limit: Duration) -> Result<Done, Error> {
        debug_assert!(transaction.then.len().max(transaction.otherwise.len()) <= MAX_OPERATIONS, "etcd refuses more");
        self.call(path::TRANSACTION, &etcd::transaction_body(transaction), limit, etcd::transaction).await
    }

    /// All keys of a range at one revision, in their order, and that revision.
    pub(crate) async fn range(&self, range: &Range, limit: Duration) -> Result<(Vec<KeyValue>, i64), Error> {
        let end = Instant::now() + limit;
        let mut beginnings = 0;
        loop {
            beginnings += 1;
            match self.pages(range, end).await {
                // It was compacted between two pages.
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

    /// The store showed this revision.
    pub(crate) fn saw(&self, revision: i64) {
        let further = |seen: StoreStamp| StoreStamp { revision: seen.revision.max(revision), ..seen };
        self.seen.set(self.seen.get().map(further));
    }

    /// One call that the whole store responds to, and what the response says.
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

    /// Asks one endpoint after the other until one responds, each for its part of the time.
    async fn attempt<T>(
        &self,
        limit: Duration,
        ask: impl AsyncFn(usize, Duration) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        let (end, first, count) = (Instant::now() + limit, self.at.get(), self.endpoints.len());
        let (mut failures, mut may_be_done): (Vec<String>, bool) = (Vec::new(), false);
        // A kept connection may break with any call: then there is one more.
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

    /// An endpoint did not respond: the next call begins with the next one, and watches on this one end.
    fn leave(&self, at: usize) {
        // Connections and addresses may be of yesterday.
        self.client.rest();
        if self.at.get() == at {
            self.at.set((at + 1) % self.endpoints.len());
            self.left.send_replace(());
        }
    }

    /// An endpoint is not as far as the store was: it goes on in a moment, or the store went back, which the next call shows.
    fn behind(&self, at: usize) -> Refusal {
        let why = format!("{} is behind an earlier state of the store", self.endpoints[at].origin());
        Refusal::Failed { why, reached: true }
    }

    /// What a response says; fails where it is not etcd's.
    fn read<T>(&self, at: usize, read: Result<T, Malformed>) -> Result<T, Refusal> {
        read.map_err(|malformed| Refusal::Refused(Error::Other(format!("{} {malformed}", self.endpoints[at].origin()))))
    }

    /// What a problem means for the call.
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
mod tests;
