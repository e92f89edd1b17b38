//! Servers that are hostile, lame or kept for long, and zones below a known one.

use super::*;

/// What a round says about 203.0.113.7, for people.
fn said(seen: &DnsObservation) -> String {
    judge(seen, ip("203.0.113.7"), &Verify::default()).sentence(None, &Verify::default())
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
