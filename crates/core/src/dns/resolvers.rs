//! The resolvers that a host uses, from the text of its `resolv.conf`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::PORT;

/// As many resolvers as the C library asks.
const MAX_RESOLVERS: usize = 3;

/// The resolvers in the order in which they are asked: the host itself where the text names none.
pub fn resolvers(text: &str) -> Vec<SocketAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver")?;
        words.next()?.parse::<IpAddr>().ok()
    });
    let mut all: Vec<SocketAddr> = named.take(MAX_RESOLVERS).map(|ip| SocketAddr::new(ip, PORT)).collect();
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
        assert_eq!(resolvers(text), ["192.168.1.1:53", "[fd00::1]:53"].map(|text| text.parse().expect("an address")));
        assert_eq!(resolvers("").len(), 1);
        assert_eq!(resolvers(&"nameserver 1.2.3.4\n".repeat(9)).len(), 3);
    }
}
