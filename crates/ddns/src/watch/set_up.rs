//! A service without a configuration: its page asks for one (I1). Once there is one, the service and the page run on
//! it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use ddns_core::config::validate::Valid;
use ddns_core::journal::Status;
use ddns_core::text::diagnostic::Diagnostic;

use super::events::ServiceEvent;
use super::page;
use super::serve_with;
use super::service::{Locks, locks};
use super::systemd::Systemd;
use crate::cli::CliSettings;
use crate::clock::steady_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::load::{self, before_set_up, surroundings};
use crate::output::log::Log;
use crate::output::{Ended, complain};
use crate::web::{Configured, SiteRequest, answer};

/// Waits until a configuration is written to `target`, then serves it. Exits with 2 if the page may not be opened, with
/// 1 if it cannot be opened.
pub(super) async fn run(settings: CliSettings, environment: Environment, client: Client, target: PathBuf) -> Ended {
    let mut all = super::events()?;
    let example = before_set_up(&settings, &environment).map_err(|wrong| complain(&wrong))?;
    page::wanted(&example).map_err(|wrong| complain(&wrong))?;
    let Some(first) = example.first() else { return Err(1) };
    let log = Log::of_service(first, &environment, &Rc::default());
    let (events, _) = &mut all;
    page::open(&example, events, &log).await;
    if events.web.is_none() {
        return Err(1);
    }
    events.files.watch([target.clone()]);
    log.info(format!("there is no configuration yet: open the page to create {}", target.display()));
    // The file may be written without the page, and before it was watched.
    let mut is_there = target.exists();
    let mut systemd = Systemd::new(&environment);
    systemd.ready("waiting for a configuration");
    let (configs, locks) = loop {
        if std::mem::take(&mut is_there) {
            match usable(&settings, &environment, &client).await {
                Ok(found) => break found,
                Err(wrong) => wrong.into_iter().for_each(|why| log.error(why)),
            }
        }
        let wake_at = systemd.watchdog.map(|every| {
            systemd.alive();
            steady_time() + every
        });
        match events.next(wake_at).await {
            ServiceEvent::Stop => {
                log.info("stopped");
                return Ok(0);
            }
            ServiceEvent::Web(SiteRequest::Reload(done)) => match usable(&settings, &environment, &client).await {
                Ok(found) => {
                    answer(done, Vec::new());
                    break found;
                }
                Err(wrong) => answer(done, wrong),
            },
            ServiceEvent::Web(ask) => respond(ask, &settings, &environment, &target, &log),
            ServiceEvent::Files => is_there = target.exists(),
            _ => {}
        }
    };
    log.info(format!("there is a configuration now: {}", target.display()));
    drop(log);
    serve_with(all, settings, (configs, locks), environment, client).await
}

/// The configurations, and the locks of their caches: the page must say if another service has one, before this one goes on.
async fn usable(
    settings: &CliSettings,
    environment: &Environment,
    client: &Client,
) -> Result<(Vec<Valid>, Locks), Vec<String>> {
    let configs = load::load(settings.clone(), environment, client).await;
    let configs = configs.map_err(|wrong| wrong.iter().map(Diagnostic::one_line).collect::<Vec<_>>())?;
    let locks = locks(&configs, environment, &[]).map_err(|why| vec![why])?;
    Ok((configs, locks))
}

/// Answers what is possible without a configuration. Dropping other requests tells the page that there is none.
fn respond(ask: SiteRequest, settings: &CliSettings, environment: &Environment, target: &Path, log: &Log<'_>) {
    match ask {
        SiteRequest::Status(respond) => {
            answer(respond, Status { process: Some(std::process::id()), ..Status::default() });
        }
        SiteRequest::Configured(respond) => {
            let (around, set_up) = (surroundings(settings, environment), Some(target.display().to_string()));
            answer(respond, Configured { names: Vec::new(), around, set_up });
        }
        SiteRequest::Warn(text) => log.warning(text),
        SiteRequest::Alive(respond) => answer(respond, ()),
        SiteRequest::Ready(respond) => answer(respond, Some("there is no configuration yet".to_owned())),
        _ => {}
    }
}
