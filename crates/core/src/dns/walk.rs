//! The walk from the top level down to the servers of the zone that contains a name (K4).

use std::net::IpAddr;

use super::PORT;
use super::ask::{NameServer, NoAnswer, RoundPass, Unresolved, code};
use super::message::{DnsAnswer, DnsData, DnsKind, DnsName, DnsRecord};
use super::zones::{KnownZone, ServerHost, is_within};

/// How many referrals may lead from the top level to a zone.
const MAX_REFERRALS: u8 = 6;

/// How many servers of each zone on the way are asked, one after the other.
const MAX_ON_THE_WAY: usize = 3;

/// For how many names of a zone rounds at one server look for a zone below.
const MAX_NAMES_OF_SAMPLES: usize = 8;

/// How many servers of a zone are remembered. No real zone has as many.
const MAX_HOSTS: usize = 20;

impl RoundPass<'_> {
    /// The zone of a name, and its servers: the smallest known zone, unless that zone's servers know of a zone below.
    ///
    /// They are asked about each name once, since they may serve the zone below, too, and then answer without a word about it.
    /// A round at one server is a sample, and asks this about a few names only: else many names would cost two questions each
    /// at rest. What it overlooks is found by the round at several servers after the next change, or as soon as that server
    /// refers to the zone below.
    pub(super) fn zone_of(&mut self, name: &DnsName) -> Result<(DnsName, KnownZone), Unresolved> {
        loop {
            let Some((zone, known)) = self.zones.around(name, self.now) else {
                self.top(name)?;
                continue;
            };
            let is_sample = self.dns_query.most == 1 && known.names >= MAX_NAMES_OF_SAMPLES;
            if is_sample || self.zones.is_home(&zone, &known, name) {
                return Ok((zone, known));
            }
            self.step(&zone, &known, name)?;
        }
    }

    /// Learns the servers of the top level from the resolver, which is asked nothing else besides the addresses of servers.
    fn top(&mut self, name: &str) -> Result<(), Unresolved> {
        let top: DnsName = name.rsplit('.').next().unwrap_or(name).into();
        let (resolver, answer) = self.resolver(&top, DnsKind::NS)?;
        let Some((hosts, ttl)) = servers_of(&answer.records, &top) else {
            let why = format!("the resolver {} knows no servers of `{top}`", resolver.ip());
            return Err(Unresolved::Unknown(why));
        };
        let hosts =
            hosts.into_iter().map(|name| ServerHost { name, port: PORT, glue: None, is_named: false }).collect();
        self.zones.learn(&top, (hosts, ttl), (None, 0), self.now);
        Ok(())
    }

    /// Goes down one zone, or settles that the name is in this zone.
    fn step(&mut self, zone: &DnsName, known: &KnownZone, name: &DnsName) -> Result<(), Unresolved> {
        let (mut why, mut is_blocked) = (Vec::new(), known.depth == 0);
        for host in self.drawn(known.hosts.clone(), MAX_ON_THE_WAY) {
            let server = self.servers(&[host])?.swap_remove(0);
            is_blocked &= !server.addresses.is_empty();
            // A server may also serve a zone below this one. Its SOA then names that zone, and ddns asks once more for
            // the zone's servers.
            let mut asked = name.clone();
            let said = loop {
                let answer = match self.server(&server, &asked, DnsKind::NS)? {
                    Ok(answer) => answer,
                    Err(silence) => {
                        is_blocked &= silence != NoAnswer::Cut.to_string();
                        break silence;
                    }
                };
                if self.descend(&server, answer, (zone, known.depth), name)? {
                    return Ok(());
                }
                is_blocked = false;
                if let Err(nothing) = authoritative(answer) {
                    break nothing;
                }
                let is_new = |start: &DnsName| asked == *name && start != name && is_below(start, zone, name);
                let start = start_of(answer).filter(is_new);
                let Some(start) = start else {
                    self.zones.settle(zone, name);
                    return Ok(());
                };
                asked = start;
            };
            why.push(format!("{} {said}", server.host));
        }
        if is_blocked {
            // The resolver knows the servers of the top level, and those of a public one never fall silent together.
            why.push("port 53 is blocked, or the network or the server is down".to_owned());
        }
        self.give_up(zone);
        Err(Unresolved::Unknown(why.join("; ")))
    }

    /// Forgets a zone whose servers say nothing. Whoever referred to it is not followed again in this round: it may be lame.
    /// A zone stays known if only its referrals lead nowhere.
    pub(super) fn give_up(&mut self, zone: &DnsName) {
        if !self.dead_ends.iter().any(|(above, _)| above == zone) {
            self.dead_ends.extend(self.zones.forget(zone));
        }
    }

    /// Whether an answer from a zone's server refers to a zone below that contains the name. If so, that zone is known from now on.
    pub(super) fn descend(
        &mut self,
        server: &NameServer,
        answer: &DnsAnswer,
        (zone, depth): (&DnsName, u8),
        name: &DnsName,
    ) -> Result<bool, Unresolved> {
        let referrer = (zone.clone(), server.host.clone());
        if self.dead_ends.contains(&referrer) {
            return Ok(false);
        }
        let sections = [&answer.authority, &answer.records];
        let all = sections.into_iter().flatten().filter(|record| matches!(record.data, DnsData::Server(_)));
        let below = all.map(|record| &record.owner).find(|owner| is_below(owner, zone, name));
        let Some(below) = below.filter(|_| answer.code == 0) else { return Ok(false) };
        if depth >= MAX_REFERRALS {
            return Err(Unresolved::Unknown(format!("more than {MAX_REFERRALS} referrals lead to {name}")));
        }
        let (names, ttl) = sections.into_iter().find_map(|section| servers_of(section, below)).unwrap_or_default();
        let mut hosts = Vec::new();
        for name in names {
            let glue = self.glue(&name, below, server, answer, (zone, depth))?;
            hosts.push(ServerHost { name, port: PORT, glue, is_named: false });
        }
        self.when_answered(())?;
        self.zones.learn(below, (hosts, ttl), (Some(referrer), depth + 1), self.now);
        if answer.is_authoritative {
            self.zones.settle(below, name);
        }
        Ok(true)
    }

    /// The addresses of a server of the zone `below`. Those of hosts in the zone above count only from a server of that
    /// zone: the resolver may have a view of its own, and is never asked about hosts there. `None`: it may be asked.
    fn glue(
        &mut self,
        host: &DnsName,
        below: &str,
        server: &NameServer,
        answer: &DnsAnswer,
        (zone, depth): (&str, u8),
    ) -> Result<Option<Vec<IpAddr>>, Unresolved> {
        if !is_within(host, zone) {
            return Ok(None);
        }
        let in_section = |section: &[DnsRecord]| -> Vec<IpAddr> {
            section.iter().filter(|record| record.owner == *host).filter_map(DnsRecord::address).collect()
        };
        let mut ips = in_section(&answer.additional);
        // A server of both zones may leave them out.
        let is_asked = ips.is_empty() && (depth > 0 || answer.is_authoritative);
        let mut is_beside = false;
        for kind in [DnsKind::A, DnsKind::AAAA].into_iter().filter(|_| is_asked) {
            match self.server(server, host, kind) {
                Ok(reply) => {
                    is_beside |= reply.as_ref().is_ok_and(|answer| refers_beside(answer, host, below));
                    ips.extend(reply.and_then(authoritative).iter().flat_map(|it| in_section(&it.records)));
                }
                Err(Unresolved::Wanted) => {}
                Err(unknown) => return Err(unknown),
            }
        }
        Ok((!is_beside && (depth > 0 || !ips.is_empty() || is_within(host, below))).then_some(ips))
    }
}

/// Whether an answer about a host refers to a zone beside `below`, such as that of a provider: the resolver may be asked about it.
fn refers_beside(answer: &DnsAnswer, host: &str, below: &str) -> bool {
    let zones = answer.authority.iter().filter(|record| matches!(record.data, DnsData::Server(_)));
    zones.map(|record| &record.owner).any(|zone| is_within(host, zone) && !is_within(below, zone))
}

/// An answer that counts (K6), or why it says nothing about the zone: a phrase that follows the server's name.
pub(super) fn authoritative(answer: &DnsAnswer) -> Result<&DnsAnswer, String> {
    match answer {
        DnsAnswer { code: 0 | 3, is_authoritative: true, .. } => Ok(answer),
        DnsAnswer { code: 0 | 3, .. } => {
            Err("answers without authority: it is lame, or port 53 is redirected".to_owned())
        }
        DnsAnswer { code: number, .. } => Err(format!("says {}", code(*number))),
    }
}

/// The servers that a section names for a zone, and how long they may be cached, in seconds.
fn servers_of(section: &[DnsRecord], zone: &str) -> Option<(Vec<DnsName>, u32)> {
    let (mut hosts, mut ttl) = (Vec::new(), u32::MAX);
    for record in section.iter().filter(|record| *record.owner == *zone) {
        if let DnsData::Server(host) = &record.data
            && hosts.len() < MAX_HOSTS
            && !hosts.contains(host)
        {
            hosts.push(host.clone());
            ttl = ttl.min(record.ttl);
        }
    }
    (!hosts.is_empty()).then_some((hosts, ttl))
}

/// The zone that an answer without records comes from, named by its SOA.
fn start_of(answer: &DnsAnswer) -> Option<DnsName> {
    answer.authority.iter().find(|record| matches!(record.data, DnsData::Start(_))).map(|record| record.owner.clone())
}

fn is_below(owner: &str, zone: &str, name: &str) -> bool {
    owner != zone && is_within(owner, zone) && is_within(name, owner)
}
