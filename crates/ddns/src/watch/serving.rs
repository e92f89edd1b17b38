//! One run of the service on its configurations: passes events to the engine, until the service stops or the
//! configurations change.

mod ending;
mod handle;
mod push;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::engine;
use ddns_core::journal::{Row, SyncResult, UpdateState};
use ddns_core::lease::membership::Membership;
use ddns_core::text::duration::duration;
use ddns_core::update::outcome::Tally;

use super::events::{Events, ServiceEvent};
use super::page;
use super::reload::{Loaded, REJECTED, Reload};
use super::service::{End, Service};
use crate::clock::steady_time;
use crate::driver::Driver;
use crate::group::GroupMember;
use crate::history::History;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::web::answer;

enum Next {
    Happened(ServiceEvent),
    Engine(engine::Event),
    Loaded(Loaded),
    /// A notification ended: which one, and whether it arrived.
    Notified((usize, bool)),
}

pub(super) struct Serving<'a, 's> {
    pub(super) service: &'s mut Service<'a>,
    pub(super) configs: &'s Rc<Vec<Valid>>,
    pub(super) logs: &'s [Log<'s>],
    /// For messages about the service: the log of the first configuration.
    pub(super) log: &'s Log<'s>,
    pub(super) driver: Driver<'s>,
    pub(super) history: History<'s>,
    /// `None` if no notification is configured.
    pub(super) notifier: Option<Box<Notifier<'s>>>,
    pub(super) reload: Reload<'a>,
    pub(super) next_watchdog: Option<Duration>,
}

impl Serving<'_, '_> {
    pub(super) async fn run(&mut self, events: &mut Events) -> End {
        self.service.systemd.ready("looking up addresses");
        self.driver.on(engine::Event::Begin);
        loop {
            self.begin_due();
            self.hand_on();
            self.rest_where_idle(events).await;
            match self.next(events).await {
                Next::Engine(event) => {
                    self.driver.on(event);
                    tell(events);
                }
                Next::Notified(ended) => self.notified(ended),
                Next::Happened(ServiceEvent::Stop) => return self.stop(events).await,
                Next::Happened(event) => self.handle(event, events),
                Next::Loaded(loaded) => {
                    if let Some(fresh) = self.loaded(loaded) {
                        return self.hand_over(fresh, events).await;
                    }
                }
            }
        }
    }

    /// Passes on what happened: to log, history, metrics and notifications.
    fn hand_on(&mut self) {
        let journal = self.driver.take_journal();
        self.history.take(&journal);
        if let Some(metrics) = &mut self.service.metrics {
            metrics.take(&journal);
        }
        if let Some(notifier) = &mut self.notifier {
            notifier.take(&journal, &mut self.driver.engine);
        }
        self.history.save_due();
    }

    fn notified(&mut self, ended: (usize, bool)) {
        if let Some(notifier) = &mut self.notifier {
            notifier.ended(ended, &mut self.driver.engine);
        }
    }

    /// Begins what is due: a review of notifications, a sign of life for systemd, a reload.
    fn begin_due(&mut self) {
        let now = steady_time();
        if let Some(notifier) = &mut self.notifier
            && notifier.wake_at().is_some_and(|at| at <= now)
        {
            notifier.review(&mut self.driver.engine);
        }
        if let Some(every) = self.service.systemd.watchdog
            && self.next_watchdog.is_none_or(|next| next <= now)
        {
            self.service.systemd.alive();
            self.next_watchdog = Some(now + every);
        }
        if self.reload.at.is_some_and(|at| at <= now) {
            self.reload.begin(self.service, false);
        }
    }

    /// Waits for an event, a loaded configuration, or the end of a request or notification.
    async fn next(&mut self, events: &mut Events) -> Next {
        let notify_at = self.notifier.as_ref().and_then(|notifier| notifier.wake_at());
        let times = [self.driver.engine.wake_at(), self.next_watchdog, self.reload.at, notify_at];
        let mut event = pin!(events.next(times.into_iter().flatten().min()));
        poll_fn(|context| {
            if let Poll::Ready(event) = event.as_mut().poll(context) {
                return Poll::Ready(Next::Happened(event));
            }
            if let Poll::Ready(loaded) = self.reload.poll(context) {
                return Poll::Ready(Next::Loaded(loaded));
            }
            if let Some(Poll::Ready(ended)) = self.notifier.as_mut().map(|notifier| notifier.poll(context)) {
                return Poll::Ready(Next::Notified(ended));
            }
            self.driver.poll(context).map(Next::Engine)
        })
        .await
    }

    /// Rests if the engine has nothing left to do for now.
    async fn rest_where_idle(&mut self, events: &mut Events) {
        for milestone in self.driver.take_milestones() {
            if let engine::Effect::Idle { tallies, postponed } = milestone {
                self.rest(&tallies, postponed);
                page::retry(self.configs, events, self.log);
                // Something may have tidied up the folder.
                if events.control.as_ref().is_some_and(|control| !control.is_in_place()) {
                    self.service.open_control(self.configs, events, self.log).await;
                }
                tell(events);
            }
        }
    }

    fn rest(&mut self, tallies: &[Tally], postponed: usize) {
        self.service.client.rest();
        let engine = &mut self.driver.engine;
        match &mut self.notifier {
            Some(notifier) if engine.is_standing_by() => notifier.review(engine),
            Some(notifier) => notifier.rest(tallies, postponed, engine),
            None => {}
        }
        if let Some(metrics) = &mut self.service.metrics {
            metrics.rest(|| self.driver.engine.rows());
        }
        self.driver.on(engine::Event::Save);
        self.history.save();
        self.warn_of_silence();
        let tally = tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally));
        let next = self.next_round().map_or_else(String::new, |next| format!(", next in {}", duration(next)));
        self.log.debug(|| format!("{tally}{next}"));
        if self.service.systemd.is_there() {
            let summary = self.status().summary();
            self.service.systemd.status(&format!("{summary}{next}"));
        }
        if self.service.waiting.is_empty() {
            return;
        }
        let group = self.membership().filter(|_| self.driver.engine.is_standing_by());
        let rows = self.driver.engine.rows();
        for tell in std::mem::take(&mut self.service.waiting) {
            tell(match &group {
                Some(group) => standing_by(group),
                None => result(tally, postponed, &rows),
            });
        }
    }

    fn next_round(&self) -> Option<Duration> {
        self.driver.engine.next_round().map(|next| next.saturating_sub(steady_time()))
    }

    /// The state of this host in its group; `None` if it is in no group.
    fn membership(&self) -> Option<Membership> {
        self.service.member.as_ref().map(GroupMember::membership)
    }

    /// The loaded configurations, if they differ and can be used.
    fn loaded(&mut self, loaded: Loaded) -> Option<Vec<Valid>> {
        let fresh = self.reload.decide(loaded, self.configs, self.service, self.log);
        for done in std::mem::take(&mut self.service.reloading) {
            answer(done, self.reload.errors.clone());
        }
        if fresh.is_none() {
            // Reopen the logs in any case: they may have been rotated.
            self.logs.iter().for_each(Log::open_file);
            let is_rejected = !self.reload.errors.is_empty();
            let status = if is_rejected { REJECTED.to_owned() } else { self.status().summary() };
            self.service.systemd.ready(&status);
        }
        fresh
    }
}

/// Tells open pages that something changed.
fn tell(events: &Events) {
    if let Some(web) = &events.web {
        web.changed();
    }
}

/// The result of a synchronization on a standby host.
fn standing_by(group: &Membership) -> SyncResult {
    let text = format!("group {}: {}", group.group, group.sentence());
    SyncResult { good: group.is_good(), text }
}

/// The result of a synchronization, for the client that requested it. Updates that wait for a retry may have failed
/// earlier.
fn result(tally: Tally, postponed: usize, rows: &[Row]) -> SyncResult {
    let retrying = rows.iter().filter(|row| row.state == UpdateState::Retrying).count();
    let text = match retrying {
        0 => tally.to_string(),
        _ if tally == Tally::default() => format!("{retrying} retrying"),
        _ => format!("{tally}; {retrying} retrying"),
    };
    SyncResult { good: postponed == 0 && tally.exit_code() == 0, text }
}
