//! What DNS says about a name (K): messages as bytes, the walk from the top level down to a zone's own servers, and the
//! verdict on their answers. Pure: the program sends the questions.
//!
//! A round asks about one name. [`round`] takes every reply so far and returns the next questions, or what was seen;
//! [`judge`] compares that with the accepted address. [`Zones`] keeps the servers of zones for all names.

mod ask;
mod message;
mod observation;
mod own_address;
mod pace;
mod resolvers;
mod verdict;
mod visibility;
mod walk;
mod zones;

#[cfg(test)]
mod tests;

pub use ask::{DnsQuery, DnsReply, DnsServerKind, NoAnswer, Replies, ServerQuestion};
pub use message::{DnsAnswer, DnsClass, DnsData, DnsKind, DnsName, DnsQuestion, DnsRecord, answer_to, query};
pub use observation::{DnsObservation, MAX_SERVERS, MAX_SERVERS_AT_END, SeenAddresses, ServerAnswer, round};
pub use own_address::{own_address, own_address_question};
pub use pace::{Pace, SAME_AGAIN};
pub use resolvers::resolvers;
pub use verdict::{
    DnsVerdict, ROUNDS_BEFORE_RESOLVER, SeenInDns, Verify, judge, may_ask_resolver, next_round, why_not_asked,
};
pub use visibility::{DnsMemory, Repairs, VisibilityEvent};
pub use zones::Zones;

/// The port of DNS servers.
pub const PORT: u16 = 53;
