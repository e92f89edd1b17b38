//! How a member stands in its group, for people: status, page, metrics, notifications.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::vocabulary::vocabulary;

/// Why a store cannot be used that went back (J7).
pub const WENT_BACK: &str =
    "its data went back in time (was it wiped, or restored from a snapshot?): the previous holder may still send";

vocabulary! {
    /// What a member does in its group.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        /// Not known to the store yet, or not any more.
        Joining = "joining" "joins",
        /// Another sends, or nobody can.
        StandBy = "stand-by" "on standby",
        /// It won the lease and reads what was accepted; nothing is sent yet.
        TakingOver = "taking-over" "takes over",
        /// It sends.
        Holder = "holder" "holds the lease",
        /// It sends what is under way to its end, and then gives the lease back.
        HandingOver = "handing-over" "gives back",
        /// It holds as far as it knows, but could not renew the lease in time: nothing is sent before the store confirms it.
        Unconfirmed = "unconfirmed" "not confirmed",
        /// It left the group.
        Left = "left",
    }
}

impl Role {
    /// Whether what is to be sent is the business of another, or of nobody yet: what the endpoints have is not known.
    pub fn is_standing_by(self) -> bool {
        !matches!(self, Self::Holder | Self::HandingOver)
    }
}

/// A member, as this one sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What it is called.
    pub member: String,
    /// Whether it could send.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
    /// Whether it holds.
    #[serde(rename = "holder")]
    pub is_holder: bool,
    /// Whether it is this one.
    #[serde(rename = "self")]
    pub is_self: bool,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// What this member is called.
    pub member: String,
    /// What it does.
    pub role: Role,
    /// Who holds, as far as this member knows.
    pub holder: Option<String>,
    /// For how long this member has known that holder.
    #[serde(serialize_with = "whole_seconds", deserialize_with = "of_seconds")]
    pub held_for: Option<Duration>,
    /// How long this member may go on sending without another renewal; none where it may not send.
    #[serde(serialize_with = "whole_seconds", deserialize_with = "of_seconds")]
    pub lease_left: Option<Duration>,
    /// Who is there, in the order in which they may hold.
    pub members: Vec<Seen>,
    /// Whether the store answers, or why not: a sentence without its full stop.
    #[serde(rename = "store_error", serialize_with = "error_alone", deserialize_with = "of_error")]
    pub store: Result<(), String>,
    /// Whether this member could send, or why not.
    #[serde(rename = "not_ready", serialize_with = "error_alone", deserialize_with = "of_error")]
    pub ready: Result<(), String>,
    /// What somebody should change: another version in the store, a lease shorter than the way to it.
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
