//! What people ask of a certificate: until when it is valid, and who issued it. A few dozen lines of DER instead of a
//! crate: whether it is to be trusted was decided by the TLS library before.

use crate::text::calendar::days_since_epoch;

/// What is told of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The last second of its validity, since the epoch.
    pub until: u64,
    /// The name of the issuer: its common name, or the organisation where it has none.
    pub issuer: Option<String>,
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The explicit tag of the version, which certificates of version 1 lack.
const VERSION: u8 = 0xa0;
/// 16-bit letters, as nobody writes them any more.
const BMP_STRING: u8 = 0x1e;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANISATION: &[u8] = &[0x55, 4, 10];

impl Certificate {
    /// Reads it from DER; none where that is no certificate.
    pub fn parse(der: &[u8]) -> Option<Self> {
        let mut certificate = Der(Der(der).expect(SEQUENCE)?);
        let mut fields = Der(certificate.expect(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.next()?;
        }
        let _serial = fields.next()?;
        let _algorithm = fields.expect(SEQUENCE)?;
        let issuer = fields.expect(SEQUENCE)?;
        let mut validity = Der(fields.expect(SEQUENCE)?);
        let _from = validity.next()?;
        let (kind, until) = validity.next()?;
        Some(Self {
            until: time(kind, until)?,
            issuer: name(issuer, COMMON_NAME).or_else(|| name(issuer, ORGANISATION)),
        })
    }
}

/// What is left to read.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value and its tag.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            // No certificate is longer than four bytes can tell.
            let (digits, after) =
                rest.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
            length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = after;
        }
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The next value, where it has this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }
}

/// The first part of a name that has this kind.
fn name(name: &[u8], kind: &[u8]) -> Option<String> {
    let mut sets = Der(name);
    while let Some(set) = sets.expect(SET) {
        let mut set = Der(set);
        while let Some(pair) = set.expect(SEQUENCE) {
            let mut pair = Der(pair);
            if pair.expect(OBJECT)? == kind {
                let (tag, text) = pair.next()?;
                return Some(text_of(tag, text));
            }
        }
    }
    None
}

/// A name for people: nothing in it can end a line or drive a terminal.
fn text_of(tag: u8, bytes: &[u8]) -> String {
    let text = if tag == BMP_STRING {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    } else {
        String::from_utf8_lossy(bytes).into_owned()
    };
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).take(100).collect()
}

/// `261115093000Z` or `20261115093000Z` in seconds since the epoch.
fn time(kind: u8, text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match kind {
        UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let short: u64 = year.parse().ok()?;
            (if short < 50 { 2000 + short } else { 1900 + short }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    if rest.len() != 10 || year < 1970 {
        return None;
    }
    let pair = |at: usize| rest.get(at..at + 2).and_then(|pair| pair.parse::<u64>().ok());
    let (month, day) = (pair(0).filter(|month| (1..=12).contains(month))?, pair(2).filter(|day| *day > 0)?);
    Some(days_since_epoch(year, month, day) * 86_400 + pair(4)? * 3600 + pair(6)? * 60 + pair(8)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, date_time_ymd};

    use super::*;
    use crate::text::calendar::date;

    fn made(name: &[(DnType, DnValue)], (year, month, day): (i32, u8, u8)) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["h.example".to_owned()]).expect("a name");
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in name {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
        params.not_after = date_time_ymd(year, month, day);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn validity_and_issuer_are_read() {
        type Case<'a> = (&'a [(DnType, DnValue)], (i32, u8, u8), Option<&'a str>);
        let utf8 = |text: &str| DnValue::Utf8String(text.to_owned());
        let printable = |text: &str| DnValue::PrintableString(text.try_into().expect("plain letters"));
        let bmp = |text: &str| DnValue::BmpString(text.try_into().expect("letters of 16 bits"));
        let cases: [Case<'_>; 6] = [
            (&[(DnType::CommonName, utf8("Prüf-CA"))], (2027, 2, 28), Some("Prüf-CA")),
            (
                &[(DnType::OrganizationName, utf8("Org")), (DnType::CommonName, printable("R3"))],
                (2049, 12, 31),
                Some("R3"),
            ),
            (&[(DnType::OrganizationName, bmp("Größe"))], (2050, 1, 1), Some("Größe")),
            (&[(DnType::CountryName, printable("DE"))], (2400, 2, 29), None),
            (&[(DnType::CommonName, utf8("a\u{1b}[2Jb\n"))], (1999, 6, 1), Some("a\u{fffd}[2Jb\u{fffd}")),
            (&[], (9999, 12, 31), None),
        ];
        for (name, (year, month, day), issuer) in cases {
            let der = made(name, (year, month, day));
            let read = Certificate::parse(&der).expect("a certificate");
            assert_eq!(date(read.until), format!("{year:04}-{month:02}-{day:02}"));
            assert_eq!(read.issuer.as_deref(), issuer);
            for length in 0..der.len() {
                assert!(Certificate::parse(&der[..length]).is_none(), "cut at {length}");
            }
        }
    }

    #[test]
    fn a_time_that_is_none_is_none() {
        assert_eq!(time(UTC_TIME, b"261115093000Z"), time(GENERALIZED_TIME, b"20261115093000Z"));
        for text in ["", "Z", "2611150930Z", "261315093000Z", "261100093000Z", "26111509300+Z", "261115093000+0100"] {
            assert_eq!(time(UTC_TIME, text.as_bytes()), None, "{text}");
        }
        assert_eq!(time(2, b"261115093000Z"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Certificate::parse(&bytes);
        }
    }
}
