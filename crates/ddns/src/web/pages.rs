//! The pages: each handler asks the service for what its view shows.

use super::reply::{Reply, Request};
use super::site::Site;
use super::views::layout::{Frame, Tab};

/// Where the service ends while a page is made.
const GONE: &str = "the service ends: try again when it runs";

fn frame(title: &str, tab: Option<Tab>) -> Frame<'_> {
    Frame { title, tab, token: "", can_log_out: false, is_live: true }
}

pub(super) async fn overview(site: &Site, _: &Request) -> Reply {
    let Some(status) = site.status().await else { return Reply::text(503, GONE) };
    Reply::page(200, frame("Overview", Some(Tab::Overview)).around(&maud::html! { h1 { (status.summary()) } }))
}

pub(super) fn synchronize(site: &Site) -> Reply {
    site.begin_synchronizing(false);
    Reply::see("/")
}

pub(super) fn retry_stopped(site: &Site) -> Reply {
    site.begin_synchronizing(true);
    Reply::see("/")
}
