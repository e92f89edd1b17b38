//! Logging in and out.

use std::time::Duration;

use ddns_core::text::duration::duration;
use ddns_core::web::session::Id;
use hyper::header::{HeaderValue, RETRY_AFTER, SET_COOKIE};
use maud::Render as _;

use super::guard;
use super::pages::frame;
use super::password::{LONGEST, is_right};
use super::reply::{Reply, Request};
use super::site::{Site, random};
use super::views::login::Login;
use crate::clock::steady_time;

/// The page that asks for the password.
pub(super) fn page(request: &Request) -> Reply {
    if request.visitor.is_let_in {
        return Reply::see("/");
    }
    form(200, request, None)
}

fn form(status: u16, request: &Request, wrong: Option<&str>) -> Reply {
    let content = Login { token: &request.token, wrong }.render();
    Reply::page(status, frame(request, "Log in", None).around(&content))
}

/// Takes a password.
pub(super) async fn log_in(site: &Site, request: &Request) -> Reply {
    let Some(hash) = site.hash() else { return Reply::see("/") };
    let password = request.field("password").filter(|password| password.len() <= LONGEST).unwrap_or_default();
    // One at a time: each takes memory, and tries at the same moment would all be free.
    let _alone = site.verifying.lock().await;
    let client = request.visit.client;
    if let Err(wait) = site.tries.borrow().may(client, steady_time()) {
        return slow_down(request, wait);
    }
    let verified = tokio::task::spawn_blocking(move || is_right(&hash, &password)).await;
    if !verified.unwrap_or(false) {
        site.tries.borrow_mut().wrong(client, steady_time());
        site.warn(format!("somebody gave a wrong password on the page ({client})"));
        return form(403, request, Some("This is not the password."));
    }
    site.tries.borrow_mut().right(client);
    let Ok(random) = random() else { return Reply::text(500, "the system has no random numbers") };
    // A new one: whoever knew the old one is not logged in by that.
    let id = Id::new(random);
    site.sessions.borrow_mut().begin(id.clone(), steady_time());
    let reply = Reply::see("/");
    match guard::cookie(site, &id, request.visit.is_secure) {
        Some(cookie) => reply.with(SET_COOKIE, cookie),
        None => reply,
    }
}

fn slow_down(request: &Request, wait: Duration) -> Reply {
    // The whole second in which it is over.
    let wait = Duration::from_secs(wait.as_secs() + 1);
    let text = format!("There were too many wrong tries: wait {}.", duration(wait));
    form(429, request, Some(&text)).with(RETRY_AFTER, HeaderValue::from(wait.as_secs()))
}

/// Ends the session.
pub(super) fn log_out(site: &Site, request: &Request) -> Reply {
    site.sessions.borrow_mut().end(&request.visitor.id);
    // Whoever listens with this session is sent away.
    site.changes.tell();
    Reply::see("/login")
}
