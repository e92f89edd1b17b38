//! What the handlers reply.

use std::convert::Infallible;

use ddns_core::text::own_json::indented;
use ddns_core::web::form;
use hyper::StatusCode;
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use serde::Serialize;

use super::events::EventStream;
use crate::http::Whole;

/// A page loads nothing from another host, and runs no script inside the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The reply of a handler; an error is a reply, too.
pub(super) type Handled = Result<Reply, Reply>;

/// A response.
pub(super) struct Reply(Box<hyper::Response<ReplyBody>>);

/// The body of a reply: whole, or events.
pub(super) type ReplyBody = Box<dyn Body<Data = Bytes, Error = Infallible> + Unpin>;

impl Reply {
    pub(super) fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::of(status, content_type, Box::new(Whole::of(body.into())))
    }

    /// A response with the headers that every response has.
    fn of(status: u16, content_type: &'static str, body: ReplyBody) -> Self {
        let mut response = hyper::Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = [
            (CONTENT_TYPE, content_type),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "same-origin"),
            (X_FRAME_OPTIONS, "DENY"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (CACHE_CONTROL, "no-store"),
        ];
        headers.into_iter().fold(Self(Box::new(response)), |reply, (name, value)| reply.with(name, value))
    }

    /// A value for programs.
    pub(super) fn json(status: u16, value: &impl Serialize) -> Self {
        Self::new(status, "application/json", indented(value))
    }

    /// A sentence.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{text}\n"))
    }

    /// A file of the program, which a browser may keep forever.
    pub(super) fn file(content: &'static str, content_type: &'static str) -> Self {
        Self::new(200, content_type, content).with(CACHE_CONTROL, "public, max-age=31536000, immutable")
    }

    /// Events, as long as the browser listens.
    pub(super) fn events(stream: EventStream) -> Self {
        Self::of(200, "text/event-stream", Box::new(stream)).last()
    }

    /// Closes the connection after the reply.
    pub(super) fn last(self) -> Self {
        self.with(CONNECTION, "close")
    }

    /// Redirects to another view after something was done. `path` may come from outside: if it could lead to another host,
    /// redirects to the first view.
    pub(super) fn see(path: &str) -> Self {
        Self::text(303, "done").with(LOCATION, if form::is_own_path(path) { path } else { "/" })
    }

    /// Refuses the method, and says which ones are allowed.
    pub(super) fn not_allowed(methods: &str) -> Self {
        Self::text(405, "this address takes another method").with(ALLOW, methods)
    }

    /// Adds a header, unless its value is invalid.
    pub(super) fn with<V>(mut self, name: HeaderName, value: V) -> Self
    where
        HeaderValue: TryFrom<V>,
    {
        if let Ok(value) = HeaderValue::try_from(value) {
            self.0.headers_mut().insert(name, value);
        }
        self
    }

    /// Whether the body is an endless stream.
    pub(super) fn is_endless(&self) -> bool {
        self.0.body().size_hint().exact().is_none()
    }

    /// The response for hyper.
    pub(super) fn outgoing(self) -> hyper::Response<ReplyBody> {
        *self.0
    }
}
