//! One record of the history: written from what happened, read back from its line.

use std::net::IpAddr;
use std::rc::Rc;

use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::net::family::Family;
use crate::text::json::{Dialect, Value, parse, push_escaped};
use crate::text::number::{push_address, push_number};
use crate::update::happened::{Happened, Settled, What};
use crate::update::outcome::Outcome;
use crate::update::status::reason;

/// Most lines are no longer.
const LIKELY: usize = 256;

/// Longer reasons are cut, in characters, so that lines stay short.
const MAX_REASON_CHARS: usize = 300;

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HistoryEvent {
    /// The endpoint accepted an update.
    Accepted,
    /// The same, and it had this address already.
    Unchanged,
    /// An update failed.
    Failed,
    /// The service refused an update for good.
    Stopped,
    /// An update that was due was not sent yet.
    HeldBack,
    /// The address of this host changed.
    Address,
    /// No source gave an address any more.
    NoAddress,
    /// A source gave no address.
    SourceFailed,
    /// A source that had failed gave an address again.
    SourceRecovered,
    /// This host took over the lease of its group.
    TookOver,
    /// It gave the lease back.
    GaveBack,
    /// It lost the lease.
    Lost,
}

impl HistoryEvent {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Accepted,
        Self::Unchanged,
        Self::Failed,
        Self::Stopped,
        Self::HeldBack,
        Self::Address,
        Self::NoAddress,
        Self::SourceFailed,
        Self::SourceRecovered,
        Self::TookOver,
        Self::GaveBack,
        Self::Lost,
    ];

    /// Its name in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::HeldBack => "held_back",
            Self::Address => "address",
            Self::NoAddress => "no_address",
            Self::SourceFailed => "source_failed",
            Self::SourceRecovered => "source_recovered",
            Self::TookOver => "took_over",
            Self::GaveBack => "gave_back",
            Self::Lost => "lost",
        }
    }

    /// Whether something went wrong.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Stopped | Self::NoAddress | Self::SourceFailed | Self::Lost)
    }

    /// Whether the endpoint has the address.
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Unchanged)
    }

    /// What happened to the lease of the group; `None` if it is about something else.
    pub fn of_group(self) -> Option<LeaseChange> {
        match self {
            Self::TookOver => Some(LeaseChange::TookOver),
            Self::GaveBack => Some(LeaseChange::GaveBack),
            Self::Lost => Some(LeaseChange::Lost),
            _ => None,
        }
    }

    /// The event of an outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Accepted(_) => Self::Accepted,
            Outcome::Unchanged(_) => Self::Unchanged,
            Outcome::Stopped { .. } => Self::Stopped,
            Outcome::Refused(_) | Outcome::Rejected { .. } | Outcome::Wait { .. } | Outcome::Failed { .. } => {
                Self::Failed
            }
        }
    }
}

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When, in seconds since the epoch.
    pub at: u64,
    /// What it is about.
    pub event: HistoryEvent,
    /// Of which family the address or the record is; `None` if it is about the group.
    pub family: Option<Family>,
    /// The domain; `None` if it is about the address of this host.
    pub domain: Option<String>,
    /// Where the update was sent: the origin.
    pub endpoint: Option<String>,
    /// The address that was sent, or that was found.
    pub address: Option<IpAddr>,
    /// What the endpoint had accepted, or what was found before.
    pub previous: Option<IpAddr>,
    /// The status of the response; `None` if there was no response.
    pub status: Option<u16>,
    /// How long the request took, in milliseconds.
    pub took: Option<u64>,
    /// Which try it was, the first is 1. Tries in between that failed for the same reason have no record.
    pub attempt: u32,
    /// Until when it is held back, in seconds since the epoch.
    pub until: Option<u64>,
    /// The source of the address.
    pub source: Option<String>,
    /// The group whose lease it is about.
    pub group: Option<String>,
    /// Why it failed, masked.
    pub reason: Option<String>,
}

impl Record {
    /// Whether the endpoint has another address now than it had, or this host has.
    pub fn is_change(&self) -> bool {
        match self.event {
            HistoryEvent::Address => true,
            event => event.is_accepted() && self.address != self.previous,
        }
    }

    /// Reads a line; `None` if it is not one of ours, or not a whole one.
    pub fn from_line(line: &str) -> Option<Self> {
        let Value::Object(members) = parse(line, Dialect::STRICT).ok()?.value else { return None };
        let (mut at, mut event, mut family) = (None, None, None);
        let (mut domain, mut endpoint, mut source, mut group, mut reason) = (None, None, None, None, None);
        let (mut address, mut previous, mut status, mut took, mut attempt, mut until) =
            (None, None, None, None, None, None);
        for member in members {
            match (member.key.as_str(), member.node.value) {
                ("at", Value::Number(text)) => at = text.parse().ok(),
                ("status", Value::Number(text)) => status = text.parse().ok(),
                ("ms", Value::Number(text)) => took = text.parse().ok(),
                ("attempt", Value::Number(text)) => attempt = text.parse().ok(),
                ("until", Value::Number(text)) => until = text.parse().ok(),
                ("event", Value::String(text)) => {
                    event = HistoryEvent::ALL.into_iter().find(|event| event.name() == text);
                }
                ("type", Value::String(text)) => family = Family::of_record(&text),
                ("address", Value::String(text)) => address = text.parse().ok(),
                ("previous", Value::String(text)) => previous = text.parse().ok(),
                ("domain", Value::String(text)) => domain = Some(text),
                ("endpoint", Value::String(text)) => endpoint = Some(text),
                ("source", Value::String(text)) => source = Some(text),
                ("group", Value::String(text)) => group = Some(text),
                ("reason", Value::String(text)) => reason = Some(text),
                _ => {}
            }
        }
        let (at, event, attempt): (_, HistoryEvent, _) = (at?, event?, attempt.unwrap_or(1));
        // Whatever is about an address says of which type.
        if family.is_none() && event.of_group().is_none() {
            return None;
        }
        let record = Self {
            at,
            event,
            family,
            domain,
            endpoint,
            address,
            previous,
            status,
            took,
            attempt,
            until,
            source,
            group,
            reason,
        };
        Some(record)
    }

    /// The same line again, without its end.
    pub fn to_line(&self) -> String {
        let mut line = RecordLine::new(String::new(), self.at, self.event, self.family);
        line.text(",\"domain\":\"", self.domain.as_deref());
        line.text(",\"endpoint\":\"", self.endpoint.as_deref());
        line.ip(",\"address\":\"", self.address);
        line.ip(",\"previous\":\"", self.previous);
        line.number(",\"status\":", self.status.map(u64::from));
        line.number(",\"ms\":", self.took);
        line.number(",\"attempt\":", Some(u64::from(self.attempt)).filter(|attempt| *attempt > 1));
        line.number(",\"until\":", self.until);
        line.text(",\"source\":\"", self.source.as_deref());
        line.text(",\"group\":\"", self.group.as_deref());
        line.text(",\"reason\":\"", self.reason.as_deref());
        line.end()
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
    key: (u64, HistoryEvent, Family, IpAddr, Option<IpAddr>, Option<u16>),
    endpoint: Option<Rc<str>>,
    /// What stands before the domain, and between the domain and the time that it took.
    head: String,
    tail: String,
}

impl RecordWriter {
    /// Adds the line of what happened. Nothing, where it says no more than the lines before it: a try that failed as the
    /// one before it has a line only when their number has doubled, so that a dead endpoint does not fill the history.
    pub fn push(&mut self, out: &mut String, happened: &Happened) {
        match &happened.what {
            What::Settled(settled) if settled.attempt == 1 && settled.outcome.is_accepted() => {
                self.push_accepted(out, happened.at, settled);
            }
            _ => push_line(out, happened),
        }
    }

    fn push_accepted(&mut self, out: &mut String, at: u64, settled: &Settled) {
        let Settled { family, ip, previous, outcome, .. } = settled;
        let key = (at, HistoryEvent::of(outcome), *family, *ip, *previous, outcome.status());
        let is_same = |last: &SharedText| last.key == key && last.endpoint == settled.endpoint;
        let SharedText { head, tail, .. } = match &mut self.last {
            Some(last) if is_same(last) => last,
            last => last.insert(SharedText::new(key, settled.endpoint.clone())),
        };
        out.reserve(LIKELY);
        out.push_str(head);
        push_escaped(out, settled.domain.as_str());
        out.push_str(tail);
        push_number(out, milliseconds(settled));
        out.push_str("}\n");
    }
}

impl SharedText {
    fn new(key: (u64, HistoryEvent, Family, IpAddr, Option<IpAddr>, Option<u16>), endpoint: Option<Rc<str>>) -> Self {
        let (at, event, family, ip, previous, status) = key;
        let head = RecordLine::new(String::new(), at, event, Some(family)).0 + ",\"domain\":\"";
        let mut tail = RecordLine(String::with_capacity(LIKELY));
        tail.0.push('"');
        tail.text(",\"endpoint\":\"", endpoint.as_deref());
        tail.ip(",\"address\":\"", Some(ip));
        tail.ip(",\"previous\":\"", previous);
        tail.number(",\"status\":", status.map(u64::from));
        Self { key, endpoint, head, tail: tail.0 + ",\"ms\":" }
    }
}

fn milliseconds(settled: &Settled) -> u64 {
    u64::try_from(settled.took.as_millis()).unwrap_or(u64::MAX)
}

fn push_line(out: &mut String, happened: &Happened) {
    let at = happened.at;
    let begin = |out: &mut String, event, family| RecordLine::new(std::mem::take(out), at, event, Some(family));
    let mut line;
    match &happened.what {
        What::Settled(Settled { is_repeat: true, attempt, .. }) if !attempt.is_power_of_two() => return,
        What::SourceFailed { is_repeat: true, .. } | What::Held { until: None, .. } => return,
        What::Settled(settled) => {
            let outcome = &settled.outcome;
            line = begin(out, HistoryEvent::of(outcome), settled.family);
            line.text(",\"domain\":\"", Some(settled.domain.as_str()));
            line.text(",\"endpoint\":\"", settled.endpoint.as_deref());
            line.ip(",\"address\":\"", Some(settled.ip));
            line.ip(",\"previous\":\"", settled.previous);
            line.number(",\"status\":", outcome.status().map(u64::from));
            line.number(",\"ms\":", Some(milliseconds(settled)));
            line.number(",\"attempt\":", Some(u64::from(settled.attempt)).filter(|attempt| *attempt > 1));
            if !outcome.is_accepted() {
                line.text(",\"reason\":\"", Some(&cut(&reason(outcome))));
            }
        }
        What::Held { domain, family, ip, until, why, .. } => {
            line = begin(out, HistoryEvent::HeldBack, *family);
            line.text(",\"domain\":\"", Some(domain.as_str()));
            line.ip(",\"address\":\"", Some(*ip));
            line.number(",\"until\":", *until);
            line.text(",\"reason\":\"", Some(&cut(why)));
        }
        What::Address { family, ip, previous, source, .. } => {
            line = begin(out, HistoryEvent::Address, *family);
            line.ip(",\"address\":\"", Some(*ip));
            line.ip(",\"previous\":\"", *previous);
            line.text(",\"source\":\"", Some(source));
        }
        What::NoAddress { family, previous, .. } => {
            line = begin(out, HistoryEvent::NoAddress, *family);
            line.ip(",\"previous\":\"", *previous);
        }
        What::SourceFailed { family, source, why, .. } => {
            line = begin(out, HistoryEvent::SourceFailed, *family);
            line.text(",\"source\":\"", Some(source));
            line.text(",\"reason\":\"", Some(&cut(why)));
        }
        What::SourceRecovered { family, source, .. } => {
            line = begin(out, HistoryEvent::SourceRecovered, *family);
            line.text(",\"source\":\"", Some(source));
        }
        What::Role(RoleChange { group, kind, why, .. }) => {
            let event = match kind {
                LeaseChange::TookOver => HistoryEvent::TookOver,
                LeaseChange::GaveBack => HistoryEvent::GaveBack,
                LeaseChange::Lost => HistoryEvent::Lost,
            };
            line = RecordLine::new(std::mem::take(out), at, event, None);
            line.text(",\"group\":\"", Some(group));
            line.text(",\"reason\":\"", why.as_deref().map(cut).as_deref());
        }
    }
    *out = line.end();
    out.push('\n');
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_REASON_CHARS).collect()
}

/// A line that is being written. What is added begins with its name, as the line has it.
struct RecordLine(String);

impl RecordLine {
    fn new(mut out: String, at: u64, event: HistoryEvent, family: Option<Family>) -> Self {
        out.reserve(LIKELY);
        out.push_str("{\"at\":");
        push_number(&mut out, at);
        out.push_str(",\"event\":\"");
        out.push_str(event.name());
        out.push_str(match family {
            Some(Family::V4) => "\",\"type\":\"A\"",
            Some(Family::V6) => "\",\"type\":\"AAAA\"",
            None => "\"",
        });
        Self(out)
    }

    fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.0.push_str(name);
            push_escaped(&mut self.0, text);
            self.0.push('"');
        }
    }

    fn number(&mut self, name: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.0.push_str(name);
            push_number(&mut self.0, number);
        }
    }

    fn ip(&mut self, name: &str, ip: Option<IpAddr>) {
        let Some(ip) = ip else { return };
        self.0.push_str(name);
        push_address(&mut self.0, ip);
        self.0.push('"');
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
