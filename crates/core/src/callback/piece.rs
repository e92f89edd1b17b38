//! The pieces of a callback: address and body, cut up once, when they are read, into what everybody may see, what the
//! user typed, and placeholders. What is sent, what may be seen of it, the list of secrets and the cache key are each one
//! pass over the same pieces. A new place for text is a new [`Position`].

use std::net::Ipv6Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::variables::{Values, Variable, Variables};
use crate::net::url::{credential_secrets, percent_decode, push_form, push_kept, push_value};
use crate::text::json::{Value, push_escaped, push_string};
use crate::text::secrets::MASK;

/// Where a piece stands: decides how a value is written there, and in which forms a secret may come back from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Before the `@` of an address.
    UserInfo,
    /// The beginning of the host.
    Host,
    /// Anywhere else in an address.
    Address,
    /// Inside a JSON string.
    JsonString,
    /// In JSON, outside quotes.
    JsonBare,
    /// In the value of a header.
    Header,
    /// A value of a form that is written as an object.
    FormValue,
    /// Anywhere in a form that is written as a text.
    FormText,
    /// In a body that is plain text.
    Text,
}

/// A piece of an address or a body. Does not show what the user typed when printed.
#[derive(Clone, PartialEq)]
pub(super) enum Piece {
    /// Written as it is, and no secret: punctuation, a host, a short path segment, a key of the body.
    Plain(String),
    /// Typed by the user where a key may stand (G2).
    Secret(Position, String),
    Variable(Position, Variable),
}

/// What is shown of the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Everything: this is sent.
    All,
    /// What the user typed as `***`, values of the update as they are (G2).
    Redacted,
}

impl Position {
    /// Appends what the user typed here.
    pub(super) fn push_literal(self, out: &mut String, text: &str) {
        match self {
            Self::JsonString => push_escaped(out, text),
            Self::FormValue => push_form(out, text),
            Self::UserInfo
            | Self::Host
            | Self::Address
            | Self::JsonBare
            | Self::Header
            | Self::FormText
            | Self::Text => out.push_str(text),
        }
    }

    fn push_value(self, out: &mut String, values: &Values<'_>, variable: Variable) {
        match self {
            // Without them, nobody knows which of its colons is the port's.
            Self::Host if values.text(variable).parse::<Ipv6Addr>().is_ok() => {
                out.push('[');
                out.push_str(&values.text(variable));
                out.push(']');
            }
            // Commas between values are not part of one.
            Self::UserInfo | Self::Host | Self::Address if variable.is_list() => {
                for (at, value) in values.text(variable).split(',').enumerate() {
                    out.push_str(if at == 0 { "" } else { "," });
                    push_value(out, value);
                }
            }
            Self::UserInfo | Self::Host | Self::Address => push_value(out, &values.text(variable)),
            Self::JsonString => push_escaped(out, &values.text(variable)),
            Self::FormValue | Self::FormText => push_form(out, &values.text(variable)),
            Self::Header | Self::Text => out.push_str(&values.text(variable)),
            Self::JsonBare => match values.json(variable) {
                Value::String(text) => push_string(out, &text),
                Value::Number(text) => out.push_str(&text),
                Value::Bool(value) => out.push_str(if value { "true" } else { "false" }),
                _ => out.push_str("null"),
            },
        }
    }

    /// Appends what stands in a secret's place: something that is possible there.
    fn push_mask(self, out: &mut String, secret: &str) {
        match self {
            Self::UserInfo => {
                for (at, part) in secret.splitn(2, ':').enumerate() {
                    out.push_str(if at == 0 { "" } else { ":" });
                    out.push_str(if part.is_empty() { "" } else { MASK });
                }
            }
            Self::Host
            | Self::Address
            | Self::JsonString
            | Self::Header
            | Self::FormValue
            | Self::FormText
            | Self::Text => out.push_str(MASK),
            Self::JsonBare => push_string(out, MASK),
        }
    }
}

/// The text of the pieces with the values of one update.
pub(super) fn render(pieces: &[Piece], values: &Values<'_>, show: Show) -> String {
    let mut out = String::with_capacity(256);
    for piece in pieces {
        match (piece, show) {
            (Piece::Plain(text), _) => out.push_str(text),
            (Piece::Secret(position, text), Show::All) => position.push_literal(&mut out, text),
            (Piece::Secret(position, text), Show::Redacted) => position.push_mask(&mut out, text),
            (Piece::Variable(position, variable), Show::Redacted) if variable.is_secret() => {
                position.push_mask(&mut out, MASK);
            }
            (Piece::Variable(position, variable), _) => position.push_value(&mut out, values, *variable),
        }
    }
    out
}

/// What may be seen of the pieces as they were written: placeholders by their names.
pub(super) fn outline(pieces: &[Piece], variables: &Variables) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Plain(text) => out.push_str(text),
            Piece::Secret(position, text) => position.push_mask(&mut out, text),
            Piece::Variable(_, variable) => out.push_str(variables.name_of(*variable)),
        }
    }
    out
}

/// What the user typed that must not be seen, in the forms in which a response or an error may show it.
pub(super) fn secrets<'p>(pieces: impl Iterator<Item = &'p Piece>) -> Vec<String> {
    let mut secrets = Vec::new();
    for piece in pieces {
        let Piece::Secret(position, text) = piece else { continue };
        match position {
            Position::UserInfo => secrets.extend(credential_secrets(text)),
            // As written, as it is meant, and as it is sent.
            Position::Host | Position::Address => {
                let mut sent = String::new();
                push_kept(&mut sent, text);
                secrets.extend([text.clone(), percent_decode(text), sent]);
            }
            Position::FormValue => {
                let mut sent = String::new();
                push_form(&mut sent, text);
                secrets.extend([text.clone(), sent]);
            }
            Position::FormText => secrets.extend([text.clone(), percent_decode(&text.replace('+', " "))]),
            Position::Header => {
                secrets.push(text.clone());
                // `Basic dXNlcjpwdw==`: user and password may come back, too.
                let decoded = STANDARD.decode(text.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                if let Some((user, password)) = decoded.as_deref().and_then(|pair| pair.split_once(':')) {
                    secrets.extend([format!("{user}:{password}"), user.to_owned(), password.to_owned()]);
                }
            }
            Position::JsonString | Position::JsonBare | Position::Text => secrets.push(text.clone()),
        }
    }
    secrets
}

/// Lets everybody see what stands there literally; not user and password.
pub(super) fn disclose(pieces: &mut Vec<Piece>) {
    for piece in std::mem::take(pieces) {
        match piece {
            Piece::Secret(position, text) if position != Position::UserInfo => {
                let mut plain = String::new();
                position.push_literal(&mut plain, &text);
                push_plain(pieces, &plain);
            }
            Piece::Plain(text) => push_plain(pieces, &text),
            other => pieces.push(other),
        }
    }
}

/// Appends text that is not secret, joined to plain text before it.
pub(super) fn push_plain(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Plain(before)) => before.push_str(text),
        _ => pieces.push(Piece::Plain(text.to_owned())),
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Secret(..) => f.write_str(MASK),
            Self::Variable(_, variable) => write!(f, "{variable:?}"),
        }
    }
}
