//! Who is let in (I2): the site that asks, the token of a program, and that of a form. Every request passes here before its
//! handler.

use ddns_core::web::visit::is_own_site;
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderName, ORIGIN};

use super::reply::PageRequest;
use super::site::Site;
use super::visitor::Visitor;

/// The header in which a script sends the token of its page; a form has the field `token`.
const TOKEN: HeaderName = HeaderName::from_static("x-ddns-token");

/// Whether another site wants a part of ours for itself. A link to us is no more than a link.
pub(super) fn is_taken(request: &PageRequest) -> bool {
    request.header("sec-fetch-site") == Some("cross-site") && request.header("sec-fetch-mode") != Some("navigate")
}

/// Whether a request has the token of `token_file`; `None` if it has no token at all, or none is accepted.
pub(super) fn bearer(request: &PageRequest, site: &Site) -> Option<bool> {
    let (scheme, token) = request.header(AUTHORIZATION)?.split_once(' ')?;
    site.is_token(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"))
}

/// Whether a request may change something: it was sent by a page of ours, to this visitor.
pub(super) fn may_change(request: &PageRequest, host: &str, visitor: &Visitor, site: &Site) -> bool {
    let is_own = is_own_site(request.header(ORIGIN), request.header("sec-fetch-site"), host);
    let token = request.header(TOKEN).map(str::to_owned).or_else(|| request.field("token"));
    is_own && token.is_some_and(|token| site.key.is_token(&visitor.id, &token))
}

/// Whether a method changes nothing.
pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}
