//! Requests to this host: those to `ddns listen`, `ddns demo` and the page of a service.
//!
//! Clients are not trusted: sizes, times and the number of connections are limited, and input that is not HTTP never
//! ends the program. hyper reads and writes, and refuses what breaks HTTP's rules.

mod accept;
mod receiver;
mod speak;
mod wire;

pub(crate) use accept::{AcceptedConnection, accept, not_listening};
pub(crate) use receiver::{InvalidRequest, Reaction, Received, ReceiverResponse, serve};
pub(crate) use speak::{hang_up, read, speak};
pub(crate) use wire::{Activity, ConnectionPhase, ConnectionTimeouts, ServerWire};
