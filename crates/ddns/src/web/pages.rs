//! The pages: each handler asks the service for what its view shows.

use super::reply::{Reply, Request};
use super::site::Site;
use super::views::layout::{Frame, Tab};
use super::views::parts::action;

/// Where the service ends while a page is made.
const GONE: &str = "the service ends: try again when it runs";

/// What surrounds a view.
pub(super) fn frame<'a>(request: &'a Request, title: &'a str, tab: Option<Tab>) -> Frame<'a> {
    let can_log_out = request.has_password && request.visitor.is_let_in;
    Frame { title, tab, token: &request.token, can_log_out, is_live: tab.is_some() }
}

pub(super) async fn overview(site: &Site, request: &Request) -> Reply {
    let Some(status) = site.status().await else { return Reply::text(503, GONE) };
    let content = maud::html! { h1 { (status.summary()) } (action("/sync", &request.token, &maud::html! { button { "Synchronize now" } })) };
    Reply::page(200, frame(request, "Overview", Some(Tab::Overview)).around(&content))
}

pub(super) fn synchronize(site: &Site) -> Reply {
    site.begin_synchronizing(false);
    Reply::see("/")
}

pub(super) fn retry_stopped(site: &Site) -> Reply {
    site.begin_synchronizing(true);
    Reply::see("/")
}
