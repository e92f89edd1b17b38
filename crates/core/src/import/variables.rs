//! Reads files with `NAME=value` on each line, as for Docker or a shell.

use super::settings::{PeerError, PeerSettings};

/// The variables in a text, without the quotes around values.
pub(super) fn parse(text: &str) -> Result<PeerSettings, PeerError> {
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
        let value = value.trim();
        let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
        settings.set(name.trim(), inner('"').or_else(|| inner('\'')).unwrap_or(value), line);
    }
    Ok(settings)
}
