//! This host's addresses: where they are looked up, which of them count, and which one is chosen.

pub mod in_text;
pub mod local;
pub mod lookup;
pub mod observation;
pub mod pushed;
pub mod quorum;
pub mod source;
