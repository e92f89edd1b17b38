//! Which files a configuration names: they are read before it is made, and those with secrets are for their owner alone.

use super::fields::{Field, FieldUse, Kind, SubKind, part, used};
use super::files::path_of;
use super::raw::{FileLayers, Raw};
use crate::text::json::{Dialect, Node, Value, parse};

/// Every file with a secret that a configuration of this host names.
pub fn secret_in(written: &FileLayers) -> Vec<String> {
    written.layers().flat_map(|layer| named_by(layer, &[SubKind::SecretPath])).collect()
}

/// Every file that a configuration of this host names; one that was fetched may name none.
pub fn named_in(written: &FileLayers) -> Vec<String> {
    written.layers().flat_map(named).collect()
}

/// Every file that one layer names.
pub fn named(layer: &Raw) -> Vec<String> {
    named_by(layer, &[SubKind::Path, SubKind::SecretPath])
}

/// The files that one layer names in parts of these kinds.
fn named_by(layer: &Raw, kinds: &[SubKind]) -> Vec<String> {
    let mut paths = Vec::new();
    for (field, setting) in layer.settings().filter(|(field, _)| !field.parts.is_empty()) {
        match &setting.node.value {
            _ if setting.is_fetched() => {}
            // Options and variables hold texts alone.
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                if let Ok(node) = parse(text, Dialect::IN_TEXT) {
                    collect(field, &node, kinds, &mut paths);
                }
            }
            _ => collect(field, &setting.node, kinds, &mut paths),
        }
    }
    paths
}

fn collect(field: &Field, node: &Node, kinds: &[SubKind], paths: &mut Vec<String>) {
    match (field.kind, &node.value) {
        (Kind::Values | Kind::Secrets | Kind::Domains, _) => collect_files(node, paths),
        (Kind::Callbacks, Value::Array(items)) => items.iter().for_each(|item| collect(field, item, kinds, paths)),
        (Kind::Callbacks, Value::Object(members)) => {
            for member in members {
                if let Some(field) = used(FieldUse::Notify, &member.key) {
                    collect(field, &member.node, kinds, paths);
                }
            }
        }
        (_, Value::Object(members)) => {
            let counts = |name: &str| part(field.parts, name).is_some_and(|part| kinds.contains(&part.kind));
            let named = members.iter().filter(|member| counts(&member.key));
            paths.extend(named.filter_map(|member| member.node.value.text()).map(str::to_owned));
        }
        _ => {}
    }
}

/// Every `{"file": "path"}`.
fn collect_files(node: &Node, paths: &mut Vec<String>) {
    match (&node.value, path_of(&node.value)) {
        (_, Some(path)) => paths.push(path.to_owned()),
        (Value::Array(items), _) => items.iter().for_each(|item| collect_files(item, paths)),
        (Value::Object(members), _) => members.iter().for_each(|member| collect_files(&member.node, paths)),
        _ => {}
    }
}
