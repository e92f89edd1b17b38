//! NAT-PMP (RFC 6886), as far as it takes to learn the router's outer address. Nothing is ever mapped.

use std::net::Ipv4Addr;

/// The port on which a router listens.
pub const PORT: u16 = 5351;

/// The port on which hosts hear that the address changed. It is announced to 224.0.0.1, which every host belongs to.
pub const ANNOUNCEMENT_PORT: u16 = 5350;

/// The question for the outer address: version 0, opcode 0.
pub const QUESTION: [u8; 2] = [0, 0];

/// What a packet of the router means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatPmpAnswer {
    /// Its outer address, and for how many seconds it has run.
    Address(Ipv4Addr, u32),
    /// It has none, or a private one.
    NoAddress,
    /// It does not say, or speaks another version.
    Refused,
    /// No such answer: keep waiting.
    Foreign,
}

/// Reads an answer; an announcement has the same form.
pub fn read(bytes: &[u8]) -> NatPmpAnswer {
    match *bytes {
        [0, 128, 0, 0, e0, e1, e2, e3, a, b, c, d] => {
            NatPmpAnswer::Address(Ipv4Addr::new(a, b, c, d), u32::from_be_bytes([e0, e1, e2, e3]))
        }
        // Network failure: there is no address on the line yet.
        [0, 128, 0, 3, ..] => NatPmpAnswer::NoAddress,
        // A router that speaks PCP alone says that it does not know the version.
        [0, 128, _, _, ..] | [2, _, _, _, ..] => NatPmpAnswer::Refused,
        _ => NatPmpAnswer::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f9_c_twelve_bytes_are_an_address() {
        let whole = [0, 128, 0, 0, 0, 0, 1, 2, 203, 0, 113, 7];
        assert_eq!(read(&whole), NatPmpAnswer::Address(Ipv4Addr::new(203, 0, 113, 7), 258));
        let cases: [(&[u8], NatPmpAnswer); 8] = [
            (&[], NatPmpAnswer::Foreign),
            (&whole[..11], NatPmpAnswer::Refused),
            (&[0, 0], NatPmpAnswer::Foreign),
            (&[0, 129, 0, 0, 0, 0, 1, 2, 203, 0, 113, 7], NatPmpAnswer::Foreign),
            (&[0, 128, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0], NatPmpAnswer::NoAddress),
            (&[0, 128, 0, 3, 0, 0, 0, 1], NatPmpAnswer::NoAddress),
            (&[0, 128, 0, 2, 0, 0, 0, 1], NatPmpAnswer::Refused),
            (&[2, 128, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], NatPmpAnswer::Refused),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read(bytes), expected, "{bytes:?}");
        }
    }
}
