//! Who can reach an address, and which addresses may be sent (F7).

use std::net::{IpAddr, Ipv4Addr};

use super::family::Family;

/// Where an address comes from: ddns accepts more from what the user named than from what it found itself (F7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Found by ddns itself.
    Own,
    /// From a page or a command that the user named.
    User,
}

/// Why an address must not be sent; `None` if it may be.
pub fn unusable(ip: IpAddr, trust: Trust) -> Option<&'static str> {
    let (unspecified, multicast, loopback) = (ip.is_unspecified(), ip.is_multicast(), ip.is_loopback());
    let (link_local, broadcast, is_of_none) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4 == Ipv4Addr::BROADCAST, v4.octets()[0] == 0),
        IpAddr::V6(v6) => (v6.is_unicast_link_local(), false, false),
    };
    match trust {
        _ if unspecified => Some("it is the unspecified address"),
        _ if is_of_none => Some("no host has an address that begins with 0"),
        _ if multicast => Some("it is a multicast address"),
        _ if broadcast => Some("it is the broadcast address"),
        _ if Family::of(ip).is_none() => Some("it is an IPv4-mapped address"),
        Trust::Own if loopback => Some("it is a loopback address"),
        Trust::Own if link_local => Some("it is a link-local address"),
        _ => None,
    }
}

/// An address that a server saw, if it may be sent; otherwise why not: a phrase that follows the server's name.
pub fn sendable(ip: IpAddr, family: Family, trust: Trust) -> Result<IpAddr, String> {
    match unusable(ip, trust) {
        _ if Family::of(ip) != Some(family) => Err(format!("saw {ip}, which is not an {family} address")),
        Some(why) => Err(format!("saw {ip}, but {why}")),
        None => Ok(ip),
    }
}

/// Why an address from the user's own source is probably not meant (F7); `None` if it may well be.
pub fn doubtful(ip: IpAddr) -> Option<String> {
    unusable(ip, Trust::Own).map(|why| format!("{why}: other hosts cannot reach it"))
}

/// Whether an address is on the internet, behind the default route.
pub fn is_far(ip: IpAddr) -> bool {
    !is_private(ip) && unusable(ip, Trust::Own).is_none()
}

/// Whether an address is not reachable from the internet: ddns sends it if it finds nothing better. Documentation
/// addresses are not among these. IPv6 hosts are in `2000::/3`, without the range for protocols (`2001::/23`).
pub fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_private()
                || matches!(
                    (a, b, c),
                    (100, 64..128, _) | (192, 0, 0) | (192, 88, 99) | (198, 18..20, _) | (240.., _, _)
                )
        }
        IpAddr::V6(v6) => {
            let [first, second, third, ..] = v6.segments();
            let is_of_host = match first {
                0x2001 => second >= 0x200,
                // 6to4: the IPv4 address of its router is in it.
                0x2002 => is_public(Ipv4Addr::from_bits(u32::from(second) << 16 | u32::from(third))),
                _ => first >> 13 == 1,
            };
            !is_of_host && !v6.is_loopback() && !v6.is_unicast_link_local()
        }
    }
}

/// Whether hosts on the internet can have an address (F9, F10): it is in no private, reserved or special network.
pub fn is_public(ip: impl Into<IpAddr>) -> bool {
    let ip = ip.into();
    let is_documentation = match ip {
        IpAddr::V4(v4) => v4.is_documentation(),
        IpAddr::V6(v6) => matches!(v6.segments(), [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..]),
    };
    is_far(ip) && !is_documentation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f7_what_may_be_sent() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        let never = ["0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:1.2.3.4"];
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
        for text in [
            "192.88.99.1",
            "2002:c0a8:101::1",
            "100::1",
            "64:ff9b::1",
            "4000::1",
            "5f00::1",
            "::1.2.3.4",
            "2001::1",
            "fec0::1",
            "fd00::1",
            "240.0.0.1",
        ] {
            assert!(!is_far(ip(text)), "{text}");
        }
        for text in ["2001:200::1", "2002:591:1::1", "2a00::1", "2001:db8::1", "5.145.0.1"] {
            assert!(is_far(ip(text)), "{text}");
        }
    }
}
