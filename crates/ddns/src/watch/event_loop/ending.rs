//! The end of the loop: what is under way gets its time, and what outlives it is handed over.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use futures_util::future::{Either, select};

use super::EventLoop;
use crate::clock::steady_time;
use crate::watch::events::{Event, Events};
use crate::watch::group::end;
use crate::watch::service::End;

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

impl EventLoop<'_, '_> {
    /// Ends for another configuration, and hands over what outlives this one.
    pub(super) async fn hand_over(&mut self, fresh: Vec<Valid>, events: &mut Events) -> End {
        let drained = self.finish(events).await;
        if drained == Drained::Stopped {
            return self.stop(events).await;
        }
        self.sync.doubt_left(&fresh);
        let handover = &mut self.service.handover;
        handover.waiting = std::mem::take(&mut self.waiting);
        handover.pauses = self.sync.requested_pauses();
        handover.given_up = self.sync.take_given_up();
        handover.memory = self.sync.take_memory();
        handover.shared = self.sync.take_shared();
        handover.metrics = self.metrics.take();
        handover.is_stale = self.reload.is_pending();
        End::Reload(fresh)
    }

    pub(super) async fn stop(&mut self, events: &mut Events) -> End {
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
