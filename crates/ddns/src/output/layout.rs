//! Text on a screen: as wide as the terminal, or 80 columns if there is none. Words are never broken.

use std::io::IsTerminal;
use std::iter;
use std::os::fd::AsFd;

use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::text::number::grouped;
use ddns_core::text::screen;
use rustix::termios::tcgetwinsize;

/// The width if there is no terminal, or its width is unknown.
pub(crate) const WIDTH: usize = 80;

/// The minimum width: less would leave no room beside names. A narrower terminal breaks lines by itself.
const NARROWEST: usize = 40;

/// For `--wide`: no line is broken.
pub(crate) const WIDE: usize = usize::MAX / 2;

/// How wide text to this stream may be.
pub(crate) fn width_of(stream: impl AsFd + IsTerminal) -> usize {
    let columns = if stream.is_terminal() { tcgetwinsize(stream).map_or(0, |size| size.ws_col.into()) } else { 0 };
    if columns == 0 { WIDTH } else { columns.max(NARROWEST) }
}

/// Wraps a text between words; every line begins with `indent` spaces.
pub(crate) fn broken(text: &str, indent: usize, width: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines = String::new();
    let mut line = String::new();
    let mut columns = indent;
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if !line.is_empty() && columns + 1 + more > width {
            lines += &format!("{margin}{line}\n");
            line.clear();
            columns = indent;
        }
        if !line.is_empty() {
            line.push(' ');
            columns += 1;
        }
        line.push_str(word);
        columns += more;
    }
    lines + &format!("{margin}{line}\n")
}

/// `head` and, from `column` on, `text`, wrapped between words; below `head` if that is too long.
pub(crate) fn beside(head: &str, text: &str, column: usize, width: usize) -> String {
    let size = head.chars().count();
    let text = broken(text, column, width);
    if size < column { format!("{head}{}", text.get(size..).unwrap_or_default()) } else { format!("{head}\n{text}") }
}

/// A table: columns are as wide as their widest cell; the last one is text.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], width: usize) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| screen::line(cell).into_owned())).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    rows.iter().map(|cells| row(cells, &widths, width)).collect()
}

/// One row on one line; if that is too wide, the rest goes below.
fn row(cells: &[String], widths: &[usize], width: usize) -> String {
    let [first, middle @ .., last] = cells else { return String::new() };
    let [wide, wides @ ..] = widths else { return String::new() };
    let middle: Vec<String> = middle.iter().zip(wides).map(|(cell, wide)| format!("{cell:wide$}")).collect();
    let middle = middle.join("  ");
    let line = format!("{first:wide$}  {middle}  {last}");
    let line = line.trim_end();
    if line.chars().count() <= width {
        return format!("{line}\n");
    }
    let below = format!("    {middle}");
    let rest = if below.chars().count() + 2 + last.chars().count() <= width {
        format!("{below}  {last}\n")
    } else {
        format!("{}\n{}", below.trim_end(), broken(last, 4, width))
    };
    format!("{first}\n{rest}")
}

/// Fits a page that is already laid out on a narrower screen. Paragraphs are wrapped anew. Other lines continue below,
/// in the column in which their last part begins.
pub(crate) fn fitted(page: &str, width: usize) -> String {
    let is_wide = |line: &&str| line.chars().count() > width;
    let is_prose = |line: &&str| !line.is_empty() && !line.starts_with(' ');
    let mut text = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if is_prose(&line) {
            let paragraph: Vec<&str> = iter::once(line).chain(iter::from_fn(|| lines.next_if(is_prose))).collect();
            let is_wide = paragraph.iter().any(is_wide);
            let paragraph = paragraph.join("\n");
            text += &if is_wide { broken(&paragraph, 0, width) } else { paragraph + "\n" };
        } else if is_wide(&line) {
            let column = line.rfind("  ").map_or(0, |at| at + 2);
            let (head, rest) = line.split_at(column);
            let head = head.trim_end();
            text += &if head.is_empty() { broken(rest, column, width) } else { beside(head, rest, column, width) };
        } else {
            text += &format!("{line}\n");
        }
    }
    text
}

/// Wraps a text with few spaces (a URL, JSON, a long name): after a comma or a space, and before `&` or `?`. A longer
/// word has a line of its own. Lines after the first one are indented by two columns.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = screen::line(text).chars().collect();
    let mut rest = letters.as_slice();
    let mut lines: Vec<String> = Vec::new();
    loop {
        let margin = if lines.is_empty() { "" } else { "  " };
        let at = end_of_line(rest, width.saturating_sub(margin.len()).max(1));
        let (line, behind) = rest.split_at(at);
        let line: String = line.iter().collect();
        if behind.is_empty() {
            lines.push(format!("{margin}{line}"));
            return lines;
        }
        lines.push(format!("{margin}{}", line.trim_end()));
        rest = behind;
    }
}

/// `head` and, from `column` on, a text with few spaces; only the first `most` lines.
pub(crate) fn folded_beside(head: &str, text: &str, column: usize, width: usize, most: usize) -> String {
    let lines = first_lines(folded(text, width - column), most).into_iter().enumerate().map(|(at, line)| {
        let head = if at == 0 { head } else { "" };
        format!("{head:<column$}{line}").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// The first lines, and a note that says how many more there are.
pub(crate) fn first_lines(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    if more > 1 {
        lines.truncate(most);
        lines.push(format!("… and {} more lines (--wide shows all)", grouped(more)));
    }
    lines
}

/// How many characters go on the first line, which has room for `most`.
fn end_of_line(rest: &[char], most: usize) -> usize {
    if rest.len() <= most {
        return rest.len();
    }
    let is_blank = |at: &usize| rest[at - 1] == ' ';
    let is_break = |at: &usize| is_blank(at) || rest[at - 1] == ',' || matches!(rest[*at], '&' | '?');
    let near = (most.saturating_sub(30).max(1)..=most).rev().find(is_break);
    near.or_else(|| (1..=most).rev().find(is_blank))
        .or_else(|| (1..=most).rev().find(is_break))
        .or_else(|| (most..rest.len()).find(is_break))
        .unwrap_or(rest.len())
}

/// What is wrong, like [`Diagnostic::shown`], but wrapped; a long line of a file is cut around the place.
pub(crate) fn complaint(diagnostic: &Diagnostic, width: usize) -> String {
    let mut text = String::new();
    let mut lines = diagnostic.shown().lines().map(str::to_owned).collect::<Vec<_>>().into_iter().peekable();
    while let Some(line) = lines.next() {
        let is_caret = |line: &String| line.contains(" | ") && line.trim_end().ends_with('^');
        if let Some(caret) = lines.next_if(is_caret) {
            text += &around_caret(&line, &caret, width);
            continue;
        }
        let margin = line.len() - line.trim_start().len();
        let blank = " ".repeat(margin);
        text.extend(
            folded(line.trim_start(), width.saturating_sub(margin)).iter().map(|line| format!("{blank}{line}\n")),
        );
    }
    text
}

/// A line of a file and the line below it with the caret, both cut in the same way.
fn around_caret(line: &str, caret: &str, width: usize) -> String {
    let head = caret.find(" | ").map_or(0, |at| at + 3);
    let skip = caret.chars().count().saturating_sub(width);
    let cut = |text: &str, mark: &str| {
        let (front, rest) = (text.chars().take(head), text.chars().skip(head + skip));
        // The mark replaces one character.
        let rest: String = if skip == 0 { rest.collect() } else { mark.chars().chain(rest.skip(1)).collect() };
        let whole: String = front.chain(rest.chars()).take(width).collect();
        format!("{}\n", whole.trim_end())
    };
    cut(line, "…") + &cut(caret, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_folded_between_words_and_nothing_is_lost() {
        let long = "x".repeat(200);
        for text in ["", "short", "https://h/a?name=home.example&ip=203.0.113.7&key=***", long.as_str()] {
            let lines = folded(text, 20);
            assert!(lines.iter().all(|line| line.chars().count() <= 20) || text == long, "{lines:?}");
            let whole: String = lines.iter().map(|line| line.trim_start()).collect();
            assert_eq!(whole, text);
        }
        assert_eq!(folded("https://h/a?name=home.example.com&ip=203.0.113.7", 40)[1], "  &ip=203.0.113.7");
        let word = "b".repeat(36);
        assert_eq!(folded(&format!("aaaa {word}"), 40), ["aaaa".to_owned(), format!("  {word}")]);
        assert_eq!(
            folded(&format!("aaaa {long} bbbb"), 40),
            ["aaaa".to_owned(), format!("  {long}"), "  bbbb".to_owned()]
        );
        assert_eq!(folded(&long, 40), [long.as_str()], "a word stays whole, however long it is");
        assert_eq!(folded("a b", WIDE), ["a b"]);
        assert_eq!(folded("a\u{1b}[2J\n", 40), ["a\u{fffd}[2J\u{fffd}"]);
    }

    /// If the cost were quadratic, this would take minutes.
    #[test]
    fn a_very_long_text_is_folded_in_time() {
        assert!(folded(&"host.example.com, ".repeat(300_000), 74).len() >= 75_000);
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
            let shown = complaint(&wrong, WIDTH);
            assert_eq!(complaint(&wrong, WIDE), format!("{}\n", wrong.shown()));
            assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
            let lines: Vec<&str> = shown.lines().collect();
            let at = lines.iter().position(|line| line.ends_with("^^")).expect("a caret");
            let column = lines[at].chars().position(|letter| letter == '^').expect("a caret");
            assert_eq!(lines[at - 1].chars().skip(column).take(2).collect::<String>(), "[]", "{shown}");
        }
    }

    #[test]
    fn no_line_is_too_wide() {
        let text = "word ".repeat(60);
        for (head, column) in [("--option", 28), ("--a-rather-long-option VALUE…", 28), ("", 5)] {
            for width in [40, WIDTH, 200] {
                let lines = beside(head, &text, column, width);
                assert!(lines.lines().all(|line| line.chars().count() <= width), "{lines}");
            }
        }
        assert_eq!(beside("ab", "c d", 4, WIDTH), "ab  c d\n");
        assert_eq!(beside("abcd", "c d", 4, WIDTH), "abcd\n    c d\n");
    }

    #[test]
    fn a_page_fits_a_narrow_screen_and_stays_as_it_is_on_a_wide_one() {
        let page = "Some words that are more than fit on one line.\n\n  name   what it is, in a few words more\n";
        let narrow =
            "Some words that are more\nthan fit on one line.\n\n  name   what it is, in a\n         few words more\n";
        assert_eq!(fitted(page, 25), narrow);
        assert_eq!(fitted(page, WIDTH), page);
    }
}
