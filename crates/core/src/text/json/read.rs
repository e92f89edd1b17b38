//! Turns text into values with the crate `jsonc-parser`. A pass before it settles what the crate treats differently,
//! and its errors become sentences that say what was expected at the place.

use jsonc_parser::ast;
use jsonc_parser::common::Range;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};

use super::scan::{Expected, Scan, is_placeholder_name};
use super::{Dialect, Member, Node, Span, SyntaxError, Value};

/// Reads one value, which only white space (and comments) may surround. Skips a byte order mark at the start.
pub fn parse(text: &str, dialect: Dialect) -> Result<Node, SyntaxError> {
    let mut scan = Scan::new(text, dialect);
    let problem = scan.run(usize::MAX).err();
    let prepared = scan.prepared();
    // Nothing after a problem is parsed: the text may be too large, or too deeply nested.
    let end = problem.as_ref().map_or(prepared.len(), |problem| problem.span.start);
    let options = ParseOptions {
        allow_comments: dialect.relaxed,
        allow_trailing_commas: dialect.relaxed,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let error = match (parse_to_ast(&prepared[..end], &CollectOptions::default(), &options), &problem) {
        (Ok(parsed), None) => match parsed.value {
            Some(value) => return Ok(node(value, text)),
            None => expected(text, text.len(), dialect),
        },
        (Ok(_), Some(problem)) => return Err(problem.clone()),
        (Err(error), _) => sentence(text, &error, dialect),
    };
    // The first mistake in the text is the user's; the others may follow from it.
    Err(problem.filter(|problem| problem.span.start <= error.span.start).unwrap_or(error))
}

/// The crate's value as ours. `text` is the original, which still has its placeholders.
fn node(value: ast::Value<'_>, text: &str) -> Node {
    let (range, value) = match value {
        ast::Value::NullKeyword(null) => (null.range, Value::Null),
        ast::Value::BooleanLit(flag) => (flag.range, Value::Bool(flag.value)),
        ast::Value::NumberLit(number) => {
            let written = text[number.range.start..number.range.end].to_owned();
            let is_placeholder = written.starts_with('_');
            (number.range, if is_placeholder { Value::Placeholder(written) } else { Value::Number(written) })
        }
        ast::Value::StringLit(string) => (string.range, Value::String(string.value.into_owned())),
        ast::Value::Array(list) => {
            (list.range, Value::Array(list.elements.into_iter().map(|element| node(element, text)).collect()))
        }
        ast::Value::Object(object) => {
            let member = |property: ast::ObjectProp<'_>| {
                let (key_span, key) = match property.name {
                    ast::ObjectPropName::String(name) => (span(name.range), name.value.into_owned()),
                    ast::ObjectPropName::Word(name) => (span(name.range), name.value.to_owned()),
                };
                Member { key, key_span, node: node(property.value, text) }
            };
            (object.range, Value::Object(object.properties.into_iter().map(member).collect()))
        }
    };
    Node { span: span(range), value }
}

fn span(range: Range) -> Span {
    Span { start: range.start, end: range.end }
}

/// An error of the crate in our words.
fn sentence(text: &str, error: &ParseError, dialect: Dialect) -> SyntaxError {
    let Range { start, end } = error.range();
    match error.kind() {
        ParseErrorKind::TrailingCommasNotAllowed => {
            SyntaxError::new(start, end, "no comma is allowed before the closing bracket")
        }
        ParseErrorKind::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => {
            SyntaxError::new(start, start + "\\u0000".len(), "half of a character: its other `\\u` is missing")
        }
        ParseErrorKind::String(ParseStringErrorKind::ExpectedFourHexDigits) => {
            SyntaxError::new(start, start + 1, "`\\u` needs four hexadecimal digits")
        }
        ParseErrorKind::String(
            ParseStringErrorKind::InvalidEscape | ParseStringErrorKind::InvalidEscapeInDoubleQuoteString,
        ) => SyntaxError::new(start, start + 1, "this escape is unknown; a backslash itself is written `\\\\`"),
        // These point at the opening bracket.
        ParseErrorKind::UnterminatedArray | ParseErrorKind::UnterminatedObject => expected(text, text.len(), dialect),
        // These point behind the mistake.
        ParseErrorKind::ExpectedDigit
        | ParseErrorKind::ExpectedDigitFollowingNegativeSign
        | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral => expected(text, start.saturating_sub(1), dialect),
        _ => expected(text, start, dialect),
    }
}

/// Says what was expected at `from`, or at the first token after it.
fn expected(text: &str, from: usize, dialect: Dialect) -> SyntaxError {
    let mut scan = Scan::new(text, dialect);
    if let Err(problem) = scan.run(from) {
        return problem;
    }
    let (start, end) = scan.token();
    let here = |message: &str| SyntaxError::at(text, start, message);
    if let (true, Some(&(open, bracket))) = (start == text.len(), scan.open.last()) {
        let what = if bracket == b'[' { "list" } else { "object" };
        let line = text[..open].matches('\n').count() + 1;
        return here(&format!("the text ends here, but the {what} that begins in line {line} is not closed"));
    }
    match (scan.expected, scan.open.last()) {
        (Expected::Key, _) if text[start..].starts_with('\'') => {
            // A list in a string begins with a bracket.
            let is_file = dialect.relaxed && text.trim_start().starts_with('{');
            let way_out = if is_file { "; `ddns import FILE` reads them" } else { "" };
            here(&format!("a key in double quotes was expected here, not in single ones{way_out}"))
        }
        (Expected::Key, _) => here("a key in double quotes was expected here"),
        (Expected::Colon, _) => here("a `:` was expected after the key"),
        (Expected::Separator, None) => here("nothing may follow the end of the document"),
        (Expected::Separator, Some((_, b'['))) => here("a `,` or the closing `]` was expected here"),
        (Expected::Separator, Some(_)) => here("a `,` or the closing `}` was expected here"),
        (Expected::Value, _) => match text.as_bytes().get(start) {
            None => here("a value is missing: the text ends here"),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') => {
                SyntaxError::new(start, end, "this is not a number; text must be in double quotes")
            }
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => match &text[start..end] {
                "True" | "False" | "None" => {
                    SyntaxError::new(start, end, "write `true`, `false` and `null` in lowercase")
                }
                word if is_placeholder_name(word) => {
                    let message = "a placeholder must be in double quotes; to send a number, write `token` as a string";
                    SyntaxError::new(start, end, message)
                }
                _ => SyntaxError::new(start, end, "text must be in double quotes"),
            },
            Some(b'\'') => here("text must be in double quotes, not single quotes"),
            Some(_) => here("a value was expected here"),
        },
    }
}
