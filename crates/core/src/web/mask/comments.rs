//! Secrets in comments: a field that was commented out, a key that is set elsewhere, and what looks like one.

use std::ops::Range;

use super::hide::{Nature, in_proxy, in_source, nature};
use crate::callback::{hidden_in_address, hidden_in_text};
use crate::config::fields::Field;
use crate::text::json::{TokenKind, first_token, is_placeholder_name};
use crate::text::secrets::Secrets;

/// A word of so many letters and digits is hardly one of a language.
const LONG_WORD: usize = 20;

/// The names inside of `log`, of a domain and of `expect` whose values may be seen.
const PUBLIC: [&str; 16] = [
    "level",
    "file",
    "datefmt",
    "name",
    "interface_id",
    "stop",
    "wait",
    "reject",
    "accept",
    "status",
    "body",
    "families",
    "domains",
    "missing",
    "until",
    "all",
];

/// What a comment says, without what makes it one.
fn inside(text: &str, comment: Range<usize>) -> Range<usize> {
    let whole = &text[comment.clone()];
    let (start, end) = match whole.strip_prefix("/*") {
        Some(rest) => (2, rest.strip_suffix("*/").map_or(whole.len(), |inside| 2 + inside.len())),
        None => (if whole.starts_with("//") { 2 } else { 1 }, whole.trim_end_matches(['\r', '\n']).len()),
    };
    comment.start + start.min(end)..comment.start + end
}

/// What is hidden in the comments of a text.
pub(super) fn hidden(text: &str, known: &Secrets) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), 0);
    // A field that was commented out may go over several comments.
    let mut key: Option<String> = None;
    while at < text.len() {
        let (length, kind) = first_token(&text[at..], true);
        match kind {
            TokenKind::Comment => {
                let inside = inside(text, at..at + length);
                found.extend(fields(text, inside.clone(), &mut key));
                found.extend(words(text, inside.clone()));
                let here = known.found(&text[inside.clone()]).into_iter();
                found.extend(here.map(|range| range.start + inside.start..range.end + inside.start));
            }
            TokenKind::Blank => {}
            _ => key = None,
        }
        at += length.max(1);
    }
    found
}

/// The values of fields that were commented out.
fn fields(text: &str, comment: Range<usize>, key: &mut Option<String>) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), comment.start);
    let mut is_value = false;
    at += text[at..comment.end].find(|letter| !matches!(letter, '/' | '*' | '#')).unwrap_or(0);
    while at < comment.end {
        let (length, kind) = first_token(&text[at..comment.end], false);
        let end = (at + length.max(1)).min(comment.end);
        match kind {
            TokenKind::String if text[end..comment.end].trim_start().starts_with(':') => {
                *key = Some(text[at + 1..end - 1].to_owned());
                is_value = false;
            }
            TokenKind::String | TokenKind::OpenString => {
                let inside = at + 1..if kind == TokenKind::String { end - 1 } else { end };
                if let Some(key) = key {
                    let ranges = in_value(key, &text[inside.clone()]).into_iter();
                    found.extend(ranges.map(|range| range.start + inside.start..range.end + inside.start));
                }
                is_value = false;
            }
            TokenKind::Mark => is_value = text[at..].starts_with(':') && key.is_some(),
            // A number is a value where it follows a key.
            TokenKind::Word if is_value && key.as_deref().is_some_and(|key| !in_value(key, "1234").is_empty()) => {
                if !matches!(&text[at..end], "true" | "false" | "null") {
                    found.push(at..end);
                }
                is_value = false;
            }
            TokenKind::Word | TokenKind::Comment => is_value = false,
            TokenKind::Blank => {}
        }
        at = end;
    }
    found
}

/// What is hidden in the value of a key.
fn in_value(key: &str, value: &str) -> Vec<Range<usize>> {
    if PUBLIC.contains(&key) {
        return Vec::new();
    }
    match Field::written(key).map(|field| nature(field.key)) {
        Some(Nature::Public | Nature::Domains) => Vec::new(),
        Some(Nature::Address(fills)) => hidden_in_address(value, fills),
        Some(Nature::Proxies) => in_proxy(value),
        Some(Nature::Sources) => in_source(value),
        _ => hidden_in_text(value),
    }
}

/// Keys in addresses, and long words of letters and digits.
fn words(text: &str, comment: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = comment.start;
    for word in text[comment].split(|letter: char| letter.is_whitespace() || "\"'`<>(),;".contains(letter)) {
        if word.contains("://") {
            // A path is what makes a link useful.
            let path = word.find(['?', '#']).unwrap_or(word.len());
            let is_credential = |range: &Range<usize>| word[range.end..].starts_with('@');
            let ranges = hidden_in_address(word, true).into_iter();
            let is_all = |range: &Range<usize>| *range == (0..word.len());
            let ranges = ranges.filter(|range| range.start >= path || is_credential(range) || is_all(range));
            found.extend(ranges.map(|range| range.start + at..range.end + at));
        } else if looks_like_a_key(word.trim_matches('*')) {
            found.push(at..at + word.len());
        }
        // What separates words is one byte, or a blank of more.
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

fn looks_like_a_key(word: &str) -> bool {
    let is_of_key = |letter: char| letter.is_ascii_alphanumeric() || "-_+/=".contains(letter);
    word.len() >= LONG_WORD
        && word.chars().all(is_of_key)
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !is_placeholder_name(word)
}
