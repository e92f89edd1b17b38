//! When to look up addresses: at every interval, when the network changed, on request, and again where sources failed.
//!
//! Pure: events and the time go in, what is due comes out. Jitter, from 0 up to 1, is given too.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::net::family::Family;
use crate::schedule::backoff::Backoff;
use crate::schedule::debounce::Debounce;

/// What to look up now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    /// Configurations whose round it is, by number: both families.
    pub rounds: Vec<usize>,
    /// Families whose addresses may have changed, by [`Family::index`]: in every configuration.
    pub families: [bool; 2],
    /// Entries whose sources failed and are asked again.
    pub retries: Vec<(usize, Family)>,
    /// Whether somebody asked for it: what is being looked up already may be of before that.
    pub is_asked_for: bool,
}

impl Due {
    /// The round of each of so many configurations.
    pub fn everything(configs: usize) -> Self {
        Self { rounds: (0..configs).collect(), ..Self::default() }
    }

    /// Whether nothing is due.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.families == [false; 2] && self.retries.is_empty()
    }

    /// Whether the family of this entry in this configuration, both by number, is due.
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
    /// Sources that failed: how often in a row, and when they are asked again.
    failing: BTreeMap<(usize, Family), (u32, Duration)>,
    /// What is retried once the addresses are known: what found no connection, or (true) everything.
    retry: Option<bool>,
    is_asked_for: bool,
    backoff: Backoff,
}

impl Schedule {
    /// Each configuration has its interval. All are due at once.
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

    /// How long to wait after failures: no longer than the shortest interval.
    pub fn backoff(intervals: &[Duration]) -> Backoff {
        Backoff { cap: intervals.iter().copied().min().unwrap_or_default() }
    }

    /// A synchronization was requested, or the machine has slept.
    pub fn request(&mut self, now: Duration) {
        self.retry = Some(true);
        self.is_asked_for = true;
        self.rounds.iter_mut().for_each(|round| round.next = now);
    }

    /// An address or a default route of the family changed.
    pub fn network_changed(&mut self, family: Family, now: Duration) {
        self.changes[family.index()].changed(now);
    }

    /// Takes in the address that the sources of an entry gave; none where they failed.
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

    /// What is due now; it is not due again before its next time.
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
                // Until it is known how it went.
                *at = Duration::MAX;
            }
        }
        due
    }

    /// What to retry, for [`Queue::retry_now`](crate::schedule::queue::Queue::retry_now), now that everything is looked up
    /// that was due; none where there is no reason.
    pub fn take_retry(&mut self) -> Option<bool> {
        self.retry.take()
    }

    /// When something is due next, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let rounds = self.rounds.iter().map(|round| round.next);
        let changes = self.changes.iter().filter_map(Debounce::at);
        let failing = self.failing.values().map(|(_, at)| *at).filter(|at| *at != Duration::MAX);
        rounds.chain(changes).chain(failing).min()
    }

    /// When the next round is.
    pub fn next_round(&self) -> Option<Duration> {
        self.rounds.iter().map(|round| round.next).min()
    }
}

/// The interval, up to 10 % shorter or longer: many hosts do not fall into step.
fn spread(interval: Duration, jitter: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
