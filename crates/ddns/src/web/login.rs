//! Logging in and out.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::text::duration::duration;
use ddns_core::web::access;
use ddns_core::web::attempts::client_of;
use ddns_core::web::form::is_own_path;
use ddns_core::web::list::link;
use ddns_core::web::session::Id;
use hyper::header::{RETRY_AFTER, SET_COOKIE};

use super::password::{MAX_PASSWORD_BYTES, is_right};
use super::reply::{Handled, Reply};
use super::request::{PageRequest, cookie};
use super::site::Site;
use super::views;
use crate::clock::steady_time;
use crate::random::random;

/// The page that asks for the password.
pub(super) fn page(request: &PageRequest) -> Reply {
    if request.is_let_in {
        return Reply::see(&request.queried("to").unwrap_or_default());
    }
    form(200, request, None)
}

/// Redirects to the page that asks for the password, and from there to the page that was requested.
pub(super) fn login_redirect(request: &PageRequest) -> Reply {
    let wanted = request.target();
    if request.path == "/" || !is_own_path(&wanted) {
        return Reply::see("/login");
    }
    Reply::see(&link("/login", [("to", wanted)]))
}

fn form(status: u16, request: &PageRequest, wrong: Option<&str>) -> Reply {
    let to = request.field("to").or_else(|| request.queried("to")).filter(|to| is_own_path(to));
    request.page(status, "Log in", None, &views::login::form(&request.token, to.as_deref(), wrong))
}

/// The page for a form that was opened before the service started or the session ended: nothing that was typed is lost.
pub(super) fn once_more(request: &PageRequest) -> Reply {
    if request.path == "/login" {
        let why = if request.is_new {
            "This browser sent no cookie, and the page knows you by one: allow cookies for it, then type it again."
        } else {
            "The service was restarted in the meantime: type it again."
        };
        return form(403, request, Some(why));
    }
    let (why, path) = (views::login::renewed(request.is_let_in), request.target());
    let content = views::login::once_more(why, (&path, "Send it again"), &request.token, &request.fields());
    request.page(403, "Send it again", request.is_let_in.then_some(""), &content)
}

/// Takes a password.
pub(super) async fn log_in(site: &Rc<Site>, request: &PageRequest) -> Handled {
    let hash = access::password(&site.web.borrow()).ok().flatten().map(str::to_owned);
    let Some(hash) = hash else { return Ok(Reply::see("/")) };
    let password =
        request.field("password").filter(|password| password.len() <= MAX_PASSWORD_BYTES).unwrap_or_default();
    let (client, warned) = (request.visit.client, Rc::clone(site));
    let when_wrong = move || warned.warn(format!("somebody gave a wrong password on the page ({client})"));
    let checked = site.logins.check(client_of(client), move || is_right(&hash, &password), when_wrong).await;
    if !checked.map_err(|wait| too_many_attempts(request, wait))? {
        return Err(form(403, request, Some("The password is wrong.")));
    }
    // A new id, so that knowing the old one logs nobody in (session fixation).
    let id = Id(random().map_err(|_| Reply::text(500, "the system has no random numbers"))?);
    site.sessions.borrow_mut().begin(id.clone(), steady_time());
    let reply = Reply::see(&request.field("to").unwrap_or_default());
    Ok(reply.with(SET_COOKIE, cookie(site, &id, request.visit.is_secure)))
}

fn too_many_attempts(request: &PageRequest, wait: Duration) -> Reply {
    // Round up to the second in which the wait is over.
    let wait = Duration::from_secs(wait.as_secs() + 1);
    let text = format!("There were too many wrong tries, or too many at once: wait {}.", duration(wait));
    form(429, request, Some(&text)).with(RETRY_AFTER, wait.as_secs())
}

/// Ends the session.
pub(super) fn log_out(site: &Site, request: &PageRequest) -> Reply {
    site.sessions.borrow_mut().end(&request.id);
    // Disconnect the event streams of this session.
    site.tell();
    Reply::see("/login")
}
