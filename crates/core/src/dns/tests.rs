//! Rounds among simulated servers, and messages as bytes.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::net::family::Family;

mod walk;

/// Simulated servers by address. Each has zones with records, or changes its answers.
#[derive(Default)]
struct World {
    zones: HashMap<IpAddr, Vec<(String, Vec<DnsRecord>)>>,
    odd: HashMap<IpAddr, Odd>,
}

/// Changes the answer of a server, or drops it.
type Odd = fn(DnsAnswer) -> DnsReply;

const RESOLVER: &str = "192.168.1.1";

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn records(text: &str) -> Vec<DnsRecord> {
    let lines = text.split(';').map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let data = match words[1] {
                "A" | "AAAA" => DnsData::Address(ip(words[2])),
                "CNAME" => DnsData::Alias(words[2].into()),
                _ => DnsData::Server(words[2].into()),
            };
            let ttl = words.get(3).map_or(300, |ttl| ttl.parse().expect("a TTL"));
            DnsRecord { owner: words[0].into(), ttl, data }
        })
        .collect()
}

impl World {
    /// The resolver knows `com` and the hosts of its servers. These refer to example.com, whose two servers have these records.
    fn with(zone: &str) -> Self {
        let mut world = Self::default();
        let glue = "ns1.example.com A 10.0.1.1; ns2.example.com A 10.0.1.2";
        let below = "example.com NS ns1.example.com; example.com NS ns2.example.com";
        world.zone(RESOLVER, "", "com NS a.nic.test; a.nic.test A 10.0.0.1; net NS a.nic.test");
        world.zone("10.0.0.1", "com", &format!("com NS a.nic.test; {below}; {glue}"));
        for server in ["10.0.1.1", "10.0.1.2"] {
            world.zone(server, "example.com", &format!("{below}; {glue}; {zone}"));
        }
        world
    }

    fn zone(&mut self, server: &str, apex: &str, text: &str) {
        let zones = self.zones.entry(ip(server)).or_default();
        zones.retain(|(known, _)| known != apex);
        zones.push((apex.to_owned(), records(text)));
        zones.sort_by_key(|(apex, _)| std::cmp::Reverse(apex.len()));
    }

    fn odd(&mut self, server: &str, reply: Odd) {
        self.odd.insert(ip(server), reply);
    }

    fn reply(&self, ServerQuestion { server, question }: &ServerQuestion) -> DnsReply {
        let zones = self.zones.get(&server.ip()).ok_or(NoAnswer::Silent)?;
        let is_resolver = server.ip() == ip(RESOLVER);
        assert_eq!(question.is_recursive, is_resolver);
        let within = |name: &str, apex: &str| apex.is_empty() || name == apex || name.ends_with(&format!(".{apex}"));
        let answer = match zones.iter().find(|(apex, _)| within(&question.name, apex)) {
            None => DnsAnswer { code: 5, ..DnsAnswer::default() },
            Some((apex, all)) => answer(apex, all, question, is_resolver),
        };
        self.odd.get(&server.ip()).map_or(Ok(answer.clone()), |odd| odd(answer))
    }

    fn look(&self, dns_query: &DnsQuery, zones: &mut Zones) -> (DnsObservation, Vec<ServerQuestion>) {
        self.look_at(5, dns_query, zones)
    }

    fn look_at(&self, now: u64, dns_query: &DnsQuery, zones: &mut Zones) -> (DnsObservation, Vec<ServerQuestion>) {
        let (mut replies, mut asked) = (Replies::default(), Vec::new());
        loop {
            match round(dns_query, zones, &replies, Duration::from_secs(now)) {
                Ok(seen) => return (seen, asked),
                Err(asking) => {
                    assert!(!asking.is_empty() && asked.len() < 300);
                    for one in asking {
                        replies.insert(one.clone(), self.reply(&one));
                        asked.push(one);
                    }
                }
            }
        }
    }

    /// The verdict of a round on 203.0.113.7 as the address of a name.
    fn says(&self, name: &str) -> String {
        self.judged(name, &Verify::default())
    }

    fn judged(&self, name: &str, verify: &Verify) -> String {
        let seen = self.look(&dns_query(name), &mut Zones::default()).0;
        judge(&seen, ip("203.0.113.7"), verify).sentence(None, &Verify::default())
    }
}

/// What a round says about 203.0.113.7, for people.
fn said(seen: &DnsObservation) -> String {
    judge(seen, ip("203.0.113.7"), &Verify::default()).sentence(None, &Verify::default())
}

fn answer(apex: &str, all: &[DnsRecord], question: &DnsQuestion, is_resolver: bool) -> DnsAnswer {
    let mut answer = DnsAnswer { is_authoritative: !is_resolver, ..DnsAnswer::default() };
    let of = |name: &str| all.iter().filter(|record| *record.owner == *name).cloned().collect::<Vec<_>>();
    let is_server = |record: &DnsRecord| matches!(record.data, DnsData::Server(_));
    let mut parents =
        std::iter::successors(Some(&*question.name), |name| name.split_once('.').map(|(_, parent)| parent));
    let cut = parents.find(|name| *name != apex && !is_resolver && of(name).iter().any(is_server));
    if let Some(cut) = cut {
        answer.is_authoritative = false;
        answer.authority = of(cut).into_iter().filter(is_server).collect();
        answer.additional = all.iter().filter(|record| matches!(record.data, DnsData::Address(_))).cloned().collect();
        return answer;
    }
    let mut name = question.name.clone();
    for _ in 0..16 {
        let here = of(&name);
        let fits = here.iter().filter(|record| match (&record.data, question.kind) {
            (DnsData::Address(ip), DnsKind::A) => ip.is_ipv4(),
            (DnsData::Address(ip), DnsKind::AAAA) => ip.is_ipv6(),
            (DnsData::Server(_), DnsKind::NS) | (DnsData::Alias(_), _) => true,
            _ => false,
        });
        answer.records.extend(fits.cloned());
        match here.iter().find_map(|record| if let DnsData::Alias(next) = &record.data { Some(next) } else { None }) {
            Some(next) => name = next.clone(),
            None => break,
        }
    }
    if answer.records.is_empty() {
        answer.code = if of(&question.name).is_empty() { 3 } else { 0 };
        answer.authority.push(DnsRecord { owner: apex.into(), ttl: 600, data: DnsData::Start(60) });
    }
    answer
}

fn dns_query(name: &str) -> DnsQuery {
    DnsQuery {
        name: name.into(),
        family: Family::V4,
        way: DnsServerKind::Zone,
        servers: Vec::new(),
        resolvers: vec![SocketAddr::new(ip(RESOLVER), 53)],
        most: MAX_SERVERS,
        seed: 7,
    }
}

const HOME: &str = "home.example.com A 203.0.113.7";

#[test]
fn k8_the_verdict_of_a_round() {
    let refused = |_| Ok(DnsAnswer { code: 5, ..DnsAnswer::default() });
    let failed = |_| Ok(DnsAnswer { code: 2, ..DnsAnswer::default() });
    let silent = |_| Err(NoAnswer::Silent);
    let cut = |_| Err(NoAnswer::Cut);
    let lame = |answer| Ok(DnsAnswer { is_authoritative: false, ..answer });
    let cases: [(&str, Option<Odd>, &str); 11] = [
        (HOME, None, "visible (2 servers, TTL 300)"),
        ("home.example.com A 198.51.100.4", None, "not visible: ns1.example.com, ns2.example.com have 198.51.100.4"),
        ("", None, "not visible: ns1.example.com, ns2.example.com have no address"),
        ("home.example.com AAAA 2001:db8::7", None, "not visible: ns1.example.com, ns2.example.com have no address"),
        (HOME, Some(refused), "visible (1 server, TTL 300; ns2.example.com: says REFUSED)"),
        (HOME, Some(failed), "visible (1 server, TTL 300; ns2.example.com: says SERVFAIL)"),
        (HOME, Some(silent), "visible (1 server, TTL 300; ns2.example.com: does not answer)"),
        (HOME, Some(cut), "visible (1 server, TTL 300; ns2.example.com: cuts its answer off)"),
        (
            HOME,
            Some(lame),
            "visible (1 server, TTL 300; ns2.example.com: answers without authority: it is lame, or port 53 is redirected)",
        ),
        (
            "home.example.com A 203.0.113.7; home.example.com A 198.51.100.4",
            None,
            "visible (2 servers, 2 addresses, TTL 300)",
        ),
        ("*.example.com A 203.0.113.7", None, "not visible: ns1.example.com, ns2.example.com have no address"),
    ];
    for (zone, odd, expected) in cases {
        let mut world = World::with(zone);
        if let Some(odd) = odd {
            world.odd("10.0.1.2", odd);
        }
        // The order of the two servers is random.
        let says = world
            .says("home.example.com")
            .replace("ns2.example.com, ns1.example.com", "ns1.example.com, ns2.example.com");
        assert_eq!(says, expected, "{zone}");
    }
}

#[test]
fn k8_partly_and_unknown() {
    let mut world = World::with(HOME);
    world.zone("10.0.1.2", "example.com", "example.com NS ns1.example.com; home.example.com A 198.51.100.4");
    assert_eq!(world.says("home.example.com"), "partly: ns2.example.com has 198.51.100.4");
    for (odd, why) in [
        ((|_| Err(NoAnswer::Silent)) as fn(DnsAnswer) -> _, "does not answer"),
        (|_| Ok(DnsAnswer { code: 5, ..DnsAnswer::default() }), "says REFUSED"),
    ] {
        world.odd("10.0.1.1", odd);
        world.odd("10.0.1.2", odd);
        let says = world.says("home.example.com");
        assert!(says.starts_with("unknown: ns") && says.contains(&format!("ns1.example.com {why}")), "{says}");
    }
    world.odd(RESOLVER, |_| Err(NoAnswer::Silent));
    assert_eq!(world.says("home.example.com"), "unknown: the resolver 192.168.1.1 does not answer");
    world.odd(RESOLVER, |_| Ok(DnsAnswer { code: 3, ..DnsAnswer::default() }));
    assert_eq!(world.says("home.example.com"), "unknown: the resolver 192.168.1.1 knows no servers of `com`");
}

#[test]
fn k8_exact_and_k10_proxied() {
    let exact = Verify { exact: true, ..Verify::default() };
    let proxied = Verify { proxied: true, ..Verify::default() };
    let both = World::with("home.example.com A 203.0.113.7; home.example.com A 198.51.100.4");
    assert!(both.judged("home.example.com", &exact).starts_with("not visible: ns"));
    let says = both.judged("home.example.com", &exact);
    assert!(says.ends_with(" have 203.0.113.7, 198.51.100.4: others besides, against `exact`"), "{says}");
    assert_eq!(World::with(HOME).judged("home.example.com", &exact), "visible (2 servers, TTL 300)");
    let other = World::with("home.example.com A 198.51.100.4");
    assert_eq!(other.judged("home.example.com", &proxied), "behind a proxy (2 servers, TTL 300)");
    assert!(World::with("").judged("home.example.com", &proxied).starts_with("not visible: "));
    let private = World::with("home.example.com A 192.168.1.5");
    assert!(private.judged("home.example.com", &proxied).starts_with("not visible: "));
    let looks = |world: &World| {
        let seen = world.look(&dns_query("home.example.com"), &mut Zones::default()).0;
        judge(&seen, ip("203.0.113.7"), &Verify::default()).looks_proxied
    };
    assert!(looks(&other) && !looks(&private) && !looks(&both) && !looks(&World::with("")));
}

#[test]
fn k9_a_cname_is_followed_to_its_own_zone() {
    let visible = "visible (2 servers, TTL 300)";
    let inside = World::with("www.example.com CNAME home.example.com; home.example.com A 203.0.113.7");
    assert_eq!(inside.says("www.example.com"), visible);
    let mut outside = World::with("www.example.com CNAME host.other.net");
    outside.zone("10.0.0.1", "net", "other.net NS ns.other.net; ns.other.net A 10.0.2.1");
    outside.zone("10.0.2.1", "other.net", "other.net NS ns.other.net; host.other.net A 203.0.113.7");
    assert_eq!(outside.says("www.example.com"), "visible (1 server, TTL 300)");
    // What one zone's server says about another zone does not count.
    for server in ["10.0.1.1", "10.0.1.2"] {
        let text =
            "example.com NS ns1.example.com; www.example.com CNAME host.other.net; host.other.net A 198.51.100.4";
        outside.zone(server, "example.com", text);
    }
    assert_eq!(outside.says("www.example.com"), "visible (1 server, TTL 300)");
    // Each of the two servers names another target: the server of both targets counts once.
    outside.zone("10.0.1.2", "example.com", "example.com NS ns1.example.com; www.example.com CNAME more.other.net");
    let both = "other.net NS ns.other.net; host.other.net A 203.0.113.7; more.other.net A 203.0.113.7";
    outside.zone("10.0.2.1", "other.net", both);
    assert_eq!(outside.says("www.example.com"), "visible (1 server, TTL 300)");
    let chain = |count: usize| {
        let aliases = (1..count).map(|number| format!("c{number}.example.com CNAME c{}.example.com; ", number + 1));
        let aliases: String = aliases.collect();
        World::with(&format!("www.example.com CNAME c1.example.com; {aliases}c{count}.example.com A 203.0.113.7"))
    };
    assert_eq!(chain(8).says("www.example.com"), "visible (2 servers, TTL 300)");
    assert_eq!(
        chain(9).says("www.example.com"),
        "unknown: ns1.example.com, ns2.example.com: has more than 8 CNAMEs in a row"
    );
    let circle = World::with("www.example.com CNAME w.example.com; w.example.com CNAME www.example.com");
    let says = circle.says("www.example.com");
    assert!(says.starts_with("unknown: ") && says.contains("leads back to itself"), "{says}");
    let mut far = World::with("www.example.com CNAME www.other.net");
    far.zone("10.0.0.1", "net", "other.net NS ns.other.net; ns.other.net A 10.0.2.1");
    far.zone("10.0.2.1", "other.net", "other.net NS ns.other.net; www.other.net CNAME www.example.com");
    assert_eq!(far.says("www.example.com"), "unknown: CNAME www.example.com: the CNAME leads back to itself");
    assert_eq!(World::with("*.example.com A 203.0.113.7").says("*.example.com"), visible);
}

#[test]
fn k9_names_that_are_not_asked() {
    for name in ["bücher.example", "localhost", "1.2.3.4"] {
        assert!(why_not_asked(name).is_some(), "{name}");
    }
    for name in ["*.example.com", "_x.example.com", "xn--bcher-kva.example", "1.2.3.example"] {
        assert_eq!(why_not_asked(name), None);
    }
}

#[test]
fn k4_the_resolver_hears_of_the_top_level_and_of_servers_alone() {
    let mut world = World::with(HOME);
    // The resolver has a zone of the same name, with another address.
    world.zone(RESOLVER, "example.com", "home.example.com A 192.168.1.5; ns1.example.com A 192.168.1.9");
    let (seen, asked) = world.look(&dns_query("home.example.com"), &mut Zones::default());
    assert_eq!(
        judge(&seen, ip("203.0.113.7"), &Verify::default()).sentence(None, &Verify::default()),
        "visible (2 servers, TTL 300)"
    );
    let of_resolver = asked.iter().filter(|asking| asking.server.ip() == ip(RESOLVER));
    let names: Vec<&str> = of_resolver.map(|asking| &*asking.question.name).collect();
    assert_eq!(names, ["com", "a.nic.test", "a.nic.test"]);
}

/// If the name of one server cannot be looked up, the others count.
#[test]
fn k8_a_server_whose_name_cannot_be_looked_up() {
    let mut world = World::with(HOME);
    world.zone(
        "10.0.0.1",
        "com",
        "example.com NS ns1.example.com; ns1.example.com A 10.0.1.1; example.com NS ns.broken.org",
    );
    world.odd(RESOLVER, |answer| {
        let is_known = !answer.records.is_empty();
        Ok(if is_known { answer } else { DnsAnswer { code: 2, ..DnsAnswer::default() } })
    });
    assert_eq!(world.says("home.example.com"), "visible (1 server, TTL 300; ns.broken.org: cannot be looked up)");
}

#[test]
fn k4_glue_of_hosts_in_other_zones_does_not_count() {
    let mut world = World::with(HOME);
    let text = "example.com NS ns1.example.com; ns1.example.com A 10.0.1.1; example.com NS ns.evil.org; ns.evil.org A 10.0.9.9";
    world.zone("10.0.0.1", "com", text);
    world.zone("10.0.9.9", "example.com", "example.com NS ns.evil.org; home.example.com A 198.51.100.66");
    let says = world.says("home.example.com");
    assert_eq!(says, "visible (1 server, TTL 300; ns.evil.org: cannot be looked up)");
}

#[test]
fn k4_apex_delegated_child_and_a_server_of_both() {
    let visible = "visible (2 servers, TTL 300)";
    assert_eq!(World::with("example.com A 203.0.113.7").says("example.com"), visible);
    let mut child = World::with("sub.example.com NS ns.sub.example.com; ns.sub.example.com A 10.0.3.1");
    child.zone("10.0.3.1", "sub.example.com", "sub.example.com NS ns.sub.example.com; a.sub.example.com A 203.0.113.7");
    assert_eq!(child.says("a.sub.example.com"), "visible (1 server, TTL 300)");
    // ddns asked about a name of the zone above before: the walk continues from there.
    let mut zones = Zones::default();
    child.look(&dns_query("home.example.com"), &mut zones);
    let (seen, asked) = child.look(&dns_query("a.sub.example.com"), &mut zones);
    assert!(judge(&seen, ip("203.0.113.7"), &Verify::default()).verdict == DnsVerdict::Visible && asked.len() < 6);
    // The servers of the zone above also serve the zone below, which has a server of its own.
    let own = "sub.example.com NS ns.sub.example.com; sub.example.com NS ns1.example.com; ns.sub.example.com A 10.0.3.1; a.sub.example.com A 203.0.113.7";
    for server in ["10.0.1.1", "10.0.1.2", "10.0.3.1"] {
        child.zone(server, "sub.example.com", own);
    }
    assert_eq!(child.says("a.sub.example.com"), visible);
}

#[test]
fn k4_at_most_six_referrals() {
    let mut world = World::with("");
    let mut zone = "example.com".to_owned();
    for number in 0..8 {
        let below = format!("z{number}.{zone}");
        for server in ["10.0.1.1", "10.0.1.2", "10.0.3.1"] {
            if server.starts_with("10.0.3") || number == 0 {
                let server = if number == 0 { server.to_owned() } else { format!("10.0.3.{number}") };
                world.zone(
                    &server,
                    &zone,
                    &format!("{zone} NS n.{zone}; {below} NS n.{below}; n.{below} A 10.0.3.{}", number + 1),
                );
            }
        }
        zone = below;
    }
    assert_eq!(world.says(&format!("a.{zone}")), format!("unknown: more than 6 referrals lead to a.{zone}"));
}

#[test]
fn k5_servers_are_kept_and_looked_for_again_when_none_answers() {
    let mut world = World::with(&format!("{HOME}; b.example.com A 203.0.113.7"));
    let mut zones = Zones::default();
    let first = world.look(&dns_query("home.example.com"), &mut zones).1;
    let second = world.look(&dns_query("b.example.com"), &mut zones).1;
    assert!(first.len() > 4, "{first:?}");
    let third = world.look(&dns_query("b.example.com"), &mut zones).1;
    assert_eq!((second.len(), third.len()), (3, 2), "only the zone's two servers: {second:?}");
    // The servers moved to another address.
    let moved = "example.com NS ns1.example.com; ns1.example.com A 10.0.4.1";
    world.zones.remove(&ip("10.0.1.1"));
    world.zones.remove(&ip("10.0.1.2"));
    world.zone("10.0.0.1", "com", moved);
    world.zone("10.0.4.1", "example.com", &format!("{moved}; {HOME}"));
    assert_eq!(said(&world.look(&dns_query("home.example.com"), &mut zones).0), "visible (1 server, TTL 300)");
    // Servers are kept for a day at most.
    let late = round(&dns_query("home.example.com"), &mut zones, &Replies::default(), Duration::from_secs(86_406));
    assert_eq!(late.expect_err("a question")[0].server.ip(), ip(RESOLVER));
}

#[test]
fn k14_at_most_four_servers_are_asked_and_drawn_anew() {
    let mut world = World::with("");
    let hosts: Vec<String> = (1..=9)
        .map(|number| format!("example.com NS n{number}.example.com; n{number}.example.com A 10.0.5.{number}"))
        .collect();
    world.zone("10.0.0.1", "com", &hosts.join("; "));
    for number in 1..=9 {
        world.zone(&format!("10.0.5.{number}"), "example.com", &format!("example.com NS n1.example.com; {HOME}"));
    }
    let servers = |seed, most| {
        let dns_query = DnsQuery { most, seed, ..dns_query("home.example.com") };
        let mut zones = Zones::default();
        let mut names: Vec<String> =
            world.look(&dns_query, &mut zones).0.servers.into_iter().map(|one| one.server).collect();
        names.sort();
        names
    };
    assert_eq!(servers(1, MAX_SERVERS).len(), 4);
    assert!((2..9).any(|seed| servers(seed, MAX_SERVERS) != servers(1, MAX_SERVERS)));
    assert_eq!(servers(1, MAX_SERVERS_AT_END).len(), 9);
    // If many names ask one server each, the servers share them evenly, in one round and over many.
    let world = World::with("*.example.com A 203.0.113.7");
    for seed in [1, 2] {
        let mut zones = Zones::default();
        let first = |number: u32| {
            let dns_query = DnsQuery { most: 1, seed, ..dns_query(&format!("n{number}.example.com")) };
            world.look(&dns_query, &mut zones).0.servers[0].server == "ns1.example.com"
        };
        let of_first = (0..200).map(first).filter(|is_first| *is_first).count();
        assert!((70..130).contains(&of_first), "{of_first} of 200");
    }
}

#[test]
fn k3_named_servers_and_k15_the_resolver_take_the_place_of_the_zones() {
    let mut world = World::with(HOME);
    world.zone("10.0.7.1", "example.com", "home.example.com A 198.51.100.4");
    world.zone(RESOLVER, "", "ns.lan A 10.0.7.1; home.example.com A 203.0.113.7");
    for host in ["10.0.7.1", "ns.lan"] {
        let named = DnsQuery { servers: vec![(host.to_owned(), 53)], ..dns_query("home.example.com") };
        let seen = world.look(&named, &mut Zones::default()).0;
        let says = judge(&seen, ip("203.0.113.7"), &Verify::default()).sentence(None, &Verify::default());
        assert_eq!(says, format!("not visible: {host} has 198.51.100.4"));
    }
    let by_resolver = DnsQuery { way: DnsServerKind::Resolver, ..dns_query("home.example.com") };
    let (seen, asked) = world.look(&by_resolver, &mut Zones::default());
    assert_eq!(
        judge(&seen, ip("203.0.113.7"), &Verify::default()).sentence(None, &Verify::default()),
        "visible (by resolver, TTL 300)"
    );
    assert_eq!(asked.len(), 1);
}

#[test]
fn k8_a_server_with_ipv6_alone() {
    let mut world = World::with(HOME);
    world.zone("10.0.0.1", "com", "example.com NS ns1.example.com; ns1.example.com AAAA 2001:db8::53");
    world.zone("2001:db8::53", "example.com", &format!("example.com NS ns1.example.com; {HOME}"));
    assert_eq!(world.says("home.example.com"), "visible (1 server, TTL 300)");
}

#[test]
fn k20_what_is_said_after_acceptance() {
    let verify = Verify::default();
    let world = World::with("home.example.com A 198.51.100.4");
    let seen = judge(&world.look(&dns_query("home.example.com"), &mut Zones::default()).0, ip("203.0.113.7"), &verify);
    let says = |since| seen.sentence(Some(Duration::from_secs(since)), &verify);
    assert!(says(45).starts_with("not yet (45 s): ns"), "{}", says(45));
    assert!(says(900).starts_with("not visible: ns") && says(900).contains("set \"proxied\": true"), "{}", says(900));
    let by_resolver = Verify { way: DnsServerKind::Resolver, ..Verify::default() };
    let since = |seconds| Some(Duration::from_secs(seconds));
    assert!(by_resolver.too_early(since(29)).is_some());
    assert_eq!((by_resolver.too_early(since(30)), by_resolver.too_early(None)), (None, None));
    assert_eq!(verify.too_early(since(0)), None);
}

/// A name whose address was once visible has no proxy in front of it.
#[test]
fn k10_k20_nobody_is_told_of_a_proxy_where_the_address_was_visible() {
    let verify = Verify::default();
    let look = |zone| World::with(zone).look(&dns_query("home.example.com"), &mut Zones::default()).0;
    let [ours, other] = [HOME, "home.example.com A 198.51.100.4"].map(look);
    for (first, is_told) in [(&ours, false), (&other, true)] {
        let memory = DnsMemory::new(ip("203.0.113.7"), 10, 10).seen(first, &verify, 60, 20).0;
        let memory = DnsMemory::accepted(Some(memory), ip("203.0.113.8"), false, 30);
        let says = memory.seen(&other, &verify, 5000, 4000).0.sentence(&verify, 4000);
        assert_eq!(says.contains("set \"proxied\": true"), is_told, "{says}");
    }
}

#[test]
fn k11_rounds_after_acceptance() {
    let mut at = Some(Duration::ZERO);
    let mut all = Vec::new();
    while let Some(next) = at.and_then(next_round) {
        all.push(next.as_secs());
        at = Some(next);
    }
    assert_eq!(all, [2, 5, 15, 45, 120, 300, 600, 900]);
}

/// An answer as bytes: the question repeated, followed by these records.
fn bytes(id: u16, question: &DnsQuestion, flags: [u8; 2], records: &[u8], count: u16) -> Vec<u8> {
    let mut bytes = query(id, question).expect("a question");
    bytes[2..4].copy_from_slice(&flags);
    bytes[6..8].copy_from_slice(&count.to_be_bytes());
    bytes.extend(records);
    bytes
}

/// home.example.com A 203.0.113.7; its name is a pointer to the question's.
const RECORD: [u8; 16] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 203, 0, 113, 7];

fn question() -> DnsQuestion {
    DnsQuestion { name: "home.example.com".into(), kind: DnsKind::A, class: DnsClass::IN, is_recursive: false }
}

#[test]
fn k6_what_counts_as_an_answer() {
    let question = question();
    let right = bytes(77, &question, [0x84, 0], &RECORD, 1);
    let read = |bytes: &[u8]| answer_to(&question, 77, bytes);
    let answer = read(&right).expect("an answer");
    assert!(answer.is_authoritative && !answer.is_cut && answer.code == 0);
    assert_eq!(answer.records, super::tests::records("home.example.com A 203.0.113.7"));
    assert_eq!(read(&bytes(78, &question, [0x84, 0], &RECORD, 1)), None, "another id");
    assert_eq!(read(&query(77, &question).expect("a question")), None, "the query itself");
    assert_eq!(read(&bytes(77, &question, [0xac, 0], &RECORD, 1)), None, "another operation");
    let others = [
        DnsQuestion { name: "home.example.net".into(), ..question.clone() },
        DnsQuestion { kind: DnsKind::AAAA, ..question.clone() },
        DnsQuestion { class: DnsClass::CH, ..question.clone() },
    ];
    for other in others {
        assert_eq!(read(&bytes(77, &other, [0x84, 0], &RECORD, 1)), None, "{other:?}");
    }
    let same = DnsQuestion { name: "HOME.example.com".into(), ..question.clone() };
    assert!(read(&bytes(77, &same, [0x84, 0], &RECORD, 1)).is_some(), "letters of either case are the same");
    assert_eq!(read(&bytes(77, &question, [0x84, 0], &RECORD[..15], 1)), None, "too short");
    assert_eq!(read(&bytes(77, &question, [0x84, 0], &RECORD, 2)), None, "a record is missing");
    let pointer = u8::try_from(right.len() - RECORD.len()).expect("a short message");
    let mut circle = RECORD;
    circle[..2].copy_from_slice(&[0xc0, pointer]);
    assert_eq!(read(&bytes(77, &question, [0x84, 0], &circle, 1)), None, "a name that is its own end");
    let cut = read(&bytes(77, &question, [0x86, 0], &RECORD[..9], 1)).expect("an answer that is cut off");
    assert!(cut.is_cut && cut.records.is_empty());
    assert_eq!(read(&bytes(77, &question, [0x80, 5], &[], 0)).map(|answer| answer.code), Some(5));
    // Some servers refuse without repeating the question. An answer needs it.
    let header = |code: u8| [0, 77, 0x80, code, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(read(&header(5)).map(|answer| answer.code), Some(5));
    assert_eq!((read(&header(0)), read(&header(3)), answer_to(&question, 78, &header(5))), (None, None, None));
}

#[test]
fn k6_a_question_as_bytes() {
    let expected = b"\x00\x4d\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04home\x07example\x03com\x00\x00\x01\x00\x01";
    assert_eq!(query(77, &question()).as_deref(), Some(&expected[..]));
    let recursive = DnsQuestion { is_recursive: true, ..question() };
    assert_eq!(query(77, &recursive).expect("a question")[2], 1);
    let wrong = DnsQuestion { name: format!("{}.com", "a".repeat(64)).into(), ..question() };
    assert_eq!(query(77, &wrong), None);
}

proptest! {
    #[test]
    fn k6_damaged_answers_are_read_or_refused(at in 0_usize..60, byte: u8, length in 0_usize..70) {
        let mut damaged = bytes(77, &question(), [0x84, 0], &RECORD, 1);
        if let Some(old) = damaged.get_mut(at) {
            *old = byte;
        }
        damaged.truncate(length);
        let _ = answer_to(&question(), 77, &damaged);
    }
}
