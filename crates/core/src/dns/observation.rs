//! A round: what the servers of a name say about it (K8, K9).

use std::net::IpAddr;
use std::time::Duration;

use super::ask::{DnsQuery, DnsServerKind, Replies, RoundPass, ServerQuestion, Unresolved};
use super::message::{DnsAnswer, DnsData, DnsName, DnsRecord, kind_of};
use super::walk::authoritative;
use super::zones::{ServerHost, Zones, is_within};

/// How many servers a round asks at most.
pub const MAX_SERVERS: usize = 4;

/// How many servers the last round asks at most, before an address is reported as not visible.
pub const MAX_SERVERS_AT_END: usize = 13;

/// How many CNAMEs are followed, and to how many names.
const MAX_ALIASES: usize = 8;

/// How many zones without an answer a round leaves for others.
const MAX_DEAD_ENDS: usize = 6;

/// What one round saw of a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DnsObservation {
    /// What each server says; empty if none was asked.
    pub servers: Vec<ServerAnswer>,
    /// Who was asked.
    pub way: DnsServerKind,
    /// Why no server could be asked; `None` if the round has a result.
    pub why: Option<String>,
}

/// What one server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAnswer {
    /// Its name or address.
    pub server: String,
    /// The addresses of the name, or why the server says nothing: a phrase that follows its name.
    pub said: Result<SeenAddresses, String>,
}

/// Addresses, and how long they may be cached, in seconds.
pub type SeenAddresses = (Vec<IpAddr>, Option<u32>);

/// What was seen, or the questions to ask first, from every reply so far: the caller adds the new replies and calls
/// again. What is learned about zones stays in `zones`.
pub fn round(
    dns_query: &DnsQuery,
    zones: &mut Zones,
    replies: &Replies,
    now: Duration,
) -> Result<DnsObservation, Vec<ServerQuestion>> {
    let mut look = RoundPass { dns_query, zones, replies, wanted: Vec::new(), dead_ends: Vec::new(), now };
    let said = match dns_query.way {
        DnsServerKind::Zone => look.by_zone(),
        DnsServerKind::Resolver => look.by_resolver(),
    };
    let (servers, why) = match said {
        Ok(servers) => (servers, None),
        Err(Unresolved::Unknown(why)) => (Vec::new(), Some(why)),
        Err(Unresolved::Wanted) => return Err(look.wanted),
    };
    Ok(DnsObservation { servers, way: dns_query.way, why })
}

/// What servers say of a name, and the names to which their CNAMEs lead.
type SaidAndTargets = (Vec<ServerAnswer>, Vec<DnsName>);

/// Where the records of a name lead.
enum ChainEnd {
    Addresses(SeenAddresses),
    Alias(DnsName),
}

impl RoundPass<'_> {
    fn by_resolver(&mut self) -> Result<Vec<ServerAnswer>, Unresolved> {
        let name = &self.dns_query.name;
        let (resolver, answer) = self.resolver(name, kind_of(self.dns_query.family))?;
        let said = end(answer, name, "").map(|end| match end {
            ChainEnd::Addresses(found) => found,
            ChainEnd::Alias(_) => SeenAddresses::default(),
        });
        Ok(vec![ServerAnswer { server: resolver.ip().to_string(), said }])
    }

    /// What the servers of the name's zone say, or those of other zones if CNAMEs lead there. A target counts once, however
    /// many servers name it: the ways to it may be as many as a hostile zone likes.
    fn by_zone(&mut self) -> Result<Vec<ServerAnswer>, Unresolved> {
        // Names to ask about, each with those that led to it.
        let mut paths = vec![vec![self.dns_query.name.clone()]];
        let (mut servers, mut next) = (Vec::new(), 0);
        while let Some(path) = paths.get(next).cloned() {
            next += 1;
            let said = |target: &str, why: String| ServerAnswer { server: format!("CNAME {target}"), said: Err(why) };
            let name = &path[path.len() - 1];
            let (found, targets) = match self.of_name(name, path.len() == 1) {
                Err(Unresolved::Unknown(why)) if path.len() > 1 => (vec![said(name, why)], Vec::new()),
                found => found?,
            };
            servers.extend(found);
            for target in targets {
                match () {
                    () if path.contains(&target) => {
                        servers.push(said(&target, "the CNAME leads back to itself".to_owned()));
                    }
                    // Another server named it first.
                    () if paths.iter().any(|known| known.last() == Some(&target)) => {}
                    () if paths.len() > MAX_ALIASES => {
                        return Err(Unresolved::Unknown(format!("its CNAMEs lead to more than {MAX_ALIASES} names")));
                    }
                    () => paths.push([&path[..], &[target]].concat()),
                }
            }
        }
        if servers.is_empty() {
            return Err(Unresolved::Unknown("the CNAMEs lead back to themselves".to_owned()));
        }
        Ok(servers)
    }

    /// What the servers of a name's zone say. If they say nothing, a lame server of the zone above may have referred to
    /// them: others of its servers are followed.
    fn of_name(&mut self, name: &DnsName, is_first: bool) -> Result<SaidAndTargets, Unresolved> {
        self.dead_ends.clear();
        let mut nothing = None;
        loop {
            let dead_ends = self.dead_ends.len();
            let found = match self.of_zone(name, is_first) {
                Err(Unresolved::Wanted) => return Err(Unresolved::Wanted),
                Ok((servers, targets)) if !targets.is_empty() || servers.iter().any(|server| server.said.is_ok()) => {
                    return Ok((servers, targets));
                }
                found => found,
            };
            // What the first ones said explains most.
            let found = nothing.take().unwrap_or(found);
            if self.dead_ends.len() == dead_ends || self.dead_ends.len() > MAX_DEAD_ENDS {
                return found;
            }
            nothing = Some(found);
        }
    }

    /// What the servers of a name's zone say, and the names in other zones to which their CNAMEs lead.
    fn of_zone(&mut self, name: &DnsName, is_first: bool) -> Result<SaidAndTargets, Unresolved> {
        let (zone, depth, hosts) = if self.dns_query.servers.is_empty() || !is_first {
            let (zone, known) = self.zone_of(name)?;
            (zone, known.depth, known.hosts)
        } else {
            let given = self.dns_query.servers.iter();
            let given = given.map(|(host, port)| ServerHost {
                name: host.as_str().into(),
                port: *port,
                glue: None,
                is_named: true,
            });
            (DnsName::from(""), 0, given.collect())
        };
        let count = hosts.len();
        let hosts = self.drawn(hosts, self.dns_query.most);
        let kind = kind_of(self.dns_query.family);
        let mut replies = Vec::new();
        for server in self.servers(&hosts)? {
            match self.server(&server, name, kind) {
                Ok(reply) => replies.push((server, reply)),
                Err(Unresolved::Wanted) => {}
                Err(unknown) => return Err(unknown),
            }
        }
        let replies = self.when_answered(replies)?;
        let answers = || replies.iter().filter_map(|(server, reply)| Some((server, reply.as_ref().ok()?)));
        // What a server of the zone says counts more than a referral of another, which may be lame.
        let is_known = answers().any(|(_, answer)| authoritative(answer).is_ok());
        let may_refer = |answer: &DnsAnswer| !zone.is_empty() && (answer.is_authoritative || !is_known);
        for (server, answer) in answers().filter(|(_, answer)| may_refer(answer)) {
            if self.descend(server, answer, (&zone, depth), name)? {
                return self.of_zone(name, is_first);
            }
        }
        let (mut servers, mut targets) = (Vec::new(), Vec::new());
        for (server, reply) in replies {
            let said = match reply.and_then(authoritative).and_then(|answer| end(answer, name, &zone)) {
                Ok(ChainEnd::Alias(target)) => {
                    targets.extend(Some(target).filter(|target| !targets.contains(target)));
                    continue;
                }
                Ok(ChainEnd::Addresses(found)) => Ok(found),
                Err(why) => Err(why),
            };
            servers.push(ServerAnswer { server: server.host.to_string(), said });
        }
        // One of several servers that says nothing proves nothing: the round is repeated with more of them.
        let is_sample = hosts.len() < count.min(MAX_SERVERS);
        if !is_sample && targets.is_empty() && servers.iter().all(|server| server.said.is_err()) {
            self.give_up(&zone);
        }
        Ok((servers, targets))
    }
}

/// Follows an answer from a name to its addresses. Ends at a CNAME that leads out of the zone, or to a name that the
/// answer does not cover.
fn end(answer: &DnsAnswer, name: &DnsName, zone: &str) -> Result<ChainEnd, String> {
    let mut passed = vec![name];
    while let [.., at] = passed[..] {
        let of_name = || answer.records.iter().filter(|record| record.owner == *at);
        let alias = of_name().find_map(|record| match &record.data {
            DnsData::Alias(target) => Some(target),
            _ => None,
        });
        match alias {
            Some(target) if passed.contains(&target) => break,
            Some(_) if passed.len() > MAX_ALIASES => {
                return Err(format!("has more than {MAX_ALIASES} CNAMEs in a row"));
            }
            Some(target) if !is_within(target, zone) => return Ok(ChainEnd::Alias(target.clone())),
            Some(target) => passed.push(target),
            None => {
                let ttl = of_name().map(|record| record.ttl).max().or_else(|| negative_ttl(answer));
                let found = (of_name().filter_map(DnsRecord::address).collect(), ttl);
                let is_open = at != name && ttl.is_none();
                return Ok(if is_open { ChainEnd::Alias(at.clone()) } else { ChainEnd::Addresses(found) });
            }
        }
    }
    Err("has a CNAME that leads back to itself".to_owned())
}

/// How long the absence of records may be cached, in seconds.
fn negative_ttl(answer: &DnsAnswer) -> Option<u32> {
    answer.authority.iter().find_map(|record| match record.data {
        DnsData::Start(minimum) => Some(minimum.min(record.ttl)),
        _ => None,
    })
}
