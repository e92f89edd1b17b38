//! Signatures of requests: Standard Webhooks 1.0 (H11).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::canonical::hmac;
use crate::text::hex;
use crate::text::secrets::MASK;
use crate::update::state::Fingerprint;

const PREFIX: &str = "whsec_";

/// Allowed lengths of a key, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// The headers of a signature.
pub const HEADERS: [&str; 3] = ["Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"];

/// A key that signs requests. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl SigningKey {
    /// Reads `whsec_` and base64. The error is a phrase that follows `a secret`; it contains no part of the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let coded = text.trim().strip_prefix(PREFIX).ok_or("does not begin with `whsec_`")?;
        let decoded = STANDARD.decode(coded).or_else(|_| STANDARD_NO_PAD.decode(coded));
        let key = decoded.map_err(|_| "is not base64 after `whsec_`")?;
        if !LENGTHS.contains(&key.len()) {
            return Err("has fewer than 24 or more than 64 bytes");
        }
        Ok(Self(key))
    }

    /// `v1,` and the signature of a message.
    fn sign(&self, id: &str, seconds: u64, body: &str) -> String {
        format!("v1,{}", STANDARD.encode(hmac(&self.0, &format!("{id}.{seconds}.{body}"))))
    }

    /// The forms in which the key may appear in a text.
    pub(in super::super) fn secrets(&self) -> [String; 2] {
        let coded = STANDARD.encode(&self.0);
        [format!("{PREFIX}{coded}"), coded]
    }

    /// The bytes, for the key of the cache.
    pub(in super::super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

/// The headers of the signature. Without a body, the signatures are masked: a real one would reveal something about it.
pub(super) fn headers(keys: &[SigningKey], id: &str, seconds: u64, body: Option<&str>) -> Vec<(String, String)> {
    let signatures: Vec<String> = match body {
        Some(body) => keys.iter().map(|key| key.sign(id, seconds, body)).collect(),
        None => keys.iter().map(|_| format!("v1,{MASK}")).collect(),
    };
    let values = [id.to_owned(), seconds.to_string(), signatures.join(" ")];
    HEADERS.into_iter().map(str::to_owned).zip(values).collect()
}

/// The `webhook-id` of a message. `about` names what the message is about: for an update its domain, its type and the
/// number of its mark. The id contains no full stop, because that separates the parts of the signed text.
pub fn message_id(callback: Fingerprint, about: &str) -> String {
    let hash = Sha256::new().chain_update(callback.as_bytes()).chain_update(about).finalize();
    format!("msg_{}", hex::text(&hash[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const SECOND: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    /// Vectors from the tests of the official libraries, and two that the official Python library confirms.
    #[test]
    fn h11_signatures_are_those_of_the_standard() {
        let (id, other) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk");
        let cases = [
            (FIRST, id, 1_614_265_330, r#"{"test": 2432232314}"#, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            (
                SECOND,
                other,
                1_649_367_553,
                r#"{"email":"test@example.com","username":"test_user"}"#,
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
            (FIRST, id, 1_614_265_330, "", "v1,v48jdbgvh29KJz2Qc+ghw8G6vG3nAKnujWBg8oM/62A="),
            (
                FIRST,
                id,
                1_614_265_330,
                r#"{"domain":"home.example.com","ip":"203.0.113.7"}"#,
                "v1,8h3jWqImuneVNer8fbZnnD3VlXBr2VT666i7w0XC+n4=",
            ),
        ];
        for (secret, id, seconds, body, expected) in cases {
            let key = SigningKey::parse(secret).expect("a key");
            assert_eq!(key.sign(id, seconds, body), expected, "{body}");
        }
    }

    #[test]
    fn h11_what_is_no_secret_is_refused_unseen() {
        for text in [
            "",
            "whsec_",
            "s3cret",
            "whsec_s3cret!",
            "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_AAAA",
            "whpk_AAAA",
        ] {
            assert!(SigningKey::parse(text).is_err_and(|why| !why.contains("s3cret")), "{text}");
        }
        let long = format!("whsec_{}", STANDARD.encode([7; 65]));
        assert!(SigningKey::parse(&long).is_err());
        let unpadded = format!(" whsec_{}\n", STANDARD_NO_PAD.encode([7; 25]));
        let key = SigningKey::parse(&unpadded).expect("padding may be left out");
        assert_eq!(format!("{key:?}"), "***");
        assert!(SigningKey::parse(&format!("whsec_{}", STANDARD.encode([7; 64]))).is_ok());
    }

    #[test]
    fn h11_an_id_belongs_to_one_update_and_one_mark() {
        let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
        let ids = [
            message_id(callback, "a.example A 1"),
            message_id(callback, "a.example A 2"),
            message_id(callback, "a.example AAAA 1"),
            message_id(callback, "b.example A 1"),
        ];
        for (at, id) in ids.iter().enumerate() {
            assert!(id.starts_with("msg_") && !id.contains('.') && !ids[..at].contains(id), "{ids:?}");
        }
        assert_eq!(ids[0], message_id(callback, "a.example A 1"));
    }
}
