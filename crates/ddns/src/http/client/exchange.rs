//! One request and its response on an open stream, through hyper.

mod conversation;
mod fault;
mod limits;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::callback::{Request, USER_AGENT};
use ddns_core::net::proxy::Server;
use ddns_core::net::url::Url;
use ddns_core::schedule::limiter::AcceptQueue;
use hyper::body::Incoming;
use hyper::header::{
    self, ALLOW, CONNECTION, CONTENT_LENGTH, DATE, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, TRANSFER_ENCODING,
};
use hyper::http::response::Parts;
use hyper::{StatusCode, Uri, Version};
use tokio::time::{Instant, timeout_at};

use ddns_core::engine::MAX_ANSWER_BYTES;

use super::how::BodyUse;
use crate::http::body::Whole;
pub(super) use conversation::{BodyEnd, ByteStream, Conversation};
pub(super) use fault::Fault;
use fault::FaultKind;
pub(crate) use limits::MAX_BODY_BYTES;
use limits::MAX_LONG_BODY_BYTES;

/// How long to wait for the rest of a response whose status is known: it only decides whether the connection is kept.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// A response: its final status and the beginning of its body.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the body is complete: neither cut off nor longer than its limit.
    pub(crate) is_whole: bool,
    /// `Location`, as it was written.
    pub(super) location: Option<String>,
    /// `Retry-After`, as it was written.
    pub(crate) retry_after: Option<String>,
    /// `Allow`, as it was written.
    pub(crate) allow: Option<String>,
    /// `Date`, as it was written; `None` also if nothing needs it.
    pub(crate) date: Option<String>,
    /// Warnings about who received the request; each is given once for an origin.
    pub(crate) warnings: Vec<String>,
    /// The proxy it came through.
    pub(crate) via: Option<Arc<Server>>,
    /// Whether that proxy read the request, and so may have responded in the endpoint's place.
    pub(crate) is_relayed: bool,
    /// The state of the endpoint's queue of new connections.
    pub(crate) line: AcceptQueue,
}

/// Whether another request can follow on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// No request can follow.
    Never,
    /// One can follow, as far as ddns knows.
    Possible,
    /// One can follow: the server says so.
    Said,
}

/// Sends a request and reads its response; returns whether another request can follow. A `relay` is a proxy that
/// forwards the request: it gets the whole URL, and its own user and password.
pub(super) async fn exchange<S: ByteStream>(
    conversation: &mut Conversation<S>,
    request: &Request,
    relay: Option<&Server>,
    want: BodyUse,
    (deadline, is_slow): (Instant, &Cell<bool>),
) -> Result<(Response, Reuse), Fault> {
    let (head, incoming) = begin(conversation, request, relay, is_slow).await?.into_parts();
    let patience = Instant::now() + DRAIN_TIMEOUT;
    let text = |name| head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let (location, retry_after) = (head.headers.get(LOCATION).map(address), text(RETRY_AFTER));
    let is_followed =
        head.status.is_redirection() && request.redirected(head.status.as_u16(), location.as_deref()).is_some();
    let deadline = if want == BodyUse::Status || is_followed { patience.min(deadline) } else { deadline };
    let most = match want {
        BodyUse::LongBody => MAX_LONG_BODY_BYTES,
        BodyUse::Answer => MAX_ANSWER_BYTES,
        BodyUse::Status | BodyUse::Verdict | BodyUse::Body => MAX_BODY_BYTES,
    };
    let (mut body, mut is_whole, mut is_idle) = (Vec::new(), false, false);
    let rest = async {
        is_whole = match conversation.read(incoming, &mut body, most).await {
            BodyEnd::Whole => true,
            // Many servers end TLS without `close_notify`. If no length is known, a line end shows that nothing is missing.
            BodyEnd::Closed => !has_length(&head) && body.ends_with(b"\n"),
            BodyEnd::Cut => false,
        };
        // A server that accepts before it has read everything may be about to read it. A server that refuses is not.
        if is_whole && (head.status.is_success() || conversation.is_flushed()) {
            is_idle = conversation.idle().await;
        }
    };
    let _ = timeout_at(deadline, rest).await;
    // Needed if a signature was refused, or a pause ends at a time of day.
    let needs_date = head.status.is_client_error() || want != BodyUse::Status || retry_after.is_some();
    let response = Response {
        status: head.status.as_u16(),
        body,
        is_whole,
        location,
        retry_after,
        allow: text(ALLOW),
        date: needs_date.then(|| text(DATE)).flatten(),
        warnings: Vec::new(),
        via: None,
        is_relayed: relay.is_some(),
        line: AcceptQueue::Free,
    };
    let next = if !is_idle || is_odd(&head) {
        Reuse::Never
    // A gateway that gave up may pass on the late response of the server behind it, which would count for the next request.
    } else if says_kept(&head) && !matches!(head.status.as_u16(), 408 | 502..=504) {
        Reuse::Said
    } else {
        Reuse::Possible
    };
    Ok((response, next))
}

/// Sends a request and waits for the head of its response.
pub(super) async fn begin<S: ByteStream>(
    conversation: &mut Conversation<S>,
    request: &Request,
    relay: Option<&Server>,
    is_slow: &Cell<bool>,
) -> Result<hyper::Response<Incoming>, Fault> {
    let outgoing = outgoing(request, relay).map_err(|why| Fault::unsent(FaultKind::Unsendable(why)))?;
    conversation.send(outgoing, is_slow).await
}

/// Asks a proxy for a tunnel to the host of `url`. Returns the status of its response, and the stream if nothing followed it.
pub(super) async fn open_tunnel<S: ByteStream>(
    stream: S,
    server: &Server,
    url: &Url,
) -> Result<(u16, Option<S>), Fault> {
    let authority = url.host_and_port();
    let agent = ("User-Agent".into(), USER_AGENT.to_owned());
    let headers = [("Host".into(), authority.clone()), agent].into_iter().chain(login(server));
    let request = with_head("CONNECT", authority, headers, Whole::NONE);
    let request = request.map_err(|why| Fault::unsent(FaultKind::Unsendable(why)))?;
    let mut conversation = Conversation::new(stream).await?;
    let status = conversation.send(request, &Cell::default()).await?.status();
    Ok((status.as_u16(), conversation.into_stream()))
}

/// A request as hyper sends it.
fn outgoing(request: &Request, relay: Option<&Server>) -> Result<hyper::Request<Whole>, &'static str> {
    let target = if relay.is_some() { request.url.to_string() } else { request.url.path.clone() };
    let headers = relay.and_then(login).into_iter().chain(request.headers(USER_AGENT));
    with_head(request.method.as_str(), target, headers, request.body.as_deref().map_or(Whole::NONE, Whole::new))
}

/// The header with the user and password for a proxy.
fn login(server: &Server) -> Option<(Cow<'static, str>, String)> {
    server.authorization().map(|value| ("Proxy-Authorization".into(), value))
}

fn with_head(
    method: &str,
    target: String,
    headers: impl Iterator<Item = (Cow<'static, str>, String)>,
    body: Whole,
) -> Result<hyper::Request<Whole>, &'static str> {
    let mut request = hyper::Request::new(body);
    *request.method_mut() = hyper::Method::try_from(method).map_err(|_| "its method is not valid")?;
    *request.uri_mut() = Uri::try_from(target).map_err(|_| "its address is longer than 64 KiB, or not valid")?;
    for (name, value) in headers {
        let name = match name.as_ref() {
            // The names that every request has need no parsing.
            "Host" => header::HOST,
            "User-Agent" => header::USER_AGENT,
            "Accept" => header::ACCEPT,
            name => HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the name of a header is not valid")?,
        };
        let value = HeaderValue::try_from(value).map_err(|_| "the value of a header is not valid")?;
        request.headers_mut().append(name, value);
    }
    Ok(request)
}

/// The text of `Location`. Bytes that are not UTF-8 are encoded, as in every address.
fn address(value: &HeaderValue) -> String {
    let mut text = String::new();
    for chunk in value.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
    }
    text
}

/// Whether the head says where the body ends. Otherwise, the body ends with the connection.
fn has_length(head: &Parts) -> bool {
    head.headers.contains_key(CONTENT_LENGTH) || head.headers.contains_key(TRANSFER_ENCODING)
}

/// Whether the server says that it keeps the connection. HTTP/1.1 implies it, but not all servers comply.
fn says_kept(head: &Parts) -> bool {
    let words = |value: &HeaderValue| {
        let mut words = value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        words.any(|word| word.eq_ignore_ascii_case(b"keep-alive"))
    };
    head.headers.get_all(CONNECTION).into_iter().any(words) || head.headers.contains_key(KEEP_ALIVE)
}

/// Whether no other response may follow on the connection: its body is not allowed or has two lengths, so that its rest
/// may come next, or the server is old, although it was asked in HTTP/1.1.
fn is_odd(head: &Parts) -> bool {
    let has_encoding = head.headers.contains_key(TRANSFER_ENCODING);
    let mut lengths = head.headers.get_all(CONTENT_LENGTH).into_iter();
    let is_framed_twice = match head.status {
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => has_encoding || lengths.any(|length| length != "0"),
        _ => has_encoding && lengths.next().is_some(),
    };
    is_framed_twice || head.version != Version::HTTP_11
}

#[cfg(test)]
mod tests;
