//! `ddns watch`: synchronizes at every interval, and at once when the kernel reports that an address changed; retries
//! failed updates; reloads; reports its state. The engine decides what to do, and when.

mod announcements;
mod control;
mod events;
mod files;
mod group;
mod instance;
mod metrics;
mod page;
mod reload;
mod service;
mod services;
mod serving;
mod set_up;
mod systemd;

use std::rc::Rc;

use ddns_core::config::validate::Valid;
use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Event, LeaseEvent, Mode};
use ddns_core::text::diagnostic::Diagnostic;

use crate::cli::CliSettings;
use crate::compose;
use crate::driver::{Driver, Lease};
use crate::environment::Environment;
use crate::group::joinable;
use crate::history::History;
use crate::http::Client;
use crate::load;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::output::{Ended, complain, fail};

use announcements::Announcements;
use events::Events;
use metrics::Metrics;
use reload::Reload;
use service::{End, Locks, Service};
use serving::Serving;

pub(crate) use control::Command;
pub(crate) use services::{Services, closed_folder, meant, name, note_closed_folder, request, services};

/// Runs until a signal stops it. Exits with 0 then, with 1 if another service uses its cache, with 2 for an invalid
/// configuration.
pub(crate) async fn run(settings: CliSettings) -> Ended {
    let (environment, client) = (Environment::read(), Client::default());
    if let Some(target) = load::set_up_target(&settings, &environment) {
        return set_up::run(settings, environment, client, target).await;
    }
    let configs = load::load(settings.clone(), &environment, &client).await.map_err(|wrong| complain(&wrong))?;
    serve(settings, configs, environment, client).await
}

/// The same with configurations that are already loaded.
pub(crate) async fn serve(
    settings: CliSettings,
    configs: Vec<Valid>,
    environment: Environment,
    client: Client,
) -> Ended {
    serve_with(events()?, settings, (configs, Vec::new()), environment, client).await
}

fn events() -> Result<(Events, Option<std::io::Error>), u8> {
    Events::new().map_err(|error| fail(&format!("timers and signals cannot be set up ({error})")))
}

async fn serve_with(
    (mut events, no_notifications): (Events, Option<std::io::Error>),
    settings: CliSettings,
    (configs, locks): (Vec<Valid>, Locks),
    environment: Environment,
    client: Client,
) -> Ended {
    let mut service = Service::new(settings, &environment, &client, no_notifications);
    service.locks = locks;
    page::wanted(&configs).map_err(|wrong| complain(&wrong))?;
    let entered = group::enter(&configs, &mut events).await.map_err(|wrong| complain(&wrong))?;
    service.is_new_group = entered.is_other;
    service.lock(&configs).map_err(|why| fail(&why))?;
    // The page may still use them after others have replaced them.
    let mut configs = Rc::new(configs);
    let mut plan = compose::plan(&configs, &environment);
    loop {
        match serve_once(&mut service, &configs, &plan, &mut events).await {
            End::Stop(code) => return Ok(code),
            End::Reload(fresh, next) => {
                let entered = group::enter(&fresh, &mut events).await.map_err(|wrong| complain(&wrong))?;
                if entered.is_stopped {
                    service.systemd.stopping();
                    Log::of_service(&fresh[0], service.environment, &service.recent).info("stopped");
                    return Ok(0);
                }
                service.is_new_group = entered.is_other;
                (configs, plan) = (fresh, next);
            }
        }
    }
}

/// Listens to announcements. Without them, only the interval finds changes.
fn listen_to_routers(configs: &[Valid], log: &Log<'_>) -> Option<Announcements> {
    let announcements = Announcements::of(configs.iter().map(|(config, _)| config))?;
    let refused = |error| log.debug(|| format!("announcements of the router cannot be heard ({error})"));
    announcements.map_err(refused).ok()
}

/// Why a service would refuse these valid configurations: the page could not be opened, or anybody could open it; or
/// the group could not be joined.
pub(crate) fn refusals(configs: &[Valid]) -> Vec<Diagnostic> {
    let wrong = [page::wanted(configs).err(), joinable(configs).err()];
    wrong.into_iter().flatten().flatten().collect()
}

/// Runs on these configurations until the service stops, or others replace them.
async fn serve_once(service: &mut Service<'_>, configs: &Rc<Vec<Valid>>, plan: &Rc<Plan>, events: &mut Events) -> End {
    let logs: Vec<Log<'_>> =
        configs.iter().map(|valid| Log::of_service(valid, service.environment, &service.recent)).collect();
    let Some(log) = logs.first() else { return End::Stop(0) };
    let engine = service.engine.take().unwrap_or_else(|| compose::engine(Rc::clone(plan), Mode::Service));
    service.client.limit_unsent(events.group.as_ref().map(|joined| joined.group.lease));
    service.member = events.group.as_ref().map(|group| group.member.clone());
    let lease = service.member.clone().map(|member| Rc::new(member) as Rc<dyn Lease>);
    let mut driver = Driver::new(engine, plan, (service.client, &logs), lease);
    let is_in_group = service.member.is_some();
    if is_in_group {
        compose::doubt_caches(plan, service.environment);
    }
    if std::mem::take(&mut service.is_new_group) {
        driver.on(Event::Lease(if is_in_group { LeaseEvent::Joined } else { LeaseEvent::Left }));
    }
    let intervals = plan.intervals();
    service.metrics = Metrics::of(configs, &intervals, service.metrics.take());
    let history = History::new(Rc::clone(plan), &logs, service.environment);
    let notifier = Notifier::new(configs, &logs, service.client, plan, std::mem::take(&mut service.unreported));
    let unwatched = events.files.watch(service.files(configs));
    // A file may have changed after it was read and before it was watched.
    let is_stale = std::mem::take(&mut service.is_stale)
        || !service.reloading.is_empty()
        || events.files.changed_since(service.read_at);
    events.announcements = listen_to_routers(configs, log);
    service.open_control(configs, events, log).await;
    page::open(configs, events, log).await;
    service.log_start(configs, intervals.iter().min().copied().unwrap_or_default(), log);
    if let Some(why) = &unwatched {
        service.log_missing_notifications(why, log);
    }
    let reload = Reload::new(is_stale);
    let (logs, next_watchdog) = (&logs, None);
    let mut serving = Serving { service, configs, logs, log, driver, history, notifier, reload, next_watchdog };
    let end = serving.run(events).await;
    let Serving { service, driver, .. } = serving;
    service.engine = Some(driver.engine);
    end
}
