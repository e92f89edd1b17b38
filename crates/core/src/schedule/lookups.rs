//! When to look up addresses: at every interval, after a change of the network, on request, and again after failures.
//!
//! Pure: events and the time go in, what is due comes out. The jitter, from 0 to 1, is an input, too.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::net::family::Family;
use crate::schedule::backoff::Backoff;
use crate::schedule::debounce::Debounce;

/// What to look up now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    /// Configurations whose round is due, by number: both families.
    pub rounds: Vec<usize>,
    /// Families whose addresses may have changed, in every configuration; by [`Family::index`].
    pub families: [bool; 2],
    /// Entries whose sources failed and are asked again.
    pub retries: Vec<(usize, Family)>,
    /// Whether the user asked for it: the results of earlier lookups may be outdated.
    pub is_asked_for: bool,
}

impl Due {
    /// A round for each of this many configurations.
    pub fn everything(configs: usize) -> Self {
        Self { rounds: (0..configs).collect(), ..Self::default() }
    }

    /// Whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.families == [false; 2] && self.retries.is_empty()
    }

    /// Whether a family of this entry, in this configuration, is due; both by number.
    pub fn includes(&self, config: usize, entry: usize, family: Family) -> bool {
        self.rounds.contains(&config) || self.families[family.index()] || self.retries.contains(&(entry, family))
    }
}

/// The rounds of one configuration.
#[derive(Debug, Clone, Copy)]
struct Round {
    interval: Duration,
    next: Duration,
}

/// When to look up addresses.
#[derive(Debug)]
pub struct Schedule {
    rounds: Vec<Round>,
    changes: [Debounce; 2],
    /// Sources that failed: how often in a row, and when to ask them again.
    failing: BTreeMap<(usize, Family), (u32, Duration)>,
    /// What to retry once the addresses are known: requests that found no connection (`false`), or everything (`true`).
    retry: Option<bool>,
    is_asked_for: bool,
    backoff: Backoff,
}

impl Schedule {
    /// A schedule for configurations with these intervals. The first round of each is due at once.
    pub fn new(intervals: &[Duration], now: Duration) -> Self {
        Self {
            rounds: intervals.iter().map(|interval| Round { interval: *interval, next: now }).collect(),
            changes: Default::default(),
            failing: BTreeMap::new(),
            retry: None,
            is_asked_for: false,
            backoff: Self::backoff(intervals),
        }
    }

    /// The backoff after failures: no longer than the shortest interval.
    pub fn backoff(intervals: &[Duration]) -> Backoff {
        Backoff { cap: intervals.iter().copied().min().unwrap_or_default() }
    }

    /// The user asked for a synchronization, or the machine woke up from suspend.
    pub fn request(&mut self, now: Duration) {
        self.retry = Some(true);
        self.is_asked_for = true;
        self.rounds.iter_mut().for_each(|round| round.next = now);
    }

    /// An address or a default route of this family changed.
    pub fn network_changed(&mut self, family: Family, now: Duration) {
        self.changes[family.index()].changed(now);
    }

    /// Notes the address that the sources of an entry gave; `None` if they failed.
    pub fn looked_up(&mut self, entry: usize, family: Family, found: Option<IpAddr>, now: Duration, jitter: f64) {
        if let Some(ip) = found {
            self.failing.remove(&(entry, family));
            self.changes[family.index()].found(ip);
        } else {
            let (failures, at) = self.failing.entry((entry, family)).or_default();
            *failures += 1;
            *at = now + self.backoff.delay(*failures, jitter);
        }
    }

    /// What is due now; it is then not due again before its next time.
    pub fn due(&mut self, now: Duration, jitter: f64) -> Due {
        let mut due = Due { is_asked_for: std::mem::take(&mut self.is_asked_for), ..Due::default() };
        for (number, round) in self.rounds.iter_mut().enumerate() {
            if round.next <= now {
                due.rounds.push(number);
                round.next = now + spread(round.interval, jitter);
            }
        }
        for (changes, is_due) in self.changes.iter_mut().zip(&mut due.families) {
            *is_due = changes.due(now);
        }
        if due.families != [false; 2] {
            self.retry.get_or_insert(false);
        }
        for (who, (_, at)) in &mut self.failing {
            if *at <= now {
                due.retries.push(*who);
                // Not again before the result is known.
                *at = Duration::MAX;
            }
        }
        due
    }

    /// What to retry, for [`Queue::retry_now`](crate::schedule::queue::Queue::retry_now), now that all lookups that were due
    /// have ended; `None` if there is no reason.
    pub fn take_retry(&mut self) -> Option<bool> {
        self.retry.take()
    }

    /// When something is due next if nothing else happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let rounds = self.rounds.iter().map(|round| round.next);
        let changes = self.changes.iter().filter_map(Debounce::at);
        let failing = self.failing.values().map(|(_, at)| *at).filter(|at| *at != Duration::MAX);
        rounds.chain(changes).chain(failing).min()
    }

    /// When the next round is due.
    pub fn next_round(&self) -> Option<Duration> {
        self.rounds.iter().map(|round| round.next).min()
    }
}

/// The interval, up to 10 % shorter or longer, so that hosts do not fall into step.
fn spread(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
