//! How an update stands, in the few states that the page tells apart.

use crate::update::status::Phase;

/// A state: a word, a sign and a colour. The worst is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpdateState {
    /// The endpoint has the address.
    UpToDate,
    /// Another host of the group sends it.
    StandBy,
    /// It is being sent, or about to be.
    Sending,
    /// It is due, but the service wants a pause, or `min_interval` has not passed.
    HeldBack,
    /// It is not known which address the endpoint has.
    InDoubt,
    /// No source gives an address.
    NoAddress,
    /// It failed, or others to its endpoint did, and is sent again.
    Retrying,
    /// The service refused it for good.
    Stopped,
}

impl UpdateState {
    /// All of them, the best first.
    pub const ALL: [Self; 8] = [
        Self::UpToDate,
        Self::StandBy,
        Self::Sending,
        Self::HeldBack,
        Self::InDoubt,
        Self::NoAddress,
        Self::Retrying,
        Self::Stopped,
    ];

    /// That of a phase.
    pub fn of(phase: &Phase) -> Self {
        match phase {
            Phase::UpToDate | Phase::Accepted | Phase::Expired => Self::UpToDate,
            Phase::StandBy => Self::StandBy,
            Phase::Sending => Self::Sending,
            Phase::Held { .. } => Self::HeldBack,
            Phase::InDoubt | Phase::NotAccepted => Self::InDoubt,
            Phase::NoAddress => Self::NoAddress,
            Phase::Retry { .. } | Phase::Waiting { .. } => Self::Retrying,
            Phase::Stopped { .. } => Self::Stopped,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::UpToDate => "up to date",
            Self::StandBy => "stands by",
            Self::Sending => "sending",
            Self::HeldBack => "held back",
            Self::InDoubt => "in doubt",
            Self::NoAddress => "waiting for an address",
            Self::Retrying => "retrying",
            Self::Stopped => "stopped",
        }
    }

    /// As an address of the page names it, and its style sheet.
    pub fn key(self) -> &'static str {
        match self {
            Self::UpToDate => "good",
            Self::StandBy => "stand-by",
            Self::Sending => "sending",
            Self::HeldBack => "held",
            Self::InDoubt => "doubt",
            Self::NoAddress => "no-address",
            Self::Retrying => "retrying",
            Self::Stopped => "stopped",
        }
    }

    /// The state that [`UpdateState::key`] names.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.key() == key)
    }
}
