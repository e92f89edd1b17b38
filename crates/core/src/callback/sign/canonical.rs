//! Schemes that sign a canonical form of the request with HMAC-SHA256. They share one implementation; a table row holds what differs.

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use super::Signable;
use crate::net::url::{percent_decoded, percent_encoded};
use crate::text::hex;
use crate::text::order;
use crate::text::secrets::MASK;

/// What differs between the schemes.
#[derive(Debug, Clone)]
pub(super) struct CanonicalForm {
    /// The name of the algorithm.
    word: &'static str,
    time_header: &'static str,
    /// The format of the time, and of the day in the scope.
    time: &'static str,
    day: &'static str,
    hash_header: Option<&'static str>,
    nonce_header: Option<&'static str>,
    token_header: &'static str,
    /// The signed headers; a name that ends in a dash stands for all headers with that prefix.
    signed: &'static [&'static str],
    values: ValueForm,
    path: PathForm,
    /// Whether the parameters are sorted before signing. If not, those of a GET are signed as they are sent, and no others.
    is_sorted: bool,
    /// The parts of the scope after the day, and its last word. Empty: there is no scope, and the secret itself is the key.
    scope: &'static [&'static str],
    /// Prepended to the secret to derive the first key.
    prefix: &'static str,
    /// Whether the signed text contains the time.
    signs_time: bool,
    /// The name of the id in `Authorization`, and the separator between its parts.
    credential: &'static str,
    comma: &'static str,
}

/// How the value of a header is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    Trimmed,
    /// Each run of whitespace becomes one space.
    Squeezed,
    LowerCase,
}

/// How the path is normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathForm {
    /// Dots and empty segments resolved, then each segment encoded again.
    EncodedAgain,
    Encoded,
    /// Encoded, with a slash at the end.
    EncodedWithSlash,
    /// Always `/`.
    Root,
    /// Each segment encoded again.
    #[cfg(test)]
    AsSent,
}

/// Amazon Web Services, signature version 4.
pub(super) const AWS4: CanonicalForm = CanonicalForm {
    word: "AWS4-HMAC-SHA256",
    time_header: "X-Amz-Date",
    time: "%Y%m%dT%H%M%SZ",
    day: "%Y%m%d",
    hash_header: None,
    nonce_header: None,
    token_header: "X-Amz-Security-Token",
    signed: &["content-type", "host", "x-amz-"],
    values: ValueForm::Squeezed,
    path: PathForm::EncodedAgain,
    is_sorted: true,
    scope: &["region", "service", "aws4_request"],
    prefix: "AWS4",
    signs_time: true,
    credential: "Credential",
    comma: ", ",
};

/// Tencent Cloud, version 3.
pub(super) const TC3: CanonicalForm = CanonicalForm {
    word: "TC3-HMAC-SHA256",
    time_header: "X-TC-Timestamp",
    time: "%s",
    day: "%Y-%m-%d",
    token_header: "X-TC-Token",
    signed: &["content-type", "host", "x-tc-action"],
    values: ValueForm::LowerCase,
    path: PathForm::Root,
    is_sorted: false,
    scope: &["service", "tc3_request"],
    prefix: "TC3",
    ..AWS4
};

/// Alibaba Cloud, version 3.
pub(super) const ACS3: CanonicalForm = CanonicalForm {
    word: "ACS3-HMAC-SHA256",
    time_header: "x-acs-date",
    time: "%Y-%m-%dT%H:%M:%SZ",
    day: "",
    hash_header: Some("x-acs-content-sha256"),
    nonce_header: Some("x-acs-signature-nonce"),
    token_header: "x-acs-security-token",
    signed: &["content-type", "host", "x-acs-"],
    values: ValueForm::Trimmed,
    path: PathForm::Encoded,
    scope: &[],
    prefix: "",
    signs_time: false,
    comma: ",",
    ..AWS4
};

/// Huawei Cloud.
pub(super) const HUAWEI: CanonicalForm = CanonicalForm {
    word: "SDK-HMAC-SHA256",
    time_header: "X-Sdk-Date",
    day: "",
    token_header: "X-Security-Token",
    signed: &["content-type", "host", "x-sdk-"],
    values: ValueForm::Trimmed,
    path: PathForm::EncodedWithSlash,
    scope: &[],
    prefix: "",
    credential: "Access",
    ..AWS4
};

impl CanonicalForm {
    /// The headers that the scheme sets.
    pub(super) fn own_headers(&self) -> impl Iterator<Item = &'static str> {
        let own = [Some("Authorization"), Some(self.time_header), self.hash_header, self.nonce_header];
        own.into_iter().flatten().chain([self.token_header])
    }

    /// The headers of the signature. `part` returns the parts of `sign`.
    pub(super) fn headers<'p>(
        &self,
        part: &dyn Fn(&str) -> &'p str,
        request: &Signable<'_>,
    ) -> Vec<(&'static str, String)> {
        let hash = sha256(request.body.as_bytes());
        let mut added = vec![(self.time_header, formatted(request.seconds, self.time))];
        added.extend(self.hash_header.map(|name| (name, hash.clone())));
        added.extend(self.nonce_header.map(|name| (name, request.nonce.to_owned())));
        let token = part("token");
        if !token.is_empty() {
            added.push((self.token_header, token.to_owned()));
        }
        let host = request.url.authority();
        let all = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all = all.chain([("host", host.as_str())]).chain(added.iter().map(|(name, value)| (*name, value.as_str())));
        let (names, lines) = self.signed_headers(all);
        let (path, query) = request.url.path.split_once('?').unwrap_or((&request.url.path, ""));
        let query = match request.method {
            _ if self.is_sorted => sorted(query),
            "GET" => query.to_owned(),
            _ => String::new(),
        };
        let (method, path) = (request.method, self.path.of(path));
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{hash}");
        let (scope, key) = self.scope(part, request.seconds);
        let mut text = format!("{}\n", self.word);
        if self.signs_time {
            text += &format!("{}\n", formatted(request.seconds, self.time));
        }
        if !scope.is_empty() {
            text += &format!("{scope}\n");
        }
        text += &sha256(canonical.as_bytes());
        let mut signature = hex::text(&hmac(&key, &text));
        if request.is_redacted {
            MASK.clone_into(&mut signature);
            for (_, value) in
                added.iter_mut().filter(|(name, _)| *name == self.token_header || Some(*name) == self.hash_header)
            {
                MASK.clone_into(value);
            }
        }
        let slash = if scope.is_empty() { "" } else { "/" };
        let Self { word, credential, comma, .. } = self;
        let id = part("id");
        let authorization =
            format!("{word} {credential}={id}{slash}{scope}{comma}SignedHeaders={names}{comma}Signature={signature}");
        added.push(("Authorization", authorization));
        added
    }

    /// The names of the signed headers, and one line for each of them.
    fn signed_headers<'h>(&self, headers: impl Iterator<Item = (&'h str, &'h str)>) -> (String, String) {
        let is_signed = |name: &str| {
            self.signed.iter().any(|signed| name == *signed || signed.ends_with('-') && name.starts_with(signed))
        };
        let mut signed: Vec<(String, String)> = Vec::new();
        for (name, value) in headers.map(|(name, value)| (name.to_ascii_lowercase(), self.values.of(value))) {
            match signed.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known += &format!(",{value}"),
                None if is_signed(&name) => signed.push((name, value)),
                None => {}
            }
        }
        order::sort(&mut signed);
        let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
        let lines = signed.iter().flat_map(|(name, value)| [name, ":", value, "\n"]).collect();
        (names.join(";"), lines)
    }

    /// The scope, and the key derived from it.
    fn scope<'p>(&self, part: &dyn Fn(&str) -> &'p str, seconds: u64) -> (String, Vec<u8>) {
        let first = format!("{}{}", self.prefix, part("secret")).into_bytes();
        let Some((last, parts)) = self.scope.split_last() else { return (String::new(), first) };
        let mut scope = vec![formatted(seconds, self.day)];
        scope.extend(parts.iter().map(|name| part(name).to_owned()));
        scope.push((*last).to_owned());
        let key = scope.iter().fold(first, |key, part| hmac(&key, part));
        (scope.join("/"), key)
    }
}

impl ValueForm {
    fn of(self, value: &str) -> String {
        match self {
            Self::Trimmed => value.trim().to_owned(),
            Self::Squeezed => value.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            Self::LowerCase => value.trim().to_lowercase(),
        }
    }
}

impl PathForm {
    fn of(self, path: &str) -> String {
        let encoded = |path: &str| {
            path.split('/').map(|segment| percent_encoded(&percent_decoded(segment))).collect::<Vec<_>>().join("/")
        };
        match self {
            Self::Root => "/".to_owned(),
            Self::Encoded => encoded(path),
            Self::EncodedWithSlash => format!("{}{}", encoded(path), if path.ends_with('/') { "" } else { "/" }),
            Self::EncodedAgain => encoded_again(&resolved(path)),
            #[cfg(test)]
            Self::AsSent => encoded_again(path),
        }
    }
}

/// Encodes each segment again.
fn encoded_again(path: &str) -> String {
    path.split('/').map(|segment| percent_encoded(segment.as_bytes())).collect::<Vec<_>>().join("/")
}

/// Removes dots and empty segments.
fn resolved(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let end = if segments.is_empty() || !path.ends_with('/') { "" } else { "/" };
    format!("/{}{end}", segments.join("/"))
}

/// Sorts the parameters by their encoded names, then by their values.
fn sorted(query: &str) -> String {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        (percent_encoded(&percent_decoded(name)), percent_encoded(&percent_decoded(value)))
    };
    let mut pairs: Vec<(String, String)> = query.split('&').filter(|text| !text.is_empty()).map(pair).collect();
    order::sort(&mut pairs);
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn formatted(seconds: u64, form: &str) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or_default().strftime(form).to_string()
}

fn sha256(bytes: &[u8]) -> String {
    hex::text(&Sha256::digest(bytes))
}

pub(super) fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC accepts keys of any length, so this never fails.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests;
