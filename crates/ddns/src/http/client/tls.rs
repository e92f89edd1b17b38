//! TLS (D6): set up at the first https URL that needs it, once for each way to verify.

mod trust;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::{env, fs, io};

use ddns_core::net::ssl::Ssl;
use ddns_core::text::shell;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WantsClientCert, WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
};

use crate::open_file::{Stamp, reason};

pub(crate) use trust::{Pem, TlsTrust, certificates, private_key};

/// Connectors, made when they are first needed.
#[derive(Default)]
pub(super) struct Tls {
    verified: OnceCell<TlsConnector>,
    unverified: OnceCell<TlsConnector>,
    /// By path, with the stamp that tells the file from a newer one.
    with_ca: RefCell<HashMap<String, (Option<Stamp>, TlsConnector)>>,
    /// The only connector, if trust is fixed: it ignores the `ssl` of requests.
    only: Option<TlsConnector>,
}

impl Tls {
    /// Verifies all connections in one way.
    pub(super) fn trusting(trust: &TlsTrust<'_>) -> Result<Self, String> {
        Ok(Self { only: Some(trust.connector()?), ..Self::default() })
    }

    /// The fields that name the other side, and the certificates to trust.
    pub(super) fn fields(&self) -> (&'static str, &'static str) {
        if self.only.is_some() { ("group.store", "group.ca") } else { ("id", "ssl") }
    }

    /// The connector for a way to verify. `Auto` starts as `Verify` does.
    pub(super) fn connector(&self, ssl: &Ssl) -> Result<TlsConnector, String> {
        if let Some(only) = &self.only {
            return Ok(only.clone());
        }
        match ssl {
            Ssl::Auto | Ssl::Verify => {
                if self.verified.get().is_none() {
                    let _ = self.verified.set(with_ca(Vec::new())?);
                }
                self.verified.get().cloned().ok_or_else(String::new)
            }
            Ssl::Off => Ok(self
                .unverified
                .get_or_init(|| finished(Verifier::builder(CertificateCheck::Any).with_no_client_auth()))
                .clone()),
            Ssl::Ca(path) => {
                // A service runs for years, and CA files are renewed.
                let stamp = Stamp::at(Path::new(path));
                if let Some((known, connector)) = self.with_ca.borrow().get(path)
                    && *known == stamp
                {
                    return Ok(connector.clone());
                }
                let made = with_ca(read_ca(path)?)?;
                self.with_ca.borrow_mut().insert(path.clone(), (stamp, made.clone()));
                Ok(made)
            }
        }
    }
}

/// The certificates in a file. The error is a sentence that names the file.
pub(crate) fn read_ca(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    match fs::metadata(path) {
        Err(error) => return Err(format!("the CA file {path} cannot be read ({})", reason(&error))),
        Ok(metadata) if !metadata.is_file() => return Err(format!("the CA file {path} is not a regular file")),
        Ok(_) => {}
    }
    let bytes = fs::read(path).map_err(|error| format!("the CA file {path} cannot be read ({})", reason(&error)))?;
    certificates_in(&bytes, path).map_err(|why| format!("the CA file {path} {why}"))
}

/// The certificates in a PEM file. The error is a phrase that follows its name.
fn certificates_in(bytes: &[u8], path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let own: Vec<_> = CertificateDer::pem_slice_iter(without_mark(bytes)).filter_map(Result::ok).collect();
    if RootCertStore::empty().add_parsable_certificates(own.iter().cloned()).0 > 0 {
        return Ok(own);
    }
    let has = |mark: &str| bytes.windows(mark.len()).any(|part| part == mark.as_bytes());
    Err(if RootCertStore::empty().add(CertificateDer::from(bytes)).is_ok() {
        let file = shell::quote(path);
        format!("is in DER form: convert it with `openssl x509 -inform der -in {file} -out ca.pem`, and name ca.pem")
    } else if has("-----BEGIN CERTIFICATE-----") {
        "contains a damaged PEM certificate: copy it again".to_owned()
    } else if has("PRIVATE KEY-----") {
        "contains a private key, but no PEM certificate".to_owned()
    } else {
        "contains no PEM certificate (`-----BEGIN CERTIFICATE-----`)".to_owned()
    })
}

/// The contents of a file without a byte order mark, which would hide its first line.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The system's roots, or the built-in public ones if it has none (a container without a CA bundle).
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // `load_native_certs` reads this file; a pipe would block the program.
    let is_strange = |path: OsString| fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    if !env::var_os("SSL_CERT_FILE").is_some_and(is_strange) {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// Trusts the system's roots, certificates issued by these, and these certificates themselves.
fn with_ca(own: Vec<CertificateDer<'static>>) -> Result<TlsConnector, String> {
    let mut roots = system_roots();
    roots.add_parsable_certificates(own.iter().cloned());
    Ok(finished(Verifier::builder(named(roots, own)?).with_no_client_auth()))
}

/// Trusts these roots, and exactly these certificates.
fn named(roots: RootCertStore, own: Vec<CertificateDer<'static>>) -> Result<CertificateCheck, String> {
    let provider = Arc::new(ring::default_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let inner = inner.map_err(|error| format!("the CA file cannot be used ({error})"))?;
    Ok(CertificateCheck::Named(inner, own))
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    let provider = Arc::new(ring::default_provider());
    let versions = tokio_rustls::rustls::DEFAULT_VERSIONS;
    // The built-in provider supports all default versions; a test makes every connector.
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("the versions of the provider")
}

fn finished(mut config: ClientConfig) -> TlsConnector {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// Which certificates are trusted besides those of the usual authorities. Signatures are always checked, so that the
/// other side of a handshake is the certificate's owner.
#[derive(Debug)]
enum CertificateCheck {
    /// Any certificate.
    Any,
    /// What this verifies, and exactly these certificates, for example the self-signed ones of routers and NAS boxes.
    /// The name must match in any case.
    Named(Arc<WebPkiServerVerifier>, Vec<CertificateDer<'static>>),
}

#[derive(Debug)]
struct Verifier {
    belief: CertificateCheck,
    provider: CryptoProvider,
}

impl Verifier {
    fn builder(belief: CertificateCheck) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let verifier = Arc::new(Self { belief, provider: ring::default_provider() });
        builder().dangerous().with_custom_certificate_verifier(verifier)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.belief {
            CertificateCheck::Any => {}
            CertificateCheck::Named(_, own) if own.iter().any(|own| own == certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            CertificateCheck::Named(usual, _) => {
                let at = |time| usual.verify_server_cert(certificate, between, name, ocsp, time);
                return at(now).map_err(|error| {
                    // For an untrusted issuer, it does not matter that the certificate has expired.
                    let valid = valid_time(&error).and_then(|time| at(time).err());
                    valid.filter(is_untrusted).unwrap_or(error)
                });
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The name that must be on a certificate.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} cannot be the name on a certificate"))
}

/// Whether a handshake failed because no known authority vouches for the certificate.
pub(super) fn is_unknown_issuer(error: &io::Error) -> bool {
    rustls_error(error).is_some_and(is_untrusted)
}

/// Whether no known authority vouches for a certificate: its issuer is unknown, or is the server itself.
fn is_untrusted(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        Error::InvalidCertificate(other) => is_self_issued(other),
        _ => false,
    }
}

/// A time other than now at which the certificate is valid.
fn valid_time(error: &Error) -> Option<UnixTime> {
    match error {
        Error::InvalidCertificate(
            CertificateError::ExpiredContext { not_after: valid, .. }
            | CertificateError::NotValidYetContext { not_before: valid, .. },
        ) => Some(*valid),
        _ => None,
    }
}

/// Said of a server that refuses our certificate, or requires one that we do not have.
pub(crate) const WANTS_CERTIFICATE: &str = "wants a client certificate that it trusts";

/// Whether the other side refuses our certificate, or requires one that we do not have. With TLS 1.3, it says so after
/// the handshake.
pub(super) fn is_certificate_wanted(error: &io::Error) -> bool {
    use AlertDescription::{
        BadCertificate, CertificateRequired, CertificateUnknown, UnknownCA, UnsupportedCertificate,
    };
    matches!(
        rustls_error(error),
        Some(Error::AlertReceived(
            BadCertificate | CertificateRequired | CertificateUnknown | UnknownCA | UnsupportedCertificate
        ))
    )
}

fn rustls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Error>())
}

/// Whether a certificate is its own CA, as `openssl req -x509` makes it.
fn is_self_issued(error: &CertificateError) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
}

/// The peer of a TLS connection.
pub(super) struct Peer<'a> {
    /// The name that its certificate must have.
    pub(super) host: &'a str,
    /// Whether its host looks local.
    pub(super) is_local: bool,
    /// Its name in messages.
    pub(super) name: String,
    /// The field that names the peer.
    pub(super) field: &'static str,
    /// The field that names the certificates to trust.
    pub(super) trust_field: &'static str,
}

/// Whether the other side ended the connection.
fn is_end(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

/// Why a handshake failed, and what to do about it.
pub(super) fn explain(error: &io::Error, peer: &Peer<'_>) -> String {
    let (origin, field, trust_field) = (&peer.name, peer.field, peer.trust_field);
    let way_out = format!("set `{trust_field}` to the file of the CA that issued it, if you trust it");
    match rustls_error(error) {
        Some(Error::InvalidCertificate(why)) => match why {
            CertificateError::UnknownIssuer => {
                format!("the certificate of {origin} is from an issuer that this system does not trust; {way_out}")
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {origin} has expired: it must be renewed there")
            }
            CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                format!(
                    "the certificate of {origin} names no host: issue a new one with a subjectAltName; a CN alone does not count"
                )
            }
            CertificateError::BadSignature => {
                format!("the certificate of {origin} is not accepted: its key may be too short (RSA needs 2048 bits)")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate of {origin} is for another name: is the host in `{field}` right?")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate of {origin} is not valid yet: is this host's clock right?")
            }
            other if is_self_issued(other) => {
                format!("the certificate of {origin} is self-signed: set `{trust_field}` to its file")
            }
            other => {
                // The kind of error, without the bytes that libraries add to it.
                let detail = format!("{other:?}");
                let kind = detail.split([' ', '(', '{']).next().unwrap_or_default();
                format!("the certificate of {origin} is not accepted ({kind})")
            }
        },
        Some(Error::AlertReceived(AlertDescription::ProtocolVersion)) => {
            format!("{origin} speaks an old version of TLS only: ddns needs 1.2 or 1.3")
        }
        Some(Error::AlertReceived(_)) if is_certificate_wanted(error) => format!("{origin} {WANTS_CERTIFICATE}"),
        Some(Error::InvalidMessage(_)) => format!("{origin} does not speak TLS: is it an http address?"),
        None if is_end(error.kind()) => {
            format!("{origin} closed the connection during the TLS handshake: is it an http address?")
        }
        Some(other) => format!("no TLS connection to {origin}: {other}"),
        None => {
            let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
            format!("no TLS connection to {origin}: {error}{source}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connector_can_be_made() {
        let tls = Tls::default();
        for ssl in [Ssl::Auto, Ssl::Verify, Ssl::Off] {
            assert!(tls.connector(&ssl).is_ok(), "{ssl:?}");
        }
        assert!(tls.connector(&Ssl::Ca("/nowhere/ca.pem".to_owned())).is_err());
    }

    #[test]
    fn d6_a_renewed_ca_file_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        let (tls, ssl) = (Tls::default(), Ssl::Ca(path.to_str().expect("a plain path").to_owned()));
        let made = |tls: &Tls| Arc::clone(tls.connector(&ssl).expect("a connector").config());
        let renew = || {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
            fs::write(&path, made.cert.pem() + "\n").expect("a file");
        };
        renew();
        let first = made(&tls);
        assert!(Arc::ptr_eq(&first, &made(&tls)), "it is read once");
        fs::remove_file(&path).expect("it is there");
        renew();
        assert!(!Arc::ptr_eq(&first, &made(&tls)), "another file is read");
    }
}
