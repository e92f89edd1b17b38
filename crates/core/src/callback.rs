//! From a configured callback and an update to the one request that is sent.
//!
//! [`Template`] substitutes in one pass, [`Target`] decides the address, [`Body`] the JSON, [`Request`] is the result:
//! a plain value that can be compared, shown or sent. Masking changes the template, never the result: what is shown
//! is rendered by the same code as what is sent.

mod body;
mod mask;
mod redirect;
mod request;
mod shown;
mod target;
mod template;
mod url;

use sha2::{Digest, Sha256};

pub use body::Body;
pub use mask::Secrets;
pub use redirect::{MOST_REDIRECTS, RedirectError};
pub use request::{Method, Request};
pub use shown::{Preview, Shown, ShownProxy};
pub use target::{Target, TargetError, is_long, outline, outline_literal};
pub use template::{Timestamp, Variables};
pub use url::{Url, UrlError};
pub(crate) use url::{bracketed, is_local_host, read_port, split_credentials, split_host, split_scheme};

use crate::hex;
use crate::record::Update;

/// What the masked part of a text shows as.
pub const MASK: &str = "***";

/// One configured callback: everything that shapes its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// Where to.
    pub target: Target,
    /// What to send there; none for GET.
    pub body: Option<Body>,
    /// The values that do not depend on the update.
    pub variables: Variables,
}

/// A salted hash of a callback (E3): tells two callbacks apart and gives nothing of them away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Callback {
    /// The request that tells an update. Fails where a value makes the address impossible (a host that is none).
    pub fn render(&self, update: &Update<'_>, now: Timestamp) -> Result<Request, UrlError> {
        let values = self.variables.with(update, now);
        let url = self.target.render(&values)?;
        let body = self.body.as_ref().map(|body| body.render(&values));
        Ok(Request { url, body })
    }

    /// The same callback as it may be shown: what the user typed is masked, what comes from the update stays (G2).
    #[must_use]
    pub fn masked(&self) -> Self {
        Self {
            target: self.target.masked(),
            body: self.body.as_ref().map(Body::masked),
            variables: self.variables.masked(),
        }
    }

    /// Everything the user typed that must not be seen.
    pub fn literals(&self) -> Vec<String> {
        let mut literals = Vec::new();
        self.target.literals(&mut literals);
        if let Some(body) = &self.body {
            body.literals(&mut literals);
        }
        self.variables.literals(&mut literals);
        literals
    }

    /// Hashes all that shapes the request: address, body, extra, ttl and line.
    pub fn fingerprint(&self, salt: &[u8]) -> Fingerprint {
        let mut shape = String::new();
        self.target.describe(&mut shape);
        shape.push('\n');
        if let Some(body) = &self.body {
            body.describe(&mut shape);
        }
        shape.push('\n');
        self.variables.describe(&mut shape);
        let hash = Sha256::new().chain_update(salt).chain_update(shape).finalize();
        let mut short = [0; 16];
        short.copy_from_slice(&hash[..16]);
        Fingerprint(short)
    }
}

impl Fingerprint {
    /// Reads what [`std::fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        hex::bytes(text)?.try_into().ok().map(Self)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::text(&self.0))
    }
}

#[cfg(test)]
mod tests;
