//! Masking of texts that come from elsewhere (an answer's body, an error of a library) and, as the last gate, of every
//! log line: what the user typed is found in any of its usual forms and replaced.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::MASK;
use crate::json::is_placeholder_name;

/// Shorter literals are words of every text (`on`, `1`): masking them would leave nothing to read.
const SHORTEST: usize = 4;

/// What must not be seen. Does not show itself when printed.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Matched byte for byte, percent-encoded or escaped; longest first, so that no part of one is left standing.
    plain: Vec<Box<[u8]>>,
    /// Base64 forms, matched byte for byte.
    encoded: Vec<String>,
}

impl Secrets {
    /// Collects literals. One that is part of a text in `public` (a configured domain, say) or an address is no
    /// secret: it is shown everywhere as a value of the update.
    pub fn new(literals: impl IntoIterator<Item = String>, public: &[&str]) -> Self {
        let is_public = |literal: &str| {
            let is_value = literal.parse::<std::net::IpAddr>().is_ok() || is_placeholder_name(literal);
            is_value || public.iter().any(|text| text.contains(literal))
        };
        let mut plain: Vec<Box<[u8]>> = literals
            .into_iter()
            .map(|literal| literal.trim().to_owned())
            .filter(|literal| literal.len() >= SHORTEST && !is_public(literal))
            .map(|literal| literal.into_bytes().into_boxed_slice())
            .collect();
        plain.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        plain.dedup();
        let mut encoded: Vec<String> = plain.iter().flat_map(|secret| base64_forms(secret)).collect();
        encoded.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        encoded.dedup();
        Self { plain, encoded }
    }

    /// Only those of at least `length` bytes: fit for lines that are mostly our own words.
    #[must_use]
    pub fn longer_than(&self, length: usize) -> Self {
        let plain = self.plain.iter().filter(|secret| secret.len() >= length).cloned();
        Self { plain: plain.collect(), encoded: self.encoded.clone() }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// The text with every secret replaced.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let bytes = text.as_bytes();
        let mut masked = String::new();
        let (mut shown, mut at) = (0, 0);
        while at < bytes.len() {
            let Some(length) = self.length_at(&bytes[at..]) else {
                at += 1;
                continue;
            };
            masked.push_str(text.get(shown..at).unwrap_or_default());
            masked.push_str(MASK);
            at += length;
            shown = at;
        }
        if shown == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(text.get(shown..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// How many bytes of `text` are a secret that begins right here.
    fn length_at(&self, text: &[u8]) -> Option<usize> {
        let plain =
            self.plain.iter().filter_map(|secret| matched(text, secret, false).max(matched(text, secret, true))).max();
        let encoded = self.encoded.iter().find(|form| text.starts_with(form.as_bytes())).map(String::len);
        plain.max(encoded)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.plain.len())
    }
}

/// How many bytes at the start of `text` spell `secret`, each byte as it is or percent-encoded, or, inside of JSON, each
/// byte escaped or not. (A backslash means two things, so the two readings are apart.)
fn matched(text: &[u8], secret: &[u8], in_json: bool) -> Option<usize> {
    let mut at = 0;
    for &byte in secret {
        let rest = &text[at..];
        at += match rest {
            [b'\\', escaped, ..] if in_json && unescaped(*escaped) == Some(byte) => 2,
            [b'\\', b'u', b'0', b'0', high, low, ..] if in_json && hex(*high, *low) == Some(byte) && byte < 0x80 => 6,
            [first, ..] if *first == byte => 1,
            [b'%', high, low, ..] if hex(*high, *low) == Some(byte) => 3,
            [b'+', ..] if byte == b' ' => 1,
            _ => return None,
        };
    }
    Some(at)
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn unescaped(letter: u8) -> Option<u8> {
    match letter {
        b'"' | b'\\' | b'/' => Some(letter),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

/// The base64 of a secret, alone or inside of something longer: for each of the three ways in which it can lie across
/// the groups of three bytes, the characters that depend on nothing but the secret.
fn base64_forms(secret: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(secret);
        // Characters that also hold bits of what stands before or after.
        let first = (shift * 8).div_ceil(6);
        let last = (shifted.len() * 8) / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = engine.encode(&shifted);
            forms.extend(text.get(first..last).filter(|form| form.len() >= SHORTEST).map(str::to_owned));
        }
    }
    forms
}
