//! Whether an update must be sent, and why: the update and what is remembered in, a verdict out.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::text::duration::seconds;
use crate::update::Update;
use crate::update::state::Memory;

/// What is to be done about one update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send(Reason),
    /// The endpoint accepted this address at this time, in seconds since the epoch.
    UpToDate(u64),
}

impl Verdict {
    /// What a run would do and why, for people. `now` is in seconds since the epoch.
    pub fn sentence(&self, now: u64) -> String {
        match self {
            Self::Send(Reason::Old(age)) => {
                format!("would be sent: accepted {} ago, longer than cache_max_age", seconds(*age))
            }
            Self::Send(reason) => format!("would be sent: {reason}"),
            Self::UpToDate(at) => format!("up to date: accepted {} ago", seconds(now.saturating_sub(*at))),
        }
    }
}

impl Reason {
    /// Whether the endpoint has another address, which this update replaces.
    pub fn replaces(&self) -> bool {
        matches!(self, Self::Changed(_))
    }
}

/// Why an update is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// This callback never accepted an address of this domain.
    New,
    /// The endpoint accepted this other address last.
    Changed(IpAddr),
    /// The endpoint accepted it so many seconds ago, which is longer than `cache_max_age`.
    Old(u64),
    /// Nothing is remembered.
    NoCache,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not accepted before"),
            Self::Changed(from) => write!(f, "changed from {from}"),
            Self::Old(age) => write!(f, "last accepted {age} s ago, longer than cache_max_age"),
            Self::NoCache => f.write_str("the cache is off"),
        }
    }
}

/// Judges one update by what its endpoint accepted last. `memory` is none where nothing is remembered.
pub fn judge(update: &Update<'_>, max_age: Duration, memory: Option<Memory<'_>>, now: u64) -> Verdict {
    let Some(memory) = memory else { return Verdict::Send(Reason::NoCache) };
    match memory.accepted(update.domain, update.family) {
        None => Verdict::Send(Reason::New),
        Some(last) if last.ip != update.ip => Verdict::Send(Reason::Changed(last.ip)),
        Some(last) if last.counts(max_age, now) => Verdict::UpToDate(last.at),
        Some(last) => Verdict::Send(Reason::Old(now.saturating_sub(last.at))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::family::Family;
    use crate::update::domain::Domain;
    use crate::update::state::{Accepted, EntryKey, Fingerprint, State};

    const NOW: u64 = 1_763_170_000;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a1_each_update_is_judged_by_what_its_endpoint_accepted() {
        let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
        let accepted = [
            ("same.example", "203.0.113.7", NOW - 99),
            ("moved.example", "198.51.100.1", NOW - 1),
            ("old.example", "203.0.113.7", NOW - 100),
            ("same.example", "2001:db8::7", NOW),
        ];
        let mut state = State::new(vec![1]);
        for (name, address, at) in accepted {
            let family = Family::of(ip(address)).expect("a family");
            let key = EntryKey { callback, domain: Domain::parse(name).expect("a domain"), family };
            state.learn(key, Some(Accepted { ip: ip(address), at }));
        }
        let cases = [
            ("new.example", "203.0.113.7", "not accepted before"),
            ("same.example", "203.0.113.7", "up to date"),
            ("moved.example", "203.0.113.7", "changed from 198.51.100.1"),
            ("old.example", "203.0.113.7", "last accepted 100 s ago, longer than cache_max_age"),
            ("same.example", "2001:db8::7", "up to date"),
            ("moved.example", "2001:db8::7", "not accepted before"),
        ];
        for (name, address, expected) in cases {
            let domain = Domain::parse(name).expect("a domain");
            let update =
                Update { domain: &domain, family: Family::of(ip(address)).expect("a family"), ip: ip(address) };
            let verdict = judge(&update, Duration::from_secs(100), Some(state.of(callback)), NOW);
            let shown = match verdict {
                Verdict::Send(reason) => reason.to_string(),
                Verdict::UpToDate(_) => "up to date".to_owned(),
            };
            assert_eq!(shown, expected, "{update}");
            let sentence = judge(&update, Duration::from_secs(100), Some(state.of(callback)), NOW).sentence(NOW);
            match expected {
                "up to date" => assert!(sentence.starts_with("up to date: accepted ") && sentence.ends_with(" s ago")),
                _ if name == "old.example" => {
                    assert_eq!(sentence, "would be sent: accepted 100 s ago, longer than cache_max_age");
                }
                _ => assert_eq!(sentence, format!("would be sent: {expected}")),
            }
            let blind = judge(&update, Duration::from_secs(100), None, NOW);
            assert_eq!(blind, Verdict::Send(Reason::NoCache), "without a cache everything is sent");
        }
    }
}
