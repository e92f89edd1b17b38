//! A response whose body comes piece by piece, for as long as the other side likes.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use ddns_core::callback::Request;
use ddns_core::text::duration::duration;
use hyper::body::{Bytes, Incoming};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::exchange::{self, BodyEnd};
use super::stream::HttpConnection;
use super::{Client, How};

/// TCP keepalive: the system asks the other side whether it is still there after this silence, again after each pause,
/// this many times. The process sleeps meanwhile.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;

/// A response whose body comes piece by piece. Closes its connection when it is dropped.
pub(crate) struct Streaming {
    pub(crate) status: u16,
    origin: String,
    connection: Box<HttpConnection>,
    body: Incoming,
}

impl Client {
    /// Sends a request on a connection of its own, and waits for the head of its response within the limit. It takes no
    /// turn, because it may last forever. The error is a sentence.
    pub(crate) async fn open(&self, request: &Request, how: How<'_>) -> Result<Streaming, String> {
        let deadline = Instant::now() + how.limit;
        let origin = request.url.origin();
        let opening = async {
            let connection = self.connector.connect(&request.url, how, deadline).await?;
            let _ = keep_alive(connection.stream.socket());
            let begun = connection.begin().await;
            let mut connection = begun.map_err(|fault| fault.describe(&origin))?;
            let response = exchange::begin(&mut connection.stream, request, None, &Cell::default()).await;
            let response = response.map_err(|fault| fault.describe(&origin))?;
            connection.opening = None;
            Ok((connection, response))
        };
        let opened = timeout_at(deadline, opening).await;
        let (connection, response) =
            opened.unwrap_or_else(|_| Err(format!("{origin} did not respond within {}", duration(how.limit))))?;
        Ok(Streaming { status: response.status().as_u16(), origin, connection, body: response.into_body() })
    }
}

impl Streaming {
    /// The next piece, or a sentence about why there is none.
    pub(crate) async fn next(&mut self) -> Result<Bytes, String> {
        self.connection.stream.next(&mut self.body).await.map_err(|end| {
            let how = match end {
                BodyEnd::Whole => "ended its response",
                BodyEnd::Closed | BodyEnd::Cut => "reset the connection",
            };
            format!("{} {how}", self.origin)
        })
    }
}

fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
    set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    Ok(set_socket_keepalive(socket, true)?)
}
