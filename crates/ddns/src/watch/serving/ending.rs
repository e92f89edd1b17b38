//! The end of a run: requests in progress get time to finish.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::engine::{self, GRACE, LeaseEvent};

use super::Serving;
use crate::clock::steady_time;
use crate::compose;
use crate::group::{LEAVE_TIMEOUT, LeaseNotice};
use crate::watch::events::{Events, ServiceEvent};
use crate::watch::service::End;

/// The last notifications have at least this long.
const FINAL_NOTIFY_TIME: Duration = Duration::from_secs(2);

/// A reload waits only so long for notifications: the next run goes on with them.
const RELOAD_NOTIFY_TIME: Duration = Duration::from_secs(1);

/// The first of two: an event, or the result of `poll`.
async fn either<T>(
    event: impl Future<Output = ServiceEvent>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<ServiceEvent, T> {
    let mut event = pin!(event);
    poll_fn(|context| match event.as_mut().poll(context) {
        Poll::Ready(event) => Poll::Ready(Ok(event)),
        Poll::Pending => poll(context).map(Err),
    })
    .await
}

impl Serving<'_, '_> {
    /// Ends the run; other configurations follow.
    pub(super) async fn hand_over(&mut self, fresh: Vec<Valid>, events: &mut Events) -> End {
        let configs = Rc::new(fresh);
        let plan = compose::plan(&configs, self.service.environment);
        if self.finish(engine::Event::Reload(Rc::clone(&plan)), events).await {
            return self.stop(events).await;
        }
        self.service.release_others(&configs);
        self.service.is_stale = self.reload.is_pending();
        End::Reload(configs, plan)
    }

    pub(super) async fn stop(&mut self, events: &mut Events) -> End {
        self.service.systemd.stopping();
        if let Some(group) = &events.group {
            group.member.terminate();
        }
        let is_stopped = self.finish(engine::Event::Stop, events).await || self.leave(events).await;
        self.log.info("stopped");
        End::Stop(u8::from(is_stopped))
    }

    /// Waits for requests in progress, sends notifications, and saves. Ends at once on a signal to stop; returns
    /// whether one came.
    async fn finish(&mut self, event: engine::Event, events: &mut Events) -> bool {
        let until = steady_time() + GRACE;
        let is_reload = matches!(event, engine::Event::Reload(_));
        self.driver.on(event);
        let mut is_stopped = false;
        while !is_stopped && !self.is_closed() {
            let wake_at = self.driver.engine.wake_at();
            match either(events.next(wake_at), |context| self.driver.poll(context)).await {
                Ok(ServiceEvent::Stop) => is_stopped = true,
                Ok(event) => self.handle(event, events),
                Err(event) => self.driver.on(event),
            }
        }
        self.hand_on();
        // The last notifications must be sent, too, however long the requests took.
        let until =
            if is_reload { steady_time() + RELOAD_NOTIFY_TIME } else { until.max(steady_time() + FINAL_NOTIFY_TIME) };
        is_stopped = is_stopped || self.notify(events, until, is_reload).await;
        self.driver.on(engine::Event::Save);
        self.history.save();
        is_stopped
    }

    fn is_closed(&mut self) -> bool {
        self.driver.take_milestones().iter().any(|milestone| matches!(milestone, engine::Effect::Closed))
    }

    /// Sends the last notifications, and gives them time. Ends at once on a signal to stop; returns whether one came.
    async fn notify(&mut self, events: &mut Events, until: Duration, is_reload: bool) -> bool {
        let Some(mut notifier) = self.notifier.take() else { return false };
        if !is_reload {
            notifier.hurry(&mut self.driver.engine);
        }
        while notifier.is_sending() && steady_time() < until {
            match either(events.next(Some(until)), |context| notifier.poll(context)).await {
                Ok(ServiceEvent::Stop) => return true,
                Ok(event) => self.handle(event, events),
                Err(ended) => notifier.ended(ended, &mut self.driver.engine),
            }
        }
        if is_reload {
            self.service.unreported = notifier.into_unreported(self.configs, &mut self.driver.engine);
        }
        false
    }

    /// Leaves the group; everything must be saved before. Returns whether a signal to stop came meanwhile.
    async fn leave(&mut self, events: &mut Events) -> bool {
        let Some(group) = &events.group else { return false };
        // Cut off requests that did not finish in time, before another member can hold the lease.
        self.driver.on(engine::Event::Lease(LeaseEvent::Lost));
        group.member.drained();
        let until = steady_time() + LEAVE_TIMEOUT;
        while steady_time() < until {
            match events.next(Some(until)).await {
                ServiceEvent::Stop => return true,
                ServiceEvent::Group(notice) => {
                    let is_over = matches!(notice, LeaseNotice::Left);
                    self.on_lease(notice, events);
                    if is_over {
                        break;
                    }
                }
                _ => {}
            }
        }
        if let Some(now) = events.group.as_ref().map(|group| group.member.status()) {
            self.say(now, events);
        }
        false
    }
}
