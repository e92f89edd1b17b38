//! How a member stands in its group, for people: status, page, metrics, notifications.

use std::time::Duration;

/// Why a store cannot be used that went back (J7).
pub const WENT_BACK: &str = "it went back (was it wiped, or restored from a snapshot?): who held before may still send";

/// What a member does in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Not known to the store yet, or not any more.
    Joining,
    /// Another sends, or nobody can.
    StandBy,
    /// It won the lease and reads what was accepted; nothing is sent yet.
    TakingOver,
    /// It sends.
    Holder,
    /// It sends what is under way to its end, and then gives the lease back.
    HandingOver,
    /// It holds as far as it knows, but could not renew the lease in time: nothing is sent before the store confirms it.
    Unconfirmed,
    /// It left the group.
    Left,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Joining,
        Self::StandBy,
        Self::TakingOver,
        Self::Holder,
        Self::HandingOver,
        Self::Unconfirmed,
        Self::Left,
    ];

    /// Whether what is to be sent is the business of another, or of nobody yet: what the endpoints have is not known.
    pub fn is_standing_by(self) -> bool {
        !matches!(self, Self::Holder | Self::HandingOver)
    }

    /// The word for it: `joining`, `stand-by`, `taking-over`, `holder`, `handing-over`, `unconfirmed`, `left`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Joining => "joining",
            Self::StandBy => "stand-by",
            Self::TakingOver => "taking-over",
            Self::Holder => "holder",
            Self::HandingOver => "handing-over",
            Self::Unconfirmed => "unconfirmed",
            Self::Left => "left",
        }
    }
}

/// A member, as this one sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it is called.
    pub member: String,
    /// Whether it could send.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
    /// Whether it holds.
    pub is_holder: bool,
    /// Whether it is this one.
    pub is_self: bool,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What this member is called.
    pub member: String,
    /// What it does.
    pub role: Role,
    /// Who holds, as far as this member knows.
    pub holder: Option<String>,
    /// For how long this member has known that holder.
    pub held_for: Option<Duration>,
    /// How long this member may go on sending without another renewal; none where it may not send.
    pub lease_left: Option<Duration>,
    /// Who is there, in the order in which they may hold.
    pub members: Vec<Seen>,
    /// Whether the store answers, or why not: a sentence without its full stop.
    pub store: Result<(), String>,
    /// Whether this member could send, or why not.
    pub ready: Result<(), String>,
    /// What somebody should change: another version in the store, a lease shorter than the way to it.
    pub trouble: Option<String>,
}
