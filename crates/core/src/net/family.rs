//! IPv4 and IPv6.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// An address family, and with it the type of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    /// `ipv4`, `index4`, record type `A`.
    #[serde(rename = "A")]
    V4,
    /// `ipv6`, `index6`, record type `AAAA`.
    #[serde(rename = "AAAA")]
    V6,
}

impl Family {
    /// Both, in the order in which they are sent.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of an address. An IPv4-mapped address counts as neither (F7).
    pub fn of(ip: IpAddr) -> Option<Self> {
        match ip {
            IpAddr::V4(_) => Some(Self::V4),
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => None,
            IpAddr::V6(_) => Some(Self::V6),
        }
    }

    /// The family of a record type.
    pub fn of_record(record_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.record_type() == record_type)
    }

    /// The value of `__RECORDTYPE__`.
    pub fn record_type(self) -> &'static str {
        match self {
            Self::V4 => "A",
            Self::V6 => "AAAA",
        }
    }

    /// A documentation address: it stands for one that is not known.
    pub fn documentation(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(192, 0, 2, 1).into(),
            Self::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        }
    }

    /// An address that is reached as most of the internet is, through the default route. It belongs to a root server of
    /// the DNS: no host has a route of its own to it.
    pub fn far(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::new(198, 41, 0, 4).into(),
            Self::V6 => Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30).into(),
        }
    }

    /// The index of the family in a pair.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// The addresses of a host in the order to try them: the families take turns, and that of the first address begins, so
/// that a family that leads nowhere costs a moment and not a minute (RFC 8305).
pub fn interleaved(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let Some(first) = addresses.first().map(IpAddr::is_ipv4) else { return addresses };
    let (firsts, others): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(|ip| ip.is_ipv4() == first);
    let longest = firsts.len().max(others.len());
    (0..longest).flat_map(|at| [firsts.get(at), others.get(at)]).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_tried_in_turn() {
        let cases = [
            ("", ""),
            ("1.1.1.1", "1.1.1.1"),
            ("::1 ::2 ::3 1.1.1.1", "::1 1.1.1.1 ::2 ::3"),
            ("1.1.1.1 2.2.2.2 ::1 ::2", "1.1.1.1 ::1 2.2.2.2 ::2"),
            ("1.1.1.1 ::1 ::2 ::3", "1.1.1.1 ::1 ::2 ::3"),
        ];
        for (given, expected) in cases {
            let given = given.split_whitespace().map(|ip| ip.parse().expect("an address")).collect();
            let order: Vec<String> = interleaved(given).iter().map(ToString::to_string).collect();
            assert_eq!(order.join(" "), expected);
        }
    }
}
