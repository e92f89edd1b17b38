//! `kill -9` at random moments (E4, E4a), with a thousand domains: single runs and services, the same address and others.
//! The cache never claims an address that the endpoint does not hold, no update is lost, no older address is applied after
//! a newer one, and a kill costs at most a second's updates a second request.
//!
//! A few kills are part of every run of the tests; `DDNS_TEST_KILLS=300` makes it as many.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::given::parameter;
use crate::support::random::Random;
use crate::support::trace::{self, Applied, Known};
use crate::support::watching::{host, ms};
use crate::support::{Receiver, Response, Sandbox};

const DOMAINS: usize = 1000;

/// One after the other, and then from the beginning: an older address comes back.
const ADDRESSES: [&str; 3] = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];

/// News is on the disk after a second; the rest is for a busy machine.
const AT_RISK: Duration = Duration::from_secs(2);

/// So long the endpoint takes over a request: a run takes two seconds.
const DELAY: Duration = Duration::from_millis(16);

fn kills() -> usize {
    env::var("DDNS_TEST_KILLS").map_or(6, |text| text.parse().expect("DDNS_TEST_KILLS is a number"))
}

/// What the endpoint applied last for a name.
struct LastApplied {
    /// The number of the address, from the first one.
    epoch: usize,
    at: Instant,
    run: usize,
}

/// What the endpoint saw.
#[derive(Default)]
struct Ledger {
    names: HashMap<String, LastApplied>,
    /// The number of the address that is to be sent.
    epoch: usize,
    /// When each run ended; the one under way is not in here.
    ends: Vec<Instant>,
    /// Requests of each run.
    requests: Vec<usize>,
    /// For each run, what it had delivered and a later one sent again, the address being the same.
    doubled: Vec<usize>,
    /// The longest time from such a delivery to the kill.
    oldest: Duration,
    /// What was sent twice in one run.
    repeated: usize,
    /// An older address that came after a newer one.
    overtaken: usize,
    /// Everything that was applied, for the laws.
    applied: Vec<Applied>,
}

impl Ledger {
    fn apply(&mut self, name: &str, ip: &str) {
        let run = self.ends.len();
        self.requests.resize(run + 1, 0);
        self.doubled.resize(run + 1, 0);
        self.requests[run] += 1;
        self.applied.push((trace::now(), name.to_owned(), ip.parse().expect("an address")));
        let is_sent = |epoch: &usize| ADDRESSES[epoch % ADDRESSES.len()] == ip;
        let epoch = (0..=self.epoch).rev().find(is_sent).expect("an address of this test");
        if let Some(last) = self.names.get(name) {
            if epoch < last.epoch {
                self.overtaken += 1;
            } else if epoch == last.epoch && run == last.run {
                self.repeated += 1;
            } else if epoch == last.epoch {
                self.doubled[last.run] += 1;
                self.oldest = self.oldest.max(self.ends[last.run].saturating_duration_since(last.at));
            }
        }
        self.names.insert(name.to_owned(), LastApplied { epoch, at: Instant::now(), run });
    }

    fn ip(&self) -> &'static str {
        ADDRESSES[self.epoch % ADDRESSES.len()]
    }

    /// What the endpoint has for a name.
    fn holds(&self, name: &str) -> Option<&'static str> {
        self.names.get(name).map(|last| ADDRESSES[last.epoch % ADDRESSES.len()])
    }

    fn requests_of_this_run(&self) -> usize {
        self.requests.get(self.ends.len()).copied().unwrap_or(0)
    }
}

/// A host on which the program is killed again and again, and its endpoint.
struct Trial {
    sandbox: Sandbox,
    receiver: Receiver,
    ledger: Arc<Mutex<Ledger>>,
    random: Random,
    is_watch: bool,
    kills: usize,
}

impl Trial {
    fn new(is_watch: bool) -> Self {
        let ledger: Arc<Mutex<Ledger>> = Arc::default();
        let applied = ledger.clone();
        let receiver = Receiver::responding(move |request| {
            thread::sleep(DELAY);
            let (name, ip) = (parameter(request.target(), "name"), parameter(request.target(), "ip"));
            applied.lock().expect("no test thread failed").apply(name, ip);
            Response::status(204)
        });
        let trial = Self { sandbox: host(), receiver, ledger, random: Random::new(), is_watch, kills: 0 };
        trial.sandbox.write("config.json", trial.config(2).to_string());
        trial.write_address();
        trial
    }

    fn config(&self, timeout: u64) -> Value {
        let names: Vec<_> = (0..DOMAINS).map(|number| format!("h{number}.example.com")).collect();
        json!({
            "dns": "callback", "id": self.receiver.url("/?name=__DOMAIN__&ip=__IP__"), "ipv4": names,
            "index4": "shell:cat ip", "concurrency": 8, "timeout": timeout, "log": {"level": "WARNING"},
        })
    }

    fn with_ledger<T>(&self, look: impl FnOnce(&mut Ledger) -> T) -> T {
        look(&mut self.ledger.lock().expect("no test thread failed"))
    }

    fn write_address(&self) {
        let fresh = self.sandbox.write("ip.new", self.with_ledger(|ledger| ledger.ip()));
        fs::rename(fresh, self.sandbox.path("ip")).expect("it is replaced");
    }

    fn change_address(&self) {
        self.with_ledger(|ledger| ledger.epoch += 1);
        self.write_address();
    }

    /// The addresses that the cache claims to be accepted, by name.
    fn claims(&self) -> HashMap<String, String> {
        let text = fs::read_to_string(self.sandbox.cache_file()).unwrap_or_default();
        // A run that was killed at its very start may have made an empty file.
        if text.is_empty() {
            return HashMap::new();
        }
        let cache: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("a damaged cache: {why}"));
        let mut claims = HashMap::new();
        for entries in cache["callbacks"].as_object().expect("callbacks").values() {
            for (key, entry) in entries.as_object().expect("entries") {
                // Who made them stands beside the entries.
                let Some(name) = key.strip_suffix(" A").map(str::to_owned) else { continue };
                if let [Value::String(ip), _] = entry.as_array().expect("an entry").as_slice() {
                    claims.insert(name, ip.clone());
                }
            }
        }
        claims
    }

    /// One run that is killed, unless it ends before.
    fn round(&mut self) {
        let claims = self.claims();
        let ip = self.with_ledger(|ledger| ledger.ip());
        let mut open = DOMAINS - claims.values().filter(|claimed| *claimed == ip).count();
        if open == 0 || self.random.below(3) == 0 {
            self.change_address();
            open = DOMAINS;
        }
        let until = self.random.below(open + 1);
        let turn = (self.is_watch && self.random.below(2) == 0).then(|| self.random.below(until + 1));
        let mut child = self.start();
        if let Some(turn) = turn {
            self.wait(turn, &mut child);
            self.change_address();
            let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process number");
            // One that is not ready for the signal yet ends with it.
            let _ = kill_process(process, Signal::USR1);
        }
        self.wait(until, &mut child);
        thread::sleep(Duration::from_micros(self.random.below(20_000) as u64));
        let end = Instant::now();
        let _ = child.kill();
        let status = child.wait().expect("it has ended");
        self.kills += usize::from(status.signal() == Some(Signal::KILL.as_raw()));
        self.receiver.settle();
        self.receiver.take();
        self.with_ledger(|ledger| ledger.ends.push(end));
        self.check_claims();
    }

    fn start(&self) -> Child {
        let args: &[&str] = if self.is_watch { &["watch", "-c", "config.json"] } else { &["-c", "config.json"] };
        self.sandbox.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    }

    /// Waits until this run has sent so many requests, or will send no more.
    fn wait(&self, requests: usize, child: &mut Child) {
        let begun = Instant::now();
        while self.with_ledger(|ledger| ledger.requests_of_this_run()) < requests
            && child.try_wait().expect("its state is known").is_none()
            && begun.elapsed() < Duration::from_secs(8)
        {
            thread::sleep(ms(1));
        }
    }

    fn check_claims(&self) {
        let claims = self.claims();
        let false_claims: Vec<_> = self.with_ledger(|ledger| {
            claims.iter().filter(|(name, ip)| ledger.holds(name) != Some(ip.as_str())).map(|(name, _)| name).collect()
        });
        assert!(false_claims.is_empty(), "after {} kills, claimed falsely: {false_claims:?}", self.kills);
    }

    /// Nobody kills it any more: everything is delivered, and known then.
    fn finish(&self) {
        let config = self.config(20);
        self.sandbox.sync(&config).expect(0).never_prints("cannot be written").never_prints("moved to");
        self.receiver.settle();
        self.receiver.take();
        self.check_claims();
        let lost = self.with_ledger(|ledger| {
            let ip = ledger.ip();
            DOMAINS - ledger.names.keys().filter(|name| ledger.holds(name) == Some(ip)).count()
        });
        assert_eq!(lost, 0, "lost updates");
        self.sandbox.sync(&config).expect(0);
        assert!(self.receiver.take().is_empty(), "all are known");
        self.with_ledger(|ledger| {
            let known = Known { has_good_files: true, applied: Some(&ledger.applied), is_service: self.is_watch };
            let sent = trace::check(&self.sandbox.trace_file(), &known).unwrap_or_else(|wrong| panic!("{wrong}"));
            assert!(sent >= DOMAINS || !cfg!(debug_assertions), "the trace has {sent} requests");
            let (runs, epochs) = (ledger.ends.len(), ledger.epoch);
            let requests: usize = ledger.requests.iter().sum();
            let (doubled, worst) = (ledger.doubled.iter().sum::<usize>(), ledger.doubled.iter().max());
            println!(
                "{}: {} kills in {runs} runs, {epochs} changes of the address, {requests} requests; sent again after a \
                 kill: {doubled}, at most {} for one kill, the oldest {:?} before it; sent twice in one run: {}; \
                 overtaken: {}; false claims: 0; lost: {lost}",
                if self.is_watch { "watch" } else { "single runs" },
                self.kills,
                worst.unwrap_or(&0),
                ledger.oldest,
                ledger.repeated,
                ledger.overtaken,
            );
            assert_eq!((ledger.repeated, ledger.overtaken), (0, 0), "sent twice in one run, and overtaken");
            assert!(ledger.oldest < AT_RISK, "delivered {:?} before a kill, and forgotten", ledger.oldest);
        });
    }
}

#[test]
fn e4_e4a_kills_at_random_moments_make_no_false_claim_and_lose_nothing() {
    thread::scope(|scope| {
        for is_watch in [false, true] {
            scope.spawn(move || {
                let mut trial = Trial::new(is_watch);
                while trial.kills < kills() / 2 {
                    trial.round();
                }
                trial.finish();
            });
        }
    });
}
