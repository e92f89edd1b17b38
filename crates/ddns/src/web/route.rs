//! Which request goes where.

use std::future::ready;

use futures_util::future::LocalBoxFuture;
use hyper::Method;

use super::pages;
use super::reply::{Reply, Request};
use super::site::Site;
use super::views::assets::Asset;

type Handler = for<'a> fn(&'a Site, &'a Request) -> LocalBoxFuture<'a, Reply>;

/// One row of the table.
pub(super) struct Route {
    method: Method,
    path: &'static str,
    handler: Handler,
}

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::GET, path, handler }
}

const fn post(path: &'static str, handler: Handler) -> Route {
    Route { method: Method::POST, path, handler }
}

/// Everything that can be requested, besides the files of [`Asset`].
const ROUTES: &[Route] = &[
    get("/", |site, request| Box::pin(pages::overview(site, request))),
    post("/sync", |site, _| Box::pin(ready(pages::synchronize(site)))),
    post("/retry-stopped", |site, _| Box::pin(ready(pages::retry_stopped(site)))),
];

/// The reply to a request.
pub(super) async fn respond(site: &Site, request: &Request) -> Reply {
    if let Some(asset) = Asset::at(&request.path) {
        return match request.method {
            Method::GET | Method::HEAD => Reply::file(asset.content, asset.content_type),
            _ => Reply::not_allowed("GET, HEAD"),
        };
    }
    let there: Vec<&Route> = ROUTES.iter().filter(|route| route.path == request.path).collect();
    if there.is_empty() {
        return Reply::text(404, "there is nothing at this address");
    }
    // hyper leaves the body of a response to HEAD out.
    let method = if request.method == Method::HEAD { &Method::GET } else { &request.method };
    let Some(route) = there.iter().find(|route| route.method == method) else {
        let is_read = there.iter().any(|route| route.method == Method::GET);
        let methods = there.iter().map(|route| route.method.as_str()).chain(is_read.then_some("HEAD"));
        return Reply::not_allowed(&methods.collect::<Vec<_>>().join(", "));
    };
    (route.handler)(site, request).await
}
