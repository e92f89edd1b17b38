//! HTTP as the contract needs it: one request on one connection, its status, and a bounded part of the answer.
//!
//! hyper speaks the protocol; what is ours is where connections come from ([`connect`], [`tls`]), that a request which
//! may have reached the endpoint is never sent a second time (A7), and that every failure becomes a sentence. Redirects
//! and proxies have their place in [`Client::send`] and [`connect`].

mod connect;
mod tls;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use ddns_core::callback::Request;
use ddns_core::record::Family;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout_at};

use connect::{Connector, Io};

/// Who we say we are (D2).
pub(crate) const USER_AGENT: &str = concat!("ddns-callback/", env!("CARGO_PKG_VERSION"));

/// As much of an answer is read (D4, F4).
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// More header than this is no answer.
const HEADER_LIMIT: usize = 64 * 1024;

/// How long the rest of an answer is waited for whose status is known: it only decides whether the connection is kept.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// An answer: its final status and the beginning of its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence without secrets.
    pub(crate) why: String,
    /// Whether the endpoint may have got the request all the same.
    pub(crate) reached: bool,
}

impl Failure {
    fn before(why: impl Into<String>) -> Self {
        Self { why: why.into(), reached: false }
    }

    fn after(why: impl Into<String>) -> Self {
        Self { why: why.into(), reached: true }
    }
}

/// How the body of an answer matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The status decides; the body is read as far as it comes at once.
    Status,
    /// The body is what was asked for.
    Body,
}

type Sender = SendRequest<Full<Bytes>>;

/// An open connection and the family it goes over.
struct Connection {
    sender: Sender,
    family: Option<Family>,
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
        match timeout_at(deadline, exchange).await {
            Ok(result) => result,
            Err(_) => {
                let seconds = limit.as_secs_f64();
                let origin = request.url.origin();
                Err(if is_sent.get() {
                    Failure::after(format!("{origin} took the request but did not answer within {seconds} s"))
                } else {
                    Failure::before(format!("no connection to {origin} within {seconds} s"))
                })
            }
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        want: Want,
        prefer: Option<Family>,
        deadline: Instant,
        is_sent: &Cell<bool>,
    ) -> Result<Answer, Failure> {
        let origin = request.url.origin();
        let mut message = message(request)?;
        loop {
            let (mut connection, is_fresh) = match self.take_idle(&origin, prefer).await {
                Some(connection) => (connection, false),
                None => (self.connect(request, prefer).await?, true),
            };
            is_sent.set(true);
            match connection.sender.try_send_request(message).await {
                Ok(response) => {
                    let status = response.status().as_u16();
                    let (body, is_whole) = read_body(response.into_body(), want, deadline).await;
                    if is_whole {
                        self.idle.borrow_mut().entry(origin).or_default().push(connection);
                    }
                    return Ok(Answer { status, body });
                }
                Err(mut error) => match error.take_message() {
                    // Not one byte was written, and the connection was an old one: the next one may do.
                    Some(unsent) if !is_fresh => {
                        is_sent.set(false);
                        message = unsent;
                    }
                    Some(_) => return Err(Failure::before(format!("{origin} closed the connection at once"))),
                    None => return Err(Failure::after(explain(error.error(), &origin))),
                },
            }
        }
    }

    /// A kept connection that is still open.
    async fn take_idle(&self, origin: &str, prefer: Option<Family>) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut idle = self.idle.borrow_mut();
                let kept = idle.get_mut(origin)?;
                let fits = |connection: &Connection| prefer.is_none() || connection.family == prefer;
                kept.iter().rposition(fits).map(|at| kept.swap_remove(at))?
            };
            // One turn of the loop lets a close that has arrived be noticed before the request is written.
            tokio::task::yield_now().await;
            if connection.sender.ready().await.is_ok() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self, request: &Request, prefer: Option<Family>) -> Result<Connection, Failure> {
        let (stream, family) = self.connector.connect(&request.url, prefer).await.map_err(Failure::before)?;
        let mut builder = http1::Builder::new();
        // Some endpoints compare header names letter by letter.
        builder.title_case_headers(true).max_buf_size(HEADER_LIMIT);
        let sender = match stream {
            Io::Plain(stream) => shake_hands(&builder, stream, request).await,
            Io::Tls(stream) => shake_hands(&builder, *stream, request).await,
        }?;
        Ok(Connection { sender, family })
    }
}

async fn shake_hands<S>(builder: &http1::Builder, stream: S, request: &Request) -> Result<Sender, Failure>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let shaken = builder.handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|error| Failure::before(explain(&error, &request.url.origin())))?;
    tokio::spawn(async move {
        // What goes wrong on the connection is told by the request that is under way on it.
        let _ = connection.await;
    });
    Ok(sender)
}

fn message(request: &Request) -> Result<hyper::Request<Full<Bytes>>, Failure> {
    let body = request.body.clone().unwrap_or_default();
    let mut builder = hyper::Request::builder().method(request.method().as_str()).uri(request.url.path.as_str());
    for (name, value) in request.headers(USER_AGENT) {
        builder = builder.header(name, value);
    }
    builder.body(Full::from(body)).map_err(|_| Failure::before("the address cannot be put into a request"))
}

/// The beginning of the body, and whether it was all of it, so that the connection can be used again.
async fn read_body(mut incoming: Incoming, want: Want, deadline: Instant) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    let patience = Instant::now() + DRAIN_PATIENCE;
    let deadline = if want == Want::Status { patience.min(deadline) } else { deadline };
    loop {
        match timeout_at(deadline, incoming.frame()).await {
            Ok(None) => return (body, true),
            Ok(Some(Ok(frame))) => {
                let data = frame.into_data().unwrap_or_default();
                let room = BODY_LIMIT - body.len();
                body.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    return (body, false);
                }
            }
            Ok(Some(Err(_))) | Err(_) => return (body, false),
        }
    }
}

fn explain(error: &hyper::Error, origin: &str) -> String {
    if error.is_incomplete_message() {
        format!("{origin} closed the connection without an answer")
    } else if error.is_parse() {
        format!("what {origin} answered is no HTTP ({})", deepest(error))
    } else {
        format!("the connection to {origin} broke: {}", deepest(error))
    }
}

/// The innermost cause: the one that says what happened.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
