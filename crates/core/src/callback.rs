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

pub use address::is_long;
pub use body::Body;
pub use redacted::{Redacted, RedactedProxy};
pub use redirect::{MOST_REDIRECTS, RedirectError};
pub use request::{Method, Request};
pub use target::{Target, TargetError, outline, outline_literal};
pub use variables::{Timestamp, Variables};

use self::piece::{Piece, Show};
use self::variables::{Variable, scalar_text};
use crate::net::url::UrlError;
use crate::text::secrets::Secrets;
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

    /// Whether the address is part of the request.
    pub fn has_address(&self) -> bool {
        let pieces = self.target.pieces.iter().chain(self.body.iter().flat_map(|body| &body.pieces));
        pieces.into_iter().any(|piece| matches!(piece, Piece::Variable(_, Variable::Ip)))
    }

    /// The key of the cache for this callback (E3).
    pub fn fingerprint(&self, salt: &[u8]) -> Fingerprint {
        key::fingerprint(&self.target, self.body.as_ref(), &self.variables, salt)
    }

    /// The request for an update as it may be seen, or why there is none: a phrase that follows `the address`. With
    /// `reveal` nothing is redacted.
    pub fn redacted(
        &self,
        update: &Update<'_>,
        now: Timestamp,
        user_agent: &str,
        reveal: bool,
    ) -> Result<Redacted, String> {
        let sent = self.render(update, now).map_err(|why| {
            let why = why.to_string();
            if reveal { why } else { Secrets::new(self.secrets(), &[]).mask(&why).into_owned() }
        })?;
        if reveal {
            return Ok(Redacted::whole(sent, user_agent));
        }
        let values = self.variables.with(update, now);
        // A port that is a value of `extra` is not a number once it is redacted.
        let url = self.target.render(&values, Show::Redacted);
        let url = url.unwrap_or_else(|_| self.target.render_path(&values, &sent.url));
        let body = self.body.as_ref().map(|body| body.render(&values, Show::Redacted));
        Ok(Redacted::hidden(Request { url, body }, user_agent))
    }
}

#[cfg(test)]
mod tests;
