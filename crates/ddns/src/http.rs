//! HTTP as the contract needs it: one request on one connection, its status, and a bounded part of the answer.
//!
//! [`connect`] opens streams, [`tls`] secures them, [`wire`] speaks HTTP/1.1 on them. What is decided here: which
//! connection a request takes, that a request which may have reached the endpoint is never sent a second time (A7), and
//! how long everything may take. Redirects and proxies have their place in [`Client::send`] and [`connect`].

mod connect;
mod tls;
mod wire;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use ddns_core::callback::Request;
use ddns_core::record::Family;
use tokio::time::{Instant, timeout_at};

use connect::{Connection, Connector};
pub(crate) use wire::{Answer, BODY_LIMIT, Want};

/// Who we say we are (D2).
pub(crate) const USER_AGENT: &str = concat!("ddns-callback/", env!("CARGO_PKG_VERSION"));

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence without secrets.
    pub(crate) why: String,
    /// Whether the endpoint may have got the request all the same.
    pub(crate) reached: bool,
}

/// Sends requests and keeps connections for the next ones to the same origin.
pub(crate) struct Client {
    connector: Connector,
    idle: RefCell<HashMap<String, Vec<Connection>>>,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self { connector: Connector::new(), idle: RefCell::default() }
    }

    /// Sends a request once and waits for its final status. `prefer` is the family to connect over where there is a
    /// choice.
    pub(crate) async fn send(
        &self,
        request: &Request,
        limit: Duration,
        want: Want,
        prefer: Option<Family>,
    ) -> Result<Answer, Failure> {
        let deadline = Instant::now() + limit;
        let is_sent = Cell::new(false);
        let exchange = self.exchange(request, want, prefer, deadline, &is_sent);
        let result = timeout_at(deadline, exchange).await.unwrap_or_else(|_| {
            let (origin, seconds) = (request.url.origin(), limit.as_secs_f64());
            Err(if is_sent.get() {
                format!("{origin} took the request but did not answer within {seconds} s")
            } else {
                format!("no connection to {origin} within {seconds} s")
            })
        });
        result.map_err(|why| Failure { why, reached: is_sent.get() })
    }

    async fn exchange(
        &self,
        request: &Request,
        want: Want,
        prefer: Option<Family>,
        deadline: Instant,
        is_sent: &Cell<bool>,
    ) -> Result<Answer, String> {
        let origin = request.url.origin();
        let mut connection = match self.take_idle(&origin, prefer) {
            Some(connection) => connection,
            None => self.connector.connect(&request.url, prefer).await?,
        };
        is_sent.set(true);
        let exchanged = wire::exchange(&mut connection.stream, request, want, deadline).await;
        let (answer, can_be_kept) = exchanged.map_err(|error| error.told_of(&origin))?;
        if can_be_kept {
            self.idle.borrow_mut().entry(origin).or_default().push(connection);
        }
        Ok(answer)
    }

    /// A kept connection that fits and is still open.
    fn take_idle(&self, origin: &str, prefer: Option<Family>) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        let kept = idle.get_mut(origin)?;
        loop {
            let fits = |connection: &Connection| prefer.is_none() || connection.family == prefer;
            let connection = kept.iter().rposition(fits).map(|at| kept.swap_remove(at))?;
            if connection.is_open() {
                return Some(connection);
            }
        }
    }
}
