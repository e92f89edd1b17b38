//! A month of one host with 20 domains: its address changes, flaps and disappears, and the endpoint fails in every way.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use ddns_core::engine::{Event, Facts};
use ddns_core::net::family::Family;

use crate::host::{Host, MAX_AGE, Request, TIMEOUT, failure, plan, response};
use crate::random::Random;

const DOMAINS: usize = 20;
const INTERVAL: Duration = Duration::from_secs(300);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// The longest `Retry-After` of the endpoint.
const MAX_PAUSE_SECONDS: u64 = 600;

/// The condition of the endpoint, or of the network to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Good,
    /// With this status, and `Retry-After`.
    Refuses(u16, Option<u64>),
    /// No connection is possible.
    Unreachable,
    /// No response comes in time. The update may have been applied.
    Hangs,
    /// The connection breaks. The update may have been applied.
    Breaks,
}

/// Something that happens at a time.
#[derive(Debug, Clone, Copy)]
enum Step {
    Address(Option<IpAddr>),
    Mode(Mode),
    Woke,
    /// Nothing has happened for an hour or more: everything must be up to date.
    Calm,
}

/// The steps of a month.
fn script(random: &mut Random) -> Vec<(Duration, Step)> {
    let mut steps = Vec::new();
    let mut now = Duration::from_secs(1);
    let mut fresh = 0x0b00_0000_u32;
    let mut next_address = || {
        fresh += 1;
        IpAddr::from(Ipv4Addr::from(fresh))
    };
    let mut current = next_address();
    let second = Duration::from_secs(1);
    while now < MONTH {
        match random.below(7) {
            // The old address goes, and soon a new one comes.
            0 => {
                steps.push((now, Step::Address(None)));
                now += random.up_to(second / 10);
                current = next_address();
                steps.push((now, Step::Address(Some(current))));
            }
            // The address flaps, and is new each time.
            1 => {
                for _ in 0..5 + random.below(45) {
                    current = next_address();
                    steps.push((now, Step::Address(Some(current))));
                    now += Duration::from_millis(100 + random.below(3000));
                }
            }
            // The address flaps between two.
            2 => {
                let both = [next_address(), current];
                for number in 0..10 + random.below(200) {
                    current = both[usize::from(number % 2 == 1)];
                    steps.push((now, Step::Address(Some(current))));
                    now += Duration::from_millis(50 + random.below(3000));
                }
            }
            // There is no address for a while, then the same or a new one.
            3 => {
                steps.push((now, Step::Address(None)));
                now += random.up_to(second * 7200);
                current = if random.below(2) == 0 { current } else { next_address() };
                steps.push((now, Step::Address(Some(current))));
            }
            4 => steps.push((now, Step::Woke)),
            // The endpoint fails, and the address changes in the meantime.
            _ => {
                let pause = (random.below(2) == 0).then(|| 1 + random.below(MAX_PAUSE_SECONDS));
                let modes = [
                    Mode::Refuses(503, pause),
                    Mode::Refuses(429, pause),
                    Mode::Refuses(500, None),
                    Mode::Refuses(404, pause),
                    Mode::Unreachable,
                    Mode::Hangs,
                    Mode::Breaks,
                ];
                let mode = modes[usize::try_from(random.below(7)).unwrap_or(0)];
                steps.push((now, Step::Mode(mode)));
                for _ in 0..=random.below(5) {
                    now += random.up_to(second * 1800);
                    // Sometimes back to the address that was accepted before.
                    current = if random.below(3) == 0 { current } else { next_address() };
                    steps.push((now, Step::Address(Some(current))));
                }
                steps.push((now, Step::Mode(Mode::Good)));
            }
        }
        now += second * 3600 + random.up_to(second * 6 * 3600);
        steps.push((now, Step::Calm));
        now += second;
    }
    steps
}

/// The next thing that happens to a request.
#[derive(Debug)]
enum Happens {
    Applied,
    Ends(Facts),
}

/// The host and its surroundings.
struct World {
    random: Random,
    host: Host,
    address: Option<IpAddr>,
    mode: Mode,
    /// For each address, the number of the last step that set it.
    changes: BTreeMap<IpAddr, usize>,
    /// Running requests, by the time of what happens next to them.
    open: BTreeMap<(Duration, usize), (Request, usize, Happens)>,
    /// For each domain, the number of the step whose address the endpoint has.
    applied: [usize; DOMAINS],
    holds: [Option<IpAddr>; DOMAINS],
    /// For each domain, the address that the host knows to be accepted, and since when.
    known: [Option<(IpAddr, Duration)>; DOMAINS],
    under_way: [bool; DOMAINS],
    /// When each request was sent, and the condition of the endpoint.
    sent: Vec<(Duration, Mode)>,
    sizes: Vec<usize>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        Self {
            host: Host::new(&plan(DOMAINS, INTERVAL), Duration::ZERO, &mut random),
            random,
            address: Some(IpAddr::from([203, 0, 113, 7])),
            mode: Mode::Good,
            changes: BTreeMap::new(),
            open: BTreeMap::new(),
            applied: [0; DOMAINS],
            holds: [None; DOMAINS],
            known: [None; DOMAINS],
            under_way: [false; DOMAINS],
            sent: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Runs everything that is due before `then`.
    fn run_until(&mut self, then: Duration) {
        loop {
            let open = self.open.first_key_value().map(|((at, _), _)| *at);
            let Some(now) = self.host.wake_at().into_iter().chain(open).min().filter(|at| *at < then) else { return };
            while let Some(entry) = self.open.first_entry().filter(|entry| entry.key().0 <= now) {
                let (request, change, happens) = entry.remove();
                self.happens(&request, change, happens, now);
            }
            self.step(now);
        }
    }

    fn step(&mut self, now: Duration) {
        for request in self.host.step(self.address, now) {
            let job = request.domain;
            assert!(!std::mem::replace(&mut self.under_way[job], true), "two requests for one update at {now:?}");
            let is_known = |(ip, at): (IpAddr, Duration)| ip == request.ip && now + INTERVAL < at + MAX_AGE;
            assert!(!self.known[job].is_some_and(is_known), "sent without cause at {now:?}: {request:?}");
            self.sent.push((now, self.mode));
            self.answer(request, now);
        }
    }

    /// Decides what happens to a request.
    fn answer(&mut self, request: Request, now: Duration) {
        let took = Duration::from_millis(5 + self.random.below(500));
        let (ends, facts) = match self.mode {
            Mode::Good => (took, response(204, None)),
            Mode::Refuses(status, asked) => (took, response(status, asked.map(|seconds| seconds.to_string()))),
            Mode::Unreachable => (took, failure(false)),
            Mode::Hangs => (TIMEOUT, failure(true)),
            Mode::Breaks => (took, failure(true)),
        };
        let is_applied = match self.mode {
            Mode::Good => true,
            Mode::Hangs | Mode::Breaks => self.random.below(2) == 0,
            Mode::Refuses(..) | Mode::Unreachable => false,
        };
        let change = self.changes.get(&request.ip).copied().unwrap_or(0);
        let number = self.sent.len();
        if is_applied {
            let at = now + self.random.up_to(ends);
            self.open.insert((at, number * 2), (request.clone(), change, Happens::Applied));
        }
        self.open.insert((now + ends, number * 2 + 1), (request, change, Happens::Ends(facts)));
    }

    fn happens(&mut self, request: &Request, change: usize, happens: Happens, now: Duration) {
        let job = request.domain;
        match happens {
            Happens::Applied => {
                assert!(change >= self.applied[job], "an older address after a newer one at {now:?}: {request:?}");
                (self.applied[job], self.holds[job]) = (change, Some(request.ip));
            }
            Happens::Ends(facts) => {
                self.under_way[job] = false;
                match &facts {
                    Facts::Response(response) if response.status == 204 => self.known[job] = Some((request.ip, now)),
                    Facts::Failed { reached: false, .. } => {}
                    _ => self.known[job] = None,
                }
                self.host.ended(request, facts, now);
            }
        }
    }

    fn take(&mut self, step: Step, number: usize, now: Duration) {
        match step {
            Step::Address(address) => {
                self.address = address;
                self.changes.extend(address.map(|ip| (ip, number)));
                self.host.tell(Event::Network(Family::V4), now);
            }
            Step::Mode(mode) => self.mode = mode,
            Step::Woke => self.host.tell(Event::Synchronize, now),
            Step::Calm => {
                assert_eq!(self.holds, [self.address; DOMAINS], "at {now:?} the endpoint has another address");
                self.sizes.push(format!("{:?}", self.host).len());
            }
        }
        self.step(now);
    }

    /// The most requests within any `window`, among those sent while the endpoint's condition met `is_meant`.
    fn most(&self, window: Duration, is_meant: impl Fn(Mode) -> bool) -> usize {
        let times: Vec<Duration> = self.sent.iter().filter(|(_, mode)| is_meant(*mode)).map(|(at, _)| *at).collect();
        let mut from = 0;
        let count = |(to, at): (usize, &Duration)| {
            while times[from] + window <= *at {
                from += 1;
            }
            to + 1 - from
        };
        times.iter().enumerate().map(count).max().unwrap_or(0)
    }
}

#[test]
fn in_a_month_every_change_is_delivered_in_order_without_a_burst_and_nothing_grows() {
    for seed in 1..=4 {
        let mut world = World::new(seed);
        let script = script(&mut Random(seed));
        let mut largest = 0;
        for (number, (at, step)) in script.iter().enumerate() {
            world.run_until(*at);
            world.take(*step, number + 1, *at);
            largest = largest.max(format!("{:?}", world.host).len());
        }
        let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
        let is_trouble = |mode| matches!(mode, Mode::Refuses(429 | 503, _) | Mode::Unreachable);
        let figures = (world.most(second, |_| true), world.most(minute, is_trouble), world.sizes[0], largest);
        let (in_second, in_minute, first, largest) = figures;
        assert!(in_second <= 3 * DOMAINS, "seed {seed}: a burst of {in_second}");
        assert!(in_minute <= 3 * DOMAINS, "seed {seed}: {in_minute} in a minute to an endpoint in trouble");
        assert!(world.sizes.iter().all(|size| *size < first + 1000), "seed {seed}: {:?}", world.sizes);
        assert!(largest < 3 * first, "seed {seed}: {first} at first, then {largest}");
    }
}
