//! Zones and their servers, kept for all names: as long as their TTL says, within limits (K5).

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use super::message::{DnsName, DnsRecord};

/// The shortest and the longest time for which a zone's servers are kept, in seconds.
const KEPT_SECONDS: (u32, u32) = (3600, 86_400);

/// When there are this many zones, or this many hosts, all of them are forgotten.
const MAX_KEPT: usize = 20_000;

/// What is known about zones and the addresses of their servers. The caller gives the time, which must never go back.
#[derive(Debug, Default)]
pub struct Zones {
    known: HashMap<DnsName, KnownZone>,
    /// For names that are in a zone itself, and not in a zone below: that zone, and until when it is known.
    homes: HashMap<DnsName, (DnsName, Duration)>,
    /// The addresses that a resolver gave.
    hosts: HashMap<DnsName, (Vec<IpAddr>, Duration)>,
}

/// A server of a zone, or one that the user names.
#[derive(Debug, Clone)]
pub(super) struct ServerHost {
    pub(super) name: DnsName,
    pub(super) port: u16,
    /// The addresses that came with the zone, and are kept as long as it; `None`: a resolver knows them.
    pub(super) glue: Option<Vec<IpAddr>>,
    /// Whether the user names it.
    pub(super) is_named: bool,
}

/// A zone, and its server that refers to a zone below.
pub(super) type Referrer = (DnsName, DnsName);

#[derive(Debug, Clone)]
pub(super) struct KnownZone {
    pub(super) hosts: Vec<ServerHost>,
    /// How many referrals led to this zone.
    pub(super) depth: u8,
    /// The zone above, and its server that referred to this one.
    referrer: Option<Referrer>,
    /// How many names were found in this zone itself, and not in a zone below.
    pub(super) names: usize,
    until: Duration,
}

impl Zones {
    /// The smallest known zone that could contain a name.
    pub(super) fn around(&self, name: &str, now: Duration) -> Option<(DnsName, KnownZone)> {
        let mut names = std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent));
        names.find_map(|name| {
            let (name, zone) = self.known.get_key_value(name)?;
            (zone.until > now).then(|| (name.clone(), zone.clone()))
        })
    }

    pub(super) fn learn(
        &mut self,
        name: &DnsName,
        (hosts, ttl): (Vec<ServerHost>, u32),
        (referrer, depth): (Option<Referrer>, u8),
        now: Duration,
    ) {
        if self.known.len() >= MAX_KEPT {
            self.known.clear();
        }
        let zone = KnownZone { hosts, depth, referrer, names: 0, until: now + kept(ttl) };
        self.known.insert(name.clone(), zone);
    }

    /// Remembers that a name is in this zone itself, so that it is not looked for in a zone below again.
    pub(super) fn settle(&mut self, zone: &DnsName, name: &DnsName) {
        let Some(known) = self.known.get_mut(zone) else { return };
        known.names += 1;
        if self.homes.len() >= MAX_KEPT {
            self.homes.clear();
        }
        self.homes.insert(name.clone(), (zone.clone(), known.until));
    }

    /// Whether a name is known to be in this zone itself.
    pub(super) fn is_home(&self, zone: &DnsName, known: &KnownZone, name: &str) -> bool {
        self.homes.get(name).is_some_and(|(home, until)| home == zone && *until == known.until)
    }

    pub(super) fn addresses(&self, host: &str, now: Duration) -> Option<&[IpAddr]> {
        self.hosts.get(host).filter(|(_, until)| *until > now).map(|(ips, _)| &**ips)
    }

    /// Learns and returns the addresses of a host in a resolver's records.
    pub(super) fn learn_addresses<'r>(
        &mut self,
        host: &DnsName,
        records: impl Iterator<Item = &'r DnsRecord>,
        now: Duration,
    ) -> Vec<IpAddr> {
        let found = records.filter_map(|record| Some((record.address()?, record.ttl)));
        let (ips, ttls): (Vec<IpAddr>, Vec<u32>) = found.unzip();
        if self.hosts.len() >= MAX_KEPT {
            self.hosts.clear();
        }
        if let Some(ttl) = ttls.into_iter().min() {
            self.hosts.insert(host.clone(), (ips.clone(), now + kept(ttl)));
        }
        ips
    }

    /// Forgets a zone whose servers do not answer, so that they are looked up again. Returns who referred to it.
    pub(super) fn forget(&mut self, name: &str) -> Option<Referrer> {
        let zone = self.known.remove(name)?;
        for host in zone.hosts {
            self.hosts.remove(&host.name);
        }
        zone.referrer
    }
}

fn kept(ttl: u32) -> Duration {
    let (least, most) = KEPT_SECONDS;
    Duration::from_secs(ttl.clamp(least, most).into())
}

/// Whether a name is the zone's own, or below it.
pub(super) fn is_within(name: &str, zone: &str) -> bool {
    zone.is_empty() || name.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}
