//! Why a call came to nothing.

use std::fmt;

/// Why a call came to nothing; printed, it is a sentence without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Error {
    /// No endpoint responded. The store may have done what it was asked for all the same.
    Unreachable(String),
    /// Wrong user or password, or no permission.
    Denied(String),
    /// The store does not keep the revision any more from which changes were wanted: everything must be read again.
    Compacted,
    /// It lost what it had: nothing that is known of it counts any more.
    WentBack,
    /// The lease is gone.
    LeaseGone,
    /// Anything else.
    Other(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Denied(why) | Self::Other(why) => f.write_str(why),
            Self::Compacted => f.write_str("the store no longer has the requested changes"),
            Self::WentBack => {
                f.write_str("the data of the store went back in time: was it wiped, or restored from a snapshot?")
            }
            Self::LeaseGone => f.write_str("the store no longer has the lease"),
        }
    }
}
