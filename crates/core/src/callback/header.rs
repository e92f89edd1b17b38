//! A header that the user sets (H2): a name, and a value with placeholders.

use super::piece::{self, Piece, Position, Show, push_plain};
use super::template::{self, Part};
use super::variables::{Values, Variables};

/// Headers that ddns sets itself: they follow from the URL, the body and the connection.
const MANAGED_HEADERS: [&str; 5] = ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"];

/// Headers whose values are not secret. A redirect to another origin carries only these.
const PUBLIC: [&str; 3] = ["Accept", "Content-Type", "User-Agent"];

/// Headers of signed requests that name what is asked for. They may be shown, too; any other may hold a key.
const NAMING: [&str; 8] = [
    "X-Acs-Action",
    "X-Acs-Region-Id",
    "X-Acs-Version",
    "X-Amz-Target",
    "X-Tc-Action",
    "X-Tc-Language",
    "X-Tc-Region",
    "X-Tc-Version",
];

/// Authentication schemes that may precede a key and may be shown.
const SCHEMES: [&str; 3] = ["Bearer ", "Basic ", "Token "];

/// One header.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Spelled as hyper sends it: a capital letter after each dash, small letters elsewhere.
    name: String,
    pub(super) pieces: Vec<Piece>,
}

impl Header {
    /// Checks the name and finds the placeholders of the value. The error is a phrase that follows the name of the
    /// field, and a hint. A name that is not an HTTP token is not shown: it may be a key in the wrong place.
    pub fn new(
        name: &str,
        value: &str,
        variables: &Variables,
        unknown: &mut Vec<String>,
    ) -> Result<Self, (String, &'static str)> {
        let Some(name) = spelled(name.trim()) else {
            let hint = "use letters, digits and dashes, e.g. `X-Api-Key`";
            return Err(("contains an invalid header name".to_owned(), hint));
        };
        if MANAGED_HEADERS.contains(&name.as_str()) {
            let hint = match name.as_str() {
                "Accept-Encoding" => "leave it out: ddns never asks for compressed responses",
                _ => "leave it out: ddns sets it for each request",
            };
            return Err((format!("must not set `{name}`"), hint));
        }
        // Spaces around a value do not belong to it (RFC 9110, 5.5).
        let value = value.trim_matches([' ', '\t']);
        if holds_control(value) {
            let why = format!("has a line break or another control character in the value of `{name}`");
            return Err((why, "a value must be a single line"));
        }
        let is_public = is_public(&name) || NAMING.contains(&name.as_str());
        let mut pieces = Vec::new();
        for (at, part) in template::parse(value, variables, unknown).into_iter().enumerate() {
            match part {
                Part::Variable(variable) => pieces.push(Piece::Variable(Position::Header, variable)),
                Part::Literal(text) if is_public => push_plain(&mut pieces, &text),
                Part::Literal(text) => {
                    let scheme = if at == 0 { scheme(&text) } else { "" };
                    push_plain(&mut pieces, scheme);
                    if scheme.len() < text.len() {
                        pieces.push(Piece::Secret(Position::Header, text[scheme.len()..].to_owned()));
                    }
                }
            }
        }
        Ok(Self { name, pieces })
    }

    /// The name, spelled as it is sent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Renders the value; `None`: it contains a control character, which could end the header.
    pub(super) fn render(&self, values: &Values<'_>, show: Show) -> Option<String> {
        Some(piece::render(&self.pieces, values, show)).filter(|value| !holds_control(value))
    }

    /// The value as written, with everything redacted that may be a key.
    pub fn outline(&self, variables: &Variables) -> String {
        piece::outline(&self.pieces, variables)
    }
}

/// Whether the values of a header are not secret.
pub(super) fn is_public(name: &str) -> bool {
    PUBLIC.contains(&name)
}

/// The authentication scheme at the start of a value, with its space; empty if there is none.
fn scheme(text: &str) -> &str {
    let begins = |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(begins).map_or("", |scheme| &text[..scheme.len()])
}

/// A name as it is sent; `None`: it is not an HTTP token.
fn spelled(name: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return None;
    }
    let mut before = '-';
    let letters = name.chars().map(|letter| {
        let spelled = if before == '-' { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        before = letter;
        spelled
    });
    Some(letters.collect())
}

/// A line end would start another header, and servers accept no control characters except the tab.
fn holds_control(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> Result<Header, (String, &'static str)> {
        Header::new(name, value, &Variables::default(), &mut Vec::new())
    }

    #[test]
    fn h2_names_are_http_tokens_that_are_not_ours() {
        for (written, sent) in
            [("x-api-key", "X-Api-Key"), (" X-API-Key ", "X-Api-Key"), ("etag", "Etag"), ("a_b.c", "A_b.c")]
        {
            assert_eq!(header(written, "v").expect(written).name(), sent);
        }
        for name in ["", " ", "a b", "a:b", "a\r\nb", "ü", "a(b", "\"a\"", "a\0"] {
            let (why, _) = header(name, "v").expect_err(name);
            assert_eq!(why, "contains an invalid header name", "{name:?}");
        }
        for name in ["host", "CONTENT-LENGTH", "Transfer-Encoding", "connection", "accept-encoding"] {
            let (why, _) = header(name, "v").expect_err(name);
            assert!(why.starts_with("must not set `"), "{name}: {why}");
        }
    }

    #[test]
    fn h2_values_are_one_line() {
        for value in ["a\r\nb", "a\nb", "a\rb", "a\0b", "a\u{7f}b", "\u{1}"] {
            let (why, _) = header("X", value).expect_err(value);
            assert!(why.ends_with("control character in the value of `X`"), "{value:?}: {why}");
        }
        for value in ["", "a\tb", "ü", "\"a\", b; c=\"d\""] {
            assert!(header("X", value).is_ok(), "{value:?}");
        }
    }

    #[test]
    fn h2_what_may_be_seen_of_a_value() {
        let cases = [
            ("Authorization", "Bearer s3cret", "Bearer ***"),
            ("Authorization", "bearer s3cret", "bearer ***"),
            ("Authorization", "sso-key s3cret", "***"),
            ("Authorization", "Bearers3cret", "***"),
            ("X-Auth", "Token s3cret", "Token ***"),
            ("X-Auth", "s3cret Bearer __IP__", "***__IP__"),
            ("accept", "application/vnd.x+json", "application/vnd.x+json"),
            ("USER-AGENT", "me/1 __DOMAIN__ x", "me/1 __DOMAIN__ x"),
            ("Content-Type", "text/xml", "text/xml"),
            ("Accept-Language", "de", "***"),
            ("x-tc-region", "eu-frankfurt", "eu-frankfurt"),
            ("X-AMZ-Target", "Route53.List", "Route53.List"),
            ("X-TC-Token", "s3cret", "***"),
            ("X-Sdk-Appkey", "s3cret", "***"),
            ("X-Tc-Auth", "s3cret", "***"),
            ("x-amz-security-token", "s3cret", "***"),
        ];
        for (name, value, expected) in cases {
            let header = header(name, value).expect(name);
            assert_eq!(header.outline(&Variables::default()), expected, "{name}: {value}");
            assert!(!format!("{header:?}").contains("s3cret"));
        }
    }
}
