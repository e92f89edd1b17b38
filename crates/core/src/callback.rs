//! From a configured callback and an update to the one request that is sent.
//!
//! [`Target`] decides the address, [`Body`] the JSON; both are pieces (`piece`) from which a [`Request`] is rendered:
//! a plain value that can be compared or sent. What may be seen of it is rendered by the same code from the same
//! pieces.

mod address;
mod body;
pub mod curl;
mod key;
mod piece;
mod redacted;
mod redirect;
mod request;
mod target;
mod template;
mod variables;

pub use address::{is_long, outline, outline_literal};
pub use body::Body;
pub use redacted::{Redacted, RedactedProxy};
pub use redirect::{MOST_REDIRECTS, RedirectError};
pub use request::{Method, Request};
pub use target::{Target, TargetError};
pub use variables::{Timestamp, Variables};

use self::piece::Show;
use self::variables::scalar_text;
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
    /// The request for an update. Fails where a value makes the address impossible (a host that is none).
    pub fn render(&self, update: &Update<'_>, now: Timestamp) -> Result<Request, UrlError> {
        let values = self.variables.with(update, now);
        let url = self.target.render(&values, Show::All)?;
        let body = self.body.as_ref().map(|body| body.render(&values, Show::All));
        Ok(Request { url, body })
    }

    /// Everything the user typed that must not be seen (G2).
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.target.secrets();
        secrets.extend(self.body.iter().flat_map(|body| piece::secrets(&body.pieces)));
        secrets.extend(self.variables.extra().iter().map(|(_, value)| scalar_text(value).into_owned()));
        secrets
    }

    /// The key of the cache for this callback (E3).
    pub fn fingerprint(&self, salt: &[u8]) -> Fingerprint {
        key::fingerprint(self, salt)
    }
}

#[cfg(test)]
mod tests;
