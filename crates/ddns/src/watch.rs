//! `ddns watch`: synchronizes at every interval, and at once when the kernel says that an address changed; tries again
//! what failed; reloads; says how it is. When what is done is decided by the core: [`Schedule`] when to look,
//! [`ddns_core::schedule::queue`] when to send.

mod control;
mod events;
mod files;
mod instance;
mod kernel;
mod running;
mod systemd;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use ddns_core::config::Entry;
use ddns_core::config::fields::file_variables;
use ddns_core::config::validate::Valid;
use ddns_core::net::family::Family;
use ddns_core::schedule::lookups::Schedule;
use ddns_core::schedule::queue::LaneKey;
use ddns_core::text::duration::duration;

use crate::cli::Settings;
use crate::clock::steady_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::output::complain;
use crate::output::fail;
use crate::output::log::Log;
use crate::sync::{self, Sync};

use control::{Asked, Control};
pub(crate) use control::{Question, ask, services};
use events::Events;
use instance::Lock;
use running::Running;
use systemd::Systemd;

/// Where `interval` is not set.
const INTERVAL: Duration = Duration::from_secs(300);

/// Runs until it is told to stop. 0 then; 1 where another service is in the way; 2 for a wrong configuration.
pub(crate) async fn run(settings: Settings) -> u8 {
    let environment = Environment::read();
    let client = Client::default();
    let configs = match load::load(settings.clone(), &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    serve(settings, configs, environment, client).await
}

/// The same with configurations that are loaded already.
pub(crate) async fn serve(settings: Settings, mut configs: Vec<Valid>, environment: Environment, client: Client) -> u8 {
    let (mut events, deafness) = match Events::new() {
        Ok(events) => events,
        Err(error) => return fail(&format!("the system gives no means to wait ({error})")),
    };
    let mut service = Service {
        settings,
        environment: &environment,
        client: &client,
        systemd: Systemd::new(&environment),
        deafness,
        locks: Vec::new(),
        carried: Carried::default(),
    };
    if let Err(why) = service.lock(&configs) {
        return fail(&why);
    }
    loop {
        match service.run(&configs, &mut events).await {
            End::Stop(code) => return code,
            End::Reload(fresh) => configs = fresh,
        }
    }
}

/// Why a run on some configurations ends.
enum End {
    Stop(u8),
    /// With these it goes on.
    Reload(Vec<Valid>),
}

/// What stays the same over all configurations.
struct Service<'a> {
    settings: Settings,
    environment: &'a Environment,
    client: &'a Client,
    systemd: Systemd,
    /// Why the kernel cannot be listened to; said once.
    deafness: Option<String>,
    locks: Vec<(PathBuf, Option<Lock>)>,
    carried: Carried,
}

/// What outlives a reload.
#[derive(Default)]
struct Carried {
    /// Those who wait for a synchronization.
    waiting: Vec<Asked>,
    /// Rests that endpoints asked for.
    rests: HashMap<LaneKey, Duration>,
    /// Whether the configuration changed again meanwhile.
    is_stale: bool,
}

impl Service<'_> {
    /// Holds the caches of these configurations, and no others. Where one cannot be had, everything stays as it was.
    fn lock(&mut self, configs: &[Valid]) -> Result<(), String> {
        let paths: BTreeSet<PathBuf> =
            entries(configs).filter_map(|entry| sync::cache_path(entry, self.environment)).collect();
        let mut fresh = Vec::new();
        for path in paths.iter().filter(|path| !self.locks.iter().any(|(known, _)| known == *path)) {
            fresh.push((path.clone(), Lock::take(path)?));
        }
        self.locks.retain(|(path, _)| paths.contains(path));
        self.locks.extend(fresh);
        Ok(())
    }

    async fn run(&mut self, configs: &[Valid], events: &mut Events) -> End {
        let logs: Vec<Log<'_>> = configs.iter().map(|valid| Log::open(valid, self.environment)).collect();
        let Some(log) = logs.first() else { return End::Stop(0) };
        let senders = sync::senders(configs, &logs, self.client);
        let intervals: Vec<Duration> = configs.iter().map(|(config, _)| config.interval.unwrap_or(INTERVAL)).collect();
        let carried = std::mem::take(&mut self.carried);
        let sync = Sync::new(&senders, self.environment, Some(Schedule::backoff(&intervals))).resting(carried.rests);
        events.files.watch(self.files(configs));
        self.greet(configs, &intervals, events, log);
        let schedule = Schedule::new(&intervals, steady_time());
        let mut running = Running::new(self, configs, &logs, sync, schedule);
        running.resume(carried.waiting, carried.is_stale);
        running.run(events).await
    }

    /// The files that the configurations were read from.
    fn files(&self, configs: &[Valid]) -> Vec<PathBuf> {
        let named = configs.iter().map(|(config, _)| config.name.as_str()).filter(|name| !name.contains("://"));
        let secrets = file_variables().filter_map(|(_, name)| self.environment.get(name));
        named.chain(secrets).map(|path| self.environment.path(path)).collect()
    }

    /// Says what is watched, and opens the door to those who ask.
    fn greet(&mut self, configs: &[Valid], intervals: &[Duration], events: &mut Events, log: &Log<'_>) {
        let count: usize = entries(configs)
            .map(|entry| Family::ALL.map(|family| entry.domains_of(family).len()).iter().sum::<usize>())
            .sum();
        let interval = intervals.iter().min().copied().unwrap_or(INTERVAL);
        let ears = if self.deafness.is_none() { ", and at once when an address of this host changes" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        log.info(format!("watching {count} record{plural}: every {}{ears}", duration(interval)));
        if let Some(why) = self.deafness.take() {
            log.warning(format!("{why}: they are noticed at the interval"));
        }
        // A door that is open already must be shut first: it has the same name.
        events.control = None;
        let names: Vec<&str> = configs.iter().map(|(config, _)| config.name.as_str()).collect();
        let caches: Vec<&PathBuf> = self.locks.iter().map(|(path, _)| path).collect();
        match Control::open(self.environment, &(&caches, if caches.is_empty() { &names[..] } else { &[] })) {
            Ok(control) => events.control = Some(control),
            Err(error) => {
                log.warning(format!("`ddns status` and `ddns sync` cannot reach this service ({error})"));
            }
        }
    }
}

fn entries(configs: &[Valid]) -> impl Iterator<Item = &Entry> {
    configs.iter().flat_map(|(config, _)| &config.entries)
}
