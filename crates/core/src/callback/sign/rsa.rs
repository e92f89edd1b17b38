//! Signatures with an RSA key. This file decides what is signed; the program does the arithmetic.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::text::json::{Dialect, Value, parse, push_string};

/// The hash function of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum RsaDigest {
    Sha256,
    Sha512,
}

/// Signs a text (PKCS #1, version 1.5) with a private key in PKCS #8. `None`: the bytes are not such a key.
pub type RsaSign = fn(key: &[u8], digest: RsaDigest, text: &[u8]) -> Option<Vec<u8>>;

/// How long a token is valid, in seconds.
const TOKEN_LIFETIME_SECONDS: u64 = 3600;

/// How far a token is backdated, in seconds: the clock of the service may be behind, and it must not see a token from the future.
const TOKEN_BACKDATE_SECONDS: u64 = 10;

/// A private key, with its account if it is the key of a service account.
#[derive(Clone)]
pub struct RsaKey {
    key: Vec<u8>,
    sign: RsaSign,
    /// The email address of the service account, and the id of the key.
    account: Option<(String, String)>,
}

impl RsaKey {
    /// Reads a PEM text. The error is a phrase that follows `the key`.
    pub fn from_pem(text: &str, sign: RsaSign) -> Result<Self, &'static str> {
        let inside = text.split_once("-----BEGIN PRIVATE KEY-----").map(|(_, behind)| behind);
        let inside = inside.and_then(|behind| behind.split_once("-----END PRIVATE KEY-----"));
        let Some((coded, _)) = inside else {
            return Err("is not in PEM form with `BEGIN PRIVATE KEY` (PKCS #8)");
        };
        let coded: String = coded.split_whitespace().collect();
        let key = STANDARD.decode(coded).map_err(|_| "has invalid base64 in its PEM text")?;
        let key = Self { key, sign, account: None };
        key.signature(RsaDigest::Sha256, b"").map(|_| ()).ok_or("is not an RSA key of 2048 to 4096 bits")?;
        Ok(key)
    }

    /// Reads the JSON file of a service account.
    pub fn from_account(text: &str, sign: RsaSign) -> Result<Self, &'static str> {
        let node = parse(text, Dialect::IN_TEXT).map_err(|_| "is not the JSON file of a service account")?;
        let member = |name: &str| node.value.member(name).and_then(Value::text);
        let [Some(pem), Some(mail), Some(id)] = ["private_key", "client_email", "private_key_id"].map(member) else {
            return Err("has no `private_key`, `client_email` or `private_key_id`");
        };
        let account = Some((mail.to_owned(), id.to_owned()));
        Self::from_pem(pem, sign).map(|key| Self { account, ..key })
    }

    /// The signature of a text, in base64.
    pub(super) fn signature(&self, digest: RsaDigest, text: &[u8]) -> Option<String> {
        (self.sign)(&self.key, digest, text).map(|signature| STANDARD.encode(signature))
    }

    /// A JSON Web Token that the service account signs for itself (RFC 7523). `None`: the key has no account, or cannot sign.
    pub(super) fn token(&self, audience: &str, seconds: u64) -> Option<String> {
        let (mail, id) = self.account.as_ref()?;
        let from = seconds.saturating_sub(TOKEN_BACKDATE_SECONDS);
        let quoted = |text: &str| {
            let mut quoted = String::new();
            push_string(&mut quoted, text);
            quoted
        };
        let head = format!(r#"{{"alg":"RS256","typ":"JWT","kid":{}}}"#, quoted(id));
        let [mail, audience] = [mail, audience].map(quoted);
        let until = from + TOKEN_LIFETIME_SECONDS;
        let claims = format!(r#"{{"iss":{mail},"sub":{mail},"aud":{audience},"iat":{from},"exp":{until}}}"#);
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
        let signature = (self.sign)(&self.key, RsaDigest::Sha256, text.as_bytes())?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
