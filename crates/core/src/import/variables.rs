//! Reads files with `NAME=value` on each line, as for Docker or a shell.

use super::cursor::TextCursor;
use super::settings::{NotePart, PeerError, PeerFile, PeerSettings};

/// The variables in a text, without the quotes around values. A quote may run over lines.
pub(super) fn parse(text: &str, file: &mut PeerFile) -> Result<PeerSettings, PeerError> {
    let (mut settings, mut at) = (PeerSettings::default(), TextCursor::new(text));
    loop {
        at.take_while(char::is_whitespace);
        let line = at.line;
        let Some(first) = at.peek() else { return Ok(settings) };
        let name = at.take_while(|letter| letter != '\n' && (letter != '=' || first == '#')).trim_end();
        if first == '#' {
            continue;
        }
        let name = name.strip_prefix("export ").unwrap_or(name).trim_start();
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
        if at.take() != Some('=') || name.is_empty() || !is_name {
            return Err(PeerError::new(line, "it is not `NAME=value`"));
        }
        at.take_while(|letter| matches!(letter, ' ' | '\t'));
        let is_literal = at.peek() == Some('\'');
        let (value, comment) = value(&mut at);
        if !comment.is_empty() {
            let text = "the comment behind it is left out; put quotes around the value if it is part of it";
            file.note(NotePart::Changed, line, name, text);
        }
        if value.contains("${") && !is_literal {
            let text =
                "taken as it is written: the import does not replace `${…}`; write the value itself if it should";
            file.note(NotePart::Changed, line, name, text);
        }
        settings.set(name, value.replace('\0', "$"), line);
    }
}

/// A value, in which a NUL stands for `\$`, and the comment behind it.
fn value<'a>(at: &mut TextCursor<'a>) -> (String, &'a str) {
    let mut behind = TextCursor { rest: at.rest, line: at.line };
    let quoted = match behind.take() {
        Some('"') => behind.quoted('"', "\"\\$`").ok(),
        Some('\'') => behind.quoted('\'', "").ok(),
        _ => None,
    };
    let comment = behind.take_while(|letter| letter != '\n').trim();
    if let Some(value) = quoted.filter(|_| comment.is_empty() || comment.starts_with('#')) {
        *at = behind;
        return (value, comment);
    }
    let whole = at.take_while(|letter| letter != '\n').trim();
    let plain = whole.split(" #").next().unwrap_or_default().trim_end();
    (unquoted(plain).to_owned(), &whole[plain.len()..])
}

/// A text without the pair of quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    ['"', '\''].into_iter().find_map(inner).unwrap_or(text)
}
