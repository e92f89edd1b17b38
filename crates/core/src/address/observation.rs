//! What a lookup gives: an address and the reason for it, or none; and which addresses may be sent.

use std::net::{IpAddr, Ipv4Addr};

use super::source::Source;
use crate::net::family::Family;

/// What is known of one family's address now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observation {
    /// This address.
    Found(Observed),
    /// No source gave one.
    Unavailable,
    /// It was not looked up yet, or never is: the family is switched off, or has no domains.
    #[default]
    Off,
}

/// An address that a source gave. Holds no other: what is only supposed, or stands for an example, has none (A8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed(IpAddr);

impl Observed {
    /// What this source gave.
    pub fn by(_source: &Source, choice: &Choice) -> Self {
        Self(choice.ip)
    }

    /// The address.
    pub fn ip(self) -> IpAddr {
        self.0
    }
}

/// An address and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What would be sent.
    pub ip: IpAddr,
    /// Why this one, for people.
    pub why: String,
}

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

/// Why an address that the user's own source gave is hardly meant (F7); `None` if it may well be.
pub fn doubtful(ip: IpAddr) -> Option<String> {
    unusable(ip, Trust::Own).map(|why| format!("{why}: other hosts cannot reach it"))
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
