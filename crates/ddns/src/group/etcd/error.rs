use std::fmt;

/// Why a call failed. Its text is a phrase for people, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Error {
    /// No endpoint responded. The store may have carried out the call anyway.
    Unreachable(String),
    /// Wrong user or password, or no permission.
    Denied(String),
    /// The store no longer keeps the requested revision: everything must be read again.
    Compacted,
    /// The store lost data: nothing known about it is valid any more.
    WentBack,
    LeaseGone,
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
