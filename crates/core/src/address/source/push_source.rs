//! `push:NAME`: an address that another host pushes to this one (F10).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::is_of_word;

/// Which host pushes the address, and when the address counts. Parsing sets only `name`: the other fields come from `web.push`
/// and from the place of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PushSource {
    /// The name in `web.push`; `None` if there is only one.
    pub name: Option<String>,
    /// Older addresses do not count; `None`: an address counts at any age.
    pub max_age: Option<Duration>,
    /// The file that remembers what was pushed.
    pub file: Option<PathBuf>,
    /// Whether the pushed network prefix is wanted (H9) instead of the router's own address.
    pub is_prefix: bool,
}

impl PushSource {
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        if !is_name(name) {
            return Err(
                "`push:` needs a name of `web.push` after the colon: letters, digits, `-`, `_` and `.`".to_owned()
            );
        }
        Ok(Self { name: Some(name.to_owned()), ..Self::default() })
    }
}

/// Whether a text can be a name in `web.push`.
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_of_word)
}

impl fmt::Display for PushSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            None => f.write_str("push"),
            Some(name) => write!(f, "push:{name}"),
        }
    }
}
