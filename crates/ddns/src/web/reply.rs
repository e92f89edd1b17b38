//! A request to the page as the handlers see it, and their replies.

use std::convert::Infallible;
use std::net::IpAddr;

use ddns_core::metrics::CONTENT_TYPE as CONTENT_TYPE_OF_METRICS;
use ddns_core::text::own_json::indented;
use ddns_core::web::form;
use ddns_core::web::push::is_push;
use ddns_core::web::visit::{Turned, Visit};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use maud::Markup;
use serde::Serialize;

use super::events::EventStream;
use super::site::Site;
use super::visitor::{Visitor, arrive, recognize, single};
use crate::http::Whole;

/// Nothing of a page comes from another host, and nothing runs that stands in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// One request, from somebody who knows the name of the page.
pub(super) struct PageRequest {
    pub(super) method: Method,
    pub(super) path: String,
    query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) visit: Visit,
    pub(super) visitor: Visitor,
    /// What forms of the page carry.
    pub(super) token: String,
    /// Whether the page asks for one.
    pub(super) has_password: bool,
}

impl PageRequest {
    /// Reads what came. None where the system has no random numbers.
    pub(super) fn new(
        head: Parts,
        body: Vec<u8>,
        peer: IpAddr,
        is_secured: bool,
        site: &Site,
    ) -> Option<Result<Self, Turned>> {
        let visit = match arrive(&head, peer, is_secured, site) {
            Ok(visit) => visit,
            Err(turned) => return Some(Err(turned)),
        };
        let Parts { method, uri, headers, .. } = head;
        let visitor = recognize(&headers, site)?;
        Some(Ok(Self {
            method,
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            headers,
            body,
            visit,
            token: site.key.token(&visitor.id),
            visitor,
            has_password: site.web.borrow().password.is_some(),
        }))
    }

    /// Whether it tells an address (F10).
    pub(super) fn is_push(&self, site: &Site) -> bool {
        is_push(&site.web.borrow(), self.method == Method::POST, &self.path, &self.query)
    }

    /// What stands behind the path.
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// Path and query.
    pub(super) fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// A value of the query; `None` if it is not there.
    pub(super) fn queried(&self, name: &str) -> Option<String> {
        form::value(&self.query, name)
    }

    /// A field of a form; `None` if it is not there.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        form::value(std::str::from_utf8(&self.body).ok()?, name)
    }

    /// Every field of a form, in order.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        form::fields(std::str::from_utf8(&self.body).unwrap_or_default()).collect()
    }

    /// A header that stands there once; `None` if it is not text.
    pub(super) fn header(&self, name: impl hyper::header::AsHeaderName) -> Option<&str> {
        single(&self.headers, name)
    }
}

/// What a handler replies.
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
    fn new(status: u16, content_type: &'static str, body: Bytes) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers: vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))],
            body: Box::new(Whole::of(body)),
            is_endless: false,
        }
    }

    /// A page.
    pub(super) fn page(status: u16, markup: Markup) -> Self {
        Self::new(status, "text/html; charset=utf-8", markup.into_string().into())
    }

    /// A value for programs.
    pub(super) fn json(status: u16, value: &impl Serialize) -> Self {
        Self::new(status, "application/json", indented(value).into())
    }

    /// The same, written before.
    pub(super) fn static_json(text: &'static str) -> Self {
        Self::new(200, "application/json", Bytes::from_static(text.as_bytes()))
    }

    /// What Prometheus reads.
    pub(super) fn metrics(text: String) -> Self {
        Self::new(200, CONTENT_TYPE_OF_METRICS, text.into())
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
