//! A request before its values are known: made of pieces, rendered as what is sent and as what may be seen.

use super::body::{Body, Format};
use super::expect::Expect;
use super::header::Header;
use super::piece::{self, Piece, Show};
use super::redacted::Redacted;
use super::request::{Method, Request};
use super::sign::{Signable, Signing};
use super::target::Target;
use super::variables::Values;
use super::{RenderError, Variable};
use crate::net::url::{Url, push_value};

/// Everything that shapes one request, and what its response must say.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTemplate {
    /// Where to.
    pub target: Target,
    /// `method`; `None` if the body decides (A2).
    pub method: Option<Method>,
    /// The headers that the user sets; each name once.
    pub headers: Vec<Header>,
    /// What to send there; `None` if nothing is sent but the head.
    pub body: Option<Body>,
    /// How it is signed; `None` if it is not.
    pub sign: Option<Signing>,
    /// What a response must say; `None` if its status decides (A4).
    pub expect: Option<Expect>,
}

impl RequestTemplate {
    /// How it asks.
    pub fn method(&self) -> Method {
        self.method.unwrap_or_else(|| Method::of_body(self.body.is_some()))
    }

    /// The request with these values. Fails where one makes it impossible.
    pub(super) fn render(&self, values: &Values<'_>) -> Result<Request, RenderError> {
        let url = self.target.render(values, Show::All).map_err(RenderError::Address)?;
        self.finish(url, values, Show::All, self.sign.as_ref())
    }

    /// The same with one parameter more in its query.
    pub(super) fn render_page(&self, values: &Values<'_>, name: &str, value: &str) -> Result<Request, RenderError> {
        let mut url = self.target.render(values, Show::All).map_err(RenderError::Address)?;
        url.path.push(if url.path.contains('?') { '&' } else { '?' });
        url.path.push_str(name);
        url.path.push('=');
        push_value(&mut url.path, value);
        self.finish(url, values, Show::All, self.sign.as_ref())
    }

    /// The same without its signature: equal for requests that ask the same.
    pub(super) fn render_unsigned(&self, values: &Values<'_>) -> Result<Request, RenderError> {
        let url = self.target.render(values, Show::All).map_err(RenderError::Address)?;
        self.finish(url, values, Show::All, None)
    }

    /// The request as it may be seen.
    pub(super) fn redacted(&self, values: &Values<'_>, user_agent: &str) -> Result<Redacted, RenderError> {
        let sent = self.render(values)?;
        // A port that is a value of `extra` is not a number once it is redacted.
        let url = self.target.render(values, Show::Redacted);
        let url = url.unwrap_or_else(|_| self.target.render_path(values, &sent.url));
        let request = self.finish(url, values, Show::Redacted, self.sign.as_ref())?;
        Ok(Redacted::hidden(request, user_agent))
    }

    /// All but the address.
    fn finish(
        &self,
        mut url: Url,
        values: &Values<'_>,
        show: Show,
        sign: Option<&Signing>,
    ) -> Result<Request, RenderError> {
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
        if let Some(sign) = sign {
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
        Ok(Request { url, method: self.method(), headers, body, format, is_signed: sign.is_some(), stays: false })
    }

    /// Lets everybody see the texts of a request that the user did not type: headers, body and, where that is meant, address.
    pub fn disclose(&mut self, with_address: bool) {
        if with_address {
            piece::disclose(&mut self.target.pieces);
        }
        self.headers.iter_mut().for_each(|header| piece::disclose(&mut header.pieces));
        self.body.iter_mut().for_each(|body| piece::disclose(&mut body.pieces));
    }

    /// What the user typed that must not be seen.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets = self.target.secrets();
        secrets.extend(self.headers.iter().flat_map(|header| piece::secrets(&header.pieces)));
        secrets.extend(self.body.iter().flat_map(|body| piece::secrets(&body.pieces)));
        secrets.extend(self.sign.iter().flat_map(Signing::secrets));
        secrets
    }

    /// The placeholders in it; some more than once.
    pub(super) fn variables(&self) -> impl Iterator<Item = Variable> {
        let headers = self.headers.iter().flat_map(|header| &header.pieces);
        let body = self.body.iter().flat_map(|body| &body.pieces);
        self.target.pieces.iter().chain(headers).chain(body).filter_map(|piece| match piece {
            Piece::Variable(_, variable) => Some(*variable),
            Piece::Plain(_) | Piece::Secret(..) => None,
        })
    }
}
