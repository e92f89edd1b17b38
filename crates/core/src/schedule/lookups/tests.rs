use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use crate::schedule::debounce::{GAP, MAX_GAP, STEPS};

const INTERVAL: Duration = Duration::from_secs(300);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A schedule after its first round.
fn running() -> Schedule {
    let mut schedule = Schedule::new(&[INTERVAL], Duration::ZERO);
    assert_eq!(schedule.due(Duration::ZERO, 0.5).rounds, [0]);
    schedule
}

#[test]
fn rounds_come_at_the_interval_spread_by_a_tenth() {
    for (jitter, seconds) in [(0.0, 270), (0.5, 300), (1.0, 330)] {
        let mut schedule = Schedule::new(&[INTERVAL, INTERVAL * 12], Duration::ZERO);
        assert_eq!(schedule.due(Duration::ZERO, jitter).rounds, [0, 1]);
        assert_eq!(schedule.wake_at(), Some(Duration::from_secs(seconds)));
        assert!(schedule.due(ms(269_999), jitter).is_empty());
        assert_eq!(schedule.due(Duration::from_secs(seconds), jitter).rounds, [0]);
    }
}

#[test]
fn the_first_change_is_taken_at_once_and_those_that_follow_together() {
    let mut schedule = running();
    schedule.network_changed(Family::V4, ms(1000));
    assert_eq!(schedule.due(ms(1000), 0.5).families, [true, false]);
    // The steps of one change: the old address goes, the new one comes, its route follows.
    for (at, due) in [(1001, 1002), (1030, 1052)] {
        schedule.network_changed(Family::V4, ms(at));
        assert_eq!(schedule.wake_at(), Some(ms(due)));
        assert_eq!(schedule.due(ms(due), 0.5).families, [true, false]);
    }
    for at in [1060, 1200, 1900] {
        schedule.network_changed(Family::V4, ms(at));
        assert!(schedule.due(ms(at), 0.5).is_empty(), "{at}");
    }
    assert_eq!(schedule.wake_at(), Some(ms(2052)));
    assert_eq!(schedule.due(ms(2052), 0.5).families, [true, false]);
    assert_eq!(schedule.wake_at(), schedule.next_round());
}

#[test]
fn an_address_that_flaps_is_damped_and_the_last_change_is_not_lost() {
    let mut schedule = running();
    let mut lookups = Vec::new();
    // A thousand changes in a hundred seconds.
    for change in 0..1000 {
        let now = ms(1000 + change * 100);
        schedule.network_changed(Family::V4, now);
        if schedule.due(now, 0.5).families[0] {
            lookups.push(now.as_secs());
        }
    }
    assert!(lookups.len() < 12, "{lookups:?}");
    let last = schedule.wake_at().expect("the last change");
    assert!(last <= ms(101_000) + MAX_GAP);
    assert!(schedule.due(last, 0.5).families[0], "it is not lost");
    // When it is quiet again, ddns reacts to the next change at once.
    let later = last + MAX_GAP * 3;
    let _ = schedule.due(later, 0.5);
    schedule.network_changed(Family::V4, later);
    assert!(schedule.due(later, 0.5).families[0]);
    schedule.network_changed(Family::V4, later + ms(1));
    assert_eq!(schedule.wake_at(), Some(later + STEPS[0]), "and its next step soon after");
}

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(203, 0, 113, number).into()
}

/// The address changes at these times, each time to the address with this number. Two notifications come a millisecond apart:
/// the new address comes, the old one goes. Returns how many milliseconds after the second notification each change is looked
/// up.
fn delays(changes: &[(u64, u8)]) -> Vec<u128> {
    let mut schedule = running();
    schedule.looked_up(0, Family::V4, Some(address(0)), Duration::ZERO, 0.5);
    let mut delays = Vec::new();
    let mut open: Vec<Duration> = Vec::new();
    let mut has = 0;
    let mut wake = |schedule: &mut Schedule, open: &mut Vec<Duration>, has: u8, until: Duration| {
        while let Some(at) = schedule.wake_at().filter(|at| *at < until) {
            if schedule.due(at, 0.5).families[0] {
                delays.extend(open.drain(..).map(|changed| at.saturating_sub(changed).as_millis()));
                schedule.looked_up(0, Family::V4, Some(address(has)), at, 0.5);
            }
        }
    };
    for (at, number) in changes {
        wake(&mut schedule, &mut open, has, ms(*at));
        schedule.network_changed(Family::V4, ms(*at));
        wake(&mut schedule, &mut open, has, ms(at + 1));
        schedule.network_changed(Family::V4, ms(at + 1));
        open.push(ms(at + 1));
        has = *number;
    }
    wake(&mut schedule, &mut open, has, Duration::from_secs(200));
    delays
}

#[test]
fn an_address_that_is_new_each_time_is_no_flap() {
    let changes: Vec<(u64, u8)> = (1..=20).map(|number| (1600 * u64::from(number), number)).collect();
    assert_eq!(delays(&changes), [1; 20]);
}

#[test]
fn addresses_that_go_back_and_forth_are_damped() {
    let changes: Vec<(u64, u8)> = (1..=40).map(|number| (1600 * u64::from(number), number % 2)).collect();
    let delays = delays(&changes);
    assert_eq!(delays.len(), 40, "none is lost");
    assert_eq!(delays[..2], [1, 1], "the first time it is not known that they will");
    let late = delays.iter().filter(|delay| **delay > 1000).count();
    assert!(late > 30, "{delays:?}");
    assert!(delays.iter().all(|delay| *delay <= MAX_GAP.as_millis()), "{delays:?}");
}

#[test]
fn after_a_flap_an_address_that_is_new_makes_the_next_change_quick_again() {
    let flaps = (1..=6).map(|number| (1600 * u64::from(number), number % 2));
    let changes: Vec<(u64, u8)> = flaps.chain([(30_000, 7), (31_600, 8)]).collect();
    assert_eq!(delays(&changes)[6..], [1, 1]);
    // Without a new address, the flapping goes on.
    let flaps = (1..=6).map(|number| (1600 * u64::from(number), number % 2));
    let changes: Vec<(u64, u8)> = flaps.chain([(16_000, 1), (17_600, 0)]).collect();
    assert!(delays(&changes)[7] > 1000);
}

#[test]
fn a_source_that_fails_is_asked_again_sooner_than_the_interval() {
    let mut schedule = running();
    let mut now = Duration::ZERO;
    for step in [5, 10, 20] {
        schedule.looked_up(3, Family::V6, None, now, 0.5);
        let next = now + ms(step * 500);
        assert_eq!(schedule.wake_at(), Some(next));
        assert_eq!(schedule.due(next, 0.5).retries, [(3, Family::V6)]);
        assert!(schedule.due(next, 0.5).is_empty(), "once");
        now = next;
    }
    schedule.looked_up(3, Family::V6, Some(IpAddr::from([0; 16])), now, 0.5);
    assert_eq!(schedule.wake_at(), schedule.next_round());
}

#[test]
fn a_requested_round_comes_at_once() {
    let mut schedule = running();
    schedule.request(ms(5));
    assert_eq!(schedule.due(ms(5), 0.5).rounds, [0]);
}

#[test]
fn a_request_retries_everything_and_another_network_what_found_no_connection() {
    let mut schedule = running();
    assert_eq!(schedule.take_retry(), None, "a round is no reason");
    schedule.network_changed(Family::V4, ms(5));
    let _ = schedule.due(ms(5), 0.5);
    assert_eq!((schedule.take_retry(), schedule.take_retry()), (Some(false), None));
    schedule.request(ms(3000));
    schedule.network_changed(Family::V4, ms(3000));
    let _ = schedule.due(ms(3000), 0.5);
    assert_eq!(schedule.take_retry(), Some(true));
}

#[test]
fn what_is_due_names_its_entries_and_no_others() {
    let due = |rounds: &[usize], families, retries: &[(usize, Family)]| Due {
        rounds: rounds.to_vec(),
        families,
        retries: retries.to_vec(),
        is_asked_for: false,
    };
    // For entry 3 in configuration 1: IPv4 and IPv6.
    let cases = [
        (Due::default(), [false, false]),
        (due(&[0], [false; 2], &[]), [false, false]),
        (due(&[1], [false; 2], &[]), [true, true]),
        (due(&[], [true, false], &[]), [true, false]),
        (due(&[], [false, true], &[]), [false, true]),
        (due(&[], [false; 2], &[(3, Family::V6)]), [false, true]),
        (due(&[], [false; 2], &[(1, Family::V4)]), [false, false]),
        (Due::everything(1), [false, false]),
        (Due::everything(2), [true, true]),
    ];
    for (due, expected) in cases {
        assert_eq!(Family::ALL.map(|family| due.includes(1, 3, family)), expected, "{due:?}");
        assert_eq!(due.is_empty(), due == Due::default(), "{due:?}");
    }
}

proptest! {
    /// In any sequence of changes, a lookup soon follows every change, and lookups keep their distance.
    #[test]
    fn a_lookup_follows_every_change_and_lookups_keep_their_distance(pauses in proptest::collection::vec(0..5000_u64, 1..200)) {
        let mut schedule = Schedule::new(&[Duration::from_secs(1_000_000)], Duration::ZERO);
        let _ = schedule.due(Duration::ZERO, 0.5);
        let (mut now, mut lookups, mut waiting) = (Duration::ZERO, Vec::new(), None);
        for pause in pauses {
            let next = now + ms(pause);
            while let Some(at) = schedule.wake_at().filter(|at| *at <= next) {
                if schedule.due(at, 0.5).families[0] {
                    lookups.push(at);
                    waiting = None;
                }
            }
            now = next;
            schedule.network_changed(Family::V4, now);
            let since: Duration = *waiting.get_or_insert(now);
            let at = schedule.wake_at().expect("a lookup");
            prop_assert!(at >= now && at <= since.max(now) + MAX_GAP);
        }
        prop_assert!(lookups.windows(2).all(|pair| pair[1] >= pair[0] + STEPS[0]), "{lookups:?}");
        let more = STEPS.len() + 1;
        prop_assert!(lookups.windows(more + 1).all(|some| some[more] >= some[0] + GAP), "{lookups:?}");
    }
}
