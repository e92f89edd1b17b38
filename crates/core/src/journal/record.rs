//! One record of the history: written from what happened, read back from its line.

use std::net::IpAddr;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::event::{EventKind, Held, JournalEvent, Settled, SightChange, What};
use crate::lease::role_change::RoleChange;
use crate::net::family::Family;
use crate::text::json::push_escaped;
use crate::text::number::push_number;
use crate::text::own_json::{self, lenient};

/// Most lines are no longer.
const LIKELY: usize = 256;

/// Longer reasons are cut, in characters, so that lines stay short.
const MAX_REASON_CHARS: usize = 300;

/// One record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When, in seconds since the epoch.
    pub at: u64,
    /// What it is about.
    pub event: EventKind,
    /// Of which family the address or the record is; `None` if it is about the group.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The domain; `None` if it is about the address of this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Where the update was sent: the origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The address that was sent, or that was found.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// What the endpoint had accepted, or what was found before.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub previous: Option<IpAddr>,
    /// The status of the response; `None` if there was no response.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the request took, in milliseconds.
    #[serde(rename = "ms", default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// Which try it was, the first is 1. Tries in between that failed for the same reason have no record.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// Until when it is held back, in seconds since the epoch.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// How many seconds after it was accepted.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// For how many seconds resolvers may keep what was seen.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// The source of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The group whose lease it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Why it failed, masked; what was seen in DNS; `drifted` where it was sent again for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde hands it over")]
fn is_first(attempt: &u32) -> bool {
    *attempt <= 1
}

impl Record {
    /// One that says nothing more.
    pub fn new(at: u64, event: EventKind, family: Option<Family>) -> Self {
        Self { at, event, family, attempt: 1, ..Self::default() }
    }

    /// Whether the endpoint has another address now than it had, or this host has.
    pub fn is_change(&self) -> bool {
        match self.event {
            EventKind::Address => true,
            event => event.is_accepted() && self.address != self.previous,
        }
    }

    /// Reads a line; `None` if it is not one of ours, or not a whole one.
    pub fn from_line(line: &str) -> Option<Self> {
        let is_whole = |record: &Self| record.family.is_some() || record.event.of_group().is_some();
        // Whatever is about an address says of which type.
        own_json::read(line).filter(is_whole)
    }

    /// The same line again, without its end.
    pub fn to_line(&self) -> String {
        own_json::line(self)
    }

    /// What happened, as a record. `None` where it says no more than those before it: a try that failed as the one before it has
    /// one only when their number has doubled, so that a dead endpoint does not fill the history.
    fn of(JournalEvent { at, what }: &JournalEvent) -> Option<Self> {
        let kind = what.kind()?;
        let new = |family: &Family| Self::new(*at, kind, Some(*family));
        Some(match what {
            What::Settled(Settled { is_repeat: true, attempt, .. }) if !attempt.is_power_of_two() => return None,
            What::SourceFailed { is_repeat: true, .. }
            | What::Held(Held { is_repeat: true, .. })
            | What::DnsQuestions { .. }
            | What::Said { .. } => {
                return None;
            }
            What::Settled(settled) => Self {
                domain: Some(settled.about.domain.to_string()),
                endpoint: settled.endpoint.as_deref().map(str::to_owned),
                address: Some(settled.ip),
                previous: settled.previous,
                status: settled.outcome.status(),
                took: Some(milliseconds(settled)),
                attempt: settled.attempt,
                reason: if settled.outcome.is_accepted() {
                    settled.is_repair.then(|| EventKind::Drifted.key().to_owned())
                } else {
                    Some(cut(&settled.outcome.reason()))
                },
                ..new(&settled.about.family)
            },
            What::Held(Held { about, ip, until, why, .. }) => Self {
                domain: Some(about.domain.to_string()),
                address: Some(*ip),
                until: *until,
                reason: Some(cut(why)),
                ..new(&about.family)
            },
            What::Sight(SightChange { about, ip, after, ttl, reason, .. }) => Self {
                domain: Some(about.domain.to_string()),
                address: Some(*ip),
                after: Some(*after),
                ttl: *ttl,
                reason: Some(cut(reason)),
                ..new(&about.family)
            },
            What::Address { family, ip, previous, source, .. } => {
                let source = Some(source.clone());
                Self { address: Some(*ip), previous: *previous, source, ..new(family) }
            }
            What::NoAddress { family, previous, .. } => Self { previous: *previous, ..new(family) },
            What::SourceFailed { family, source, why, .. } => {
                Self { source: Some(source.clone()), reason: Some(cut(why)), ..new(family) }
            }
            What::SourceRecovered { family, source, .. } => Self { source: Some(source.clone()), ..new(family) },
            What::Role(RoleChange { group, why, .. }) => {
                let (group, reason) = (Some(group.clone()), why.as_deref().map(cut));
                Self { group, reason, ..Self::new(*at, kind, None) }
            }
        })
    }
}

/// Writes lines. Many updates that were accepted together have lines that differ little: what they share is kept as text.
#[derive(Debug, Default)]
pub struct RecordWriter {
    last: Option<SharedText>,
}

/// What the last line had in common with the one that comes, perhaps.
#[derive(Debug)]
struct SharedText {
    key: (u64, EventKind, Family, IpAddr, Option<IpAddr>, Option<u16>),
    endpoint: Option<Rc<str>>,
    /// Without the domain, and without the time that it took.
    line: String,
    /// Where the domain begins.
    place: usize,
}

impl RecordWriter {
    /// Adds the line of what happened. Nothing, where it says no more than the lines before it.
    pub fn push(&mut self, out: &mut String, event: &JournalEvent) {
        match &event.what {
            What::Settled(settled) if settled.attempt == 1 && settled.outcome.is_accepted() && !settled.is_repair => {
                self.push_accepted(out, event.at, settled);
            }
            _ => out.extend(Record::of(event).map(|record| record.to_line() + "\n")),
        }
    }

    fn push_accepted(&mut self, out: &mut String, at: u64, settled: &Settled) {
        let Settled { about, ip, previous, outcome, .. } = settled;
        let key = (at, EventKind::of(outcome), about.family, *ip, *previous, outcome.status());
        let is_same = |last: &SharedText| last.key == key && last.endpoint == settled.endpoint;
        let SharedText { line, place, .. } = match &mut self.last {
            Some(last) if is_same(last) => last,
            last => last.insert(SharedText::new(key, settled.endpoint.clone())),
        };
        out.reserve(LIKELY);
        out.push_str(&line[..*place]);
        push_escaped(out, about.domain.as_str());
        out.push_str(line[*place..].trim_end_matches('}'));
        out.push_str(",\"ms\":");
        push_number(out, milliseconds(settled));
        out.push_str("}\n");
    }
}

impl SharedText {
    fn new(key: (u64, EventKind, Family, IpAddr, Option<IpAddr>, Option<u16>), endpoint: Option<Rc<str>>) -> Self {
        let (at, event, family, ip, previous, status) = key;
        let (domain, to) = (Some(String::new()), endpoint.as_deref().map(str::to_owned));
        let (address, new) = (Some(ip), Record::new(at, event, Some(family)));
        let line = Record { domain, endpoint: to, address, previous, status, ..new }.to_line();
        // Nothing before the domain is empty.
        let place = line.as_bytes().windows(2).position(|two| two == b"\"\"").map_or(0, |at| at + 1);
        Self { key, endpoint, line, place }
    }
}

fn milliseconds(settled: &Settled) -> u64 {
    u64::try_from(settled.took.as_millis()).unwrap_or(u64::MAX)
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_REASON_CHARS).collect()
}
