//! When to look for addresses: at every interval, when the network changed, when somebody asks, when a source failed.
//!
//! Pure: what happens and the time go in, what to look at comes out. Dice, from 0 up to 1, are given too.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::net::family::Family;
use crate::schedule::backoff::Backoff;

/// A change often comes in steps, one address going and another one coming: the first few are looked at so soon after
/// each other...
const STEP: Duration = Duration::from_millis(50);

/// ...as long as they are no more than these.
const STEPS: u32 = 3;

/// Changes that follow each other within this are taken together.
const GAP: Duration = Duration::from_secs(1);

/// An address that goes on flapping is looked at no more often than this.
const LONGEST_GAP: Duration = Duration::from_secs(30);

/// The kernel needs about two seconds to know that an address is good. After this, it is not waited for any more.
const SETTLING: Duration = Duration::from_secs(5);

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An address or a default route of the family changed.
    Changed {
        /// Whose.
        family: Family,
        /// Whether the kernel is still finding out whether an address is good.
        is_settling: bool,
    },
    /// Somebody asked for a synchronization, or the machine has slept.
    Asked,
}

/// What to look at now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    /// Configurations whose round it is, by number: both families.
    pub rounds: Vec<usize>,
    /// Families whose addresses may have changed, by [`Family::index`]: in every configuration.
    pub families: [bool; 2],
    /// Entries whose sources failed and are asked again.
    pub again: Vec<(usize, Family)>,
}

impl Look {
    /// The round of each of so many configurations.
    pub fn everything(configs: usize) -> Self {
        Self { rounds: (0..configs).collect(), ..Self::default() }
    }

    /// Whether there is nothing to look at.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty() && self.families == [false; 2] && self.again.is_empty()
    }

    /// Whether a family of an entry, the one of this number, in this configuration is meant.
    pub fn means(&self, config: usize, entry: usize, family: Family) -> bool {
        self.rounds.contains(&config) || self.families[family.index()] || self.again.contains(&(entry, family))
    }
}

/// The rounds of one configuration.
#[derive(Debug, Clone, Copy)]
struct Rounds {
    interval: Duration,
    next: Duration,
}

/// How changes of one family are taken.
#[derive(Debug, Clone, Copy)]
struct Attention {
    /// When to look.
    at: Option<Duration>,
    /// When a change was last looked at.
    last: Option<Duration>,
    /// How many looks followed each other.
    looks: u32,
    /// Since when an address has been settling.
    settling: Option<Duration>,
}

/// When to look for addresses.
#[derive(Debug)]
pub struct Schedule {
    rounds: Vec<Rounds>,
    attention: [Attention; 2],
    /// Sources that failed: how often in a row, and when they are asked again.
    failing: BTreeMap<(usize, Family), (u32, Duration)>,
    backoff: Backoff,
}

impl Schedule {
    /// Each configuration has its interval. Everything is looked at at once.
    pub fn new(intervals: &[Duration], now: Duration) -> Self {
        let attention = Attention { at: None, last: None, looks: 0, settling: None };
        Self {
            rounds: intervals.iter().map(|interval| Rounds { interval: *interval, next: now }).collect(),
            attention: [attention; 2],
            failing: BTreeMap::new(),
            backoff: Self::backoff(intervals),
        }
    }

    /// How long to wait after failures: no longer than the shortest interval.
    pub fn backoff(intervals: &[Duration]) -> Backoff {
        Backoff { cap: intervals.iter().copied().min().unwrap_or_default() }
    }

    /// Takes in what happened.
    pub fn on(&mut self, event: Event, now: Duration) {
        match event {
            Event::Asked => self.rounds.iter_mut().for_each(|round| round.next = now),
            Event::Changed { family, is_settling } => self.attention[family.index()].changed(is_settling, now),
        }
    }

    /// Takes in whether a source of an entry found an address.
    pub fn looked(&mut self, entry: usize, family: Family, is_found: bool, now: Duration, dice: f64) {
        if is_found {
            self.failing.remove(&(entry, family));
        } else {
            let (failures, at) = self.failing.entry((entry, family)).or_default();
            *failures += 1;
            *at = now + self.backoff.delay(*failures, dice);
        }
    }

    /// What is to be looked at now; it counts as looked at.
    pub fn due(&mut self, now: Duration, dice: f64) -> Look {
        let mut look = Look::default();
        for (number, round) in self.rounds.iter_mut().enumerate() {
            if round.next <= now {
                look.rounds.push(number);
                round.next = now + spread(round.interval, dice);
            }
        }
        for (attention, is_meant) in self.attention.iter_mut().zip(&mut look.families) {
            *is_meant = attention.due(now);
        }
        for (who, (_, at)) in &mut self.failing {
            if *at <= now {
                look.again.push(*who);
                // Until it is known how it went.
                *at = Duration::MAX;
            }
        }
        look
    }

    /// When to ask again, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        let rounds = self.rounds.iter().map(|round| round.next);
        let changes = self.attention.iter().filter_map(|attention| attention.at);
        let failing = self.failing.values().map(|(_, at)| *at).filter(|at| *at != Duration::MAX);
        rounds.chain(changes).chain(failing).min()
    }

    /// When the next round is.
    pub fn next_round(&self) -> Option<Duration> {
        self.rounds.iter().map(|round| round.next).min()
    }
}

impl Attention {
    /// How long to wait after the last look: longer and longer while an address flaps.
    fn gap(&self) -> Duration {
        match self.looks.checked_sub(STEPS) {
            None => STEP,
            Some(more) => GAP.saturating_mul(1 << more.min(10)).min(LONGEST_GAP),
        }
    }

    fn changed(&mut self, is_settling: bool, now: Duration) {
        // The first change of a quiet moment is looked at at once, those that follow together.
        let at = self.last.map_or(now, |last| now.max(last + self.gap()));
        let at = if is_settling {
            // The kernel will say when it is good.
            at.max(*self.settling.get_or_insert(now) + SETTLING)
        } else {
            self.settling = None;
            at
        };
        let is_waiting_to_settle = self.at.is_some() && !is_settling;
        self.at = Some(if is_waiting_to_settle { at } else { self.at.map_or(at, |before| before.max(at)) });
    }

    fn due(&mut self, now: Duration) -> bool {
        if self.at.is_none_or(|at| now < at) {
            return false;
        }
        let is_quiet = self.last.is_none_or(|last| now > last + self.gap().max(GAP) * 2);
        self.looks = if is_quiet { 1 } else { self.looks.saturating_add(1) };
        self.last = Some(now);
        self.at = None;
        self.settling = None;
        true
    }
}

/// The interval, up to 10 % shorter or longer: many hosts do not fall into step.
fn spread(interval: Duration, dice: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * dice.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(300);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn changed(family: Family) -> Event {
        Event::Changed { family, is_settling: false }
    }

    /// One that has had its first round.
    fn running() -> Schedule {
        let mut schedule = Schedule::new(&[INTERVAL], Duration::ZERO);
        assert_eq!(schedule.due(Duration::ZERO, 0.5).rounds, [0]);
        schedule
    }

    #[test]
    fn rounds_come_at_the_interval_spread_by_a_tenth() {
        for (dice, seconds) in [(0.0, 270), (0.5, 300), (1.0, 330)] {
            let mut schedule = Schedule::new(&[INTERVAL, INTERVAL * 12], Duration::ZERO);
            assert_eq!(schedule.due(Duration::ZERO, dice).rounds, [0, 1]);
            assert_eq!(schedule.wake_at(), Some(Duration::from_secs(seconds)));
            assert!(schedule.due(ms(269_999), dice).is_empty());
            assert_eq!(schedule.due(Duration::from_secs(seconds), dice).rounds, [0]);
        }
    }

    #[test]
    fn the_first_change_is_looked_at_at_once_and_those_that_follow_together() {
        let mut schedule = running();
        schedule.on(changed(Family::V4), ms(1000));
        assert_eq!(schedule.due(ms(1000), 0.5).families, [true, false]);
        // The steps of one change: the old address goes, the new one comes, its route comes.
        for (at, look) in [(1001, 1050), (1080, 1100)] {
            schedule.on(changed(Family::V4), ms(at));
            assert_eq!(schedule.wake_at(), Some(ms(look)));
            assert_eq!(schedule.due(ms(look), 0.5).families, [true, false]);
        }
        for at in [1110, 1200, 1900] {
            schedule.on(changed(Family::V4), ms(at));
            assert!(schedule.due(ms(at), 0.5).is_empty(), "{at}");
        }
        assert_eq!(schedule.wake_at(), Some(ms(2100)));
        assert_eq!(schedule.due(ms(2100), 0.5).families, [true, false]);
        assert_eq!(schedule.wake_at(), schedule.next_round());
    }

    #[test]
    fn one_family_does_not_wait_for_the_other() {
        let mut schedule = running();
        schedule.on(Event::Changed { family: Family::V6, is_settling: true }, ms(1000));
        schedule.on(changed(Family::V4), ms(1001));
        assert_eq!(schedule.due(ms(1001), 0.5).families, [true, false]);
    }

    #[test]
    fn an_address_that_settles_is_waited_for_but_not_for_ever() {
        let settling = Event::Changed { family: Family::V6, is_settling: true };
        let mut schedule = running();
        schedule.on(settling, ms(1000));
        assert!(schedule.due(ms(1000), 0.5).is_empty());
        schedule.on(changed(Family::V6), ms(2500));
        assert_eq!(schedule.due(ms(2500), 0.5).families, [false, true]);

        let mut schedule = running();
        schedule.on(settling, ms(1000));
        schedule.on(settling, ms(4000));
        assert_eq!(schedule.wake_at(), Some(ms(6000)));
        assert_eq!(schedule.due(ms(6000), 0.5).families, [false, true]);
    }

    #[test]
    fn an_address_that_flaps_is_damped_and_the_last_change_is_looked_at() {
        let mut schedule = running();
        let mut looks = Vec::new();
        // A thousand changes in a hundred seconds.
        for change in 0..1000 {
            let now = ms(1000 + change * 100);
            schedule.on(changed(Family::V4), now);
            if schedule.due(now, 0.5).families[0] {
                looks.push(now.as_secs());
            }
        }
        assert!(looks.len() < 12, "{looks:?}");
        let last = schedule.wake_at().expect("the last change");
        assert!(last <= ms(101_000) + LONGEST_GAP);
        assert!(schedule.due(last, 0.5).families[0], "it is looked at");
        // And when it is quiet again, the next is looked at at once.
        let later = last + LONGEST_GAP * 3;
        let _ = schedule.due(later, 0.5);
        schedule.on(changed(Family::V4), later);
        assert!(schedule.due(later, 0.5).families[0]);
        assert_eq!(schedule.attention[0].gap(), STEP);
    }

    #[test]
    fn a_source_that_fails_is_asked_again_sooner_than_the_interval() {
        let mut schedule = running();
        let mut now = Duration::ZERO;
        for step in [5, 10, 20] {
            schedule.looked(3, Family::V6, false, now, 0.5);
            let next = now + ms(step * 500);
            assert_eq!(schedule.wake_at(), Some(next));
            assert_eq!(schedule.due(next, 0.5).again, [(3, Family::V6)]);
            assert!(schedule.due(next, 0.5).is_empty(), "once");
            now = next;
        }
        schedule.looked(3, Family::V6, true, now, 0.5);
        assert_eq!(schedule.wake_at(), schedule.next_round());
    }

    #[test]
    fn whoever_asks_gets_a_round_at_once() {
        let mut schedule = running();
        schedule.on(Event::Asked, ms(5));
        assert_eq!(schedule.due(ms(5), 0.5).rounds, [0]);
    }

    proptest! {
        /// In any sequence of changes: every change is looked at after it came, soon, and looks never crowd.
        #[test]
        fn every_change_is_looked_at_and_looks_keep_their_distance(pauses in proptest::collection::vec((0..5000_u64, any::<bool>()), 1..200)) {
            let mut schedule = Schedule::new(&[Duration::from_secs(1_000_000)], Duration::ZERO);
            let _ = schedule.due(Duration::ZERO, 0.5);
            let (mut now, mut looks, mut waiting) = (Duration::ZERO, Vec::new(), None);
            for (pause, is_settling) in pauses {
                let next = now + ms(pause);
                while let Some(at) = schedule.wake_at().filter(|at| *at <= next) {
                    if schedule.due(at, 0.5).families[0] {
                        looks.push(at);
                        waiting = None;
                    }
                }
                now = next;
                schedule.on(Event::Changed { family: Family::V4, is_settling }, now);
                let since: Duration = *waiting.get_or_insert(now);
                let at = schedule.wake_at().expect("a look");
                prop_assert!(at >= now && at <= since.max(now) + LONGEST_GAP + SETTLING);
            }
            prop_assert!(looks.windows(2).all(|pair| pair[1] >= pair[0] + STEP), "{looks:?}");
            let steps = STEPS as usize + 1;
            prop_assert!(looks.windows(steps).all(|some| some[steps - 1] >= some[0] + GAP), "{looks:?}");
        }
    }
}
