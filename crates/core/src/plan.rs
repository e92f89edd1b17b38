//! Which updates must be told, and why: configuration, observations and state in, steps out.

use std::fmt;
use std::net::IpAddr;

use crate::callback::Fingerprint;
use crate::config::Entry;
use crate::observe::Observation;
use crate::record::{Family, Update};
use crate::state::State;

/// What is to be done about one domain of one family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// Tell it.
    Send(Update<'a>, Reason),
    /// The endpoint accepted this address at this time, in seconds since the epoch.
    Known(Update<'a>, u64),
}

impl Reason {
    /// Whether the endpoint holds something that this update will replace.
    pub fn replaces(&self) -> bool {
        matches!(self, Self::Changed(_))
    }
}

/// Why an update is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// This callback was never told of this domain.
    New,
    /// The endpoint holds this other address.
    Changed(IpAddr),
    /// The endpoint was told longer ago than `cache_max_age`, in seconds.
    Old(u64),
    /// Nothing is remembered.
    NoCache,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("not told before"),
            Self::Changed(from) => write!(f, "changed from {from}"),
            Self::Old(age) => write!(f, "last accepted {age} s ago, longer than cache_max_age"),
            Self::NoCache => f.write_str("the cache is off"),
        }
    }
}

/// The steps of one entry, in the order of the configuration. A family without an address has none.
pub fn plan<'a>(
    entry: &'a Entry,
    observed: &[Observation; 2],
    memory: Option<(&State, Fingerprint)>,
    now: u64,
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for family in Family::ALL {
        let Observation::Found(ip) = observed[family.index()] else { continue };
        for domain in entry.domains_of(family) {
            let update = Update { domain, family, ip };
            steps.push(match memory {
                None => Step::Send(update, Reason::NoCache),
                Some((state, callback)) => match state.last(callback, domain, family) {
                    None => Step::Send(update, Reason::New),
                    Some(last) if last.ip != ip => Step::Send(update, Reason::Changed(last.ip)),
                    Some(last) if last.counts(entry.cache_max_age, now) => Step::Known(update, last.at),
                    Some(last) => Step::Send(update, Reason::Old(now.saturating_sub(last.at))),
                },
            });
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::callback::{Callback, Target, Variables};
    use crate::config::{Cache, Ssl};
    use crate::domain::Domain;
    use crate::source::Source;
    use crate::state::{Accepted, EntryKey};

    const NOW: u64 = 1_763_170_000;

    fn entry(domains: [&[&str]; 2]) -> Entry {
        let variables = Variables::default();
        let target = Target::new("http://h", "", &variables, &mut Vec::new()).expect("an address");
        let parse = |names: &[&str]| names.iter().map(|name| Domain::parse(name).expect("a domain")).collect();
        Entry {
            callback: Callback { target, body: None, variables },
            domains: domains.map(parse),
            sources: [const { Vec::new() }; 2].map(|_: Vec<Source>| vec![Source::Default]),
            proxies: crate::proxy::Proxies::default(),
            ssl: Ssl::Auto,
            cache: Cache::Standard,
            cache_max_age: Duration::from_secs(100),
            timeout: Duration::from_secs(1),
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn found(text: &str) -> Observation {
        Observation::Found(ip(text))
    }

    /// The verdict on each domain, in order.
    fn verdicts(entry: &Entry, observed: &[Observation; 2], told: &[(&str, &str, u64)]) -> Vec<String> {
        let mut state = State::new(vec![1]);
        let callback = entry.callback.fingerprint(state.salt());
        for (name, address, at) in told {
            let family = Family::of(ip(address)).expect("a family");
            let key = EntryKey { callback, domain: Domain::parse(name).expect("a domain"), family };
            state.learn(key, Some(Accepted { ip: ip(address), at: *at }));
        }
        let steps = plan(entry, observed, Some((&state, callback)), NOW);
        let shown = steps.iter().map(|step| match step {
            Step::Send(update, reason) => format!("{update}: {reason}"),
            Step::Known(update, _) => format!("{update}: known"),
        });
        shown.collect()
    }

    #[test]
    fn a1_each_domain_is_judged_by_what_its_endpoint_was_told() {
        let entry = entry([&["new.example", "same.example", "moved.example", "old.example"], &["same.example"]]);
        let told = [
            ("same.example", "203.0.113.7", NOW - 99),
            ("moved.example", "198.51.100.1", NOW - 1),
            ("old.example", "203.0.113.7", NOW - 100),
            ("same.example", "2001:db8::7", NOW),
        ];
        let expected = [
            "new.example A 203.0.113.7: not told before",
            "same.example A 203.0.113.7: known",
            "moved.example A 203.0.113.7: changed from 198.51.100.1",
            "old.example A 203.0.113.7: last accepted 100 s ago, longer than cache_max_age",
            "same.example AAAA 2001:db8::7: known",
        ];
        assert_eq!(verdicts(&entry, &[found("203.0.113.7"), found("2001:db8::7")], &told), expected);
    }

    #[test]
    fn e6_a_family_without_an_address_has_no_steps() {
        let entry = entry([&["a.example"], &["a.example"]]);
        let verdicts = verdicts(&entry, &[Observation::Unavailable, found("2001:db8::7")], &[]);
        assert_eq!(verdicts, ["a.example AAAA 2001:db8::7: not told before"]);
    }

    #[test]
    fn a_family_that_is_switched_off_has_no_steps() {
        let mut entry = entry([&["a.example"], &[]]);
        entry.sources[0].clear();
        assert!(verdicts(&entry, &[found("203.0.113.7"), Observation::Off], &[]).is_empty());
    }

    #[test]
    fn without_a_cache_everything_is_told() {
        let entry = entry([&["a.example"], &[]]);
        let steps = plan(&entry, &[found("203.0.113.7"), Observation::Off], None, NOW);
        assert!(matches!(steps.as_slice(), [Step::Send(_, Reason::NoCache)]));
    }
}
