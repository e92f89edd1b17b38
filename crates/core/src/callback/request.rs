//! The request as a value: complete before any socket exists.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::body::Format;
use super::header;
use crate::net::url::Url;
use crate::text::vocabulary::vocabulary;

/// One request, secrets included. `Debug` shows neither path nor body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// The URL.
    pub url: Url,
    /// The method.
    pub method: Method,
    /// The user's headers, by the names under which they are sent. They replace those of ddns (H2).
    pub headers: Vec<(String, String)>,
    /// The body; `None`: only the head is sent.
    pub body: Option<String>,
    /// The format of the body.
    pub format: Format,
    /// Whether it is signed: no redirect is followed then (H11).
    pub is_signed: bool,
    /// Whether redirects to another origin are refused (H14).
    pub stays: bool,
}

vocabulary! {
    /// The HTTP method (H1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[allow(missing_docs, reason = "each is the word of the request line")]
    pub enum Method {
        Get = "GET",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
        Delete = "DELETE",
    }
}

impl Method {
    /// POST with a body, GET without one (A2).
    pub fn of_body(has_body: bool) -> Self {
        if has_body { Self::Post } else { Self::Get }
    }

    /// The word of the request line.
    pub fn as_str(self) -> &'static str {
        self.key()
    }

    /// Whether a server expects a body: without one, the request says `Content-Length: 0` (RFC 9110, 8.6).
    fn expects_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

impl Request {
    /// A POST of a JSON body, or a GET without a body (A2).
    pub fn new(url: Url, body: Option<String>) -> Self {
        let method = Method::of_body(body.is_some());
        Self { url, method, headers: Vec::new(), body, format: Format::Json, is_signed: false, stays: false }
    }

    /// Whether anything but path and query may contain keys.
    pub fn has_keys(&self) -> bool {
        self.body.is_some()
            || self.headers.iter().any(|(name, _)| !header::is_public(name))
            || self.url.credentials.is_some()
    }

    fn sets(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// All headers in the order in which they are sent: those of the contract (D1, D2) unless the user replaced them,
    /// then the user's own.
    pub fn headers(&self, user_agent: &str) -> Vec<(Cow<'static, str>, String)> {
        let mut headers = Vec::with_capacity(6 + self.headers.len());
        headers.push((Cow::Borrowed("Host"), self.url.authority()));
        let mut ours = |name: &'static str, value: &dyn Fn() -> String| {
            if !self.sets(name) {
                headers.push((Cow::Borrowed(name), value()));
            }
        };
        ours("User-Agent", &|| user_agent.to_owned());
        ours("Accept", &|| "*/*".to_owned());
        if let Some((user, password)) = &self.url.credentials {
            ours("Authorization", &|| format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        }
        if let Some(body) = &self.body {
            ours("Content-Type", &|| self.format.content_type().to_owned());
            ours("Content-Length", &|| body.len().to_string());
        } else if self.method.expects_body() {
            ours("Content-Length", &|| "0".to_owned());
        }
        headers.extend(self.headers.iter().map(|(name, value)| (Cow::Owned(name.clone()), value.clone())));
        headers
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method.as_str(), self.url)
    }
}
