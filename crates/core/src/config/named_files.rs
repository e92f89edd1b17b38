//! Which files a configuration names: they are read before it is made, and those with secrets are for their owner alone.

use super::fields::Key;
use super::files::path_of;
use super::raw::{FileLayers, Raw};
use super::{group, web};
use crate::text::json::{Dialect, Node, Value, parse};

/// The fields in which a file may be named.
const FIELDS: [Key; 5] = [Key::Extra, Key::Ipv4, Key::Ipv6, Key::Sign, Key::Notify];

/// Every file with a secret that a configuration of this host names.
pub fn secret_in(written: &FileLayers) -> Vec<String> {
    layers(written).flat_map(|layer| named_by(layer, &web::SECRET_PATHS, &group::SECRET_PATHS)).collect()
}

/// Every file that a configuration of this host names; one that was fetched may name none.
pub fn named_in(written: &FileLayers) -> Vec<String> {
    layers(written).flat_map(named).collect()
}

fn layers(written: &FileLayers) -> impl Iterator<Item = &Raw> {
    std::iter::once(&written.file).chain(written.entries.iter().flatten().map(|(raw, _)| raw))
}

/// Every file that one layer names.
pub fn named(layer: &Raw) -> Vec<String> {
    named_by(layer, &web::PATHS, &group::PATHS)
}

/// The files that one layer names: of `web` and `group` those of these members.
fn named_by(layer: &Raw, of_web: &[&str], of_group: &[&str]) -> Vec<String> {
    let mut paths = Vec::new();
    let made = |key| layer.get(key).map(|setting| (key, setting));
    for (key, setting) in FIELDS.into_iter().filter_map(made).filter(|(_, setting)| !setting.is_fetched()) {
        let collect = if key == Key::Notify { collect_in_callbacks } else { collect };
        match &setting.node.value {
            // Options and variables hold texts alone.
            Value::String(text) if text.contains("\"file\"") => {
                if let Ok(node) = parse(text, Dialect::IN_TEXT) {
                    collect(&node, &mut paths);
                }
            }
            _ => collect(&setting.node, &mut paths),
        }
    }
    let of = |key| layer.get(key).filter(|setting| !setting.is_fetched());
    paths.extend(of(Key::Web).into_iter().flat_map(|setting| web::paths(setting, of_web)));
    paths.extend(of(Key::Group).into_iter().flat_map(|setting| group::paths(setting, of_group)));
    paths
}

/// In a notification, the fields that may name a file.
fn collect_in_callbacks(node: &Node, paths: &mut Vec<String>) {
    match &node.value {
        Value::Array(items) => items.iter().for_each(|item| collect_in_callbacks(item, paths)),
        Value::Object(members) => {
            let named = members.iter().filter(|member| matches!(member.key.as_str(), "extra" | "sign"));
            named.for_each(|member| collect(&member.node, paths));
        }
        _ => {}
    }
}

fn collect(node: &Node, paths: &mut Vec<String>) {
    match (&node.value, path_of(&node.value)) {
        (_, Some(path)) => paths.push(path.to_owned()),
        (Value::Array(items), _) => items.iter().for_each(|item| collect(item, paths)),
        (Value::Object(members), _) => members.iter().for_each(|member| collect(&member.node, paths)),
        _ => {}
    }
}
