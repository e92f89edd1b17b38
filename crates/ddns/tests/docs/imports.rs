//! Imports point one way. The order is that of the tables in `docs/architecture.md`, lowest first.

use std::fs;

use crate::support::given::files;
use crate::support::pages::root;

/// The folders of a table in `docs/architecture.md`, row by row: those of a row may use each other.
fn order(table: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let (_, rows) = text.split_once(&format!("\n| {table}, lowest first |")).expect("the table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names = rows.map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
    let folder = |name: &str| name.trim().trim_matches('`').split('/').next().unwrap_or_default().to_owned();
    names.map(|row| row.map(folder).collect()).collect()
}

/// What a source file of the crate names as `crate::…`, comments left out.
fn named(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let uses = lines.flat_map(|line| line.split("crate::").skip(1));
    uses.map(|rest| rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default())
        .collect()
}

#[test]
fn what_differs_between_systems_is_in_one_folder() {
    for source in ["crates/core/src", "crates/group/src", "crates/ddns/src"] {
        let source = root().join(source);
        for file in files(&source) {
            let path = file.strip_prefix(&source).expect("a file of the crate").with_extension("");
            let text = fs::read_to_string(&file).expect("a source file");
            let is_allowed = path.starts_with("platform") || !text.contains("target_os");
            assert!(is_allowed, "{} asks which system this is: that belongs in platform/", file.display());
        }
    }
}

#[test]
fn groups_plug_in_from_above() {
    let source = root().join("crates/ddns/src");
    for file in files(&source) {
        let path = file.strip_prefix(&source).expect("a file of the crate").with_extension("");
        let text = fs::read_to_string(&file).expect("a source file");
        assert!(path.starts_with("group") || !text.contains("ddns_group"), "{} uses ddns_group", file.display());
    }
}

#[test]
fn imports_point_downwards() {
    for (table, source) in [("core", "crates/core/src"), ("group", "crates/group/src"), ("program", "crates/ddns/src")]
    {
        let order = order(table);
        let rank = |folder: &str| order.iter().position(|row| row.iter().any(|name| name == folder));
        let source = root().join(source);
        for file in files(&source) {
            let path = file.strip_prefix(&source).expect("a file of the crate").with_extension("");
            let own = path.iter().next().and_then(|name| name.to_str()).expect("a plain name");
            if own == "lib" || path.ends_with("tests") {
                continue;
            }
            let place = rank(own).unwrap_or_else(|| panic!("docs/architecture.md does not have {own}"));
            let text = fs::read_to_string(&file).expect("a source file");
            for other in named(&text).into_iter().filter(|other| *other != own) {
                let there = rank(other).unwrap_or_else(|| panic!("{}: what is crate::{other}?", file.display()));
                assert!(there <= place, "{} uses crate::{other}, which is higher", file.display());
            }
        }
    }
}
