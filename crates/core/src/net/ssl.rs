//! How a certificate is verified.

/// `ssl`: how the certificate of an https address is verified (D6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ssl {
    /// With the system's roots; an unknown issuer is let pass, with a warning, where the host is a local one.
    Auto,
    /// With the system's roots.
    Verify,
    /// Not at all.
    Off,
    /// With the system's roots and those in this file.
    Ca(String),
}
