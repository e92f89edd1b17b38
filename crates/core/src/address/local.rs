//! Which address of this host's interfaces is chosen and why, and which addresses may be sent (F2, F5, F7).
//!
//! The program lists the addresses; everything here is a function of that list.

use std::net::IpAddr;

use regex_lite::Regex;

use crate::address::observation::Choice;
use crate::net::family::Family;
use crate::net::local_address::{Flags, LocalAddress};
use crate::net::network::Network;
use crate::net::reach::{Trust, is_private, unusable};
use crate::text::order;

impl LocalAddress {
    /// Why this address must not be sent; `None` if it may be sent (F7).
    pub fn unusable(&self) -> Option<&'static str> {
        let Flags { deprecated, tentative, dad_failed, down, .. } = self.flags;
        match () {
            () if down => Some("its interface is down"),
            () if dad_failed => Some("another host on the link has it too"),
            () if tentative => Some("it is tentative: not yet known to be unique"),
            () if deprecated => Some("it is deprecated"),
            () => unusable(self.ip, Trust::Own),
        }
    }

    /// Whether the kernel is still checking that this address is unique. Until it knows, it may use a temporary address of the
    /// same network instead.
    pub fn is_settling(&self) -> bool {
        let Flags { temporary, tentative, dad_failed, down, unplugged, .. } = self.flags;
        tentative && !(temporary || dad_failed || down || unplugged) && unusable(self.ip, Trust::Own).is_none()
    }

    fn is_usable(&self, family: Family) -> bool {
        Family::of(self.ip) == Some(family) && self.unusable().is_none()
    }

    /// Whether `other` is in the network of this address.
    fn shares_prefix(&self, other: &Self) -> bool {
        Network::of(self.ip, self.prefix.into()).is_some_and(|network| network.contains(other.ip))
    }
}

/// `default` (F2): the address the kernel uses toward the internet or, if that is temporary or deprecated, the stable address
/// of the same prefix and interface. An address that is not in the list is used unchanged, if it may be sent.
pub fn toward_internet(route: IpAddr, addresses: &[LocalAddress]) -> Result<Choice, String> {
    // Two interfaces may have the same address: prefer the interface on which it may be sent.
    let own = addresses.iter().filter(|address| address.ip == route).min_by_key(|address| address.unusable().is_some());
    let Some(own) = own else {
        return match unusable(route, Trust::Own) {
            None => Ok(Choice { ip: route, why: "the kernel uses it toward the internet".to_owned() }),
            Some(why) => Err(format!("the kernel would use {route} toward the internet, but {why}")),
        };
    };
    let name = &own.interface;
    if own.flags.temporary || own.flags.deprecated {
        let is_stable = |other: &&LocalAddress| {
            other.index == own.index && !other.flags.temporary && own.shares_prefix(other) && other.unusable().is_none()
        };
        if let Some(stable) = addresses.iter().find(is_stable) {
            let kind = if own.flags.temporary { "temporary" } else { "deprecated" };
            let why = format!("the stable address of {name}; the kernel itself uses {route}, which is {kind}");
            return Ok(Choice { ip: stable.ip, why });
        }
    }
    match own.unusable() {
        None if own.flags.temporary => {
            let why = format!(
                "the kernel uses it toward the internet, on {name}; it is temporary, but there is no stable address"
            );
            Ok(Choice { ip: route, why })
        }
        None => Ok(Choice { ip: route, why: format!("the kernel uses it toward the internet, on {name}") }),
        Some(why) => Err(format!("the kernel would use {route} on {name} toward the internet, but {why}")),
    }
}

/// `0`, `1`, … (F5): the best address of the Nth interface that has a usable address; loopback does not count.
pub fn nth_interface(number: usize, family: Family, addresses: &[LocalAddress]) -> Result<Choice, String> {
    // A loopback interface does not count, even if it also has other addresses.
    let is_loopback = |index: u32| addresses.iter().any(|address| address.index == index && address.ip.is_loopback());
    let usable = addresses.iter().filter(|address| address.is_usable(family) && !is_loopback(address.index));
    let mut indexes: Vec<u32> = usable.map(|address| address.index).collect();
    order::sort(&mut indexes);
    indexes.dedup();
    let of = |index: &u32| best_of(addresses.iter().filter(|address| address.index == *index), family);
    let Some(best) = indexes.get(number).and_then(of) else {
        let count = indexes.len();
        return Err(format!(
            "there is no interface number {number}: interfaces with a usable {family} address: {count}, counting from 0"
        ));
    };
    Ok(Choice { ip: best.ip, why: format!("{} of {}, interface number {number}", quality(best), best.interface) })
}

/// `interface:NAME` (F5): the best address of that interface.
pub fn of_interface(name: &str, family: Family, addresses: &[LocalAddress]) -> Result<Choice, String> {
    let own = || addresses.iter().filter(|address| address.interface == name);
    if let Some(best) = best_of(own(), family) {
        return Ok(Choice { ip: best.ip, why: format!("{} of {name}", quality(best)) });
    }
    let mut refused = own().filter(|address| Family::of(address.ip) == Some(family));
    match refused.next() {
        Some(address) => {
            let why = address.unusable().unwrap_or("it cannot be used");
            Err(format!("{name} has no usable {family} address: it has {}, but {why}", address.ip))
        }
        None if own().next().is_some() => Err(format!("{name} has no {family} address")),
        None => Err(format!("there is no interface {name} with an address")),
    }
}

/// `regex:` (F5): the first local address whose text the pattern matches from its start. Addresses without a flaw (see
/// [`LocalAddress::unusable`]) come first, then stable ones. The user chose the pattern, so any unicast address is accepted (F7).
pub fn matching(pattern: &Regex, family: Family, addresses: &[LocalAddress]) -> Result<Choice, String> {
    let fits = |address: &&LocalAddress| {
        Family::of(address.ip) == Some(family)
            && unusable(address.ip, Trust::User).is_none()
            && pattern.find(&address.ip.to_string()).is_some_and(|found| found.start() == 0)
    };
    let order = |address: &&LocalAddress| (address.unusable().is_some(), address.flags.temporary);
    let first = addresses.iter().filter(fits).min_by_key(order);
    let first = first.ok_or_else(|| format!("no local {family} address matches"))?;
    Ok(Choice { ip: first.ip, why: format!("the first local address that matches, on {}", first.interface) })
}

/// The best address: public before private, then stable before temporary, then in the order of the system.
fn best_of<'a>(addresses: impl Iterator<Item = &'a LocalAddress>, family: Family) -> Option<&'a LocalAddress> {
    addresses.filter(|address| address.is_usable(family)).min_by_key(|address| rank(address))
}

fn rank(address: &LocalAddress) -> (bool, bool) {
    (is_private(address.ip), address.flags.temporary)
}

fn quality(address: &LocalAddress) -> &'static str {
    match rank(address) {
        (false, false) => "the public address",
        (false, true) => "the public address, a temporary one,",
        (true, false) => "the private address",
        (true, true) => "the private address, a temporary one,",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::local_address::{Lifetime, Scope};

    /// An address from its text: `eth0 2001:db8::7/64 temporary deprecated`.
    fn row(text: &str) -> LocalAddress {
        let mut words = text.split_whitespace();
        let interface = words.next().expect("an interface").to_owned();
        let (ip, prefix) = words.next().and_then(|word| word.split_once('/')).expect("an address and its prefix");
        let flags: Vec<&str> = words.collect();
        let has = |name: &str| flags.contains(&name);
        LocalAddress {
            index: interface.bytes().last().map_or(1, u32::from),
            interface,
            ip: ip.parse().expect("an address"),
            prefix: prefix.parse().expect("a length"),
            scope: Scope::Global,
            flags: Flags {
                temporary: has("temporary"),
                deprecated: has("deprecated"),
                tentative: has("tentative"),
                dad_failed: has("dadfailed"),
                permanent: has("permanent"),
                down: has("down"),
                unplugged: has("unplugged"),
            },
            valid: Lifetime::Unknown,
            preferred: Lifetime::Unknown,
        }
    }

    fn rows(text: &[&str]) -> Vec<LocalAddress> {
        text.iter().map(|text| row(text)).collect()
    }

    fn text_of(choice: Result<Choice, String>) -> String {
        choice.map_or_else(|why| format!("none: {why}"), |choice| format!("{}: {}", choice.ip, choice.why))
    }

    #[test]
    fn f2_the_stable_address_stands_in_for_the_temporary_one() {
        let table: [(&str, &[&str], &str); 11] = [
            ("10.0.0.1", &["eth0 10.0.0.1/24 deprecated", "eth1 10.0.0.1/24"], "10.0.0.1: the kernel uses it"),
            (
                "203.0.113.7",
                &["eth0 203.0.113.7/24 deprecated", "eth0 203.0.113.8/24"],
                "203.0.113.8: the stable address",
            ),
            ("2001:db8::a", &["eth0 2001:db8::a/64"], "2001:db8::a: the kernel uses it"),
            (
                "2001:db8::a",
                &["eth0 2001:db8::a/64 temporary", "eth0 2001:db8::7/64"],
                "2001:db8::7: the stable address",
            ),
            (
                "2001:db8::a",
                &["eth0 2001:db8::a/64 temporary", "eth1 2001:db8::7/64"],
                "2001:db8::a: the kernel uses it",
            ),
            ("2001:db8::a", &["eth0 2001:db8::a/64 temporary", "eth0 2001:db8:1::7/64"], "no stable address"),
            ("2001:db8::a", &["eth0 2001:db8::a/64 temporary", "eth0 2001:db8::7/64 deprecated"], "no stable address"),
            ("2001:db8::a", &["eth0 2001:db8::a/64 temporary", "eth0 2001:db8::7/64 tentative"], "no stable address"),
            ("2001:db8::a", &["eth0 2001:db8::a/64 temporary", "eth0 2001:db8::7/64 temporary"], "no stable address"),
            (
                "fe80::1",
                &["eth0 fe80::1/64"],
                "none: the kernel would use fe80::1 on eth0 toward the internet, but it is a link",
            ),
            ("203.0.113.7", &[], "203.0.113.7: the kernel uses it"),
        ];
        for (route, addresses, expected) in table {
            let chosen = text_of(toward_internet(route.parse().expect("an address"), &rows(addresses)));
            assert!(chosen.contains(expected), "{route} {addresses:?}: {chosen}");
        }
    }

    #[test]
    fn f5_numbers_count_interfaces_that_have_a_usable_address() {
        let host = rows(&[
            "lo0 127.0.0.1/8",
            "lo0 10.255.255.254/32",
            "eth1 169.254.3.3/16",
            "eth2 192.168.1.2/24",
            "eth2 203.0.113.7/24",
            "eth3 10.0.0.2/8 deprecated",
            "eth4 10.0.0.3/8",
            "eth2 2001:db8::7/64",
        ]);
        let table = [
            (0, Family::V4, "203.0.113.7: the public address of eth2, interface number 0"),
            (1, Family::V4, "10.0.0.3: the private address of eth4, interface number 1"),
            (
                2,
                Family::V4,
                "none: there is no interface number 2: interfaces with a usable IPv4 address: 2, counting from 0",
            ),
            (0, Family::V6, "2001:db8::7: the public address of eth2"),
        ];
        for (number, family, expected) in table {
            let chosen = text_of(nth_interface(number, family, &host));
            assert!(chosen.contains(expected), "{number} {family}: {chosen}");
        }
    }

    #[test]
    fn f5_an_interface_gives_its_best_address_or_the_reason() {
        let table: [(&[&str], &str); 8] = [
            (&["eth0 fd00::1/64", "eth0 2001:db8::7/64"], "2001:db8::7: the public address of eth0"),
            (&["eth0 2001:db8::a/64 temporary", "eth0 2001:db8::7/64"], "2001:db8::7: the public address of eth0"),
            (
                &["eth0 2001:db8::a/64 temporary", "eth0 fd00::1/64"],
                "2001:db8::a: the public address, a temporary one, of eth0",
            ),
            (&["eth0 fd00::1/64"], "fd00::1: the private address of eth0"),
            (&["eth0 fe80::1/64"], "none: eth0 has no usable IPv6 address: it has fe80::1, but it is a link-local"),
            (&["eth0 2001:db8::7/64 dadfailed"], "but another host on the link has it too"),
            (&["eth0 203.0.113.7/24"], "none: eth0 has no IPv6 address"),
            (&["eth1 2001:db8::7/64"], "none: there is no interface eth0"),
        ];
        for (addresses, expected) in table {
            let chosen = text_of(of_interface("eth0", Family::V6, &rows(addresses)));
            assert!(chosen.contains(expected), "{addresses:?}: {chosen}");
        }
    }

    #[test]
    fn f5_a_pattern_matches_from_the_start() {
        let host = rows(&[
            "lo 127.0.0.1/8",
            "eth0 10.192.168.1/8",
            "eth0 192.168.1.5/24 deprecated",
            "eth0 2001:db8::a/64 temporary",
            "eth0 2001:db8::7/64",
        ]);
        let table = [
            (r"192\.168\..*", Family::V4, "192.168.1.5: the first local address that matches, on eth0"),
            (r"127\.", Family::V4, "127.0.0.1"),
            ("2001:", Family::V6, "2001:db8::7"),
            (".*", Family::V4, "10.192.168.1"),
            ("2001:", Family::V4, "none: no local IPv4 address matches"),
            (r"168\.", Family::V4, "none"),
        ];
        for (pattern, family, expected) in table {
            let pattern = Regex::new(pattern).expect("a pattern");
            let chosen = text_of(matching(&pattern, family, &host));
            assert!(chosen.starts_with(expected), "{pattern}: {chosen}");
        }
    }

    #[test]
    fn f2_a_stable_address_that_is_tentative_is_waited_for() {
        for (text, expected) in [
            ("eth0 2001:db8::7/64 tentative", true),
            ("eth0 2001:db8::7/64", false),
            ("eth0 2001:db8::7/64 tentative temporary", false),
            ("eth0 2001:db8::7/64 tentative dadfailed", false),
            ("eth0 2001:db8::7/64 tentative down", false),
            ("eth0 2001:db8::7/64 tentative unplugged", false),
            ("eth0 fe80::7/64 tentative", false),
        ] {
            assert_eq!(row(text).is_settling(), expected, "{text}");
        }
    }

    #[test]
    fn f7_the_flags_of_an_address_count() {
        let table = [
            ("eth0 2001:db8::7/64 permanent", None),
            ("eth0 2001:db8::7/64 tentative", Some("tentative")),
            ("eth0 192.168.1.1/24 permanent down", Some("interface is down")),
            ("eth0 2001:db8::7/64 deprecated", Some("deprecated")),
            ("eth0 2001:db8::7/64 tentative dadfailed", Some("another host")),
            ("lo 127.0.0.1/8", Some("loopback")),
            ("eth0 169.254.1.1/16", Some("link-local")),
            ("eth0 192.168.1.1/24", None),
        ];
        for (text, expected) in table {
            let verdict = row(text).unusable();
            assert_eq!(verdict.is_some(), expected.is_some(), "{text}: {verdict:?}");
            assert!(expected.is_none_or(|part| verdict.is_some_and(|why| why.contains(part))), "{text}: {verdict:?}");
        }
    }
}
