use super::super::{SchemeSigning, SignScheme};
use super::*;
use crate::net::url::Url;

/// A published signature. Fields that `vectors.json` leaves out are not part of the request.
#[derive(serde::Deserialize)]
struct Vector {
    name: String,
    scheme: String,
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: String,
    time: u64,
    id: String,
    secret: String,
    #[serde(default)]
    region: String,
    #[serde(default)]
    service: String,
    #[serde(default)]
    consumer: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    nonce: String,
    /// Whether the path is signed as it is sent.
    #[serde(default)]
    as_sent: bool,
    expected: std::collections::BTreeMap<String, String>,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("../vectors.json")).expect("vectors")
}

/// A URL whose path is kept even if it is not valid in a URL.
fn address(text: &str) -> Url {
    let (origin, path) = text.split_at(text[8..].find('/').expect("a path") + 8);
    Url { path: path.to_owned(), ..Url::parse(origin).expect("an origin") }
}

fn headers_of(vector: &Vector, is_redacted: bool) -> Vec<(String, String)> {
    let url = address(&vector.url);
    let request = Signable {
        method: &vector.method,
        url: &url,
        headers: &vector.headers,
        body: &vector.body,
        seconds: vector.time,
        nonce: &vector.nonce,
        is_redacted,
    };
    let part = |name: &str| match name {
        "id" => vector.id.as_str(),
        "secret" => &vector.secret,
        "region" => &vector.region,
        "service" => &vector.service,
        "consumer" => &vector.consumer,
        "token" => &vector.token,
        other => panic!("{other}"),
    };
    let scheme = SignScheme::parse(&vector.scheme).expect("a scheme");
    let Some(row) = scheme.row() else {
        let parts = ["id", "secret", "consumer"].map(|name| (name, part(name).to_owned())).to_vec();
        return SchemeSigning::new(scheme, parts, None).headers(&request).expect("a signature");
    };
    // Published vectors sign other headers than the scheme here does: take their list.
    let authorization = &vector.expected["Authorization"];
    let names = authorization.split("SignedHeaders=").nth(1).and_then(|rest| rest.split(',').next()).expect("names");
    let signed: Vec<&'static str> = names.split(';').map(|name| &*name.to_owned().leak()).collect();
    let path = if vector.as_sent { PathForm::AsSent } else { row.path };
    let row = CanonicalForm { signed: signed.leak(), path, ..row.clone() };
    let headers = row.headers(&part, &request);
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[test]
fn h11a_signatures_are_those_that_services_and_their_libraries_publish() {
    let vectors = vectors();
    assert!(vectors.len() > 45, "{}", vectors.len());
    for vector in &vectors {
        let headers = headers_of(vector, false);
        for (name, expected) in &vector.expected {
            let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            // Services accept both separators.
            let plain = |text: &str| text.replace(", ", ",");
            assert_eq!(found.map(|(_, value)| plain(value)), Some(plain(expected)), "{}: {name}", vector.name);
        }
    }
}

#[test]
fn h11a_who_may_not_see_the_secrets_sees_no_signature() {
    for vector in vectors() {
        for (name, value) in headers_of(&vector, true) {
            let signature = value.split("Signature=").nth(1);
            assert!(signature.is_none_or(|signature| signature == MASK), "{}: {name}: {value}", vector.name);
            for secret in [&vector.secret, &vector.token, &vector.consumer] {
                let is_hidden =
                    secret.is_empty() || vector.id.contains(secret.as_str()) || !value.contains(secret.as_str());
                assert!(is_hidden, "{}: {name}: {value}", vector.name);
            }
        }
    }
}

#[test]
fn h11a_the_order_of_parameters_does_not_matter() {
    assert_eq!(sorted("b=2&a=2&a=1&A=0&a-b=3"), "A=0&a=1&a=2&a-b=3&b=2");
    assert_eq!(sorted("a-b=3&A=0&b=2&a=1&a=2"), sorted("b=2&a=2&a=1&A=0&a-b=3"));
    assert_eq!(sorted("flag&x=1:2*3&y=%20&z=%2f"), "flag=&x=1%3A2%2A3&y=%20&z=%2F");
}

/// As Huawei's own libraries do it.
#[test]
fn h11a_a_slash_is_added_to_a_path_that_does_not_end_in_one() {
    for (path, signed) in [("/", "/"), ("/a", "/a/"), ("/a/", "/a/"), ("/a//b", "/a//b/"), ("/a//", "/a//")] {
        assert_eq!(PathForm::EncodedWithSlash.of(path), signed);
    }
}
