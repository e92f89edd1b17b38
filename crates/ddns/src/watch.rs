//! `ddns watch`: synchronizes at every interval, and at once when the kernel reports that an address changed; retries
//! what failed; reloads; reports how it stands. When what is done is decided by the core: [`Schedule`] when to look up,
//! [`ddns_core::schedule::queue`] when to send.

mod control;
mod event_loop;
mod events;
mod files;
mod group;
mod instance;
mod metrics;
mod page;
mod reload;
mod service;
mod services;
mod set_up;
mod systemd;

use std::rc::Rc;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::schedule::lookups::Schedule;
use ddns_core::text::diagnostic::Diagnostic;

use crate::cli::CliSettings;
use crate::clock::steady_time;
use crate::environment::Environment;
use crate::group::{Joined, joinable};
use crate::history::History;
use crate::http::Client;
use crate::load;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::output::{complain, fail};
use crate::sync::{self, Sync};

use event_loop::EventLoop;
use events::Events;
use metrics::Metrics;
use service::{End, Service};

pub(crate) use control::Command;
pub(crate) use services::{Services, closed_folder, meant, name, note_closed_folder, request, services};

/// Where `interval` is not set.
const INTERVAL: Duration = Duration::from_secs(300);

/// Runs until a signal stops it. 0 then; 1 where another service uses its cache; 2 for a wrong configuration.
pub(crate) async fn run(settings: CliSettings) -> u8 {
    let (environment, client) = (Environment::read(), Client::default());
    if let Some(target) = load::set_up_target(&settings, &environment) {
        return set_up::run(settings, environment, client, target).await;
    }
    match load::load(settings.clone(), &environment, &client).await {
        Ok(configs) => serve(settings, configs, environment, client).await,
        Err(wrong) => complain(&wrong),
    }
}

/// The same with configurations that are loaded already.
pub(crate) async fn serve(settings: CliSettings, configs: Vec<Valid>, environment: Environment, client: Client) -> u8 {
    match Events::new() {
        Ok(events) => serve_with(events, settings, configs, environment, client).await,
        Err(error) => no_events(&error),
    }
}

fn no_events(error: &std::io::Error) -> u8 {
    fail(&format!("timers and signals cannot be set up ({error})"))
}

async fn serve_with(
    (mut events, no_notifications): (Events, Option<std::io::Error>),
    settings: CliSettings,
    configs: Vec<Valid>,
    environment: Environment,
    client: Client,
) -> u8 {
    let mut service = Service::new(settings, &environment, &client, no_notifications);
    if let Err(wrong) = page::wanted(&configs) {
        return complain(&wrong);
    }
    if let Err(wrong) = group::enter(&configs, &mut events).await {
        return complain(&wrong);
    }
    if let Err(why) = service.lock(&configs) {
        return fail(&why);
    }
    // The page may still look at them when others have taken their place.
    let mut configs = Rc::new(configs);
    loop {
        match serve_once(&mut service, &configs, &mut events).await {
            End::Stop(code) => return code,
            End::Reload(fresh) => {
                match group::enter(&fresh, &mut events).await {
                    Ok(false) => {}
                    Ok(true) => {
                        service.systemd.stopping();
                        Log::of_service(&fresh[0], service.environment).info("stopped");
                        return 0;
                    }
                    Err(wrong) => return complain(&wrong),
                }
                configs = Rc::new(fresh);
            }
        }
    }
}

/// Why a service would refuse these configurations, though they are valid: its page could not be opened, or by everybody; or
/// the group could not be joined.
pub(crate) fn refusals(configs: &[Valid]) -> Vec<Diagnostic> {
    let wrong = [page::wanted(configs).err(), joinable(configs).err()];
    wrong.into_iter().flatten().flatten().collect()
}

/// Runs on these configurations until it stops, or others take their place.
async fn serve_once(service: &mut Service<'_>, configs: &Rc<Vec<Valid>>, events: &mut Events) -> End {
    let logs: Vec<Log<'_>> = configs.iter().map(|valid| Log::of_service(valid, service.environment)).collect();
    let Some(log) = logs.first() else { return End::Stop(0) };
    let senders = sync::senders(configs, &logs, service.client);
    let intervals: Vec<Duration> = configs.iter().map(|(config, _)| config.interval.unwrap_or(INTERVAL)).collect();
    let handover = std::mem::take(&mut service.handover);
    let mut sync = Sync::new(&senders, service.environment, Some(Schedule::backoff(&intervals)))
        .with_pauses(handover.pauses)
        .with_given_up(handover.given_up)
        .with_memory(handover.memory);
    sync.collect_news();
    service.client.limit_unsent(events.group.as_ref().map(Joined::lease));
    if let Some(group) = &events.group {
        sync.in_group(group.member.clone());
        handover.shared.into_iter().for_each(|shared| sync.take_over(shared, false));
    }
    let history = History::new(&senders, service.environment);
    let notifier = Notifier::new(configs, &logs, &senders, service.client, &mut sync);
    let metrics = Metrics::of(configs, &intervals, handover.metrics);
    events.files.watch(service.files(configs));
    // Nobody noticed what changed after it was read and before it was watched.
    let is_stale = events.files.changed_since(service.read_at);
    service.open_control(configs, events, log);
    page::open(configs, events, log);
    if configs.iter().any(|(config, _)| config.web.is_some()) {
        sync.note_decisions();
    }
    service.log_start(configs, intervals.iter().min().copied().unwrap_or(INTERVAL), log);
    let schedule = Schedule::new(&intervals, steady_time());
    let mut event_loop = EventLoop::new(service, configs, &logs, (sync, history, notifier, metrics), schedule);
    event_loop.resume(handover.waiting, handover.is_stale || is_stale);
    event_loop.run(events).await
}
