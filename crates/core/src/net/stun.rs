//! STUN (RFC 8489), only to learn one's own address: a binding request, and the address in its response.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The port that STUN servers listen on.
pub const PORT: u16 = 3478;

const BINDING_REQUEST: u16 = 0x0001;
const BINDING_SUCCESS: u16 = 0x0101;
const BINDING_ERROR: u16 = 0x0111;
const MAGIC: u32 = 0x2112_a442;
const HEADER: usize = 20;
const MAPPED_ADDRESS: u16 = 0x0001;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;

/// Connects a response with its request; must be hard to guess.
pub type TransactionId = [u8; 12];

/// What a server's response means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StunResponse {
    /// The address that the server saw.
    Address(IpAddr),
    /// The server refuses.
    Refused,
    /// The response contains no address.
    Empty,
}

/// The bytes of a binding request.
pub fn request(id: &TransactionId) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..2].copy_from_slice(&BINDING_REQUEST.to_be_bytes());
    bytes[4..8].copy_from_slice(&MAGIC.to_be_bytes());
    bytes[8..].copy_from_slice(id);
    bytes
}

/// Reads the response to a request; `None` if the bytes are something else: late, foreign or forged.
pub fn read(bytes: &[u8], id: &TransactionId) -> Option<StunResponse> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[4..8] != MAGIC.to_be_bytes() || header[8..] != id[..] || rest.len() != length {
        return None;
    }
    match u16::from_be_bytes([header[0], header[1]]) {
        BINDING_SUCCESS => Some(mapped_address(rest, id).map_or(StunResponse::Empty, StunResponse::Address)),
        BINDING_ERROR => Some(StunResponse::Refused),
        _ => None,
    }
}

/// The address among the attributes. The plain form comes from older servers, and counts only if the masked one is missing.
fn mapped_address(mut attributes: &[u8], id: &TransactionId) -> Option<IpAddr> {
    let mut plain = None;
    while let Some((head, rest)) = attributes.split_at_checked(4) {
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let value = rest.get(..length)?;
        match kind {
            XOR_MAPPED_ADDRESS => return address(value).map(|ip| unmask(ip, id)),
            MAPPED_ADDRESS => plain = address(value),
            _ => {}
        }
        // Attributes begin at multiples of four bytes.
        attributes = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    plain
}

fn address(value: &[u8]) -> Option<IpAddr> {
    match value {
        [_, 0x01, _, _, ip @ ..] => <[u8; 4]>::try_from(ip).ok().map(|ip| Ipv4Addr::from(ip).into()),
        [_, 0x02, _, _, ip @ ..] => <[u8; 16]>::try_from(ip).ok().map(|ip| Ipv6Addr::from(ip).into()),
        _ => None,
    }
}

/// Undoes the mask, which keeps routers from rewriting the address.
fn unmask(ip: IpAddr, id: &TransactionId) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() ^ MAGIC).into(),
        IpAddr::V6(v6) => {
            let mut mask = [0; 16];
            mask[..4].copy_from_slice(&MAGIC.to_be_bytes());
            mask[4..].copy_from_slice(id);
            Ipv6Addr::from_bits(v6.to_bits() ^ u128::from_be_bytes(mask)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The transaction id of the examples in RFC 5769.
    const ID: TransactionId = [0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae];

    fn response(kind: u16, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, value) in attributes {
            body.extend(kind.to_be_bytes());
            body.extend(u16::try_from(value.len()).expect("short").to_be_bytes());
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend(u16::try_from(body.len()).expect("short").to_be_bytes());
        bytes.extend(MAGIC.to_be_bytes());
        bytes.extend(ID);
        bytes.extend(body);
        bytes
    }

    /// The masked forms of 192.0.2.1 and 2001:db8:1234:5678:11:2233:4455:6677, from the RFC's examples.
    const V4: [u8; 8] = [0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43];
    const V6: [u8; 20] = [
        0, 2, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9,
        0xd9,
    ];

    #[test]
    fn f_stun_the_address_is_unmasked() {
        let ip = |text: &str| Some(StunResponse::Address(text.parse().expect("an address")));
        let software: (u16, &[u8]) = (0x8022, b"test vector");
        assert_eq!(read(&response(BINDING_SUCCESS, &[software, (XOR_MAPPED_ADDRESS, &V4)]), &ID), ip("192.0.2.1"));
        let v6 = "2001:db8:1234:5678:11:2233:4455:6677";
        assert_eq!(read(&response(BINDING_SUCCESS, &[software, (XOR_MAPPED_ADDRESS, &V6)]), &ID), ip(v6));
        let plain: (u16, &[u8]) = (MAPPED_ADDRESS, &[0, 1, 0, 80, 203, 0, 113, 7]);
        assert_eq!(read(&response(BINDING_SUCCESS, &[plain]), &ID), ip("203.0.113.7"));
        assert_eq!(read(&response(BINDING_SUCCESS, &[plain, (XOR_MAPPED_ADDRESS, &V4)]), &ID), ip("192.0.2.1"));
    }

    #[test]
    fn f_stun_what_is_no_response_to_the_request_is_skipped() {
        let good = response(BINDING_SUCCESS, &[(XOR_MAPPED_ADDRESS, &V4)]);
        for end in 0..good.len() {
            assert_eq!(read(&good[..end], &ID), None, "cut at {end}");
        }
        let mut other = ID;
        other[11] ^= 1;
        assert_eq!(read(&good, &other), None);
        assert_eq!(read(&request(&ID), &ID), None);
        assert_eq!(read(&response(BINDING_ERROR, &[]), &ID), Some(StunResponse::Refused));
        assert_eq!(read(&response(BINDING_SUCCESS, &[]), &ID), Some(StunResponse::Empty));
        assert_eq!(
            read(&response(BINDING_SUCCESS, &[(XOR_MAPPED_ADDRESS, &[0, 1, 0])]), &ID),
            Some(StunResponse::Empty)
        );
    }

    proptest! {
        #[test]
        fn f_stun_no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = response(BINDING_SUCCESS, &[]);
            bytes[2..4].copy_from_slice(&u16::try_from(body.len()).expect("short").to_be_bytes());
            bytes.extend(&body);
            read(&bytes, &ID);
            read(&body, &ID);
        }
    }
}
