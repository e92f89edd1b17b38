use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;

const CAP: Duration = Duration::from_secs(300);

fn accepted() -> Outcome {
    Outcome::Accepted(204)
}

fn cut() -> Outcome {
    Outcome::Failed { why: String::new(), reached: false }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fixed(number: u16) -> Concurrency {
    NonZeroU16::new(number).map_or(Concurrency::Auto, Concurrency::Fixed)
}

/// A queue with all of its jobs waiting in one lane.
fn one_lane(jobs: u32, concurrency: Concurrency, backoff: Option<Backoff>) -> (Queue, Lane) {
    let mut queue = Queue::new(jobs as usize, backoff);
    let lane = queue.lane(LaneKey::Origin("http://h".to_owned()), concurrency);
    (0..jobs).for_each(|job| queue.want(job, lane));
    (queue, lane)
}

const WATCH: Option<Backoff> = Some(Backoff { cap: CAP });

fn started(queue: &mut Queue, now: Duration) -> Vec<Job> {
    std::iter::from_fn(|| queue.start(now)).map(|(job, _)| job).collect()
}

#[test]
fn the_first_goes_alone_and_clean_rounds_double() {
    let (mut queue, lane) = one_lane(100, Concurrency::Auto, None);
    let mut sizes = Vec::new();
    let mut order = Vec::new();
    while !queue.is_idle() {
        let round = started(&mut queue, Duration::ZERO);
        sizes.push(round.len());
        for job in &round {
            queue.ended((*job, lane), &accepted(), None, Duration::ZERO, 0.5);
        }
        order.extend(round);
    }
    assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 37]);
    assert!(order.is_sorted(), "in the order of the configuration");
}

#[test]
fn one_at_a_time_is_strict_order_whatever_happens() {
    let (mut queue, lane) = one_lane(5, fixed(1), None);
    for job in 0..5 {
        assert_eq!(queue.start(Duration::ZERO), Some((job, lane)));
        assert_eq!(queue.start(Duration::ZERO), None);
        queue.ended((job, lane), &if job % 2 == 0 { cut() } else { accepted() }, None, Duration::ZERO, 0.5);
    }
    assert!(queue.is_idle());
}

#[test]
fn an_origin_that_hangs_holds_its_own_places_only() {
    let mut queue = Queue::new(2000, None);
    let hanging = queue.lane(LaneKey::Origin("http://hangs".to_owned()), fixed(1000));
    let good = queue.lane(LaneKey::Origin("http://good".to_owned()), Concurrency::Auto);
    (0..1000).for_each(|job| queue.want(job, hanging));
    (1000..2000).for_each(|job| queue.want(job, good));
    let mut told = 0;
    loop {
        let round: Vec<(Job, Lane)> = std::iter::from_fn(|| queue.start(Duration::ZERO)).collect();
        let mut good_ones = round.iter().filter(|(_, lane)| *lane == good).peekable();
        if good_ones.peek().is_none() {
            break;
        }
        for start in good_ones {
            told += 1;
            queue.ended(*start, &accepted(), None, Duration::ZERO, 0.5);
        }
    }
    assert_eq!(told, 1000);
}

#[test]
fn never_more_than_the_most_are_under_way() {
    let mut queue = Queue::new(5000, None);
    for job in 0..5000 {
        let lane = queue.lane(LaneKey::Origin(format!("http://{job}")), Concurrency::Auto);
        queue.want(job, lane);
    }
    assert_eq!(started(&mut queue, Duration::ZERO).len(), MOST);
}

#[test]
fn a_failed_update_is_tried_again_after_its_step_and_a_newer_address_waits_with_it() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    let mut now = Duration::ZERO;
    for step in [5, 10, 20, 40, 80, 160, 300, 300] {
        assert_eq!(started(&mut queue, now), [0]);
        queue.ended((0, lane), &Outcome::Refused(500), None, now, 0.5);
        queue.want(0, lane);
        let next = now + Duration::from_millis(step * 500);
        assert_eq!(queue.wake_at(), Some(next));
        assert!(started(&mut queue, next.saturating_sub(Duration::from_millis(1))).is_empty());
        now = next;
    }
    assert_eq!(started(&mut queue, now), [0]);
    queue.ended((0, lane), &accepted(), None, now, 0.5);
    assert!(queue.is_idle() && queue.wake_at().is_none() && queue.untold() == 0);
}

#[test]
fn what_is_wanted_while_it_is_under_way_is_told_so_at_its_end() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.want(0, lane);
    assert!(started(&mut queue, Duration::ZERO).is_empty(), "never twice at once");
    assert!(queue.ended((0, lane), &accepted(), None, Duration::ZERO, 0.5));
    queue.want(0, lane);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    assert!(!queue.ended((0, lane), &accepted(), None, Duration::ZERO, 0.5));
}

#[test]
fn an_endpoint_out_of_reach_is_probed_by_one_and_all_follow_when_it_is_back() {
    let (mut queue, lane) = one_lane(100, Concurrency::Auto, WATCH);
    let mut now = Duration::ZERO;
    let mut tries = 0;
    // Down for ten minutes.
    while now < seconds(600) {
        for job in started(&mut queue, now) {
            tries += 1;
            queue.ended((job, lane), &cut(), None, now, 0.9);
        }
        now = queue.wake_at().expect("a next try");
    }
    assert!(tries < 20, "{tries} tries");
    // Back: within one step everything is told.
    let mut told = 0;
    let back = now;
    while told < 100 {
        for job in started(&mut queue, now) {
            told += 1;
            queue.ended((job, lane), &accepted(), None, now, 0.9);
        }
        if queue.is_idle() {
            now = queue.wake_at().unwrap_or(now);
        }
    }
    assert!(now <= back + CAP, "{now:?} {back:?}");
}

#[test]
fn retry_after_with_429_or_503_rests_the_whole_origin_and_is_kept_even_when_asked_to_hurry() {
    for status in [429, 503] {
        let (mut queue, lane) = one_lane(10, Concurrency::Auto, WATCH);
        assert_eq!(started(&mut queue, Duration::ZERO), [0]);
        queue.ended((0, lane), &Outcome::Refused(status), Some(seconds(60)), Duration::ZERO, 0.5);
        queue.hurry(true);
        assert!(started(&mut queue, seconds(59)).is_empty());
        assert!(queue.is_idle(), "nobody waits for those who are left alone");
        assert_eq!((queue.untold(), queue.held_until(1)), (10, Some(seconds(60))));
        assert_eq!(queue.wake_at(), Some(seconds(60)));
        assert_eq!(started(&mut queue, seconds(60)), [1]);
    }
    let (mut queue, lane) = one_lane(2, Concurrency::Auto, WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.ended((0, lane), &Outcome::Refused(404), Some(seconds(60)), Duration::ZERO, 0.5);
    assert_eq!(started(&mut queue, Duration::ZERO), [1], "another status rests its own update only");
}

#[test]
fn however_long_an_endpoint_asks_for_it_is_a_day_at_most() {
    for status in [429, 503, 404] {
        let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
        assert_eq!(started(&mut queue, seconds(7)), [0]);
        queue.ended((0, lane), &Outcome::Refused(status), Some(Duration::MAX), seconds(7), 0.5);
        assert_eq!(queue.wake_at(), Some(seconds(7 + 86_400)), "{status}");
    }
}

#[test]
fn a_rest_that_was_asked_for_outlives_the_queue() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    let start = queue.start(Duration::ZERO).expect("one");
    queue.ended(start, &Outcome::Refused(503), Some(seconds(60)), Duration::ZERO, 0.5);
    let mut next = Queue::new(1, WATCH).resting(queue.asked_rests());
    assert_eq!(next.lane(LaneKey::Origin("http://h".to_owned()), Concurrency::Auto), lane);
    next.want(0, lane);
    assert!(started(&mut next, seconds(59)).is_empty());
    assert_eq!(next.wake_at(), Some(seconds(60)));
    assert_eq!(started(&mut next, seconds(60)), [0]);
}

#[test]
fn a_new_network_brings_back_at_once_what_found_no_connection() {
    let (mut queue, lane) = one_lane(2, fixed(2), WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0, 1]);
    queue.ended((0, lane), &cut(), None, Duration::ZERO, 0.9);
    queue.ended((1, lane), &Outcome::Refused(500), None, Duration::ZERO, 0.9);
    queue.hurry(false);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.hurry(true);
    assert_eq!(started(&mut queue, Duration::ZERO), [1]);
}

#[test]
fn what_need_not_be_told_any_more_is_not() {
    let (mut queue, lane) = one_lane(3, fixed(1), WATCH);
    queue.forget(1);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.ended((0, lane), &Outcome::Refused(500), None, Duration::ZERO, 0.5);
    queue.forget(0);
    assert_eq!(started(&mut queue, Duration::ZERO), [2]);
    queue.ended((2, lane), &accepted(), None, Duration::ZERO, 0.5);
    assert!(queue.is_idle() && queue.wake_at().is_none());
}

#[test]
fn what_cannot_be_sent_after_all_gives_its_place_back() {
    let (mut queue, lane) = one_lane(2, fixed(1), WATCH);
    let start = queue.start(Duration::ZERO).expect("one");
    queue.give_back(start);
    assert_eq!(queue.start(Duration::ZERO), Some((1, lane)));
    queue.ended((1, lane), &accepted(), None, Duration::ZERO, 0.5);
    assert!(queue.is_idle());
}

#[test]
fn a_lane_that_rests_does_not_grow() {
    let (mut queue, lane) = one_lane(2, fixed(1), WATCH);
    let other = queue.lane(LaneKey::Origin("http://other".to_owned()), fixed(1));
    let start = queue.start(Duration::ZERO).expect("one");
    queue.ended(start, &Outcome::Refused(503), Some(seconds(80_000)), Duration::ZERO, 0.5);
    for _ in 0..1000 {
        queue.forget(1);
        queue.want(1, lane);
    }
    assert!(queue.lanes[lane.0 as usize].waiting.len() <= 2);
    // One that goes elsewhere now starts there, and there alone.
    queue.forget(1);
    queue.want(1, other);
    assert_eq!(queue.start(Duration::ZERO), Some((1, other)));
    assert_eq!(queue.start(seconds(80_000)).map(|(job, _)| job), Some(0));
}

/// What can happen to a queue.
#[derive(Debug, Clone)]
enum Happening {
    Want(Job),
    Drop(Job),
    End(usize, u8, Option<u64>),
    Hurry(bool),
    Wait(u64),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let happening = prop_oneof![
        4 => (0..8_u32).prop_map(Happening::Want),
        1 => (0..8_u32).prop_map(Happening::Drop),
        6 => (0..8_usize, 0..4_u8, proptest::option::weighted(0.1, 0..100_u64))
            .prop_map(|(which, how, asked)| Happening::End(which, how, asked)),
        1 => any::<bool>().prop_map(Happening::Hurry),
        2 => (0..400_u64).prop_map(Happening::Wait),
    ];
    proptest::collection::vec(happening, 0..200)
}

proptest! {
    /// In any sequence of events: an update is never under way twice, never lost, and starts only when wanted.
    #[test]
    fn no_update_is_lost_and_none_is_sent_without_cause(happenings in happenings(), number in 0..3_u16) {
        let mut queue = Queue::new(8, WATCH);
        let lanes = [0, 1].map(|at| queue.lane(LaneKey::Origin(format!("http://{at}")), fixed(number)));
        let mut now = Duration::ZERO;
        let mut under_way: Vec<(Job, Lane)> = Vec::new();
        // Wanted and not accepted since: what must come in the end.
        let mut owed = [false; 8];
        for happening in happenings {
            match happening {
                Happening::Want(job) => {
                    queue.want(job, lanes[job as usize % 2]);
                    owed[job as usize] = true;
                }
                Happening::Drop(job) => {
                    queue.forget(job);
                    owed[job as usize] = under_way.iter().any(|(other, _)| *other == job) && owed[job as usize];
                }
                Happening::End(which, how, asked) if !under_way.is_empty() => {
                    let start = under_way.remove(which % under_way.len());
                    let outcome = [accepted(), cut(), Outcome::Refused(503), Outcome::Refused(404)][how as usize].clone();
                    let again = queue.ended(start, &outcome, asked.map(seconds), now, 0.7);
                    owed[start.0 as usize] = !outcome.is_accepted();
                    if again && outcome.is_accepted() {
                        queue.want(start.0, start.1);
                        owed[start.0 as usize] = true;
                    }
                }
                Happening::End(..) => {}
                Happening::Hurry(everything) => queue.hurry(everything),
                Happening::Wait(time) => now += seconds(time),
            }
            while let Some(start) = queue.start(now) {
                prop_assert!(owed[start.0 as usize], "sent without cause");
                prop_assert!(under_way.iter().all(|(job, _)| *job != start.0), "under way twice");
                under_way.push(start);
            }
        }
        // From here on everything is accepted: all that is owed comes.
        for _ in 0..100 {
            for start in std::mem::take(&mut under_way) {
                owed[start.0 as usize] = false;
                queue.ended(start, &accepted(), None, now, 0.7);
            }
            under_way.extend(std::iter::from_fn(|| queue.start(now)));
            if under_way.is_empty() {
                let Some(next) = queue.wake_at() else { break };
                now = now.max(next);
            }
        }
        prop_assert!(owed.iter().all(|owed| !owed), "lost: {owed:?}");
        prop_assert!(queue.is_idle() && queue.untold() == 0);
    }

    /// However the dice fall and however many updates wait: an endpoint out of reach sees few tries.
    #[test]
    fn the_rate_toward_an_endpoint_in_trouble_is_bounded(dice in proptest::collection::vec(0.0..1.0_f64, 50), jobs in 1..200_u32) {
        let (mut queue, lane) = one_lane(jobs, Concurrency::Auto, WATCH);
        let mut now = Duration::ZERO;
        let mut tries = Vec::new();
        let mut dice = dice.into_iter().cycle();
        while tries.len() < 200 {
            for job in started(&mut queue, now) {
                tries.push(now);
                queue.ended((job, lane), &cut(), None, now, dice.next().unwrap_or(0.5));
            }
            now = queue.wake_at().expect("a next try");
        }
        // Never two in the same second.
        prop_assert!(tries.windows(2).all(|pair| pair[1] >= pair[0] + seconds(1)), "{tries:?}");
    }
}
