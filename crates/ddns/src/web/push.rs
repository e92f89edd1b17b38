//! Pushes (F10): routers and other hosts tell ddns their address. Who may push is checked here; the core decides what a push
//! means, and the service remembers it. A push opens nothing else: it begins no session, and sets no cookie.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::text::duration::duration;
use ddns_core::web::access::{PushKey, push_key};
use ddns_core::web::push::{MAX_KIB, PushAnswer, PushLogin, PushRequest, allowed, any_hash, counted, of_browser};
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};

use super::password::{MAX_PASSWORD_BYTES, is_right};
use super::reply::Reply;
use super::request::PageRequest;
use super::site::{Site, SiteRequest};
use crate::clock::steady_time;

/// The answer to a push from an address that may not push; `None` for any other request.
pub(super) fn of_stranger(site: &Site, request: &PageRequest) -> Option<Reply> {
    let client = request.visit.client;
    if !request.is_push(site) || !allowed(&site.web.borrow(), client).is_empty() {
        return None;
    }
    // No password is compared, so it is no wrong one: a router in the network of the stranger would have to wait for it.
    site.warn_of(client, || format!("{client} may not push an address: `web.push` does not have it in `from`"));
    Some(Reply::text(403, "badauth"))
}

/// Takes a push.
pub(super) async fn receive(site: &Rc<Site>, request: &PageRequest) -> Reply {
    deliver_push(site, request).await.unwrap_or_else(|refused| refused).last()
}

async fn deliver_push(site: &Rc<Site>, request: &PageRequest) -> Result<Reply, Reply> {
    let (client, query, body) = (request.visit.client, request.query.as_str(), request.text());
    if !matches!(request.method, Method::GET | Method::POST) {
        return Err(Reply::not_allowed("GET, POST"));
    }
    // It is not asked for a password: it would keep it, and send it with the requests of any site.
    if let Some(name) = of_browser(request.headers.keys().map(HeaderName::as_str)) {
        let text = || format!("{client} could not push an address: browsers cannot, and its request has `{name}`");
        site.warn_of(client, text);
        return Err(Reply::text(403, "a browser cannot push an address: try it with curl"));
    }
    if query.len() + request.body.len() > MAX_KIB << 10 {
        return Err(Reply::text(413, &format!("a push is larger than {MAX_KIB} KiB")));
    }
    let name = admitted(site, request).await?;
    if !site.push_rate.borrow_mut().admits(&name, steady_time()) {
        site.warn_of(client, || format!("push:{name} is pushed too often ({client}): for a minute, more is refused"));
        return Err(answered(&PushAnswer::Abuse));
    }
    let push = PushRequest::read(query, body);
    let answer = site.ask(|done| SiteRequest::Push { name, push, done }).await;
    Ok(answered(&answer.unwrap_or(PushAnswer::Broken)))
}

/// The name in `web.push` that a request may push for.
async fn admitted(site: &Rc<Site>, request: &PageRequest) -> Result<String, Reply> {
    let client = request.visit.client;
    let web = site.web.borrow().clone();
    let rules = allowed(&web, client);
    let login =
        PushLogin::read(request.header(AUTHORIZATION), &request.query, request.text()).ok_or_else(unauthorized)?;
    let (rule, is_named) = login.rule(&rules, |one, other| site.key.is_same(one, other)).ok_or_else(unauthorized)?;
    let is_possible = is_named && login.password.len() <= MAX_PASSWORD_BYTES;
    let key = push_key(rule).ok();
    let is_same = matches!(key, Some(PushKey::Plain(own)) if site.key.is_same(own, &login.password)) && is_possible;
    let (hash, is_hashed) = match key {
        Some(PushKey::Hash(hash)) => (Some(hash), is_possible),
        _ => (any_hash(&rules).filter(|_| !is_same), false),
    };
    let (hash, password) = (hash.map(str::to_owned), if is_hashed { login.password } else { String::new() });
    let check = move || is_same || hash.is_some_and(|hash| is_right(&hash, &password)) && is_hashed;
    let (name, warned) = (rule.name.clone(), Rc::clone(site));
    let when_wrong = move || warned.warn(format!("{client} wanted to push an address with a wrong user or password"));
    match site.pushes.check(counted(&rules, client), check, when_wrong).await {
        Ok(true) => Ok(name),
        Ok(false) => Err(unauthorized()),
        Err(wait) => {
            let text = || format!("{client} may not push for {}: there were too many wrong tries", duration(wait));
            site.warn_of(client, text);
            Err(too_often(wait))
        }
    }
}

/// Refuses two URLs sent as one, as old routers do. The log says so, or nobody would know why no address comes.
pub(super) fn two_in_one(site: &Site, request: &PageRequest) -> Reply {
    let client = request.visit.client;
    site.warn_of(client, || {
        format!(
            "{client} sent two URLs as one: put only one into its update URL, `myip` and `myipv6` fit into the same"
        )
    });
    Reply::text(404, "there is nothing at this address").last()
}

fn answered(answer: &PushAnswer) -> Reply {
    Reply::text(answer.status(), &answer.text())
}

fn unauthorized() -> Reply {
    answered(&PushAnswer::BadAuth).with(WWW_AUTHENTICATE, "Basic realm=\"ddns\"")
}

fn too_often(wait: Duration) -> Reply {
    answered(&PushAnswer::Abuse).with(RETRY_AFTER, wait.as_secs() + 1)
}
