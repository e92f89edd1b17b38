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
use maud::Markup;
use serde::Serialize;

use super::events::EventStream;
use crate::http::Whole;

/// Nothing of a page comes from another host, and nothing runs that stands in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What a handler replies, or what keeps it from that: a reply as well.
pub(super) type Handled = Result<Reply, Reply>;

/// A response.
pub(super) struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: ReplyBody,
    /// Whether it has no end.
    pub(super) is_endless: bool,
}

/// The body of a reply: whole, or events.
pub(super) type ReplyBody = Box<dyn Body<Data = Bytes, Error = Infallible> + Unpin>;

impl Reply {
    pub(super) fn new(status: u16, content_type: &'static str, body: Bytes) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers: vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))],
            body: Box::new(Whole::of(body)),
            is_endless: false,
        }
    }

    /// A page.
    pub(super) fn html(status: u16, markup: Markup) -> Self {
        Self::new(status, "text/html; charset=utf-8", markup.into_string().into())
    }

    /// A value for programs.
    pub(super) fn json(status: u16, value: &impl Serialize) -> Self {
        Self::new(status, "application/json", indented(value).into())
    }

    /// A sentence.
    pub(super) fn text(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{text}\n").into())
    }

    /// A file of the program, which a browser may keep for good.
    pub(super) fn file(content: &'static str, content_type: &'static str) -> Self {
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        Self::new(200, content_type, Bytes::from_static(content.as_bytes())).with(CACHE_CONTROL, kept)
    }

    /// Events, as long as somebody listens.
    pub(super) fn events(stream: EventStream) -> Self {
        let reply = Self::new(200, "text/event-stream", Bytes::new());
        Self { body: Box::new(stream), is_endless: true, ..reply }.last()
    }

    /// Closes the connection behind it.
    pub(super) fn last(self) -> Self {
        self.with(CONNECTION, HeaderValue::from_static("close"))
    }

    /// On to another page of ours, after something was done.
    pub(super) fn see(path: &'static str) -> Self {
        Self::text(303, "done").with(LOCATION, HeaderValue::from_static(path))
    }

    /// The same to a path that came from outside; to the first view where it is none of ours.
    pub(super) fn back_to(path: Option<&str>) -> Self {
        let path = path.filter(|path| form::is_own_path(path)).and_then(|path| HeaderValue::from_str(path).ok());
        path.map_or_else(|| Self::see("/"), |path| Self::text(303, "done").with(LOCATION, path))
    }

    /// That another method is meant.
    pub(super) fn not_allowed(methods: &str) -> Self {
        let reply = Self::text(405, "this address takes another method");
        match HeaderValue::from_str(methods) {
            Ok(methods) => reply.with(ALLOW, methods),
            Err(_) => reply,
        }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether it has a header.
    pub(super) fn sets(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// As hyper sends it, with what every response has.
    pub(super) fn outgoing(self) -> hyper::Response<ReplyBody> {
        let mut outgoing = hyper::Response::new(self.body);
        *outgoing.status_mut() = self.status;
        let headers = outgoing.headers_mut();
        for (name, value) in [
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "same-origin"),
            (X_FRAME_OPTIONS, "DENY"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (CACHE_CONTROL, "no-store"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        outgoing
    }
}
