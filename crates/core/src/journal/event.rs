//! What happened, for whoever keeps or shows it: log, history, metrics, notifications and page. Nothing in it is
//! secret: texts from outside are masked before they come here.

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

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEvent {
    /// In seconds since the epoch.
    pub at: u64,
    /// What it was.
    pub what: What,
}

/// What happened. Entries are named by their numbers, counted over all configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An update was sent, or could not be sent, and this is how it ended.
    Settled(Settled),
    /// An update is due and is not sent now, or not at all.
    Held(Held),
    /// A lookup gave another address than the one before, or one after there was none. The first one of all is not reported.
    Address {
        /// The entries that it is for.
        entries: Vec<usize>,
        /// Of which family.
        family: Family,
        /// The address.
        ip: IpAddr,
        /// The one before; none where there never was one.
        previous: Option<IpAddr>,
        /// The source that gave it.
        source: String,
        /// Whether none was found when it was last looked up.
        was_missing: bool,
    },
    /// No source gives an address any more. Reported once, until there is one again.
    NoAddress {
        /// The entries that have none.
        entries: Vec<usize>,
        /// Of which family.
        family: Family,
        /// The address before; none where there never was one.
        previous: Option<IpAddr>,
    },
    /// A source gave no address. Reported whenever it is asked.
    SourceFailed {
        /// The entries that asked.
        entries: Vec<usize>,
        /// For which family.
        family: Family,
        /// The source.
        source: String,
        /// Why.
        why: String,
        /// Whether it failed for the same reason when it was last asked.
        is_repeat: bool,
    },
    /// A source that failed gave an address again.
    SourceRecovered {
        /// The entries that asked.
        entries: Vec<usize>,
        /// For which family.
        family: Family,
        /// The source.
        source: String,
    },
    /// An accepted address is visible in DNS, or is not, or not any more.
    Sight(SightChange),
    /// DNS servers were asked: how many questions were answered, and how many were not.
    DnsQuestions {
        /// With anything that makes sense.
        answered: u32,
        /// Not at all, or not whole.
        unanswered: u32,
    },
    /// This host took over the lease of its group, gave it back or lost it.
    Role(RoleChange),
    /// Something that only the log tells.
    Said {
        /// The entry whose log it is.
        entry: usize,
        /// How important it is.
        level: Level,
        /// A sentence without secrets.
        text: String,
    },
}

impl What {
    /// What it is called; `None` if only the log tells it.
    pub fn kind(&self) -> Option<EventKind> {
        match self {
            Self::Settled(settled) => Some(EventKind::of(&settled.outcome)),
            // That it was stopped was told when it was.
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
            Self::Sight(SightChange { verdict, .. }) => Some(match verdict {
                DnsVerdict::Drifted => EventKind::Drifted,
                DnsVerdict::NotVisible => EventKind::NotVisible,
                _ => EventKind::Visible,
            }),
            Self::Said { .. } | Self::DnsQuestions { .. } => None,
        }
    }

    /// The entries that it is about; none where it is about this host.
    pub fn entries(&self) -> &[usize] {
        match self {
            Self::Settled(Settled { about, .. })
            | Self::Held(Held { about, .. })
            | Self::Sight(SightChange { about, .. }) => slice::from_ref(&about.entry),
            Self::Said { entry, .. } => slice::from_ref(entry),
            Self::Address { entries, .. }
            | Self::NoAddress { entries, .. }
            | Self::SourceFailed { entries, .. }
            | Self::SourceRecovered { entries, .. } => entries,
            Self::Role(_) | Self::DnsQuestions { .. } => &[],
        }
    }

    /// How important it is for the log of its entry; `None` if that does not tell it.
    pub fn level(&self) -> Option<Level> {
        match self {
            Self::Settled(settled) if settled.outcome.is_accepted() => Some(Level::Info),
            Self::Held(held) if held.is_repeat => Some(Level::Debug),
            Self::Settled(_) | Self::Held(_) => Some(Level::Error),
            Self::Sight(sight) if sight.verdict.is_good() => Some(Level::Info),
            Self::Sight(_) => Some(Level::Warning),
            Self::Said { level, .. } => Some(*level),
            _ => None,
        }
    }
}

/// One update: its entry by its number, and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct About {
    /// Counted over all configurations.
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
    /// Which one.
    pub about: About,
    /// The address that is not sent.
    pub ip: IpAddr,
    /// Until when, in seconds since the epoch; `None` if its service stopped it.
    pub until: Option<u64>,
    /// Why: the words of the service, where it stopped it.
    pub why: String,
    /// Whether that was reported when it was last judged.
    pub is_repeat: bool,
}

/// What the world sees of an accepted address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SightChange {
    /// Which update.
    pub about: About,
    /// The address that was accepted.
    pub ip: IpAddr,
    /// Visible, not visible, or drifted.
    pub verdict: DnsVerdict,
    /// Seconds since it was accepted.
    pub after: u64,
    /// For how many seconds resolvers may keep what was seen.
    pub ttl: Option<u32>,
    /// What was seen, for people.
    pub reason: String,
    /// Whether it was reported before that it is not visible, or drifted.
    pub was_reported: bool,
    /// Whether it was asked about since its acceptance, and never seen before.
    pub is_timed: bool,
}

/// How one update ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Which one.
    pub about: About,
    /// Where it was sent: the origin; none where it cannot be said.
    pub endpoint: Option<Rc<str>>,
    /// The address that was sent.
    pub ip: IpAddr,
    /// What the endpoint accepted before; none where nothing is known.
    pub previous: Option<IpAddr>,
    /// Whether it was accepted after DNS had another address (K13).
    pub is_repair: bool,
    /// The status, and the reason of a failure, masked: [`Outcome::status`], [`Outcome::reason`].
    pub outcome: Outcome,
    /// How long the request took.
    pub took: Duration,
    /// Which try it was, the first is 1. A run that is not a service knows of its own try alone.
    pub attempt: u32,
    /// Whether the try before failed for the same reason.
    pub is_repeat: bool,
    /// When it is sent again; `None` if it is not, or nobody knows.
    pub retry_in: Option<Duration>,
    /// Whether the endpoint asked for that.
    pub is_requested: bool,
    /// A proxy that may have responded in the endpoint's place.
    pub relay: Option<String>,
    /// What the endpoint allows, as it was written.
    pub allow: Option<String>,
}

impl Settled {
    /// Whether the endpoint has another address now than it had.
    pub fn is_change(&self) -> bool {
        self.outcome.is_accepted() && self.previous != Some(self.ip)
    }
}

vocabulary! {
    /// What an event is called: in the history, in metrics and on the page.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EventKind {
        /// The endpoint accepted an update.
        #[default]
        Accepted = "accepted",
        /// The same, and it had this address already.
        Unchanged = "unchanged" "accepted, unchanged",
        /// The service was asked and had this address already.
        AlreadyThere = "already_there" "already there",
        /// There was no record, and the service made one.
        Made = "made",
        /// An update failed.
        Failed = "failed",
        /// The service refused an update for good.
        Stopped = "stopped",
        /// An update that was due was not sent yet.
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
        /// They do not have it in time.
        NotVisible = "not_visible" "not visible in DNS",
        /// They do not have it any more.
        Drifted = "drifted" "different in DNS",
        /// This host took over the lease of its group.
        TookOver = "took_over" "took over",
        /// It gave the lease back.
        GaveBack = "gave_back" "gave back",
        /// It lost the lease.
        Lost = "lost",
    }
}

impl EventKind {
    /// How an update that was sent may end.
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
            Outcome::AlreadyThere => Self::AlreadyThere,
            Outcome::Made(_) => Self::Made,
            Outcome::Stopped { .. } => Self::Stopped,
            Outcome::Failed(_) => Self::Failed,
        }
    }
}
