//! The service in its group (J): takes over, stands by, and hands over.

use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::group::machine;
use ddns_core::text::diagnostic::{Diagnostic, Place};

use super::event_loop::EventLoop;
use super::events::{Event, Events};
use crate::clock::steady_time;
use crate::group::{Change, join, wanted};

/// The store has so long to be told that this host leaves.
const FAREWELL: Duration = Duration::from_secs(3);

/// Joins the group that the configurations name, and leaves the one before, where that is another.
pub(super) async fn enter(configs: &[Valid], events: &mut Events) -> Result<(), Vec<Diagnostic>> {
    let wanted = wanted(configs)?;
    if let (Some(joined), Some(wanted)) = (&events.group, wanted)
        && joined.is(wanted)
    {
        return Ok(());
    }
    if let Some(joined) = &events.group {
        joined.member.tell(machine::Event::Terminate);
        joined.member.drained();
        left(events).await;
        events.group = None;
    }
    if let Some(wanted) = wanted {
        let wrong = |why| vec![Diagnostic::error(Place::file(&configs[0].0.name), why)];
        events.group = Some(join(wanted).map_err(wrong)?);
    }
    Ok(())
}

/// Waits until the store knows that this host left its group; not for long. Whether a signal to stop came.
async fn left(events: &mut Events) -> bool {
    let until = steady_time() + FAREWELL;
    while steady_time() < until {
        match events.next(Some(until)).await {
            Event::Group(Change::Left) => return false,
            Event::Stop => return true,
            _ => {}
        }
    }
    false
}

impl EventLoop<'_, '_> {
    /// Something happened to this host in its group.
    pub(super) fn changed(&mut self, change: Change, events: &mut Events) {
        match change {
            Change::TakeOver(won) => {
                self.sync.take_over(won, false);
                self.is_busy = true;
                if let Some(notifier) = &mut self.notifier {
                    notifier.renew_keys(&mut self.sync);
                }
            }
            Change::Drain => {
                self.sync.close();
                self.is_draining = true;
            }
            Change::StandBy => {
                self.sync.stand_by();
                self.is_draining = false;
            }
            Change::Standing | Change::Left => {}
        }
        if let Some(group) = &mut events.group {
            group.say(self.log);
        }
    }

    /// Gives the lease back, where that is wanted and nothing is under way any more.
    pub(super) fn give_back(&mut self, events: &Events) {
        if self.is_draining
            && !self.sync.is_sending()
            && let Some(group) = &events.group
        {
            self.is_draining = false;
            self.sync.save();
            group.member.drained();
        }
    }

    /// Leaves the group, after everything was saved. Whether a signal to stop came meanwhile.
    pub(super) async fn leave(&mut self, events: &mut Events) -> bool {
        let Some(group) = &events.group else { return false };
        group.member.drained();
        left(events).await
    }
}
