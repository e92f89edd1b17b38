//! One pass over a text before it is parsed, for what the parser reads otherwise than we do: `#` comments and placeholders
//! outside quotes are overwritten by something of the same length, so that every place stays true. Control characters in
//! strings, blanks that JSON does not know and deep nesting are refused here.
//!
//! The pass also knows what may stand at a place, which the sentence of an error needs.

use std::borrow::Cow;

use super::read::{Dialect, SyntaxError};

/// How deep lists and objects may nest.
const MAX_DEPTH: usize = 100;

/// What may stand next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Value,
    Key,
    Colon,
    /// A comma or the closing bracket; outside of all brackets nothing.
    Separator,
}

pub(super) struct Scan<'a> {
    text: &'a str,
    dialect: Dialect,
    at: usize,
    /// The brackets that are open, and where.
    pub(super) open: Vec<(usize, u8)>,
    pub(super) expected: Expected,
    /// Stretches to overwrite, each with the letter that takes the place of every byte.
    overwrite: Vec<(usize, usize, char)>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Self {
        let mut scan =
            Self { text, dialect, at: 0, open: Vec::new(), expected: Expected::Value, overwrite: Vec::new() };
        if text.starts_with('\u{feff}') {
            scan.skip('\u{feff}'.len_utf8(), Some(' '));
        }
        scan
    }

    /// Runs up to the first token that ends after `until`, and stops before it.
    pub(super) fn run(&mut self, until: usize) -> Result<(), SyntaxError> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match (byte, bytes.get(self.at + 1)) {
                (b' ' | b'\t' | b'\r' | b'\n', _) => self.at += 1,
                (b'#', _) if self.dialect.relaxed => self.skip(self.line_length(), Some(' ')),
                (b'/', Some(b'/')) if self.dialect.relaxed => self.skip(self.line_length(), None),
                (b'/', Some(b'*')) if self.dialect.relaxed => match self.text[self.at + 2..].find("*/") {
                    Some(length) => self.skip(length + 4, None),
                    None => {
                        return Err(SyntaxError::new(self.at, self.at + 2, "this comment has no end (`*/`)"));
                    }
                },
                _ => {
                    let length = self.token_length(byte)?;
                    if self.at + length > until {
                        return Ok(());
                    }
                    self.take(byte, length)?;
                }
            }
        }
        Ok(())
    }

    /// Where the token begins and ends before which [`Scan::run`] stopped.
    pub(super) fn token(&self) -> (usize, usize) {
        let first = self.text.as_bytes().get(self.at);
        let length = first.and_then(|byte| self.token_length(*byte).ok()).unwrap_or(0);
        (self.at, self.at + length)
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

    fn line_length(&self) -> usize {
        let rest = &self.text[self.at..];
        rest.find(['\n', '\r']).unwrap_or(rest.len())
    }

    fn token_length(&self, first: u8) -> Result<usize, SyntaxError> {
        match first {
            b'"' => self.string_length(),
            _ if is_word(first) => {
                let rest = &self.text.as_bytes()[self.at..];
                Ok(rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len()))
            }
            0..0x80 if first != 0x0b && first != 0x0c => Ok(1),
            _ => match self.text[self.at..].chars().next() {
                Some(letter) if letter.is_whitespace() => {
                    let message = "JSON does not know this blank: replace it by a space";
                    Err(SyntaxError::at(self.text, self.at, message))
                }
                letter => Ok(letter.map_or(1, char::len_utf8)),
            },
        }
    }

    fn string_length(&self) -> Result<usize, SyntaxError> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut length = 1;
        loop {
            let after = &rest[length..];
            length += after.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(after.len());
            match (rest.get(length), rest.get(length + 1)) {
                (Some(b'"'), _) => return Ok(length + 1),
                (Some(b'\\'), Some(b'"' | b'\\')) => length += 2,
                (Some(b'\\'), _) => length += 1,
                (None | Some(b'\n' | b'\r'), _) => {
                    let message = "this string has no closing quote on its line";
                    return Err(SyntaxError::new(self.at, self.at + length, message));
                }
                _ => {
                    let message = "a control character in a string must be written as an escape";
                    return Err(SyntaxError::at(self.text, self.at + length, message));
                }
            }
        }
    }

    fn take(&mut self, first: u8, length: usize) -> Result<(), SyntaxError> {
        let mut overwrite = None;
        self.expected = match first {
            b'[' | b'{' => {
                if self.open.len() == MAX_DEPTH {
                    let message = format!("lists and objects nest deeper than {MAX_DEPTH} levels");
                    return Err(SyntaxError::at(self.text, self.at, message));
                }
                self.open.push((self.at, first));
                if first == b'{' { Expected::Key } else { Expected::Value }
            }
            b']' | b'}' => {
                self.open.pop();
                Expected::Separator
            }
            b',' if matches!(self.open.last(), Some((_, b'{'))) => Expected::Key,
            b',' | b':' => Expected::Value,
            _ => {
                let word = &self.text[self.at..self.at + length];
                // A number is a value, too.
                overwrite = (self.dialect.placeholders && is_placeholder_name(word)).then_some('1');
                if self.expected == Expected::Key { Expected::Colon } else { Expected::Separator }
            }
        };
        self.skip(length, overwrite);
        Ok(())
    }
}

/// What belongs to a number or a word, right or wrong.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'+')
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
