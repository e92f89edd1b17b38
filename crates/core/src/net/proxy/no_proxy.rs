//! `NO_PROXY`: the hosts that are reached without the environment's proxy.

use std::net::IpAddr;

use crate::net::network::Network;

/// A list of hosts, as curl understands it: names with everything below them, addresses, networks, or a lone `*` for
/// all hosts. In addition, as in other programs, `*.` may come before a name, and a port after a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoProxy {
    is_all: bool,
    rules: Vec<Rule>,
}

/// One item of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    hosts: Hosts,
    /// Only this port; `None`: every port.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    /// A name and everything below it.
    Name(String),
    /// The addresses of this network.
    Network(Network),
}

impl NoProxy {
    /// Reads a list that is separated by commas, spaces or both. Items that are not hosts cover nothing.
    pub fn parse(text: &str) -> Self {
        let items = text.split(|letter: char| letter == ',' || letter.is_whitespace());
        let rules = items.filter(|item| !item.is_empty()).filter_map(Rule::parse).collect();
        Self { is_all: text.trim() == "*", rules }
    }

    /// Whether a host is reached without a proxy on this port. An IPv6 address is given without brackets.
    pub fn covers(&self, host: &str, port: u16) -> bool {
        let name = host.strip_suffix('.').unwrap_or(host);
        let ip: Option<IpAddr> = host.parse().ok();
        let mut rules = self.rules.iter().filter(|rule| rule.port.is_none_or(|only| only == port));
        self.is_all
            || rules.any(|rule| match &rule.hosts {
                Hosts::Network(network) => ip.is_some_and(|ip| network.contains(ip)),
                Hosts::Name(known) => ip.is_none() && is_below(name, known),
            })
    }
}

impl Rule {
    fn parse(item: &str) -> Option<Self> {
        if let Some(network) = Network::parse(item) {
            return Some(Self { hosts: Hosts::Network(network), port: None });
        }
        let (host, port) = match item.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (item, None),
        };
        if host.contains(['/', '[', ':']) && !host.ends_with(']') {
            return None;
        }
        if let Some(network) = Network::parse(host) {
            return Some(Self { hosts: Hosts::Network(network), port });
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
        let name = name.strip_prefix('.').unwrap_or(name);
        (!name.is_empty()).then(|| Self { hosts: Hosts::Name(name.to_owned()), port })
    }
}

/// Whether a name is `known`, or below it.
fn is_below(name: &str, known: &str) -> bool {
    let Some(at) = name.len().checked_sub(known.len()) else { return false };
    let ends = name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(known));
    ends && (at == 0 || name[..at].ends_with('.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn d5_no_proxy_in_all_its_forms() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("*", &["example.com", "127.0.0.1", "::1"], &[]),
            (
                "example.com",
                &["example.com", "EXAMPLE.com", "a.example.com", "example.com."],
                &["anexample.com", "com"],
            ),
            (".example.com", &["example.com", "a.b.example.com"], &["anexample.com", "example.org"]),
            ("*.example.com", &["example.com", "a.example.com"], &["anexample.com"]),
            ("EXAMPLE.COM.", &["example.com", "a.example.com."], &["example.com.org"]),
            ("localhost", &["localhost"], &["localhost.example.com", "127.0.0.1"]),
            ("example.com:80", &["example.com", "a.example.com"], &[]),
            ("example.com:81", &[], &["example.com"]),
            (" * ", &["example.com"], &[]),
            ("*:80, *", &[], &["example.com", "::1"]),
            ("a.example,*", &["a.example"], &["example.com", "127.0.0.1"]),
            ("127.0.0.1", &["127.0.0.1"], &["127.0.0.2", "a.127.0.0.1.example"]),
            ("127.0.0.1:80", &["127.0.0.1"], &["127.0.0.2"]),
            ("127.0.0.1:81", &[], &["127.0.0.1"]),
            ("0.0.1", &[], &["127.0.0.1"]),
            ("::1", &["::1"], &["::2", "0.0.0.1"]),
            ("[::1]", &["::1"], &["::2"]),
            ("0:0:0:0:0:0:0:1", &["::1"], &[]),
            ("[::1]:80", &["::1"], &[]),
            ("[::1]:81", &[], &["::1"]),
            ("10.0.0.0/8", &["10.0.0.0", "10.255.255.255"], &["11.0.0.0", "9.255.255.255", "a10.example"]),
            ("192.168.1.77/24", &["192.168.1.1"], &["192.168.2.1"]),
            ("0.0.0.0/0", &["1.2.3.4"], &["::1", "example.com"]),
            ("fd00::/8", &["fd00::1", "fdff::"], &["fe00::", "fc00::"]),
            ("[fd00::]/8", &["fd12::1"], &["fc00::"]),
            ("a.example,b.example", &["a.example", "b.example"], &["c.example"]),
            ("a.example b.example\t c.example", &["a.example", "b.example", "c.example"], &["d.example"]),
            (" , a.example ,, b.example , ", &["a.example", "b.example"], &["example"]),
            ("10.0.0.0/33, 10.0.0.0/x, [::1, [::1]x, ., *., :80, a:b", &[], &["10.0.0.1", "::1", "example.com", "a"]),
            ("", &[], &["example.com"]),
        ];
        for (list, covered, others) in cases {
            let list = (NoProxy::parse(list), list);
            for host in *covered {
                assert!(list.0.covers(host, 80), "`{}` covers {host}", list.1);
            }
            for host in *others {
                assert!(!list.0.covers(host, 80), "`{}` does not cover {host}", list.1);
            }
        }
    }

    proptest! {
        #[test]
        fn d5_a_name_covers_itself_and_what_is_below(
            name in "[a-z][a-z0-9-]{0,8}(\\.[a-z][a-z0-9-]{0,8}){0,3}",
            more in "[a-z0-9]{1,8}",
            before in "[a-z0-9., \\[\\]/:*-]{0,20}",
            separator in "[, ]{1,3}",
            lead in prop::sample::select(vec!["", ".", "*."]),
            end in prop::sample::select(vec!["", "."]),
            port in any::<u16>(),
        ) {
            let alone = NoProxy::parse(&format!("{lead}{}{end}", name.to_uppercase()));
            prop_assert!(alone.covers(&name, port));
            let below = format!("{more}.{name}.");
            prop_assert!(alone.covers(&below, port));
            let beside = format!("{more}{name}");
            prop_assert!(!alone.covers(&beside, port));
            // `m.m` is below `m`.
            let after = format!("{name}.{more}");
            prop_assert_eq!(alone.covers(&after, port), after.ends_with(&format!(".{name}")));
            // Other items of the list take nothing away.
            let among = NoProxy::parse(&format!("{before}{separator}{name}{separator}{before}"));
            prop_assert!(among.covers(&name, port));
        }

        #[test]
        fn d5_a_network_covers_what_begins_with_its_bits(
            network in any::<u128>(), flipped in 0_u32..128, bits in 0_u32..=128, v4 in any::<bool>(),
        ) {
            let most = if v4 { 32 } else { 128 };
            let text = |bits: u128| match u32::try_from(bits >> 96) {
                Ok(high) if v4 => std::net::Ipv4Addr::from_bits(high).to_string(),
                _ => std::net::Ipv6Addr::from_bits(bits).to_string(),
            };
            let (flipped, bits) = (flipped % most, bits.min(most));
            let list = NoProxy::parse(&format!("{}/{bits}", text(network)));
            prop_assert!(list.covers(&text(network), 80));
            // An address that differs in one bit is covered exactly if that bit does not count.
            let other = network ^ (1 << (127 - flipped));
            prop_assert_eq!(list.covers(&text(other), 80), flipped >= bits);
        }

        #[test]
        fn d5_any_text_is_read(text in ".{0,60}", host in ".{0,20}") {
            NoProxy::parse(&text).covers(&host, 1);
        }
    }
}
