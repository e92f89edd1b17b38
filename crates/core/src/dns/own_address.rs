//! The address that a DNS server sees, read from its answer (F8).

use std::net::IpAddr;

use super::ask::code;
use super::message::{DnsAnswer, DnsClass, DnsData, DnsKind, DnsName, DnsQuestion, kind_of};
use super::zones::is_within;
use crate::net::family::Family;
use crate::net::reach::{Trust, is_far, sendable};

/// The only service whose names a resolver answers, with RD and without authority (F8c, F8d).
const BY_RESOLVER: &str = "opendns.com";

/// The question to a server that sees this host's address: for a text, or for an address of the family.
pub fn own_address_question(name: &str, family: Family, is_text: bool, is_chaos: bool) -> DnsQuestion {
    DnsQuestion {
        name: DnsName::from(name),
        kind: if is_text { DnsKind::TXT } else { kind_of(family) },
        class: if is_chaos { DnsClass::CH } else { DnsClass::IN },
        is_recursive: is_within(name, BY_RESOLVER),
    }
}

/// The address in an answer to such a question, or why there is none: a phrase that follows the server's name.
pub fn own_address(question: &DnsQuestion, answer: &DnsAnswer, family: Family) -> Result<IpAddr, String> {
    let redirected = |what: &str| Err(format!("{what}: port 53 seems to be redirected"));
    let must_know = question.class == DnsClass::IN && !question.is_recursive;
    match answer.code {
        0 if must_know && !answer.is_authoritative => return redirected("answers without authority"),
        0 => {}
        3 if question.is_recursive || !answer.is_authoritative => return redirected("says NXDOMAIN"),
        number => return Err(format!("says {}", code(number))),
    }
    let own = || answer.records.iter().filter(|record| record.owner == question.name);
    // OpenDNS itself forbids caching (TTL 0). A resolver that makes up the name may allow it.
    if question.is_recursive && own().any(|record| record.ttl > 0) {
        return redirected("gives an answer that may be kept");
    }
    let mut found = own().filter_map(|record| match &record.data {
        DnsData::Address(ip) => Some(Some(*ip)),
        DnsData::Text(text) => Some(std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())),
        _ => None,
    });
    match (found.next(), found.next()) {
        (None, _) => Err("gives no address".to_owned()),
        (_, Some(_)) => Err("gives more than one address".to_owned()),
        (Some(None), _) => Err("gives a text that is no address".to_owned()),
        (Some(Some(ip)), None) => match sendable(ip, family, Trust::Own)? {
            ip if is_far(ip) => Ok(ip),
            _ => Err(format!("saw {ip}, but it is a private or reserved address")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::DnsRecord;
    use super::*;

    #[test]
    fn f8b_f8c_what_counts_as_the_address() {
        let text = |text: &str| DnsData::Text(text.as_bytes().to_vec());
        let ip = |text: &str| DnsData::Address(text.parse().expect("an address"));
        let cases = [
            ("ip.example", true, 0, vec![ip("203.0.113.7")], Ok("203.0.113.7")),
            ("ip.example", true, 0, vec![text("203.0.113.7")], Ok("203.0.113.7")),
            ("ip.example", false, 0, vec![text("203.0.113.7")], Err("port 53 seems to be redirected")),
            ("myip.opendns.com", false, 0, vec![ip("203.0.113.7")], Ok("203.0.113.7")),
            ("myip.opendns.com", false, 3, vec![], Err("port 53 seems to be redirected")),
            ("kept.opendns.com", false, 0, vec![ip("203.0.113.7")], Err("port 53 seems to be redirected")),
            ("ip.notopendns.com", false, 0, vec![ip("203.0.113.7")], Err("answers without authority")),
            ("ip.example", true, 3, vec![], Err("says NXDOMAIN")),
            ("ip.example", true, 5, vec![], Err("says REFUSED")),
            ("ip.example", true, 0, vec![], Err("gives no address")),
            ("ip.example", true, 0, vec![text("203.0.113.7 ")], Err("a text that is no address")),
            ("ip.example", true, 0, vec![text("edns0-client-subnet 203.0.113.0/24")], Err("no address")),
            ("ip.example", true, 0, vec![ip("203.0.113.7"), ip("203.0.113.8")], Err("more than one")),
            ("ip.example", true, 0, vec![ip("2001:db8::1")], Err("not an IPv4 address")),
            ("ip.example", true, 0, vec![ip("192.168.1.5")], Err("it is a private or reserved address")),
            ("ip.example", true, 0, vec![ip("100.64.0.1")], Err("it is a private or reserved address")),
            ("ip.example", true, 0, vec![ip("127.0.0.1")], Err("loopback")),
        ];
        for (name, is_authoritative, code, data, expected) in cases {
            let is_text = matches!(data.first(), Some(DnsData::Text(_)));
            let question = own_address_question(name, Family::V4, is_text, false);
            assert_eq!(question.is_recursive, name.ends_with(".opendns.com"));
            let ttl = u32::from(name.starts_with("kept"));
            let records = data.into_iter().map(|data| DnsRecord { owner: name.into(), ttl, data }).collect();
            let answer = DnsAnswer { is_authoritative, code, records, ..DnsAnswer::default() };
            match (own_address(&question, &answer, Family::V4), expected) {
                (Ok(ip), Ok(expected)) => assert_eq!(ip.to_string(), expected),
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}
