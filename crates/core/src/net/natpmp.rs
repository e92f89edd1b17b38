//! NAT-PMP (RFC 6886), as far as it takes to learn the router's outer address. Nothing is ever mapped.

use std::net::Ipv4Addr;

/// The port on which a router listens.
pub const PORT: u16 = 5351;

/// The port on which hosts hear that the address changed. It is announced to 224.0.0.1, which every host belongs to.
pub const ANNOUNCEMENT_PORT: u16 = 5350;

/// The question for the outer address: version 0, opcode 0.
pub const QUESTION: [u8; 2] = [0, 0];

/// What an answer of the router means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatPmpAnswer {
    /// Its outer address.
    Address(Ipv4Addr),
    /// It has none, or a private one.
    NoAddress,
    /// It does not say, or speaks another version.
    Refused,
}

/// Reads an answer; an announcement has the same form. `None` if it is none.
pub fn read(bytes: &[u8]) -> Option<NatPmpAnswer> {
    match *bytes {
        // Before the address: for how many seconds the router has run.
        [0, 128, 0, 0, _, _, _, _, a, b, c, d] => Some(NatPmpAnswer::Address(Ipv4Addr::new(a, b, c, d))),
        // Network failure: there is no address on the line yet.
        [0, 128, 0, 3, ..] => Some(NatPmpAnswer::NoAddress),
        // A router that speaks PCP alone says that it does not know the version.
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
