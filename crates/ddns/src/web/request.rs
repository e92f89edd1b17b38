//! A request to the page as the handlers see it: who sent it, from where, under which name of the page, in which session, and what it
//! may do (I2).

use std::net::IpAddr;

use ddns_core::text::screen;
use ddns_core::web::push::is_push;
use ddns_core::web::session::Id;
use ddns_core::web::visit::{Visit, VisitRefusal, is_own_site, single, visit};
use ddns_core::web::{access, form};
use hyper::Method;
use hyper::header::{AUTHORIZATION, AsHeaderName, COOKIE, HeaderMap, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use maud::Markup;

use super::reply::Reply;
use super::site::Site;
use super::views::layout;
use crate::random::random;

/// The header in which a script sends the token of its page; a form has the field `token`.
const TOKEN: HeaderName = HeaderName::from_static("x-ddns-token");

/// One request, under a name of the page.
pub(super) struct PageRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) visit: Visit,
    /// The id of the visitor.
    pub(super) id: Id,
    /// Whether the browser sent no id: a cookie must be set.
    pub(super) is_new: bool,
    /// Whether no password is needed, the visitor is logged in, or the request has the token for programs.
    pub(super) is_let_in: bool,
    /// The token that every form of the page contains.
    pub(super) token: String,
    /// Whether the page asks for a password.
    has_password: bool,
}

impl PageRequest {
    /// Reads a request without its body, or turns it away.
    pub(super) fn new(head: Parts, peer: IpAddr, is_secured: bool, site: &Site) -> Result<Self, Reply> {
        let visit = visit(&head, peer, is_secured, &site.web.borrow(), site.address).map_err(|turned| {
            let (status, why) = match turned {
                VisitRefusal::Host => (421, "the page does not have this name: name it in `web.hosts`"),
                VisitRefusal::Nobody => (
                    400,
                    "the proxy does not say who asks: it must end `X-Forwarded-For` with the address of its client",
                ),
                VisitRefusal::Proxy => {
                    (403, "this came through a proxy, and the page has no password: see `web.password_file`")
                }
            };
            // Few routers show why.
            let uri = &head.uri;
            if is_push(&site.web.borrow(), head.method == Method::POST, uri.path(), uri.query().unwrap_or_default()) {
                site.warn_of(peer, || format!("{peer} could not push an address: {why}"));
            }
            Reply::text(status, why)
        })?;
        let Parts { method, uri, headers, .. } = head;
        let name = cookie_name(site);
        let mut cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let known = cookies.find_map(|cookies| Id::in_cookies(cookies, &name));
        let is_new = known.is_none();
        let id = known.or_else(|| random().ok().map(Id));
        let id = id.ok_or_else(|| Reply::text(500, "the system has no random numbers"))?;
        Ok(Self {
            method,
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            headers,
            body: Vec::new(),
            visit,
            is_let_in: site.enters(&id),
            token: site.key.token(&id),
            id,
            is_new,
            has_password: site.web.borrow().password.is_some(),
        })
    }

    /// A page with this content; `tab` as in [`layout::page`]. The title says if something is wrong: a screen reader reads it first.
    pub(super) fn page(&self, status: u16, title: &str, tab: Option<&str>, content: &Markup) -> Reply {
        let can_log_out = self.has_password && self.is_let_in;
        let title = if status == 422 { format!("Error: {title}") } else { title.to_owned() };
        let page = layout::page(&title, tab, &self.token, can_log_out, content);
        Reply::new(status, "text/html; charset=utf-8", screen::page(&page.into_string()).into_owned())
    }

    /// Whether it is a push (F10).
    pub(super) fn is_push(&self, site: &Site) -> bool {
        is_push(&site.web.borrow(), self.method == Method::POST, &self.path, &self.query)
    }

    /// Whether another site loads something from the page. A link to the page is allowed.
    pub(super) fn is_taken(&self) -> bool {
        self.header("sec-fetch-site") == Some("cross-site") && self.header("sec-fetch-mode") != Some("navigate")
    }

    /// Whether it has the token of `token_file`; `None`: it has no bearer token, or no token is configured.
    pub(super) fn bearer(&self, site: &Site) -> Option<bool> {
        let (scheme, given) = self.header(AUTHORIZATION)?.split_once(' ')?;
        let web = site.web.borrow();
        let own = access::token(&web).ok().flatten().filter(|_| scheme.eq_ignore_ascii_case("bearer"))?;
        Some(site.key.is_same(own, given.trim()))
    }

    /// Whether this page sent it.
    pub(super) fn is_own(&self) -> bool {
        is_own_site(self.header(ORIGIN), self.header("sec-fetch-site"), &self.visit.host)
    }

    /// Whether it may change something: this page sent it, with the token of this visitor.
    pub(super) fn may_change(&self, site: &Site) -> bool {
        let token = self.header(TOKEN).map(str::to_owned).or_else(|| self.field("token"));
        self.is_own() && token.is_some_and(|token| site.key.is_token(&self.id, &token))
    }

    /// Whether its method changes nothing.
    pub(super) fn is_safe(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    /// Path and query.
    pub(super) fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// A value of the query; `None` if it is not there.
    pub(super) fn queried(&self, name: &str) -> Option<String> {
        form::value(&self.query, name)
    }

    /// The body as text; empty if it is not UTF-8.
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_default()
    }

    /// A field of a form; `None` if it is not there.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        form::value(self.text(), name)
    }

    /// Every field of a form, in order.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        form::fields(self.text()).collect()
    }

    /// The value of a header that occurs once; `None`: it is missing, repeated or not text.
    pub(super) fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        single(&self.headers, name)
    }
}

/// A cookie that no script can read, and that a browser sends for no other site.
pub(super) fn cookie(site: &Site, id: &Id, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{}={}; HttpOnly; SameSite=Strict; Path=/{secure}", cookie_name(site), id.text())
}

/// Browsers do not separate cookies by port: with the same name, two pages on one host would replace each other's.
fn cookie_name(site: &Site) -> String {
    format!("ddns-{}", site.address.port())
}
