//! Turns a configured callback and an update into the one request that is sent.
//!
//! [`Target`] gives the URL, [`Header`] and [`Body`] the rest. All of them consist of pieces (`piece`), from which a [`Request`] is
//! rendered: a plain value that can be compared or sent. The same code renders the redacted form from the same pieces.

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
pub use combine::{Batch, Combine, SendableBatch};
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

/// The default `User-Agent` (D2).
pub const USER_AGENT: &str = concat!("ddns-callback/", env!("CARGO_PKG_VERSION"));

use self::steps::{Around, Taken};
use self::template::is_half;
use self::variables::{Variable, scalar_text};
use crate::journal::Endpoint;
use crate::net::family::Family;
use crate::net::url::{Url, UrlError};
use crate::text::secrets::Secrets;
use crate::update::domain::Domain;

/// One configured callback: everything that shapes its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback {
    /// The request that sends the update.
    pub request: RequestTemplate,
    /// The configured values of its placeholders.
    pub variables: Variables,
    /// The requests around the update (H14); `None`: there are none.
    pub around: Option<Box<Around>>,
}

impl Callback {
    /// Renders the request for updates or for a notification. The error is a sentence without its full stop: a value
    /// makes the request impossible. It may contain secrets.
    pub fn render<'a>(
        &'a self,
        message: impl Into<Outbound<'a>>,
        moment: impl Into<Moment>,
    ) -> Result<Request, String> {
        self.request.render(&self.variables.with(message.into().0, moment.into(), &[]), None)
    }

    /// The URL of such a request, secrets included.
    pub fn url<'a>(&'a self, subject: impl Into<Subject<'a>>, moment: impl Into<Moment>) -> Result<Url, UrlError> {
        let values = self.variables.with(subject.into(), moment.into(), &[]);
        self.request.target.render(&values, piece::Show::All)
    }

    /// The endpoint of its requests, without secrets.
    pub fn endpoint(&self) -> Endpoint {
        self.request.target.endpoint(&self.variables)
    }

    /// Everything the user typed that must stay hidden (G2).
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self.templates().flat_map(RequestTemplate::secrets).collect();
        secrets.extend(self.variables.typed().map(|value| scalar_text(value).into_owned()));
        // A slip, which its warning names.
        secrets.retain(|text| !is_half(text, &self.variables));
        secrets
    }

    /// Whether a placeholder for an IP address is used.
    pub fn has_address(&self) -> bool {
        let is_address = |variable| matches!(variable, Variable::Ip | Variable::Ipv4 | Variable::Ipv6 | Variable::Ips);
        self.used().any(is_address)
    }

    /// Whether the requests for two domains may differ.
    pub fn has_domain(&self) -> bool {
        let is_domain = |variable| {
            use Variable::{Domain, Domains, Extra, Host, Subdomain, Zone};
            matches!(variable, Domain | Domains | Zone | Host | Subdomain | Extra(_))
        };
        self.used().any(is_domain)
    }

    /// Returns a function that finds the first placeholder that other domains have a value for, and this domain does not.
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

    /// A placeholder that is ambiguous because a request carries several updates (H7).
    pub fn ambiguous(&self) -> Option<&str> {
        self.used().find(|variable| self.variables.is_ambiguous(*variable)).map(|it| self.variables.name_of(it))
    }

    /// Whether a placeholder is part of its requests.
    pub fn uses(&self, name: &str) -> bool {
        self.used().any(|variable| self.variables.name_of(variable) == name)
    }

    fn templates(&self) -> impl Iterator<Item = &RequestTemplate> {
        std::iter::once(&self.request).chain(self.around.iter().flat_map(|around| around.templates()))
    }

    /// All placeholders in its requests and comparisons, with duplicates.
    fn used(&self) -> impl Iterator<Item = Variable> {
        let compared = self.around.iter().flat_map(|around| around.compared(&self.variables));
        self.templates().flat_map(RequestTemplate::variables).chain(compared)
    }

    /// The redacted request, or why it cannot be rendered. `reveal` shows the secrets.
    pub fn redacted<'a>(
        &'a self,
        subject: impl Into<Subject<'a>>,
        moment: impl Into<Moment>,
        user_agent: &str,
        reveal: bool,
    ) -> Result<Redacted, String> {
        self.redacted_as(&self.request, (subject.into(), moment.into(), &[]), user_agent, reveal)
    }

    /// The same for any of its requests, with the values that steps took.
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
