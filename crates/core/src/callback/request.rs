//! The request as a value: known in full before any socket exists.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::net::url::Url;

/// One request, secrets included; its `Debug` shows neither path nor body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Where to.
    pub url: Url,
    /// The JSON body: its presence makes the request a POST (A2).
    pub body: Option<String>,
}

/// How a request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Without a body.
    Get,
    /// With a JSON body.
    Post,
}

impl Method {
    /// The word of the request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

impl Request {
    /// POST where there is a body, GET where there is none.
    pub fn method(&self) -> Method {
        if self.body.is_some() { Method::Post } else { Method::Get }
    }

    /// The headers that the contract sets, in the order in which they are sent (D1, D2).
    pub fn headers(&self, user_agent: &str) -> Vec<(&'static str, String)> {
        let mut headers =
            vec![("Host", self.url.authority()), ("User-Agent", user_agent.to_owned()), ("Accept", "*/*".to_owned())];
        if let Some((user, password)) = &self.url.credentials {
            let pair = STANDARD.encode(format!("{user}:{password}"));
            headers.push(("Authorization", format!("Basic {pair}")));
        }
        if let Some(body) = &self.body {
            headers.push(("Content-Type", "application/json".to_owned()));
            headers.push(("Content-Length", body.len().to_string()));
        }
        headers
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.method().as_str(), self.url)
    }
}
