//! Runs the whole engine through thousands of random schedules of everything that can go wrong around it: processes that
//! share caches are killed, paused and reloaded; endpoints refuse, hang, lose requests and stop; addresses flap.
//!
//! `DDNS_TEST_SCHEDULES=200000 cargo test --release -p ddns-callback-core --test engine` runs more schedules;
//! `DDNS_TEST_SEED=N` repeats the one whose seed a failure names.

#![allow(clippy::disallowed_methods, reason = "this test asks the environment; the core does not")]

mod checks;
mod endpoint;
mod faults;
mod flaws;
mod laws;
mod lease;
#[path = "../simulation/random.rs"]
mod random;
mod setup;
mod world;

use std::collections::BTreeMap;
use std::env;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ddns_core::net::family::Family;
use endpoint::EndpointMode;
use faults::{Fault, Faults, Size};
use flaws::Flaw;
use random::Random;
use setup::{EntryShape, Shape, index};
use world::{Process, What, World};

/// How long things go wrong.
const TROUBLE: Duration = Duration::from_secs(20 * 60);

/// How long the processes may take to be up to date after everything healed: rounds, retries, pauses, waits.
const RECOVERY: Duration = Duration::from_secs(25 * 60);

/// Seeds from here on have requests around updates.
const AROUND: u64 = 1 << 62;

/// Seeds from here up to `AROUND` have `verify`, which asks DNS.
const VERIFIED: u64 = 1 << 61;

/// The schedule of a seed: the configurations, the size of the world, and the faults.
fn schedule(seed: u64) -> (Vec<Shape>, Size, Faults) {
    let mut around = (seed >= AROUND).then_some(Random(seed));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) ^ 0xface);
    let sites = if random.below(4) == 0 { 2 } else { 1 };
    let size = Size {
        processes: sites + [0, 0, 1, 2][index(&mut random, 4)].min(3 - sites),
        files: 1 + index(&mut random, 2),
        origins: 1 + index(&mut random, 3),
        kinds: [8, 12, 14, 16, 21, 21, 22, 22][index(&mut random, 8)],
    };
    let mut shapes = Vec::new();
    let mut number = 0;
    for site in 0..sites {
        let count = 1 + index(&mut random, if sites == 1 { 4 } else { 2 });
        let entries = (0..count)
            .map(|_| {
                number += 1;
                let (origins, files) =
                    (u64::try_from(size.origins).unwrap_or(1), u64::try_from(size.files).unwrap_or(1));
                let entry = EntryShape::any(number, origins, files, &mut random);
                match &mut around {
                    Some(around) => entry.asking(around),
                    None => entry,
                }
            })
            .collect();
        let interval = [60, 120, 300][index(&mut random, 3)];
        let concurrency = [None, None, None, Some(1), Some(2)][index(&mut random, 5)];
        let is_verified = (VERIFIED..AROUND).contains(&seed);
        shapes.push(Shape { site, interval, concurrency, is_verified, entries });
    }
    let faults = faults::list(&mut random, TROUBLE, &shapes, size);
    (shapes, size, faults)
}

/// Runs a schedule, and checks it to the end.
fn play(seed: u64, flaw: Flaw, (shapes, size, faults): &(Vec<Shape>, Size, Faults), is_traced: bool) -> World {
    let mut world = World::new(seed, flaw, shapes.clone(), size.files, size.origins);
    world.is_traced = is_traced;
    for process in 0..size.processes {
        let shape = Rc::clone(&world.shapes[process % shapes.len()]);
        let plan = world.plan_of(&shape);
        world.processes.push(Process::new(process % shapes.len(), plan, shape));
    }
    for (at, fault) in faults {
        world.at(*at, What::Fault(*fault));
    }
    world.at(TROUBLE, What::Fault(Fault::Heal));
    let mut then = Duration::ZERO;
    while then < TROUBLE + RECOVERY && world.wrong.is_none() {
        then += Duration::from_secs(60);
        world.run_until(then);
        world.tidy();
    }
    if world.wrong.is_none() {
        world.check_healed();
    }
    // L2, L3: only regular rounds follow, and nothing grows over them.
    if world.wrong.is_none() {
        let wakes: Vec<u64> = world.processes.iter().map(|process| process.wakes).collect();
        let mut sizes: Vec<[usize; 2]> = vec![[usize::MAX; 2]; wakes.len()];
        // Measuring costs a tenth of a schedule, so only a quarter of them does it.
        let is_measured = seed.is_multiple_of(4);
        for minute in 0..30 {
            then += Duration::from_secs(60);
            world.run_until(then);
            world.tidy();
            // A round in progress makes a process larger for a moment, so the smallest of several sizes counts.
            for half in [0, 30] {
                if is_measured && [0, 6, 23, 29].contains(&minute) {
                    world.run_until(then + Duration::from_secs(half));
                    for (process, least) in world.processes.iter().zip(&mut sizes) {
                        let of = usize::from(minute > 6);
                        least[of] = least[of].min(process.size());
                    }
                }
            }
        }
        for (process, (wakes, [size, grown])) in wakes.into_iter().zip(sizes).enumerate() {
            let woken = world.processes[process].wakes - wakes;
            let shape = &world.processes[process].shape;
            let has_steps = shape.entries.iter().any(|entry| entry.around.is_some());
            // Each question to DNS causes wake-ups of its own, and so does each step of updates that are sent every round because
            // they have no cache.
            let most = if shape.is_verified || has_steps { 12 } else { 8 };
            // Without a cache, `min_interval` ends for each update at its own time.
            let alone = shape.entries.iter().filter(|entry| entry.cache.is_none() && entry.min_interval > 0);
            let most =
                most + alone.map(|entry| entry.domains.iter().map(|count| *count as u64).sum::<u64>()).sum::<u64>();
            // Shared answers of steps are kept until something else happens.
            let more = if has_steps { size.saturating_add(4000) } else { size / 4 + 1000 };
            if woken > 1800 / 50 * most {
                world.fail(|| format!("L2: process {process} was woken {woken} times in half an hour of rest"));
            }
            if is_measured && grown > size.saturating_add(more) {
                world.fail(|| format!("L3: process {process} grew from {size} to {grown} in half an hour of rest"));
            }
        }
    }
    world
}

/// Repeats a failing schedule with as few faults as possible, and returns what happened last.
fn explain(seed: u64, flaw: Flaw) -> String {
    let (shapes, size, mut faults) = schedule(seed);
    let kind_of = |faults: &Faults| {
        let wrong = play(seed, flaw, &(shapes.clone(), size, faults.clone()), false).wrong;
        wrong.and_then(|wrong| wrong.split(": ").nth(1).map(str::to_owned))
    };
    // The reduced schedule must break the same rule.
    let kind = kind_of(&faults);
    let fails = |faults: &Faults| kind_of(faults) == kind;
    let mut at = 0;
    while at < faults.len() {
        let mut fewer = faults.clone();
        fewer.remove(at);
        if fails(&fewer) {
            faults = fewer;
        } else {
            at += 1;
        }
    }
    let world = play(seed, flaw, &(shapes.clone(), size, faults.clone()), true);
    let wrong = world.wrong.unwrap_or_default();
    let most = number("DDNS_TEST_LINES").and_then(|most| usize::try_from(most).ok()).unwrap_or(40);
    let skipped = world.trace.len().saturating_sub(most);
    let last: Vec<String> = world.trace.into_iter().skip(skipped).collect();
    let faults: Vec<String> = faults.iter().map(|(at, fault)| format!("  {at:?} {fault:?}")).collect();
    format!(
        "DDNS_TEST_SEED={seed}: {wrong}\nwith {shapes:#?}\n{}\nand at last:\n{}",
        faults.join("\n"),
        last.join("\n")
    )
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Runs many schedules on two threads. Returns the failures, and how often rare things happened.
fn many(seeds: impl Iterator<Item = u64>, flaw: Flaw) -> (Vec<(u64, String)>, BTreeMap<&'static str, u64>) {
    let seeds: Vec<u64> = seeds.collect();
    let halves: Vec<Vec<u64>> = (0..2).map(|half| seeds.iter().copied().skip(half).step_by(2).collect()).collect();
    let run = move |seeds: Vec<u64>| {
        let (mut wrong, mut counts) = (Vec::new(), BTreeMap::<&'static str, u64>::new());
        for seed in seeds {
            let Ok(world) = catch_unwind(|| play(seed, flaw, &schedule(seed), false)) else {
                wrong.push((seed, "at some time: panic".to_owned()));
                continue;
            };
            let alone = if world.processes.len() == 1 { " alone" } else { "" };
            wrong.extend(world.wrong.map(|text| (seed, format!("{text}{alone}"))));
            for (what, count) in world.counts {
                *counts.entry(what).or_default() += count;
            }
        }
        (wrong, counts)
    };
    let threads: Vec<_> = halves.into_iter().map(|seeds| thread::spawn(move || run(seeds))).collect();
    let (mut wrong, mut counts) = (Vec::new(), BTreeMap::new());
    for thread in threads {
        let (found, counted) = thread.join().expect("no panic");
        wrong.extend(found);
        for (what, count) in counted {
            *counts.entry(what).or_insert(0) += count;
        }
    }
    wrong.sort();
    (wrong, counts)
}

#[test]
fn e3_e4_e4a_h5_h6_h7_in_every_schedule_what_is_promised_holds() {
    if let Some(seed) = number("DDNS_TEST_SEED") {
        let world = play(seed, Flaw::None, &schedule(seed), false);
        assert!(world.wrong.is_none(), "{}", explain(seed, Flaw::None));
        return;
    }
    let count = number("DDNS_TEST_SCHEDULES").unwrap_or(3000);
    let first = number("DDNS_TEST_FIRST").unwrap_or(0);
    // Some new schedules in every run.
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() << 20);
    check((first..first + count).chain(fresh..fresh + count.div_ceil(10)), count, &RARE);
}

/// The same with requests around updates.
#[test]
fn h14_h17_h18_h19_what_is_promised_holds_with_requests_around_updates() {
    let count = number("DDNS_TEST_SCHEDULES").unwrap_or(1000);
    let first = AROUND + number("DDNS_TEST_FIRST").unwrap_or(0);
    check(first..first + count, count * 3, &["asked", "already there", "made", "followed", "asked in vain"]);
}

/// The same with `verify`: whatever DNS answers, and however late, everything holds (K2).
#[test]
fn k2_what_is_promised_holds_whatever_dns_says() {
    let count = number("DDNS_TEST_SCHEDULES").unwrap_or(1000);
    let first = VERIFIED + number("DDNS_TEST_FIRST").unwrap_or(0);
    check(first..first + count, count * 3, &["DNS asked", "forced"]);
}

/// One schedule with many domains. `DDNS_TEST_DOMAINS=100000` sets how many.
#[test]
fn e3_e4_what_is_promised_holds_with_many_domains() {
    let many = number("DDNS_TEST_DOMAINS").and_then(|many| usize::try_from(many).ok()).unwrap_or(1200);
    let entry = EntryShape { domains: [many / 2; 2], ..EntryShape::plain(1) };
    let shape = Shape { site: 0, interval: 300, concurrency: None, is_verified: false, entries: vec![entry] };
    let size = Size { processes: 1, files: 1, origins: 1, kinds: 22 };
    let faults = [
        Fault::Start(0, false),
        Fault::Address(Family::V4, true),
        Fault::KillSoon(0, 300),
        Fault::Start(0, false),
        Fault::EndpointMode(0, EndpointMode::Hangs),
        Fault::Address(Family::V6, true),
        Fault::EndpointMode(0, EndpointMode::Good),
        Fault::Damage(0),
        Fault::Address(Family::V4, false),
        Fault::Kill(0),
        Fault::Start(0, false),
    ];
    let faults =
        faults.into_iter().zip(0_u64..).map(|(fault, minute)| (Duration::from_secs(60 * minute), fault)).collect();
    let world = play(7, Flaw::None, &(vec![shape], size, faults), false);
    assert_eq!(world.wrong, None);
    let sent = world.counts.get("sent").and_then(|sent| usize::try_from(*sent).ok());
    assert!(sent.is_some_and(|sent| sent > many), "{:?}", world.counts);
}

/// Rare things, each of which must happen at least once in the default number of schedules.
const RARE: [&str; 19] = [
    "Retry-After",
    "a former file put back",
    "applied after it was given up",
    "applied after its process ended",
    "applied too late, or twice",
    "cancelled",
    "clock set",
    "damaged",
    "discarded",
    "killed between two effects",
    "killed with requests under way",
    "merged",
    "not sent because it could not be remembered",
    "not written",
    "reloaded",
    "sent with something in the place of an address",
    "service up to date",
    "single run ended well",
    "waited for another process",
];

/// Runs these schedules, and fails if any of them fails.
fn check(seeds: impl Iterator<Item = u64>, count: u64, rare: &[&'static str]) {
    let (wrong, counts) = many(seeds, Flaw::None);
    let kinds: BTreeMap<String, usize> = wrong.iter().fold(BTreeMap::new(), |mut kinds, (_, text)| {
        let alone = if text.ends_with("alone") { " alone" } else { "" };
        *kinds.entry(format!("{}{alone}", text.split(": ").nth(1).unwrap_or_default())).or_default() += 1;
        kinds
    });
    let mut shown: Vec<&(u64, String)> = wrong.iter().collect();
    shown.sort_by_key(|(seed, text)| (!text.ends_with("alone"), *seed));
    let list: Vec<String> = shown.iter().take(20).map(|(seed, text)| format!("{seed}: {text}")).collect();
    assert!(
        wrong.is_empty(),
        "{} of {count} schedules: {kinds:?}\n{}\n{counts:#?}\nthe first:\n{}",
        wrong.len(),
        list.join("\n"),
        explain(wrong[0].0, Flaw::None)
    );
    for what in rare.iter().filter(|_| count >= 3000) {
        assert!(counts.get(*what).is_some_and(|count| *count > 0), "never happened: {what}");
    }
}

/// Each of these seeds once found a bug.
#[test]
fn h7_h14_h17_schedules_that_once_failed_stay_right() {
    let around = [
        2_286, 8_437, 78_559, 105_242, 120_492, 216_370, 217_078, 240_310, 269_624, 307_751, 7_010_606, 7_013_334,
        7_031_112, 14_424_363, 15_388_651, 19_228_184, 19_337_018, 38_443_546, 38_456_015, 47_314_088, 47_582_239,
        47_587_801, 52_800_514, 52_800_795, 58_589_763,
    ]
    .map(|seed| AROUND + seed);
    let verified = [1_431, 2_875, 112_762, 182_550, 317_667, 4_052_972].map(|seed| VERIFIED + seed);
    let plain = [
        51_323,
        99_067,
        390_080,
        727_590,
        913_773,
        974_314,
        1_332_460,
        1_398_123,
        1_470_642,
        1_495_053,
        1_014_515,
        1_204_434,
        1_627_358,
        1_715_271,
        1_788_824,
        1_798_066,
        4_015_714,
        36_016_084,
        36_161_851,
        36_167_200,
        48_018_065,
        48_169_370,
        48_247_954,
        72_142_531,
        72_151_460,
        84_400_937,
        110_458_499,
        110_478_332,
        147_625_132,
    ];
    for seed in plain.into_iter().chain([1_882_181_251_105_043, 1_882_273_450_296_225]).chain(around).chain(verified) {
        let wrong = play(seed, Flaw::None, &schedule(seed), false).wrong;
        assert_eq!(wrong, None, "DDNS_TEST_SEED={seed}");
    }
}

/// The simulation finds deliberate mistakes.
#[test]
fn e4_mistakes_around_the_engine_are_found() {
    let cases = [
        (Flaw::SendBeforePersisted, &["S2", "S3", "S4"][..]),
        (Flaw::NoDiscard, &["S2", "S3"]),
        (Flaw::BelieveFailedWrite, &["S2", "S3", "S4"]),
        (Flaw::IgnoreForeign, &["S2", "S3", "S4", "S6"]),
        (Flaw::NeverReached, &["S3", "S6", "S15"]),
        (Flaw::AlwaysReached, &["S5"]),
        // Abandoned requests.
        (Flaw::ForgetfulReload, &["S1", "S4"]),
        // Pauses.
        (Flaw::ForgetfulReload, &["S7"]),
        (Flaw::MarkFirst, &["S2", "S3"]),
        (Flaw::IntervalFromResponse, &["S6"]),
        (Flaw::BelieveFormer, &["S3", "S15"]),
        (Flaw::BelieveMissing, &["S2", "S3"]),
        (Flaw::HungLane, &["S12"]),
        (Flaw::OldAnswer, &["S3", "S15", "L1"]),
        (Flaw::RefusedIsAccepted, &["S15"]),
        (Flaw::NeedlessSubstitute, &["S16"]),
    ];
    for (flaw, expected) in cases {
        let first = if flaw == Flaw::OldAnswer { AROUND } else { 0 };
        let found = (first..first + 1000).find_map(|seed| {
            let wrong = play(seed, flaw, &schedule(seed), false).wrong?;
            wrong.split(": ").nth(1).filter(|kind| expected.contains(kind)).map(|_| seed)
        });
        assert!(found.is_some(), "{flaw:?} {expected:?}");
    }
}

/// R1
#[test]
fn the_same_seed_gives_the_same_events_and_effects() {
    for seed in 0..20 {
        let [one, other] = [(); 2].map(|()| play(seed, Flaw::None, &schedule(seed), true).trace);
        assert!(one == other, "DDNS_TEST_SEED={seed}");
    }
}
