//! TLS of the page, where it has a certificate of its own.

use std::sync::Arc;

use ddns_core::config::web::{SecretFile, Web};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// None where the page has no certificate. Fails with a sentence that names the field.
pub(crate) fn acceptor(web: &Web) -> Result<Option<TlsAcceptor>, String> {
    let (Some(certificate), Some(key)) = (&web.certificate, &web.key) else { return Ok(None) };
    let text =
        |name: &str, held: &SecretFile| held.text.clone().map_err(|why| format!("`web.{name}`: {} {why}", held.shown));
    let chain: Vec<_> =
        CertificateDer::pem_slice_iter(text("certificate", certificate)?.as_bytes()).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(format!("`web.certificate`: {} holds no certificate in PEM form", certificate.shown));
    }
    let private = PrivateKeyDer::from_pem_slice(text("key", key)?.as_bytes())
        .map_err(|_| format!("`web.key`: {} holds no private key in PEM form", key.shown))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
    let mut config = config.map_err(|error| {
        format!("`web.certificate` and `web.key`: {} and {} cannot be used ({error})", certificate.shown, key.shown)
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}
