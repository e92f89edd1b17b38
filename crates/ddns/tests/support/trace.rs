//! Checks what the real driver did, by the laws of the simulation: S1 to S4, S7 to S9, S13 and S14.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use ddns_core::update::state::{ClaimKey, State};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

#[path = "../../../core/tests/engine/laws.rs"]
mod laws;

use laws::{Sender, Sent};

/// How long the program believes a claim unless it is told otherwise.
const MAX_AGE: Duration = Duration::from_secs(259_200);

/// A longer pause is not kept.
const MAX_PAUSE: Duration = Duration::from_secs(3600);

/// A callback, a domain and its record type.
type Key = (String, String, String);

/// A domain, its record type and an address.
type Update = (String, String, IpAddr);

/// The claims of a file by domain and record type: one for each callback that the update had.
type ClaimKeys = HashMap<(String, String), Vec<ClaimKey>>;

/// Who wrote a line, when, and what happened.
type Line = (String, f64, u64, Traced);

#[derive(Deserialize)]
enum Traced {
    Begin,
    Closing,
    Cancel,
    Settled {
        request: u64,
        retry_after: Option<String>,
        told: Vec<(Update, bool)>,
    },
    Persisted {
        file: String,
        text: Option<String>,
    },
    Send {
        request: u64,
        members: Vec<Update>,
        callback: String,
        origin: String,
        config: usize,
        concurrency: Option<u16>,
        timeout: f64,
        file: Option<String>,
        is_followed: bool,
    },
}

/// A request that the program sent.
struct Flight {
    driver: String,
    request: u64,
    members: Vec<(Key, Option<IpAddr>)>,
    callback: String,
    origin: String,
    config: usize,
    until: Duration,
    file: Option<String>,
    is_followed: bool,
    /// Whether its process waits for it.
    is_awaited: bool,
}

impl Sent for Flight {
    type Key = Key;

    fn members(&self) -> &[(Key, Option<IpAddr>)] {
        &self.members
    }

    fn may_arrive(&self, now: Duration) -> bool {
        now < self.until
    }
}

/// What an endpoint applied: when, the domain, and the address.
pub type Applied = (Duration, String, IpAddr);

/// What is known around a trace.
#[derive(Default)]
pub struct Known<'a> {
    /// Whether files are written and believed throughout: S2, and S4 between processes.
    pub has_good_files: bool,
    /// What the endpoint applied, the first one first; `None` if nobody watched. S3.
    pub applied: Option<&'a [Applied]>,
    /// Whether what ran were services: S7.
    pub is_service: bool,
}

/// The time, by the clock of the program.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// How many updates the program sent; an error says what must not be.
pub fn check(path: &Path, known: &Known<'_>) -> Result<usize, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut watcher = Watcher {
        known,
        applied: 0,
        flights: Vec::new(),
        closing: HashSet::new(),
        pauses: HashMap::new(),
        files: HashMap::new(),
        has: HashMap::new(),
        sent: 0,
    };
    // The last line of one that was killed may be cut off.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let (driver, at, clock, what): Line = serde_json::from_str(line).map_err(|why| format!("{why}: {line}"))?;
        let now = Duration::from_secs_f64(at);
        watcher.flights.retain(|flight| flight.is_awaited || flight.may_arrive(now));
        let seen = watcher.see(&driver, now, clock, what);
        seen.map_err(|wrong| format!("{wrong} (process {driver}, at {at})"))?;
    }
    Ok(watcher.sent)
}

/// Reads a trace line by line.
struct Watcher<'a> {
    known: &'a Known<'a>,
    /// How much of what the endpoint applied is in `has`.
    applied: usize,
    /// Those that may arrive.
    flights: Vec<Flight>,
    closing: HashSet<String>,
    /// Until when an endpoint wants no request, by driver and origin.
    pauses: HashMap<(String, String), Duration>,
    /// What was last written to each file.
    files: HashMap<String, (State, ClaimKeys)>,
    /// What the endpoint has.
    has: HashMap<String, IpAddr>,
    sent: usize,
}

impl Watcher<'_> {
    fn see(&mut self, driver: &str, now: Duration, clock: u64, what: Traced) -> Result<(), String> {
        match what {
            Traced::Begin => {
                self.closing.remove(driver);
            }
            Traced::Closing => {
                self.closing.insert(driver.to_owned());
            }
            Traced::Cancel => {
                self.flights
                    .iter_mut()
                    .filter(|flight| flight.driver == driver)
                    .for_each(|flight| flight.is_awaited = false);
            }
            Traced::Settled { request, retry_after, told } => {
                let is_it = |flight: &Flight| flight.driver == driver && flight.request == request;
                let Some(at) = self.flights.iter().position(is_it) else { return Ok(()) };
                let flight = self.flights.swap_remove(at);
                // It is told when what follows has ended, too.
                if !flight.is_followed {
                    let callback = |(domain, kind, _): &Update| (flight.callback.clone(), domain.clone(), kind.clone());
                    let updates: Vec<_> = told.iter().map(|(update, _)| (callback(update), update.2)).collect();
                    laws::told(&flight.members, &updates)?;
                }
                let pause = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
                if let Some(pause) = pause.filter(|_| told.iter().any(|(_, is_retried)| *is_retried)) {
                    self.pauses.insert((driver.to_owned(), flight.origin), now + pause.min(MAX_PAUSE));
                }
            }
            Traced::Persisted { file, text } => {
                let state = text.and_then(|text| State::from_text(&text));
                if let Some(state) = &state {
                    self.check_claims(state, now, clock)?;
                }
                self.files.remove(&file);
                self.files.extend(state.map(|state| {
                    let mut keys = ClaimKeys::new();
                    for key in state.keys() {
                        let update = (key.domain.as_str().to_owned(), key.family.record_type().to_owned());
                        keys.entry(update).or_default().push(key);
                    }
                    (file, (state, keys))
                }));
            }
            Traced::Send { request, members, callback, origin, config, concurrency, timeout, file, is_followed } => {
                let key = |(domain, kind, ip): Update| ((callback.clone(), domain, kind), Some(ip));
                let members: Vec<_> = members.into_iter().map(key).collect();
                let until = now + Duration::from_secs_f64(timeout);
                let is_update = !members.is_empty();
                let flight = Flight {
                    driver: driver.to_owned(),
                    request,
                    members,
                    callback,
                    origin,
                    config,
                    until,
                    file,
                    is_followed,
                    is_awaited: true,
                };
                if is_update {
                    self.sent += 1;
                    self.check_send(&flight, now, concurrency)?;
                    self.check_marks(&flight, Duration::from_secs(clock) + Duration::from_secs_f64(timeout))?;
                }
                self.flights.push(flight);
            }
        }
        Ok(())
    }

    fn check_send(&self, flight: &Flight, now: Duration, concurrency: Option<u16>) -> Result<(), String> {
        laws::starts(self.closing.contains(&flight.driver))?;
        if self.known.is_service {
            laws::pause(self.pauses.get(&(flight.driver.clone(), flight.origin.clone())).copied(), now)?;
        }
        let own = || {
            self.flights
                .iter()
                .filter(|other| other.driver == flight.driver && other.config == flight.config && other.is_awaited)
        };
        let here = own().filter(|other| other.origin == flight.origin).count() + 1;
        laws::limits(own().count() + 1, here, concurrency)?;
        let sender = |other: &Flight| match other.driver == flight.driver {
            true if other.is_awaited => Sender::Waiting,
            true => Sender::Own,
            false if self.known.has_good_files && other.file.is_some() && other.file == flight.file => Sender::Known,
            false => Sender::Unknown,
        };
        flight.members.iter().try_for_each(|member| laws::order(member, false, now, self.flights.iter(), sender))
    }

    /// S2: what another process would read has each update marked.
    fn check_marks(&self, flight: &Flight, ends: Duration) -> Result<(), String> {
        let file = flight.file.as_ref().and_then(|file| self.files.get(file));
        let Some((state, keys)) = file.filter(|_| self.known.has_good_files) else { return Ok(()) };
        for ((_, domain, kind), ip) in &flight.members {
            let (Some(ip), Some(keys)) = (ip, keys.get(&(domain.clone(), kind.clone()))) else { continue };
            let is_claimed = keys.iter().any(|key| state.entry(key).accepted.is_some());
            if is_claimed && !keys.iter().any(|key| laws::is_marked(state, key, *ip, ends)) {
                return Err(format!("S2: {domain} {kind} is sent, and its file does not say so"));
            }
        }
        Ok(())
    }

    /// S3: what a file claims is what the endpoint has.
    fn check_claims(&mut self, state: &State, now: Duration, clock: u64) -> Result<(), String> {
        let Some(applied) = self.known.applied else { return Ok(()) };
        while let Some((_, domain, ip)) = applied.get(self.applied).filter(|(at, ..)| *at <= now) {
            self.has.insert(domain.clone(), *ip);
            self.applied += 1;
        }
        for key in state.keys() {
            let (claim, has) = (state.entry(&key), self.has.get(key.domain.as_str()).copied());
            if !laws::is_right(claim, MAX_AGE, clock, has) {
                return Err(format!("S3: the file says {key:?} {claim:?}, and the endpoint has {has:?}"));
            }
        }
        Ok(())
    }
}
