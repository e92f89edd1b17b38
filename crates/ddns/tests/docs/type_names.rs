//! A type's name says what it is wherever it stands: no two types share one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::given::files;
use crate::support::pages::root;

/// The name of the type that a line declares. Associated types and aliases inside a function are no types of their own.
fn declared(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let (keyword, rest) = code.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => code.len() == line.len() || line.starts_with("pub"),
        _ => false,
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    is_type.then(|| &rest[..end])
}

/// Systems have files of their own with the same names: what stands in `platform` counts once. So does what one file
/// declares twice, for two systems.
fn place(file: &Path) -> PathBuf {
    let platform = file.ancestors().find(|folder| folder.ends_with("platform"));
    platform.unwrap_or(file).to_path_buf()
}

#[test]
fn a_type_name_is_unique() {
    let mut places: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    let crates = fs::read_dir(root().join("crates")).expect("the crates");
    let sources = crates.map(|folder| folder.expect("a crate").path().join("src"));
    for file in sources.flat_map(|folder| files(&folder)).filter(|file| file.extension().is_some_and(|ext| ext == "rs"))
    {
        let text = fs::read_to_string(&file).expect("a source file");
        for name in text.lines().filter_map(declared) {
            places.entry(name.to_owned()).or_default().insert(place(&file));
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "names that denote several types: {places:#?}");
}

#[test]
fn declarations_are_found() {
    for (line, name) in [
        ("struct One;", Some("One")),
        ("    pub(crate) enum Two<'a> {", Some("Two")),
        ("pub(in crate::http) struct Three(u8);", Some("Three")),
        ("pub type Four = u8;", Some("Four")),
        ("    type Output = u8;", None),
        ("/// struct Five", None),
        ("fn six() {", None),
    ] {
        assert_eq!(declared(line), name, "{line}");
    }
}
