//! Servers that are hostile, lame or kept for long, and zones below a known one.

use super::*;

/// The names that the resolver was asked about.
fn resolver_heard(asked: &[ServerQuestion]) -> Vec<&str> {
    let of_resolver = asked.iter().filter(|asking| asking.server.ip() == ip(RESOLVER));
    of_resolver.map(|asking| &*asking.question.name).collect()
}

/// Each server names another target for each name: followed one by one, these are servers^8 ways.
#[test]
fn k9_k14_each_cname_target_is_asked_about_once() {
    for (servers, names) in [(4, 6), (4, 13), (13, 13)] {
        let mut world = World::with("");
        let hosts =
            (1..=servers).map(|at| format!("example.com NS n{at}.example.com; n{at}.example.com A 10.0.5.{at}"));
        world.zone("10.0.0.1", "com", &hosts.collect::<Vec<_>>().join("; "));
        for at in 1..=servers {
            let aliases =
                (0..names).map(|name| format!("c{name}.example.com CNAME c{}.example.com", (name + at) % names));
            world.zone(&format!("10.0.5.{at}"), "example.com", &aliases.collect::<Vec<_>>().join("; "));
            // Without the rest of the chain, which this server has, too.
            world.odd(&format!("10.0.5.{at}"), |mut answer| {
                answer.records.truncate(1);
                Ok(answer)
            });
        }
        let dns_query = DnsQuery { most: MAX_SERVERS_AT_END, ..dns_query("c0.example.com") };
        let (seen, asked) = world.look(&dns_query, &mut Zones::default());
        assert!(seen.servers.len() <= 9 * servers, "{} answers", seen.servers.len());
        assert!(asked.len() < 200, "{} questions", asked.len());
        let expected = if names > 9 { "unknown: its CNAMEs lead to more than 8 names" } else { "unknown: CNAME c" };
        assert!(said(&seen).starts_with(expected), "{}", said(&seen));
    }
    // Two servers name each another target, and these name each other.
    let mut world = World::with("a.example.com CNAME b.other.net");
    let both = "example.com NS ns1.example.com; a.example.com CNAME c.other.net";
    world.zone("10.0.1.2", "example.com", both);
    world.zone("10.0.0.1", "net", "other.net NS n.other.net; n.other.net A 10.0.2.1");
    world.zone("10.0.2.1", "other.net", "b.other.net CNAME c.other.net; c.other.net CNAME b.other.net");
    world.odd("10.0.2.1", |mut answer| {
        answer.records.truncate(1);
        Ok(answer)
    });
    assert_eq!(world.says("a.example.com"), "unknown: the CNAMEs lead back to themselves");
}

/// The servers' addresses may be cached for less long than their names.
#[test]
fn k4_k12_glue_is_kept_as_long_as_its_zone() {
    let mut world = World::with(HOME);
    let below = "example.com NS ns1.example.com 86400; ns1.example.com A 10.0.1.1 3600";
    world.zone("10.0.0.1", "com", below);
    // The house has a view of its own.
    let inside = "com NS a.nic.test; a.nic.test A 10.0.0.1; ns1.example.com A 192.168.1.9";
    world.zone(RESOLVER, "", inside);
    world.zone("192.168.1.9", "example.com", "home.example.com A 192.168.1.5");
    let mut zones = Zones::default();
    for (now, heard) in [(5, &["com", "a.nic.test", "a.nic.test"][..]), (3700, &[]), (80_000, &[])] {
        let (seen, asked) = world.look_at(now, &dns_query("home.example.com"), &mut zones);
        assert_eq!(said(&seen), "visible (1 server, TTL 300)", "at {now}");
        assert_eq!(resolver_heard(&asked), heard, "at {now}");
    }
    let (seen, asked) = world.look_at(90_000, &dns_query("home.example.com"), &mut zones);
    assert_eq!(said(&seen), "visible (1 server, TTL 300)");
    assert_eq!(resolver_heard(&asked), ["com", "a.nic.test", "a.nic.test"], "the zone's server was learned anew");
    // A server without glue in its own zone cannot be found, and the resolver is not asked for it either.
    world.zone("10.0.0.1", "com", &format!("{below}; example.com NS ns9.example.com"));
    let (seen, asked) = world.look(&dns_query("home.example.com"), &mut Zones::default());
    assert_eq!(said(&seen), "visible (1 server, TTL 300; ns9.example.com: cannot be looked up)");
    assert_eq!(resolver_heard(&asked), ["com", "a.nic.test", "a.nic.test"]);
}

/// Its zone's servers are those of a provider beside it, and the zone above does not tell their addresses.
#[test]
fn k4_a_server_in_a_zone_beside_is_looked_up() {
    let mut world = World::with("");
    world.zone("10.0.0.1", "com", "co.com NS n.co.com; n.co.com A 10.0.6.1");
    let beside = "prov.co.com NS ns1.prov.co.com; ex.co.com NS ns1.prov.co.com";
    world.zone("10.0.6.1", "co.com", beside);
    world.odd("10.0.6.1", |mut answer| {
        answer.additional.clear();
        Ok(answer)
    });
    world.zone("10.0.6.2", "ex.co.com", "home.ex.co.com A 203.0.113.7");
    world.zone(RESOLVER, "", "com NS a.nic.test; a.nic.test A 10.0.0.1; ns1.prov.co.com A 10.0.6.2");
    assert_eq!(world.says("home.ex.co.com"), "visible (1 server, TTL 300)");
}

/// Both servers of the zone above serve the zone below, too. Its third server has another address.
#[test]
fn k3_k4_a_name_of_a_known_zone_may_be_a_zone_of_its_own() {
    let mut world = World::with(&format!("{HOME}; ns3.example.com A 10.0.1.3"));
    let sub = "sub.example.com NS ns1.example.com; sub.example.com NS ns3.example.com; sub.example.com A";
    for server in ["10.0.1.1", "10.0.1.2"] {
        world.zone(server, "sub.example.com", &format!("{sub} 203.0.113.7"));
    }
    world.zone("10.0.1.3", "sub.example.com", &format!("{sub} 198.51.100.4"));
    for most in [MAX_SERVERS, 1] {
        let mut zones = Zones::default();
        assert!(said(&world.look(&dns_query("home.example.com"), &mut zones).0).starts_with("visible"));
        let dns_query = DnsQuery { most, ..dns_query("sub.example.com") };
        let (_, asked) = world.look(&dns_query, &mut zones);
        assert!(resolver_heard(&asked).is_empty(), "the zone's own servers know ns3.example.com: {asked:?}");
        let (seen, asked) = world.look(&DnsQuery { most: MAX_SERVERS, ..dns_query }, &mut zones);
        assert_eq!(said(&seen), "partly: ns3.example.com has 198.51.100.4");
        assert!(asked.len() <= 2, "it is looked for once: {asked:?}");
    }
}

/// Where one server each is asked about many names, looking for zones below costs next to nothing.
#[test]
fn k14_many_names_of_a_zone_cost_a_question_each() {
    let world = World::with("*.example.com A 203.0.113.7");
    let mut zones = Zones::default();
    let mut count = |most, number: u32| {
        let dns_query = DnsQuery { most, ..dns_query(&format!("n{number}.example.com")) };
        world.look(&dns_query, &mut zones).1.len()
    };
    let questions: usize = (0..500).map(|number| count(1, number)).sum();
    assert!(questions < 500 + 20, "{questions}");
    // A round at several servers looks for a zone, once.
    assert_eq!((count(4, 400), count(4, 400), count(1, 400)), (3, 2, 1));
}

#[test]
fn k6_k8_a_referral_of_a_lame_server_does_not_outvote_the_others() {
    let lame = |_| {
        let (authority, additional) =
            (records("home.example.com NS x.example.com"), records("x.example.com A 10.0.9.9"));
        Ok(DnsAnswer { authority, additional, ..DnsAnswer::default() })
    };
    let mut world = World::with(HOME);
    world.odd("10.0.1.2", lame);
    for (seed, most) in (1..12).flat_map(|seed| [(seed, MAX_SERVERS), (seed, 2)]) {
        let dns_query = DnsQuery { most, seed, ..dns_query("home.example.com") };
        let (seen, asked) = world.look(&dns_query, &mut Zones::default());
        assert!(said(&seen).starts_with("visible (1 server, TTL 300; ns2.example.com: "), "{}", said(&seen));
        assert!(asked.len() < 16, "{asked:?}");
    }
    // If all say so, the lower zone is believed, and what its servers say comes first.
    world.odd("10.0.1.1", lame);
    assert_eq!(world.says("home.example.com"), "unknown: x.example.com does not answer");
    world.zone("10.0.9.9", "home.example.com", HOME);
    assert_eq!(world.says("home.example.com"), "visible (1 server, TTL 300)");
}

/// A question to the resolver about the domain itself would stay in its cache, and its view would count as the world's.
#[test]
fn k4_k17_no_address_of_this_host_or_its_resolver_is_a_name_server() {
    for glue in ["A 192.168.1.1", "AAAA ::ffff:192.168.1.1", "A 127.0.0.53", "AAAA ::1", "A 169.254.1.1", "A 0.0.0.0"] {
        let mut world = World::with(HOME);
        let text = format!(
            "example.com NS ns1.example.com; ns1.example.com A 10.0.1.1; example.com NS ns.evil.com; ns.evil.com {glue}"
        );
        world.zone("10.0.0.1", "com", &text);
        let (seen, asked) = world.look(&dns_query("home.example.com"), &mut Zones::default());
        let expected = "visible (1 server, TTL 300; ns.evil.com: has only addresses of this host or its resolvers)";
        assert_eq!(said(&seen), expected, "{glue}");
        assert_eq!(resolver_heard(&asked), ["com", "a.nic.test", "a.nic.test"]);
        assert!(asked.iter().all(|asking| ["10.0.0.1", "10.0.1.1", RESOLVER].map(ip).contains(&asking.server.ip())));
    }
    // What the user names is asked.
    let mut world = World::with("");
    world.zone("127.0.0.1", "example.com", HOME);
    let named = DnsQuery { servers: vec![("127.0.0.1".to_owned(), 53)], ..dns_query("home.example.com") };
    assert_eq!(said(&world.look(&named, &mut Zones::default()).0), "visible (1 server, TTL 300)");
}

#[test]
fn k16_k20_port_53_is_blocked() {
    let mut world = World::with(HOME);
    world.odd("10.0.0.1", |_| Err(NoAnswer::Silent));
    assert_eq!(
        world.says("home.example.com"),
        "unknown: a.nic.test does not answer; port 53 is blocked, or the network or the server is down"
    );
    world.odd("10.0.0.1", |_| Ok(DnsAnswer { code: 5, ..DnsAnswer::default() }));
    assert_eq!(world.says("home.example.com"), "unknown: a.nic.test says REFUSED");
    world.zone(RESOLVER, "", "com NS a.nic.test");
    assert_eq!(world.says("home.example.com"), "unknown: a.nic.test cannot be looked up");
}

/// A zone whose servers are silent is looked for again in the round, but they are not waited for again.
#[test]
fn k5_k14_a_silent_server_is_asked_one_question_a_round() {
    let mut world = World::with(HOME);
    let mut zones = Zones::default();
    world.look(&dns_query("home.example.com"), &mut zones);
    for server in ["10.0.1.1", "10.0.1.2"] {
        world.odd(server, |_| Err(NoAnswer::Silent));
    }
    let (seen, asked) = world.look_at(100, &dns_query("home.example.com"), &mut zones);
    assert!(said(&seen).starts_with("unknown: ns"), "{}", said(&seen));
    assert_eq!(asked.len(), 3, "the zone's servers, and the one above: {asked:?}");
}

/// A zone of that name without NS records: asking the same server for them again gives the same answer.
#[test]
fn k4_k14_a_zone_without_servers_ends_the_walk() {
    let mut world = World::with(HOME);
    for server in ["10.0.1.1", "10.0.1.2"] {
        world.zone(server, "home.example.com", HOME);
    }
    assert_eq!(world.says("home.example.com"), "visible (2 servers, TTL 300)");
}
