//! Signatures of requests: Standard Webhooks (H11), and schemes of single services (H11a).

mod canonical;
mod rsa;
mod webhook;

use sha1::{Digest as _, Sha1};

use self::canonical::CanonicalForm;
pub use self::rsa::{RsaDigest, RsaKey, RsaSign};
pub use self::webhook::{HEADERS as SIGNATURE_HEADERS, SigningKey, message_id};
use crate::net::url::Url;
use crate::text::hex;
use crate::text::secrets::MASK;
use crate::text::vocabulary::vocabulary;

/// How to sign a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    /// Standard Webhooks: one signature with each of these keys.
    Webhooks(Vec<SigningKey>),
    /// A scheme of a service.
    Scheme(Box<SchemeSigning>),
}

vocabulary! {
    /// A scheme of `sign`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[allow(missing_docs, reason = "each is the word of the configuration")]
    pub enum SignScheme {
        Aws4 = "aws4",
        Tc3 = "tc3",
        Acs3 = "acs3",
        Huawei = "huawei",
        Ovh = "ovh",
        Google = "google",
        RsaSha512 = "rsa-sha512",
    }
}

impl SignScheme {
    /// The parts that the scheme requires, and its optional parts.
    pub fn parts(self) -> [&'static [&'static str]; 2] {
        match self {
            Self::Aws4 => [&["id", "secret", "region", "service"], &["token"]],
            Self::Tc3 => [&["id", "secret", "service"], &["token"]],
            Self::Acs3 | Self::Huawei => [&["id", "secret"], &["token"]],
            Self::Ovh => [&["id", "secret", "consumer"], &[]],
            Self::Google => [&["key"], &["audience"]],
            Self::RsaSha512 => [&["key"], &["header"]],
        }
    }

    fn row(self) -> Option<&'static CanonicalForm> {
        match self {
            Self::Aws4 => Some(&canonical::AWS4),
            Self::Tc3 => Some(&canonical::TC3),
            Self::Acs3 => Some(&canonical::ACS3),
            Self::Huawei => Some(&canonical::HUAWEI),
            Self::Ovh | Self::Google | Self::RsaSha512 => None,
        }
    }
}

/// A scheme and its keys. `Debug` does not show the keys.
#[derive(Clone)]
pub struct SchemeSigning {
    scheme: SignScheme,
    /// Names and values, in the order of the configuration.
    parts: Vec<(&'static str, String)>,
    /// The parsed value of the part `key`.
    key: Option<RsaKey>,
}

impl PartialEq for SchemeSigning {
    fn eq(&self, other: &Self) -> bool {
        // `key` is derived from `parts`.
        (self.scheme, &self.parts) == (other.scheme, &other.parts)
    }
}

impl Eq for SchemeSigning {}

impl std::fmt::Debug for SchemeSigning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {MASK}", self.scheme.word())
    }
}

/// A request to sign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signable<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    /// All headers that a scheme may sign, `Content-Type` included.
    pub(super) headers: &'a [(String, String)],
    pub(super) body: &'a str,
    pub(super) seconds: u64,
    /// Differs for each try.
    pub(super) nonce: &'a str,
    /// Whether to render a redacted request, without anything that reveals something about the secrets.
    pub(super) is_redacted: bool,
}

impl SchemeSigning {
    /// `parts` must contain everything that the scheme requires.
    pub fn new(scheme: SignScheme, parts: Vec<(&'static str, String)>, key: Option<RsaKey>) -> Self {
        Self { scheme, parts, key }
    }

    /// The value of a part; empty if it is not set.
    fn part(&self, name: &str) -> &str {
        self.parts.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The headers that the scheme sets; the user must not set them.
    pub fn own_headers(&self) -> Vec<&str> {
        match self.scheme.row() {
            Some(row) => row.own_headers().collect(),
            None if self.scheme == SignScheme::Ovh => {
                vec!["X-Ovh-Application", "X-Ovh-Consumer", "X-Ovh-Timestamp", "X-Ovh-Signature"]
            }
            None if self.scheme == SignScheme::Google => vec!["Authorization"],
            None => vec![self.header()],
        }
    }

    /// Whether the service accepts only requests with a `Content-Type`.
    pub fn wants_content_type(&self) -> bool {
        self.scheme == SignScheme::Tc3
    }

    /// The header for the signature of `rsa-sha512`.
    fn header(&self) -> &str {
        Some(self.part("header")).filter(|name| !name.is_empty()).unwrap_or("Signature")
    }

    fn secrets(&self) -> impl Iterator<Item = String> {
        let is_secret = |name: &str| matches!(name, "secret" | "consumer" | "token" | "key");
        self.parts.iter().filter(move |(name, _)| is_secret(name)).map(|(_, value)| value.clone())
    }

    /// The records for the key of the cache (E3): kind and text. Secret parts are in hexadecimal digits.
    pub(super) fn records(&self) -> impl Iterator<Item = (&'static str, String)> {
        let record = |(name, is_secret): (&'static str, bool)| {
            let text = Some(self.part(name)).filter(|text| !text.is_empty())?;
            Some((name, if is_secret { hex::text(text.as_bytes()) } else { text.to_owned() }))
        };
        let text = ["audience", "header", "id", "region", "service"].map(|name| (name, false));
        let secret = ["consumer", "key", "secret", "token"].map(|name| (name, true));
        let rows = text.into_iter().chain(secret).filter_map(record);
        [("scheme", self.scheme.word().to_owned())].into_iter().chain(rows)
    }

    /// The headers of the signature. `None`: the key cannot sign.
    pub(super) fn headers(&self, request: &Signable<'_>) -> Option<Vec<(String, String)>> {
        let hide = |text: String| if request.is_redacted { MASK.to_owned() } else { text };
        let headers = match (self.scheme.row(), self.scheme) {
            (Some(row), _) => row.headers(&|name| self.part(name), request),
            (None, SignScheme::Google) => {
                let audience = Some(self.part("audience").to_owned()).filter(|audience| !audience.is_empty());
                let audience = audience.unwrap_or_else(|| format!("{}/", request.url.origin()));
                let token = self.key.as_ref()?.token(&audience, request.seconds)?;
                vec![("Authorization", format!("Bearer {}", hide(token)))]
            }
            (None, SignScheme::RsaSha512) => {
                let signature = self.key.as_ref()?.signature(RsaDigest::Sha512, request.body.as_bytes())?;
                vec![(self.header(), hide(signature))]
            }
            (None, _) => {
                let Signable { method, url, body, seconds, .. } = request;
                let (id, consumer) = (self.part("id"), self.part("consumer"));
                let address = format!("{}{}", url.origin(), url.path);
                let text = format!("{}+{consumer}+{}+{address}+{body}+{seconds}", self.part("secret"), method);
                vec![
                    ("X-Ovh-Application", id.to_owned()),
                    ("X-Ovh-Consumer", hide(consumer.to_owned())),
                    ("X-Ovh-Timestamp", seconds.to_string()),
                    ("X-Ovh-Signature", format!("$1${}", hide(hex::text(&Sha1::digest(text))))),
                ]
            }
        };
        Some(headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Signing {
    /// All keys that must stay hidden, in every form in which they may appear.
    pub(super) fn secrets(&self) -> Vec<String> {
        match self {
            Self::Webhooks(keys) => keys.iter().flat_map(SigningKey::secrets).collect(),
            Self::Scheme(signing) => signing.secrets().collect(),
        }
    }

    /// The headers of the signature. `None`: the key cannot sign. `message` is the `webhook-id`.
    pub(super) fn headers(&self, message: &str, request: &Signable<'_>) -> Option<Vec<(String, String)>> {
        match self {
            Self::Webhooks(keys) => {
                let body = (!request.is_redacted).then_some(request.body);
                Some(webhook::headers(keys, message, request.seconds, body))
            }
            Self::Scheme(signing) => signing.headers(request),
        }
    }
}
