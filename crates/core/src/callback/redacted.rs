//! A request for somebody's eyes: rendered by the code that renders what is sent, from the masked callback unless the
//! user asked for the secrets themselves (G2).

use super::request::{Method, Request};
use super::{Callback, Timestamp};
use crate::net::proxy::Server;
use crate::text::secrets::{MASK, Secrets};
use crate::update::Update;

/// Shows the requests of one callback.
pub struct Preview<'a> {
    sent: &'a Callback,
    /// None where the secrets are to be seen.
    masked: Option<Callback>,
}

/// A request as it may be shown. What is left out of a masked one would tell something about a secret, or be wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted {
    /// GET or POST.
    pub method: Method,
    /// The whole address without its credentials: they are sent as a header.
    pub url: String,
    /// The headers in the order in which they are sent. The length of a masked body is left out: it is another one.
    pub headers: Vec<(&'static str, String)>,
    /// User and password, or their masks.
    pub credentials: Option<(String, String)>,
    /// The JSON body.
    pub body: Option<String>,
    /// The proxy that is tried first.
    pub proxy: Option<RedactedProxy>,
}

/// A proxy, as it may be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedProxy {
    /// Without user and password.
    pub address: String,
    /// User and password, or their masks.
    pub credentials: Option<(String, String)>,
}

impl<'a> Preview<'a> {
    /// Shows with `reveal` what the user typed, too.
    pub fn new(callback: &'a Callback, reveal: bool) -> Self {
        Self { sent: callback, masked: (!reveal).then(|| callback.masked()) }
    }

    /// The request that tells an update, or why there can be none: a sentence that goes on from `the address`.
    pub fn request(&self, update: &Update<'_>, now: Timestamp, user_agent: &str) -> Result<Redacted, String> {
        let sent = self.sent.render(update, now).map_err(|why| self.explained(&why.to_string()))?;
        let Some(masked) = &self.masked else { return Ok(Redacted::new(&sent, sent.headers(user_agent))) };
        // A port that is a value of `extra` is no number once it is masked.
        let request = masked.render(update, now).unwrap_or_else(|_| {
            let values = masked.variables.with(update, now);
            let body = masked.body.as_ref().map(|body| body.render(&values));
            Request { url: masked.target.render_path(&values, &sent.url), body }
        });
        Ok(Redacted::new(&request, request.masked_headers(user_agent)))
    }

    fn explained(&self, why: &str) -> String {
        match self.masked {
            Some(_) => Secrets::new(self.sent.literals(), &[]).mask(why).into_owned(),
            None => why.to_owned(),
        }
    }
}

impl Redacted {
    /// With the proxy that would be tried first; `reveal` shows its credentials, too.
    #[must_use]
    pub fn through(self, server: Option<&Server>, reveal: bool) -> Self {
        let mask = |text: &String| if reveal { text.clone() } else { MASK.to_owned() };
        let proxy = server.map(|server| RedactedProxy {
            address: server.to_string(),
            credentials: server.credentials.as_ref().map(|(user, password)| (mask(user), mask(password))),
        });
        Self { proxy, ..self }
    }

    fn new(request: &Request, headers: Vec<(&'static str, String)>) -> Self {
        Self {
            method: request.method(),
            url: request.url.to_string(),
            headers,
            credentials: request.url.credentials.clone(),
            body: request.body.clone(),
            proxy: None,
        }
    }
}

impl std::fmt::Debug for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {MASK}", self.method.as_str())
    }
}
