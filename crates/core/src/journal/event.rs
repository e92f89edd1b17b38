//! What happened, for the log, the history, metrics, notifications and the page. Events contain no secrets: texts from outside
//! are masked before they get here.

use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::slice;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::dns::DnsVerdict;
use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::net::family::Family;
use crate::text::log_format::Level;
use crate::text::vocabulary::vocabulary;
use crate::update::domain::Domain;
use crate::update::outcome::Outcome;

/// An event, and when it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvent {
    /// When it happened, in seconds since the epoch.
    pub at: u64,
    /// What happened.
    pub what: What,
}

/// What happened. Entries are numbered over all configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An update was sent, or could not be sent, and ended.
    Settled(Settled),
    /// An update is due, but it is held back or stopped.
    Held(Held),
    /// A lookup gave another address than before, or an address after there was none. The first address is not reported.
    Address {
        /// The entries that use the address.
        entries: Vec<usize>,
        /// The family of the address.
        family: Family,
        /// The address.
        ip: IpAddr,
        /// The address before; `None` if there never was one.
        previous: Option<IpAddr>,
        /// The source that gave the address.
        source: String,
        /// Whether the last lookup found no address.
        was_missing: bool,
    },
    /// No source gives an address any more. Reported once, until a source gives one again.
    NoAddress {
        /// The entries without an address.
        entries: Vec<usize>,
        /// The family that has no address.
        family: Family,
        /// The address before; `None` if there never was one.
        previous: Option<IpAddr>,
    },
    /// A source gave no address. Reported every time.
    SourceFailed {
        /// The entries that use the source.
        entries: Vec<usize>,
        /// The family of the lookup.
        family: Family,
        /// The source.
        source: String,
        /// Why it gave none.
        why: String,
        /// Whether the source failed for the same reason the last time.
        is_repeat: bool,
    },
    /// A source that had failed gave an address again.
    SourceRecovered {
        /// The entries that use the source.
        entries: Vec<usize>,
        /// The family of the lookup.
        family: Family,
        /// The source.
        source: String,
    },
    /// An accepted address became visible in DNS, did not in time, or no longer is.
    Visibility(VisibilityChange),
    /// DNS servers were asked.
    DnsQuestions {
        /// The number of questions with a valid answer.
        answered: u32,
        /// The number of questions without a complete answer.
        unanswered: u32,
    },
    /// This host took over the lease of its group, gave it back or lost it.
    Role(RoleChange),
    /// A message that goes only to the log.
    Said {
        /// The entry whose log gets the message.
        entry: usize,
        /// The log level.
        level: Level,
        /// The message, without secrets.
        text: String,
    },
}

impl What {
    /// The kind of this event; `None` if only the log or the metrics report it.
    pub fn kind(&self) -> Option<EventKind> {
        match self {
            Self::Settled(settled) => Some(EventKind::of(&settled.outcome)),
            // A stopped update was reported when the service stopped it.
            Self::Held(held) => held.until.map(|_| EventKind::HeldBack),
            Self::Address { .. } => Some(EventKind::Address),
            Self::NoAddress { .. } => Some(EventKind::NoAddress),
            Self::SourceFailed { .. } => Some(EventKind::SourceFailed),
            Self::SourceRecovered { .. } => Some(EventKind::SourceRecovered),
            Self::Role(change) => Some(match change.kind {
                LeaseChange::TookOver => EventKind::TookOver,
                LeaseChange::GaveBack => EventKind::GaveBack,
                LeaseChange::Lost => EventKind::Lost,
            }),
            Self::Visibility(VisibilityChange { verdict, .. }) => Some(match verdict {
                DnsVerdict::Drifted => EventKind::Drifted,
                DnsVerdict::NotVisible => EventKind::NotVisible,
                _ => EventKind::Visible,
            }),
            Self::Said { .. } | Self::DnsQuestions { .. } => None,
        }
    }

    /// The entries that this event is about; empty if it is about this host.
    pub fn entries(&self) -> &[usize] {
        match self {
            Self::Settled(Settled { about, .. })
            | Self::Held(Held { about, .. })
            | Self::Visibility(VisibilityChange { about, .. }) => slice::from_ref(&about.entry),
            Self::Said { entry, .. } => slice::from_ref(entry),
            Self::Address { entries, .. }
            | Self::NoAddress { entries, .. }
            | Self::SourceFailed { entries, .. }
            | Self::SourceRecovered { entries, .. } => entries,
            Self::Role(_) | Self::DnsQuestions { .. } => &[],
        }
    }

    /// The level of this event in the log of its entry; `None` if it is not logged there.
    pub fn level(&self) -> Option<Level> {
        match self {
            Self::Settled(settled) if settled.outcome.is_accepted() => Some(Level::Info),
            Self::Held(held) if held.is_repeat => Some(Level::Debug),
            Self::Settled(_) | Self::Held(_) => Some(Level::Error),
            Self::Visibility(visibility) if visibility.verdict.is_good() => Some(Level::Info),
            Self::Visibility(_) => Some(Level::Warning),
            Self::Said { level, .. } => Some(*level),
            _ => None,
        }
    }
}

/// The update that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct About {
    /// The number of the entry, over all configurations.
    pub entry: usize,
    /// The domain.
    pub domain: Domain,
    /// The record type.
    pub family: Family,
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.domain, self.family.record_type())
    }
}

/// An update that is held back or stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The update.
    pub about: About,
    /// The address that is not sent.
    pub ip: IpAddr,
    /// Until when it is held back, in seconds since the epoch; `None`: the service stopped it.
    pub until: Option<u64>,
    /// Why it is held back, or the words of the service that stopped it.
    pub why: String,
    /// Whether this was reported the last time that the update was due.
    pub is_repeat: bool,
}

/// A change of what DNS says about an accepted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibilityChange {
    /// The update.
    pub about: About,
    /// The address that was accepted.
    pub ip: IpAddr,
    /// Visible, not visible, or drifted.
    pub verdict: DnsVerdict,
    /// Seconds since the address was accepted.
    pub after: u64,
    /// For how many seconds resolvers may cache the answer.
    pub ttl: Option<u32>,
    /// What DNS said, for people.
    pub reason: String,
    /// Whether the address was reported as not visible, or drifted, before.
    pub was_reported: bool,
    /// Whether `after` says how long the address took to become visible: DNS was asked from its acceptance on, and never had it before.
    pub is_timed: bool,
}

/// How one update ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The update.
    pub about: About,
    /// The origin that the update was sent to; `None` if it is unknown.
    pub endpoint: Option<Rc<str>>,
    /// The address that was sent.
    pub ip: IpAddr,
    /// The address that the endpoint accepted before; `None` if that is unknown.
    pub previous: Option<IpAddr>,
    /// Whether the update was sent again because DNS had another address (K13).
    pub is_repair: bool,
    /// The outcome; the texts in it are masked.
    pub outcome: Outcome,
    /// How long the request took.
    pub took: Duration,
    /// The number of the attempt, from 1. A single run knows only its own attempts.
    pub attempt: u32,
    /// Whether the attempt before failed for the same reason.
    pub is_repeat: bool,
    /// How long until the update is sent again; `None` if it is not, or that is unknown.
    pub retry_in: Option<Duration>,
    /// Whether the endpoint asked for that time.
    pub is_requested: bool,
    /// A proxy that may have responded instead of the endpoint.
    pub relay: Option<String>,
    /// The `Allow` header of the response, unchanged.
    pub allow: Option<String>,
}

impl Settled {
    /// Whether the address at the endpoint changed.
    pub fn is_change(&self) -> bool {
        self.outcome.is_accepted() && self.previous != Some(self.ip)
    }
}

vocabulary! {
    /// The name of an event in the history, in metrics and on the page.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EventKind {
        /// The endpoint accepted an update.
        #[default]
        Accepted = "accepted",
        /// The endpoint accepted an update, and already had this address.
        Unchanged = "unchanged" "accepted, unchanged",
        /// The service was asked first, and already had this address; nothing was sent.
        AlreadyThere = "already_there" "already there",
        /// The endpoint accepted an update, and the record was created.
        Made = "made",
        /// An update failed.
        Failed = "failed",
        /// The service refused an update permanently.
        Stopped = "stopped",
        /// An update was due, but was held back.
        HeldBack = "held_back" "held back",
        /// The address of this host changed.
        Address = "address" "address changed",
        /// No source gave an address.
        NoAddress = "no_address" "no address",
        /// A source gave no address.
        SourceFailed = "source_failed" "source failed",
        /// A source that had failed gave an address again.
        SourceRecovered = "source_recovered" "source recovered",
        /// DNS servers have the address that was accepted.
        Visible = "visible" "visible in DNS",
        /// DNS servers did not have the accepted address in time.
        NotVisible = "not_visible" "not visible in DNS",
        /// DNS servers no longer have the accepted address.
        Drifted = "drifted" "different in DNS",
        /// This host took over the lease of its group.
        TookOver = "took_over" "took over",
        /// This host gave the lease back.
        GaveBack = "gave_back" "gave back",
        /// This host lost the lease.
        Lost = "lost",
    }
}

impl EventKind {
    /// The kinds of the outcomes of an update.
    pub const OUTCOMES: [Self; 6] =
        [Self::Accepted, Self::Unchanged, Self::AlreadyThere, Self::Made, Self::Failed, Self::Stopped];

    /// Whether something went wrong.
    pub fn is_failure(self) -> bool {
        use EventKind::{Drifted, Failed, Lost, NoAddress, NotVisible, SourceFailed, Stopped};
        matches!(self, Failed | Stopped | NoAddress | SourceFailed | NotVisible | Drifted | Lost)
    }

    /// Whether the endpoint has the address.
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::Unchanged | Self::AlreadyThere | Self::Made)
    }

    /// What happened to the lease of the group; `None` if this event is about something else.
    pub fn of_group(self) -> Option<LeaseChange> {
        match self {
            Self::TookOver => Some(LeaseChange::TookOver),
            Self::GaveBack => Some(LeaseChange::GaveBack),
            Self::Lost => Some(LeaseChange::Lost),
            _ => None,
        }
    }

    /// The kind of an outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Accepted(_) => Self::Accepted,
            Outcome::Unchanged(_) => Self::Unchanged,
            Outcome::AlreadyThere => Self::AlreadyThere,
            Outcome::Made(_) => Self::Made,
            Outcome::Stopped { .. } => Self::Stopped,
            Outcome::Failed(_) => Self::Failed,
        }
    }
}
