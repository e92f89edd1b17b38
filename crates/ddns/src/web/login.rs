//! Logging in and out.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::text::duration::duration;
use ddns_core::web::form::is_own_path;
use ddns_core::web::overview::link;
use ddns_core::web::session::Id;
use ddns_core::web::tries::Admission;
use hyper::header::{HeaderValue, RETRY_AFTER, SET_COOKIE};
use maud::Render as _;

use super::pages::frame;
use super::password::{MAX_PASSWORD_BYTES, is_right};
use super::reply::{PageRequest, Reply};
use super::site::Site;
use super::views::login::LoginForm;
use super::visitor::cookie;
use crate::clock::steady_time;
use crate::random::random;

/// The page that asks for the password.
pub(super) fn page(request: &PageRequest) -> Reply {
    if request.visitor.is_let_in {
        return Reply::back_to(request.queried("to").as_deref());
    }
    form(200, request, None)
}

/// To the page that asks for the password, and from there to the one that was wanted.
pub(super) fn way_in(request: &PageRequest) -> Reply {
    let wanted = request.target();
    if matches!(request.path.as_str(), "/" | "/events") || !is_own_path(&wanted) {
        return Reply::see("/login");
    }
    Reply::back_to(Some(&link("/login", [("to", wanted)])))
}

fn form(status: u16, request: &PageRequest, wrong: Option<&str>) -> Reply {
    let to = request.field("to").or_else(|| request.queried("to")).filter(|to| is_own_path(to));
    let content = LoginForm { token: &request.token, to: to.as_deref(), wrong }.render();
    Reply::page(status, frame(request, "Log in", None).around(&content))
}

/// Takes a password.
pub(super) async fn log_in(site: &Rc<Site>, request: &PageRequest) -> Reply {
    let Some(hash) = site.hash() else { return Reply::see("/") };
    let password =
        request.field("password").filter(|password| password.len() <= MAX_PASSWORD_BYTES).unwrap_or_default();
    // It is counted, and others wait for its end, also if its client does not.
    let checked = tokio::task::spawn_local(checked(Rc::clone(site), request.visit.client, hash, password)).await;
    match checked.unwrap_or(Ok(false)) {
        Ok(true) => {}
        Ok(false) => return form(403, request, Some("This is not the password.")),
        Err(wait) => return slow_down(request, wait),
    }
    let Ok(random) = random() else { return Reply::text(500, "the system has no random numbers") };
    // A new one: knowing the old one must not log anybody in.
    let id = Id::new(random);
    site.sessions.borrow_mut().begin(id.clone(), steady_time());
    let reply = Reply::back_to(request.field("to").as_deref());
    match cookie(site, &id, request.visit.is_secure) {
        Some(cookie) => reply.with(SET_COOKIE, cookie),
        None => reply,
    }
}

/// Whether a password is the right one, once its turn has come; how long its client must wait where it is not checked. One at a
/// time: each takes memory and a thread, and tries at the same moment would all be free.
async fn checked(site: Rc<Site>, client: IpAddr, hash: String, password: String) -> Result<bool, Duration> {
    let number = site.tries.borrow_mut().wait(client, steady_time())?;
    loop {
        let turn = site.tries.borrow_mut().turn(number, steady_time());
        match turn {
            Admission::Now => break,
            Admission::Later => site.checked.notified().await,
            Admission::Never(wait) => {
                site.checked.notify_waiters();
                return Err(wait);
            }
        }
    }
    let is_right = tokio::task::spawn_blocking(move || is_right(&hash, &password)).await.unwrap_or(false);
    site.tries.borrow_mut().end(client, is_right, steady_time());
    site.checked.notify_waiters();
    if !is_right {
        site.warn(format!("somebody gave a wrong password on the page ({client})"));
    }
    Ok(is_right)
}

fn slow_down(request: &PageRequest, wait: Duration) -> Reply {
    // The whole second in which it is over.
    let wait = Duration::from_secs(wait.as_secs() + 1);
    let text = format!("There were too many wrong tries, or too many at once: wait {}.", duration(wait));
    form(429, request, Some(&text)).with(RETRY_AFTER, HeaderValue::from(wait.as_secs()))
}

/// Ends the session.
pub(super) fn log_out(site: &Site, request: &PageRequest) -> Reply {
    site.sessions.borrow_mut().end(&request.visitor.id);
    // Disconnect the event streams of this session.
    site.changes.tell();
    Reply::see("/login")
}
