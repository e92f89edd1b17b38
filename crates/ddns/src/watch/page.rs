//! Opens the page of a service, as its configurations ask for it.

use std::io;

use ddns_core::config::validate::Valid;
use ddns_core::config::web::{SecretFile, Web};
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::web::access::{self, AccessRefusal, PushKey, judge};
use tokio_rustls::TlsAcceptor;

use super::events::Events;
use crate::http::server::not_listening;
use crate::output::log::Log;
use crate::web::{PageServer, password, tls};

/// A page that can be opened.
pub(super) struct Page<'a> {
    web: &'a Web,
    tls: Option<TlsAcceptor>,
}

/// The page that the configurations ask for; `None` if none does. Two different pages are an error: a service has only
/// one.
pub(super) fn wanted(configs: &[Valid]) -> Result<Option<Page<'_>>, Vec<Diagnostic>> {
    let all = || configs.iter().filter_map(|(config, _)| Some((&config.name, config.web.as_ref()?)));
    let mut in_files = all().filter(|(_, web)| web.is_in_file);
    let Some((name, web)) = in_files.next().or_else(|| all().next()) else { return Ok(None) };
    if let Some((other, _)) = in_files.find(|(_, other)| *other != web) {
        let message = format!("`web` differs from {name}: a service has only one page");
        let hint = "set it in one of the files only";
        return Err(vec![Diagnostic::error(Place::file(other), message).hint(hint)]);
    }
    let wrong = |AccessRefusal { why, hint }| vec![Diagnostic::error(Place::file(name), why).hint(hint)];
    openable(web).map(Some).map_err(wrong)
}

fn openable(web: &Web) -> Result<Page<'_>, AccessRefusal> {
    judge(web)?;
    let judge = |hash: &str, of: &str, held: &SecretFile| {
        let why = |why: &str| format!("`{of}.password_file`: {} {why}", held.shown);
        let hint = "create a new one: `ddns password > FILE`";
        password::judge(hash).map_err(|refusal| AccessRefusal { why: why(refusal), hint })
    };
    if let (Some(hash), Some(held)) = (access::password(web)?, &web.password) {
        judge(hash, "web", held)?;
    }
    for rule in &web.push {
        if let PushKey::Hash(hash) = access::push_key(rule)? {
            judge(hash, &format!("web.push.{}", rule.name), &rule.password)?;
        }
    }
    let refusal = |why| AccessRefusal { why, hint: "name the certificate chain and its key, both as PEM files" };
    Ok(Page { web, tls: tls::acceptor(web).map_err(refusal)? })
}

/// Opens the page, or keeps the one that is open; closes it if no page is configured. A page that cannot be opened is
/// no reason to stop.
pub(super) async fn open(configs: &[Valid], events: &mut Events, log: &Log<'_>) {
    let Ok(Some(page)) = wanted(configs) else {
        events.web = None;
        return;
    };
    if events.web.as_ref().is_some_and(|server| server.apply(page.web, page.tls.as_ref())) {
        return;
    }
    if let Some(former) = events.web.take() {
        // It may have the same port, at another address.
        former.close().await;
    }
    let listen = page.web.listen;
    if let Err(error) = begin(page, events, log) {
        let (why, hint) = not_listening(listen, &error);
        log.error(format!("the page cannot be opened: {why}; {hint}"));
    }
}

/// Tries again to open the page: another program may have used the port.
pub(super) fn retry(configs: &[Valid], events: &mut Events, log: &Log<'_>) {
    if events.web.is_none()
        && let Ok(Some(page)) = wanted(configs)
    {
        let _ = begin(page, events, log);
    }
}

fn begin(Page { web, tls }: Page<'_>, events: &mut Events, log: &Log<'_>) -> io::Result<()> {
    let is_plain = tls.is_none() && !web.listen.ip().is_loopback();
    let server = PageServer::open(web, tls)?;
    log.info(format!("the page is at {}", server.url()));
    if is_plain {
        log.warning("the page is not encrypted: use `web.certificate`, or a reverse proxy on this host");
    }
    events.web = Some(server);
    Ok(())
}
