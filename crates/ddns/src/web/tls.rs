//! TLS of the page, if it has a certificate of its own.

use std::sync::Arc;

use ddns_core::config::web::{SecretFile, Web};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use crate::http::{Pem, certificates, private_key};

/// `None`: the page has no certificate. Fails with a sentence that names the field.
pub(crate) fn acceptor(web: &Web) -> Result<Option<TlsAcceptor>, String> {
    let (Some(certificate), Some(key)) = (&web.certificate, &web.key) else { return Ok(None) };
    let chain = certificates("web.certificate", pem(certificate))?;
    let private = private_key("web.key", pem(key))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
    let mut config = config.map_err(|error| {
        format!("`web.certificate` and `web.key`: {} and {} cannot be used ({error})", certificate.shown, key.shown)
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

/// `access::judge` has already refused a file that cannot be read.
fn pem(held: &SecretFile) -> Pem<'_> {
    Pem { path: &held.shown, text: held.text.as_deref().unwrap_or_default() }
}
