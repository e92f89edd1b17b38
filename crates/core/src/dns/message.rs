//! DNS messages (RFC 1035): encodes questions, and decodes answers with the crate `domain`.

use std::net::IpAddr;
use std::rc::Rc;
use std::str::FromStr as _;

use domain::base::iana::{Opcode, Rcode};
use domain::base::message::RecordSection;
use domain::base::name::{Name, ParsedName};
use domain::base::wire::ParseError;
use domain::base::{Message, MessageBuilder, ParsedRecord, Question};
use domain::rdata::{A, Aaaa, Cname, Ns, Soa, Txt};

use crate::net::family::Family;

/// The class of a record (IN or CH), and its type.
pub use domain::base::iana::{Class as DnsClass, Rtype as DnsKind};

/// A name in lower case without the final dot; the root is empty.
pub type DnsName = Rc<str>;

/// The record type of a family: A or AAAA.
pub(super) fn kind_of(family: Family) -> DnsKind {
    match family {
        Family::V4 => DnsKind::A,
        Family::V6 => DnsKind::AAAA,
    }
}

/// A question to a DNS server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DnsQuestion {
    /// The name to ask about.
    pub name: DnsName,
    /// The record type to ask for.
    pub kind: DnsKind,
    /// The class to ask for.
    pub class: DnsClass,
    /// Whether the server should find out what it does not know (RD).
    pub is_recursive: bool,
}

/// A valid answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DnsAnswer {
    /// Whether the server is authoritative for the zone (AA).
    pub is_authoritative: bool,
    /// Whether the answer was truncated (TC); then it has no records.
    pub is_cut: bool,
    /// The response code: 0 means no error, 3 means that the name does not exist.
    pub code: u8,
    /// The answer section: the records that were asked for.
    pub records: Vec<DnsRecord>,
    /// The authority section: which servers to ask instead, or the SOA of the zone.
    pub authority: Vec<DnsRecord>,
    /// The additional section: addresses of servers.
    pub additional: Vec<DnsRecord>,
}

/// A record of one of the types that ddns uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRecord {
    /// The name that it belongs to.
    pub owner: DnsName,
    /// How long it may be cached, in seconds.
    pub ttl: u32,
    /// Its value.
    pub data: DnsData,
}

impl DnsRecord {
    pub(super) fn address(&self) -> Option<IpAddr> {
        if let DnsData::Address(ip) = self.data { Some(ip) } else { None }
    }
}

/// The value of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsData {
    /// A or AAAA.
    Address(IpAddr),
    /// CNAME: the name that it points to.
    Alias(DnsName),
    /// NS: a server of the zone.
    Server(DnsName),
    /// TXT: its first string.
    Text(Vec<u8>),
    /// SOA: how long the absence of a record may be cached, in seconds.
    Start(u32),
}

/// Encodes a question; `None` if its name is not valid in DNS.
pub fn query(id: u16, question: &DnsQuestion) -> Option<Vec<u8>> {
    let name = Name::<Vec<u8>>::from_str(if question.name.is_empty() { "." } else { &question.name }).ok()?;
    let mut message = MessageBuilder::new_vec().question();
    message.header_mut().set_id(id);
    message.header_mut().set_rd(question.is_recursive);
    message.push(Question::new(name, question.kind, question.class)).ok()?;
    Some(message.finish())
}

/// Decodes the answer to the question with this id; `None` if the bytes are something else: late, foreign, forged or
/// damaged (K6). The socket ensures that they come from the server that was asked.
pub fn answer_to(question: &DnsQuestion, id: u16, bytes: &[u8]) -> Option<DnsAnswer> {
    let message = Message::from_octets(bytes).ok()?;
    let header = message.header();
    if header.id() != id || !header.qr() || header.opcode() != Opcode::QUERY {
        return None;
    }
    let code = Rcode::to_int(header.rcode());
    // Some servers refuse with the header alone.
    if message.header_counts().qdcount() == 0 && !matches!(code, 0 | 3) {
        return Some(DnsAnswer { code, ..DnsAnswer::default() });
    }
    let repeated = message.sole_question().ok()?;
    let is_same = text(repeated.qname()) == question.name
        && (repeated.qtype(), repeated.qclass()) == (question.kind, question.class);
    let mut answer = DnsAnswer { is_authoritative: header.aa(), is_cut: header.tc(), code, ..DnsAnswer::default() };
    if is_same && !answer.is_cut {
        answer.records = records(message.answer().ok()?, question.class)?;
        answer.authority = records(message.authority().ok()?, question.class)?;
        answer.additional = records(message.additional().ok()?, question.class)?;
    }
    is_same.then_some(answer)
}

/// The records of a section whose types ddns uses; `None` if any record is damaged.
fn records(section: RecordSection<'_, &[u8]>, class: DnsClass) -> Option<Vec<DnsRecord>> {
    let mut known = Vec::new();
    for parsed in section {
        let parsed = parsed.ok()?;
        if parsed.class() == class
            && let Some(data) = data(&parsed).ok()?
        {
            // A TTL with its highest bit set counts as 0 (RFC 2181).
            let ttl = Some(parsed.ttl().as_secs()).filter(|ttl| i32::try_from(*ttl).is_ok()).unwrap_or(0);
            known.push(DnsRecord { owner: text(&parsed.owner()), ttl, data });
        }
    }
    Some(known)
}

/// The value of a record; `None` if ddns does not use its type. Fails if the record is damaged.
fn data(parsed: &ParsedRecord<'_, &[u8]>) -> Result<Option<DnsData>, ParseError> {
    macro_rules! data {
        ($kind:ty, $known:expr) => {{ parsed.to_record::<$kind>()?.map(|record| $known(record.data())) }};
    }
    Ok(match parsed.rtype() {
        DnsKind::A => data!(A, |data: &A| DnsData::Address(IpAddr::V4(data.addr()))),
        DnsKind::AAAA => data!(Aaaa, |data: &Aaaa| DnsData::Address(IpAddr::V6(data.addr()))),
        DnsKind::CNAME => data!(Cname<ParsedName<&[u8]>>, |data: &Cname<_>| DnsData::Alias(text(data.cname()))),
        DnsKind::NS => data!(Ns<ParsedName<&[u8]>>, |data: &Ns<_>| DnsData::Server(text(data.nsdname()))),
        DnsKind::SOA => data!(Soa<ParsedName<&[u8]>>, |data: &Soa<_>| DnsData::Start(data.minimum().as_secs())),
        DnsKind::TXT => {
            data!(Txt<&[u8]>, |data: &Txt<&[u8]>| DnsData::Text(data.iter().next().unwrap_or_default().to_vec()))
        }
        _ => None,
    })
}

fn text(name: &impl ToString) -> DnsName {
    let text = name.to_string();
    text.strip_suffix('.').unwrap_or(&text).to_ascii_lowercase().into()
}
