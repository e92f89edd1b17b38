//! The state of a member in its group, for `ddns status`, the page, metrics and notifications.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::vocabulary::vocabulary;

/// Why a store that went back in time cannot be used (J7).
pub const WENT_BACK: &str =
    "its data went back in time (was it wiped, or restored from a snapshot?): the previous holder may still send";

vocabulary! {
    /// What a member does in its group.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        /// The store does not know this member yet, or no longer does.
        Joining = "joining" "joins",
        /// Another member sends, or none can.
        StandBy = "stand-by" "on standby",
        /// This member got the lease and is reading what was accepted. It sends nothing yet.
        TakingOver = "taking-over" "takes over",
        /// This member sends.
        Holder = "holder" "holds the lease",
        /// This member finishes the requests under way, and then gives the lease back.
        HandingOver = "handing-over" "gives back",
        /// This member could not renew its lease in time. It sends nothing until the store confirms the lease.
        Unconfirmed = "unconfirmed" "not confirmed",
        /// This member left the group.
        Left = "left",
    }
}

impl Role {
    /// Whether this member does not send: another member does, or none does yet. This member then does not know what the endpoints
    /// have.
    pub fn is_standing_by(self) -> bool {
        !matches!(self, Self::Holder | Self::HandingOver)
    }
}

/// A member of the group, as this member sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupPeer {
    /// The name of the member.
    pub member: String,
    /// Whether the member could send.
    pub ready: bool,
    /// The member's `prefer` setting.
    pub prefer: u8,
    /// Whether the member holds the lease.
    #[serde(rename = "holder")]
    pub is_holder: bool,
    /// Whether it is this member.
    #[serde(rename = "self")]
    pub is_self: bool,
}

/// The state of this member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// The name of this member.
    pub member: String,
    /// What this member does.
    pub role: Role,
    /// The member that holds the lease, as far as this member knows.
    pub holder: Option<String>,
    /// For how long this member has known about that holder.
    #[serde(serialize_with = "whole_seconds", deserialize_with = "of_seconds")]
    pub held_for: Option<Duration>,
    /// How long this member may send before it must renew the lease; `None` if it may not send.
    #[serde(serialize_with = "whole_seconds", deserialize_with = "of_seconds")]
    pub lease_left: Option<Duration>,
    /// All members, in the order in which they may get the lease.
    pub members: Vec<GroupPeer>,
    /// Whether the store can be used, or why not: a sentence without its full stop.
    #[serde(rename = "store_error", serialize_with = "error_alone", deserialize_with = "of_error")]
    pub store: Result<(), String>,
    /// Whether this member could send, or why not.
    #[serde(rename = "not_ready", serialize_with = "error_alone", deserialize_with = "of_error")]
    pub ready: Result<(), String>,
    /// A problem that a person must solve, such as another version in the store, or a lease that is too short for a slow store.
    pub trouble: Option<String>,
}

#[expect(clippy::ref_option, reason = "as serde hands it over")]
fn whole_seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs()).serialize(to)
}

fn of_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Option::deserialize(from).map(|seconds| seconds.map(Duration::from_secs))
}

fn error_alone<S: Serializer>(result: &Result<(), String>, to: S) -> Result<S::Ok, S::Error> {
    result.as_ref().err().serialize(to)
}

fn of_error<'de, D: Deserializer<'de>>(from: D) -> Result<Result<(), String>, D::Error> {
    Option::deserialize(from).map(|why| why.map_or(Ok(()), Err))
}
