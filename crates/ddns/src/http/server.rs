//! A receiver of callbacks for rehearsals: what `ddns listen` shows and `ddns demo` calls. It takes HTTP/1.1 requests
//! on a port of this host, hands each to whoever started it, and responds as that decides.
//!
//! Whoever connects is a stranger: sizes, times and the number of connections are bounded, and what is not HTTP is
//! reported, never a reason to end. hyper reads and writes; it refuses by itself what breaks HTTP's rules.

mod wire;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::error::Error as _;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, abortable};
use futures_util::stream::FuturesUnordered;
use hyper::body::{Body as _, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, sleep_until, timeout};

use super::body::Whole;
use super::io::Io;
use crate::environment::most_files;
use wire::{Patience, Phase, UNBOUNDED, Wire};

/// So many connections are served at once. Another one takes the place of the one that has been silent longest, or waits
/// until one ends.
const MOST_CONNECTIONS: usize = 64;

/// Who is silent for less may be about to send its next request.
const SILENCE: Duration = Duration::from_millis(500);

/// More head than this, or more headers, is not a request.
const HEAD_LIMIT: usize = 64 * 1024;
const MOST_HEADERS: usize = 128;

/// More body than this is not a callback.
const BODY_LIMIT: usize = 1024 * 1024;

/// How long to wait where the system gives no connection (no more files, say).
const PAUSE: Duration = Duration::from_millis(100);

/// How long the rest of what was refused is taken.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// What is sent where no request was read that hyper could respond to.
const TIMED_OUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// One request as it arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) from: SocketAddr,
    pub(crate) method: String,
    /// What stands between method and version.
    pub(crate) target: String,
    /// In the order in which they came, those of one name together, their names in the usual case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why something that came is not a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) from: SocketAddr,
    /// The status that it got; `None` where the sender is gone.
    pub(crate) status: Option<u16>,
    /// A sentence that begins with what came.
    pub(crate) why: String,
}

/// How to respond to a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delay: Duration,
    /// Whether the receiver ends when this is sent.
    pub(crate) is_last: bool,
}

/// What to do about what came.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// Respond to it. What was refused gets its own status.
    Respond(Response),
    /// Close the connection without a response.
    Ignore,
    /// End at once.
    Stop,
}

/// Serves until a last response was sent, or `handle` wants it to stop.
pub(crate) async fn serve(listener: TcpListener, handle: impl Fn(Result<&Received, &Refusal>) -> Verdict) {
    serve_patiently(listener, handle, Patience::USUAL).await;
}

async fn serve_patiently(
    listener: TcpListener,
    handle: impl Fn(Result<&Received, &Refusal>) -> Verdict,
    patience: Patience,
) {
    let most = MOST_CONNECTIONS.min(most_files() / 2);
    let mut open = FuturesUnordered::new();
    let mut wires: VecDeque<(Weak<RefCell<Wire>>, AbortHandle)> = VecDeque::new();
    loop {
        wires.retain(|(wire, _)| wire.strong_count() > 0);
        let is_full = open.len() >= most;
        let next = poll_fn(|context| {
            while let Poll::Ready(Some(is_over)) = open.poll_next_unpin(context) {
                if let Ok(true) = is_over {
                    return Poll::Ready(None);
                }
            }
            let has_room = open.len() < most || silent(&wires).is_some();
            if has_room { listener.poll_accept(context).map(Some) } else { Poll::Pending }
        });
        // Where nobody has been silent long enough, somebody will be.
        let Ok(next) = timeout(if is_full { SILENCE } else { UNBOUNDED }, next).await else { continue };
        match next {
            None => return,
            Some(Ok((stream, from))) => {
                if let Some(at) = silent(&wires).filter(|_| open.len() >= most) {
                    wires[at].1.abort();
                }
                let wire = Rc::new(RefCell::new(Wire::new(stream, patience)));
                let weak = Rc::downgrade(&wire);
                let (connection, handle) = abortable(Connection::new(from, &handle).serve(wire));
                wires.push_back((weak, handle));
                open.push(connection);
            }
            // Nobody's fault here: the connection is gone already, or the system has none to give.
            Some(Err(_)) => sleep(PAUSE).await,
        }
    }
}

/// The connection that is silent and was opened first.
fn silent(wires: &VecDeque<(Weak<RefCell<Wire>>, AbortHandle)>) -> Option<usize> {
    wires.iter().position(|(wire, _)| wire.upgrade().is_some_and(|wire| wire.borrow().is_silent(SILENCE)))
}

/// One connection from its first request to its last.
struct Connection<'a, H> {
    from: SocketAddr,
    handle: &'a H,
    /// Whether something was refused, so that the rest of it may still arrive.
    is_refused: Cell<bool>,
    /// Whether the receiver is to end.
    is_over: Cell<bool>,
}

impl<'a, H: Fn(Result<&Received, &Refusal>) -> Verdict> Connection<'a, H> {
    fn new(from: SocketAddr, handle: &'a H) -> Self {
        Self { from, handle, is_refused: Cell::new(false), is_over: Cell::new(false) }
    }

    /// Serves the connection to its end; true where the receiver is to end with it.
    async fn serve(self, wire: Rc<RefCell<Wire>>) -> bool {
        let served = self.served(&wire).await;
        // hyper is done with it.
        let Some(mut wire) = Rc::into_inner(wire).map(RefCell::into_inner) else { return self.is_over.get() };
        let refusal = match &served {
            _ if wire.is_secured => {
                Some((None, "https was spoken, and this is http: write http:// into the address".to_owned()))
            }
            None if wire.phase() == Phase::Reading => Some((Some(408), "a request took too long to come".to_owned())),
            None | Some(Ok(())) => None,
            Some(Err(error)) => reason(error, wire.phase()),
        };
        if let Some((status, why)) = refusal {
            let verdict = self.refuse(status, why);
            if let (None, Verdict::Respond(_)) = (served, verdict) {
                let _ = wire.stream.write_all(TIMED_OUT).await;
            }
        }
        if self.is_refused.get() {
            hang_up(&mut wire.stream).await;
        }
        self.is_over.get()
    }

    /// What came of the connection in the end; `None` where it took too long.
    async fn served(&self, wire: &Rc<RefCell<Wire>>) -> Option<hyper::Result<()>> {
        let mut builder = Builder::new();
        builder
            .half_close(true)
            .title_case_headers(true)
            .auto_date_header(false)
            .max_headers(MOST_HEADERS)
            .max_buf_size(HEAD_LIMIT);
        let service = service_fn(|request| self.respond(request, wire));
        let mut connection = pin!(builder.serve_connection(Io(wire.clone()), service));
        let mut timer = pin!(sleep_until(wire.borrow().deadline()));
        poll_fn(|context| {
            if let Poll::Ready(result) = connection.as_mut().poll(context) {
                return Poll::Ready(Some(result));
            }
            let deadline = wire.borrow().deadline();
            if timer.deadline() != deadline {
                timer.as_mut().reset(deadline);
            }
            timer.as_mut().poll(context).map(|()| None)
        })
        .await
    }

    async fn respond(
        &self,
        request: Request<Incoming>,
        wire: &RefCell<Wire>,
    ) -> Result<hyper::Response<Whole>, NoResponse> {
        wire.borrow_mut().enter(Phase::Reading);
        let (head, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err((status, why)) => {
                let verdict = self.refuse(status, why);
                let status = status.filter(|_| matches!(verdict, Verdict::Respond(_))).ok_or(NoResponse)?;
                return Ok(outgoing(&Response { status, is_last: true, ..Response::default() }));
            }
        };
        let owned = |(name, value): (&HeaderName, &HeaderValue)| {
            (title_case(name.as_str()), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let received = Received {
            from: self.from,
            method: head.method.to_string(),
            target: head.uri.to_string(),
            headers: head.headers.iter().map(owned).collect(),
            body,
        };
        wire.borrow_mut().enter(Phase::Responding);
        let response = match (self.handle)(Ok(&received)) {
            Verdict::Respond(response) => response,
            Verdict::Ignore => return Err(NoResponse),
            Verdict::Stop => {
                self.is_over.set(true);
                return Err(NoResponse);
            }
        };
        sleep(response.delay).await;
        self.is_over.set(response.is_last);
        wire.borrow_mut().enter(Phase::Writing);
        Ok(outgoing(&response))
    }

    fn refuse(&self, status: Option<u16>, why: impl Into<String>) -> Verdict {
        self.is_refused.set(true);
        let verdict = (self.handle)(Err(&Refusal { from: self.from, status, why: why.into() }));
        self.is_over.set(matches!(verdict, Verdict::Stop));
        verdict
    }
}

/// That a request gets no response.
#[derive(Debug)]
struct NoResponse;

impl fmt::Display for NoResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no response is wanted")
    }
}

impl std::error::Error for NoResponse {}

type Reason = (Option<u16>, String);

/// Why hyper gave up a connection, and with which status; `None` where there is nothing to report.
fn reason(error: &hyper::Error, phase: Phase) -> Option<Reason> {
    if error.is_parse_version_h2() {
        return Some((None, "HTTP/2 was spoken, and this is HTTP/1.1".to_owned()));
    }
    if error.is_parse_too_large() {
        return Some((
            Some(431),
            format!("a request has more than {} KiB of headers, or more than {MOST_HEADERS}", HEAD_LIMIT >> 10),
        ));
    }
    if error.is_parse() {
        return Some((Some(400), format!("something came that is not an HTTP request ({error})")));
    }
    if error.is_user() || phase != Phase::Reading {
        return None;
    }
    Some((None, closed(error)))
}

/// That a connection ended in the middle of a request.
fn closed(error: &hyper::Error) -> String {
    let broken = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match broken.filter(|broken| broken.kind() != io::ErrorKind::UnexpectedEof) {
        Some(broken) => format!("a connection broke in the middle of a request ({broken})"),
        None => "a connection was closed in the middle of a request".to_owned(),
    }
}

/// A whole body, or why it is none.
async fn read(mut incoming: Incoming) -> Result<Vec<u8>, Reason> {
    let too_large = || Err((Some(413), "the body of a request is larger than 1 MiB".to_owned()));
    if incoming.size_hint().lower() > BODY_LIMIT as u64 {
        return too_large();
    }
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let data = match frame {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => {
                let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
                return Err(match source.map(io::Error::kind) {
                    Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                        (Some(400), "the body of a request is in chunks, and they are wrong".to_owned())
                    }
                    _ => (None, closed(&error)),
                });
            }
        };
        if data.len() > BODY_LIMIT - body.len() {
            return too_large();
        }
        body.extend_from_slice(&data);
    }
    Ok(body)
}

/// A response without a body, as hyper sends it.
fn outgoing(response: &Response) -> hyper::Response<Whole> {
    let mut outgoing = hyper::Response::new(Whole::NONE);
    *outgoing.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if outgoing.status().canonical_reason().is_none() {
        outgoing.extensions_mut().insert(ReasonPhrase::from_static(b""));
    }
    for (name, value) in &response.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::try_from(value)) {
            outgoing.headers_mut().append(name, value);
        }
    }
    if !matches!(response.status, 204 | 304) {
        outgoing.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    if response.is_last {
        outgoing.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    outgoing
}

/// `Content-Type` for `content-type`: hyper does not keep how it was written.
fn title_case(name: &str) -> String {
    let mut is_first = true;
    name.chars()
        .map(|letter| {
            let shown = if is_first { letter.to_ascii_uppercase() } else { letter };
            is_first = letter == '-';
            shown
        })
        .collect()
}

/// Takes what is still under way for a moment: a connection that is closed before would lose the response.
async fn hang_up(stream: &mut TcpStream) {
    let _ = stream.shutdown().await;
    let mut dropped = [0; 4096];
    let drain = async { while stream.read(&mut dropped).await.is_ok_and(|count| count > 0) {} };
    let _ = timeout(DRAIN_PATIENCE, drain).await;
}

#[cfg(test)]
mod tests;
