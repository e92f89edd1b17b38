//! Reads files with `NAME=value` on each line, as for Docker or a shell.

use super::settings::{NotePart, PeerError, PeerFile, PeerSettings};

/// The variables in a text, without the quotes around values.
pub(super) fn parse(text: &str, file: &mut PeerFile) -> Result<PeerSettings, PeerError> {
    let mut settings = PeerSettings::default();
    for (line, text) in text.lines().enumerate().map(|(place, line)| (place + 1, line.trim())) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let text = text.strip_prefix("export ").unwrap_or(text);
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
        };
        let Some((name, value)) = text.split_once('=').filter(|(name, _)| is_name(name.trim())) else {
            return Err(PeerError::new(line, "it is not `NAME=value`"));
        };
        let (name, value) = (name.trim(), value.trim());
        let plain = if is_quoted(value) { value } else { value.split(" #").next().unwrap_or_default().trim_end() };
        if plain != value {
            let text = "the comment behind it is left out; put quotes around the value if it is part of it";
            file.note(NotePart::Changed, line, name, text);
        }
        if plain.contains("${") && !plain.starts_with('\'') {
            let text =
                "taken as it is written: the import does not replace `${…}`; write the value itself if it should";
            file.note(NotePart::Changed, line, name, text);
        }
        let value = if is_quoted(plain) { &plain[1..plain.len() - 1] } else { plain };
        settings.set(name, value, line);
    }
    Ok(settings)
}

/// Whether a value is in quotes of one kind.
fn is_quoted(value: &str) -> bool {
    ['"', '\''].into_iter().any(|quote| value.len() > 1 && value.starts_with(quote) && value.ends_with(quote))
}
