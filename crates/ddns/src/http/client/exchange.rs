//! One request and its response on an open stream, spoken by hyper.
//!
//! hyper gets the stream for one exchange and gives it back: between exchanges a connection is no more than its socket,
//! and nothing but the exchange itself drives it. So it is known what was sent (A7), whether all of it was, and whether
//! anything came that nobody asked for.

use std::cell::RefCell;
use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ddns_core::callback::{Method, Request};
use ddns_core::net::proxy::Server;
use ddns_core::net::url::Url;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, TRANSFER_ENCODING};
use hyper::{HeaderMap, StatusCode, Uri};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, timeout_at};

use super::USER_AGENT;
use crate::http::body::Whole;
use crate::http::io::Io;

/// As much of a body is read (D4, F4).
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// A head that is longer than this, or has more headers, is a failure.
const HEAD_LIMIT: usize = 64 * 1024;
const MOST_HEADERS: usize = 256;

/// So much may come before the head of the final response is complete: the head itself, and interim responses.
const FLOOD_LIMIT: usize = 2 * HEAD_LIMIT;

/// How long the rest of a response is waited for whose status is known: it only decides whether the connection is kept.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// A response: its final status and the beginning of its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the body is all there: neither cut off nor longer than [`BODY_LIMIT`].
    pub(crate) is_whole: bool,
    /// `Location`; `None` where the response redirects nowhere.
    pub(super) location: Option<String>,
    /// `Retry-After`, as it was written.
    pub(crate) retry_after: Option<String>,
    /// What is doubtful about who got the request; each warning is given once for an origin.
    pub(crate) warnings: Vec<String>,
    /// The proxy it came through.
    pub(crate) via: Option<Arc<Server>>,
    /// Whether that proxy read the request, and so may have responded in the endpoint's place.
    pub(crate) is_relayed: bool,
}

impl Response {
    /// The proxy that may have responded in the endpoint's place.
    pub(crate) fn relay(&self) -> Option<&Server> {
        self.via.as_deref().filter(|_| self.is_relayed)
    }
}

/// How the body of a response matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The status decides; the body is read as far as it comes at once.
    Status,
    /// The body is what was asked for.
    Body,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) struct Fault {
    /// Whether something of the request may have reached the other side.
    pub(super) is_sent: bool,
    kind: FaultKind,
}

#[derive(Debug)]
enum FaultKind {
    /// The other side closed before it sent anything.
    Silent,
    /// The other side closed in the middle of the head.
    CutOff,
    /// The head is longer than [`HEAD_LIMIT`].
    TooLong,
    /// Interim responses without end.
    OnlyInterim,
    /// What came is TLS.
    Secured,
    /// What came is not HTTP, or breaks its rules.
    Invalid(hyper::Error),
    /// The stream broke.
    Broken(io::Error),
    /// The request cannot be written down as HTTP.
    Unsendable(&'static str),
}

impl Fault {
    fn unsent(kind: FaultKind) -> Self {
        Self { is_sent: false, kind }
    }

    /// A sentence about the origin that the request was sent to.
    pub(super) fn describe(&self, origin: &str) -> String {
        match &self.kind {
            FaultKind::Silent => format!("{origin} closed the connection without a response"),
            FaultKind::CutOff => format!("{origin} closed the connection in the middle of its response"),
            FaultKind::TooLong => {
                format!("{origin} sent a response whose head is longer than {} KiB", HEAD_LIMIT >> 10)
            }
            FaultKind::OnlyInterim => format!("{origin} sends interim responses (1xx) without end"),
            FaultKind::Secured => format!("{origin} speaks TLS: is it an https address?"),
            FaultKind::Invalid(error) => {
                let text = error.to_string();
                format!("{origin} sent a response that is not valid HTTP ({})", text.trim_end_matches(" parsed"))
            }
            FaultKind::Broken(error) => match error.kind() {
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                    format!("{origin} broke the connection off before it had responded")
                }
                _ => {
                    let text = error.to_string();
                    let words = text.split(" (os error").next().unwrap_or_default();
                    format!("the connection to {origin} broke ({words})")
                }
            },
            FaultKind::Unsendable(why) => format!("no request can be sent to {origin}: {why}"),
        }
    }
}

/// Sends a request and reads its response; tells whether the connection can be used again. A `relay` is a proxy that hands
/// the request on: it gets the whole address, and its own user and password.
pub(super) async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &Request,
    relay: Option<&Server>,
    want: Want,
    deadline: Instant,
) -> Result<(Response, bool), Fault> {
    let outgoing = outgoing(request, relay).map_err(|why| Fault::unsent(FaultKind::Unsendable(why)))?;
    let wire = RefCell::new(Wire::new(stream));
    let mut conversation = Conversation::new(&wire).await?;
    let (head, incoming) = conversation.send(outgoing).await?.into_parts();
    let patience = Instant::now() + DRAIN_PATIENCE;
    let deadline = if want == Want::Status { patience.min(deadline) } else { deadline };
    let (mut body, mut is_whole, mut is_idle) = (Vec::new(), false, false);
    let rest = async {
        is_whole = conversation.read(incoming, &mut body).await;
        // Who accepts before it has read everything may be about to read it. Who refuses is not.
        if is_whole && (head.status.is_success() || wire.borrow().is_flushed) {
            is_idle = conversation.idle().await;
        }
    };
    let _ = timeout_at(deadline, rest).await;
    let can_be_kept = is_idle && !is_odd(head.status, &head.headers) && conversation.end().is_empty();
    let text = |name| {
        let value: Option<&HeaderValue> = head.headers.get(name);
        value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let response = Response {
        status: head.status.as_u16(),
        body,
        is_whole,
        location: text(LOCATION),
        retry_after: text(RETRY_AFTER),
        warnings: Vec::new(),
        via: None,
        is_relayed: relay.is_some(),
    };
    Ok((response, can_be_kept))
}

/// Asks a proxy for a tunnel to the host of `url`: the status of its response, and whether nothing came behind it.
pub(super) async fn open_tunnel<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    server: &Server,
    url: &Url,
) -> Result<(u16, bool), Fault> {
    let authority = url.host_and_port();
    let agent = ("User-Agent", USER_AGENT.to_owned());
    let login = server.authorization().map(|value| ("Proxy-Authorization", value));
    let headers = [("Host", authority.clone()), agent].into_iter().chain(login);
    let request = with_head(hyper::Method::CONNECT, authority, headers, Whole::NONE);
    let request = request.map_err(|why| Fault::unsent(FaultKind::Unsendable(why)))?;
    let wire = RefCell::new(Wire::new(stream));
    let mut conversation = Conversation::new(&wire).await?;
    let status = conversation.send(request).await?.status();
    Ok((status.as_u16(), conversation.end().is_empty()))
}

/// A request as hyper sends it.
fn outgoing(request: &Request, relay: Option<&Server>) -> Result<hyper::Request<Whole>, &'static str> {
    let method = match request.method() {
        Method::Get => hyper::Method::GET,
        Method::Post => hyper::Method::POST,
    };
    let target = if relay.is_some() { request.url.to_string() } else { request.url.path.clone() };
    let login = relay.and_then(Server::authorization).map(|value| ("Proxy-Authorization", value));
    let headers = login.into_iter().chain(request.headers(USER_AGENT));
    with_head(method, target, headers, request.body.as_deref().map_or(Whole::NONE, Whole::new))
}

fn with_head(
    method: hyper::Method,
    target: String,
    headers: impl Iterator<Item = (&'static str, String)>,
    body: Whole,
) -> Result<hyper::Request<Whole>, &'static str> {
    let mut request = hyper::Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = Uri::try_from(target).map_err(|_| "its address is longer than 64 KiB, or not valid")?;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the name of a header is not valid")?;
        let value = HeaderValue::try_from(value).map_err(|_| "the value of a header is not valid")?;
        request.headers_mut().append(name, value);
    }
    Ok(request)
}

/// A body where none may be, or one with two ends: what comes next may be its rest and no response.
fn is_odd(status: StatusCode, headers: &HeaderMap) -> bool {
    let (has_encoding, mut lengths) =
        (headers.contains_key(TRANSFER_ENCODING), headers.get_all(CONTENT_LENGTH).into_iter());
    match status {
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => has_encoding || lengths.any(|length| length != "0"),
        _ => has_encoding && lengths.next().is_some(),
    }
}

/// What hyper does on a stream, driven as long as somebody waits for it.
struct Conversation<'a, S: AsyncRead + AsyncWrite + Unpin> {
    wire: &'a RefCell<Wire<S>>,
    sender: SendRequest<Whole>,
    /// `None` once hyper has nothing more to do.
    connection: Option<Connection<Io<'a, Wire<S>>, Whole>>,
    /// What was read and is no part of the response; known when the connection is over.
    left: Bytes,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Conversation<'a, S> {
    async fn new(wire: &'a RefCell<Wire<S>>) -> Result<Self, Fault> {
        let mut builder = Builder::new();
        builder
            .title_case_headers(true)
            .max_headers(MOST_HEADERS)
            .max_buf_size(HEAD_LIMIT)
            .allow_obsolete_multiline_headers_in_responses(true);
        let begun = builder.handshake(Io(wire)).await;
        let (sender, connection) = begun.map_err(|error| Fault::unsent(FaultKind::Invalid(error)))?;
        Ok(Self { wire, sender, connection: Some(connection), left: Bytes::new() })
    }

    /// Sends the request and waits for the head of the final response.
    async fn send(&mut self, request: hyper::Request<Whole>) -> Result<hyper::Response<Incoming>, Fault> {
        let mut response = pin!(self.sender.try_send_request(request));
        let result = poll_fn(|context| {
            drive(&mut self.connection, &mut self.left, context);
            response.as_mut().poll(context)
        });
        match result.await {
            Ok(response) => {
                let mut wire = self.wire.borrow_mut();
                wire.has_head = true;
                // Who refuses before it has read everything does not want the rest.
                wire.is_muted = !response.status().is_success();
                Ok(response)
            }
            Err(error) => Err(self.fault(error)),
        }
    }

    /// Reads a body as far as [`BODY_LIMIT`]; true where that was all of it.
    async fn read(&mut self, mut incoming: Incoming, body: &mut Vec<u8>) -> bool {
        loop {
            let frame = poll_fn(|context| {
                // What has come already needs no drive.
                if let Poll::Ready(frame) = Pin::new(&mut incoming).poll_frame(context) {
                    return Poll::Ready(frame);
                }
                drive(&mut self.connection, &mut self.left, context);
                Pin::new(&mut incoming).poll_frame(context)
            });
            let data = match frame.await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            };
            let room = BODY_LIMIT - body.len();
            body.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return false;
            }
        }
    }

    /// Waits until the request is sent and the connection is ready for another one; false where it never will be.
    async fn idle(&mut self) -> bool {
        poll_fn(|context| {
            // hyper is ready for the next request before it has handed over the last one.
            let is_idle = |sender: &SendRequest<_>| self.wire.borrow().is_flushed && sender.is_ready();
            if is_idle(&self.sender) {
                return Poll::Ready(true);
            }
            drive(&mut self.connection, &mut self.left, context);
            let is_over = self.connection.is_none() || self.wire.borrow().failed.is_some();
            match (is_idle(&self.sender), is_over) {
                (true, _) => Poll::Ready(true),
                (false, true) => Poll::Ready(false),
                (false, false) => Poll::Pending,
            }
        })
        .await
    }

    /// Takes the stream back from hyper: what was read of it beyond the response.
    fn end(&mut self) -> Bytes {
        if let Some(connection) = self.connection.take() {
            self.left = connection.into_parts().read_buf;
        }
        self.left.clone()
    }

    fn fault(&mut self, mut error: TrySendError<hyper::Request<Whole>>) -> Fault {
        let is_sent = error.take_message().is_none();
        let error = error.into_error();
        let left = self.end();
        let mut wire = self.wire.borrow_mut();
        let kind = if wire.received >= FLOOD_LIMIT {
            FaultKind::OnlyInterim
        } else if error.is_parse_too_large() && left.len() >= HEAD_LIMIT {
            FaultKind::TooLong
        } else if error.is_parse() {
            // An alert or a handshake, and the version that all of TLS has in common.
            if matches!(*left, [0x15 | 0x16, 0x03, ..]) { FaultKind::Secured } else { FaultKind::Invalid(error) }
        } else if let Some(broken) = wire.failed.take() {
            FaultKind::Broken(broken)
        } else if let Some(broken) = io_error(&error) {
            FaultKind::Broken(broken)
        } else if left.is_empty() {
            FaultKind::Silent
        } else {
            FaultKind::CutOff
        };
        Fault { is_sent, kind }
    }
}

/// Lets hyper do what it can. At its end whatever waits for it gets to know.
fn drive<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Option<Connection<Io<'_, Wire<S>>, Whole>>,
    left: &mut Bytes,
    context: &mut Context<'_>,
) {
    let is_over = connection.as_mut().is_some_and(|driven| driven.poll_without_shutdown(context).is_ready());
    if let Some(connection) = connection.take_if(|_| is_over) {
        *left = connection.into_parts().read_buf;
    }
}

/// What the system said, where that is why hyper failed.
fn io_error(error: &hyper::Error) -> Option<io::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(io::Error::new(error.kind(), error.to_string()));
        }
        source = error.source();
    }
    None
}

/// A stream on which an exchange is under way, and what is to be known about it.
struct Wire<S> {
    stream: S,
    /// How much has come.
    received: usize,
    /// Whether the head of the final response has come.
    has_head: bool,
    /// Whether everything that hyper wrote so far was handed over.
    is_flushed: bool,
    /// Whether no more is sent.
    is_muted: bool,
    /// Why nothing can be sent any more. What the other side sent before is read all the same.
    failed: Option<io::Error>,
}

impl<S> Wire<S> {
    fn new(stream: S) -> Self {
        Self { stream, received: 0, has_head: false, is_flushed: false, is_muted: false, failed: None }
    }

    /// What came of writing. A failure is kept for later: the other side may have responded before it closed.
    fn wrote<T>(&mut self, result: io::Result<T>, context: &Context<'_>) -> Poll<io::Result<T>> {
        result.map_or_else(
            |error| {
                self.failed = Some(error);
                context.waker().wake_by_ref();
                Poll::Pending
            },
            |value| Poll::Ready(Ok(value)),
        )
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.has_head && self.received >= FLOOD_LIMIT {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let before = into.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        self.received += into.filled().len() - before;
        match result {
            // Over TLS an end that was not announced is an error. Before the head is there it is an end all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !self.has_head => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        if self.is_muted || self.failed.is_some() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.wrote(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.failed.is_some() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_flush(context));
        self.is_flushed = result.is_ok();
        self.wrote(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
