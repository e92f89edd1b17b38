//! TLS: set up once, at the first https address, with the system's roots.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use ddns_core::callback::Url;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore, crypto};

/// A connector that verifies against the system's roots, or against the usual public ones where the system has none
/// (a container without a CA bundle).
pub(super) fn connector() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} cannot be the name on a certificate"))
}

/// Why a handshake failed, and what can be done.
pub(super) fn explain(error: &io::Error, url: &Url) -> String {
    let origin = url.origin();
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match cause {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            format!("the certificate of {origin} is from an issuer that this system does not know")
        }
        Some(Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. })) => {
            format!("the certificate of {origin} has expired")
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => format!("the certificate of {origin} is for another name"),
        Some(Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        )) => {
            format!("the certificate of {origin} is not valid yet: is this host's clock right?")
        }
        Some(Error::InvalidCertificate(other)) => {
            let detail = format!("{other:?}");
            if detail.contains("CaUsedAsEndEntity") {
                format!("the certificate of {origin} is that of a CA, not of a server: it cannot be verified")
            } else {
                // The kind of fault without the bytes that libraries add to it.
                let kind = detail.split([' ', '(', '{']).next().unwrap_or_default();
                format!("the certificate of {origin} is not accepted ({kind})")
            }
        }
        Some(Error::InvalidMessage(_)) => format!("{origin} does not speak TLS: is it an http address?"),
        Some(other) => format!("no TLS connection to {origin}: {other}"),
        None => {
            let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            format!("no TLS connection to {origin}: {error}{source}")
        }
    }
}
