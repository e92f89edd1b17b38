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
mod key;
mod notice;
mod piece;
mod redacted;
mod redirect;
mod request;
mod request_template;
mod sign;
pub mod steps;
mod target;
mod template;
mod variables;

pub use address::is_long;
pub use body::{Body, Format};
pub use combine::{Batch, Combine, Parcel};
pub use header::Header;
pub use notice::{Notice, Outbound, Subject};
pub use redacted::{Redacted, RedactedProxy};
pub use redirect::MAX_REDIRECTS;
pub use request::{Method, Request};
pub use request_template::RequestTemplate;
pub use sign::{
    RsaDigest, RsaKey, RsaSign, SIGNATURE_HEADERS, SchemeSigning, SignScheme, Signing, SigningKey, message_id,
};
pub use target::{Target, TargetError, outline, outline_literal};
pub use variables::{Moment, Timestamp, Variables};

/// Who we say we are (D2).
pub const USER_AGENT: &str = concat!("ddns-callback/", env!("CARGO_PKG_VERSION"));

use self::steps::{Around, Taken};
use self::variables::{Variable, scalar_text};
use crate::journal::Endpoint;
use crate::net::family::Family;
use crate::net::url::{Url, UrlError};
use crate::text::secrets::Secrets;
use crate::update::domain::Domain;

/// One configured callback: everything that shapes its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// The update itself.
    pub request: RequestTemplate,
    /// The values that do not depend on the update.
    pub variables: Variables,
    /// What goes around it (H14); `None` if nothing does.
    pub around: Option<Box<Around>>,
}

impl Callback {
    /// The request for updates, or a notification, to be sent. Fails where a value makes it impossible: a sentence without its end, which may
    /// hold secrets.
    pub fn render<'a>(
        &'a self,
        message: impl Into<Outbound<'a>>,
        moment: impl Into<Moment>,
    ) -> Result<Request, String> {
        self.request.render(&self.variables.with(message.into().0, moment.into(), &[]), None)
    }

    /// Where such a request goes, secrets included.
    pub fn url<'a>(&'a self, subject: impl Into<Subject<'a>>, moment: impl Into<Moment>) -> Result<Url, UrlError> {
        let values = self.variables.with(subject.into(), moment.into(), &[]);
        self.request.target.render(&values, piece::Show::All)
    }

    /// Where its requests go, for everybody to see.
    pub fn endpoint(&self) -> Endpoint {
        self.request.target.endpoint(&self.variables)
    }

    /// Everything the user typed that must not be seen (G2).
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self.templates().flat_map(RequestTemplate::secrets).collect();
        secrets.extend(self.variables.typed().map(|value| scalar_text(value).into_owned()));
        secrets
    }

    /// Whether the address is part of the request.
    pub fn has_address(&self) -> bool {
        let is_address = |variable| matches!(variable, Variable::Ip | Variable::Ipv4 | Variable::Ipv6 | Variable::Ips);
        self.used().any(is_address)
    }

    /// What tells the first placeholder in it that a domain has no value for, while others have one.
    pub fn lacking<'a>(&'a self) -> impl Fn(&Domain, Family) -> Option<&'a str> {
        let mut used: Vec<Variable> = Vec::new();
        for variable in self.used() {
            if self.variables.is_partial(variable) && !used.contains(&variable) {
                used.push(variable);
            }
        }
        move |domain, family| {
            let lacking = used.iter().find(|variable| self.variables.lacks(**variable, domain, family));
            lacking.map(|variable| self.variables.name_of(*variable))
        }
    }

    /// A placeholder in it that has no single meaning, because a request is about several updates (H7).
    pub fn ambiguous(&self) -> Option<&str> {
        self.used().find(|variable| self.variables.is_ambiguous(*variable)).map(|it| self.variables.name_of(it))
    }

    /// Whether a placeholder is part of its requests.
    pub fn uses(&self, name: &str) -> bool {
        self.used().any(|variable| self.variables.name_of(variable) == name)
    }

    /// Every request of it.
    fn templates(&self) -> impl Iterator<Item = &RequestTemplate> {
        std::iter::once(&self.request).chain(self.around.iter().flat_map(|around| around.templates()))
    }

    /// Every placeholder in it; some more than once.
    fn used(&self) -> impl Iterator<Item = Variable> {
        let compared = self.around.iter().flat_map(|around| around.compared(&self.variables));
        self.templates().flat_map(RequestTemplate::variables).chain(compared)
    }

    /// The request as it may be seen, or why there is none. With `reveal` nothing is redacted.
    pub fn redacted<'a>(
        &'a self,
        subject: impl Into<Subject<'a>>,
        moment: impl Into<Moment>,
        user_agent: &str,
        reveal: bool,
    ) -> Result<Redacted, String> {
        self.redacted_as(&self.request, (subject.into(), moment.into(), &[]), user_agent, reveal)
    }

    /// The same of one of its requests, with what steps found.
    pub fn redacted_as(
        &self,
        template: &RequestTemplate,
        (subject, moment, taken): (Subject<'_>, Moment, &Taken),
        user_agent: &str,
        reveal: bool,
    ) -> Result<Redacted, String> {
        let values = self.variables.with(subject, moment, taken);
        if reveal {
            return template.render(&values, None).map(|request| Redacted::whole(request, user_agent));
        }
        let why = |why: String| Secrets::new(self.secrets(), &[]).mask(&why).into_owned();
        template.redacted(&values, user_agent).map_err(why)
    }
}

#[cfg(test)]
mod tests;
