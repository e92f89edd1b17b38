//! The group (J1 to J5) for real: three nodes of etcd, three members and the faults that befall them, in random order. After each the
//! endpoint must come to hold the address of the member that has the lease; no request of any other may have come.
//!
//! A few rounds are part of every run of the tests. `DDNS_TRIAL_ROUNDS=100` makes it as many, of all faults, and
//! `DDNS_TRIAL_SEED` takes the order of an earlier run:
//! `DDNS_TRIAL_ROUNDS=100 cargo test -p ddns-callback --test contract trial:: -- --nocapture`.

use std::env;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::group::trial::endpoint::{Arrival, Endpoint};
use crate::group::trial::faults::Fault;
use crate::group::trial::member::Member;
use crate::group::trial::report::{Round, seconds, table};
use crate::group::trial::store::Store;
use crate::support::network::SETUP;
use crate::support::random::Random;
use crate::support::tools::{inside, skipped};
use crate::support::watching::ms;

/// Longer than the group takes to get over anything, on a machine that does many other things.
const LIMIT: Duration = Duration::from_secs(60);

/// What is under way has arrived, and news of the store too.
const QUIET: Duration = Duration::from_millis(1200);

pub struct Trial {
    pub store: Store,
    pub endpoint: Endpoint,
    pub members: Vec<Member>,
    pub random: Random,
    /// Requests that came while nobody could have the lease.
    pub late: usize,
}

impl Trial {
    /// Waits until the group is at rest: all members are there, the endpoint holds the address of the one that has the
    /// lease, and another could take over. That member's number.
    fn at_rest(&self) -> usize {
        Store::agreed();
        self.wait("the group is at rest", || {
            let known = Store::members();
            let is_there = |member: &Member| known.iter().filter(|known| known.member == member.name).count() == 1;
            let holder = self.holder()?;
            let has_other = known.iter().any(|known| known.ready && known.member != self.members[holder].name);
            let is_right = self.endpoint.ip() == Some(self.members[holder].ip());
            (has_other && is_right && self.members.iter().all(is_there)).then_some(holder)
        })
    }

    /// The number of the member that has the lease.
    fn holder(&self) -> Option<usize> {
        let name = self.store.holder()?;
        self.members.iter().position(|member| member.name == name)
    }

    /// Waits for the first request since then that another member sent.
    pub fn other_sends(&self, holder: usize, since: Instant) -> Arrival {
        let host = IpAddr::from(self.members[holder].host.address());
        self.arrives("another member sends", since, |arrival| arrival.sender != host)
    }

    /// Waits for the first request since then with an address that one of the members has now.
    pub fn current_address_comes(&self, since: Instant) -> Arrival {
        let is_current = |arrival: &Arrival| self.members.iter().any(|member| member.ip() == arrival.ip);
        self.arrives("an address that a member has now", since, is_current)
    }

    fn arrives(&self, what: &str, since: Instant, is_it: impl Fn(&Arrival) -> bool) -> Arrival {
        self.wait(what, || self.endpoint.arrivals().into_iter().find(|arrival| arrival.at > since && is_it(arrival)))
    }

    /// Waits until there is one; fails with all that is known where there is none in time.
    fn wait<T>(&self, what: &str, mut found: impl FnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = found() {
                return found;
            }
            assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {what}\n{}", self.everything());
            thread::sleep(ms(10));
        }
    }

    fn everything(&self) -> String {
        let mut text = format!("holder: {:?}, members: {:?}\n", self.store.holder(), Store::members());
        let arrivals = self.endpoint.arrivals();
        let last = arrivals.iter().rev().take(6);
        last.for_each(|arrival| text += &format!("{:?} ago: {arrival:?}\n", arrival.at.elapsed()));
        for member in &self.members {
            let log = member.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(60)..];
            text += &format!("--- {}, {}\n{}\n", member.name, member.ip(), last.join("\n"));
        }
        text + &self.store.logs()
    }

    fn round(&mut self, fault: Fault) -> Round {
        let holder = self.at_rest();
        let before = self.endpoint.count();
        let overcome = self.suffer(fault, holder);
        self.at_rest();
        thread::sleep(QUIET);
        self.at_rest();
        let arrivals = self.endpoint.arrivals();
        let late = arrivals[before..].iter().filter(|arrival| self.is_late(arrival)).count();
        let doubled = arrivals[before - 1..].windows(2).filter(|two| two[0].ip == two[1].ip).count();
        Round {
            fault,
            took: overcome.arrival.at.saturating_duration_since(overcome.since),
            requests: arrivals.len() - before,
            late: late + std::mem::take(&mut self.late),
            doubled,
        }
    }

    fn is_late(&self, arrival: &Arrival) -> bool {
        let sender = self.members.iter().find(|member| arrival.sender == IpAddr::from(member.host.address()));
        !self.store.could_send(&sender.expect("a member sent it").name, arrival.at)
    }
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// The faults in the order in which they come.
fn faults(random: &mut Random) -> Vec<Fault> {
    let Some(rounds) = number("DDNS_TRIAL_ROUNDS") else { return random.shuffled(&Fault::FEW) };
    let rounds = usize::try_from(rounds).expect("a small number");
    let mut faults = Vec::new();
    while faults.len() < rounds {
        faults.extend(random.shuffled(&Fault::ALL));
    }
    faults.truncate(rounds);
    faults
}

#[test]
fn j1_j3_j4_j5_the_endpoint_holds_the_address_of_the_holder_after_every_fault() {
    let Some(()) = inside(SETUP) else { return };
    let Some(store) = Store::new() else { return skipped("`etcd` is not installed") };
    let seed = number("DDNS_TRIAL_SEED").unwrap_or_else(|| Random::new().below(1_000_000) as u64);
    println!("DDNS_TRIAL_SEED={seed}");
    let endpoint = Endpoint::new();
    let members = (1..=3).map(|number| Member::new(number, &endpoint.id())).collect();
    let mut trial = Trial { store, endpoint, members, random: Random::seeded(seed), late: 0 };
    let mut rounds = Vec::new();
    for fault in faults(&mut trial.random) {
        let round = trial.round(fault);
        let (took, words) = (seconds(round.took), fault.words());
        println!("{}: {words}: {took}, doubled {}, too late {}", rounds.len() + 1, round.doubled, round.late);
        rounds.push(round);
    }
    println!("{}", table(&rounds));
    println!("the lease changed hands, or was free, {} times", trial.store.changes());
    let late: usize = rounds.iter().map(|round| round.late).sum();
    assert_eq!(late, 0, "requests of members that had no lease\n{}", trial.everything());
}
