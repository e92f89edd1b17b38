//! Which of several settings counts: command line over file over environment (B11); in a file, the entry of `providers`
//! over the fields outside.

use std::sync::Arc;

use super::fields::Key;
use super::files::{FileContents, named};
use super::raw::{Origin, Raw, Setting};
use crate::callback::RsaSign;
use crate::net::proxy::System;
use crate::text::json::Node;

/// The layers, highest precedence first.
pub struct Layers<'a>(pub Vec<&'a Raw>);

impl<'a> Layers<'a> {
    /// The setting that counts. A `null` sets nothing, but hides the settings of lower layers.
    pub fn get(&self, key: Key) -> Option<&'a Setting> {
        self.0.iter().find_map(|layer| layer.written(key)).filter(|setting| !setting.is_null())
    }

    /// The layers to whose `extra` the highest one adds, as `--extra.NAME` does; `None`: it replaces theirs.
    pub(super) fn below_extra(&self) -> Option<Self> {
        let (highest, below) = self.0.split_first()?;
        let adds = matches!(&highest.get(Key::Extra)?.origin, Origin::Option(name) if name.contains('.'));
        adds.then(|| Self(below.to_vec()))
    }
}

/// Everything besides the file that makes a configuration.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// The options of the command line.
    pub options: Raw,
    /// The variables of the environment.
    pub environment: Raw,
    /// The proxies that the environment names.
    pub proxies: Arc<System>,
    /// The contents of the files that settings name.
    pub files: FileContents,
    /// Signs with an RSA key; `None`: RSA keys are not checked.
    pub rsa: Option<RsaSign>,
}

/// Options, environment and proxies, in a form that another thread can take.
pub struct Parcelled {
    settings: Vec<(bool, Key, Node, String)>,
    proxies: Arc<System>,
}

impl Parcelled {
    /// The surroundings again, without `files` and `rsa`.
    pub fn unpacked(self) -> Surroundings {
        let mut around = Surroundings { proxies: self.proxies, ..Surroundings::default() };
        for (is_option, key, node, name) in self.settings {
            let layer = if is_option { &mut around.options } else { &mut around.environment };
            layer.set(key, node, if is_option { Origin::Option(name) } else { Origin::Environment(name) });
        }
        around
    }
}

impl Surroundings {
    /// Packs everything except `files` and `rsa` for another thread.
    pub fn parcelled(&self) -> Parcelled {
        let layers = [(&self.options, true), (&self.environment, false)];
        let settings = layers.into_iter().flat_map(|(layer, is_option)| {
            layer.settings().filter_map(move |(field, setting)| match &setting.origin {
                Origin::Option(name) | Origin::Environment(name) => {
                    Some((is_option, field.key, setting.node.clone(), name.clone()))
                }
                Origin::File(_) => None,
            })
        });
        Parcelled { settings: settings.collect(), proxies: Arc::clone(&self.proxies) }
    }

    /// The files that options and environment name.
    pub fn named_files(&self) -> Vec<String> {
        [&self.options, &self.environment].into_iter().flat_map(named).collect()
    }

    /// The layers of an entry, highest precedence first (B11).
    pub(crate) fn layers<'a>(&'a self, entry: &'a Raw, file: &'a Raw) -> Layers<'a> {
        Layers(vec![&self.options, entry, file, &self.environment])
    }
}
