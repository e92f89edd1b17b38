//! Requests to this host: what `ddns listen` and `ddns demo` receive, and the page of a service.
//!
//! Clients are not trusted: sizes, times and the number of connections are bounded, and what is not HTTP is never a
//! reason to end. hyper reads and writes; it refuses by itself what breaks HTTP's rules.

mod accept;
mod receiver;
mod speak;
mod wire;

pub(crate) use accept::{AcceptedConnection, accept, not_listening};
pub(crate) use receiver::{InvalidRequest, Reaction, Received, ReceiverResponse, serve};
pub(crate) use speak::{hang_up, read, speak};
pub(crate) use wire::{Activity, ConnectionPhase, Patience, ServerWire};
