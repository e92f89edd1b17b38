//! Splits a text into tokens, whether it is valid JSON or not: mistakes must be found, and masked too.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// One space character, including those that JSON does not allow.
    Blank,
    /// `# …`, `// …`, `/* … */`; without `*/`, the rest of the text.
    Comment,
    /// A string with both quotes.
    String,
    /// A string without its closing quote: the rest of the line.
    OpenString,
    /// One of `{}[],:`.
    Mark,
    /// Anything else up to the next token: a number or a word, valid or not.
    Word,
}

/// The length and the kind of the first token. Comments are recognized only if `comments` is set.
pub(crate) fn first(text: &str, comments: bool) -> (usize, TokenKind) {
    let line = || text.find(['\n', '\r']).unwrap_or(text.len());
    let is_comment =
        |rest: &str| comments && (rest.starts_with(['#']) || rest.starts_with("//") || rest.starts_with("/*"));
    match text.chars().next() {
        None => (0, TokenKind::Blank),
        Some(letter) if letter.is_whitespace() => (letter.len_utf8(), TokenKind::Blank),
        Some('"') => string(text),
        Some(letter) if is_mark(letter) => (1, TokenKind::Mark),
        Some('/') if is_comment(text) && text.starts_with("/*") => {
            (text[2..].find("*/").map_or(text.len(), |length| length + 4), TokenKind::Comment)
        }
        Some(_) if is_comment(text) => (line(), TokenKind::Comment),
        Some(first) => {
            let is_end = |(at, letter): (usize, char)| {
                let ends = letter.is_whitespace() || letter == '"' || is_mark(letter) || is_comment(&text[at..]);
                ends.then_some(at)
            };
            // Most words consist only of these.
            let plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count().max(first.len_utf8());
            let mut rest = text[plain..].char_indices().map(|(at, letter)| (plain + at, letter));
            (rest.find_map(is_end).unwrap_or(text.len()), TokenKind::Word)
        }
    }
}

fn is_mark(letter: char) -> bool {
    matches!(letter, '{' | '}' | '[' | ']' | ',' | ':')
}

fn string(text: &str) -> (usize, TokenKind) {
    let bytes = text.as_bytes();
    let mut length = 1;
    loop {
        let after = &bytes[length..];
        length += after.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\r')).unwrap_or(after.len());
        match (bytes.get(length), bytes.get(length + 1)) {
            (Some(b'"'), _) => return (length + 1, TokenKind::String),
            (Some(b'\\'), Some(b'"' | b'\\')) => length += 2,
            (Some(b'\\'), _) => length += 1,
            _ => return (length, TokenKind::OpenString),
        }
    }
}
