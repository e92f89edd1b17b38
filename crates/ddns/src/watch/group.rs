//! The service in its group (J): takes over, stands by, and hands over.

use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::lease::standing::Standing;
use ddns_core::text::diagnostic::{Diagnostic, Place};

use super::event_loop::{EventLoop, tell};
use super::events::{Event, Events};
use crate::clock::steady_time;
use crate::group::{LeaseNotice, join, wanted};

/// The store has so long to be told that this host leaves.
const FAREWELL: Duration = Duration::from_secs(3);

/// Joins the group that the configurations name, and leaves the one before, where that is another. Whether a signal to stop came
/// meanwhile.
pub(super) async fn enter(configs: &[Valid], events: &mut Events) -> Result<bool, Vec<Diagnostic>> {
    let wanted = wanted(configs)?;
    if let (Some(joined), Some(wanted)) = (&events.group, wanted)
        && joined.is(wanted)
    {
        return Ok(false);
    }
    let mut is_stopped = false;
    if let Some(joined) = &events.group {
        end(events);
        joined.member.drained();
        let until = steady_time() + FAREWELL;
        while steady_time() < until {
            match events.next(Some(until)).await {
                Event::Group(LeaseNotice::Left) => break,
                Event::Stop if is_stopped => break,
                Event::Stop => is_stopped = true,
                _ => {}
            }
        }
        events.group = None;
    }
    if let Some(wanted) = wanted {
        let wrong = |why| vec![Diagnostic::error(Place::file(&configs[0].0.name), why)];
        events.group = Some(join(wanted).map_err(wrong)?);
    }
    Ok(is_stopped)
}

/// Gives the lease back from now on, for good.
pub(super) fn end(events: &Events) {
    if let Some(group) = &events.group {
        group.member.terminate();
    }
}

impl EventLoop<'_, '_> {
    /// Something happened to this host in its group.
    pub(super) fn changed(&mut self, change: LeaseNotice, events: &mut Events) {
        match change {
            LeaseNotice::TakeOver(won) => {
                self.sync.take_over(won, false);
                self.is_busy = true;
                if let Some(notifier) = &mut self.notifier {
                    notifier.renew_keys(&mut self.sync);
                }
            }
            LeaseNotice::Drain => {
                self.sync.close();
                self.is_draining = true;
            }
            LeaseNotice::StandBy => {
                self.sync.stand_by();
                self.is_draining = false;
            }
            LeaseNotice::Standing(now) => self.say(*now, events),
            LeaseNotice::Left => {}
        }
        tell(events);
    }

    /// Says how this host stands in its group, to whoever wants to know.
    fn say(&mut self, now: Standing, events: &mut Events) {
        if let Some(change) = events.group.as_mut().and_then(|group| group.say(now, self.log)) {
            self.sync.note_role(change);
            self.write_down();
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
        // What had its time and did not end is cut off before anybody else can hold the lease.
        self.sync.stand_by();
        group.member.drained();
        let until = steady_time() + FAREWELL;
        while steady_time() < until {
            match events.next(Some(until)).await {
                Event::Stop => return true,
                Event::Group(change) => {
                    let is_over = matches!(change, LeaseNotice::Left);
                    self.changed(change, events);
                    if is_over {
                        break;
                    }
                }
                _ => {}
            }
        }
        if let Some(now) = events.group.as_ref().map(|group| group.member.standing()) {
            self.say(now, events);
        }
        false
    }
}
