//! The bytes of SOCKS5 (RFC 1928) and of its user and password (RFC 1929).

use std::net::IpAddr;

/// The longest user, password or host name, in bytes: SOCKS5 has one byte for the length.
pub const MAX_FIELD_BYTES: usize = 255;

const VERSION: u8 = 5;
const LOGIN_VERSION: u8 = 1;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
const CONNECT: u8 = 1;

/// Where the proxy is to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// An address.
    Address(IpAddr),
    /// A name that the proxy looks up.
    Name(String),
}

/// User and password.
pub type Credentials = (String, String);

/// The greeting: offers no login, and user and password if there are any.
pub fn greeting(login: Option<&Credentials>) -> Vec<u8> {
    match login {
        None => vec![VERSION, 1, NO_LOGIN],
        Some(_) => vec![VERSION, 2, NO_LOGIN, LOGIN],
    }
}

/// What the proxy chose from the greeting: the login that it wants before the request, if any. The error continues a
/// sentence that begins with the name of the proxy.
pub fn chosen(login: Option<&Credentials>, response: [u8; 2]) -> Result<Option<&Credentials>, String> {
    match response {
        [VERSION, NO_LOGIN] => Ok(None),
        [VERSION, LOGIN] if login.is_some() => Ok(login),
        [VERSION, LOGIN | 0xff] if login.is_none() => Err("asks for a user and password".to_owned()),
        [VERSION, _] => Err("asks for a login other than user and password".to_owned()),
        _ => Err(no_socks()),
    }
}

/// The message with user and password.
pub fn login((user, password): &Credentials) -> Vec<u8> {
    let mut bytes = vec![LOGIN_VERSION];
    push_short(&mut bytes, user);
    push_short(&mut bytes, password);
    bytes
}

/// Checks the proxy's response to the login.
pub fn logged_in(response: [u8; 2]) -> Result<(), String> {
    match response {
        [LOGIN_VERSION, 0] => Ok(()),
        [LOGIN_VERSION, _] => Err("does not accept the user and password".to_owned()),
        _ => Err(no_socks()),
    }
}

/// The request for a connection.
pub fn request(to: &Destination, port: u16) -> Vec<u8> {
    let mut bytes = vec![VERSION, CONNECT, 0];
    match to {
        Destination::Address(IpAddr::V4(ip)) => {
            bytes.push(1);
            bytes.extend(ip.octets());
        }
        Destination::Address(IpAddr::V6(ip)) => {
            bytes.push(4);
            bytes.extend(ip.octets());
        }
        Destination::Name(name) => {
            bytes.push(3);
            push_short(&mut bytes, name);
        }
    }
    bytes.extend(port.to_be_bytes());
    bytes
}

/// How many bytes follow the first five of the response to the request.
pub fn rest_of_response(start: [u8; 5]) -> Result<usize, String> {
    let [version, code, _, kind, length] = start;
    if version != VERSION {
        return Err(no_socks());
    }
    if code != 0 {
        return Err(refusal(code));
    }
    // The first byte of the address is among the five. The port follows the address.
    match kind {
        1 => Ok(3 + 2),
        4 => Ok(15 + 2),
        3 => Ok(usize::from(length) + 2),
        _ => Err(no_socks()),
    }
}

fn refusal(code: u8) -> String {
    let why = match code {
        1 => "it failed",
        2 => "its rules do not allow it",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "timed out",
        7 => "it does not support this command",
        8 => "it does not support this kind of address",
        _ => return format!("cannot connect to the endpoint (its reason {code} is unknown)"),
    };
    format!("cannot connect to the endpoint: {why}")
}

fn no_socks() -> String {
    "does not speak SOCKS5".to_owned()
}

/// Appends a text after its length. Texts that are too long were refused when they were read.
fn push_short(bytes: &mut Vec<u8>, text: &str) {
    let text = &text.as_bytes()[..text.len().min(MAX_FIELD_BYTES)];
    bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
    bytes.extend(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> Credentials {
        ("us".to_owned(), "pass".to_owned())
    }

    #[test]
    fn d5_socks_bytes_are_those_of_the_rfc() {
        let user = user();
        let (open, closed) = (None, Some(&user));
        assert_eq!(greeting(open), [5, 1, 0]);
        assert_eq!(greeting(closed), [5, 2, 0, 2]);
        assert_eq!(login(&user), *b"\x01\x02us\x04pass");
        let v4 = Destination::Address("192.0.2.1".parse().expect("an address"));
        assert_eq!(request(&v4, 443), [5, 1, 0, 1, 192, 0, 2, 1, 1, 187]);
        let v6 = Destination::Address("2001:db8::1".parse().expect("an address"));
        let bytes = request(&v6, 80);
        assert_eq!((bytes.len(), &bytes[..8], &bytes[20..]), (22, &[5, 1, 0, 4, 32, 1, 13, 184][..], &[0, 80][..]));
        assert_eq!(request(&Destination::Name("h.example".to_owned()), 80), *b"\x05\x01\x00\x03\x09h.example\x00\x50");
    }

    #[test]
    fn e2_each_response_of_a_socks_proxy_has_its_sentence() {
        let user = user();
        let (open, closed) = (None, Some(&user));
        assert_eq!(chosen(open, [5, 0]), Ok(None));
        assert_eq!(chosen(closed, [5, 0]), Ok(None));
        assert_eq!(chosen(closed, [5, 2]), Ok(closed));
        for (login, response, part) in [
            (open, [5, 255], "asks for a user and password"),
            (open, [5, 2], "asks for a user and password"),
            (closed, [5, 255], "a login other than"),
            (open, [5, 1], "a login other than"),
            (open, [4, 0], "does not speak SOCKS5"),
        ] {
            assert!(chosen(login, response).is_err_and(|why| why.contains(part)), "{response:?}");
        }
        assert_eq!(logged_in([1, 0]), Ok(()));
        assert!(logged_in([1, 1]).is_err_and(|why| why.contains("does not accept")));
        assert!(logged_in([5, 0]).is_err());
        assert_eq!([1, 4, 3].map(|kind| rest_of_response([5, 0, 0, kind, 9])), [Ok(5), Ok(17), Ok(11)]);
        let mut sentences: Vec<String> =
            (1..=9).map(|code| rest_of_response([5, code, 0, 1, 0]).unwrap_err()).collect();
        sentences.push(rest_of_response([5, 0, 0, 2, 0]).unwrap_err());
        let count = sentences.len();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), count, "each has a sentence of its own: {sentences:?}");
    }
}
