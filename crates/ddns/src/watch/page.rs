//! The page of a service, as its configurations ask for it.

use ddns_core::config::validate::Valid;
use ddns_core::config::web::Web;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::web::access::{Refusal, judge};

use super::events::Events;
use crate::http::server::not_listening;
use crate::output::log::Log;
use crate::web::Server;

/// The page that the configurations ask for; none where none does. Two different ones are a mistake: a service has one.
pub(super) fn wanted(configs: &[Valid]) -> Result<Option<&Web>, Vec<Diagnostic>> {
    let mut pages = configs.iter().filter_map(|(config, _)| Some((config, config.web.as_ref()?)));
    let Some((config, web)) = pages.next() else { return Ok(None) };
    let wrong =
        |name: &str, message: &str, hint: &str| Err(vec![Diagnostic::error(Place::file(name), message).hint(hint)]);
    if let Some((other, _)) = pages.find(|(_, other)| *other != web) {
        let message = format!("`web` differs from that of {}: a service has one page", config.name);
        return wrong(&other.name, &message, "set it in one of the files, or with --web");
    }
    match judge(web) {
        Ok(()) => Ok(Some(web)),
        Err(Refusal { why, hint }) => wrong(&config.name, &why, hint),
    }
}

/// Opens the page, or goes on with the one that is open; where none is asked for, there is none. A page that cannot be
/// opened is no reason to stop.
pub(super) fn open(configs: &[Valid], events: &mut Events, log: &Log<'_>) {
    let Ok(Some(web)) = wanted(configs) else {
        events.web = None;
        return;
    };
    if events.web.as_ref().is_some_and(|server| server.apply(web)) {
        return;
    }
    // One that listens on the same port must be closed first.
    events.web = None;
    match Server::open(web) {
        Ok(server) => {
            log.info(format!("the page is at {}", server.url()));
            events.web = Some(server);
        }
        Err(error) => {
            let (why, hint) = not_listening(web.listen, &error);
            log.error(format!("there is no page: {why}; {hint}"));
        }
    }
}
