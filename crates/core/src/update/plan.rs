//! Whether an update must be sent, and why: turns an update and what is remembered of it into a verdict.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::text::duration::seconds;
use crate::update::Update;
use crate::update::hold::HeldBy;
use crate::update::state::{Claim, Memory, may_be_under_way};

/// Why an update waits (E4a).
pub(crate) const MAY_STILL_ARRIVE: &str = "an earlier request may still arrive";

/// What to do about one update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send(Reason),
    /// Nothing: the endpoint accepted this address at this time, in seconds since the epoch.
    UpToDate(u64),
    /// Wait until then, in seconds since the epoch: another request with an older address may be under way (E4a).
    Wait(u64),
    /// Hold it back until then, in seconds since the epoch (H4, H6).
    Held(u64, HeldBy),
    /// Do not send it: the service permanently refused it with this text, at this time (H5).
    Stopped(String, u64),
}

/// The rules that decide when an update is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `cache_max_age`; `None`: everything is sent, whatever was accepted.
    pub max_age: Option<Duration>,
    /// `min_interval`; zero: not set.
    pub min_interval: Duration,
    /// Whether somebody asked to send it again although it is up to date.
    pub is_asked_for: bool,
    /// Whether DNS has another address although the update is up to date, and `verify` should repair that.
    pub has_drifted: bool,
    /// Whether its request may make a record: two of them at once would make two.
    pub makes: bool,
}

impl Rules {
    /// The address that another request may carry at the same time; `None`: no other request may be under way.
    pub fn shared_ip(self, update: &Update<'_>) -> Option<IpAddr> {
        (!self.makes).then_some(update.ip)
    }
}

impl Verdict {
    /// Whether a queued update must not be sent now.
    pub fn is_futile(&self) -> bool {
        matches!(self, Self::Held(..) | Self::Stopped(..) | Self::UpToDate(_))
    }

    /// What a run would do and why, for people. `now` is in seconds since the epoch.
    pub fn sentence(&self, now: u64) -> String {
        match self {
            Self::Send(Reason::Old(age)) => {
                format!("would be sent: accepted {} ago, longer than cache_max_age", seconds(*age))
            }
            Self::Send(reason) => format!("would be sent: {reason}"),
            Self::Wait(until) => {
                let left = seconds(until.saturating_sub(now));
                format!("would wait, {left} at most: {MAY_STILL_ARRIVE}")
            }
            Self::Held(until, by) => {
                format!("would be held back for {}: {}", seconds(until.saturating_sub(now)), by.reason())
            }
            Self::Stopped(words, at) => {
                let age = seconds(now.saturating_sub(*at));
                format!(
                    "stopped: the service refused it {age} ago with `{words}`; `ddns --retry-stopped` sends it again"
                )
            }
            Self::UpToDate(at) => format!("up to date: accepted {} ago", seconds(now.saturating_sub(*at))),
        }
    }
}

/// Why an update is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The callback has never accepted an address for this domain and type.
    New,
    /// The endpoint last accepted this other address.
    Changed(IpAddr),
    /// The endpoint accepted the address this many seconds ago, which exceeds `cache_max_age`.
    Old(u64),
    /// This address was sent, but no response settled it: the endpoint may have it.
    InDoubt(IpAddr),
    /// Nothing is remembered.
    NoCache,
    /// It is up to date, but somebody asked to send it.
    AskedFor,
    /// It was accepted at this time, in seconds since the epoch, but DNS has another address (K13).
    Drifted(u64),
    /// The group's store knows what was accepted, but was not asked.
    InGroup,
    /// It is up to date, but shares a request with an update that is due.
    Along,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("never accepted"),
            Self::Changed(from) => write!(f, "changed from {from}"),
            Self::Old(age) => write!(f, "last accepted {age} s ago, longer than cache_max_age"),
            Self::InDoubt(sent) => write!(f, "{sent} was sent without success, but the endpoint may have it"),
            Self::NoCache => f.write_str("the cache is off"),
            Self::AskedFor => f.write_str("sent again on request"),
            Self::Drifted(_) => f.write_str("DNS has something else"),
            Self::Along => f.write_str("goes in one request with another update"),
            Self::InGroup => f.write_str("if this host holds the lease, and its group has not recorded it as accepted"),
        }
    }
}

/// Judges one update by what its endpoint last accepted. `memory` is `None` if nothing is remembered; `own` is the
/// number with which this process marks its requests.
pub fn judge(update: &Update<'_>, rules: Rules, memory: Option<Memory<'_>>, own: u32, now: u64) -> Verdict {
    let Some(memory) = memory else { return Verdict::Send(Reason::NoCache) };
    let (entry, shared) = (memory.entry(update.domain, update.family), rules.shared_ip(update));
    let verdict = judge_entry(update, rules, entry, own, now);
    let verdict = match verdict {
        Verdict::UpToDate(_) if rules.is_asked_for => Verdict::Send(Reason::AskedFor),
        Verdict::UpToDate(at) if rules.has_drifted => Verdict::Send(Reason::Drifted(at)),
        verdict => verdict,
    };
    let Some(hold) = memory.hold(update.domain, update.family) else { return verdict };
    let Verdict::Send(reason) = verdict else { return verdict };
    if let Reason::Drifted(at) = reason {
        // The update is up to date, so anything that holds it back wins, and is not worth reporting (K13).
        let is_kept = hold.others_until(shared, own, now).is_some()
            || hold.stop_for(update.ip).is_some()
            || hold.until(rules.min_interval, now).is_some()
            || hold.nochg_limit_reached();
        return if is_kept { Verdict::UpToDate(at) } else { Verdict::Send(reason) };
    }
    if let Some(until) = hold.others_until(shared, own, now) {
        return Verdict::Wait(until);
    }
    if let Some(stopped) = hold.stop_for(update.ip) {
        return Verdict::Stopped(stopped.why.clone(), stopped.at);
    }
    // A mark of this process that is not settled: the update was not sent yet, so its `min_interval` counts only for other processes.
    let is_ours = entry.in_doubt.is_some_and(|doubt| doubt.by == own);
    let min_interval = if is_ours { Duration::ZERO } else { rules.min_interval };
    match (reason, hold.until(min_interval, now)) {
        (Reason::Old(_) | Reason::NoCache, _) if hold.nochg_limit_reached() => {
            Verdict::UpToDate(entry.accepted.map_or(now, |accepted| accepted.at))
        }
        (_, Some((until, by))) => Verdict::Held(until, by),
        (reason, None) => Verdict::Send(reason),
    }
}

/// What to do about updates that share a request (H7), and which of them the request is for. Stopped updates have no
/// say and are left out, unless another update of the same domain is sent: the request then has the addresses of both.
pub fn together(updates: &[Update<'_>], verdicts: &[Verdict]) -> (Verdict, Vec<bool>) {
    let is_stopped = |verdict: &Verdict| matches!(verdict, Verdict::Stopped(..));
    let all = || updates.iter().zip(verdicts);
    let decided = strongest(verdicts.iter().filter(|verdict| !is_stopped(verdict)).cloned());
    let is_sent = matches!(decided, Some(Verdict::Send(_) | Verdict::Wait(_)));
    let goes_along =
        |update: &Update<'_>| is_sent && all().any(|(other, of)| other.domain == update.domain && !is_stopped(of));
    let carried = all().map(|(update, verdict)| !is_stopped(verdict) || goes_along(update)).collect();
    let decided = decided.or_else(|| verdicts.first().cloned());
    (decided.unwrap_or(Verdict::UpToDate(0)), carried)
}

/// If one update must be sent, all are; if one must wait, all do. `None`: there are no verdicts.
fn strongest(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::UpToDate(_) => 0,
        Verdict::Send(_) => 1,
        Verdict::Held(..) => 2,
        Verdict::Wait(_) => 3,
        Verdict::Stopped(..) => 4,
    };
    verdicts.into_iter().reduce(|one, other| match (one, other) {
        (Verdict::Held(one, by), Verdict::Held(other, _)) if one >= other => Verdict::Held(one, by),
        (Verdict::UpToDate(one), Verdict::UpToDate(other)) => Verdict::UpToDate(one.min(other)),
        (one, other) if rank(&one) > rank(&other) => one,
        (Verdict::Send(reason), Verdict::Send(_)) => Verdict::Send(reason),
        (_, other) => other,
    })
}

/// What a request that ddns gave up carries for an update.
#[derive(Debug, Clone, Copy)]
pub struct GivenUp {
    /// `None`: no address, or the text `missing` in its place (H7).
    pub ip: Option<IpAddr>,
    /// When it has ended for certain, in seconds since the epoch.
    pub until: u64,
}

/// The verdict on an update after ddns gave up requests for the same domain and type, whatever their callback: an
/// endpoint may still apply another address (E4a).
#[must_use]
pub fn after_given_up(verdict: Verdict, shared: Option<IpAddr>, given_up: &[GivenUp], now: u64) -> Verdict {
    let is_other = |of: &&GivenUp| (of.ip != shared || of.ip.is_none()) && may_be_under_way(of.until, now);
    match (verdict, given_up.iter().filter(is_other).map(|of| of.until).max()) {
        (Verdict::Send(_), Some(until)) => Verdict::Wait(until),
        (verdict, _) => verdict,
    }
}

fn judge_entry(update: &Update<'_>, rules: Rules, entry: Claim, own: u32, now: u64) -> Verdict {
    match (entry.in_doubt, entry.accepted) {
        // Two requests may carry the same address: whichever is applied last, the result is right.
        (Some(doubt), _) if Some(doubt.ip) != rules.shared_ip(update) && doubt.is_foreign(own, now) => {
            Verdict::Wait(doubt.until)
        }
        (Some(doubt), _) => Verdict::Send(Reason::InDoubt(doubt.ip)),
        (None, None) => Verdict::Send(Reason::New),
        (None, Some(last)) if last.ip != update.ip => Verdict::Send(Reason::Changed(last.ip)),
        (None, Some(last)) => match rules.max_age {
            None => Verdict::Send(Reason::NoCache),
            Some(max_age) if last.counts(max_age, now) => Verdict::UpToDate(last.at),
            Some(_) => Verdict::Send(Reason::Old(now.saturating_sub(last.at))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::family::Family;
    use crate::update::domain::Domain;
    use crate::update::hold::Hold;
    use crate::update::outcome::Outcome;
    use crate::update::state::{Accepted, ClaimKey, Fingerprint, InDoubt, State};

    const NOW: u64 = 1_763_170_000;
    const OWN: u32 = 7;
    const RULES: Rules = Rules {
        max_age: Some(Duration::from_secs(100)),
        min_interval: Duration::ZERO,
        is_asked_for: false,
        has_drifted: false,
        makes: false,
    };

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
            let key = ClaimKey { callback, domain: Domain::parse(name).expect("a domain"), family };
            state.set(&key, Claim { accepted: Some(Accepted { ip: ip(address), at }), in_doubt: None });
        }
        let cases = [
            ("new.example", "203.0.113.7", "never accepted"),
            ("same.example", "203.0.113.7", "up to date"),
            ("moved.example", "203.0.113.7", "changed from 198.51.100.1"),
            ("old.example", "203.0.113.7", "last accepted 100 s ago, longer than cache_max_age"),
            ("same.example", "2001:db8::7", "up to date"),
            ("moved.example", "2001:db8::7", "never accepted"),
        ];
        for (name, address, expected) in cases {
            let domain = Domain::parse(name).expect("a domain");
            let update =
                Update { domain: &domain, family: Family::of(ip(address)).expect("a family"), ip: ip(address) };
            let verdict = judge(&update, RULES, Some(state.of(callback)), OWN, NOW);
            let shown = match verdict {
                Verdict::Send(reason) => reason.to_string(),
                Verdict::UpToDate(_) => "up to date".to_owned(),
                other => panic!("{other:?}"),
            };
            assert_eq!(shown, expected, "{update}");
            let sentence = judge(&update, RULES, Some(state.of(callback)), OWN, NOW).sentence(NOW);
            match expected {
                "up to date" => assert!(sentence.starts_with("up to date: accepted ") && sentence.ends_with(" s ago")),
                _ if name == "old.example" => {
                    assert_eq!(sentence, "would be sent: accepted 100 s ago, longer than cache_max_age");
                }
                _ => assert_eq!(sentence, format!("would be sent: {expected}")),
            }
            let asked_for = Rules { is_asked_for: true, ..RULES };
            let again = judge(&update, asked_for, Some(state.of(callback)), OWN, NOW).sentence(NOW);
            let is_known = expected == "up to date";
            assert_eq!(again, if is_known { "would be sent: sent again on request".to_owned() } else { sentence });
            let blind = judge(&update, RULES, None, OWN, NOW);
            assert_eq!(blind, Verdict::Send(Reason::NoCache), "without a cache everything is sent");
        }
    }

    /// A third `nochg` is the last one, also where a service has no cache and sends everything in each round.
    #[test]
    fn h4_after_the_third_nochg_nothing_is_sent_before_the_address_changes() {
        let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
        let domain = Domain::parse("home.example").expect("a domain");
        let update = |address| Update { domain: &domain, family: Family::V4, ip: ip(address) };
        let key = ClaimKey { callback, domain: domain.clone(), family: Family::V4 };
        let mut state = State::new(vec![1]);
        let accepted = Some(Accepted { ip: ip("203.0.113.7"), at: NOW - 500 });
        state.set(&key, Claim { accepted, in_doubt: None });
        let mut hold = Hold::default();
        for count in 0..=3 {
            for max_age in [None, RULES.max_age] {
                let rules = Rules { max_age, ..RULES };
                let verdict = |address| judge(&update(address), rules, Some(state.of(callback)), OWN, NOW);
                let is_sent = matches!(verdict("203.0.113.7"), Verdict::Send(Reason::NoCache | Reason::Old(500)));
                assert_eq!(is_sent, count < 3, "{count} {max_age:?}");
                assert!(matches!(verdict("203.0.113.8"), Verdict::Send(Reason::Changed(_))), "{count} {max_age:?}");
            }
            hold = hold.settled(&Outcome::Unchanged(200), &update("203.0.113.7"), true, NOW);
            state.set_hold(&key, hold.clone());
        }
    }

    #[test]
    fn h7_a_stopped_update_goes_along_where_its_domain_is_sent() {
        let names = ["a.example", "b.example"].map(|name| Domain::parse(name).expect("a domain"));
        let updates: Vec<Update<'_>> = names
            .iter()
            .flat_map(|domain| {
                [("203.0.113.7", Family::V4), ("2001:db8::7", Family::V6)].map(|(address, family)| Update {
                    domain,
                    family,
                    ip: ip(address),
                })
            })
            .collect();
        let (send, known, wait) = (Verdict::Send(Reason::New), Verdict::UpToDate(NOW), Verdict::Wait(NOW + 9));
        let (held, stop) = (Verdict::Held(NOW + 5, HeldBy::Service), Verdict::Stopped(String::new(), NOW));
        let cases = [
            ([&send, &stop, &known, &known], &send, [true, true, true, true]),
            ([&send, &known, &stop, &stop], &send, [true, true, false, false]),
            ([&stop, &stop, &stop, &send], &send, [false, false, true, true]),
            ([&known, &stop, &wait, &stop], &wait, [true, true, true, true]),
            ([&known, &stop, &known, &known], &known, [true, false, true, true]),
            ([&held, &stop, &send, &known], &held, [true, false, true, true]),
            ([&stop, &stop, &stop, &stop], &stop, [false, false, false, false]),
        ];
        for (verdicts, expected, carried) in cases {
            let verdicts = verdicts.map(Clone::clone);
            assert_eq!(together(&updates, &verdicts), (expected.clone(), carried.to_vec()), "{verdicts:?}");
        }
    }

    #[test]
    fn e4a_whatever_callback_sends_another_address_waits_for_a_request_that_was_given_up() {
        let domain = Domain::parse("a.example").expect("a domain");
        let update = Update { domain: &domain, family: Family::V4, ip: ip("203.0.113.8") };
        let given_up = |address, until| GivenUp { ip: Some(ip(address)), until };
        let (send, known) = (Verdict::Send(Reason::New), Verdict::UpToDate(NOW - 5));
        let other = [given_up("203.0.113.7", NOW + 5), given_up("203.0.113.6", NOW + 9)];
        let cases = [
            (send.clone(), &[][..], send.clone()),
            (send.clone(), &other, Verdict::Wait(NOW + 9)),
            (known.clone(), &other, known),
            (send.clone(), &[given_up("203.0.113.8", NOW + 5)], send.clone()),
            (send.clone(), &[given_up("203.0.113.7", NOW)], send.clone()),
            (send, &[GivenUp { ip: None, until: NOW + 5 }], Verdict::Wait(NOW + 5)),
        ];
        for (verdict, given_up, expected) in cases {
            assert_eq!(after_given_up(verdict, Some(update.ip), given_up, NOW), expected, "{given_up:?}");
        }
    }

    #[test]
    fn e4a_an_older_address_under_way_elsewhere_is_waited_for() {
        let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
        let domain = Domain::parse("a.example").expect("a domain");
        let key = ClaimKey { callback, domain: domain.clone(), family: Family::V4 };
        let accepted = Some(Accepted { ip: ip("203.0.113.7"), at: NOW - 10 });
        let update = Update { domain: &domain, family: Family::V4, ip: ip("203.0.113.7") };
        let verdict = |sent: &str, until, by| {
            let mut state = State::new(vec![1]);
            state.set(&key, Claim { accepted, in_doubt: Some(InDoubt { ip: ip(sent), until, by, message: 0 }) });
            judge(&update, RULES, Some(state.of(callback)), OWN, NOW)
        };
        assert_eq!(verdict("203.0.113.8", NOW + 5, 1), Verdict::Wait(NOW + 5));
        assert_eq!(verdict("203.0.113.7", NOW + 5, 1), Verdict::Send(Reason::InDoubt(update.ip)), "the same address");
        let doubt = Verdict::Send(Reason::InDoubt(ip("203.0.113.8")));
        assert_eq!(verdict("203.0.113.8", NOW, 1), doubt, "it has ended");
        assert_eq!(verdict("203.0.113.8", NOW + 5, OWN), doubt, "it is our own");
        assert_eq!(verdict("203.0.113.8", NOW + 3602, 1), Verdict::Wait(NOW + 3602), "a timeout of an hour");
        assert_eq!(verdict("203.0.113.8", NOW + 1_000_000, 1), doubt, "a clock was wrong");
        assert!(verdict("203.0.113.8", NOW + 5, 1).sentence(NOW).starts_with("would wait, 5 s at most"));
    }
}
