//! A receiver of callbacks for rehearsals: `ddns listen` shows its requests, and `ddns demo` sends to it. It takes
//! HTTP/1.1 requests on a port of this host, hands each one to its caller, and responds as the caller decides.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::accept::{AcceptedConnection, accept};
use super::speak::{hang_up, read, reason, speak};
use super::wire::{Activity, ConnectionPhase, ConnectionTimeouts, ServerWire};
use crate::http::body::Whole;

/// A larger body is not a callback, in KiB.
const MAX_BODY_KIB: usize = 1024;

/// The response to a request that did not arrive in time, which hyper cannot respond to.
const TIMED_OUT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// One request as it arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) from: SocketAddr,
    pub(crate) method: String,
    /// The text between method and version.
    pub(crate) target: String,
    /// In the order of arrival, headers of one name together, with names in title case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why the input is not a request.
#[derive(Debug)]
pub(crate) struct InvalidRequest {
    pub(crate) from: SocketAddr,
    /// The status of the response; `None` if there was none.
    pub(crate) status: Option<u16>,
    /// A sentence about what arrived.
    pub(crate) why: String,
}

/// How to respond to a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReceiverResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delay: Duration,
    /// Whether the receiver ends after this response.
    pub(crate) is_last: bool,
}

/// How to react to a request, or to other input.
#[derive(Debug)]
pub(crate) enum Reaction {
    /// Respond. A refused request gets its own status.
    Respond(ReceiverResponse),
    /// Close the connection without a response.
    Ignore,
    /// End the receiver at once.
    Stop,
}

/// Serves until a last response was sent, or `handle` stops it.
pub(crate) async fn serve(listener: TcpListener, handle: impl Fn(Result<&Received, &InvalidRequest>) -> Reaction) {
    serve_patiently(listener, handle, ConnectionTimeouts::USUAL).await;
}

async fn serve_patiently(
    listener: TcpListener,
    handle: impl Fn(Result<&Received, &InvalidRequest>) -> Reaction,
    patience: ConnectionTimeouts,
) {
    accept(&listener, patience, |accepted| ReceiverConnection::new(accepted.from, &handle).serve(accepted)).await;
}

/// One connection from its first request to its last.
struct ReceiverConnection<'a, H> {
    from: SocketAddr,
    handle: &'a H,
    /// Whether anything was refused, so that the rest of it may still arrive.
    is_refused: Cell<bool>,
    /// Whether the receiver is to end.
    is_over: Cell<bool>,
}

impl<'a, H: Fn(Result<&Received, &InvalidRequest>) -> Reaction> ReceiverConnection<'a, H> {
    fn new(from: SocketAddr, handle: &'a H) -> Self {
        Self { from, handle, is_refused: Cell::new(false), is_over: Cell::new(false) }
    }

    /// Serves the connection to its end; true if the receiver is to end with it.
    async fn serve(self, AcceptedConnection { stream, activity, .. }: AcceptedConnection) -> bool {
        let wire = Rc::new(RefCell::new(ServerWire::new(stream, Rc::clone(&activity))));
        let served = speak(&wire, true, |request| self.respond(request, &activity)).await;
        // hyper no longer uses the connection.
        let Some(mut wire) = Rc::into_inner(wire).map(RefCell::into_inner) else { return self.is_over.get() };
        let refusal = match &served {
            _ if wire.is_secured => {
                Some((None, "the client used https, but this is http: use an http:// URL".to_owned()))
            }
            None if activity.phase() == ConnectionPhase::Reading => {
                Some((Some(408), "a request took too long to arrive".to_owned()))
            }
            None | Some(Ok(())) => None,
            Some(Err(error)) => reason(error, activity.phase()),
        };
        if let Some((status, why)) = refusal {
            let verdict = self.refuse(status, why);
            if let (None, Reaction::Respond(_)) = (served, verdict) {
                let _ = wire.stream.write_all(TIMED_OUT).await;
            }
        }
        if self.is_refused.get() {
            hang_up(&mut wire.stream).await;
        }
        self.is_over.get()
    }

    async fn respond(&self, request: Request<Incoming>, activity: &Activity) -> io::Result<hyper::Response<Whole>> {
        activity.enter(ConnectionPhase::Reading);
        let (head, body) = request.into_parts();
        let body = match read(body, MAX_BODY_KIB).await {
            Ok(body) => body,
            Err((status, why)) => {
                let verdict = self.refuse(status, why);
                let status = status.filter(|_| matches!(verdict, Reaction::Respond(_))).ok_or_else(no_response)?;
                return Ok(outgoing(&ReceiverResponse { status, is_last: true, ..ReceiverResponse::default() }));
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
        activity.enter(ConnectionPhase::Responding);
        let response = match (self.handle)(Ok(&received)) {
            Reaction::Respond(response) => response,
            Reaction::Ignore => return Err(no_response()),
            Reaction::Stop => {
                self.is_over.set(true);
                return Err(no_response());
            }
        };
        sleep(response.delay).await;
        self.is_over.set(response.is_last);
        activity.enter(ConnectionPhase::Writing);
        Ok(outgoing(&response))
    }

    fn refuse(&self, status: Option<u16>, why: impl Into<String>) -> Reaction {
        self.is_refused.set(true);
        let verdict = (self.handle)(Err(&InvalidRequest { from: self.from, status, why: why.into() }));
        self.is_over.set(matches!(verdict, Reaction::Stop));
        verdict
    }
}

/// The error for a request that gets no response.
fn no_response() -> io::Error {
    io::Error::other("no response is wanted")
}

/// A response without a body, as hyper sends it.
fn outgoing(response: &ReceiverResponse) -> hyper::Response<Whole> {
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

/// `Content-Type` for `content-type`: hyper does not keep the original case.
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

#[cfg(test)]
mod tests;
