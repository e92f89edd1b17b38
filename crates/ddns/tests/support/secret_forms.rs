//! Secrets in every place where a user can write one, and the forms in which they could come to light.

use serde_json::{Value, json};

use crate::support::given::SOURCE;

/// Every secret of [`config`] as the user means it (after percent-decoding).
pub const SECRETS: [&str; 7] = [
    "alice-marker1",
    "p@ss/marker2 9",
    "marker3+query=&x",
    "marker4aaaabbbbccccdddd0123456789abcdef",
    "t0ken \"marker5\" \\ secret/ü",
    "marker6-nested-value",
    "marker7-in-an-array",
];

/// A POST callback to `host:port` with a secret in userinfo, query, path and body, beside values that are none.
pub fn config(address: &str) -> Value {
    let id = format!(
        "http://alice-marker1:p%40ss%2Fmarker2%209@{address}/{}/hook?key=marker3%2Bquery%3D%26x&ip=__IP__&d=__DOMAIN__",
        SECRETS[3]
    );
    json!({
        "dns": "callback", "id": id, "ipv4": ["home.example.com"], "index4": SOURCE,
        "token": {"auth": SECRETS[4], "deep": {"pin": SECRETS[5], "list": [SECRETS[6], 5]}, "address": "__IP__"},
    })
}

/// Fails the test if `text` holds a secret: its marker (so in raw, percent-encoded or JSON form), or its base64.
#[track_caller]
pub fn assert_no_secret(text: &str, place: &str) {
    for secret in SECRETS {
        let start = secret.find("marker").expect("every secret carries a marker");
        let marker = &secret[start..start + 7];
        assert!(!text.contains(marker), "{place} holds {marker}:\n{text}");
        let coded = base64(secret.as_bytes());
        assert!(!text.contains(coded.trim_end_matches('=')), "{place} holds {marker} in base64:\n{text}");
    }
    let pair = base64(format!("{}:{}", SECRETS[0], SECRETS[1]).as_bytes());
    assert!(!text.contains(pair.trim_end_matches('=')), "{place} holds the credentials in base64:\n{text}");
}

/// All secrets in all their forms, as an unkind endpoint may echo them.
pub fn echo() -> String {
    let mut text = String::new();
    for secret in SECRETS {
        let percent = percent(secret);
        let forms = [secret.to_owned(), percent.to_lowercase(), percent, base64(secret.as_bytes())];
        text += &forms.join("\n");
        text += "\n";
        text += &Value::from(secret).to_string();
        text += "\n";
    }
    text + &base64(format!("{}:{}", SECRETS[0], SECRETS[1]).as_bytes())
}

/// Everything but unreserved characters as `%XX`.
fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

/// Standard base64 with padding; a dozen lines instead of a dependency.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let sign = if at <= group.len() { ALPHABET[bits >> (18 - 6 * at) & 63] } else { b'=' };
            text.push(char::from(sign));
        }
    }
    text
}
