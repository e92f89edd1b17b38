//! Connections kept for the next requests: few, not for long, and used only if the endpoint keeps them too (A7). Also
//! limits how many requests run at once.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::net::proxy::Server;
use ddns_core::net::ssl::Ssl;
use tokio::sync::Semaphore;

use super::stream::HttpConnection;
use crate::environment::max_open_files;

/// How many idle connections are kept, over all origins.
const MAX_IDLE: usize = 128;

/// How long an idle connection is kept. A NAT on the way may forget it without notice, some after half a minute: the
/// request would go nowhere, and may not be sent again (A7). A new connection costs less than that.
const MAX_IDLE_TIME: Duration = Duration::from_secs(15);

/// A connection that stays open this long after a response is kept by the endpoint too.
pub(super) const ASSUME_KEPT_AFTER: Duration = Duration::from_millis(50);

/// For how many endpoints ddns remembers whether they keep connections.
const MAX_KNOWN: usize = 1000;

/// How many files any run has open: standard streams, those that wait for the network, the cache.
const BASE_OPEN_FILES: usize = 16;

/// What a connection can be used again for: the same origin, verified in the same way. In addition, its proxy must be
/// among the routes of the request.
pub(super) type ReuseKey = (Rc<str>, Ssl);

/// Kept connections, the oldest first.
#[derive(Default)]
pub(super) struct Idle {
    kept: RefCell<VecDeque<IdleConnection>>,
    known: Known,
}

struct IdleConnection {
    purpose: ReuseKey,
    connection: Box<HttpConnection>,
    since: Duration,
    /// Whether the endpoint said that it keeps the connection.
    is_said: bool,
}

impl IdleConnection {
    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.since)
    }

    fn is_old(&self, now: Duration) -> bool {
        self.age(now) > MAX_IDLE_TIME
    }

    fn goes(&self, purpose: &ReuseKey, via: Option<&Arc<Server>>) -> bool {
        self.purpose == *purpose && self.connection.via.as_ref() == via
    }
}

/// Whether endpoints turned out to keep their connections, by origin and proxy. Endpoints that are missing here count as they say.
#[derive(Default)]
struct Known(RefCell<HashMap<PoolKey, Keeps>>);

/// Whether an endpoint keeps its connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Yes,
    No,
    /// A connection ended under a request. Until the next rest, no connection that stays open changes that.
    Broke,
}

type PoolKey = (Rc<str>, Option<Arc<Server>>);

impl Known {
    fn get(&self, origin: &Rc<str>, via: Option<&Arc<Server>>) -> Option<Keeps> {
        let known = self.0.borrow();
        if known.is_empty() { None } else { known.get(&(origin.clone(), via.cloned())).copied() }
    }

    fn learn(&self, origin: &Rc<str>, via: Option<&Arc<Server>>, keeps: Keeps) {
        let mut known = self.0.borrow_mut();
        // A host that contains an address is another origin after every change.
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert((origin.clone(), via.cloned()), keeps);
    }
}

impl Idle {
    /// Keeps a connection; only one if the endpoint may not keep its connections, to find out. The oldest ones are
    /// closed if there are more than `room`.
    pub(super) fn keep(
        &self,
        purpose: ReuseKey,
        connection: Box<HttpConnection>,
        is_said: bool,
        room: usize,
        now: Duration,
    ) {
        let mut kept = self.kept.borrow_mut();
        let via = connection.via.as_ref();
        let is_enough = match self.known.get(&purpose.0, via) {
            Some(Keeps::Broke) => true,
            Some(Keeps::Yes) => false,
            None if is_said => false,
            Some(Keeps::No) | None => kept.iter().any(|kept| kept.goes(&purpose, via)),
        };
        if is_enough {
            return;
        }
        kept.push_back(IdleConnection { purpose, connection, since: now, is_said });
        while kept.len() > room || kept.front().is_some_and(|oldest| oldest.is_old(now)) {
            kept.pop_front();
        }
    }

    /// A kept connection that fits, that the endpoint keeps too, and that is still open: the most recently used one.
    pub(super) fn take(
        &self,
        purpose: &ReuseKey,
        fits: impl Fn(&HttpConnection) -> bool,
        now: Duration,
    ) -> Option<Box<HttpConnection>> {
        let mut kept = self.kept.borrow_mut();
        loop {
            let fits = |kept: &IdleConnection| {
                let is_usable = || kept.age(now) >= ASSUME_KEPT_AFTER || self.is_trusted(kept);
                kept.purpose == *purpose && !kept.is_old(now) && fits(&kept.connection) && is_usable()
            };
            let at = kept.iter().rposition(fits)?;
            let mut found = kept.remove(at)?;
            if self.is_open(&mut found, now) {
                return Some(found.connection);
            }
        }
    }

    /// Whether a kept connection is open. Remembers what that says about the endpoint.
    fn is_open(&self, kept: &mut IdleConnection, now: Duration) -> bool {
        let is_open = kept.connection.is_open();
        // A connection that ended later may have ended because of its age.
        if is_open == (kept.age(now) >= ASSUME_KEPT_AFTER) && is_open != self.is_trusted(kept) {
            let keeps = if is_open { Keeps::Yes } else { Keeps::No };
            self.known.learn(&kept.purpose.0, kept.connection.via.as_ref(), keeps);
        }
        is_open
    }

    fn is_trusted(&self, kept: &IdleConnection) -> bool {
        let known = self.known.get(&kept.purpose.0, kept.connection.via.as_ref());
        known.map_or(kept.is_said, |keeps| keeps == Keeps::Yes)
    }

    /// Closes the connections of one purpose, except those that still have to show whether the endpoint keeps them.
    pub(super) fn close(&self, purpose: &ReuseKey, now: Duration) {
        self.kept.borrow_mut().retain_mut(|kept| {
            kept.purpose != *purpose || {
                let is_proved = kept.age(now) >= ASSUME_KEPT_AFTER;
                if is_proved {
                    self.is_open(kept, now);
                }
                !is_proved && !self.is_trusted(kept)
            }
        });
    }

    /// A kept connection ended under a request: closes the others of its endpoint, which are as old.
    pub(super) fn broke(&self, purpose: &ReuseKey, via: Option<&Arc<Server>>) {
        self.kept.borrow_mut().retain(|kept| !kept.goes(purpose, via));
        self.known.learn(&purpose.0, via, Keeps::Broke);
    }

    /// Closes all connections, and forgets which endpoints broke theirs.
    pub(super) fn clear(&self) {
        self.kept.borrow_mut().clear();
        self.known.0.borrow_mut().retain(|_, keeps| *keeps != Keeps::Broke);
    }
}

/// What the system's limit of open files leaves for connections.
pub(super) struct ConnectionLimit {
    /// One permit for each request that may be under way.
    pub(super) turns: Semaphore,
    /// How many connections may be kept.
    pub(super) idle: usize,
}

impl Default for ConnectionLimit {
    /// Half of the files for requests, a quarter for kept connections. The rest is for addresses that are tried in
    /// parallel, name lookups and files.
    fn default() -> Self {
        let files = max_open_files().saturating_sub(BASE_OPEN_FILES);
        Self { turns: Semaphore::new((files / 2).clamp(1, Semaphore::MAX_PERMITS)), idle: (files / 4).min(MAX_IDLE) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::super::stream::Connection;
    use super::*;

    /// Connections to a listener. They stay open until the result is dropped.
    async fn connections(count: usize) -> (TcpListener, Vec<Box<HttpConnection>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the port that was bound");
        let mut opened = Vec::new();
        for _ in 0..count {
            let socket = TcpStream::connect(address).await.expect("a connection");
            let connection = Connection::plain(socket, Rc::default());
            opened.push(connection.begin().await.expect("it begins"));
        }
        (listener, opened)
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(test);
    }

    fn purpose(name: &str) -> ReuseKey {
        (name.into(), Ssl::Auto)
    }

    #[test]
    fn a7_the_oldest_of_too_many_connections_goes() {
        run(async {
            let (_listener, opened) = connections(4).await;
            let idle = Idle::default();
            for (number, connection) in opened.into_iter().enumerate() {
                idle.keep(purpose(&number.to_string()), connection, true, 3, Duration::ZERO);
            }
            for (name, is_kept) in [("0", false), ("1", true), ("2", true), ("3", true), ("3", false)] {
                assert_eq!(idle.take(&purpose(name), |_| true, Duration::ZERO).is_some(), is_kept, "{name}");
            }
        });
    }

    #[test]
    fn a7_an_old_connection_is_not_used() {
        run(async {
            let (_listener, opened) = connections(2).await;
            let idle = Idle::default();
            for connection in opened {
                idle.keep(purpose("a"), connection, true, MAX_IDLE, Duration::from_secs(100));
            }
            assert!(idle.take(&purpose("a"), |_| true, Duration::from_secs(100) + MAX_IDLE_TIME).is_some());
            assert!(idle.take(&purpose("a"), |_| true, Duration::from_secs(101) + MAX_IDLE_TIME).is_none());
            let (_listener, mut opened) = connections(1).await;
            idle.keep(purpose("b"), opened.remove(0), true, MAX_IDLE, Duration::from_secs(101) + MAX_IDLE_TIME);
            assert_eq!(idle.kept.borrow().len(), 1, "the old one is closed with the next that is kept");
        });
    }

    #[test]
    fn a7_after_one_ended_under_a_request_none_is_kept_before_the_next_rest() {
        run(async {
            let (_listener, opened) = connections(2).await;
            let (idle, a) = (Idle::default(), purpose("a"));
            let later = Duration::from_millis(60);
            idle.broke(&a, None);
            for (connection, is_kept) in opened.into_iter().zip([false, true]) {
                idle.keep(a.clone(), connection, true, MAX_IDLE, Duration::ZERO);
                assert_eq!(idle.take(&a, |_| true, later).is_some(), is_kept);
                idle.clear();
            }
        });
    }

    /// What one connection shows applies to the others of its endpoint.
    #[test]
    fn a7_whether_an_endpoint_keeps_connections_is_learned_from_those_that_were_open() {
        run(async {
            let ms = Duration::from_millis;
            let (listener, opened) = connections(6).await;
            let mut accepted = Vec::new();
            for _ in 0..6 {
                accepted.push(listener.accept().await.expect("a connection").0);
            }
            let (idle, a) = (Idle::default(), purpose("a"));
            let mut opened = opened.into_iter();
            let mut keep =
                |is_said, at| idle.keep(a.clone(), opened.next().expect("one more"), is_said, MAX_IDLE, ms(at));
            let take = |at| idle.take(&a, |_| true, ms(at));
            keep(false, 0);
            keep(false, 10);
            assert_eq!(idle.kept.borrow().len(), 1, "one is enough to find out");
            assert!(take(49).is_none());
            let found = take(50).expect("it stayed open");
            idle.keep(a.clone(), found, false, MAX_IDLE, ms(51));
            keep(false, 51);
            assert_eq!(idle.kept.borrow().len(), 2, "it is known to keep them");
            assert!(take(52).is_some() && take(52).is_some(), "at once");
            keep(true, 60);
            drop(accepted);
            tokio::time::sleep(ms(5)).await;
            assert!(take(70).is_none(), "it ended after 10 ms");
            keep(true, 80);
            assert!(take(80).is_none(), "what it says does not count any more");
            assert!(take(200).is_none(), "nor is it open");
        });
    }
}
