//! Endpoints: the addresses that they have, and how they treat a request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ddns_core::engine::{Facts, RequestId, ResponseFacts};
use ddns_core::net::family::Family;
use ddns_core::schedule::limiter::AcceptQueue;

use crate::checks::name_of;
use crate::laws::Sent;
use crate::random::Random;
use crate::setup::{EntryShape, Judging, MISSING, index};

/// A domain: the number of its entry, and its number in that entry.
pub(crate) type Name = (usize, usize);

/// An update: origin, domain and family.
pub(crate) type Key = (usize, Name, Family);

/// The condition of an endpoint, or of the network to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndpointMode {
    Good,
    Slow,
    Refuses,
    Unreachable,
    Hangs,
    Breaks,
    /// 429, with this `Retry-After` in seconds.
    TooMany(u64),
    Stops,
    Waits,
    /// Applies a request after its time limit.
    Late,
    /// Applies a request twice.
    Twice,
    /// A random one of these, except `Late` and `Twice`.
    Any,
}

/// The endpoint's answer for one update of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateAnswer {
    Accepted,
    Refused,
    Stopped { until_address: bool, all: bool },
    Wait(u64),
    Failed { reached: bool },
}

/// What happens to a request. Times count from when it is sent.
#[derive(Debug)]
pub(crate) struct RequestFate {
    /// When the endpoint applies the request, and which of its updates.
    pub(crate) applied: Option<(Duration, Vec<bool>)>,
    /// When the endpoint applies the request once more.
    pub(crate) again: Option<Duration>,
    /// When the process learns the result.
    pub(crate) ends: Duration,
    pub(crate) facts: Facts,
    pub(crate) told: Vec<UpdateAnswer>,
    /// How long the endpoint asks for no request, in seconds.
    pub(crate) retry_after: Option<u64>,
}

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) number: u64,
    pub(crate) process: usize,
    pub(crate) life: u32,
    /// How wrong the clock of the process was, in seconds.
    pub(crate) shift: i64,
    pub(crate) entry: EntryShape,
    /// The address of each update. `None`: a substitute is sent.
    pub(crate) members: Vec<(Key, Option<IpAddr>)>,
    pub(crate) sent: Duration,
    /// Whether every other process on the same cache could know of the request.
    pub(crate) is_marked: bool,
    /// Whether the process has learned the result.
    pub(crate) is_settled: bool,
    pub(crate) fate: RequestFate,
}

impl Sent for Flight {
    type Key = Key;

    fn members(&self) -> &[(Key, Option<IpAddr>)] {
        &self.members
    }

    fn may_arrive(&self, now: Duration) -> bool {
        !self.is_settled && now < self.sent + self.entry.timeout()
    }
}

pub(crate) struct Origin {
    pub(crate) mood: EndpointMode,
    pub(crate) random: Random,
    pub(crate) has: BTreeMap<(Name, Family), Option<IpAddr>>,
    /// The addresses before the last change.
    pub(crate) had: BTreeMap<(Name, Family), Option<IpAddr>>,
}

/// A request around an update, on its way: a step, or a request that follows the update.
#[derive(Debug)]
pub(crate) struct Inquiry {
    pub(crate) process: usize,
    pub(crate) life: u32,
    pub(crate) request: RequestId,
    pub(crate) origin: usize,
    pub(crate) path: String,
    pub(crate) facts: Facts,
    pub(crate) retry_after: Option<u64>,
}

impl Origin {
    pub(crate) fn new(seed: u64) -> Self {
        Self { mood: EndpointMode::Good, random: Random(seed), has: BTreeMap::new(), had: BTreeMap::new() }
    }

    /// What happens to a request around an update: when the endpoint reads it, when it ends, and with which failure. `None`: it is
    /// answered.
    pub(crate) fn fare(&mut self, timeout: Duration) -> (Duration, Duration, Option<(Facts, Option<u64>)>) {
        let random = &mut self.random;
        let failed = |reached| Some((Facts::Failed { why: "no response".to_owned(), reached }, None));
        let (slow, brief) = (random.up_to(timeout), Duration::from_millis(1 + random.below(400)));
        let chance = random.below(8);
        let (ends, facts) = match self.mood {
            EndpointMode::Slow => (slow, None),
            EndpointMode::Hangs | EndpointMode::Late => (timeout, failed(true)),
            EndpointMode::Unreachable => (brief, failed(false)),
            EndpointMode::Breaks => (brief, failed(true)),
            EndpointMode::TooMany(pause) => (brief, Some((response(429, "", Some(pause)), Some(pause)))),
            EndpointMode::Any if chance == 0 => (brief, failed(true)),
            EndpointMode::Refuses | EndpointMode::Stops | EndpointMode::Waits => {
                (brief, Some((response(500, "", None), None)))
            }
            EndpointMode::Any if chance == 1 => (brief, Some((response(500, "", None), None))),
            EndpointMode::Good | EndpointMode::Twice | EndpointMode::Any => (brief, None),
        };
        (self.random.up_to(ends), ends, facts)
    }

    /// The endpoint's answer to a request around an update.
    pub(crate) fn answer(&self, path: &str, is_old: bool) -> Facts {
        let value = |name| value(path, name);
        let family = if value("t") == Some("A") { Family::V4 } else { Family::V6 };
        let has = if is_old { &self.had } else { &self.has };
        let found = has.get(&(name_of(value("d").unwrap_or_default()), family));
        let body = match (path.split('?').next().unwrap_or_default(), found) {
            ("/login", _) => r#"{"session":"s"}"#.to_owned(),
            ("/find", Some(Some(ip))) => format!("{{\"list\":[{{\"id\":1,\"ip\":\"{ip}\"}}]}}"),
            ("/find", Some(None)) => r#"{"list":[{"id":1,"ip":"none"}]}"#.to_owned(),
            ("/find", None) => r#"{"list":[]}"#.to_owned(),
            _ => String::new(),
        };
        response(200, if body.is_empty() { "good" } else { &body }, None)
    }

    /// Decides what happens to an update that is sent now.
    pub(crate) fn decide(&mut self, entry: &EntryShape, members: &[(Key, Option<IpAddr>)]) -> RequestFate {
        let random = &mut self.random;
        let mood = match self.mood {
            EndpointMode::Any => {
                let pause = 1 + random.below(60);
                let all = [
                    EndpointMode::Good,
                    EndpointMode::Slow,
                    EndpointMode::Refuses,
                    EndpointMode::Unreachable,
                    EndpointMode::Hangs,
                    EndpointMode::Breaks,
                    EndpointMode::TooMany(pause),
                    EndpointMode::Stops,
                    EndpointMode::Waits,
                ];
                all[index(random, all.len())]
            }
            mood => mood,
        };
        let timeout = entry.timeout();
        let brief = Duration::from_millis(1 + random.below(400));
        let ends = match mood {
            EndpointMode::Slow => random.up_to(timeout.saturating_sub(Duration::from_millis(1))),
            EndpointMode::Hangs | EndpointMode::Late => timeout,
            _ => brief,
        };
        let at = random.up_to(ends);
        let half = random.below(2) == 0;
        let choice = index(random, 3);
        let has_all = members.iter().all(|(key, ip)| self.has.get(&(key.1, key.2)) == Some(ip));
        let same = |told: UpdateAnswer| vec![told; members.len()];
        let whole = |is: bool| is.then(|| (at, vec![true; members.len()]));
        let failed = |reached| Facts::Failed { why: "no response".to_owned(), reached };
        let (applied, facts, told, retry_after) = match mood {
            EndpointMode::Good | EndpointMode::Slow | EndpointMode::Twice | EndpointMode::Any => {
                let word = if has_all { "nochg" } else { "good" };
                (whole(true), response(200, &lines(members, |_| word), None), same(UpdateAnswer::Accepted), None)
            }
            // The endpoint may have applied the request anyway.
            EndpointMode::Refuses => (whole(choice == 0), response(500, "", None), same(UpdateAnswer::Refused), None),
            EndpointMode::Unreachable => (None, failed(false), same(UpdateAnswer::Failed { reached: false }), None),
            EndpointMode::Hangs | EndpointMode::Breaks | EndpointMode::Late => {
                (whole(half), failed(true), same(UpdateAnswer::Failed { reached: true }), None)
            }
            EndpointMode::TooMany(pause) => {
                (None, response(429, "", Some(pause)), same(UpdateAnswer::Refused), Some(pause))
            }
            EndpointMode::Stops => {
                let stop = |until_address, all| UpdateAnswer::Stopped { until_address, all };
                match (entry.judging, choice) {
                    (Judging::Status, _) => (None, response(403, "", None), same(UpdateAnswer::Refused), None),
                    (Judging::Dyndns2, 0) => {
                        (None, response(200, &lines(members, |_| "badauth"), None), same(stop(false, true)), None)
                    }
                    // Refuses only one domain, if there are several.
                    (Judging::Dyndns2, _) => {
                        let names = names(members);
                        let refused = names[usize::from(names.len() > 1 && half)];
                        let is_refused = |name: &Name| *name == refused;
                        let body = lines(members, |name| if is_refused(name) { "nohost" } else { "good" });
                        let told = |(key, _): &(Key, Option<IpAddr>)| {
                            if is_refused(&key.1) { stop(false, false) } else { UpdateAnswer::Accepted }
                        };
                        let taken = members.iter().map(|(key, _)| !is_refused(&key.1)).collect();
                        (Some((at, taken)), response(200, &body, None), members.iter().map(told).collect(), None)
                    }
                    (Judging::Conditions, 0) => (None, response(200, "badkey", None), same(stop(false, true)), None),
                    (Judging::Conditions, 1) => (None, response(200, "never", None), same(stop(false, false)), None),
                    (Judging::Conditions, _) => (None, response(200, "notthis", None), same(stop(true, false)), None),
                }
            }
            EndpointMode::Waits => match entry.judging {
                Judging::Status => (None, response(503, "", None), same(UpdateAnswer::Refused), None),
                Judging::Dyndns2 => {
                    (None, response(200, &lines(members, |_| "w30s"), None), same(UpdateAnswer::Wait(30)), None)
                }
                Judging::Conditions => (None, response(200, "later", None), same(UpdateAnswer::Wait(40)), None),
            },
        };
        let late = ends + Duration::from_millis(1) + self.random.up_to(Duration::from_secs(60));
        let (applied, again) = match mood {
            EndpointMode::Late => (Some((late, vec![true; members.len()])), None),
            EndpointMode::Twice => (applied, Some(late)),
            _ => (applied, None),
        };
        RequestFate { applied, again, ends, facts, told, retry_after }
    }
}

fn names(members: &[(Key, Option<IpAddr>)]) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for ((_, name, _), _) in members {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    names
}

/// One line for each domain.
fn lines(members: &[(Key, Option<IpAddr>)], word: impl Fn(&Name) -> &'static str) -> String {
    names(members).iter().flat_map(|name| [word(name), "\n"]).collect()
}

fn response(status: u16, body: &str, retry_after: Option<u64>) -> Facts {
    Facts::Response(Box::new(ResponseFacts {
        status,
        body: body.as_bytes().to_vec(),
        is_whole: true,
        retry_after: retry_after.map(|seconds| seconds.to_string()),
        allow: None,
        date: None,
        via: None,
        is_relayed: false,
        line: AcceptQueue::Free,
    }))
}

/// The value of a parameter in the query of a path.
fn value<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The updates of a request, read from its path.
pub(crate) fn members(entry: &EntryShape, path: &str) -> Vec<(Key, Option<IpAddr>)> {
    let value = |name| value(path, name);
    let names = value("ds").or(value("d")).unwrap_or_default().replace("%2C", ",");
    let mut members = Vec::new();
    for name in names.split(',').map(name_of) {
        let mut add = |family: Family, text: &str| {
            let is_configured = name.1 < entry.domains[family.index()];
            if is_configured {
                let ip = text.parse().ok();
                assert!(ip.is_some() || text == MISSING, "{path}: `{text}` is no address");
                members.push(((entry.origin, name, family), ip));
            }
        };
        if let Some(kind) = value("t") {
            add(if kind == "A" { Family::V4 } else { Family::V6 }, value("ip").unwrap_or_default());
        } else {
            add(Family::V4, value("v4").unwrap_or_default());
            add(Family::V6, value("v6").unwrap_or_default());
        }
    }
    members
}
