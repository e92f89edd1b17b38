//! One pass over a text before it is parsed, for what the parser treats differently: `#` comments and placeholders
//! outside quotes are overwritten by something of the same length, so that every place stays correct. Control
//! characters in strings, spaces that JSON does not allow, and deep nesting are refused here.
//!
//! The pass also knows what may come next at a place, which error messages need.

use std::borrow::Cow;

use super::token::{self, TokenKind};
use super::{Dialect, SyntaxError};
use crate::text::number::grouped;

/// How deep lists and objects may nest.
pub(crate) const MAX_DEPTH: usize = 100;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Value,
    Key,
    Colon,
    /// A comma or the closing bracket; outside all brackets, nothing.
    Separator,
}

pub(super) struct Scan<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
    /// The open brackets, and where they are.
    pub(super) open: Vec<(usize, u8)>,
    pub(super) expected: Expected,
    /// How many values and keys were read.
    count: usize,
    /// Ranges to overwrite, each with the character that replaces every byte.
    overwrite: Vec<(usize, usize, char)>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Self {
        let mut scan =
            Self { text, dialect, at: 0, open: Vec::new(), expected: Expected::Value, count: 0, overwrite: Vec::new() };
        if text.starts_with('\u{feff}') {
            scan.skip('\u{feff}'.len_utf8(), Some(' '));
        }
        scan
    }

    /// Runs up to the first token that ends after `until`, and stops before it.
    pub(super) fn run(&mut self, until: usize) -> Result<(), SyntaxError> {
        while self.at < self.text.len() {
            let (length, kind) = token::first(&self.text[self.at..], self.dialect.relaxed);
            let token = &self.text[self.at..self.at + length];
            match kind {
                TokenKind::Blank if matches!(token, " " | "\t" | "\r" | "\n") => self.at += length,
                TokenKind::Blank => {
                    let message = "JSON does not allow this kind of space: replace it with a normal one";
                    return Err(SyntaxError::new(self.at, self.at + length, message));
                }
                TokenKind::Comment if token.starts_with("/*") && (length < 4 || !token.ends_with("*/")) => {
                    return Err(SyntaxError::new(self.at, self.at + 2, "this comment has no end (`*/`)"));
                }
                TokenKind::Comment => self.skip(length, token.starts_with('#').then_some(' ')),
                TokenKind::String | TokenKind::OpenString if has_control(token) => {
                    let at = self.at + token.bytes().position(|byte| byte < 0x20).unwrap_or(0);
                    let message = "a control character in a string must be written as an escape";
                    return Err(SyntaxError::at(self.text, at, message));
                }
                TokenKind::OpenString => {
                    let message = "this string has no closing quote on its line";
                    return Err(SyntaxError::new(self.at, self.at + length, message));
                }
                TokenKind::String | TokenKind::Mark | TokenKind::Word if self.at + length > until => return Ok(()),
                TokenKind::String | TokenKind::Mark | TokenKind::Word => self.take(token)?,
            }
        }
        Ok(())
    }

    /// Where the token before which [`Scan::run`] stopped begins and ends.
    pub(super) fn token(&self) -> (usize, usize) {
        (self.at, self.at + token::first(&self.text[self.at..], self.dialect.relaxed).0)
    }

    /// The text for the parser.
    pub(super) fn prepared(&self) -> Cow<'a, str> {
        if self.overwrite.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let mut prepared = String::with_capacity(self.text.len());
        for &(start, end, letter) in &self.overwrite {
            prepared.push_str(&self.text[prepared.len()..start]);
            prepared.extend(std::iter::repeat_n(letter, end - start));
        }
        prepared.push_str(&self.text[prepared.len()..]);
        Cow::Owned(prepared)
    }

    fn skip(&mut self, length: usize, overwrite: Option<char>) {
        self.overwrite.extend(overwrite.map(|letter| (self.at, self.at + length, letter)));
        self.at += length;
    }

    fn take(&mut self, token: &str) -> Result<(), SyntaxError> {
        let mut overwrite = None;
        self.count += usize::from(!matches!(token, "," | ":" | "]" | "}"));
        if self.count > self.dialect.most {
            let message = format!("the text contains more than {} values and keys", grouped(self.dialect.most));
            return Err(SyntaxError::at(self.text, self.at, message));
        }
        self.expected = match token {
            "[" | "{" => {
                if self.open.len() == MAX_DEPTH {
                    let message = format!("lists and objects are nested deeper than {MAX_DEPTH} levels");
                    return Err(SyntaxError::at(self.text, self.at, message));
                }
                self.open.push((self.at, token.as_bytes()[0]));
                if token == "{" { Expected::Key } else { Expected::Value }
            }
            "]" | "}" => {
                self.open.pop();
                Expected::Separator
            }
            "," if matches!(self.open.last(), Some((_, b'{'))) => Expected::Key,
            "," | ":" => Expected::Value,
            _ => {
                // The parser reads a placeholder as a number.
                overwrite = (self.dialect.placeholders && is_placeholder_name(token)).then_some('1');
                if self.expected == Expected::Key { Expected::Colon } else { Expected::Separator }
            }
        };
        self.skip(token.len(), overwrite);
        Ok(())
    }
}

/// Checks every byte without stopping early, which is faster for the short strings of a large cache.
fn has_control(text: &str) -> bool {
    text.bytes().fold(u8::MAX, u8::min) < 0x20
}

/// Whether a text has the form `__NAME__`: capital letters, digits and single underscores between double ones.
pub(crate) fn is_placeholder_name(text: &str) -> bool {
    let inner = text.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    inner.is_some_and(|name| {
        !name.is_empty()
            && !name.starts_with('_')
            && !name.ends_with('_')
            && !name.contains("__")
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}
