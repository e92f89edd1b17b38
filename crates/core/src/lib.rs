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

pub mod address;
pub mod callback;
pub mod config;
pub mod net;
pub mod schedule;
pub mod text;
pub mod update;
