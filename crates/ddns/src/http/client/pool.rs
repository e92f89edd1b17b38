//! Connections that are kept for the next requests: few, and not for long. And how many requests have room at once.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::net::ssl::Ssl;
use tokio::sync::Semaphore;

use super::stream::Spoken;
use crate::environment::most_files;

/// So many connections are kept, over all origins.
const MOST: usize = 128;

/// So long one is kept. A NAT on the way may forget it, some after half a minute, without notice: the request would go
/// nowhere, and may not be sent again (A7). A new connection costs less than that.
const LONGEST: Duration = Duration::from_secs(15);

/// So many files are open in any run: standard streams, what waits for the network, the cache.
const OTHERS: usize = 16;

/// What a connection can be used again for: the same origin, verified in the same way. Besides, the proxy it goes through
/// must be among the routes of the request.
pub(super) type Purpose = (Rc<str>, Ssl);

/// Kept connections, the oldest first.
#[derive(Default)]
pub(super) struct Idle {
    kept: RefCell<VecDeque<Kept>>,
}

struct Kept {
    purpose: Purpose,
    connection: Box<Spoken>,
    since: Duration,
}

impl Kept {
    fn is_old(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) > LONGEST
    }
}

impl Idle {
    /// Keeps a connection. Where there is room for no more than `room`, the oldest ones go.
    pub(super) fn keep(&self, purpose: Purpose, connection: Box<Spoken>, room: usize, now: Duration) {
        let mut kept = self.kept.borrow_mut();
        kept.push_back(Kept { purpose, connection, since: now });
        while kept.len() > room || kept.front().is_some_and(|oldest| oldest.is_old(now)) {
            kept.pop_front();
        }
    }

    /// A kept connection that fits and is still open: the one that was used last.
    pub(super) fn take(&self, purpose: &Purpose, fits: impl Fn(&Spoken) -> bool, now: Duration) -> Option<Box<Spoken>> {
        let mut kept = self.kept.borrow_mut();
        loop {
            let fits = |kept: &Kept| kept.purpose == *purpose && !kept.is_old(now) && fits(&kept.connection);
            let at = kept.iter().rposition(fits)?;
            let mut connection = kept.remove(at)?.connection;
            if connection.is_open() {
                return Some(connection);
            }
        }
    }

    /// Closes those of one purpose.
    pub(super) fn close(&self, purpose: &Purpose) {
        self.kept.borrow_mut().retain(|kept| kept.purpose != *purpose);
    }

    /// Closes all.
    pub(super) fn clear(&self) {
        self.kept.borrow_mut().clear();
    }
}

/// What the system's limit of open files leaves for connections.
pub(super) struct Room {
    /// One for each request that may be under way.
    pub(super) turns: Semaphore,
    /// So many connections may be kept.
    pub(super) idle: usize,
}

impl Default for Room {
    /// A half for requests, a quarter for what is kept; the rest is for addresses that are tried besides, name lookups and
    /// files.
    fn default() -> Self {
        let files = most_files().saturating_sub(OTHERS);
        Self { turns: Semaphore::new((files / 2).clamp(1, Semaphore::MAX_PERMITS)), idle: (files / 4).min(MOST) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::super::stream::Connection;
    use super::*;

    /// Connections to a listener, which stay open as long as what is returned is kept.
    async fn connections(count: usize) -> (TcpListener, Vec<Box<Spoken>>) {
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

    fn purpose(name: &str) -> Purpose {
        (name.into(), Ssl::Auto)
    }

    #[test]
    fn a7_the_oldest_of_too_many_connections_goes() {
        run(async {
            let (_listener, opened) = connections(4).await;
            let idle = Idle::default();
            for (number, connection) in opened.into_iter().enumerate() {
                idle.keep(purpose(&number.to_string()), connection, 3, Duration::ZERO);
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
                idle.keep(purpose("a"), connection, MOST, Duration::from_secs(100));
            }
            assert!(idle.take(&purpose("a"), |_| true, Duration::from_secs(100) + LONGEST).is_some());
            assert!(idle.take(&purpose("a"), |_| true, Duration::from_secs(101) + LONGEST).is_none());
            let (_listener, mut opened) = connections(1).await;
            idle.keep(purpose("b"), opened.remove(0), MOST, Duration::from_secs(101) + LONGEST);
            assert_eq!(idle.kept.borrow().len(), 1, "the old one is closed with the next that is kept");
        });
    }
}
