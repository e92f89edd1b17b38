//! Makes text from outside safe for a screen or a log: nothing in it controls a terminal, forges a line, or reverses or
//! hides the text beside it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is neither a control character nor one that reverses or hides the text beside it.
pub fn is_harmless(letter: char) -> bool {
    let hides = matches!(u32::from(letter),
        0xad | 0x61c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
        | 0xe0000..=0xe0fff);
    !letter.is_control() && !hides
}

/// A text of one line, in which all but harmless characters are replaced.
pub fn line(text: &str) -> Cow<'_, str> {
    with(text, is_harmless, |out, _| out.push('\u{fffd}'))
}

/// Like [`line()`], for a text of several lines.
pub fn lines(text: &str) -> Cow<'_, str> {
    with(text, |letter| is_layout(letter) || is_harmless(letter), |out, _| out.push('\u{fffd}'))
}

/// A text of one line, in which such characters are escaped: `\u{1b}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    with(text, is_harmless, |out, letter| out.extend(letter.escape_default()))
}

/// A page in which such characters of its text are escaped. In tags and in `textarea`, a browser sends back what is there.
pub fn page(markup: &str) -> Cow<'_, str> {
    let stays = |letter: char| is_layout(letter) || letter == '\r' || is_harmless(letter);
    if markup.chars().all(stays) {
        return Cow::Borrowed(markup);
    }
    // Text has no `<` and no `>` of its own.
    let part = |part: &str| match part.split_once('>') {
        Some((tag, text)) if !tag.starts_with("textarea") => {
            format!("{tag}>{}", with(text, stays, |out, letter| out.extend(letter.escape_default())))
        }
        _ => part.to_owned(),
    };
    Cow::Owned(markup.split('<').map(part).collect::<Vec<_>>().join("<"))
}

/// A JSON text with the same meaning, in which such characters are escaped: they can only be inside strings.
pub fn json(text: &str) -> Cow<'_, str> {
    with(
        text,
        |letter| is_layout(letter) || is_harmless(letter),
        |out, letter| {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

/// Whether a character lays out our own texts.
fn is_layout(letter: char) -> bool {
    matches!(letter, '\n' | '\t')
}

fn with(text: &str, stays: impl Fn(char) -> bool, put: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if stays(letter) { out.push(letter) } else { put(&mut out, letter) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_came_drives_a_terminal() {
        let text = "a\u{1b}[2J\r\n\t\u{202e}b\u{9b}c\u{7f}\u{200b}ä…";
        assert_eq!(line(text), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}ä…");
        assert_eq!(lines(text), "a\u{fffd}[2J\u{fffd}\n\t\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}ä…");
        assert_eq!(escaped(text), "a\\u{1b}[2J\\r\\n\\t\\u{202e}b\\u{9b}c\\u{7f}\\u{200b}ä…");
        assert_eq!(json("[\n\"\u{202e}b\u{9b}\u{e0001}ä\"\n]"), "[\n\"\\u202eb\\u009b\\udb40\\udc01ä\"\n]");
        let shown = "<p title=\"\u{202e}\">a\u{202e}&lt;\n</p><textarea>\u{200d}</textarea>\u{1b}";
        let expected = "<p title=\"\u{202e}\">a\\u{202e}&lt;\n</p><textarea>\u{200d}</textarea>\\u{1b}";
        assert_eq!(page(shown), expected);
        for plain in ["", "plain", "bücher"] {
            assert!(matches!(line(plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
