//! Which servers a round asks, and what they reply.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use domain::base::iana::Rcode;

use super::message::{DnsAnswer, DnsClass, DnsKind, DnsName, DnsQuestion};
use super::zones::{Referrer, ServerHost, Zones};
use crate::net::family::{Family, interleaved};
use crate::net::reach::{Trust, unusable};
use crate::text::order;
use crate::text::vocabulary::vocabulary;

/// How many addresses of a server are tried: one of each family.
const MAX_ADDRESSES: usize = 2;

/// Said of a server whose own address is not found.
const NOT_FOUND: &str = "cannot be looked up";

/// Said of a server in a zone that has no address which others could ask.
const NOT_OF_OTHERS: &str = "has only addresses of this host or its resolvers";

/// A limit on the questions of one round; no round needs as many.
const MAX_QUESTIONS: usize = 200;

vocabulary! {
    /// Who is asked about a name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum DnsServerKind {
        /// The servers of its zone.
        #[default]
        Zone = "zone",
        /// The resolver that this host uses.
        Resolver = "resolver",
    }
}

/// What a round has to find out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DnsQuery {
    /// The name to ask about.
    pub name: DnsName,
    /// The family of the addresses to look for.
    pub family: Family,
    /// Who is asked.
    pub way: DnsServerKind,
    /// Hosts and ports to ask instead of the zone's servers; empty: the zone's servers.
    pub servers: Vec<(String, u16)>,
    /// The resolvers that know the servers of the top level, and the addresses of name servers.
    pub resolvers: Vec<SocketAddr>,
    /// How many of the servers to ask.
    pub most: usize,
    /// The seed for drawing these servers.
    pub seed: u64,
}

impl DnsQuery {
    /// The same task for the resolver.
    #[must_use]
    pub fn by_resolver(self) -> Self {
        Self { way: DnsServerKind::Resolver, servers: Vec::new(), ..self }
    }

    /// Who is asked, for people.
    pub fn asked(&self) -> String {
        let name = |(host, port): &(String, u16)| if *port == 53 { host.clone() } else { format!("{host}:{port}") };
        match self.way {
            DnsServerKind::Resolver => "the resolver".to_owned(),
            DnsServerKind::Zone if self.servers.is_empty() => "the resolver or the servers of the zone".to_owned(),
            DnsServerKind::Zone => self.servers.iter().map(name).collect::<Vec<_>>().join(", "),
        }
    }
}

/// One question to one server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerQuestion {
    /// The address of the server.
    pub server: SocketAddr,
    /// The question.
    pub question: DnsQuestion,
}

/// Why a server gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nothing arrived in time.
    Silent,
    /// Nothing can be sent there, or nothing listens.
    Unreachable,
    /// The answer is truncated, even over TCP.
    Cut,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Silent => "does not answer",
            Self::Unreachable => "cannot be reached",
            Self::Cut => "cuts its answer off",
        })
    }
}

/// The answer of a server, or why there is none.
pub type DnsReply = Result<DnsAnswer, NoAnswer>;

/// Every reply of a round so far.
pub type Replies = HashMap<ServerQuestion, DnsReply>;

/// Why there is no result yet, or none at all.
pub(super) enum Unresolved {
    /// The questions in [`RoundPass::wanted`] must be asked first.
    Wanted,
    /// The result cannot be known, for this reason.
    Unknown(String),
}

/// A server of a zone.
#[derive(Debug, Clone)]
pub(super) struct NameServer {
    pub(super) host: DnsName,
    pub(super) addresses: Vec<SocketAddr>,
    /// What is said of it if it has no address.
    lacks: &'static str,
}

/// One pass over everything that is known in a round.
pub(super) struct RoundPass<'a> {
    pub(super) dns_query: &'a DnsQuery,
    pub(super) zones: &'a mut Zones,
    pub(super) replies: &'a Replies,
    /// Questions without a reply.
    pub(super) wanted: Vec<ServerQuestion>,
    /// Who referred to zones whose servers say nothing.
    pub(super) dead_ends: Vec<Referrer>,
    pub(super) now: Duration,
}

impl<'a> RoundPass<'a> {
    /// The reply to a question. A question without a reply is added to `wanted`.
    fn reply(&mut self, asking: ServerQuestion) -> Result<&'a DnsReply, Unresolved> {
        match self.replies.get(&asking) {
            Some(reply) => return Ok(reply),
            // Two names may lead to the same server.
            None if self.wanted.contains(&asking) => {}
            None if self.replies.len() + self.wanted.len() >= MAX_QUESTIONS => {
                return Err(Unresolved::Unknown("it takes too many questions".to_owned()));
            }
            None => self.wanted.push(asking),
        }
        Err(Unresolved::Wanted)
    }

    /// The answer of the first resolver that gives one, and that resolver.
    pub(super) fn resolver(
        &mut self,
        name: &DnsName,
        kind: DnsKind,
    ) -> Result<(SocketAddr, &'a DnsAnswer), Unresolved> {
        let question = DnsQuestion { name: name.clone(), kind, class: DnsClass::IN, is_recursive: true };
        let mut why = Vec::new();
        for server in &self.dns_query.resolvers {
            match self.reply(ServerQuestion { server: *server, question: question.clone() })? {
                Ok(answer) if matches!(answer.code, 0 | 3) => return Ok((*server, answer)),
                Ok(answer) => why.push(format!("the resolver {} says {}", server.ip(), code(answer.code))),
                Err(no) => why.push(format!("the resolver {} {no}", server.ip())),
            }
        }
        Err(Unresolved::Unknown(why.join("; ")))
    }

    /// The answer of a server itself (without recursion), or why there is none.
    pub(super) fn server(
        &mut self,
        server: &NameServer,
        name: &DnsName,
        kind: DnsKind,
    ) -> Result<Result<&'a DnsAnswer, String>, Unresolved> {
        let question = DnsQuestion { name: name.clone(), kind, class: DnsClass::IN, is_recursive: false };
        let mut why = server.lacks.to_owned();
        for address in &server.addresses {
            let asking = ServerQuestion { server: *address, question: question.clone() };
            let of_address = self.replies.iter().filter(|(asked, _)| asked.server == *address);
            let silences = of_address.filter_map(|(_, reply)| reply.as_ref().err()).filter(|no| **no != NoAnswer::Cut);
            let silence = silences.copied().min_by_key(|no| *no == NoAnswer::Unreachable);
            let reply = match silence {
                // What does not answer one question is not waited for again in this round.
                Some(silence) if !self.replies.contains_key(&asking) => Err(silence),
                _ => self.reply(asking)?.as_ref().map_err(|no| *no),
            };
            match reply {
                Ok(answer) => return Ok(Ok(answer)),
                // A silent address says more than an unreachable one.
                Err(NoAnswer::Unreachable) if why != server.lacks => {}
                Err(no) => why = no.to_string(),
            }
        }
        Ok(Err(why))
    }

    /// The addresses of these hosts, all looked up at once.
    pub(super) fn servers(&mut self, hosts: &[ServerHost]) -> Result<Vec<NameServer>, Unresolved> {
        let mut servers = Vec::new();
        for ServerHost { name, port, glue, is_named } in hosts {
            let mut ips = match (glue, name.parse()) {
                (Some(ips), _) => ips.clone(),
                (None, Ok(ip)) => vec![ip],
                (None, Err(_)) => self.addresses(name),
            };
            let lacks = if ips.is_empty() { NOT_FOUND } else { NOT_OF_OTHERS };
            ips.retain(|ip| *is_named || self.is_of_others(*ip));
            let ips = interleaved(ips).into_iter().take(MAX_ADDRESSES);
            let addresses = ips.map(|ip| SocketAddr::new(ip, *port)).collect();
            servers.push(NameServer { host: name.clone(), addresses, lacks });
        }
        self.when_answered(servers)
    }

    /// Whether an address that a zone gives can be that of its server. The resolver must not hear of the domain (K4), whoever
    /// says that it serves it; and what listens on this host may be a resolver, too.
    fn is_of_others(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        unusable(ip, Trust::Own).is_none() && !self.dns_query.resolvers.iter().any(|it| it.ip().to_canonical() == ip)
    }

    /// `found`, unless questions must be asked first.
    pub(super) fn when_answered<T>(&self, found: T) -> Result<T, Unresolved> {
        if self.wanted.is_empty() { Ok(found) } else { Err(Unresolved::Wanted) }
    }

    fn addresses(&mut self, host: &DnsName) -> Vec<IpAddr> {
        if let Some(ips) = self.zones.addresses(host, self.now) {
            return ips.to_vec();
        }
        let mut records = Vec::new();
        for kind in [DnsKind::A, DnsKind::AAAA] {
            // A failed lookup is not an error: the zone's other servers may have addresses.
            records.extend(self.resolver(host, kind).into_iter().flat_map(|(_, answer)| &answer.records));
        }
        if !self.wanted.is_empty() {
            return Vec::new();
        }
        self.zones.learn_addresses(host, records.into_iter(), self.now)
    }

    /// Some of these hosts, drawn anew for each round and each name, so that questions about many names are spread
    /// evenly over all servers.
    pub(super) fn drawn(&self, mut hosts: Vec<ServerHost>, most: usize) -> Vec<ServerHost> {
        let DnsQuery { seed, name, .. } = self.dns_query;
        let lots = BuildHasherDefault::<DefaultHasher>::default();
        order::sort_by_key(&mut hosts, |host| lots.hash_one((seed, name, &host.name, host.port)));
        hosts.truncate(most);
        hosts
    }
}

/// A response code, displayed by its name.
pub(super) fn code(code: u8) -> Rcode {
    Rcode::masked_from_int(code)
}
