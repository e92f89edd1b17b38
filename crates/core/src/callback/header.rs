//! A header that the user sets (H2): a name, and a value with placeholders.

use super::piece::{self, Piece, Position, Show, push_plain};
use super::template::{self, Part};
use super::variables::{Values, Variables};

/// What the program says itself: it follows from the address, the body and the connection.
const OURS: [&str; 5] = ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"];

/// Headers whose values are no secrets. A redirection to another origin carries these alone.
const PUBLIC: [&str; 3] = ["Accept", "Content-Type", "User-Agent"];

/// Words before a key that everybody may see.
const SCHEMES: [&str; 3] = ["Bearer ", "Basic ", "Token "];

/// One header.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// As hyper sends it: a capital letter after each dash, small ones elsewhere.
    name: String,
    pub(super) pieces: Vec<Piece>,
}

/// Why something is not a header that can be set. Each is a phrase that follows the name of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderError {
    /// The name is no HTTP token. It is not shown: it may be a key in the wrong place.
    Name,
    /// The program sets this one itself.
    Ours(&'static str),
    /// The value of this one holds a control character.
    Control(String),
}

impl Header {
    /// Checks a name and finds the placeholders of a value.
    pub fn new(name: &str, value: &str, variables: &Variables, unknown: &mut Vec<String>) -> Result<Self, HeaderError> {
        let name = spelled(name.trim()).ok_or(HeaderError::Name)?;
        if let Some(ours) = OURS.iter().find(|ours| **ours == name) {
            return Err(HeaderError::Ours(ours));
        }
        // Blanks around a value are no part of it (RFC 9110, 5.5).
        let value = value.trim_matches([' ', '\t']);
        if holds_control(value) {
            return Err(HeaderError::Control(name));
        }
        let is_public = is_public(&name);
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

    /// The name under which it is sent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value with those of one update; `None` if one of them holds a control character: it could end the header.
    pub(super) fn render(&self, values: &Values<'_>, show: Show) -> Option<String> {
        Some(piece::render(&self.pieces, values, show)).filter(|value| !holds_control(value))
    }

    /// What may be seen of the value as it was written.
    pub fn outline(&self, variables: &Variables) -> String {
        piece::outline(&self.pieces, variables)
    }
}

/// Whether the values of a header are no secrets.
pub(super) fn is_public(name: &str) -> bool {
    PUBLIC.contains(&name)
}

/// The word that names what kind of key follows; empty where there is none.
fn scheme(text: &str) -> &str {
    let begins = |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(begins).map_or("", |scheme| &text[..scheme.len()])
}

/// A name as it is sent; `None` if it is no HTTP token.
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

/// A line end would begin another header; no server takes the other control characters. A tab is allowed.
fn holds_control(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t')
}

impl std::fmt::Display for HeaderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name => f.write_str("contains an invalid header name"),
            Self::Ours(name) => write!(f, "must not set `{name}`"),
            Self::Control(name) => write!(f, "has a line break or another control character in the value of `{name}`"),
        }
    }
}

impl HeaderError {
    /// How to mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Name => "use letters, digits and dashes, e.g. `X-Api-Key`",
            Self::Ours("Accept-Encoding") => "leave it out: ddns never asks for compressed responses",
            Self::Ours(_) => "leave it out: ddns sets it for each request",
            Self::Control(_) => "a value must be a single line",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> Result<Header, HeaderError> {
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
            assert_eq!(header(name, "v"), Err(HeaderError::Name), "{name:?}");
        }
        for name in ["host", "CONTENT-LENGTH", "Transfer-Encoding", "connection", "accept-encoding"] {
            assert!(matches!(header(name, "v"), Err(HeaderError::Ours(_))), "{name}");
        }
    }

    #[test]
    fn h2_values_are_one_line() {
        for value in ["a\r\nb", "a\nb", "a\rb", "a\0b", "a\u{7f}b", "\u{1}"] {
            assert_eq!(header("X", value), Err(HeaderError::Control("X".into())), "{value:?}");
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
        ];
        for (name, value, expected) in cases {
            let header = header(name, value).expect(name);
            assert_eq!(header.outline(&Variables::default()), expected, "{name}: {value}");
            assert!(!format!("{header:?}").contains("s3cret"));
        }
    }
}
