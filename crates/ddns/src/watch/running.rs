//! One run of the service on its configurations: what happens, step by step, until it stops or they change.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ddns_core::config::Config;
use ddns_core::config::validate::Valid;
use ddns_core::net::family::Family;
use ddns_core::schedule::lookups::{self, Schedule};
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::duration::duration;
use ddns_core::text::json::{Value, pretty};
use ddns_core::text::log_format::Level;
use ddns_core::update::outcome::Tally;
use ddns_core::update::status::Status;
use futures_util::future::{Either, LocalBoxFuture, select};

use super::control::{Asked, Question};
use super::events::{Event, Events};
use super::{End, Service};
use crate::clock::steady_time;
use crate::load;
use crate::output::log::Log;
use crate::sync::{Found, Sync, chance};

/// Requests under way have so long to end when the service stops.
const GRACE: Duration = Duration::from_secs(5);

/// A file that changed is loaded after this time: whoever writes it may not be done.
const SETTLING: Duration = Duration::from_millis(300);

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
pub(super) struct Running<'a, 's> {
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
    /// Whether what was loaded last could not be used.
    was_wrong: bool,
}

impl<'a, 's> Running<'a, 's> {
    /// Everything is looked at first of all.
    pub(super) fn new(
        service: &'s mut Service<'a>,
        configs: &'s [Valid],
        logs: &'s [Log<'s>],
        sync: Sync<'s>,
        schedule: Schedule,
    ) -> Self {
        Self {
            service,
            configs,
            log: &logs[0],
            logs,
            sync,
            schedule,
            loading: None,
            waiting: Vec::new(),
            is_busy: true,
            hurry: None,
            next_sign: None,
            reload_at: None,
            is_asked_to_reload: false,
            was_wrong: false,
        }
    }

    /// Goes on where the run before had to end: for those who wait, and with a configuration that changed again.
    pub(super) fn resume(&mut self, waiting: Vec<Asked>, is_stale: bool) {
        self.waiting = waiting;
        self.reload_at = is_stale.then(steady_time);
    }

    pub(super) async fn run(&mut self, events: &mut Events) -> End {
        self.service.systemd.ready("looking for addresses");
        loop {
            self.look();
            if !self.sync.is_done() {
                self.is_busy = true;
            } else if self.is_busy {
                self.rest();
            }
            match self.next(events).await {
                Next::Nothing => {}
                Next::Happened(Event::Stop) => return self.stop(events).await,
                Next::Happened(event) => self.take(event, events),
                Next::Loaded(loaded) => {
                    if let Some(fresh) = self.loaded(loaded) {
                        return self.make_way(fresh, events).await;
                    }
                }
            }
        }
    }

    /// Ends for another configuration, and hands on what outlives this one.
    async fn make_way(&mut self, fresh: Vec<Valid>, events: &mut Events) -> End {
        let drained = self.drain(events).await;
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

    /// Goes on until something happens events, something was loaded, or something ended.
    async fn next(&mut self, events: &mut Events) -> Next {
        let found = match self.first_of_all(events).await {
            Ok(found) => found,
            Err(next) => return next,
        };
        if let Some(found) = found {
            let now = steady_time();
            for sender in found.senders {
                self.schedule.looked(sender, found.family, found.has_address, now, chance());
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
    async fn first_of_all(&mut self, events: &mut Events) -> Result<Option<Found>, Next> {
        let times = [self.schedule.wake_at(), self.sync.wake_at(), self.next_sign, self.reload_at];
        let mut event = pin!(events.next(times.into_iter().flatten().min()));
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

    fn take(&mut self, event: Event, events: &Events) {
        let now = steady_time();
        match event {
            Event::Network(changed) => {
                for family in Family::ALL.into_iter().filter(|family| changed[family.index()]) {
                    let is_settling = events.is_settling(family);
                    self.log.debug(|| format!("{family}: the network of this host changed"));
                    self.schedule.on(lookups::Event::Changed { family, is_settling }, now);
                }
            }
            Event::Woke => {
                self.log.info("the machine has slept: synchronizing");
                self.hurry = Some(true);
                self.schedule.on(lookups::Event::Asked, now);
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
        self.schedule.on(lookups::Event::Asked, now);
    }

    /// Everything that was to be done is done for now.
    fn rest(&mut self) {
        self.is_busy = false;
        self.service.client.rest();
        self.sync.save();
        let tally = self.sync.take_tally();
        let next = self.next_round().map_or_else(String::new, |next| format!(", next in {}", duration(next)));
        self.log.debug(|| format!("{tally}{next}"));
        if self.service.systemd.is_there() {
            let summary = self.status().summary();
            self.service.systemd.status(&format!("{summary}{next}"));
        }
        for asked in std::mem::take(&mut self.waiting) {
            asked.answer(pretty(&answer(tally, self.sync.untold())));
        }
    }

    fn next_round(&self) -> Option<Duration> {
        self.schedule.next_round().map(|next| next.saturating_sub(steady_time()))
    }

    fn status(&self) -> Status {
        Status {
            process: Some(std::process::id()),
            configs: self.configs.iter().map(|(config, _)| full_name(config)).collect(),
            next: self.next_round().map(ddns_core::update::status::seconds),
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
            Ok(fresh) if self.is_same(&fresh) => {
                self.logs.iter().for_each(Log::open_file);
                // Of a file that was merely touched nobody need hear.
                let is_told = self.is_asked_to_reload || std::mem::take(&mut self.was_wrong);
                let level = if is_told { Level::Info } else { Level::Debug };
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
        self.was_wrong = true;
        self.log.error("the new configuration cannot be used: the old one goes on");
        self.service.systemd.ready("the new configuration cannot be used: the old one goes on");
        None
    }

    fn is_same(&self, fresh: &[Valid]) -> bool {
        let configs = |all: &'_ [Valid]| all.iter().map(|(config, _)| config.clone()).collect::<Vec<_>>();
        configs(self.configs) == configs(fresh)
    }

    async fn stop(&mut self, events: &mut Events) -> End {
        self.service.systemd.stopping();
        let drained = self.drain(events).await;
        self.sync.finish();
        self.log.info("stopped");
        End::Stop(u8::from(drained == Drained::Stopped))
    }

    /// Starts nothing new, and gives what is under way its time. Ends at once where it is told to stop.
    async fn drain(&mut self, events: &mut Events) -> Drained {
        self.sync.close();
        let until = steady_time() + GRACE;
        while self.sync.is_sending() && steady_time() < until {
            let happened = match select(pin!(events.next(Some(until))), pin!(self.sync.turn())).await {
                Either::Left((event, _)) => Some(event),
                Either::Right(_) => None,
            };
            match happened {
                Some(Event::Stop) => return Drained::Stopped,
                Some(event) => self.take(event, events),
                None => {}
            }
        }
        Drained::Quietly
    }
}

/// The whole path of a file, so that it is the same from every folder.
fn full_name(config: &Config) -> String {
    std::fs::canonicalize(&config.name).map_or_else(|_| config.name.clone(), |path| path.display().to_string())
}

/// What a synchronization came to, for who asked for it. What rests after a failure was not told either.
fn answer(tally: Tally, untold: usize) -> Value {
    let rests = untold.saturating_sub(tally.failed);
    let rest = if rests > 0 { format!(", {rests} waiting for their next try") } else { String::new() };
    let is_good = untold == 0 && tally.exit_code() == 0;
    Value::object([("good", Value::Bool(is_good)), ("text", Value::string(format!("{tally}{rest}")))])
}
