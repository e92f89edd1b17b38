//! Which request goes where, and who may send it.

use std::future::ready;
use std::rc::Rc;

use ddns_core::web::push::is_two_in_one;
use ddns_core::web::visit::HEALTH;
use futures_util::future::LocalBoxFuture;
use hyper::Method;
use hyper::header::{RETRY_AFTER, SET_COOKIE, WWW_AUTHENTICATE};

use super::events::EventStream;
use super::reply::{Handled, Reply};
use super::request::{PageRequest, cookie};
use super::site::Site;
use super::views::assets::Asset;
use super::{api, configuration, login, pages, push, wizard};

type Handler = for<'a> fn(&'a Rc<Site>, &'a PageRequest) -> LocalBoxFuture<'a, Handled>;

/// Who may request something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Everybody who knows the name of the page.
    Anybody,
    /// People who are logged in, or all people if no password is configured.
    People,
    /// The same people, and programs with the token of `token_file`.
    Programs,
    /// Everybody: health checks only ask whether the service works.
    Checks,
}

/// One row of [`ROUTES`].
struct WebRoute {
    method: Method,
    path: &'static str,
    access: Access,
    handler: Handler,
}

const fn row(access: Access, method: Method, path: &'static str, handler: Handler) -> WebRoute {
    WebRoute { method, path, access, handler }
}

/// The path that takes the text of a configuration, and checks it.
pub(super) const CHECK: &str = "/api/v1/check";

/// The path that shows a configuration, and takes operations on it.
const CONFIG: &str = "/api/v1/config";

/// The path of the events.
const EVENTS: &str = "/events";

/// Everything that can be requested, besides the files of [`Asset`].
const ROUTES: &[WebRoute] = {
    use Access::{Anybody, Checks, People, Programs};
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const PATCH: Method = Method::PATCH;
    &[
        row(People, GET, "/", |site, request| Box::pin(pages::overview(site, request))),
        row(People, GET, "/update", |site, request| Box::pin(pages::update(site, request))),
        row(People, GET, "/addresses", |site, request| Box::pin(pages::addresses(site, request))),
        row(People, POST, "/addresses", |site, _| Box::pin(pages::ask_sources(site))),
        row(People, GET, "/requests", |site, request| Box::pin(pages::requests(site, request))),
        row(People, GET, "/history", |site, request| Box::pin(pages::history(site, request))),
        row(People, POST, "/sync", |site, request| Box::pin(pages::synchronize(site, request, false))),
        row(People, POST, "/retry-stopped", |site, request| Box::pin(pages::synchronize(site, request, true))),
        row(People, GET, "/configuration", |site, request| Box::pin(configuration::show(site, request))),
        row(People, GET, "/configuration/edit", |site, request| Box::pin(configuration::begin(site, request))),
        row(People, POST, "/configuration/edit", |site, request| Box::pin(configuration::change(site, request))),
        row(People, POST, "/configuration/notify", |site, request| Box::pin(configuration::notify(site, request))),
        row(People, GET, "/log", |site, request| Box::pin(pages::log(site, request))),
        row(People, GET, "/recipes", |site, request| Box::pin(wizard::begin(site, request))),
        row(People, POST, "/recipes", |site, request| Box::pin(wizard::go_on(site, request))),
        row(People, GET, "/setup", |site, request| Box::pin(wizard::begin(site, request))),
        row(People, POST, "/setup", |site, request| Box::pin(wizard::go_on(site, request))),
        row(Anybody, GET, "/login", |_, request| Box::pin(ready(Ok(login::page(request))))),
        row(Anybody, POST, "/login", |site, request| Box::pin(login::log_in(site, request))),
        row(People, POST, "/logout", |site, request| Box::pin(ready(Ok(login::log_out(site, request))))),
        row(People, GET, EVENTS, |site, request| {
            Box::pin(ready(Ok(Reply::events(EventStream::new(site, &request.id)))))
        }),
        row(Checks, GET, HEALTH, |site, _| Box::pin(api::alive(site))),
        row(Checks, GET, "/readyz", |site, _| Box::pin(api::ready(site))),
        row(Programs, GET, "/metrics", |site, _| Box::pin(api::metrics(site))),
        row(Programs, GET, "/api/v1/status", |site, _| Box::pin(api::status(site))),
        row(Programs, GET, "/api/v1/addresses", |site, _| Box::pin(api::addresses(site))),
        row(Programs, GET, "/api/v1/preview", |site, request| Box::pin(api::preview(site, request))),
        row(Programs, GET, "/api/v1/history", |site, request| Box::pin(api::history(site, request))),
        row(Programs, GET, CONFIG, |site, _| Box::pin(api::config(site))),
        row(Programs, PATCH, CONFIG, |site, request| Box::pin(api::edit(site, request))),
        row(Programs, POST, CHECK, |site, request| Box::pin(api::judge(site, request))),
        row(Programs, GET, "/api/v1/openapi.json", |_, _| Box::pin(ready(Ok(api::description())))),
        row(Programs, POST, "/api/v1/sync", |site, request| Box::pin(api::synchronize(site, request))),
    ]
};

/// The reply to a request.
pub(super) async fn respond(site: &Rc<Site>, request: PageRequest) -> Reply {
    routed(site, request).await.unwrap_or_else(|reply| reply)
}

async fn routed(site: &Rc<Site>, mut request: PageRequest) -> Handled {
    if request.is_push(site) {
        return Ok(push::receive(site, &request).await);
    }
    if is_two_in_one(&site.web.borrow(), &request.path) {
        return Err(push::two_in_one(site, &request));
    }
    if request.is_taken() {
        return Err(Reply::text(403, "another site may not use the page"));
    }
    if let Some(asset) = Asset::at(&request.path) {
        let file = || Reply::file(asset.content(), asset.content_type);
        return request.is_safe().then(file).ok_or_else(|| Reply::not_allowed("GET, HEAD"));
    }
    let there: Vec<&WebRoute> = ROUTES.iter().filter(|route| route.path == request.path).collect();
    if there.is_empty() {
        let is_person = request.is_let_in && request.is_safe() && !request.path.starts_with("/api/");
        return Err(if is_person {
            pages::missing(&request, "The page has no such address.")
        } else {
            Reply::text(404, "there is nothing at this address")
        });
    }
    // hyper leaves out the body of a response to HEAD.
    let method = if request.method == Method::HEAD { &Method::GET } else { &request.method };
    let Some(route) = there.iter().find(|route| route.method == method) else {
        let is_read = there.iter().any(|route| route.method == Method::GET);
        let methods = there.iter().map(|route| route.method.as_str()).chain(is_read.then_some("HEAD"));
        return Err(Reply::not_allowed(&methods.collect::<Vec<_>>().join(", ")));
    };
    let handler = admit(route, &mut request, site)?;
    let reply = handler(site, &request).await.unwrap_or_else(|reply| reply);
    // Programs keep no cookies, and a browser that logs in already has one.
    if !request.is_new || matches!(route.access, Access::Programs | Access::Checks) {
        return Ok(reply);
    }
    Ok(reply.with(SET_COOKIE, cookie(site, &request.id, request.visit.is_secure)))
}

/// The handler of a request, or the reply that turns it away. A form of the page that is too old is offered once more.
fn admit(route: &WebRoute, request: &mut PageRequest, site: &Site) -> Result<Handler, Reply> {
    let is_for_programs = route.access == Access::Programs;
    match request.bearer(site).filter(|_| is_for_programs) {
        Some(true) => {
            request.is_let_in = true;
            return Ok(route.handler);
        }
        Some(false) => {
            let client = request.visit.client;
            site.logins.wrong(client).map_err(|wait| {
                api::error(429, "there were too many wrong tries").with(RETRY_AFTER, wait.as_secs() + 1)
            })?;
            site.warn(format!("somebody gave a wrong token to the page ({client})"));
            return Err(unauthorized("the token is not the one in `web.token_file`"));
        }
        None => {}
    }
    let is_locked = !matches!(route.access, Access::Anybody | Access::Checks) && !request.is_let_in;
    if is_locked && (request.is_safe() || is_for_programs) {
        return Err(match () {
            () if is_for_programs => unauthorized("log in, or send the token of `web.token_file`"),
            // A script listens: a redirect would tell it nothing.
            () if route.path == EVENTS => unauthorized("log in"),
            () => login::login_redirect(request),
        });
    }
    if !is_locked && (request.is_safe() || request.may_change(site)) {
        return Ok(route.handler);
    }
    if is_for_programs {
        return Err(api::error(403, "POST and PATCH need the token of `web.token_file`, or must come from the page"));
    }
    if request.is_own() {
        return Ok(|_, request| Box::pin(ready(Err(login::once_more(request)))));
    }
    Err(Reply::text(403, "requests that change anything must come from this page: load it again"))
}

fn unauthorized(why: &str) -> Reply {
    api::error(401, why).with(WWW_AUTHENTICATE, "Bearer")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ddns_core::text::json::{Dialect, Value, parse};

    use super::*;

    fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
        let members = value.members().unwrap_or_default();
        members.iter().find(|member| member.key == name).map_or(&Value::Null, |member| &member.node.value)
    }

    #[test]
    fn i3_the_description_has_every_route_of_the_interface_and_no_other() {
        let text = include_str!("openapi.json");
        let document = parse(text, Dialect::STRICT).unwrap_or_else(|error| panic!("{}", error.message)).value;
        let described: BTreeSet<String> = member(&document, "paths")
            .members()
            .unwrap_or_default()
            .iter()
            .flat_map(|path| {
                let methods = path.node.value.members().unwrap_or_default();
                methods.iter().map(|method| format!("{} /api/v1{}", method.key.to_uppercase(), path.key))
            })
            .collect();
        let routes = ROUTES.iter().filter(|route| route.path.starts_with("/api/"));
        let there: BTreeSet<String> = routes.map(|route| format!("{} {}", route.method, route.path)).collect();
        assert_eq!(described, there);
    }
}
