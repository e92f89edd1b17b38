//! Which certificates ddns trusts for a group's store, and which one it presents there.

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Verifier, certificates_in, finished, named, system_roots, without_mark};

/// A file in PEM form that was read.
#[derive(Clone, Copy)]
pub(crate) struct Pem<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
}

/// Which certificates to trust, and our own.
#[derive(Clone, Copy, Default)]
pub(crate) struct TlsTrust<'a> {
    /// Only these; `None`: those of the system.
    pub(crate) ca: Option<Pem<'a>>,
    /// Our certificate and its key.
    pub(crate) identity: Option<(Pem<'a>, Pem<'a>)>,
}

impl TlsTrust<'_> {
    /// Fails with a sentence that names the field.
    pub(super) fn connector(&self) -> Result<TlsConnector, String> {
        let belief = match self.ca {
            None => named(system_roots(), Vec::new()),
            Some(ca) => {
                let own = certificates("group.ca", ca)?;
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(own.iter().cloned());
                named(roots, own)
            }
        };
        let builder = Verifier::builder(belief.map_err(|why| format!("`group.ca`: {why}"))?);
        let Some((certificate, key)) = self.identity else { return Ok(finished(builder.with_no_client_auth())) };
        let chain = certificates("group.certificate", certificate)?;
        let private = private_key("group.key", key)?;
        let config = builder.with_client_auth_cert(chain, private).map_err(|error| {
            format!(
                "`group.certificate` and `group.key`: {} and {} cannot be used ({error})",
                certificate.path, key.path
            )
        })?;
        Ok(finished(config))
    }
}

/// The certificates in a file. Fails with a sentence that names the field.
pub(crate) fn certificates(field: &str, pem: Pem<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
    certificates_in(pem.text.as_bytes(), pem.path).map_err(|why| format!("`{field}`: {} {why}", pem.path))
}

/// The private key in a file. Fails with a sentence that names the field.
pub(crate) fn private_key(field: &str, pem: Pem<'_>) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(without_mark(pem.text.as_bytes()))
        .map_err(|_| format!("`{field}`: {} contains no PEM private key", pem.path))
}
