//! From a configured callback and an update to the one request that is sent.
//!
//! [`Target`] decides the address, [`Header`] and [`Body`] the rest; all are pieces (`piece`) from which a [`Request`] is
//! rendered: a plain value that can be compared or sent. What may be seen of it is rendered by the same code from the same
//! pieces.

mod address;
mod body;
mod combine;
pub mod curl;
pub mod expect;
mod header;
mod hidden;
mod key;
mod notice;
mod piece;
mod redacted;
mod redirect;
mod request;
mod sign;
mod target;
mod template;
mod variables;

pub use address::is_long;
pub use body::{Body, Format};
pub use combine::{Batch, Combine, Parcel};
pub use header::{Header, HeaderError};
pub use hidden::{hidden_in_address, hidden_in_form, hidden_in_header, hidden_in_text};
pub use notice::{Notice, Outbound, Subject};
pub use redacted::{Redacted, RedactedProxy};
pub use redirect::{MAX_REDIRECTS, RedirectError};
pub use request::{Method, Request};
pub use sign::{
    RsaDigest, RsaKey, RsaSign, SIGNATURE_HEADERS, SchemeSigning, SignScheme, Signing, SigningKey, message_id,
};
pub use target::{Target, TargetError, outline, outline_literal};
pub use variables::{Moment, Timestamp, Variables};

/// Who we say we are (D2).
pub const USER_AGENT: &str = concat!("ddns-callback/", env!("CARGO_PKG_VERSION"));

use self::expect::Expect;
use self::piece::{Piece, Show};
use self::sign::Signable;
use self::variables::{Values, Variable, scalar_text};
use crate::journal::Endpoint;
use crate::net::family::Family;
use crate::net::url::{Url, UrlError};
use crate::text::secrets::Secrets;
use crate::update::domain::Domain;
use crate::update::state::Fingerprint;

/// One configured callback: everything that shapes its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// Where to.
    pub target: Target,
    /// `method`; `None` if the body decides (A2).
    pub method: Option<Method>,
    /// The headers that the user sets; each name once.
    pub headers: Vec<Header>,
    /// What to send there; `None` if nothing is sent but the head.
    pub body: Option<Body>,
    /// How its requests are signed; `None` if they are not.
    pub sign: Option<Signing>,
    /// The values that do not depend on the update.
    pub variables: Variables,
    /// What a response must say; `None` if its status decides (A4).
    pub expect: Option<Expect>,
}

/// Placeholders that only some domains have a value for.
pub struct Partial<'a> {
    variables: &'a Variables,
    used: Vec<Variable>,
}

impl<'a> Partial<'a> {
    /// The first one that a domain has no value for.
    pub fn missing(&self, domain: &Domain, family: Family) -> Option<&'a str> {
        let lacking = self.used.iter().find(|variable| self.variables.lacks(**variable, domain, family));
        lacking.map(|variable| self.variables.name_of(*variable))
    }
}

/// Why there is no request for an update: a sentence without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderError {
    /// A value makes the address impossible (a host that is none).
    Address(UrlError),
    /// A value puts a control character into this header.
    Header(String),
    /// The key of `sign` signs nothing.
    Signature,
}

impl Callback {
    /// How its requests ask.
    pub fn method(&self) -> Method {
        self.method.unwrap_or_else(|| Method::of_body(self.body.is_some()))
    }

    /// The request for updates, or a notification, to be sent. Fails where a value makes it impossible.
    pub fn render<'a>(
        &'a self,
        message: impl Into<Outbound<'a>>,
        moment: impl Into<Moment>,
    ) -> Result<Request, RenderError> {
        self.rendered(message.into().0, moment.into())
    }

    fn rendered(&self, subject: Subject<'_>, moment: Moment) -> Result<Request, RenderError> {
        let values = self.variables.with(subject, moment);
        let url = self.target.render(&values, Show::All).map_err(RenderError::Address)?;
        self.request(url, &values, Show::All)
    }

    /// Where such a request goes, secrets included.
    pub fn url<'a>(&'a self, subject: impl Into<Subject<'a>>, moment: impl Into<Moment>) -> Result<Url, RenderError> {
        let values = self.variables.with(subject.into(), moment.into());
        self.target.render(&values, Show::All).map_err(RenderError::Address)
    }

    /// All but the address.
    fn request(&self, mut url: Url, values: &Values<'_>, show: Show) -> Result<Request, RenderError> {
        let mut headers = Vec::with_capacity(self.headers.len());
        for header in &self.headers {
            let name = header.name().to_owned();
            let Some(value) = header.render(values, show) else { return Err(RenderError::Header(name)) };
            if name == "Authorization" {
                // It takes the place of user and password in the address.
                url.credentials = None;
            }
            headers.push((name, value));
        }
        let format = self.body.as_ref().map_or(Format::Json, |body| body.format);
        let body = self.body.as_ref().map(|body| body.render(values, show));
        let is_signed = self.sign.is_some();
        if let Some(sign) = &self.sign {
            let mut known = headers.clone();
            if body.is_some() && known.iter().all(|(name, _)| name != "Content-Type") {
                known.push(("Content-Type".to_owned(), format.content_type().to_owned()));
            }
            let signable = Signable {
                method: self.method().as_str(),
                url: &url,
                headers: &known,
                body: body.as_deref().unwrap_or_default(),
                seconds: values.seconds(),
                nonce: &values.nonce(),
                is_redacted: show != Show::All,
            };
            headers.extend(sign.headers(&values.message(), &signable).ok_or(RenderError::Signature)?);
        }
        Ok(Request { url, method: self.method(), headers, body, format, is_signed })
    }

    /// Where its requests go, for everybody to see.
    pub fn endpoint(&self) -> Endpoint {
        self.target.endpoint(&self.variables)
    }

    /// Everything the user typed that must not be seen (G2).
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.target.secrets();
        secrets.extend(self.headers.iter().flat_map(|header| piece::secrets(&header.pieces)));
        secrets.extend(self.body.iter().flat_map(|body| piece::secrets(&body.pieces)));
        secrets.extend(self.sign.iter().flat_map(Signing::secrets));
        secrets.extend(self.variables.typed().map(|value| scalar_text(value).into_owned()));
        secrets
    }

    /// Whether the address is part of the request.
    pub fn has_address(&self) -> bool {
        self.pieces().any(|piece| {
            matches!(piece, Piece::Variable(_, Variable::Ip | Variable::Ipv4 | Variable::Ipv6 | Variable::Ips))
        })
    }

    /// The key of the cache for this callback (E3).
    pub fn fingerprint(&self, salt: &[u8]) -> Fingerprint {
        key::fingerprint(self, salt)
    }

    /// The same for one domain: with variables of its own its requests are shaped differently (H9).
    pub fn fingerprint_of(&self, callback: Fingerprint, domain: &Domain, family: Family) -> Fingerprint {
        // Asked for a dozen times for each update.
        if !self.variables.has_own(family) {
            return callback;
        }
        key::of_domain(callback, self.variables.own(domain, family))
    }

    /// The key of what a notification remembers of an entry (I5), which is named by a text.
    pub fn fingerprint_for(&self, salt: &[u8], entry: &str) -> Fingerprint {
        key::of_entry(self.fingerprint(salt), entry)
    }

    /// Who makes the claims of its requests: a configuration file and the origin as it is written (E3).
    pub fn maker(&self, salt: &[u8], file: &str) -> Fingerprint {
        key::maker(salt, file, &self.target.origin(&self.variables))
    }

    /// What a domain has for itself, as a text that is equal for equal values.
    pub fn own_text(&self, domain: &Domain, family: Family) -> String {
        key::own_text(self.variables.own(domain, family))
    }

    /// The placeholders in it that only some domains have a value for.
    pub fn partial(&self) -> Partial<'_> {
        let mut used: Vec<Variable> = Vec::new();
        for piece in self.pieces() {
            if let Piece::Variable(_, variable) = piece
                && self.variables.is_partial(*variable)
                && !used.contains(variable)
            {
                used.push(*variable);
            }
        }
        Partial { variables: &self.variables, used }
    }

    /// A placeholder in it that has no single meaning, because a request is about several updates (H7).
    pub fn ambiguous(&self) -> Option<&str> {
        self.pieces().find_map(|piece| match piece {
            Piece::Variable(_, variable) if self.variables.is_ambiguous(*variable) => {
                Some(self.variables.name_of(*variable))
            }
            _ => None,
        })
    }

    /// Whether a placeholder is part of its requests.
    pub fn uses(&self, name: &str) -> bool {
        let is_it = |variable: &Variable| self.variables.name_of(*variable) == name;
        self.pieces().any(|piece| matches!(piece, Piece::Variable(_, variable) if is_it(variable)))
    }

    /// Every piece of its requests.
    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let headers = self.headers.iter().flat_map(|header| &header.pieces);
        let body = self.body.iter().flat_map(|body| &body.pieces);
        self.target.pieces.iter().chain(headers).chain(body)
    }

    /// The request as it may be seen, or why there is none. With `reveal` nothing is redacted.
    pub fn redacted<'a>(
        &'a self,
        subject: impl Into<Subject<'a>>,
        moment: impl Into<Moment>,
        user_agent: &str,
        reveal: bool,
    ) -> Result<Redacted, String> {
        let (subject, moment) = (subject.into(), moment.into());
        let why = |why: RenderError| {
            let why = why.to_string();
            if reveal { why } else { Secrets::new(self.secrets(), &[]).mask(&why).into_owned() }
        };
        let sent = self.rendered(subject, moment).map_err(why)?;
        if reveal {
            return Ok(Redacted::whole(sent, user_agent));
        }
        let values = self.variables.with(subject, moment);
        // A port that is a value of `extra` is not a number once it is redacted.
        let url = self.target.render(&values, Show::Redacted);
        let url = url.unwrap_or_else(|_| self.target.render_path(&values, &sent.url));
        let request = self.request(url, &values, Show::Redacted).map_err(why)?;
        Ok(Redacted::hidden(request, user_agent))
    }
}

impl std::fmt::Display for RenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(why) => write!(f, "the address {why}"),
            Self::Header(name) => {
                write!(f, "a value would put a line end or another control character into the header `{name}`")
            }
            Self::Signature => f.write_str("the key of `sign` cannot sign"),
        }
    }
}

#[cfg(test)]
mod tests;
