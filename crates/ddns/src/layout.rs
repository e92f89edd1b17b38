//! Text on a screen of 80 columns.

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

#[cfg(test)]
mod tests {
    use super::*;

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
