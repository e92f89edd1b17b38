//! Which of several writings counts: command line over file over environment (B11); inside a file, the entry of
//! `providers` over what stands outside.

use super::fields::Key;
use super::raw::{Raw, Setting};

/// Layers from the one that wins to the one that gives way.
pub struct Layers<'a>(pub Vec<&'a Raw>);

impl<'a> Layers<'a> {
    /// The setting that counts; a `null` sets nothing, and hides what stands below it.
    pub fn get(&self, key: Key) -> Option<&'a Setting> {
        self.0.iter().find_map(|layer| layer.written(key)).filter(|setting| !setting.is_null())
    }
}
