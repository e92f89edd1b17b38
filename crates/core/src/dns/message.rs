//! Messages of DNS (RFC 1035): a question as bytes, and an answer of them. Reading is done by the crate `domain`.

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

/// A name in small letters without a final dot; the root is empty.
pub type DnsName = Rc<str>;

/// The records of a family.
pub(super) fn kind_of(family: Family) -> DnsKind {
    match family {
        Family::V4 => DnsKind::A,
        Family::V6 => DnsKind::AAAA,
    }
}

/// What a server is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DnsQuestion {
    /// About which name.
    pub name: DnsName,
    /// For which records.
    pub kind: DnsKind,
    /// Of which class.
    pub class: DnsClass,
    /// Whether the server is to find out what it does not know (RD).
    pub is_recursive: bool,
}

/// A valid answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DnsAnswer {
    /// Whether the server speaks for the zone (AA).
    pub is_authoritative: bool,
    /// Whether something is missing, since it did not fit (TC); it has no records then.
    pub is_cut: bool,
    /// The response code: 0, or 3 where there is no such name.
    pub code: u8,
    /// What was asked for.
    pub records: Vec<DnsRecord>,
    /// Whom to ask instead, or the start of the zone.
    pub authority: Vec<DnsRecord>,
    /// Addresses of servers.
    pub additional: Vec<DnsRecord>,
}

/// A record of one of the types that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRecord {
    /// Whose it is.
    pub owner: DnsName,
    /// For how many seconds it may be kept.
    pub ttl: u32,
    /// What it says.
    pub data: DnsData,
}

impl DnsRecord {
    pub(super) fn address(&self) -> Option<IpAddr> {
        if let DnsData::Address(ip) = self.data { Some(ip) } else { None }
    }
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsData {
    /// A or AAAA.
    Address(IpAddr),
    /// CNAME: the same as another name.
    Alias(DnsName),
    /// NS: a server of the zone.
    Server(DnsName),
    /// The first string of a TXT.
    Text(Vec<u8>),
    /// SOA: for how many seconds it may be kept that there is no record.
    Start(u32),
}

/// The bytes of a question; `None` if its name cannot be asked about.
pub fn query(id: u16, question: &DnsQuestion) -> Option<Vec<u8>> {
    let name = Name::<Vec<u8>>::from_str(if question.name.is_empty() { "." } else { &question.name }).ok()?;
    let mut message = MessageBuilder::new_vec().question();
    message.header_mut().set_id(id);
    message.header_mut().set_rd(question.is_recursive);
    message.push(Question::new(name, question.kind, question.class)).ok()?;
    Some(message.finish())
}

/// The answer to a question with this id; `None` if the bytes are something else: late, foreign, forged or damaged (K6). That they come
/// from the server that was asked is up to the socket.
pub fn answer_to(question: &DnsQuestion, id: u16, bytes: &[u8]) -> Option<DnsAnswer> {
    let message = Message::from_octets(bytes).ok()?;
    let header = message.header();
    if header.id() != id || !header.qr() || header.opcode() != Opcode::QUERY {
        return None;
    }
    let repeated = message.sole_question().ok()?;
    let is_same = text(repeated.qname()) == question.name
        && (repeated.qtype(), repeated.qclass()) == (question.kind, question.class);
    let mut answer = DnsAnswer {
        is_authoritative: header.aa(),
        is_cut: header.tc(),
        code: Rcode::to_int(header.rcode()),
        ..DnsAnswer::default()
    };
    if is_same && !answer.is_cut {
        answer.records = records(message.answer().ok()?, question.class)?;
        answer.authority = records(message.authority().ok()?, question.class)?;
        answer.additional = records(message.additional().ok()?, question.class)?;
    }
    is_same.then_some(answer)
}

/// The records of a section that matter; `None` if one of them is damaged.
fn records(section: RecordSection<'_, &[u8]>, class: DnsClass) -> Option<Vec<DnsRecord>> {
    let mut known = Vec::new();
    for parsed in section {
        let parsed = parsed.ok()?;
        if parsed.class() == class
            && let Some(data) = data(&parsed).ok()?
        {
            // What has the first bit set is 0 (RFC 2181).
            let ttl = Some(parsed.ttl().as_secs()).filter(|ttl| i32::try_from(*ttl).is_ok()).unwrap_or(0);
            known.push(DnsRecord { owner: text(&parsed.owner()), ttl, data });
        }
    }
    Some(known)
}

/// What a record says; `None` if it is of another type. Fails where it is damaged.
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
