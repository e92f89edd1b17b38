//! The line of a file that an error points at, fit to be printed: keys and punctuation as they are, every value but the
//! one in question masked, because what stands beside a typing mistake may be a key.

use super::Span;

/// A line to show under an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line's number, from 1.
    pub line: usize,
    /// The column of the place, in characters, from 1.
    pub column: usize,
    /// The line as it may be shown, cut to a readable width.
    pub shown: String,
    /// How many characters of `shown` stand before the place.
    pub before: usize,
    /// How many characters of `shown` the place takes; at least one.
    pub width: usize,
}

/// The most characters shown on either side of the place.
const MARGIN: usize = 50;

/// The line of `text` at `span`. The value at the place itself is shown only where `reveal` is set: the caller knows
/// whether its field may hold a secret.
pub fn excerpt(text: &str, span: Span, reveal: bool) -> Excerpt {
    let start = floor(text, span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let end = floor(text, span.end).clamp(start, line_end);

    // Of a list or an object only the brackets and keys are shown: who knows what it holds.
    let reveal = reveal && !text[start..end].starts_with(['{', '[']);
    let mut before = String::new();
    let mut inside = String::new();
    let mut after = String::new();
    for piece in pieces(text, line_end) {
        let piece_end = piece.start + piece.text.len();
        if piece_end <= line_start {
            continue;
        }
        let (into, masked) = if piece_end <= start {
            (&mut before, true)
        } else if piece.start >= end && !(piece.start == start && start == end) {
            (&mut after, true)
        } else {
            (&mut inside, !reveal)
        };
        match piece.kind {
            Kind::Value if masked => into.push_str("***"),
            Kind::Comment => into.push_str("/* … */"),
            _ => into.push_str(piece.text.trim_matches(['\r', '\n', '\u{feff}'])),
        }
    }
    let column = text[line_start..start].trim_start_matches('\u{feff}').chars().count() + 1;
    let cut = before.chars().count().saturating_sub(MARGIN);
    if cut > 0 {
        before = format!("…{}", before.chars().skip(cut).collect::<String>());
    }
    if inside.chars().count() > MARGIN {
        inside = inside.chars().take(MARGIN).chain(['…']).collect();
    }
    if after.chars().count() > MARGIN {
        after = after.chars().take(MARGIN).chain(['…']).collect();
    }
    let before = before.replace('\t', " ");
    Excerpt {
        line: text[..start].matches('\n').count() + 1,
        column,
        before: before.chars().count(),
        width: inside.chars().count().max(1),
        shown: format!("{before}{inside}{after}").trim_end().to_owned(),
    }
}

/// The nearest character boundary at or below `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Key,
    Value,
    Comment,
}

struct Piece<'a> {
    start: usize,
    text: &'a str,
    kind: Kind,
}

/// Cuts a text, broken JSON or not, into what may be shown and what may not.
fn pieces(text: &str, end: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < end {
        let rest = &text[at..end];
        let (length, kind) = match rest.as_bytes()[0] {
            b'"' => {
                let length = string_length(rest);
                let is_key = text[at + length..].trim_start().starts_with(':');
                (length, if is_key { Kind::Key } else { Kind::Value })
            }
            b'#' => (rest.find('\n').unwrap_or(rest.len()), Kind::Comment),
            b'/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), Kind::Comment),
            b'/' if rest.starts_with("/*") => (rest.find("*/").map_or(rest.len(), |length| length + 2), Kind::Comment),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => (1, Kind::Plain),
            byte if byte.is_ascii_whitespace() => (1, Kind::Plain),
            _ => {
                let is_end = |c: char| c.is_whitespace() || "{}[],:\"#".contains(c);
                // At least one letter, however wide: a blank that JSON does not know ends up here too.
                let first = rest.chars().next().map_or(1, char::len_utf8);
                (rest.find(is_end).unwrap_or(rest.len()).max(first), Kind::Value)
            }
        };
        pieces.push(Piece { start: at, text: &rest[..length], kind });
        at += length;
    }
    pieces
}

/// How long the string at the start of `rest` is: to its closing quote, or to the end of the line.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            b'"' if !escaped => return at + 1,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    rest.len()
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

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("[{}, 7, {}]", "\"a\", ".repeat(500), "\"b\", ".repeat(500));
        let shown = at(&text, "7", true);
        assert!(shown.shown.chars().count() < 120, "{}", shown.shown);
        assert_eq!(shown.shown.chars().nth(shown.before), Some('7'));
    }
}
