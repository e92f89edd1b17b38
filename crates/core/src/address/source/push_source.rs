//! `push:NAME`: an address that another host tells this one (F10).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::is_of_word;

/// Who tells it, and what counts of it. A source that was only parsed knows its name at most: the rest comes from `web.push` and from where
/// the program remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PushSource {
    /// Its name in `web.push`; `None` if there is only one.
    pub name: Option<String>,
    /// What is older does not count; `None` if everything does.
    pub max_age: Option<Duration>,
    /// Where it is remembered.
    pub file: Option<PathBuf>,
    /// Whether the network of other hosts is wanted (H9), and not the address of the one that pushes.
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
