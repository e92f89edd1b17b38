//! Checks signatures as services do, written beside the program's own code and not with it.

use ring::{digest, hmac};

use super::Received;

pub fn hex(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// Whether `Authorization` is right for the request, by the secret: of `aws4`, `tc3`, `acs3` or `huawei`. Paths and parameters of the
/// tests are in their canonical form but for the order.
pub fn is_right(one: &Received, secret: &str) -> bool {
    let header = |name: &str| one.header(name).unwrap_or_default().trim().to_owned();
    let authorization = header("authorization");
    let (word, parts) = authorization.split_once(' ').expect("a word");
    let part = |name: &str| {
        let part = parts.split(',').map(str::trim).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        part.unwrap_or_else(|| panic!("{name}: {authorization}")).to_owned()
    };
    let is_tencent = word.starts_with("TC3");
    let (path, query) = one.target().split_once('?').unwrap_or((one.target(), ""));
    let path = if word.starts_with("SDK") { format!("{}/", path.trim_end_matches('/')) } else { path.to_owned() };
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_by_key(|pair| pair.split_once('='));
    let names = part("SignedHeaders");
    let line = |name: &str| {
        let value = header(name);
        format!("{name}:{}\n", if is_tencent { value.to_lowercase() } else { value })
    };
    let lines: String = names.split(';').map(line).collect();
    let query = if is_tencent && one.method() == "POST" { String::new() } else { pairs.join("&") };
    let (method, body) = (one.method(), sha256(&one.body));
    let hash = sha256(format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{body}").as_bytes());
    let (key, text) = match word {
        "ACS3-HMAC-SHA256" => (secret.as_bytes().to_vec(), format!("{word}\n{hash}")),
        "SDK-HMAC-SHA256" => (secret.as_bytes().to_vec(), format!("{word}\n{}\n{hash}", header("x-sdk-date"))),
        _ => {
            let credential = part("Credential");
            let (_, scope) = credential.split_once('/').expect("a scope");
            let time = if is_tencent { header("x-tc-timestamp") } else { header("x-amz-date") };
            let first = format!("{}{secret}", word.split('-').next().unwrap_or_default());
            let key = scope.split('/').fold(first.into_bytes(), |key, part| mac(&key, part));
            (key, format!("{word}\n{time}\n{scope}\n{hash}"))
        }
    };
    hex(&mac(&key, &text)) == part("Signature")
}
