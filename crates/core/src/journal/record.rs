//! A record of the history: made from an event, written as a line, and read back from it.

use std::net::IpAddr;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::event::{EventKind, Held, JournalEvent, Settled, VisibilityChange, What};
use crate::lease::role_change::RoleChange;
use crate::net::family::Family;
use crate::text::json::push_escaped;
use crate::text::number::push_number;
use crate::text::own_json::{self, lenient};

/// The length of most lines, in bytes: how much to reserve.
const LIKELY: usize = 256;

/// Longer reasons are cut to keep lines short.
const MAX_REASON_CHARS: usize = 300;

/// A record of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When it happened, in seconds since the epoch.
    pub at: u64,
    /// What happened.
    pub event: EventKind,
    /// The family of the address or of the DNS record; `None` if the event is about the group.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The domain; `None` if the event is about this host or its group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The origin that the update was sent to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The address that was sent or found.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The address that the endpoint had accepted, or that was found, before.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub previous: Option<IpAddr>,
    /// The status of the response; `None` if there was no response.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the request took, in milliseconds.
    #[serde(rename = "ms", default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub took: Option<u64>,
    /// The number of the attempt, from 1. Most attempts that fail for the same reason as the one before have no record.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub attempt: u32,
    /// Until when the update is held back, in seconds since the epoch.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Seconds since the update was accepted.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// For how many seconds resolvers may cache the answer.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// The source of the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The group, if the event is about its lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Why it failed, masked; or what DNS said; or `drifted` if an accepted update had been sent again for that reason.
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
    /// A record without details.
    pub fn new(at: u64, event: EventKind, family: Option<Family>) -> Self {
        Self { at, event, family, attempt: 1, ..Self::default() }
    }

    /// Whether the address at the endpoint, or of this host, changed.
    pub fn is_change(&self) -> bool {
        match self.event {
            EventKind::Address => true,
            event => event.is_accepted() && self.address != self.previous,
        }
    }

    /// Reads a line; `None` if it is not a complete record.
    pub fn from_line(line: &str) -> Option<Self> {
        let is_whole = |record: &Self| record.family.is_some() || record.event.of_group().is_some();
        // Only records about the group have no type.
        own_json::read(line).filter(is_whole)
    }

    /// The line of this record, without a line end.
    pub fn to_line(&self) -> String {
        own_json::line(self)
    }

    /// The record of an event; `None` if it adds nothing to earlier records. An attempt that fails like the one before gets a record
    /// only if its number is a power of two, so that a dead endpoint does not fill the history.
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
            What::Visibility(VisibilityChange { about, ip, after, ttl, reason, .. }) => Self {
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

/// Writes the lines of events. The lines of updates that were accepted together hardly differ, so the writer keeps the text that
/// they share.
#[derive(Debug, Default)]
pub struct RecordWriter {
    last: Option<SharedText>,
}

/// The text of the last line, which the next line may share.
#[derive(Debug)]
struct SharedText {
    key: (u64, EventKind, Family, IpAddr, Option<IpAddr>, Option<u16>),
    endpoint: Option<Rc<str>>,
    /// The line with an empty domain and without `ms`.
    line: String,
    /// The byte of the line at which the domain is inserted.
    place: usize,
}

impl RecordWriter {
    /// Adds the line of an event; adds nothing if the event adds nothing to earlier lines.
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
        // The domain is the first empty text of the line.
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
