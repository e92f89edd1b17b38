//! `ddns watch`: synchronizes at every interval, and at once when the kernel says that an address changed; tries again
//! what failed; reloads; says how it is. When what is done is decided by the core: [`Schedule`] when to look,
//! [`ddns_core::queue`] when to send.

mod control;
mod files;
mod instance;
mod kernel;
mod outside;
mod systemd;

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::config::{Config, Entry};
use ddns_core::diagnostic::{Diagnostic, Place};
use ddns_core::json::{Value, pretty};
use ddns_core::log_format::Level;
use ddns_core::outcome::Tally;
use ddns_core::queue::Road;
use ddns_core::record::Family;
use ddns_core::schedule::{self, Schedule};
use ddns_core::status::Status;
use futures_util::future::{Either, LocalBoxFuture, select};

use crate::cli::Settings;
use crate::clock::steady_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::log::Log;
use crate::sync::{self, Found, Sync, chance};
use crate::{complain, fail, load, open_log, report};

use control::{Asked, Control};
pub(crate) use control::{Question, ask, services};
use instance::Lock;
use outside::{Event, Outside};
use systemd::Systemd;

/// Where `interval` is not set.
const INTERVAL: Duration = Duration::from_secs(300);

/// Requests under way have so long to end when the service stops.
const GRACE: Duration = Duration::from_secs(5);

/// A file that changed is loaded after this time: whoever writes it may not be done.
const SETTLING: Duration = Duration::from_millis(300);

/// Runs until it is told to stop. 0 then; 1 where another service is in the way; 2 for a wrong configuration.
pub(crate) async fn run(settings: Settings) -> u8 {
    let environment = Environment::read();
    let client = Client::default();
    let configs = match load::load(settings.clone(), &environment, &client).await {
        Ok(configs) if configs.is_empty() => return complain(&[load::no_configuration(&environment)]),
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    serve(settings, configs, environment, client).await
}

/// The same with configurations that are loaded already.
pub(crate) async fn serve(settings: Settings, mut configs: Vec<Valid>, environment: Environment, client: Client) -> u8 {
    let (mut outside, deafness) = match Outside::new() {
        Ok(outside) => outside,
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
        match service.run(&configs, &mut outside).await {
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
    rests: HashMap<Road, Duration>,
    /// Whether the configuration changed again meanwhile.
    is_stale: bool,
}

/// What happened while requests under way were waited for.
#[derive(PartialEq, Eq)]
enum Drained {
    /// Nothing of importance.
    Quietly,
    /// It was told to stop.
    Stopped,
}

/// A configuration that is being loaded.
type Loading<'a> = LocalBoxFuture<'a, Loaded>;

/// The configurations, or what is wrong with them.
type Loaded = Result<Vec<Valid>, Vec<Diagnostic>>;

/// What comes next.
enum Next {
    Happened(Event),
    Loaded(Loaded),
    /// Something went on by itself.
    Nothing,
}

/// What a run on some configurations works with.
struct Running<'a, 's> {
    service: &'s mut Service<'a>,
    configs: &'s [Valid],
    logs: &'s [Log<'s>],
    /// For what concerns the service: that of the first configuration.
    log: &'s Log<'s>,
    sync: Sync<'s>,
    schedule: Schedule,
    loading: Option<Loading<'a>>,
    /// Those who wait for the synchronization to end.
    waiting: Vec<Asked>,
    /// Whether something was looked at or sent since it was last at rest.
    is_busy: bool,
    /// What is to be tried again once the addresses are known: what found no connection, or everything.
    hurry: Option<bool>,
    next_sign: Option<Duration>,
    /// When files that changed are loaded.
    reload_at: Option<Duration>,
    /// Whether somebody wants it, not a file that changed.
    is_asked_to_reload: bool,
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

    async fn run(&mut self, configs: &[Valid], outside: &mut Outside) -> End {
        let logs: Vec<Log<'_>> = configs.iter().map(|valid| open_log(valid, self.environment)).collect();
        let Some(log) = logs.first() else { return End::Stop(0) };
        let tellers = sync::tellers(configs, &logs, self.client);
        let intervals: Vec<Duration> = configs.iter().map(|(config, _)| config.interval.unwrap_or(INTERVAL)).collect();
        let carried = std::mem::take(&mut self.carried);
        let sync = Sync::new(&tellers, self.environment, Some(Schedule::backoff(&intervals))).resting(carried.rests);
        outside.files.watch(self.files(configs));
        self.greet(configs, &intervals, outside, log);
        let mut running = Running {
            schedule: Schedule::new(&intervals, steady_time()),
            service: self,
            configs,
            logs: &logs,
            log,
            sync,
            loading: None,
            waiting: carried.waiting,
            is_busy: true,
            hurry: None,
            next_sign: None,
            reload_at: carried.is_stale.then(steady_time),
            is_asked_to_reload: false,
        };
        running.run(outside).await
    }

    /// The files that the configurations were read from.
    fn files(&self, configs: &[Valid]) -> Vec<PathBuf> {
        let named = configs.iter().map(|(config, _)| config.name.as_str()).filter(|name| !name.contains("://"));
        let secrets = ["DDNS_TOKEN_FILE", "DDNS_ID_FILE"].into_iter().filter_map(|name| self.environment.get(name));
        named.chain(secrets).map(|path| self.environment.path(path)).collect()
    }

    /// Says what is watched, and opens the door to those who ask.
    fn greet(&mut self, configs: &[Valid], intervals: &[Duration], outside: &mut Outside, log: &Log<'_>) {
        let count: usize = entries(configs)
            .map(|entry| Family::ALL.map(|family| entry.domains_of(family).len()).iter().sum::<usize>())
            .sum();
        let interval = intervals.iter().min().copied().unwrap_or(INTERVAL);
        let ears = if self.deafness.is_none() { ", and at once when an address of this host changes" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        log.info(format!("watching {count} record{plural}: every {}{ears}", report::duration(interval)));
        if let Some(why) = self.deafness.take() {
            log.warning(format!("{why}: they are noticed at the interval"));
        }
        // A door that is open already must be shut first: it has the same name.
        outside.control = None;
        let names: Vec<&str> = configs.iter().map(|(config, _)| config.name.as_str()).collect();
        let caches: Vec<&PathBuf> = self.locks.iter().map(|(path, _)| path).collect();
        match Control::open(self.environment, &(&caches, if caches.is_empty() { &names[..] } else { &[] })) {
            Ok(control) => outside.control = Some(control),
            Err(error) => {
                log.warning(format!("`ddns status` and `ddns sync` cannot reach this service ({error})"));
            }
        }
    }
}

impl Running<'_, '_> {
    async fn run(&mut self, outside: &mut Outside) -> End {
        self.service.systemd.ready("looking for addresses");
        loop {
            self.look();
            if !self.sync.is_done() {
                self.is_busy = true;
            } else if self.is_busy {
                self.rest();
            }
            match self.next(outside).await {
                Next::Nothing => {}
                Next::Happened(Event::Stop) => return self.stop(outside).await,
                Next::Happened(event) => self.take(event, outside),
                Next::Loaded(loaded) => {
                    if let Some(fresh) = self.loaded(loaded) {
                        return self.make_way(fresh, outside).await;
                    }
                }
            }
        }
    }

    /// Ends for another configuration, and hands on what outlives this one.
    async fn make_way(&mut self, fresh: Vec<Valid>, outside: &mut Outside) -> End {
        let drained = self.drain(outside).await;
        self.sync.finish();
        if drained == Drained::Stopped {
            self.service.systemd.stopping();
            self.log.info("stopped");
            return End::Stop(0);
        }
        let carried = &mut self.service.carried;
        carried.waiting = std::mem::take(&mut self.waiting);
        carried.rests = self.sync.asked_rests();
        carried.is_stale = self.reload_at.is_some() || self.loading.is_some();
        End::Reload(fresh)
    }

    /// Looks for what it is time to look for.
    fn look(&mut self) {
        let now = steady_time();
        if self.schedule.wake_at().is_some_and(|at| at <= now) {
            let look = self.schedule.due(now, chance());
            if look.families != [false; 2] {
                self.hurry.get_or_insert(false);
            }
            self.is_busy = true;
            self.service.client.refresh();
            self.sync.look(&look);
        }
        if let Some(every) = self.service.systemd.watchdog()
            && self.next_sign.is_none_or(|next| next <= now)
        {
            self.service.systemd.alive();
            self.next_sign = Some(now + every);
        }
        if self.reload_at.is_some_and(|at| at <= now) {
            self.reload_at = None;
            self.reload(false);
        }
    }

    /// Goes on until something happens outside, something was loaded, or something ended.
    async fn next(&mut self, outside: &mut Outside) -> Next {
        let found = match self.first_of_all(outside).await {
            Ok(found) => found,
            Err(next) => return next,
        };
        if let Some(found) = found {
            let now = steady_time();
            for teller in found.tellers {
                self.schedule.looked(teller, found.family, found.has_address, now, chance());
            }
        }
        if !self.sync.is_looking()
            && let Some(everything) = self.hurry.take()
        {
            self.sync.hurry(everything);
        }
        Next::Nothing
    }

    /// What a turn found, unless something else comes first.
    async fn first_of_all(&mut self, outside: &mut Outside) -> Result<Option<Found>, Next> {
        let times = [self.schedule.wake_at(), self.sync.wake_at(), self.next_sign, self.reload_at];
        let mut event = pin!(outside.next(times.into_iter().flatten().min()));
        let mut turn = pin!(self.sync.turn());
        let loading = &mut self.loading;
        poll_fn(|context| {
            if let Poll::Ready(event) = event.as_mut().poll(context) {
                return Poll::Ready(Err(Next::Happened(event)));
            }
            if let Some(Poll::Ready(loaded)) = loading.as_mut().map(|loading| loading.as_mut().poll(context)) {
                *loading = None;
                return Poll::Ready(Err(Next::Loaded(loaded)));
            }
            turn.as_mut().poll(context).map(Ok)
        })
        .await
    }

    fn take(&mut self, event: Event, outside: &Outside) {
        let now = steady_time();
        match event {
            Event::Network(changed) => {
                for family in Family::ALL.into_iter().filter(|family| changed[family.index()]) {
                    let is_settling = outside.is_settling(family);
                    self.log.debug(|| format!("{family}: the network of this host changed"));
                    self.schedule.on(schedule::Event::Changed { family, is_settling }, now);
                }
            }
            Event::Woke => {
                self.log.info("the machine has slept: synchronizing");
                self.hurry = Some(true);
                self.schedule.on(schedule::Event::Asked, now);
            }
            Event::Synchronize => self.synchronize(now),
            Event::Asked(asked) if asked.question == Question::Status => {
                asked.answer(pretty(&self.status().to_json()));
            }
            Event::Asked(asked) => {
                self.waiting.push(asked);
                self.synchronize(now);
            }
            Event::Files => self.reload_at = Some(now + SETTLING),
            Event::Reload => self.reload(true),
            Event::Time | Event::Stop => {}
        }
    }

    fn synchronize(&mut self, now: Duration) {
        self.log.info("asked to synchronize");
        self.hurry = Some(true);
        self.is_busy = true;
        self.schedule.on(schedule::Event::Asked, now);
    }

    /// Everything that was to be done is done for now.
    fn rest(&mut self) {
        self.is_busy = false;
        self.service.client.rest();
        self.sync.save();
        let tally = self.sync.take_tally();
        let next = self.next_round().map_or_else(String::new, |next| format!(", next in {}", report::duration(next)));
        self.log.debug(|| format!("{tally}{next}"));
        if self.service.systemd.is_there() {
            let summary = self.status().summary();
            self.service.systemd.status(&format!("{summary}{next}"));
        }
        for asked in std::mem::take(&mut self.waiting) {
            asked.answer(pretty(&answer(tally, self.sync.failing())));
        }
    }

    fn next_round(&self) -> Option<Duration> {
        self.schedule.next_round().map(|next| next.saturating_sub(steady_time()))
    }

    fn status(&self) -> Status {
        Status {
            process: Some(std::process::id()),
            configs: self.configs.iter().map(|(config, _)| full_name(config)).collect(),
            next: self.next_round().map(ddns_core::status::seconds),
            rows: self.sync.rows(),
        }
    }

    fn reload(&mut self, is_asked: bool) {
        self.is_asked_to_reload = is_asked;
        self.service.systemd.reloading();
        let (settings, environment, client) =
            (self.service.settings.clone(), self.service.environment, self.service.client);
        self.loading = Some(Box::pin(async move { load::load(settings, environment, client).await }));
    }

    /// What was loaded, where it is another and can be used.
    fn loaded(&mut self, loaded: Loaded) -> Option<Vec<Valid>> {
        let wrong = match loaded {
            Ok(fresh) if fresh.is_empty() => vec![load::no_configuration(self.service.environment)],
            Ok(fresh) if self.is_same(&fresh) => {
                self.logs.iter().for_each(Log::open_file);
                // Of a file that was merely touched nobody need hear.
                let level = if self.is_asked_to_reload { Level::Info } else { Level::Debug };
                self.log.line(level, || "the configuration is the same as before".to_owned());
                self.service.systemd.ready(&self.status().summary());
                return None;
            }
            Ok(fresh) => match self.service.lock(&fresh) {
                Ok(()) => {
                    self.log.info("the configuration changed: reloading");
                    return Some(fresh);
                }
                Err(why) => vec![Diagnostic::error(Place::Nowhere, why)],
            },
            Err(wrong) => wrong,
        };
        for diagnostic in wrong {
            self.log.error(diagnostic.one_line());
        }
        self.log.error("the new configuration cannot be used: the old one goes on");
        self.service.systemd.ready("the new configuration cannot be used: the old one goes on");
        None
    }

    fn is_same(&self, fresh: &[Valid]) -> bool {
        let configs = |all: &'_ [Valid]| all.iter().map(|(config, _)| config.clone()).collect::<Vec<_>>();
        configs(self.configs) == configs(fresh)
    }

    async fn stop(&mut self, outside: &mut Outside) -> End {
        self.service.systemd.stopping();
        let drained = self.drain(outside).await;
        self.sync.finish();
        self.log.info("stopped");
        End::Stop(u8::from(drained == Drained::Stopped))
    }

    /// Starts nothing new, and gives what is under way its time. Ends at once where it is told to stop.
    async fn drain(&mut self, outside: &mut Outside) -> Drained {
        self.sync.close();
        let until = steady_time() + GRACE;
        while self.sync.is_sending() && steady_time() < until {
            let happened = match select(pin!(outside.next(Some(until))), pin!(self.sync.turn())).await {
                Either::Left((event, _)) => Some(event),
                Either::Right(_) => None,
            };
            match happened {
                Some(Event::Stop) => return Drained::Stopped,
                Some(event) => self.take(event, outside),
                None => {}
            }
        }
        Drained::Quietly
    }
}

fn entries(configs: &[Valid]) -> impl Iterator<Item = &Entry> {
    configs.iter().flat_map(|(config, _)| &config.entries)
}

/// The whole path of a file, so that it is the same from every folder.
fn full_name(config: &Config) -> String {
    std::fs::canonicalize(&config.name).map_or_else(|_| config.name.clone(), |path| path.display().to_string())
}

/// What a synchronization came to, for who asked for it. What rests after a failure was not told either.
fn answer(tally: Tally, failing: usize) -> Value {
    let rests = failing.saturating_sub(tally.failed);
    let rest = if rests > 0 { format!(", {rests} waiting for their next try") } else { String::new() };
    let is_good = failing == 0 && tally.exit_code() == 0;
    Value::object([("good", Value::Bool(is_good)), ("text", Value::string(format!("{tally}{rest}")))])
}
