//! Who sent a request: where it comes from, under which name of the page, and in which session.

use std::net::IpAddr;

use ddns_core::web::push::is_push;
use ddns_core::web::session::Id;
use ddns_core::web::visit::{RequestOrigin, Turned, Visit, visit};
use hyper::header::{AsHeaderName, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, Version};

use super::site::Site;
use crate::random::random;

/// Says nothing that is secret: a health check may come through a proxy, and may speak HTTP/1.0.
pub(super) const HEALTH: &str = "/healthz";

/// Headers that only proxies send, besides those that begin with [`FORWARDED`].
const OF_PROXIES: [&str; 6] = ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"];
const FORWARDED: &str = "x-forwarded-";

/// Who sent a request.
pub(super) struct Visitor {
    pub(super) id: Id,
    /// Whether a cookie must be set.
    is_new: bool,
    /// Whether no password is needed, or it was given.
    pub(super) is_let_in: bool,
    /// Whether it is a program with the token of `token_file`.
    pub(super) is_program: bool,
}

/// Where a request comes from; why it is turned away otherwise.
pub(super) fn arrive(head: &Parts, peer: IpAddr, is_secured: bool, site: &Site) -> Result<Visit, Turned> {
    let Parts { method, uri, version, headers, .. } = head;
    let web = site.web.borrow();
    let is_push = is_push(&web, method == Method::POST, uri.path(), uri.query().unwrap_or_default());
    // What a client wrote before the proxy's own word may be anything.
    let all = headers.get_all("x-forwarded-for").iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let is_of_proxy = |name: &HeaderName| name.as_str().starts_with(FORWARDED) || OF_PROXIES.contains(&name.as_str());
    let asked = RequestOrigin {
        peer,
        is_secured,
        target: uri.authority().map(Authority::as_str),
        host: single(headers, HOST),
        forwarded_for: &all.collect::<Vec<_>>().join(","),
        forwarded_host: single(headers, "x-forwarded-host"),
        forwarded_proto: single(headers, "x-forwarded-proto"),
        // No browser speaks HTTP/1.0: nginx does, where nothing but `proxy_pass` is set. So do routers, which have a password of their own.
        is_forwarded: uri.path() != HEALTH
            && (*version == Version::HTTP_10 && !is_push || headers.keys().any(is_of_proxy)),
    };
    visit(&asked, &web, site.address)
}

/// The visitor behind a request; `None` if the system has no random numbers.
pub(super) fn recognize(headers: &HeaderMap, site: &Site) -> Option<Visitor> {
    let name = cookie_name(site);
    let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let known = cookies.find_map(|cookies| Id::in_cookies(cookies, &name));
    let is_new = known.is_none();
    let id = known.or_else(|| random().ok().map(Id::new))?;
    let is_let_in = site.enters(&id);
    Some(Visitor { id, is_new, is_let_in, is_program: false })
}

impl Visitor {
    /// The cookie that makes the visitor known; `None` if it is known already.
    pub(super) fn cookie(&self, site: &Site, is_secure: bool) -> Option<HeaderValue> {
        if self.is_new { cookie(site, &self.id, is_secure) } else { None }
    }
}

/// A cookie that no script sees, and that no other site makes a browser send.
pub(super) fn cookie(site: &Site, id: &Id, is_secure: bool) -> Option<HeaderValue> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{}={}; HttpOnly; SameSite=Strict; Path=/{secure}", cookie_name(site), id.text());
    HeaderValue::try_from(text).ok()
}

/// Cookies do not distinguish ports: two pages of one host would take each other's.
fn cookie_name(site: &Site) -> String {
    format!("ddns-{}", site.address.port())
}

/// A header that stands there once; `None` if it is not text.
pub(super) fn single(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    first.to_str().ok().filter(|_| values.next().is_none())
}
