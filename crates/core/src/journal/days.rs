//! The last 30 days of every update: the worst outcome of each day, and whether the address changed.

use std::collections::HashMap;

use super::event::EventKind;
use super::record::Record;
use crate::net::family::Family;

/// The number of days to show.
pub const DAYS: usize = 30;

/// A day in seconds.
const DAY: i64 = 86_400;

/// One day of one update.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Day {
    /// The worst of accepted, failed and stopped; `None` if nothing is known yet. Each day begins with the last outcome before it.
    pub worst: Option<EventKind>,
    /// Whether the address at the endpoint changed.
    pub is_change: bool,
}

/// The days of every update that has records.
#[derive(Debug, Clone, Default)]
pub struct Days {
    /// The seconds that local time is ahead of UTC, to know when a day begins.
    offset: i64,
    updates: HashMap<(String, Family), DayStrip>,
}

#[derive(Debug, Clone, Default)]
struct DayStrip {
    /// The last day that has records, in days since the epoch.
    last: i64,
    /// The days up to `last`, in order.
    days: [Day; DAYS],
    /// The last outcome.
    now: Option<EventKind>,
}

impl DayStrip {
    /// Moves on to a later day. The days in between get the last outcome: most attempts of an update that keeps failing have no
    /// record.
    fn move_to(&mut self, day: i64) {
        let ahead = usize::try_from(day.saturating_sub(self.last)).unwrap_or(0).min(DAYS);
        self.days.rotate_left(ahead);
        self.days[DAYS - ahead..].fill(Day { worst: self.now, is_change: false });
        self.last = self.last.max(day);
    }
}

impl Days {
    /// No records yet. `offset`: the seconds that local time is ahead of UTC.
    pub fn new(offset: i64) -> Self {
        Self { offset, updates: HashMap::new() }
    }

    fn day(&self, at: u64) -> i64 {
        i64::try_from(at).unwrap_or(i64::MAX).saturating_add(self.offset).div_euclid(DAY)
    }

    /// Adds a record. Records must come in the order of their times.
    pub fn take(&mut self, record: &Record) {
        let worst = match record.event {
            EventKind::Unchanged | EventKind::AlreadyThere | EventKind::Made => Some(EventKind::Accepted),
            kind if EventKind::OUTCOMES.contains(&kind) => Some(kind),
            _ => return,
        };
        let (Some(domain), Some(family)) = (record.domain.clone(), record.family) else { return };
        let day = self.day(record.at);
        let strip = self.updates.entry((domain, family)).or_default();
        strip.move_to(day);
        // If the clock was set back, the record counts on its earlier day.
        let back = usize::try_from(strip.last - day).unwrap_or(usize::MAX);
        let Some(shown) = DAYS.checked_sub(back.saturating_add(1)).and_then(|at| strip.days.get_mut(at)) else {
            return;
        };
        shown.worst = shown.worst.max(worst);
        shown.is_change |= record.is_change();
        strip.now = worst;
    }

    /// The last days of an update, today last.
    pub fn of(&self, domain: &str, family: Family, now: u64) -> [Day; DAYS] {
        let Some(strip) = self.updates.get(&(domain.to_owned(), family)) else { return [Day::default(); DAYS] };
        let mut strip = strip.clone();
        strip.move_to(self.day(now));
        strip.days
    }
}
