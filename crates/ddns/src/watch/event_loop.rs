//! The loop of the service on its configurations: what happens, step by step, until it stops or they change.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use ddns_core::config::Config;
use ddns_core::config::validate::Valid;
use ddns_core::group::membership::Membership;
use ddns_core::net::family::Family;
use ddns_core::schedule::lookups::{self, Schedule};
use ddns_core::text::duration::duration;
use ddns_core::text::json::{Value, pretty};
use ddns_core::update::domain::Domain;
use ddns_core::update::outcome::Tally;
use ddns_core::update::status::Status;
use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use super::control::Command;
use super::events::{Event, Events};
use super::group::end;
use super::metrics::Metrics;
use super::page;
use super::reload::{Decision, Loaded, REJECTED, Reload};
use super::service::{End, Service, Waiting};
use crate::clock::steady_time;
use crate::history::History;
use crate::load::surroundings;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::sync::{LookedUp, Sync, jitter};
use crate::web::{Ask, Configured};

/// Requests under way have so long to end when the service stops.
const GRACE: Duration = Duration::from_secs(5);

/// What happened while requests under way were waited for.
#[derive(PartialEq, Eq)]
enum Drained {
    /// Nothing of importance.
    Quietly,
    /// A signal to stop came.
    Stopped,
}

/// What comes next.
enum Next {
    Happened(Event),
    Loaded(Loaded),
    /// A step of the synchronization was done.
    Stepped,
    /// A notification ended: which one, and whether it arrived.
    Notified((usize, bool)),
}

pub(super) struct EventLoop<'a, 's> {
    service: &'s mut Service<'a>,
    configs: &'s Rc<Vec<Valid>>,
    logs: &'s [Log<'s>],
    /// For what concerns the service: that of the first configuration.
    pub(super) log: &'s Log<'s>,
    pub(super) sync: Sync<'s>,
    history: History<'s>,
    /// None where nothing is to be notified.
    pub(super) notifier: Option<Box<Notifier<'s>>>,
    /// None where there is no page.
    metrics: Option<Metrics>,
    schedule: Schedule,
    reload: Reload<'a>,
    /// Requests that wait for the synchronization to end.
    waiting: Vec<Waiting>,
    /// Those on the page who wait for the configuration to be loaded.
    reloading: Vec<oneshot::Sender<Vec<String>>>,
    /// Whether the lease of the group is given back when nothing is under way any more.
    pub(super) is_draining: bool,
    /// Whether something was looked up or sent since it was last at rest.
    pub(super) is_busy: bool,
    next_watchdog: Option<Duration>,
}

impl<'a, 's> EventLoop<'a, 's> {
    /// Everything is looked up first of all.
    pub(super) fn new(
        service: &'s mut Service<'a>,
        configs: &'s Rc<Vec<Valid>>,
        logs: &'s [Log<'s>],
        (sync, history, notifier, metrics): (Sync<'s>, History<'s>, Option<Box<Notifier<'s>>>, Option<Metrics>),
        schedule: Schedule,
    ) -> Self {
        Self {
            service,
            configs,
            log: &logs[0],
            logs,
            sync,
            history,
            notifier,
            metrics,
            schedule,
            reload: Reload::default(),
            waiting: Vec::new(),
            reloading: Vec::new(),
            is_draining: false,
            is_busy: true,
            next_watchdog: None,
        }
    }

    /// Takes over from the loop before: requests that wait, and a configuration that changed again.
    pub(super) fn resume(&mut self, waiting: Vec<Waiting>, is_stale: bool) {
        self.waiting = waiting;
        self.reload.at = is_stale.then(steady_time);
    }

    pub(super) async fn run(&mut self, events: &mut Events) -> End {
        self.service.systemd.ready("looking up addresses");
        loop {
            self.begin_due();
            if !self.sync.is_done() {
                self.is_busy = true;
            } else if self.is_busy {
                self.rest();
                page::retry(self.configs, events, self.log);
                tell(events);
            }
            let next = self.next(events).await;
            self.hand_on();
            self.give_back(events);
            match next {
                Next::Stepped => tell(events),
                Next::Notified(ended) => self.notified(ended),
                Next::Happened(Event::Stop) => return self.stop(events).await,
                Next::Happened(event) => self.handle(event, events),
                Next::Loaded(loaded) => {
                    if let Some(fresh) = self.loaded(loaded) {
                        return self.hand_over(fresh, events).await;
                    }
                }
            }
        }
    }

    /// Ends for another configuration, and hands over what outlives this one.
    async fn hand_over(&mut self, fresh: Vec<Valid>, events: &mut Events) -> End {
        let drained = self.finish(events).await;
        if drained == Drained::Stopped {
            self.service.systemd.stopping();
            end(events);
            self.leave(events).await;
            self.log.info("stopped");
            return End::Stop(0);
        }
        let handover = &mut self.service.handover;
        handover.waiting = std::mem::take(&mut self.waiting);
        handover.pauses = self.sync.requested_pauses();
        handover.memory = self.sync.take_memory();
        handover.shared = self.sync.take_shared();
        handover.metrics = self.metrics.take();
        handover.is_stale = self.reload.is_pending();
        End::Reload(fresh)
    }

    /// Hands on what happened.
    fn hand_on(&mut self) {
        let news = self.sync.take_news();
        self.history.take(&news);
        if let Some(metrics) = &mut self.metrics {
            metrics.take(&news);
        }
        if let Some(notifier) = &mut self.notifier {
            notifier.take(&news, &mut self.sync);
        }
        self.history.save_due();
    }

    /// Hands on what happened, and saves it in the history.
    pub(super) fn write_down(&mut self) {
        self.hand_on();
        self.history.save();
    }

    fn notified(&mut self, ended: (usize, bool)) {
        if let Some(notifier) = &mut self.notifier {
            notifier.ended(ended, &mut self.sync);
        }
    }

    /// Begins what is due: lookups, a sign of life for systemd, a reload, a notification.
    fn begin_due(&mut self) {
        let now = steady_time();
        if let Some(notifier) = &mut self.notifier
            && notifier.wake_at().is_some_and(|at| at <= now)
        {
            notifier.review(&mut self.sync);
        }
        if self.schedule.wake_at().is_some_and(|at| at <= now) {
            let due = self.schedule.due(now, jitter());
            self.is_busy = true;
            self.service.client.refresh();
            self.sync.look_up(&due);
        }
        if let Some(every) = self.service.systemd.watchdog()
            && self.next_watchdog.is_none_or(|next| next <= now)
        {
            self.service.systemd.alive();
            self.next_watchdog = Some(now + every);
        }
        if self.reload.at.is_some_and(|at| at <= now) {
            self.reload.begin(self.service, false);
        }
    }

    /// Waits until an event comes, a configuration is loaded, or a step is done.
    async fn next(&mut self, events: &mut Events) -> Next {
        let looked_up = match self.first_of_all(events).await {
            Ok(looked_up) => looked_up,
            Err(next) => return next,
        };
        if let Some(LookedUp { family, ip, senders }) = looked_up {
            let now = steady_time();
            for sender in senders {
                self.schedule.looked_up(sender, family, ip, now, jitter());
            }
        }
        if !self.sync.is_looking_up()
            && let Some(everything) = self.schedule.take_retry()
        {
            self.sync.retry_now(everything);
        }
        Next::Stepped
    }

    /// What a step looked up, unless something else comes first.
    async fn first_of_all(&mut self, events: &mut Events) -> Result<Option<LookedUp>, Next> {
        let notify_at = self.notifier.as_ref().and_then(|notifier| notifier.wake_at());
        let times = [self.schedule.wake_at(), self.sync.wake_at(), self.next_watchdog, self.reload.at, notify_at];
        let mut event = pin!(events.next(times.into_iter().flatten().min()));
        let mut step = pin!(self.sync.step());
        let (reload, notifier) = (&mut self.reload, &mut self.notifier);
        poll_fn(|context| {
            if let Poll::Ready(event) = event.as_mut().poll(context) {
                return Poll::Ready(Err(Next::Happened(event)));
            }
            if let Poll::Ready(loaded) = reload.poll(context) {
                return Poll::Ready(Err(Next::Loaded(loaded)));
            }
            if let Some(Poll::Ready(ended)) = notifier.as_mut().map(|notifier| notifier.poll(context)) {
                return Poll::Ready(Err(Next::Notified(ended)));
            }
            step.as_mut().poll(context).map(Ok)
        })
        .await
    }

    fn handle(&mut self, event: Event, events: &mut Events) {
        let now = steady_time();
        match event {
            Event::Network(changed) => {
                for family in Family::ALL.into_iter().filter(|family| changed[family.index()]) {
                    let is_settling = events.is_settling(family);
                    self.log.debug(|| format!("{family}: the network of this host changed"));
                    self.schedule.on(lookups::Event::NetworkChanged { family, is_settling }, now);
                }
            }
            Event::Woke => {
                self.log.info("resumed after sleep: synchronizing");
                if let Some(group) = &events.group {
                    group.member.wake();
                }
                self.schedule.on(lookups::Event::Requested, now);
            }
            Event::Group(change) => self.changed(change, events),
            Event::Synchronize => self.synchronize(now),
            Event::Control(request) => match request.command {
                Command::Status => request.respond(pretty(&self.status().to_json())),
                Command::History => {
                    self.history.save();
                    let paths = self.history.paths().into_iter().map(|path| Value::string(path.display().to_string()));
                    request.respond(pretty(&Value::list(paths)));
                }
                command @ (Command::Synchronize | Command::RetryStopped) => {
                    if command == Command::RetryStopped {
                        self.sync.retry_stopped();
                    }
                    self.waiting.push(Waiting::Control(request));
                    self.synchronize(now);
                }
            },
            Event::Web(Ask::Status(respond)) => {
                let _ = respond.send(self.status());
            }
            Event::Web(Ask::Warn(text)) => self.log.warning(text),
            Event::Web(Ask::Configured(respond)) => {
                let _ = respond.send(self.configured());
            }
            Event::Web(Ask::Reload(done)) => {
                self.reloading.push(done);
                self.reload.begin(self.service, true);
            }
            Event::Web(Ask::Synchronize { retry_stopped, done }) => {
                if retry_stopped {
                    self.sync.retry_stopped();
                }
                self.waiting.push(Waiting::Page(done));
                self.synchronize(now);
            }
            Event::Web(Ask::Previews(wanted, respond)) => {
                let is_wanted = |domain: &Domain, family| wanted.includes(domain, family);
                let _ = respond.send(self.sync.previews(is_wanted, wanted.skip, wanted.take));
            }
            Event::Web(Ask::Histories(respond)) => {
                self.history.save();
                let _ = respond.send(self.history.paths());
            }
            Event::Web(Ask::Alive(respond)) => {
                let _ = respond.send(());
            }
            Event::Web(Ask::Ready(respond)) => {
                let status = self.status();
                let _ = respond.send(self.metrics.as_ref().and_then(|metrics| metrics.objection(&status)));
            }
            Event::Web(Ask::Metrics(respond)) => {
                let status = self.status();
                let _ = respond.send(self.metrics.as_ref().map_or_else(String::new, |metrics| metrics.text(&status)));
            }
            Event::Web(Ask::Configs(respond)) => {
                let _ = respond.send(Rc::clone(self.configs));
            }
            Event::Files => self.reload.schedule(now),
            Event::Reload => self.reload.begin(self.service, true),
            Event::Time | Event::Stop => {}
        }
    }

    fn configured(&self) -> Configured {
        let rows = self.sync.rows();
        let address =
            |family: Family| rows.iter().filter(|row| row.kind == family.record_type()).find_map(|row| row.address);
        Configured {
            names: self.configs.iter().map(|(config, _)| config.name.clone()).collect(),
            around: surroundings(&self.service.settings, self.service.environment),
            addresses: Family::ALL.map(address),
            set_up: None,
        }
    }

    fn synchronize(&mut self, now: Duration) {
        self.log.info("synchronization requested");
        self.is_busy = true;
        self.schedule.on(lookups::Event::Requested, now);
    }

    /// Everything that was to be done is done for now.
    fn rest(&mut self) {
        self.is_busy = false;
        self.service.client.rest();
        match &mut self.notifier {
            Some(notifier) if self.sync.is_standing_by() => notifier.review(&mut self.sync),
            Some(notifier) => notifier.rest(&mut self.sync),
            None => {}
        }
        self.sync.save();
        self.history.save();
        let tally = self.sync.take_tally();
        let next = self.next_round().map_or_else(String::new, |next| format!(", next in {}", duration(next)));
        self.log.debug(|| format!("{tally}{next}"));
        if self.service.systemd.is_there() {
            let summary = self.status().summary();
            self.service.systemd.status(&format!("{summary}{next}"));
        }
        let group = self.sync.membership().filter(|_| self.sync.is_standing_by());
        for request in std::mem::take(&mut self.waiting) {
            request.respond(match &group {
                Some(group) => standing_by(group),
                None => result(tally, self.sync.postponed()),
            });
        }
    }

    fn next_round(&self) -> Option<Duration> {
        self.schedule.next_round().map(|next| next.saturating_sub(steady_time()))
    }

    fn status(&self) -> Status {
        let status = Status {
            process: Some(std::process::id()),
            configs: self.configs.iter().map(|(config, _)| full_name(config)).collect(),
            next: self.next_round().map(ddns_core::update::status::seconds),
            errors: self.reload.errors.clone(),
            rows: self.sync.rows(),
            group: None,
        };
        status.in_group(self.sync.membership())
    }

    /// What was loaded, where it is different and can be used.
    fn loaded(&mut self, loaded: Loaded) -> Option<Vec<Valid>> {
        let decision = self.reload.decide(loaded, self.configs, self.service, self.log);
        for done in std::mem::take(&mut self.reloading) {
            let is_rejected = matches!(decision, Decision::Rejected);
            let _ = done.send(if is_rejected { self.reload.errors.clone() } else { Vec::new() });
        }
        match decision {
            Decision::Use(fresh) => return Some(fresh),
            Decision::Unchanged => {
                self.logs.iter().for_each(Log::open_file);
                self.service.systemd.ready(&self.status().summary());
            }
            Decision::Rejected => self.service.systemd.ready(REJECTED),
        }
        None
    }

    async fn stop(&mut self, events: &mut Events) -> End {
        self.service.systemd.stopping();
        end(events);
        let mut drained = self.finish(events).await;
        if drained == Drained::Quietly && self.leave(events).await {
            drained = Drained::Stopped;
        }
        self.log.info("stopped");
        End::Stop(u8::from(drained == Drained::Stopped))
    }

    /// Ends what is under way, tells what happened, and saves it.
    async fn finish(&mut self, events: &mut Events) -> Drained {
        let until = steady_time() + GRACE;
        let mut drained = self.drain(events, until).await;
        self.hand_on();
        if drained == Drained::Quietly && self.notifier.is_some() {
            drained = self.notify(events, until).await;
        }
        self.sync.finish();
        self.history.save();
        drained
    }

    /// Sends what is to be told, and gives it its time. Ends at once on a signal to stop.
    async fn notify(&mut self, events: &mut Events, until: Duration) -> Drained {
        let Some(mut notifier) = self.notifier.take() else { return Drained::Quietly };
        notifier.hurry(&mut self.sync);
        while notifier.is_sending() && steady_time() < until {
            let ended = poll_fn(|context| notifier.poll(context));
            let happened = match select(pin!(events.next(Some(until))), ended).await {
                Either::Left((event, _)) => Ok(event),
                Either::Right((ended, _)) => Err(ended),
            };
            match happened {
                Ok(Event::Stop) => return Drained::Stopped,
                Ok(event) => self.handle(event, events),
                Err(ended) => notifier.ended(ended, &mut self.sync),
            }
        }
        Drained::Quietly
    }

    /// Starts nothing new, and gives what is under way its time. Ends at once on a signal to stop.
    async fn drain(&mut self, events: &mut Events, until: Duration) -> Drained {
        self.sync.close();
        while self.sync.is_sending() && steady_time() < until {
            let happened = match select(pin!(events.next(Some(until))), pin!(self.sync.step())).await {
                Either::Left((event, _)) => Some(event),
                Either::Right(_) => None,
            };
            match happened {
                Some(Event::Stop) => return Drained::Stopped,
                Some(event) => self.handle(event, events),
                None => {}
            }
        }
        Drained::Quietly
    }
}

/// Tells whoever shows the page that something changed.
pub(super) fn tell(events: &Events) {
    if let Some(web) = &events.web {
        web.changed();
    }
}

/// The whole path of a file, so that it is the same from every folder.
fn full_name(config: &Config) -> String {
    std::fs::canonicalize(&config.name).map_or_else(|_| config.name.clone(), |path| path.display().to_string())
}

/// The same where this host does not send.
fn standing_by(group: &Membership) -> Value {
    let text = format!("group {}: {}", group.group, group.sentence());
    Value::object([("good", Value::Bool(group.is_good())), ("text", Value::string(text))])
}

/// The result of a synchronization, for the client that requested it. What waits after a failure was not accepted either.
fn result(tally: Tally, postponed: usize) -> Value {
    let waiting = postponed.saturating_sub(tally.failed);
    let waiting = if waiting > 0 { format!(", {waiting} waiting to retry") } else { String::new() };
    let is_good = postponed == 0 && tally.exit_code() == 0;
    Value::object([("good", Value::Bool(is_good)), ("text", Value::string(format!("{tally}{waiting}")))])
}
