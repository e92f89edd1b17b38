//! Values that stand in files of their own (H13): `{"file": "path"}` in `extra` and `sign`, and those of `web` and `group`. The program reads the files before a
//! configuration is made; which ones, and what their texts mean, is decided here.

use std::collections::HashMap;

use super::fields::Key;
use super::raw::{FileLayers, Raw};
use super::{group, web};
use crate::text::json::{Dialect, Member, Node, Value, parse};

/// The fields in which a file may be named.
const FIELDS: [Key; 5] = [Key::Extra, Key::Ipv4, Key::Ipv6, Key::Sign, Key::Notify];

/// What the files hold, by their paths as they were written: a text, or why there is none (a phrase that follows the path).
#[derive(Default)]
pub struct FileContents(HashMap<String, Result<String, String>>);

impl FileContents {
    /// Adds what a file holds.
    pub fn add(&mut self, path: String, text: Result<String, String>) {
        self.0.insert(path, text);
    }

    /// Whether a file was read.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a path may be seen: that of a file that was read is no secret in its place.
    pub(super) fn may_show(&self, path: &str) -> bool {
        matches!(self.0.get(path), Some(Ok(_))) || is_path(path)
    }

    /// A file in a message: its path, or words where that may be a secret.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("the file {}", if self.may_show(path) { path } else { "that it names" })
    }

    /// The text of a file, or why there is none.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().unwrap_or_else(|| Err("was not read".to_owned()))
    }

    /// The one line of a file, or why there is none.
    pub(super) fn line(&self, path: &str) -> Result<&str, String> {
        let text = match self.0.get(path) {
            Some(Ok(text)) => text.trim_end_matches(['\r', '\n']),
            Some(Err(why)) => return Err(why.clone()),
            None => return Err("was not read".to_owned()),
        };
        match text {
            _ if text.trim().is_empty() => Err("is empty".to_owned()),
            _ if text.contains(['\r', '\n']) => Err("must hold one line".to_owned()),
            line => Ok(line),
        }
    }
}

impl std::fmt::Debug for FileContents {
    /// The texts are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The path, where a value is `{"file": "path"}`.
pub(super) fn path_of(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) if members.len() == 1 && members[0].key == "file" => members[0].node.value.text(),
        _ => None,
    }
}

/// Whether a text looks like a path. What belongs into the file may have been put in the place of its path by mistake, and
/// must not be seen then.
pub(crate) fn is_path(text: &str) -> bool {
    text.contains(['/', '.'])
        && !text.contains(char::is_whitespace)
        && !text.contains(['=', '@'])
        && !text.contains("---")
}

/// Whether a member of `web` or `group` may be seen: what is none of `parts`, an address with a user in it, and what is not
/// the path that it should be, may be a password.
pub(super) fn is_shown(member: &Member, files: &FileContents, parts: &[&str], paths: &[&str]) -> bool {
    let (key, text) = (member.key.as_str(), member.node.value.text().unwrap_or_default());
    parts.contains(&key) && if paths.contains(&key) { files.may_show(text) } else { !text.contains('@') }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h13_a_file_holds_one_line() {
        let mut files = FileContents::default();
        let cases = [
            ("s3cret", Ok("s3cret")),
            (" a b \r\n", Ok(" a b ")),
            ("a\n\n\n", Ok("a")),
            ("a\nb", Err("must hold one line")),
            ("a\rb\n", Err("must hold one line")),
            ("", Err("is empty")),
            (" \n", Err("is empty")),
        ];
        for (text, expected) in cases {
            files.add("f".to_owned(), Ok(text.to_owned()));
            assert_eq!(files.line("f"), expected.map_err(str::to_owned), "{text:?}");
        }
        files.add("f".to_owned(), Err("does not exist".to_owned()));
        assert_eq!(files.line("f"), Err("does not exist".to_owned()));
        files.add("g".to_owned(), Ok("s3cret".to_owned()));
        assert!(!format!("{files:?}").contains("s3cret") && files.line("h").is_err());
    }
}
