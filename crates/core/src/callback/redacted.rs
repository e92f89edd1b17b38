//! A request to show to people: rendered by the code that renders what is sent, with the user's values as `***` unless
//! people ask to see the secrets (G2).

use std::borrow::Cow;

use super::request::{Method, Request};
use crate::net::proxy::Server;
use crate::net::url::Url;
use crate::text::secrets::MASK;

/// A request as it may be seen. A redacted one lacks everything that would reveal something about a secret, or be wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The method.
    pub method: Method,
    /// The URL. Its credentials are sent as a header.
    pub url: Url,
    /// The headers in the order in which they are sent. Without `Content-Length` if the body is redacted: its length differs.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body; `None`: only the head is sent.
    pub body: Option<String>,
    /// The proxy that ddns tries first; `None`: the request goes out directly.
    pub proxy: Option<RedactedProxy>,
}

/// A proxy as it may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedProxy {
    /// Without user and password.
    pub address: String,
    /// User and password, or their masks.
    pub credentials: Option<(String, String)>,
}

impl Redacted {
    /// A request without redaction.
    pub(super) fn whole(request: Request, user_agent: &str) -> Self {
        let headers = request.headers(user_agent);
        Self { method: request.method, headers, url: request.url, body: request.body, proxy: None }
    }

    /// A request rendered without secrets; removes headers that would reveal something about them.
    pub(super) fn hidden(request: Request, user_agent: &str) -> Self {
        let mut redacted = Self::whole(request, user_agent);
        let (has_body, is_ours) = (redacted.body.is_some(), redacted.url.credentials.is_some());
        redacted.headers.retain(|(name, _)| name != "Content-Length" || !has_body);
        for (_, value) in redacted.headers.iter_mut().filter(|(name, _)| is_ours && name == "Authorization") {
            *value = format!("Basic {MASK}");
        }
        redacted
    }

    /// Adds the proxy that ddns would try first; `reveal` shows its credentials.
    #[must_use]
    pub fn through(self, server: Option<&Server>, reveal: bool) -> Self {
        let mask = |text: &String| if reveal { text.clone() } else { MASK.to_owned() };
        let proxy = server.map(|server| RedactedProxy {
            address: server.to_string(),
            credentials: server.credentials.as_ref().map(|(user, password)| (mask(user), mask(password))),
        });
        Self { proxy, ..self }
    }

    /// The request as text, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} {} HTTP/1.1", self.method.as_str(), self.url.path)];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if let Some(body) = &self.body {
            lines.push(String::new());
            lines.push(body.clone());
        }
        lines
    }
}

impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {MASK}", self.method.as_str())
    }
}
