//! A group of three to five members with everything that can go wrong between them, their store and their endpoint, in thousands
//! of schedules by chance.
//!
//! `DDNS_TEST_SCHEDULES=100000 cargo test -p ddns-group --test simulation -- --nocapture` runs more; `DDNS_TEST_SEED=N` runs
//! the one whose seed a failure names.

#![allow(clippy::disallowed_methods, reason = "this test asks the environment; the core does not")]

mod faults;
mod node;
#[path = "../../../core/tests/simulation/random.rs"]
mod random;
mod sending;
mod store;
mod world;

use std::env;
use std::time::Duration;

use faults::Fault;
use world::{Flaw, What, World};

/// How long everything goes wrong.
const TROUBLE: Duration = Duration::from_secs(60);

/// Beyond the lease, after the network heals (J1).
const GRACE: Duration = Duration::from_secs(2);

/// Puts faults on the way: each begins, and most of them end before everything heals.
fn plan(world: &mut World) {
    let count = u64::try_from(world.nodes.len()).unwrap_or(3);
    for node in 0..world.nodes.len() {
        let at = world.random.up_to(Duration::from_secs(3));
        world.at(at, What::Fault(Fault::Start(node)));
    }
    world.loss = [0, 0, 5, 20][usize::try_from(world.random.below(4)).unwrap_or(0)];
    world.is_slow = world.random.below(2) == 0;
    for _ in 0..world.random.below(12) {
        let begin = world.random.up_to(TROUBLE);
        let end = (begin + world.random.up_to(world.lease() * 3)).min(TROUBLE);
        let node = usize::try_from(world.random.below(count)).unwrap_or(0);
        let (first, second) = match world.random.below(12) {
            0 => (Fault::Link(node, false), Fault::Link(node, true)),
            1 => (Fault::Endpoint(node, false), Fault::Endpoint(node, true)),
            2 => (Fault::Address(node, false), Fault::Address(node, true)),
            3 => (Fault::NewAddress(node), Fault::NewAddress(node)),
            4 | 5 => (Fault::Pause(node, end.saturating_sub(begin)), Fault::NewAddress(node)),
            6 => (Fault::Kill(node), Fault::Start(node)),
            7 => (Fault::Terminate(node), Fault::Start(node)),
            8 | 9 => {
                going_back(world, begin, end);
                continue;
            }
            _ => {
                election(world, begin);
                continue;
            }
        };
        world.at(begin, What::Fault(first));
        world.at(end, What::Fault(second));
    }
    // Some stay without an endpoint or an address; one is left whole.
    if world.random.below(4) == 0 {
        let whole = !(1 << world.random.below(count));
        world.unreaching = u32::try_from(world.random.below(32)).unwrap_or(0) & whole;
        world.homeless = u32::try_from(world.random.below(32)).unwrap_or(0) & whole;
    }
    world.at(TROUBLE, What::Fault(Fault::Heal));
}

/// The store is ended, and is then as it was once, or empty (J7).
fn going_back(world: &mut World, kept: Duration, back: Duration) {
    let ended = back.saturating_sub(world.random.up_to(world.lease()));
    let is_wiped = world.random.below(3) == 0;
    let is_another = world.random.below(3) == 0;
    world.at(kept, What::Fault(Fault::Keep));
    world.at(ended.max(kept), What::Fault(Fault::LoseLeader(ended)));
    world.at(back, What::Fault(Fault::GoBack { is_wiped, is_another }));
}

/// The leader loses its majority. It steps down within two election timeouts; another is elected after one at the earliest.
fn election(world: &mut World, begin: Duration) {
    let elected = begin + Duration::from_millis(900) + world.random.up_to(Duration::from_secs(1));
    let elected = if world.random.below(3) == 0 { elected + world.random.up_to(world.lease() * 2) } else { elected };
    let stale_until = begin + Duration::from_secs(2);
    let bits = u32::try_from(world.random.below(32)).unwrap_or(0);
    // Often the old leader, and who is with it, stay cut off.
    if world.random.below(2) == 0 {
        let end = (stale_until + world.lease() * 2).min(TROUBLE);
        for node in (0..world.nodes.len()).filter(|node| bits & (1 << node) != 0) {
            world.at(stale_until.min(TROUBLE), What::Fault(Fault::Link(node, false)));
            world.at(end, What::Fault(Fault::Link(node, true)));
        }
    }
    world.at(begin, What::Fault(Fault::LoseLeader(stale_until)));
    world.at(begin, What::Fault(Fault::Stale(bits)));
    world.at(elected.min(TROUBLE), What::Fault(Fault::Elect));
    world.at(stale_until.max(elected).min(TROUBLE), What::Fault(Fault::Unstale));
}

/// One schedule; fails with what was wrong.
fn run(seed: u64, flaw: Flaw) -> Result<(), String> {
    let mut world = World::new(seed, flaw);
    plan(&mut world);
    // A call that is lost while the store goes back ends a little later.
    world.run_until(TROUBLE);
    let lost = if world.era > 0 { world.lease() / 3 } else { Duration::ZERO };
    world.run_until(TROUBLE + world.lease() + GRACE + lost);
    let wrong = |world: &World| world.wrong.clone().map_or(Ok(()), Err);
    wrong(&world)?;
    if world.open_after_heal.is_none() {
        return Err(format!("nobody may send {:?} after the network healed", world.lease() + GRACE));
    }
    // At the end the endpoint has the address of the holder, and that one could send it (J5).
    for _ in 0..600 {
        world.run_until(world.now + Duration::from_secs(1));
        wrong(&world)?;
        if let Some(holder) = world.nodes.iter().find(|node| node.is_settled(world.now)) {
            if world.store.holder() != holder.lease() {
                return Err(format!(
                    "the store has {:?} as the holder, not {:?}",
                    world.store.holder(),
                    holder.lease()
                ));
            }
            if world.store.is_older && holder.is_unaware {
                return Ok(());
            }
            let (address, expected) = (world.endpoint.0, Some(holder.address));
            let remembered = world.store.remembered.accepted;
            return if (address, remembered) == (expected, expected) {
                Ok(())
            } else {
                Err(format!("the endpoint has {address:?}, the store {remembered:?}, the holder {expected:?}"))
            };
        }
    }
    Err("the holder's address is not accepted in the end".to_owned())
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn j1_j3_j4_j7_in_every_schedule_one_member_sends_and_never_two() {
    if let Some(seed) = number("DDNS_TEST_SEED") {
        run(seed, Flaw::None).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        return;
    }
    let count = number("DDNS_TEST_SCHEDULES").unwrap_or(2000);
    let wrong: Vec<String> = (0..count)
        .filter_map(|seed| run(seed, Flaw::None).err().map(|wrong| format!("DDNS_TEST_SEED={seed}: {wrong}")))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {count} schedules, the first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
}

/// The simulation finds what it is there for.
#[test]
fn j3_mistakes_in_the_protocol_are_found() {
    let two = ["two members may send", "a request of an older holder"];
    let wrong = ["the endpoint has", "in the end"];
    let cases = [
        (Flaw::NoMargin, two),
        (Flaw::FromAnswer, two),
        (Flaw::NotLoaded, wrong),
        (Flaw::Falling, ["nobody may send", "two members may send"]),
        (Flaw::NoDoubt, wrong),
    ];
    for (flaw, expected) in cases {
        let found = (0..1000).find_map(|seed| run(seed, flaw).err());
        let is_it = |wrong: &String| expected.iter().any(|words| wrong.contains(words));
        assert!(found.as_ref().is_some_and(is_it), "{flaw:?}: {found:?}");
    }
}
