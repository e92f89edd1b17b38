//! How a certificate is verified.

/// `ssl`: how the certificate of an https address is verified (D6).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ssl {
    /// With the system's roots. For a local host, an unknown issuer is accepted with a warning.
    Auto,
    /// With the system's roots.
    Verify,
    /// Not at all.
    Off,
    /// With the system's roots and the certificates in this file.
    Ca(String),
}
