//! The resolvers of a host, from the text of its `resolv.conf`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use super::PORT;

/// The C library asks this many resolvers at most.
const MAX_RESOLVERS: usize = 3;

/// The resolvers in the order in which they are asked; the host itself if the text names none. `number` returns the
/// number of an interface: routers announce link-local addresses such as `fe80::1%eth0`, which are valid on one link
/// only.
pub fn resolvers(text: &str, number: impl Fn(&str) -> Option<u32>) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver")?;
        let word = words.next()?;
        let Some((ip, interface)) = word.split_once('%') else {
            return Some(SocketAddr::new(word.parse::<IpAddr>().ok()?, PORT));
        };
        let scope = interface.parse().ok().or_else(|| number(interface))?;
        Some(SocketAddrV6::new(ip.parse::<Ipv6Addr>().ok()?, PORT, 0, scope).into())
    });
    let mut all: Vec<SocketAddr> = named.take(MAX_RESOLVERS).collect();
    if all.is_empty() {
        all.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k4_resolvers_are_those_of_the_system() {
        let text = "# nameserver 9.9.9.9\nsearch lan\nnameserver 192.168.1.1 \n nameserver fd00::1\nnameserver x\n";
        let none = |_: &str| None;
        let all = |text: &str| resolvers(text, |name| (name == "eth0").then_some(7));
        assert_eq!(all(text), ["192.168.1.1:53", "[fd00::1]:53"].map(|text| text.parse().expect("an address")));
        assert_eq!(all("").len(), 1);
        assert_eq!(all(&"nameserver 1.2.3.4\n".repeat(9)).len(), 3);
        let scoped = "nameserver fe80::1%eth0\nnameserver fe80::2%3\nnameserver fe80::3%gone\nnameserver 10.0.0.1%eth0";
        assert_eq!(all(scoped), ["[fe80::1%7]:53", "[fe80::2%3]:53"].map(|text| text.parse().expect("an address")));
        assert_eq!(resolvers("nameserver fe80::1%eth0", none), resolvers("", none));
    }
}
