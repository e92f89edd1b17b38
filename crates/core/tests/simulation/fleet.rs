//! 100,000 hosts, one endpoint: all addresses change within a minute, at the start of an hour in which the endpoint is down.
//!
//! `UPDATE_GENERATED=1 cargo test -p ddns-callback-core --test simulation` rewrites the page with the figures.

#![allow(clippy::disallowed_methods, reason = "this test looks at files; the core does not")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};
use std::{env, fs};

use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Event, Facts};
use ddns_core::net::family::Family;
use ddns_core::schedule::retry_after;

use crate::host::{BEGIN, Host, Request, clock, failure, plan, response};
use crate::random::Random;

const HOSTS: u32 = 100_000;

/// For the other rows fewer hosts are enough, because rates are proportional to their number.
const FEWER: u32 = 10_000;
const INTERVAL: Duration = Duration::from_secs(300);

/// When the endpoint fails. Before, every host has started and its old address was accepted.
const OUTAGE: Duration = INTERVAL;
const CHANGES: Duration = Duration::from_secs(60);
const RETURN: Duration = Duration::from_secs(300 + 3600);

/// How long every host is watched, to see that none sends twice.
const END: Duration = Duration::from_secs(300 + 3600 + 2 * 330);

/// The answer of the endpoint while it is down.
type Trouble = fn() -> Facts;

const TROUBLES: [(u32, &str, Trouble); 5] = [
    (HOSTS, "503, `Retry-After` with the date of its return", || {
        let date = UNIX_EPOCH + Duration::from_secs(BEGIN) + RETURN;
        response(503, Some(httpdate::fmt_http_date(date)))
    }),
    (FEWER, "503, `Retry-After: 3600` every time", || response(503, Some("3600".to_owned()))),
    (FEWER, "503, `Retry-After: 120` every time", || response(503, Some("120".to_owned()))),
    (FEWER, "503 without `Retry-After`", || response(503, None)),
    (FEWER, "no connection", || failure(false)),
];

/// The requests with new addresses.
struct Figures {
    /// The number of requests in each second.
    seconds: Vec<u32>,
    /// When the last host was accepted, counted from the endpoint's return.
    last: Duration,
}

impl Figures {
    fn of(hosts: u32, trouble: Trouble) -> Self {
        let mut figures = Self { seconds: vec![0; usize::try_from(END.as_secs()).unwrap_or(0)], last: Duration::ZERO };
        let plan = plan(1, INTERVAL);
        for number in 0..hosts {
            figures.run(&plan, number, trouble);
        }
        figures
    }

    /// Runs one host alone: hosts do not know each other, and the endpoint's answers depend only on the time.
    fn run(&mut self, plan: &Rc<Plan>, number: u32, trouble: Trouble) {
        let mut random = Random(u64::from(number) << 20);
        let start = random.up_to(INTERVAL);
        let mut host = Host::new(plan, start, &mut random);
        let new = IpAddr::from(Ipv4Addr::from(0x0b00_0000 + number));
        let mut address = IpAddr::from([203, 0, 113, 7]);
        let mut change = Some(OUTAGE + random.up_to(CHANGES));
        // When it ends, when it began, and the request.
        let mut under_way: Option<(Duration, Duration, Request)> = None;
        let (mut not_before, mut accepted) = (Duration::ZERO, None);
        loop {
            let ends = under_way.as_ref().map(|(at, ..)| *at);
            let Some(now) = host.wake_at().into_iter().chain(change).chain(ends).min().filter(|at| *at < END) else {
                break;
            };
            if change.take_if(|at| *at <= now).is_some() {
                address = new;
                host.tell(Event::Network(Family::V4), now);
            }
            if let Some((_, since, request)) = under_way.take_if(|(at, ..)| *at <= now) {
                let is_down = (OUTAGE..RETURN).contains(&since);
                let facts = if is_down { trouble() } else { response(204, None) };
                let header = match &facts {
                    Facts::Response(response) => response.retry_after.as_deref(),
                    Facts::Failed { .. } => None,
                };
                let asked = header.and_then(|text| retry_after::parse(text, clock(now)));
                // A date in `Retry-After` has no fractions of a second.
                not_before = asked.map_or(not_before, |asked| now + asked.saturating_sub(Duration::from_secs(1)));
                if !is_down && request.ip == new {
                    accepted = Some(now);
                }
                host.ended(&request, facts, now);
            }
            for request in host.step(Some(address), now) {
                assert!(accepted.is_none(), "{number}: sent again although it was accepted");
                assert!(now >= not_before, "{number}: sent at {now:?}, not to be before {not_before:?}");
                if request.ip == new {
                    self.seconds[usize::try_from(now.as_secs()).unwrap_or(0)] += 1;
                }
                under_way = Some((now + random.up_to(Duration::from_millis(100)), now, request));
            }
        }
        let accepted = accepted.unwrap_or_else(|| panic!("{number} was not accepted"));
        let allowed = RETURN.max(not_before + Duration::from_secs(1)) + INTERVAL + Duration::from_secs(1);
        assert!(accepted <= allowed, "{number}: accepted at {accepted:?}, not by {allowed:?}");
        self.last = self.last.max(accepted.saturating_sub(RETURN));
    }

    /// The number of requests in these seconds, and the most in one second.
    fn sum(&self, from: Duration, to: Duration) -> (u32, u32) {
        let index = |at: Duration| usize::try_from(at.as_secs()).unwrap_or(0);
        let seconds = &self.seconds[index(from)..index(to)];
        (seconds.iter().sum(), seconds.iter().copied().max().unwrap_or(0))
    }
}

fn row(hosts: u32, name: &str, figures: &Figures) -> String {
    let (in_outage, _) = figures.sum(OUTAGE, RETURN);
    let (_, worst_in_outage) = figures.sum(OUTAGE + CHANGES * 2, RETURN);
    let (after, worst) = figures.sum(RETURN, END);
    assert_eq!(after, hosts, "{name}: after its return each host sends once");
    let mean = f64::from(after) / figures.last.as_secs_f64();
    let ratio = f64::from(worst) / mean;
    assert!(ratio < 3.0, "{name}: {worst} requests in a second, {mean:.0} on average");
    format!(
        "| {name} | {hosts} | {:.2} | {worst_in_outage} | {:.0} s | {mean:.0} | {worst} | {ratio:.2} |\n",
        f64::from(in_outage) / f64::from(hosts),
        figures.last.as_secs_f64(),
    )
}

#[test]
fn an_endpoint_that_returns_is_not_overrun_by_a_hundred_thousand_hosts() {
    let mut page = PAGE.to_owned();
    for (hosts, name, trouble) in TROUBLES {
        page += &row(hosts, name, &Figures::of(hosts, trouble));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/fleet.md is not what the simulation gives: see the top of this test\n{page}");
}

const PAGE: &str = "# Many hosts, one endpoint

What 100,000 hosts with `ddns watch` do to one endpoint when all of their addresses change within a minute, and the endpoint
is out of order for the hour that begins with it. Each host has one domain and the default interval of 5 minutes.

The figures come from a simulation that runs the engine of the program with time and network as inputs
(`crates/core/tests/simulation`). It is a test: it fails when a figure on this page differs, when a host sends again
although it was accepted, or sooner than the endpoint asked for, when a host is not accepted within one interval (and two
seconds: dates are whole seconds) of the endpoint's return, or of the time that the endpoint asked for, and when the worst
second after the return has three times the mean rate or more.

Rates are in proportion to the number of hosts, so the rows beside the first one make do with fewer.

- *Requests in the outage*: for each host, the first one included.
- *Worst second in the outage*: after the first two minutes.
- *Last accepted*: when the last host is accepted, after the endpoint's return.
- *Mean* and *worst second*: requests in a second from the return until then.

Without `Retry-After` retries are spread over a step that grows up to the interval. With it, a host waits as long as the
endpoint asks, and then up to as long again, but no more than an interval: hosts that were given the same date do not come
in the same second.

| the endpoint says | hosts | requests in the outage | worst second in the outage | last accepted | mean | worst second | worst / mean |
|---|---|---|---|---|---|---|---|
";
