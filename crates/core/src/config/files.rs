//! Values in separate files (H13): `{"file": "path"}` in `extra` and `sign`, and the files of `web` and `group`. The
//! program reads the files before it validates the configuration. This module finds the files that a configuration
//! names, decides what their texts mean, and tells which of them contain secrets, so that only their owner should read
//! them.

use std::collections::HashMap;

use super::fields::{FILE, Field, Kind, SubField, SubKind, Visibility, part, used};
use super::raw::{FileLayers, Raw};
use crate::text::json::{Dialect, Member, Node, Value, parse};

/// The contents of the files, by their paths as written: a text, or why there is none (a phrase that follows the path).
#[derive(Default)]
pub struct FileContents(HashMap<String, Result<String, String>>);

/// The stand-in for the content of a file: valid in `extra`, and as a secret of `sign`.
const STAND_IN: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl FileContents {
    /// The same content for each path, to check settings without reading a file.
    pub(crate) fn stand_ins(paths: impl IntoIterator<Item = String>) -> Self {
        Self(paths.into_iter().map(|path| (path, Ok(STAND_IN.to_owned()))).collect())
    }

    /// Adds the text of a file, or why there is none.
    pub fn add(&mut self, path: String, text: Result<String, String>) {
        self.0.insert(path, text);
    }

    /// Whether a file was read.
    pub fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a path may be shown. If its file could be read, it is a path, and not a secret put there by mistake.
    pub(super) fn may_show(&self, path: &str) -> bool {
        matches!(self.0.get(path), Some(Ok(_))) || is_path(path)
    }

    /// A file as messages name it: its path, unless that may be a secret.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("the file {}", if self.may_show(path) { path } else { "that it names" })
    }

    /// The text of a file, or why there is none. Editors on Windows may begin a file with a byte order mark.
    pub(super) fn text(&self, path: &str) -> Result<String, String> {
        let text = self.0.get(path).cloned().unwrap_or_else(|| Err("was not read".to_owned()))?;
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    }

    /// The only line of a file, or why there is none.
    pub(super) fn line(&self, path: &str) -> Result<String, String> {
        match self.text(path)?.trim_end_matches(['\r', '\n']) {
            text if text.trim().is_empty() => Err("is empty".to_owned()),
            text if text.contains(['\r', '\n']) => Err("must hold one line".to_owned()),
            line => Ok(line.to_owned()),
        }
    }
}

impl std::fmt::Debug for FileContents {
    /// Shows only the paths, because the texts are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The path, if a value is `{"file": "path"}`.
pub(crate) fn path_of(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) if members.len() == 1 && members[0].key == FILE[0].name => members[0].node.value.text(),
        _ => None,
    }
}

/// The longest ending of a file name.
const MAX_ENDING_BYTES: usize = 6;

/// The longest word in a path.
const MAX_WORD_BYTES: usize = 32;

/// Whether a text looks like a path. If it does not, the user may have written the secret itself in its place, which
/// must not be shown.
pub fn is_path(text: &str) -> bool {
    let has_ending = || text.rsplit_once('.').is_some_and(|(_, ending)| ending.len() <= MAX_ENDING_BYTES);
    (text.contains('/') || text.starts_with('.') || has_ending())
        && text.chars().all(|letter| letter.is_alphanumeric() || "/._-~".contains(letter))
        && !text.contains("---")
        && !is_random(text)
}

/// Whether letters and digits take turns more often than in names that people give, as in a key or a token: capitals
/// after small letters, digits after letters, letters after digits.
fn is_random(text: &str) -> bool {
    let class = |letter: char| {
        let is_small = letter.is_alphabetic() && !letter.is_uppercase();
        letter.is_alphanumeric().then(|| if is_small { 2 } else { u8::from(letter.is_uppercase()) })
    };
    let classes: Vec<Option<u8>> = text.chars().map(class).collect();
    let is_turn = |pair: &&[Option<u8>]| pair[0] != pair[1] && !pair.contains(&None) && pair != &[Some(1), Some(2)];
    let turns = classes.windows(2).filter(is_turn).count();
    let has_long = text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word.len() > MAX_WORD_BYTES);
    has_long || turns > 2 && 6 * turns > classes.iter().flatten().count()
}

/// Whether a member of an object with parts may be shown. An unknown member may be a password.
pub(crate) fn is_shown(member: &Member, files: &FileContents, parts: &'static [SubField]) -> bool {
    let text = member.node.value.text().unwrap_or_default();
    match part(parts, &member.key).map(|part| part.shown) {
        Some(Visibility::Path) => files.may_show(text),
        Some(Visibility::WithoutUser) => !text.contains('@'),
        _ => false,
    }
}

/// Every file with a secret that a configuration names.
pub fn secret_in(written: &FileLayers) -> Vec<String> {
    written.layers().flat_map(|layer| named_by(layer, &[SubKind::SecretPath])).collect()
}

/// Every file that a configuration names; a fetched one may name none.
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
    for (field, setting) in layer.settings().filter(|(field, _)| !field.parts.is_empty() || field.inside().is_some()) {
        match &setting.node.value {
            _ if setting.is_fetched() => {}
            // Options and environment variables are always texts.
            Value::String(text) if text.contains('{') => {
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
                if let Some(field) = field.inside().and_then(|what| used(what, &member.key)) {
                    collect(field, &member.node, kinds, paths);
                }
            }
        }
        (_, Value::Object(members)) => collect_parts(members, field.parts, kinds, paths),
        _ => {}
    }
}

fn collect_parts(members: &[Member], parts: &'static [SubField], kinds: &[SubKind], paths: &mut Vec<String>) {
    for (member, part) in members.iter().filter_map(|member| Some((member, part(parts, &member.key)?))) {
        if kinds.contains(&part.kind) {
            paths.extend(member.node.value.text().map(str::to_owned));
        }
        if part.kind == SubKind::Named {
            let named = member.node.value.members().unwrap_or_default().iter();
            named
                .filter_map(|named| named.node.value.members())
                .for_each(|of| collect_parts(of, part.parts, kinds, paths));
        }
    }
}

/// Adds the path of every `{"file": "path"}`, however deep.
fn collect_files(node: &Node, paths: &mut Vec<String>) {
    match (&node.value, path_of(&node.value)) {
        (_, Some(path)) => paths.push(path.to_owned()),
        (Value::Array(items), _) => items.iter().for_each(|item| collect_files(item, paths)),
        (Value::Object(members), _) => members.iter().for_each(|member| collect_files(&member.node, paths)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw::{Document, read};
    use super::*;

    #[test]
    fn h13_every_request_may_name_the_file_of_its_key() {
        let text = r#"{"before": {"id": "/x", "sign": {"file": "a"}}, "absent": {"id": "/y", "sign": {"file": "b"}},
            "after": {"id": "/z", "sign": {"file": "c"}}, "sign": {"file": "d"}}"#;
        let written = read(&Document::local("c.json", text)).expect("JSON");
        let mut named = named_in(&written);
        named.sort();
        assert_eq!(named, ["a", "b", "c", "d"]);
    }

    #[test]
    fn g2_a_path_is_told_from_a_key() {
        for path in [
            "none.txt",
            "./missing",
            "../key",
            "~/.ddns/key",
            "/etc/ddns/kye",
            "secrets/token",
            "/run/secrets/ddns_token",
            "/etc/letsencrypt/live/home2.example.com/privkey.pem",
            "id_ed25519.pem",
            "Key2024Final.txt",
            ".ddns-key",
            "/opt/MyApp2/ApiKey.txt",
            "geheim/schlüssel",
        ] {
            assert!(is_path(path), "{path}");
        }
        for key in [
            "",
            "key",
            "s3cret-key",
            "correct.horse.battery",
            "user:pa.ss",
            "p/a=",
            "a b/c",
            "a@b.c",
            "Qm9v+x/y",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "/9j4AAQSkZJRgABAQ",
            "SG.ngeVfQFYQlKU0ufo8x5d1A",
            "a.9f86d081884c7d659a2f",
            "./jbswy3dpehpk3pxp",
            "/abcdefghijklmnopqrstuvwxyzabcdefghijklmnop",
        ] {
            assert!(!is_path(key), "{key}");
        }
    }

    #[test]
    fn h13_a_file_holds_one_line() {
        let mut files = FileContents::default();
        let cases = [
            ("s3cret", Ok("s3cret")),
            ("\u{feff}s3cret", Ok("s3cret")),
            (" a b \r\n", Ok(" a b ")),
            ("a\n\n\n", Ok("a")),
            ("a\nb", Err("must hold one line")),
            ("a\rb\n", Err("must hold one line")),
            ("", Err("is empty")),
            (" \n", Err("is empty")),
        ];
        for (text, expected) in cases {
            files.add("f".to_owned(), Ok(text.to_owned()));
            assert_eq!(files.line("f"), expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
            assert!(!files.text("f").expect("it was added").contains('\u{feff}'));
        }
        files.add("f".to_owned(), Err("does not exist".to_owned()));
        assert_eq!(files.line("f"), Err("does not exist".to_owned()));
        files.add("g".to_owned(), Ok("s3cret".to_owned()));
        assert!(!format!("{files:?}").contains("s3cret") && files.line("h").is_err());
    }
}
