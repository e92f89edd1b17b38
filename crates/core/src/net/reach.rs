//! Who can reach an address, and which addresses may be sent (F7).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::family::Family;

/// Who gave an address: what the user named is taken more freely than what the program chose (F7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Found by the program itself.
    Own,
    /// From a page or a command that the user named.
    User,
}

/// Why an address must not be sent; `None` if it may be.
pub fn unusable(ip: IpAddr, trust: Trust) -> Option<&'static str> {
    let (unspecified, multicast, loopback) = (ip.is_unspecified(), ip.is_multicast(), ip.is_loopback());
    let (link_local, broadcast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4 == Ipv4Addr::BROADCAST),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), false),
    };
    match trust {
        _ if unspecified => Some("it is the unspecified address"),
        _ if multicast => Some("it is a multicast address"),
        _ if broadcast => Some("it is the broadcast address"),
        _ if Family::of(ip).is_none() => Some("it is an IPv4-mapped address"),
        Trust::Own if loopback => Some("it is a loopback address"),
        Trust::Own if link_local => Some("it is a link-local address"),
        _ => None,
    }
}

/// An address that a server saw, where it may be sent; otherwise why not: words that follow the server's name.
pub fn sendable(ip: IpAddr, family: Family, trust: Trust) -> Result<IpAddr, String> {
    match unusable(ip, trust) {
        _ if Family::of(ip) != Some(family) => Err(format!("saw {ip}, which is not an {family} address")),
        Some(why) => Err(format!("saw {ip}, but {why}")),
        None => Ok(ip),
    }
}

/// Why an address that the user's own source gave is hardly meant (F7); `None` if it may well be.
pub fn doubtful(ip: IpAddr) -> Option<String> {
    unusable(ip, Trust::Own).map(|why| format!("{why}: other hosts cannot reach it"))
}

/// Whether an address is somewhere on the internet, behind the default route.
pub fn is_far(ip: IpAddr) -> bool {
    !is_private(ip) && unusable(ip, Trust::Own).is_none()
}

/// Not reachable from the internet: sent all the same where there is nothing better.
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_private() || matches!((a, b, c), (100, 64..128, _) | (192, 0, 0) | (198, 18..20, _) | (240.., _, _))
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.segments()[0] & 0xffc0 == 0xfec0,
    }
}

/// Whether hosts on the internet can have it (F9): no address of a private, reserved or special network.
pub fn is_public(ip: Ipv4Addr) -> bool {
    unusable(ip.into(), Trust::Own).is_none() && !is_private(ip.into()) && !ip.is_documentation() && ip.octets()[0] != 0
}

/// The same for IPv6 (F10): `2000::/3`, without what is reserved for protocols (`2001::/23`) or documentation.
pub fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    let is_reserved = matches!((first, second), (0x2001, 0..=0x1ff | 0x0db8) | (0x3fff, 0..=0x0fff));
    first >> 13 == 1 && !is_reserved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f7_what_may_be_sent() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let never = ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:1.2.3.4"];
        let user_only = ["127.0.0.1", "::1", "169.254.1.1", "fe80::1"];
        let always = ["10.0.0.1", "192.168.1.1", "203.0.113.7", "2001:db8::1", "fd00::1", "100.64.0.1"];
        for text in never {
            assert!(unusable(ip(text), Trust::User).is_some() && unusable(ip(text), Trust::Own).is_some(), "{text}");
        }
        for text in user_only {
            assert!(unusable(ip(text), Trust::User).is_none() && doubtful(ip(text)).is_some(), "{text}");
        }
        for text in always {
            assert!(doubtful(ip(text)).is_none(), "{text}");
        }
    }
}
