//! NAT-PMP (RFC 6886), only to learn the router's outer address. ddns never maps a port.

use std::net::Ipv4Addr;

/// The port on which a router listens.
pub const PORT: u16 = 5351;

/// The port on which hosts hear that the address changed. Routers announce that to 224.0.0.1, the group of all hosts.
pub const ANNOUNCEMENT_PORT: u16 = 5350;

/// The question for the outer address: version 0, opcode 0.
pub const QUESTION: [u8; 2] = [0, 0];

/// What a router's answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatPmpAnswer {
    /// Its outer address.
    Address(Ipv4Addr),
    /// The router has no address.
    NoAddress,
    /// The router refuses, or speaks another version.
    Refused,
}

/// Reads an answer or an announcement, which have the same form. `None` if the bytes are neither.
pub fn read(bytes: &[u8]) -> Option<NatPmpAnswer> {
    match *bytes {
        // Before the address: the router's uptime in seconds.
        [0, 128, 0, 0, _, _, _, _, a, b, c, d] => Some(NatPmpAnswer::Address(Ipv4Addr::new(a, b, c, d))),
        // Network failure: the router has no address yet.
        [0, 128, 0, 3, ..] => Some(NatPmpAnswer::NoAddress),
        // A router that speaks only PCP says that it does not support the version.
        [0, 128, _, _, ..] | [2, _, _, _, ..] => Some(NatPmpAnswer::Refused),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f9_c_twelve_bytes_are_an_address() {
        let whole = [0, 128, 0, 0, 0, 0, 1, 2, 203, 0, 113, 7];
        assert_eq!(read(&whole), Some(NatPmpAnswer::Address(Ipv4Addr::new(203, 0, 113, 7))));
        let cases: [(&[u8], Option<NatPmpAnswer>); 8] = [
            (&[], None),
            (&whole[..11], Some(NatPmpAnswer::Refused)),
            (&[0, 0], None),
            (&[0, 129, 0, 0, 0, 0, 1, 2, 203, 0, 113, 7], None),
            (&[0, 128, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0], Some(NatPmpAnswer::NoAddress)),
            (&[0, 128, 0, 3, 0, 0, 0, 1], Some(NatPmpAnswer::NoAddress)),
            (&[0, 128, 0, 2, 0, 0, 0, 1], Some(NatPmpAnswer::Refused)),
            (&[2, 128, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], Some(NatPmpAnswer::Refused)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(bytes), expected, "{bytes:?}");
        }
    }
}
