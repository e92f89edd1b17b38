//! Which of several writings counts: command line over file over environment (B11); inside a file, the entry of
//! `providers` over what stands outside.

use std::sync::Arc;

use super::fields::Key;
use super::files::FileContents;
use super::raw::{Raw, Setting};
use crate::callback::RsaSign;
use crate::net::proxy::System;

/// Layers from the one that wins to the one that gives way.
pub struct Layers<'a>(pub Vec<&'a Raw>);

impl<'a> Layers<'a> {
    /// The setting that counts; a `null` sets nothing, and hides what stands below it.
    pub fn get(&self, key: Key) -> Option<&'a Setting> {
        self.0.iter().find_map(|layer| layer.written(key)).filter(|setting| !setting.is_null())
    }
}

/// What a file is layered with.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// The options of the command line.
    pub options: Raw,
    /// The variables of the environment.
    pub environment: Raw,
    /// The proxies that the environment names.
    pub proxies: Arc<System>,
    /// What the files hold that any of them names.
    pub files: FileContents,
    /// What signs with an RSA key; `None`: nobody looks at such keys.
    pub rsa: Option<RsaSign>,
}

impl Surroundings {
    /// What counts for an entry of a file, from what wins to what gives way (B11).
    pub(super) fn layers<'a>(&'a self, entry: &'a Raw, file: &'a Raw) -> Layers<'a> {
        Layers(vec![&self.options, entry, file, &self.environment])
    }
}
