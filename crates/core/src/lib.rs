//! The pure part of `ddns`: it decides everything and does nothing.
//!
//! ```text
//! Raw ──▶ Config ──▶ Observation ──▶ Plan ──▶ Request ──▶ Response ──▶ Outcome ──▶ State
//! layers   validate    lookup         what      render      send         judge       what the
//! (file,   (all errors (address or    changed   (pure)      (HTTP)       (pure)      endpoint
//!  env,     at once)    why not)                                                     last
//!  options)                                                                          accepted
//! ```
//!
//! Each arrow is one function, in the folder of its result. Only the program looks up addresses and sends requests; everything else
//! is here, without a clock, an environment, files, sockets, threads or logs (clippy refuses them).
//!
//! Imports point downwards: `service`, `import`, `web`, `set_up`, `recipe`, `engine`, `schedule`, `config`, `address`, `notify`,
//! `callback`, `metrics`, `journal`, `update`, `lease`, `dns`, `net`, `text`.

pub mod address;
pub mod callback;
pub mod config;
pub mod dns;
pub mod engine;
pub mod import;
pub mod journal;
pub mod lease;
pub mod metrics;
pub mod net;
pub mod notify;
pub mod recipe;
pub mod schedule;
pub mod service;
pub mod set_up;
pub mod text;
pub mod update;
pub mod web;
