//! From a configured callback and an update to the one request that is sent.
//!
//! [`Template`] substitutes in one pass, [`Target`] decides the address, [`Body`] the JSON, [`Request`] is the result:
//! a plain value that can be compared, shown or sent. Masking changes the template, never the result: what is shown
//! is rendered by the same code as what is sent.

mod body;
pub mod curl;
mod redacted;
mod redirect;
mod request;
mod target;
mod template;

use sha2::{Digest, Sha256};

pub use body::Body;
pub use redacted::{Preview, Redacted, RedactedProxy};
pub use redirect::{MOST_REDIRECTS, RedirectError};
pub use request::{Method, Request};
pub use target::{Target, TargetError, is_long, outline, outline_literal};
pub use template::{Timestamp, Variables};

use crate::net::url::UrlError;
use crate::update::Update;
use crate::update::state::Fingerprint;

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
        Fingerprint::new(short)
    }
}

#[cfg(test)]
mod tests;
