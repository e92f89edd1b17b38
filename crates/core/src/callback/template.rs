//! Texts with placeholders, parsed once and filled in a single pass: values are never searched for placeholders (C4).

use super::variables::{Variable, Variables};
use crate::text::json::is_placeholder_name;

#[derive(Clone, PartialEq)]
pub(super) enum Part {
    Literal(String),
    Variable(Variable),
}

impl Part {
    pub(super) fn variable(&self) -> Option<Variable> {
        if let Self::Variable(variable) = self { Some(*variable) } else { None }
    }
}

/// Finds the placeholders. A name without a value stays in the text and is added to `unknown`.
pub(super) fn parse(text: &str, variables: &Variables, unknown: &mut Vec<String>) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut literal, mut at) = (0, 0);
    while let Some(start) = underscores(&text[at..]).map(|skip| at + skip) {
        let Some(name) = name_at(&text[start..]) else {
            let slip = in_another_case(&text[start..], variables);
            unknown.extend(slip.or_else(|| half(&text[literal..], start - literal, variables)));
            at = start + 1;
            continue;
        };
        let end = start + name.len();
        if let Some(variable) = variables.find(name) {
            if literal < start {
                parts.push(Part::Literal(text[literal..start].to_owned()));
            }
            parts.push(Part::Variable(variable));
            (literal, at) = (end, end);
        } else {
            unknown.push(name.to_owned());
            // The closing underscores may open the next name: `__A__IP__`.
            at = end - 2;
        }
    }
    if literal < text.len() {
        parts.push(Part::Literal(text[literal..].to_owned()));
    }
    parts
}

/// Where two underscores are. `str::find` has a set-up cost that pays off only for longer texts.
fn underscores(text: &str) -> Option<usize> {
    text.as_bytes().windows(2).position(|pair| pair == b"__")
}

/// The name at the start of a text, if it would be a placeholder in capital letters. Names are case-sensitive (C4), so
/// this one is not filled in.
fn in_another_case(text: &str, variables: &Variables) -> Option<String> {
    let inner = text.strip_prefix("__")?;
    let name = &text[..underscores(inner)? + 4];
    variables.find(&name.to_ascii_uppercase()).map(|_| name.to_owned())
}

/// A placeholder that lacks the underscores on one side, around the two at `at`: `__DOMAIN` or `DOMAIN__`.
fn half(text: &str, at: usize, variables: &Variables) -> Option<String> {
    let is_of_name = |letter: &u8| letter.is_ascii_uppercase() || letter.is_ascii_digit() || *letter == b'_';
    let (before, after) = text.as_bytes().split_at(at);
    let before = before.iter().rev().take_while(|letter| is_of_name(letter)).count();
    let after = after.iter().take_while(|letter| is_of_name(letter)).count();
    let halves = [&text[at..at + after], &text[at - before..at + 2]];
    let name = halves.into_iter().find(|name| variables.find(&format!("__{}__", name.trim_matches('_'))).is_some())?;
    (name.starts_with("__") != name.ends_with("__")).then(|| name.to_owned())
}

/// Whether a text is nothing but half a placeholder.
pub(super) fn is_half(text: &str, variables: &Variables) -> bool {
    underscores(text).and_then(|at| half(text, at, variables)).is_some_and(|name| name == text)
}

/// The `__NAME__` at the start of a text.
fn name_at(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("__")?;
    let length = underscores(inner)?;
    let name = &text[..length + 4];
    is_placeholder_name(name).then_some(name)
}
