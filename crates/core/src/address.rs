//! This host's addresses: where they are looked up, which of them count, and which one is chosen.

pub mod local;
pub mod observation;
pub mod source;
