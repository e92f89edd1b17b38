use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::update::outcome::Why;

const CAP: Duration = Duration::from_secs(300);

fn accepted() -> Outcome {
    Outcome::Accepted(204)
}

fn cut() -> Outcome {
    Outcome::Failed(Why::NoResponse { why: String::new(), reached: false })
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fixed(number: u16) -> Concurrency {
    NonZeroU16::new(number).map_or(Concurrency::Auto, Concurrency::Fixed)
}

fn to(origin: impl Into<String>) -> LaneKey {
    LaneKey { origin: origin.into(), strict: None }
}

/// A queue with all its jobs waiting in one lane.
fn one_lane(jobs: u32, concurrency: Concurrency, backoff: Option<Backoff>) -> (Queue, Lane) {
    let mut queue = Queue::new(jobs as usize, backoff);
    let lane = queue.lane(to("http://h"), concurrency);
    (0..jobs).for_each(|job| queue.push(job, lane));
    (queue, lane)
}

const WATCH: Option<Backoff> = Some(Backoff { cap: CAP });

fn started(queue: &mut Queue, now: Duration) -> Vec<UpdateId> {
    std::iter::from_fn(|| queue.start(now)).map(|(job, _)| job).collect()
}

#[test]
fn the_first_goes_alone_and_clean_rounds_double() {
    let (mut queue, lane) = one_lane(100, Concurrency::Auto, None);
    let mut sizes = Vec::new();
    let mut order = Vec::new();
    let mut now = Duration::ZERO;
    while !queue.is_idle() {
        let round = started(&mut queue, now);
        now += Duration::from_millis(50);
        sizes.push(round.len());
        for job in &round {
            queue.finish((*job, lane), &accepted(), None, now, 0.5);
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
        queue.finish((job, lane), &if job % 2 == 0 { cut() } else { accepted() }, None, Duration::ZERO, 0.5);
    }
    assert!(queue.is_idle());
}

#[test]
fn an_origin_that_hangs_holds_its_own_places_only() {
    let mut queue = Queue::new(2000, None);
    let hanging = queue.lane(to("http://hangs"), fixed(1000));
    let good = queue.lane(to("http://good"), Concurrency::Auto);
    (0..1000).for_each(|job| queue.push(job, hanging));
    (1000..2000).for_each(|job| queue.push(job, good));
    let mut sent = 0;
    loop {
        let round: Vec<(UpdateId, Lane)> = std::iter::from_fn(|| queue.start(Duration::ZERO)).collect();
        let mut good_ones = round.iter().filter(|(_, lane)| *lane == good).peekable();
        if good_ones.peek().is_none() {
            break;
        }
        for start in good_ones {
            sent += 1;
            queue.finish(*start, &accepted(), None, Duration::ZERO, 0.5);
        }
    }
    assert_eq!(sent, 1000);
}

/// Which job starts at which millisecond while the first ones hang; the others are accepted at once.
fn beside_hanging(hanging: u32, jobs: u32, concurrency: Concurrency) -> Vec<(u64, UpdateId)> {
    let (mut queue, lane) = one_lane(jobs, concurrency, WATCH);
    let mut starts = Vec::new();
    for now in 0..20_000 {
        let now = Duration::from_millis(now);
        while let Some((job, _)) = queue.start(now) {
            starts.push((u64::try_from(now.as_millis()).expect("a small number"), job));
            if job >= hanging {
                queue.finish((job, lane), &accepted(), None, now, 0.5);
            }
        }
        assert!(queue.hang_at().is_none_or(|at| at > now));
    }
    starts
}

#[test]
fn a6_beside_requests_that_hang_another_starts_each_quarter_of_a_second() {
    assert_eq!(beside_hanging(1, 4, Concurrency::Auto), [(0, 0), (250, 1), (250, 2), (250, 3)]);
    let expected: Vec<(u64, UpdateId)> = (0..10).map(|job| (250 * u64::from(job), job)).chain([(2500, 10)]).collect();
    assert_eq!(beside_hanging(10, 11, Concurrency::Auto), expected);
    assert_eq!(beside_hanging(100, 100, Concurrency::Auto).len(), 64, "no more than `auto` allows");
    assert_eq!(beside_hanging(1, 4, fixed(1)), [(0, 0)]);
    assert_eq!(beside_hanging(2, 4, fixed(2)), [(0, 0), (0, 1)]);
}

#[test]
fn a6_nothing_starts_beside_requests_that_hang_during_a_pause() {
    let (mut queue, lane) = one_lane(4, Concurrency::Auto, WATCH);
    let at = Duration::from_millis;
    assert_eq!(started(&mut queue, at(0)), [0]);
    assert_eq!(started(&mut queue, at(250)), [1]);
    queue.finish((1, lane), &Outcome::of_status(503), Some(seconds(60)), at(300), 0.0);
    for now in [500, 1000, 59_000, 60_299] {
        assert!(started(&mut queue, at(now)).is_empty(), "{now}");
    }
    assert_eq!(started(&mut queue, at(60_300)), [2], "the first one hangs still");
}

#[test]
fn a6_updates_that_fail_over_and_over_do_not_hold_one_back_that_did_not() {
    let (mut queue, lane) = one_lane(3, Concurrency::Auto, WATCH);
    let (mut now, mut pauses) = (Duration::ZERO, 0);
    for _ in 0..10 {
        for (job, outcome) in [(0, accepted()), (1, cut()), (2, cut())] {
            while queue.stage(job) != Stage::Sending {
                if queue.start(now).is_none() {
                    now = queue.wake_at().expect("a retry").max(now);
                }
            }
            queue.finish((job, lane), &outcome, None, now, 0.5);
        }
        pauses += usize::from(queue.lanes[lane].pause.is_some());
        // Its address has changed.
        queue.push(0, lane);
        assert_eq!(queue.pause_of(0), None);
    }
    assert!(pauses > 5, "their failures begin pauses: {pauses}");
}

#[test]
fn never_more_than_the_most_are_under_way() {
    let mut queue = Queue::new(5000, None);
    for job in 0..5000 {
        let lane = queue.lane(to(format!("http://{job}")), Concurrency::Auto);
        queue.push(job, lane);
    }
    assert_eq!(started(&mut queue, Duration::ZERO).len(), MAX_REQUESTS);
}

/// A lane with a high limit, full with [`FAIR_SHARE_FROM`] requests, and more jobs behind them.
fn full_lane(queue: &mut Queue) -> Lane {
    let lane = queue.lane(to("http://large"), fixed(1000));
    (0..1000).for_each(|job| queue.push(job, lane));
    assert_eq!(started(queue, Duration::ZERO).len(), FAIR_SHARE_FROM, "one lane alone gets no more");
    lane
}

#[test]
fn beyond_many_requests_a_lane_starts_its_first_one_and_no_second() {
    let mut queue = Queue::new(1002, None);
    let large = full_lane(&mut queue);
    let small = queue.lane(to("http://small"), fixed(2));
    (1000..1002).for_each(|job| queue.push(job, small));
    assert_eq!(started(&mut queue, Duration::ZERO), [1000]);
    queue.finish((1000, small), &accepted(), None, Duration::ZERO, 0.5);
    assert_eq!(started(&mut queue, Duration::ZERO), [1001], "it has none under way again");
    queue.finish((0, large), &accepted(), None, Duration::ZERO, 0.5);
    queue.finish((1, large), &accepted(), None, Duration::ZERO, 0.5);
    assert_eq!(started(&mut queue, Duration::ZERO), [256], "one place below the limit is free");
}

#[test]
fn a_place_that_is_given_back_goes_to_a_lane_that_was_crowded_out() {
    let mut queue = Queue::new(1002, None);
    let large = full_lane(&mut queue);
    // The lane that gives places back has nothing else queued.
    (256..1000).for_each(|job| queue.withdraw(job));
    let small = queue.lane(to("http://small"), fixed(2));
    (1000..1002).for_each(|job| queue.push(job, small));
    assert_eq!(started(&mut queue, Duration::ZERO), [1000]);
    queue.give_back((0, large));
    assert!(started(&mut queue, Duration::ZERO).is_empty(), "still as many as there may be");
    queue.give_back((1, large));
    assert_eq!(started(&mut queue, Duration::ZERO), [1001]);
}

#[test]
fn a_failed_update_is_retried_after_its_step_and_a_newer_address_waits_with_it() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    let mut now = Duration::ZERO;
    for step in [5, 10, 20, 40, 80, 160, 300, 300] {
        assert_eq!(started(&mut queue, now), [0]);
        queue.finish((0, lane), &Outcome::of_status(500), None, now, 0.5);
        queue.push(0, lane);
        let next = now + Duration::from_millis(step * 500);
        assert_eq!(queue.wake_at(), Some(next));
        assert!(started(&mut queue, next.saturating_sub(Duration::from_millis(1))).is_empty());
        now = next;
    }
    assert_eq!(started(&mut queue, now), [0]);
    queue.finish((0, lane), &accepted(), None, now, 0.5);
    assert!(queue.is_idle() && queue.wake_at().is_none() && queue.postponed() == 0);
}

#[test]
fn what_is_pushed_while_it_is_being_sent_is_reported_at_its_end() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.push(0, lane);
    assert!(started(&mut queue, Duration::ZERO).is_empty(), "never twice at once");
    assert!(queue.finish((0, lane), &accepted(), None, Duration::ZERO, 0.5));
    queue.push(0, lane);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    assert!(!queue.finish((0, lane), &accepted(), None, Duration::ZERO, 0.5));
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
            queue.finish((job, lane), &cut(), None, now, 0.9);
        }
        now = queue.wake_at().expect("a next try");
    }
    assert!(tries < 20, "{tries} tries");
    // Back again: everything is sent within one step.
    let mut sent = 0;
    let back = now;
    while sent < 100 {
        for job in started(&mut queue, now) {
            sent += 1;
            queue.finish((job, lane), &accepted(), None, now, 0.9);
        }
        if queue.is_idle() {
            now = queue.wake_at().unwrap_or(now);
        }
    }
    assert!(now <= back + CAP, "{now:?} {back:?}");
}

#[test]
fn one_failure_among_many_is_no_pause_and_those_that_follow_do_not_prolong_one() {
    let (mut queue, lane) = one_lane(9, Concurrency::Auto, WATCH);
    for round in [&[0][..], &[1, 2]] {
        assert_eq!(started(&mut queue, Duration::ZERO), round);
        for job in round {
            queue.finish((*job, lane), &accepted(), None, Duration::ZERO, 0.5);
        }
    }
    assert_eq!(started(&mut queue, Duration::ZERO), [3, 4, 5, 6]);
    queue.finish((3, lane), &cut(), None, Duration::ZERO, 0.5);
    assert_eq!(queue.pause_of(7), None, "the others may fare better");
    let until = Some(Duration::from_millis(2500));
    for (job, at) in [(4, 0), (5, 1), (6, 2)] {
        queue.finish((job, lane), &cut(), None, seconds(at), 0.5);
        assert_eq!(queue.pause_of(7).map(|pause| pause.until), until, "{job}");
    }
}

#[test]
fn retry_after_with_429_or_503_pauses_the_whole_origin_and_nothing_cuts_it_short() {
    for status in [429, 503] {
        let (mut queue, lane) = one_lane(10, Concurrency::Auto, WATCH);
        assert_eq!(started(&mut queue, Duration::ZERO), [0]);
        queue.finish((0, lane), &Outcome::of_status(status), Some(seconds(60)), Duration::ZERO, 0.0);
        queue.retry_now(true);
        assert!(started(&mut queue, seconds(59)).is_empty());
        assert!(queue.is_idle(), "nobody waits for the end of a pause");
        assert_eq!((queue.postponed(), queue.pause_of(1).map(|pause| pause.until)), (10, Some(seconds(60))));
        assert_eq!(queue.wake_at(), Some(seconds(60)));
        assert_eq!(started(&mut queue, seconds(60)), [1]);
    }
}

#[test]
fn retry_after_with_a_404_holds_for_its_own_update_alone() {
    let (mut queue, lane) = one_lane(2, Concurrency::Auto, WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.finish((0, lane), &Outcome::of_status(404), Some(seconds(60)), Duration::ZERO, 0.0);
    assert_eq!(started(&mut queue, Duration::ZERO), [1], "the other one does not wait for it");
    queue.finish((1, lane), &accepted(), None, Duration::ZERO, 0.5);
    assert_eq!(queue.wake_at(), Some(seconds(60)), "later than the backoff would have it");
    queue.retry_now(true);
    assert!(started(&mut queue, seconds(59)).is_empty(), "nothing cuts it short");
    assert_eq!(started(&mut queue, seconds(60)), [0]);
}

#[test]
fn however_long_an_endpoint_asks_for_it_is_a_day_at_most() {
    for status in [429, 503, 404] {
        let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
        assert_eq!(started(&mut queue, seconds(7)), [0]);
        queue.finish((0, lane), &Outcome::of_status(status), Some(Duration::MAX), seconds(7), 0.0);
        assert_eq!(queue.wake_at(), Some(seconds(7 + 86_400)), "{status}");
    }
}

#[test]
fn what_an_endpoint_asks_for_is_spread_over_an_interval_for_the_update_and_for_its_lane() {
    for (asked, jitter, expected) in [(3600, 0.5, 3750), (60, 0.5, 90), (3600, 0.0, 3600)] {
        let (mut queue, lane) = one_lane(2, Concurrency::Auto, WATCH);
        assert_eq!(started(&mut queue, Duration::ZERO), [0]);
        queue.finish((0, lane), &Outcome::of_status(503), Some(seconds(asked)), Duration::ZERO, jitter);
        assert_eq!(queue.retry(0).map(|retry| retry.at), Some(seconds(expected)));
        assert_eq!(queue.pause_of(1).map(|pause| pause.until), Some(seconds(expected)));
    }
}

#[test]
fn a_pause_names_the_failure_that_it_follows() {
    let (mut queue, lane) = one_lane(2, Concurrency::Auto, WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    assert_eq!(queue.pause_of(1), None);
    queue.finish((0, lane), &cut(), None, Duration::ZERO, 0.5);
    let pause = queue.pause_of(1).expect("a pause");
    assert_eq!((&pause.outcome, pause.requested), (&cut(), None));
}

#[test]
fn a6_in_strict_order_one_origin_does_not_hold_up_another() {
    let mut queue = Queue::new(6, WATCH);
    let [down, good] = ["http://down", "http://good"]
        .map(|origin| queue.lane(LaneKey { origin: origin.to_owned(), strict: Some(7) }, fixed(1)));
    for (job, lane) in [(0, down), (1, good), (2, down), (3, good), (4, good), (5, down)] {
        queue.push(job, lane);
    }
    queue.withdraw(3);
    let next = |queue: &mut Queue| {
        let start = queue.start(seconds(1));
        assert_eq!(queue.start(seconds(1)), None, "one at a time");
        start
    };
    assert_eq!(next(&mut queue), Some((0, down)));
    queue.finish((0, down), &cut(), None, seconds(1), 1.0);
    assert_eq!(next(&mut queue), Some((1, good)));
    queue.finish((1, good), &accepted(), None, seconds(1), 1.0);
    assert_eq!(next(&mut queue), Some((4, good)));
    queue.give_back((4, good));
    assert_eq!(next(&mut queue), None);
    assert!(queue.is_idle());
    let later = queue.wake_at().expect("the pause ends");
    assert_eq!(queue.start(later).map(|(job, _)| job), Some(2), "in the order of the file");
}

/// Retries that are due come after what was queued before them.
#[test]
fn a6_in_strict_order_a_lane_that_never_empties_leaves_turns_to_others() {
    let mut queue = Queue::new(4, Some(Backoff { cap: seconds(1) }));
    let [slow, good] = ["http://slow", "http://good"]
        .map(|origin| queue.lane(LaneKey { origin: origin.to_owned(), strict: Some(0) }, fixed(1)));
    (0..3).for_each(|job| queue.push(job, slow));
    queue.push(3, good);
    let mut order = Vec::new();
    for round in 0..5_u64 {
        let Some((job, lane)) = queue.start(seconds(round * 8)) else { break };
        order.push(job);
        let outcome = if lane == good { accepted() } else { Outcome::of_status(500) };
        queue.finish((job, lane), &outcome, None, seconds(round * 8 + 8), 0.5);
    }
    assert_eq!(order[..4], [0, 1, 2, 3]);
}

/// What an endpoint asks for does not make a longer pause of our own longer, nor a wish.
#[test]
fn a_pause_keeps_apart_what_was_asked_for() {
    let (mut queue, _) = one_lane(3, fixed(1), WATCH);
    let beside = queue.lane(to("http://h"), fixed(2));
    let first = queue.start(Duration::ZERO).expect("one");
    queue.finish(first, &cut(), None, Duration::ZERO, 1.0);
    let own = queue.pause_of(1).expect("a pause").until;
    // It moves to the other lane.
    queue.withdraw(2);
    queue.push(2, beside);
    let (job, _) = queue.start(Duration::ZERO).expect("one in the other lane");
    queue.finish((job, beside), &Outcome::of_status(429), Some(Duration::from_millis(1)), Duration::ZERO, 0.0);
    assert_eq!(queue.pause_of(1).map(|pause| pause.until), Some(own));
    queue.retry_now(true);
    assert!(queue.pause_of(1).is_none_or(|pause| pause.until < own), "only what was asked for is left");
}

#[test]
fn a6_a_requested_pause_counts_for_all_lanes_to_the_origin() {
    let mut queue = Queue::new(4, WATCH);
    let strict = |origin: &str| LaneKey { origin: origin.to_owned(), strict: Some(0) };
    let keys =
        [(to("http://h"), Concurrency::Auto), (strict("http://h"), fixed(1)), (strict("http://other"), fixed(1))];
    let lanes = keys.map(|(key, concurrency)| queue.lane(key, concurrency));
    (0..3).zip(lanes).for_each(|(job, lane)| queue.push(job, lane));
    assert_eq!(started(&mut queue, Duration::ZERO), [0, 1]);
    queue.finish((0, lanes[0]), &Outcome::of_status(429), Some(seconds(60)), Duration::ZERO, 0.0);
    queue.give_back((1, lanes[1]));
    queue.push(1, lanes[1]);
    assert_eq!(started(&mut queue, seconds(1)), [2]);
    let late = queue.lane(to("http://h"), fixed(2));
    queue.push(3, late);
    assert!(started(&mut queue, seconds(59)).is_empty());
    // Neither order nor limit of a new configuration changes whose pause it is.
    let mut next = Queue::new(2, WATCH).with_pauses(queue.requested_pauses(seconds(1)));
    let lanes = ["http://h", "http://other"].map(|origin| next.lane(strict(origin), fixed(1)));
    (0..2).zip(lanes).for_each(|(job, lane)| next.push(job, lane));
    assert_eq!(started(&mut next, seconds(1)), [1]);
}

#[test]
fn a_requested_pause_outlives_the_queue() {
    let (mut queue, lane) = one_lane(1, Concurrency::Auto, WATCH);
    let start = queue.start(Duration::ZERO).expect("one");
    queue.finish(start, &Outcome::of_status(503), Some(seconds(60)), Duration::ZERO, 0.0);
    let mut next = Queue::new(1, WATCH).with_pauses(queue.requested_pauses(seconds(1)));
    assert_eq!(next.lane(to("http://h"), Concurrency::Auto), lane);
    next.push(0, lane);
    assert!(started(&mut next, seconds(59)).is_empty());
    assert_eq!(next.wake_at(), Some(seconds(60)));
    assert_eq!(started(&mut next, seconds(60)), [0]);
}

#[test]
fn a_new_network_brings_back_at_once_what_found_no_connection() {
    let (mut queue, lane) = one_lane(2, fixed(2), WATCH);
    assert_eq!(started(&mut queue, Duration::ZERO), [0, 1]);
    queue.finish((0, lane), &cut(), None, Duration::ZERO, 0.9);
    queue.finish((1, lane), &Outcome::of_status(500), None, Duration::ZERO, 0.9);
    queue.retry_now(false);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.retry_now(true);
    assert_eq!(started(&mut queue, Duration::ZERO), [1]);
}

#[test]
fn what_is_withdrawn_is_not_sent() {
    let (mut queue, lane) = one_lane(3, fixed(1), WATCH);
    queue.withdraw(1);
    assert_eq!(started(&mut queue, Duration::ZERO), [0]);
    queue.finish((0, lane), &Outcome::of_status(500), None, Duration::ZERO, 0.5);
    queue.withdraw(0);
    assert_eq!(started(&mut queue, Duration::ZERO), [2]);
    queue.finish((2, lane), &accepted(), None, Duration::ZERO, 0.5);
    assert!(queue.is_idle() && queue.wake_at().is_none());
}

#[test]
fn what_cannot_be_sent_after_all_gives_its_place_back() {
    let (mut queue, lane) = one_lane(2, fixed(1), WATCH);
    let start = queue.start(Duration::ZERO).expect("one");
    queue.give_back(start);
    assert_eq!(queue.start(Duration::ZERO), Some((1, lane)));
    queue.finish((1, lane), &accepted(), None, Duration::ZERO, 0.5);
    assert!(queue.is_idle());
}

#[test]
fn a_lane_that_pauses_does_not_grow() {
    let (mut queue, lane) = one_lane(2, fixed(1), WATCH);
    let other = queue.lane(to("http://other"), fixed(1));
    let start = queue.start(Duration::ZERO).expect("one");
    queue.finish(start, &Outcome::of_status(503), Some(seconds(80_000)), Duration::ZERO, 0.0);
    for _ in 0..1000 {
        queue.withdraw(1);
        queue.push(1, lane);
    }
    assert!(queue.lanes[lane].queued.len() <= 2);
    // A job that moves to another lane starts there, and only there.
    queue.withdraw(1);
    queue.push(1, other);
    assert_eq!(queue.start(Duration::ZERO), Some((1, other)));
    assert_eq!(queue.start(seconds(80_000)).map(|(job, _)| job), Some(0));
}

#[test]
fn an_update_that_changed_its_lane_keeps_the_pause_of_the_new_one() {
    let keys = ["http://old", "http://new"].map(to);
    let pause = Pause { until: seconds(60), outcome: Outcome::of_status(503), requested: Some(seconds(60)) };
    let mut queue = Queue::new(2, WATCH).with_pauses(HashMap::from([(keys[1].origin.clone(), pause)]));
    let [old, new] = keys.map(|key| queue.lane(key, fixed(1)));
    (0..2).for_each(|job| queue.push(job, old));
    let first = queue.start(Duration::ZERO).expect("one");
    queue.withdraw(1);
    queue.push(1, new);
    queue.finish(first, &accepted(), None, Duration::ZERO, 0.5);
    queue.push(0, old);
    assert_eq!(queue.start(Duration::ZERO), Some((0, old)), "not the one that stood there before");
    queue.finish((0, old), &accepted(), None, Duration::ZERO, 0.5);
    assert_eq!(queue.start(seconds(59)), None);
    assert_eq!(queue.start(seconds(60)), Some((1, new)));
}

#[test]
fn what_starts_soon_is_known_before() {
    let (mut queue, lane) = one_lane(4, fixed(2), WATCH);
    let paused = queue.lane(to("http://paused"), fixed(1));
    assert_eq!(queue.starting_by(Duration::ZERO), [0, 1, 2, 3]);
    assert_eq!(started(&mut queue, Duration::ZERO), [0, 1]);
    queue.withdraw(2);
    assert_eq!(queue.starting_by(Duration::ZERO), [3], "neither what is being sent nor what was withdrawn");
    queue.finish((0, lane), &Outcome::of_status(404), Some(seconds(60)), Duration::ZERO, 0.0);
    queue.finish((1, lane), &accepted(), None, Duration::ZERO, 0.5);
    queue.push(1, paused);
    assert_eq!(queue.start(Duration::ZERO), Some((3, lane)));
    assert_eq!(queue.start(Duration::ZERO), Some((1, paused)));
    queue.finish((1, paused), &Outcome::of_status(503), Some(seconds(80)), Duration::ZERO, 0.0);
    queue.push(2, paused);
    for (then, expected) in [(59, &[][..]), (60, &[0]), (79, &[0]), (80, &[2, 0, 1])] {
        assert_eq!(queue.starting_by(seconds(then)), expected, "{then}");
    }
}

/// An address in the host of a URL creates a new origin with every change.
#[test]
fn lanes_that_are_over_make_room_for_others_and_those_that_are_needed_stay() {
    let mut queue = Queue::new(3, WATCH);
    let lane = |queue: &mut Queue, name: &str| queue.lane(to(format!("http://{name}")), fixed(1));
    let mut now = Duration::ZERO;
    let [kept, retrying] = ["kept", "retrying"].map(|name| lane(&mut queue, name));
    queue.keep(kept);
    queue.push(1, retrying);
    assert_eq!(queue.start(now), Some((1, retrying)));
    queue.finish((1, retrying), &Outcome::of_status(404), Some(MAX_PAUSE), now, 0.0);
    let mut used = HashSet::new();
    for number in 0..10_000 {
        let (own, pausing) = (lane(&mut queue, &format!("{number}")), lane(&mut queue, &format!("pausing-{number}")));
        for (job, lane, outcome) in [(0, own, accepted()), (2, pausing, Outcome::of_status(503))] {
            queue.push(job, lane);
            assert_eq!(queue.start(now), Some((job, lane)), "{number}");
            queue.finish((job, lane), &outcome, Some(seconds(60)), now, 0.0);
            used.insert(lane);
        }
        queue.withdraw(2);
        assert!(!used.contains(&kept) && !used.contains(&retrying), "{number}");
        now += seconds(5);
    }
    // Twelve lanes pause at any moment.
    assert!(used.len() < 100, "{} lanes", used.len());
    assert_eq!((lane(&mut queue, "kept"), lane(&mut queue, "retrying")), (kept, retrying));
}

#[test]
fn a_pause_that_is_over_is_not_handed_on() {
    let keys = ["http://old", "http://new"].map(to);
    let pause =
        |until| Pause { until: seconds(until), outcome: Outcome::of_status(503), requested: Some(seconds(until)) };
    let pauses = keys.clone().map(|key| key.origin).into_iter().zip([pause(60), pause(70)]).collect();
    let queue = Queue::new(1, WATCH).with_pauses(pauses);
    assert_eq!(queue.requested_pauses(seconds(60)), HashMap::from([(keys[1].origin.clone(), pause(70))]));
}

/// What can happen to a queue.
#[derive(Debug, Clone)]
enum QueueEvent {
    Push(UpdateId),
    Withdraw(UpdateId),
    Finish(usize, u8, Option<u64>),
    RetryNow(bool),
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<QueueEvent>> {
    let event = prop_oneof![
        4 => (0..8_u32).prop_map(QueueEvent::Push),
        1 => (0..8_u32).prop_map(QueueEvent::Withdraw),
        6 => (0..8_usize, 0..4_u8, proptest::option::weighted(0.1, 0..100_u64))
            .prop_map(|(which, how, requested)| QueueEvent::Finish(which, how, requested)),
        1 => any::<bool>().prop_map(QueueEvent::RetryNow),
        2 => (0..400_u64).prop_map(QueueEvent::Wait),
    ];
    proptest::collection::vec(event, 0..200)
}

proptest! {
    /// In any sequence of events, an update is never under way twice and never lost; it starts only after a push, never during
    /// a pause, and never beside more than configured.
    #[test]
    fn no_update_is_lost_and_none_is_sent_without_cause(
        events in events(),
        number in 0..3_u16,
        origins in prop_oneof![Just(2_usize), Just(1000)],
    ) {
        let mut queue = Queue::new(8, WATCH);
        let mut now = Duration::ZERO;
        let mut under_way: Vec<(UpdateId, Lane)> = Vec::new();
        // The lane that each job is queued in.
        let mut keys = [const { None }; 8];
        let mut pushes = 0;
        // Jobs that were pushed and not accepted since: they must be sent in the end.
        let mut owed = [false; 8];
        for event in events {
            match event {
                QueueEvent::Push(job) => {
                    let key = to(format!("http://{}", pushes % origins));
                    pushes += 1;
                    let lane = queue.lane(key.clone(), fixed(number));
                    if matches!(queue.stage(job), Stage::Idle | Stage::Withdrawn(_)) {
                        keys[job as usize] = Some((key, fixed(number)));
                    }
                    queue.push(job, lane);
                    owed[job as usize] = true;
                }
                QueueEvent::Withdraw(job) => {
                    queue.withdraw(job);
                    owed[job as usize] = under_way.iter().any(|(other, _)| *other == job) && owed[job as usize];
                }
                QueueEvent::Finish(which, how, requested) if !under_way.is_empty() => {
                    let start = under_way.remove(which % under_way.len());
                    let outcome = [accepted(), cut(), Outcome::of_status(503), Outcome::of_status(404)][how as usize].clone();
                    let again = queue.finish(start, &outcome, requested.map(seconds), now, 0.7);
                    owed[start.0 as usize] = !outcome.is_accepted();
                    if again && outcome.is_accepted() {
                        queue.push(start.0, start.1);
                        owed[start.0 as usize] = true;
                    }
                }
                QueueEvent::Finish(..) => {}
                QueueEvent::RetryNow(everything) => queue.retry_now(everything),
                QueueEvent::Wait(time) => now += seconds(time),
            }
            while let Some(start) = queue.start(now) {
                prop_assert!(owed[start.0 as usize], "sent without cause");
                prop_assert!(under_way.iter().all(|(job, _)| *job != start.0), "under way twice");
                let key = keys[start.0 as usize].as_ref().expect("it was pushed");
                prop_assert_eq!(queue.lanes.numbers.get(key), Some(&start.1), "in another lane");
                prop_assert!(queue.lanes[start.1].pause.is_none(), "during a pause");
                let beside = under_way.iter().filter(|(_, lane)| *lane == start.1).count();
                prop_assert!(number == 0 || beside < usize::from(number), "more at once than configured");
                under_way.push(start);
            }
        }
        // From here on, everything is accepted, and everything owed must be sent.
        for _ in 0..100 {
            for start in std::mem::take(&mut under_way) {
                owed[start.0 as usize] = false;
                queue.finish(start, &accepted(), None, now, 0.7);
            }
            under_way.extend(std::iter::from_fn(|| queue.start(now)));
            if under_way.is_empty() {
                let Some(next) = queue.wake_at() else { break };
                now = now.max(next);
            }
        }
        prop_assert!(owed.iter().all(|owed| !owed), "lost: {owed:?}");
        prop_assert!(queue.is_idle() && queue.postponed() == 0);
    }

    /// Whatever the jitter, and however many updates wait: an endpoint out of reach gets few attempts.
    #[test]
    fn the_rate_toward_an_endpoint_in_trouble_is_bounded(jitter in proptest::collection::vec(0.0..1.0_f64, 50), jobs in 1..200_u32) {
        let (mut queue, lane) = one_lane(jobs, Concurrency::Auto, WATCH);
        let mut now = Duration::ZERO;
        let mut tries = Vec::new();
        let mut jitter = jitter.into_iter().cycle();
        while tries.len() < 200 {
            for job in started(&mut queue, now) {
                tries.push(now);
                queue.finish((job, lane), &cut(), None, now, jitter.next().unwrap_or(0.5));
            }
            now = queue.wake_at().expect("a next try");
        }
        // Never two within a second.
        prop_assert!(tries.windows(2).all(|pair| pair[1] >= pair[0] + seconds(1)), "{tries:?}");
    }
}
