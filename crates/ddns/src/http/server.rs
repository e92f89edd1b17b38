//! Requests to this host: what `ddns listen` and `ddns demo` receive, and the page of a service.
//!
//! Whoever connects is a stranger: sizes, times and the number of connections are bounded, and what is not HTTP is never a
//! reason to end. hyper reads and writes; it refuses by itself what breaks HTTP's rules.

mod accept;
mod receiver;
mod speak;
mod wire;

pub(crate) use accept::{Accepted, accept, not_listening};
pub(crate) use receiver::{Received, Refusal, Response, Verdict, serve};
pub(crate) use speak::{hang_up, read, speak};
pub(crate) use wire::{Activity, Patience, Phase, Wire};
