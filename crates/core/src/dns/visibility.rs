//! Whether the world sees an accepted address, over time: when ddns asks about it (K11, K14), what ddns reports (K12,
//! K23), and when ddns sends the update again (K13). Times are seconds since the epoch.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::DnsServerKind;
use super::observation::DnsObservation;
use super::verdict::{
    DnsVerdict, RESOLVER_AFTER, ROUNDS, ROUNDS_BEFORE_RESOLVER, SeenInDns, Verify, is_default, judge,
};
use crate::text::duration::duration;

/// Two misses count as a drift only if they are at least this far apart, in seconds.
const BETWEEN_MISSES: u64 = 60;

/// The pause after the first repair, in seconds. It doubles with each further repair, up to the longest pause.
const REPAIR_PAUSE: u64 = 3600;

const MAX_REPAIR_PAUSE_SECONDS: u64 = 86_400;

/// Repairs end after this many in a row that changed nothing.
const MAX_USELESS_REPAIRS: u8 = 3;

/// Repairs end when the same other address has come back this often.
const MAX_RETURNS: u8 = 2;

/// Answers of a resolver count as cached for this long at most, in seconds.
const MAX_RESOLVER_TTL_SECONDS: u64 = 86_400;

/// The reason for a verdict is cut to this length, in characters.
const MAX_REASON_CHARS: usize = 200;

/// What is known about the visibility of one accepted address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsMemory {
    /// The address that should be seen.
    pub ip: IpAddr,
    /// When it was accepted.
    pub accepted: u64,
    /// The result of the last round; unknown before the first one.
    pub found: SeenInDns,
    /// When the verdict last changed.
    pub since: u64,
    /// When ddns last asked about the address; 0 if it never did.
    pub last: u64,
    /// When ddns asks next.
    pub next: u64,
    /// Until then, resolvers may have the previous address; 0 if there was none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub old_until: u64,
    /// The repairs: updates that were sent again because the address had drifted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repairs: Repairs,
    /// Whether the address was ever visible.
    #[serde(default, skip_serializing_if = "is_default")]
    was_visible: bool,
    /// Whether an earlier address was ever visible: then no proxy is in front of the name.
    #[serde(default, skip_serializing_if = "is_default")]
    is_direct: bool,
    /// `NotVisible` or `Drifted` if that was reported, and the address has not been visible since.
    #[serde(default, skip_serializing_if = "is_default")]
    reported: Option<DnsVerdict>,
    /// Whether such a report was about an earlier address, and no address has been visible since.
    #[serde(default, skip_serializing_if = "is_default")]
    was_told: bool,
    /// When ddns began to ask about the address.
    #[serde(default, skip_serializing_if = "is_default")]
    began: u64,
    /// Rounds in a row in which the servers that should be asked gave no answer.
    #[serde(default, skip_serializing_if = "is_default")]
    unknown: u32,
    /// Until then, the resolver that stood in for those servers repeats its cached answer.
    #[serde(default, skip_serializing_if = "is_default")]
    resolver_after: u64,
    /// Whether any server had the address in each of the last three rounds with an answer; the lowest bit is the latest.
    #[serde(default, skip_serializing_if = "is_default")]
    recent: u8,
    /// Rounds in a row in which no server had the address although one should, and when the first of them was.
    #[serde(default, skip_serializing_if = "is_default")]
    misses: (u8, u64),
    /// The settings of the last round, as a hash; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    settings: u64,
}

/// The repairs: updates that were sent again because the address had drifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repairs {
    /// How many repairs were accepted.
    pub count: u8,
    /// When the last one was accepted.
    at: u64,
    /// How many repairs in a row changed nothing.
    in_vain: u8,
    /// The address that servers had instead of ours.
    other: Option<IpAddr>,
    /// How often that address came back after a repair had made ours visible.
    returned: u8,
}

impl Repairs {
    /// When the next repair may be sent; `None` if repairs have no lasting effect.
    fn next(&self) -> Option<u64> {
        let doublings = u32::from(self.count.saturating_sub(1)).min(8);
        let pause = (REPAIR_PAUSE << doublings).min(MAX_REPAIR_PAUSE_SECONDS);
        let is_given_up = self.in_vain >= MAX_USELESS_REPAIRS || self.returned >= MAX_RETURNS;
        (!is_given_up).then_some(if self.count == 0 { 0 } else { self.at + pause })
    }
}

/// A change of visibility to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibilityEvent {
    /// Visible, not visible or drifted.
    pub verdict: DnsVerdict,
    /// Whether `NotVisible` or `Drifted` was reported before.
    pub was_reported: bool,
    /// Whether ddns has asked since acceptance and sees the address for the first time, so that the delay is known.
    pub is_timed: bool,
}

impl DnsMemory {
    /// An accepted address that ddns has not asked about yet.
    pub fn new(ip: IpAddr, accepted: u64, now: u64) -> Self {
        Self {
            ip,
            accepted,
            found: SeenInDns::unknown(String::new()),
            since: now,
            last: 0,
            next: now + ROUNDS[0],
            old_until: 0,
            repairs: Repairs::default(),
            was_visible: false,
            is_direct: false,
            reported: None,
            was_told: false,
            began: now,
            unknown: 0,
            resolver_after: 0,
            recent: 0,
            misses: (0, 0),
            settings: 0,
        }
    }

    /// The state after an endpoint accepted an address. `is_repair`: the update was sent because the address had drifted.
    #[must_use]
    pub fn accepted(before: Option<Self>, ip: IpAddr, is_repair: bool, now: u64) -> Self {
        let new = Self::new(ip, now, now);
        let Some(before) = before else { return new };
        if before.ip != ip {
            let old_ttl = before.found.ttl.filter(|ttl| before.was_visible && *ttl > 0);
            let was_told = before.was_told || before.reported.is_some();
            let is_direct = before.is_direct || before.was_visible;
            return Self { old_until: old_ttl.map_or(0, |ttl| now + u64::from(ttl)), was_told, is_direct, ..new };
        }
        if !is_repair {
            let next = if before.verdict().is_good() { before.next } else { before.next.min(new.next) };
            return Self { next, ..before };
        }
        let Repairs { count, in_vain, .. } = before.repairs;
        let (count, in_vain) = (count.saturating_add(1), in_vain.saturating_add(1));
        let repairs = Repairs { count, in_vain, at: now, ..before.repairs };
        let is_direct = before.is_direct || before.was_visible;
        Self { repairs, reported: before.reported, was_told: before.was_told, is_direct, ..new }
    }

    /// The verdict of the last round.
    pub fn verdict(&self) -> DnsVerdict {
        self.found.verdict
    }

    /// Whether the last round had these settings, or is not known to have had others.
    pub fn is_judged_by(&self, verify: &Verify) -> bool {
        self.settings == 0 || self.settings == verify.hash()
    }

    /// The newer of what two processes know; `None` if neither knows anything.
    pub fn merged(ours: Option<Box<Self>>, theirs: Option<Box<Self>>) -> Option<Box<Self>> {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let time = |seen: &Self| (seen.accepted.max(seen.last), seen.last);
                Some(if time(&theirs) > time(&ours) { theirs } else { ours })
            }
            (ours, theirs) => ours.or(theirs),
        }
    }

    /// Whether the address was visible in the last round. Then asking one server is enough to see that it still is.
    pub fn is_idle(&self) -> bool {
        self.verdict().is_good() && self.misses.0 == 0
    }

    /// Whether this is the last round before the address is reported as not visible.
    pub fn is_end(&self, verify: &Verify, now: u64) -> bool {
        !self.was_visible && self.reported.is_none() && now >= self.accepted + verify.within.as_secs()
    }

    /// Whether to ask the resolver if none of the zone's servers answers in this round (K15).
    pub fn may_ask_resolver(&self, now: u64) -> bool {
        let earliest = self.resolver_after.max(self.accepted + RESOLVER_AFTER.as_secs());
        self.unknown + 1 >= ROUNDS_BEFORE_RESOLVER && now >= earliest
    }

    /// Whether it is the resolver's turn, for a caller that cannot ask the resolver after the zone's servers.
    pub fn is_turn_of_resolver(&self, now: u64) -> bool {
        self.may_ask_resolver(now) && self.unknown % 2 == 1
    }

    /// The state after a round, and what to report. `idle` is the time of the next round if nothing is left to wait for.
    #[must_use]
    pub fn seen(
        mut self,
        observation: &DnsObservation,
        verify: &Verify,
        idle: u64,
        now: u64,
    ) -> (Self, Option<VisibilityEvent>) {
        let (former, former_ttl) = (self.verdict(), self.found.ttl);
        let mut found = judge(observation, self.ip, verify);
        found.looks_proxied &= !self.was_visible && !self.is_direct;
        let (verdict, ttl) = (found.verdict, found.ttl);
        let is_late = now >= self.accepted + verify.within.as_secs();
        let (is_miss, is_unknown) = (verdict == DnsVerdict::NotVisible, verdict == DnsVerdict::Unknown);
        // The zone's servers are still silent, and the resolver would say the same again.
        let is_repeated = is_unknown && former.is_good() && self.unknown > 0 && now < self.resolver_after;
        self.found = if is_repeated { self.found } else { found };
        // The servers that should be asked did not answer, whatever the resolver says.
        let is_stand_in = observation.way != verify.way;
        self.unknown = if is_unknown || is_stand_in { self.unknown.saturating_add(1) } else { 0 };
        if !is_unknown {
            self.recent = (self.recent << 1 | u8::from(!is_miss)) & 0b111;
            self.misses = match self.misses {
                _ if !is_miss || !self.was_visible && !is_late => (0, 0),
                (0, _) => (1, now),
                (count, first) => (count.saturating_add(1), first),
            };
        }
        let (count, first) = self.misses;
        if is_miss && count >= 2 && now >= first + BETWEEN_MISSES && self.recent == 0 {
            self.found.verdict = DnsVerdict::Drifted;
        }
        if self.verdict() != former || self.last == 0 {
            self.since = now;
        }
        self.found.reason = self.found.reason.chars().take(MAX_REASON_CHARS).collect();
        self.found.ttl = ttl.or(former_ttl.filter(|_| is_unknown));
        (self.last, self.settings) = (now, verify.hash());
        let news = self.news(other_address(observation, self.ip), is_late);
        self.next = self.next_round(verify, idle, now);
        let repeated_until = now + u64::from(ttl.unwrap_or_default()).min(MAX_RESOLVER_TTL_SECONDS);
        match (observation.way, verify.way) {
            (DnsServerKind::Resolver, DnsServerKind::Resolver) => self.next = self.next.max(repeated_until),
            // The zone's servers may answer before that.
            (DnsServerKind::Resolver, DnsServerKind::Zone) => self.resolver_after = repeated_until,
            (DnsServerKind::Zone, _) => {}
        }
        (self, news)
    }

    /// What to report after a round; remembers that it was reported.
    fn news(&mut self, other: Option<IpAddr>, is_late: bool) -> Option<VisibilityEvent> {
        let was_reported = self.was_told || self.reported.is_some();
        let is_timed = self.began <= self.accepted + ROUNDS[3] && !self.was_visible && self.repairs.count == 0;
        let verdict = match self.verdict() {
            DnsVerdict::Visible | DnsVerdict::Proxied => {
                let is_news = !self.was_visible || was_reported;
                (self.was_visible, self.repairs.in_vain, self.reported, self.was_told) = (true, 0, None, false);
                is_news.then_some(DnsVerdict::Visible)
            }
            DnsVerdict::Drifted if self.reported != Some(DnsVerdict::Drifted) => {
                let Repairs { count, in_vain, other: before, .. } = self.repairs;
                let is_back = count > 0 && in_vain == 0 && other.is_some() && before == other;
                self.repairs.returned = self.repairs.returned.saturating_add(is_back.into());
                (self.repairs.other, self.reported) = (other, Some(DnsVerdict::Drifted));
                self.reported
            }
            DnsVerdict::NotVisible | DnsVerdict::Partly if is_late && !self.was_visible && self.reported.is_none() => {
                self.reported = Some(DnsVerdict::NotVisible);
                self.reported
            }
            _ => None,
        };
        verdict.map(|verdict| VisibilityEvent { verdict, was_reported, is_timed })
    }

    fn next_round(&self, verify: &Verify, idle: u64, now: u64) -> u64 {
        let may_have_drifted = self.verdict() == DnsVerdict::NotVisible && self.misses.0 > 0;
        let since = now.saturating_sub(self.accepted);
        let rounds = ROUNDS.into_iter().chain([verify.within.as_secs()]).filter(|at| *at > since);
        let next = match rounds.min() {
            _ if self.was_visible && may_have_drifted => now + BETWEEN_MISSES,
            Some(at) if !self.was_visible => self.accepted + at,
            _ => idle,
        };
        // A repair that is due but may not be sent waits for the next regular round.
        self.repair_at(verify).filter(|at| *at > now).map_or(next, |at| next.min(at))
    }

    /// When a drifted address may be sent again; `None` if the address has not drifted, or is not repaired.
    fn repair_at(&self, verify: &Verify) -> Option<u64> {
        self.repairs.next().filter(|_| verify.repair && self.verdict() == DnsVerdict::Drifted)
    }

    /// Whether the update is due again because the address drifted.
    pub fn is_repair_due(&self, verify: &Verify, now: u64) -> bool {
        self.repair_at(verify).is_some_and(|at| at <= now)
    }

    /// Whether the address should be visible by now.
    pub fn is_late(&self, verify: &Verify, now: u64) -> bool {
        self.was_visible || self.reported.is_some() || now >= self.accepted + verify.within.as_secs()
    }

    /// For people: `visible (2 servers, TTL 300)`, `not yet (45 s)`, `drifted: …`.
    pub fn sentence(&self, verify: &Verify, now: u64) -> String {
        if self.last == 0 {
            return "not asked yet".to_owned();
        }
        let since = Duration::from_secs(now.saturating_sub(self.accepted));
        let sentence = self.found.sentence(Some(since), verify);
        if self.verdict() == DnsVerdict::Drifted && verify.repair && self.repairs.next().is_none() {
            let why = match self.repairs.other {
                Some(other) => format!("somebody else sets it to {other}"),
                None => "sending it again changes nothing".to_owned(),
            };
            return format!("{sentence}; {why}: not sent again until the address changes");
        }
        if self.verdict().is_good() && now < self.old_until {
            let left = duration(Duration::from_secs(self.old_until - now));
            return format!("{sentence}; resolvers may keep the old address for {left}");
        }
        sentence
    }
}

/// An address that servers have instead of ours.
fn other_address(observation: &DnsObservation, ours: IpAddr) -> Option<IpAddr> {
    let said = observation.servers.iter().filter_map(|server| server.said.as_ref().ok());
    said.flat_map(|(ips, _)| ips).copied().filter(|ip| *ip != ours).min()
}
