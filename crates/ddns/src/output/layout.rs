//! Text on a screen of 80 columns.

use ddns_core::text::diagnostic::Diagnostic;

/// No line is wider, unless a word is.
pub(crate) const WIDTH: usize = 80;

/// Breaks a text between words; every line begins with `indent` blanks.
pub(crate) fn broken(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &format!("{margin}{line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &format!("{margin}{line}\n")
}

/// `head` and, from a column on, `text`: on one line where both fit, else broken between words; below `head` where that
/// is too long.
pub(crate) fn beside(head: &str, text: &str, column: usize) -> String {
    let width = head.chars().count();
    let text = broken(text, column);
    if width < column { format!("{head}{}", text.get(width..).unwrap_or_default()) } else { format!("{head}\n{text}") }
}

/// A text with few blanks (an address, JSON, a long name) in lines of so many columns at most: broken behind a comma or a
/// blank and before `&` or `?`; inside a word only if it is longer than a line. Lines after the first one are indented by
/// two columns.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest: Vec<char> = printable(text).chars().collect();
    loop {
        let margin = if lines.is_empty() { "" } else { "  " };
        let most = width - margin.len();
        if rest.len() <= most {
            lines.push(format!("{margin}{}", rest.iter().collect::<String>()));
            return lines;
        }
        let is_break = |at: &usize| matches!(rest[at - 1], ',' | ' ') || matches!(rest[*at], '&' | '?');
        let is_blank = |at: &usize| rest[at - 1] == ' ';
        let near = (most.saturating_sub(30).max(1)..=most).rev().find(is_break);
        // No word is broken that a line could hold.
        let at = near.or_else(|| (1..=most).rev().find(is_blank)).unwrap_or(most);
        let line: String = rest.drain(..at).collect();
        lines.push(format!("{margin}{}", line.trim_end()));
    }
}

/// What is wrong, as [`Diagnostic::shown`] has it, in lines of 80 columns at most: sentences are broken, and of a long line
/// the part around its place is shown.
pub(crate) fn complaint(diagnostic: &Diagnostic, wide: bool) -> String {
    if wide {
        return format!("{}\n", diagnostic.shown());
    }
    let mut text = String::new();
    let mut lines = diagnostic.shown().lines().map(str::to_owned).collect::<Vec<_>>().into_iter().peekable();
    while let Some(line) = lines.next() {
        let is_caret = |line: &String| line.contains(" | ") && line.trim_end().ends_with('^');
        if let Some(caret) = lines.next_if(is_caret) {
            text += &around_caret(&line, &caret);
            continue;
        }
        let margin = line.len() - line.trim_start().len();
        let blank = " ".repeat(margin);
        text.extend(folded(line.trim_start(), WIDTH - margin).iter().map(|line| format!("{blank}{line}\n")));
    }
    text
}

/// A line of a file and the line below it that marks a place, both cut in the same way.
fn around_caret(line: &str, caret: &str) -> String {
    let head = caret.find(" | ").map_or(0, |at| at + 3);
    let skip = caret.chars().count().saturating_sub(WIDTH);
    let cut = |text: &str, mark: &str| {
        let (front, rest) = (text.chars().take(head), text.chars().skip(head + skip));
        // The mark takes the place of one letter.
        let rest: String = if skip == 0 { rest.collect() } else { mark.chars().chain(rest.skip(1)).collect() };
        let whole: String = front.chain(rest.chars()).take(WIDTH).collect();
        format!("{}\n", whole.trim_end())
    };
    cut(line, "…") + &cut(caret, " ")
}

/// A text that can neither end a line nor drive a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// A count as people read it: `9,980`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_folded_and_nothing_is_lost() {
        let long = "x".repeat(200);
        for text in ["", "short", "https://h/a?name=home.example.com&ip=203.0.113.7&key=***", long.as_str()] {
            let lines = folded(text, 20);
            assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
            let whole: String = lines.iter().map(|line| line.trim_start()).collect();
            assert_eq!(whole, text);
        }
        assert_eq!(folded("https://h/a?name=home.example.com&ip=203.0.113.7", 40)[1], "  &ip=203.0.113.7");
        let word = "b".repeat(36);
        assert_eq!(folded(&format!("aaaa {word}"), 40), ["aaaa".to_owned(), format!("  {word}")]);
        assert_eq!(folded("a\u{1b}[2J\n", 40), ["a\u{fffd}[2J\u{fffd}"]);
    }

    #[test]
    fn a_complaint_fits_and_its_caret_stays_under_the_place() {
        use ddns_core::text::diagnostic::Place;
        use ddns_core::text::json::Span;
        for before in [0, 10, 60, 200] {
            let text = format!("{{{} \"ttl\": [] , {}}}", "\"aaaa\": 1, ".repeat(before), "\"bbb\": 2, ".repeat(30));
            let start = text.find("[]").expect("the place");
            let place = Place::in_file("config.json", &text, Span { start, end: start + 2 }, true);
            let wrong = Diagnostic::error(place, "a sentence of five words ".repeat(9)).hint("write it ".repeat(20));
            let shown = complaint(&wrong, false);
            assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
            let lines: Vec<&str> = shown.lines().collect();
            let at = lines.iter().position(|line| line.ends_with("^^")).expect("a caret");
            let column = lines[at].chars().position(|letter| letter == '^').expect("a caret");
            assert_eq!(lines[at - 1].chars().skip(column).take(2).collect::<String>(), "[]", "{shown}");
        }
    }

    #[test]
    fn counts_are_grouped() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn no_line_is_too_wide() {
        let text = "word ".repeat(60);
        for (head, column) in [("--option", 28), ("--a-rather-long-option VALUE…", 28), ("", 5)] {
            for line in beside(head, &text, column).lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
        assert_eq!(beside("ab", "c d", 4), "ab  c d\n");
        assert_eq!(beside("abcd", "c d", 4), "abcd\n    c d\n");
    }
}
