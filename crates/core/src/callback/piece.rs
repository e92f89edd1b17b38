//! The pieces of a callback. URL, headers and body are cut up once, when they are read: into texts that everybody may
//! see, texts that the user typed, and placeholders. The request, its redacted form, the list of secrets and the cache
//! key are each made in one pass over the same pieces. A new place for text needs a new [`Position`].

use std::net::Ipv6Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::variables::{Values, Variable, Variables};
use crate::net::url::{credential_secrets, percent_decode, push_form, push_kept, push_value};
use crate::text::json::{Value, push_escaped, push_string};
use crate::text::secrets::MASK;

/// Where a piece is: decides how a value is written there, and in which forms a secret from there may appear elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Before the `@` of a URL.
    UserInfo,
    /// At the beginning of the host.
    Host,
    /// Anywhere else in a URL.
    Address,
    /// Inside a JSON string.
    JsonString,
    /// In JSON, outside quotes.
    JsonBare,
    /// In the value of a header.
    Header,
    /// A value in a form that is written as an object.
    FormValue,
    /// Anywhere in a form that is written as text.
    FormText,
    /// In a plain-text body.
    Text,
}

/// A piece of a URL, a header or a body. `Debug` does not show what the user typed.
#[derive(Clone, PartialEq)]
pub(super) enum Piece {
    /// Not secret: punctuation, a host, a short path segment, a key of the body. Written as it is.
    Plain(String),
    /// Typed by the user in a place where keys occur (G2).
    Secret(Position, String),
    Variable(Position, Variable),
}

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// Everything: this is what is sent.
    All,
    /// What the user typed as `***`, and values of the update as they are (G2).
    Redacted,
}

impl Position {
    /// Appends a literal of the user.
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
            // An IPv6 address needs brackets: otherwise its colons cannot be told from that of the port.
            Self::Host if values.text(variable).parse::<Ipv6Addr>().is_ok() => {
                out.push('[');
                out.push_str(&values.text(variable));
                out.push(']');
            }
            // The commas between the values of a list are not encoded.
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

    /// Appends a mask in place of a secret, in a form that is valid there.
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

/// The text of the pieces, with values filled in.
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

/// The pieces as they were written, with secrets masked and placeholders by name.
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

/// The secrets that the user typed, in the forms in which a response or an error may contain them.
pub(super) fn secrets<'p>(pieces: impl Iterator<Item = &'p Piece>) -> Vec<String> {
    let mut secrets = Vec::new();
    for piece in pieces {
        let Piece::Secret(position, text) = piece else { continue };
        match position {
            Position::UserInfo => secrets.extend(credential_secrets(text)),
            // As written, decoded, and as sent.
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
                // `Basic dXNlcjpwdw==`: user and password may appear on their own.
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

/// Makes literals visible to everybody, except user and password.
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

/// Appends text that is not secret, joined to a preceding plain piece.
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
