//! The service in its group (J): joins it, and leaves it.

use ddns_core::config::validate::Valid;
use ddns_core::text::diagnostic::{Diagnostic, Place};

use super::events::{Events, ServiceEvent};
use crate::clock::steady_time;
use crate::group::{LEAVE_TIMEOUT, LeaseNotice, join, wanted};

/// The result of entering a group.
pub(super) struct Entered {
    /// Whether this host joined another group than before, or left its group.
    pub(super) is_other: bool,
    /// Whether a signal to stop came meanwhile.
    pub(super) is_stopped: bool,
}

/// Joins the group that the configurations name, and leaves the previous one if it is another.
pub(super) async fn enter(configs: &[Valid], events: &mut Events) -> Result<Entered, Vec<Diagnostic>> {
    let wanted = wanted(configs)?;
    let is_same = events.group.as_ref().map(|joined| &joined.group) == wanted;
    let mut entered = Entered { is_other: !is_same, is_stopped: false };
    if is_same {
        return Ok(entered);
    }
    if let Some(joined) = &events.group {
        joined.member.terminate();
        joined.member.drained();
        let until = steady_time() + LEAVE_TIMEOUT;
        while steady_time() < until {
            match events.next(Some(until)).await {
                ServiceEvent::Group(LeaseNotice::Left) => break,
                ServiceEvent::Stop if entered.is_stopped => break,
                ServiceEvent::Stop => entered.is_stopped = true,
                _ => {}
            }
        }
        events.group = None;
    }
    if let Some(wanted) = wanted {
        let wrong = |why| vec![Diagnostic::error(Place::file(&configs[0].0.name), why)];
        events.group = Some(join(wanted).map_err(wrong)?);
    }
    Ok(entered)
}
