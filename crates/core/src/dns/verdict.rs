//! What a round means for an accepted address (K8, K10), and when the next round is due (K11).

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::{DnsQuery, DnsServerKind};
use super::observation::{DnsObservation, SeenAddresses, ServerAnswer};
use crate::net::family::Family;
use crate::net::reach::is_far;
use crate::text::duration::duration;
use crate::text::order;
use crate::text::vocabulary::vocabulary;

/// A resolver is not asked sooner after acceptance: it would cache the old answer.
pub(super) const RESOLVER_AFTER: Duration = Duration::from_secs(30);

/// The resolver is asked after this many rounds in which none of the zone's servers answered.
pub const ROUNDS_BEFORE_RESOLVER: u32 = 3;

/// When ddns asks about an accepted address until it is visible, in seconds after acceptance.
pub(super) const ROUNDS: [u64; 12] = [2, 5, 15, 45, 120, 300, 600, 900, 1800, 3600, 7200, 14_400];

/// How many of these rounds a waiting command uses: the later ones are too far apart.
const WAITED_FOR: usize = 8;

/// `verify`: how ddns finds out whether the world sees an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Verify {
    /// `ask`
    pub way: DnsServerKind,
    /// `server`: hosts and ports to ask instead of the zone's servers; empty: the zone's servers.
    pub servers: Vec<(String, u16)>,
    /// `resolver`; empty: the system's resolvers.
    pub resolvers: Vec<SocketAddr>,
    /// `within`: how long it may take until an accepted address is visible.
    pub within: Duration,
    /// `every`: how often ddns checks a visible address.
    pub every: Duration,
    /// `repair`: whether ddns sends a drifted address again.
    pub repair: bool,
    /// `proxied`: whether any public address counts as right.
    pub proxied: bool,
    /// `exact`: whether it must be the only address.
    pub exact: bool,
}

impl Default for Verify {
    fn default() -> Self {
        Self::USUAL.clone()
    }
}

impl Verify {
    /// `verify: true`
    pub const USUAL: &'static Self = &Self {
        way: DnsServerKind::Zone,
        servers: Vec::new(),
        resolvers: Vec::new(),
        within: Duration::from_secs(15 * 60),
        every: Duration::from_secs(3600),
        repair: false,
        proxied: false,
        exact: false,
    };

    /// The task of a round. `system` are the resolvers of this host.
    pub fn dns_query(&self, name: &str, family: Family, system: &[SocketAddr], most: usize, seed: u64) -> DnsQuery {
        let resolvers = if self.resolvers.is_empty() { system.to_vec() } else { self.resolvers.clone() };
        DnsQuery { name: name.into(), family, way: self.way, servers: self.servers.clone(), resolvers, most, seed }
    }

    /// Tells other settings apart. If it differs between two versions of ddns, they ask once more.
    pub(super) fn hash(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self)
    }

    /// The earliest time to ask about an address accepted at `accepted`, in seconds since the epoch; 0: at once.
    pub fn earliest(&self, accepted: u64) -> u64 {
        if self.way == DnsServerKind::Resolver { accepted + RESOLVER_AFTER.as_secs() } else { 0 }
    }

    /// Why it is too early to ask: a resolver would cache what it finds now (K15). `since` is the time since acceptance.
    pub fn too_early(&self, since: Option<Duration>) -> Option<String> {
        let early = since.filter(|_| self.way == DnsServerKind::Resolver && !may_ask_resolver(since))?;
        Some(format!("accepted {} ago; a resolver is asked after {}", duration(early), duration(RESOLVER_AFTER)))
    }
}

vocabulary! {
    /// Whether the world sees an address.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DnsVerdict {
        /// All servers that answered have the address.
        Visible = "visible",
        /// All servers that answered have a public address: that of a proxy.
        Proxied = "proxied" "behind a proxy",
        /// Some servers have the address.
        Partly = "partly",
        /// No server has the address.
        NotVisible = "not_visible" "not visible",
        /// The address was visible, or should be, and round after round no server has it.
        Drifted = "drifted",
        /// No server answered, or none could be asked.
        Unknown = "unknown",
    }
}

impl DnsVerdict {
    /// Whether there is nothing left to wait for.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Visible | Self::Proxied)
    }
}

/// What a round says about one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenInDns {
    /// Whether the address is visible.
    pub verdict: DnsVerdict,
    /// How long resolvers may cache what was seen, in seconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ttl: Option<u32>,
    /// The reason, for people: a phrase that follows the verdict.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// Whether every server that answered has the same public addresses, without this one: they may be a proxy's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub looks_proxied: bool,
}

/// Whether a value is the default, and so need not be saved.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl SeenInDns {
    /// An unknown verdict, for this reason.
    pub fn unknown(reason: String) -> Self {
        Self { verdict: DnsVerdict::Unknown, ttl: None, reason, looks_proxied: false }
    }

    /// The verdict and its reason: `visible (2 servers, TTL 300)`. `since` is the time since acceptance, if the address
    /// was accepted.
    pub fn sentence(&self, since: Option<Duration>, verify: &Verify) -> String {
        let early = since.filter(|since| *since < verify.within);
        let word = match early.filter(|_| self.verdict == DnsVerdict::NotVisible) {
            Some(since) => format!("not yet ({})", duration(since)),
            None => self.verdict.word().to_owned(),
        };
        let is_late = since.is_some() && early.is_none();
        match self.reason.as_str() {
            "" => word,
            reason if self.verdict.is_good() => format!("{word} {reason}"),
            reason if self.looks_proxied && is_late => {
                format!("{word}: {reason}; if it is behind a proxy, set \"proxied\": true in `verify`")
            }
            reason => format!("{word}: {reason}"),
        }
    }
}

/// Compares what was seen with the expected address.
pub fn judge(observation: &DnsObservation, expected: IpAddr, verify: &Verify) -> SeenInDns {
    let has_it = |ips: &[IpAddr]| {
        if verify.proxied {
            ips.iter().any(|ip| is_far(*ip))
        } else {
            ips.contains(&expected) && (!verify.exact || ips.len() == 1)
        }
    };
    let answers: Vec<&SeenAddresses> =
        observation.servers.iter().filter_map(|server| server.said.as_ref().ok()).collect();
    // A resolver that only stands in for the zone's servers may have a view of its own: what it does not see may still be visible.
    let is_stand_in = observation.way != verify.way;
    let verdict = match (answers.iter().filter(|(ips, _)| has_it(ips)).count(), answers.len()) {
        (_, 0) => DnsVerdict::Unknown,
        (0, _) if is_stand_in => DnsVerdict::Unknown,
        (0, _) => DnsVerdict::NotVisible,
        (with, all) if with < all => DnsVerdict::Partly,
        _ if verify.proxied => DnsVerdict::Proxied,
        _ => DnsVerdict::Visible,
    };
    let ttl = answers.iter().filter_map(|(_, ttl)| *ttl).max();
    let lacks_it = |server: &&ServerAnswer| !matches!(&server.said, Ok((ips, _)) if has_it(ips));
    let has_more = |ips: &[IpAddr]| verify.exact && ips.contains(&expected);
    let others = described(observation.servers.iter().filter(lacks_it), has_more);
    let reason = match &observation.why {
        _ if verdict.is_good() => {
            // Where servers disagree about a CNAME, one of them may answer twice.
            let names = observation.servers.iter().filter(|server| server.said.is_ok()).map(|server| &server.server);
            let by = match (observation.way, names.collect::<BTreeSet<_>>().len()) {
                (DnsServerKind::Resolver, _) => "by resolver".to_owned(),
                (DnsServerKind::Zone, 1) => "1 server".to_owned(),
                (DnsServerKind::Zone, many) => format!("{many} servers"),
            };
            let count = answers.iter().map(|(ips, _)| ips.len()).max().filter(|count| *count > 1);
            let count = count.map(|count| format!(", {count} addresses")).unwrap_or_default();
            let ttl = ttl.map(|ttl| format!(", TTL {ttl}")).unwrap_or_default();
            let others = if others.is_empty() { others } else { format!("; {others}") };
            format!("({by}{count}{ttl}{others})")
        }
        Some(why) => why.clone(),
        None if is_stand_in => {
            let servers =
                if verify.servers.is_empty() { "the zone's servers" } else { "the servers in `verify.server`" };
            format!("{servers} give no usable answer; the resolver {others}")
        }
        None => others,
    };
    let mut sets = answers.iter().map(|(ips, _)| ips.iter().copied().collect::<BTreeSet<_>>());
    let first = sets.next().unwrap_or_default();
    let is_public = !first.is_empty() && first.iter().all(|ip| is_far(*ip)) && !first.contains(&expected);
    SeenInDns { verdict, ttl, reason, looks_proxied: !verify.proxied && is_public && sets.all(|set| set == first) }
}

/// `ns1.example.net, ns2.example.net have 198.51.100.4; ns3.example.net: does not answer`. `has_more`: the expected address is
/// there, but should be alone.
fn described<'a>(servers: impl Iterator<Item = &'a ServerAnswer>, has_more: impl Fn(&[IpAddr]) -> bool) -> String {
    let mut groups: Vec<(bool, String, Vec<&str>)> = Vec::new();
    for ServerAnswer { server, said } in servers {
        let what = match said {
            Ok((ips, _)) if ips.is_empty() => "no address".to_owned(),
            Ok((ips, _)) => {
                let besides = if has_more(ips) { ": others besides, against `exact`" } else { "" };
                ips.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ") + besides
            }
            Err(why) => why.clone(),
        };
        match groups.iter_mut().find(|(_, known, _)| *known == what) {
            Some((.., names)) if names.contains(&server.as_str()) => {}
            Some((.., names)) => names.push(server),
            None => groups.push((said.is_err(), what, vec![server])),
        }
    }
    order::sort_by_key(&mut groups, |(is_silent, ..)| *is_silent);
    let text = |(is_silent, what, names): (bool, String, Vec<&str>)| {
        let has = match names.len() {
            _ if is_silent => ":",
            1 => " has",
            _ => " have",
        };
        format!("{}{has} {what}", names.join(", "))
    };
    groups.into_iter().map(text).collect::<Vec<_>>().join("; ")
}

/// Whether a resolver may be asked so long after acceptance: before, it would cache what it finds (K15).
pub fn may_ask_resolver(since: Option<Duration>) -> bool {
    since.is_none_or(|since| since >= RESOLVER_AFTER)
}

/// When the next round after `since` is due, both as time since acceptance; `None` if there are no more rounds.
pub fn next_round(since: Duration) -> Option<Duration> {
    ROUNDS[..WAITED_FOR].iter().copied().map(Duration::from_secs).find(|at| *at > since)
}

/// Why ddns does not ask about a name (K9): a phrase that follows the name; `None` if it does.
pub fn why_not_asked(name: &str) -> Option<&'static str> {
    match name {
        _ if !name.is_ascii() => Some("has letters that DNS does not have"),
        _ if !name.contains('.') => Some("has one label only"),
        _ if name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => Some("consists of numbers"),
        _ => None,
    }
}
