//! The line of a file that an error points at, safe to print: keys and punctuation as written, and every value masked
//! except the one in question, because the text beside a typing mistake may be a secret.

use super::Span;
use super::token::{self, TokenKind};

/// A line to show under an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line's number, from 1.
    pub line: usize,
    /// The column of the place, in characters, from 1.
    pub column: usize,
    /// The place in the text, as far as it is on this line.
    pub span: Span,
    /// The line as it may be shown, cut to a readable width.
    pub shown: String,
    /// How many characters of `shown` come before the place.
    pub before: usize,
    /// How many characters of `shown` the place takes; at least one.
    pub width: usize,
}

/// The most characters shown on either side of the place.
const MARGIN: usize = 50;

/// More bytes than a margin can take.
const MAX_MARGIN_BYTES: usize = 10 * MARGIN;

/// The line of `text` at `span`. The value at the place itself is shown only with `reveal`: the caller knows whether
/// its field may contain a secret.
pub fn excerpt(text: &str, span: Span, reveal: bool) -> Excerpt {
    let start = floor(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let end = floor(text, span.end).clamp(start, line_end);

    // Of a list or an object, only the brackets and keys are shown, because it may contain secrets.
    let reveal = reveal && !text[start..end].starts_with(['{', '[']);
    let mut before = String::new();
    let mut inside = String::new();
    let mut after = String::new();
    let mut at = beginning(text, line_start, start);
    if at > line_start {
        before.push('…');
    }
    while at < line_end && inside.len().max(after.len()) < MAX_MARGIN_BYTES {
        let (length, kind) = token::first(&text[at..line_end], true);
        let (piece, piece_start) = (&text[at..at + length], at);
        at += length;
        if at <= line_start {
            continue;
        }
        let (into, masked) = if at <= start {
            (&mut before, true)
        } else if piece_start >= end && !(piece_start == start && start == end) {
            (&mut after, true)
        } else {
            (&mut inside, !reveal)
        };
        let is_value = match kind {
            TokenKind::Word => true,
            TokenKind::String | TokenKind::OpenString => {
                !text[at..].trim_start().starts_with(':') || !piece.trim_matches(['"', '\'']).chars().all(is_of_key)
            }
            TokenKind::Blank | TokenKind::Mark | TokenKind::Comment => false,
        };
        match kind {
            TokenKind::Comment => into.push_str("/* … */"),
            _ if is_value && masked => into.push_str("***"),
            _ => into.push_str(piece.trim_matches(['\r', '\n', '\u{feff}'])),
        }
    }
    let column = text[line_start..start].trim_start_matches('\u{feff}').chars().count() + 1;
    let cut = before.chars().count().saturating_sub(MARGIN);
    if cut > 0 {
        before = format!("…{}", before.chars().skip(cut).collect::<String>());
    }
    for part in [&mut inside, &mut after] {
        if part.chars().count() > MARGIN {
            *part = part.chars().take(MARGIN).chain(['…']).collect();
        }
    }
    let before = before.replace('\t', " ");
    Excerpt {
        line: text[..start].matches('\n').count() + 1,
        column,
        span: Span { start, end },
        before: before.chars().count(),
        width: inside.chars().count().max(1),
        shown: format!("{before}{inside}{after}").trim_end().to_owned(),
    }
}

/// Whether a key may have this character. A key with any other may be a secret in the place of a name.
fn is_of_key(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./~$*".contains(letter)
}

/// Where to begin to split the text into tokens.
fn beginning(text: &str, line_start: usize, start: usize) -> usize {
    // Text before a place that is so far to the right is not worth showing.
    const FAR: usize = 10_000;
    if start - line_start > FAR {
        start
    } else if text[..line_start].contains("/*") {
        // A comment may extend into this line.
        0
    } else {
        line_start
    }
}

/// The nearest character boundary at or below `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str, part: &str, reveal: bool) -> Excerpt {
        let start = text.find(part).expect("the part is in the text");
        excerpt(text, Span { start, end: start + part.len() }, reveal)
    }

    #[test]
    fn only_the_value_in_question_is_shown() {
        let text = "{\n  \"token\": \"s3cret\", \"ttl\": \"3\", \"pin\": 1234 // s3cret\n}";
        let shown = at(text, "\"3\"", true);
        assert_eq!((shown.line, shown.column), (2, 29));
        assert_eq!(shown.shown, "  \"token\": ***, \"ttl\": \"3\", \"pin\": *** /* … */");
        assert_eq!(&shown.shown[shown.before..shown.before + shown.width], "\"3\"");
        assert_eq!(at("{\"ttl\": {\"x\": \"s3cret\"}}", "{\"x\": \"s3cret\"}", true).shown, "{\"ttl\": {\"x\": ***}}");
        assert!(!at(text, "\"s3cret\"", false).shown.contains("s3cret"));
    }

    #[test]
    fn g2_a_secret_in_the_place_of_a_key_is_not_shown() {
        let shown = at("{\"Bearer s3cret+/=\": 1, \"X-Key\": 7}", "7", false);
        assert_eq!(shown.shown, "{***: ***, \"X-Key\": ***}");
    }

    #[test]
    fn broken_json_shows_no_value_either() {
        let shown = at("{\"token\": s3cret-key\n}", "s3cret-key", false);
        assert_eq!(shown.shown, "{\"token\": ***");
        let shown = at("{\"token\": \"s3cret", "\"s3cret", false);
        assert_eq!(shown.shown, "{\"token\": ***");
    }

    proptest! {
        #[test]
        fn any_place_of_any_text_can_be_shown(text in "[\\PC\\s\u{a0}\u{3000}\u{feff}\"#/*]{0,40}", start in 0..60usize, width in 0..9usize) {
            for reveal in [true, false] {
                let shown = excerpt(&text, Span { start, end: start + width }, reveal);
                prop_assert!(shown.line >= 1 && shown.column >= 1 && shown.width >= 1);
            }
        }
    }

    #[test]
    fn a_blank_that_json_does_not_know_can_be_shown() {
        assert_eq!(at("{\u{a0}\"dns\": 1}", "\u{a0}", false).column, 2);
    }

    /// Text before a place that is far to the right is skipped, and a line inside a comment of several lines is
    /// recognized.
    #[test]
    fn what_is_shown_does_not_depend_on_where_the_tokens_begin() {
        let text = format!("[{} 7, \"s3cret\"]", "\"s3cret\", ".repeat(5000));
        let shown = at(&text, "7", true);
        assert_eq!((shown.shown.as_str(), shown.before, shown.column), ("…7, ***]", 1, 50_003));
        assert_eq!(at("/* \n s3cret */ {\"a\": 7}", "7", true).shown, "/* … */ {\"a\": 7}");
        assert_eq!(at("{\"a\": \"/*\",\n\"b\": 7}", "7", true).shown, "\"b\": 7}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("[{}, 7, {}]", "\"a\", ".repeat(500), "\"b\", ".repeat(500));
        let shown = at(&text, "7", true);
        assert!(shown.shown.chars().count() < 120, "{}", shown.shown);
        assert_eq!(shown.shown.chars().nth(shown.before), Some('7'));
    }
}
