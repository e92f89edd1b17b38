//! The loop of the service on its configurations: what happens, step by step, until it stops or they change.

mod ending;
mod handle;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::lease::membership::Membership;
use ddns_core::schedule::lookups::Schedule;
use ddns_core::text::duration::duration;
use ddns_core::update::outcome::Tally;
use ddns_core::update::status::SyncResult;
use tokio::sync::oneshot;

use super::events::{Event, Events};
use super::metrics::Metrics;
use super::page;
use super::reload::{Decision, Loaded, REJECTED, Reload};
use super::service::{End, Service, Waiting};
use crate::clock::steady_time;
use crate::history::History;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::sync::{LookedUp, Sync, jitter};

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
}

/// Tells whoever shows the page that something changed.
pub(super) fn tell(events: &Events) {
    if let Some(web) = &events.web {
        web.changed();
    }
}

/// The same where this host does not send.
fn standing_by(group: &Membership) -> SyncResult {
    let text = format!("group {}: {}", group.group, group.sentence());
    SyncResult { good: group.is_good(), text }
}

/// The result of a synchronization, for the client that requested it. What waits after a failure was not accepted either.
fn result(tally: Tally, postponed: usize) -> SyncResult {
    let waiting = postponed.saturating_sub(tally.failed);
    let waiting = if waiting > 0 { format!(", {waiting} retrying") } else { String::new() };
    let is_good = postponed == 0 && tally.exit_code() == 0;
    SyncResult { good: is_good, text: format!("{tally}{waiting}") }
}
