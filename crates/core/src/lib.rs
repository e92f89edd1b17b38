//! The pure part of `ddns`: everything that is decided, nothing that is done.
//!
//! ```text
//! raw ──▶ Config ──▶ Observation ──▶ plan ──▶ Request ──▶ Outcome ──▶ State
//! layers   validate    sources        what     render      send       what the
//! (file,   (all errors (address or    changed  (pure)      (HTTP)     endpoint was
//!  env,     at once)    why not)                                      last told
//!  options)
//! ```
//!
//! Each arrow is one function, in the file named after its result. Looking for addresses and sending are the shell's;
//! all else is here, without a clock, an environment, files, sockets, threads or logs (clippy refuses them).

pub mod backoff;
pub mod calendar;
pub mod callback;
pub mod certificate;
pub mod config;
pub mod curl;
pub mod diagnostic;
pub mod domain;
mod hex;
pub mod json;
pub mod local;
pub mod log_format;
pub mod netlink;
pub mod observe;
pub mod outcome;
pub mod pace;
pub mod plan;
pub mod proxy;
pub mod queue;
pub mod record;
pub mod retry_after;
pub mod schedule;
pub mod source;
pub mod state;
pub mod status;
pub mod stun;
