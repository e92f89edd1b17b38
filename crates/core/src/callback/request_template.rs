//! A request before its values are known: made of pieces, from which both the sent and the redacted request are rendered.

use super::body::{Body, Format};
use super::expect::Expect;
use super::header::Header;
use super::piece::{self, Piece, Show};
use super::redacted::Redacted;
use super::request::{Method, Request};
use super::sign::{Signable, Signing};
use super::target::Target;
use super::variables::{Values, Variable};
use crate::net::url::{Url, percent_decode, push_value};

/// Everything that shapes one request, and how to judge its response.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTemplate {
    /// The URL.
    pub target: Target,
    /// `method`; `None`: the body decides (A2).
    pub method: Option<Method>,
    /// The user's headers; each name occurs once.
    pub headers: Vec<Header>,
    /// The body; `None`: only the head is sent.
    pub body: Option<Body>,
    /// How it is signed; `None`: it is not.
    pub sign: Option<Signing>,
    /// What the response must say; `None`: its status decides (A4).
    pub expect: Option<Expect>,
}

impl RequestTemplate {
    /// The method.
    pub fn method(&self) -> Method {
        self.method.unwrap_or_else(|| Method::of_body(self.body.is_some()))
    }

    /// Renders the request with these values. `page` is a query parameter that asks for a further page. The error is a
    /// sentence without its full stop: a value makes the request impossible.
    pub(super) fn render(&self, values: &Values<'_>, page: Option<(&str, &str)>) -> Result<Request, String> {
        let mut url = self.url(values)?;
        if let Some((name, value)) = page {
            let (path, query) = url.path.split_once('?').unwrap_or((&url.path, ""));
            // The parameter may ask for the first page: many servers read only the first of two.
            let is_other =
                |pair: &&str| !pair.is_empty() && pair.split('=').next().map(percent_decode).as_deref() != Some(name);
            let others: String = query.split('&').filter(is_other).flat_map(|pair| [pair, "&"]).collect();
            url.path = format!("{path}?{others}{name}=");
            push_value(&mut url.path, value);
        }
        self.finish(url, values, Show::All, self.sign.as_ref())
    }

    /// The same without a signature, so that requests that ask the same are equal.
    pub(super) fn render_unsigned(&self, values: &Values<'_>) -> Result<Request, String> {
        self.finish(self.url(values)?, values, Show::All, None)
    }

    fn url(&self, values: &Values<'_>) -> Result<Url, String> {
        self.target.render(values, Show::All).map_err(|why| format!("the address {why}"))
    }

    /// The redacted request.
    pub(super) fn redacted(&self, values: &Values<'_>, user_agent: &str) -> Result<Redacted, String> {
        let sent = self.render(values, None)?;
        // The port may be a value of `extra`: redacted, it is no longer a number.
        let url = self.target.render(values, Show::Redacted);
        let url = url.unwrap_or_else(|_| self.target.render_path(values, &sent.url));
        let request = self.finish(url, values, Show::Redacted, self.sign.as_ref())?;
        Ok(Redacted::hidden(request, user_agent))
    }

    /// Renders everything but the URL.
    fn finish(&self, mut url: Url, values: &Values<'_>, show: Show, sign: Option<&Signing>) -> Result<Request, String> {
        let mut headers = Vec::with_capacity(self.headers.len());
        for header in &self.headers {
            let name = header.name().to_owned();
            let Some(value) = header.render(values, show) else {
                let what = "a line break or another control character";
                return Err(format!("a value would put {what} into the header `{name}`"));
            };
            headers.push((name, value));
        }
        let format = self.body.as_ref().map_or(Format::Json, |body| body.format);
        let body = self.body.as_ref().map(|body| piece::render(&body.pieces, values, show));
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
            headers
                .extend(sign.headers(&values.message(), &signable).ok_or("the key in `sign` cannot be used to sign")?);
        }
        if headers.iter().any(|(name, _)| name == "Authorization") {
            // The user's header, or the signature, replaces the one made from user and password in the URL.
            url.credentials = None;
        }
        Ok(Request { url, method: self.method(), headers, body, format, is_signed: sign.is_some(), stays: false })
    }

    /// Shows the literal texts of headers, body and, if asked to, URL to everybody: for texts that the user did not type.
    pub fn disclose(&mut self, with_address: bool) {
        if with_address {
            piece::disclose(&mut self.target.pieces);
        }
        self.headers.iter_mut().for_each(|header| piece::disclose(&mut header.pieces));
        self.body.iter_mut().for_each(|body| piece::disclose(&mut body.pieces));
    }

    /// Everything the user typed that must stay hidden.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut secrets = piece::secrets(self.pieces());
        secrets.extend(self.sign.iter().flat_map(Signing::secrets));
        secrets
    }

    /// The placeholders, with duplicates.
    pub(super) fn variables(&self) -> impl Iterator<Item = Variable> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Variable(_, variable) => Some(*variable),
            Piece::Plain(_) | Piece::Secret(..) => None,
        })
    }

    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let headers = self.headers.iter().flat_map(|header| &header.pieces);
        let body = self.body.iter().flat_map(|body| &body.pieces);
        self.target.pieces.iter().chain(headers).chain(body)
    }
}
