//! The lower bits of an IPv6 address, which select another host of the same network (H9).

use std::net::Ipv6Addr;

/// `::1234:5678:9abc:def0`, and the length of the prefix that comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceId {
    bits: u128,
    prefix: u8,
}

/// The prefix length of most networks.
const USUAL_PREFIX: u8 = 64;

impl InterfaceId {
    /// Reads `::1` or `::1/56`. The error is a phrase that follows the name of the field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (address, prefix) = match text.split_once('/') {
            None => (text, Some(USUAL_PREFIX)),
            Some((address, prefix)) => (address, prefix.parse().ok().filter(|prefix| (16..128).contains(prefix))),
        };
        let address: Ipv6Addr =
            address.parse().map_err(|_| "must be the end of an IPv6 address, e.g. `::1`".to_owned())?;
        let prefix = prefix.ok_or("must have a prefix length from 16 to 127, e.g. `::1/64`")?;
        let bits = address.to_bits();
        if bits & mask(prefix) != 0 {
            return Err(format!("has bits in the prefix of {prefix} bits, which comes from the address found"));
        }
        if bits == 0 {
            return Err("has no bits set".to_owned());
        }
        Ok(Self { bits, prefix })
    }

    /// The address with its lower bits replaced by these.
    #[must_use]
    pub fn of(self, address: Ipv6Addr) -> Ipv6Addr {
        Ipv6Addr::from_bits(address.to_bits() & mask(self.prefix) | self.bits)
    }
}

/// A mask with this many leading ones.
fn mask(prefix: u8) -> u128 {
    u128::MAX << (128 - u32::from(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h9_lower_bits_are_replaced() {
        let found: Ipv6Addr = "2001:db8:1:2ff:a:b:c:d".parse().expect("an address");
        let cases = [
            ("::1234:5678:9abc:def0", "2001:db8:1:2ff:1234:5678:9abc:def0"),
            ("::1", "2001:db8:1:2ff::1"),
            (" ::1/64 ", "2001:db8:1:2ff::1"),
            ("::1/56", "2001:db8:1:200::1"),
            ("0:0:0:ab::1/56", "2001:db8:1:2ab::1"),
            ("::f/124", "2001:db8:1:2ff:a:b:c:f"),
            ("::1/127", "2001:db8:1:2ff:a:b:c:d"),
            ("0:ff::1/16", "2001:ff::1"),
        ];
        for (text, expected) in cases {
            let id = InterfaceId::parse(text).expect(text);
            assert_eq!(id.of(found).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn h9_what_is_no_interface_id_is_refused() {
        let cases = [
            ("", "the end of an IPv6 address"),
            ("1", "the end of an IPv6 address"),
            ("::1.2.3", "the end of an IPv6 address"),
            ("10.0.0.1", "the end of an IPv6 address"),
            ("::1/", "prefix length"),
            ("::1/0", "prefix length"),
            ("3f02::1/2", "prefix length"),
            ("::1/128", "prefix length"),
            ("::1/x", "prefix length"),
            ("::1/64/64", "prefix length"),
            ("2001:db8::1", "bits in the prefix of 64 bits"),
            ("::1:0:0:0:1", "bits in the prefix of 64 bits"),
            ("::/64", "no bit"),
        ];
        for (text, why) in cases {
            assert!(InterfaceId::parse(text).is_err_and(|error| error.contains(why)), "{text}");
        }
    }
}
