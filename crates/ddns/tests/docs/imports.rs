//! Imports point one way. The order is that of the tables in `docs/architecture.md`, lowest first; between the files of a
//! folder there is one, too, since none of them uses itself through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::given::files;
use crate::support::pages::root;

/// The crates, as the tables of `docs/architecture.md` name them.
const CRATES: [(&str, &str); 3] =
    [("core", "crates/core/src"), ("group", "crates/group/src"), ("program", "crates/ddns/src")];

/// The path of a module, or of something in it: `["web", "site", "Site"]`. The crate itself has no name.
type Path = Vec<String>;

/// What a source file brings in, by its name there, and every path that stands in it.
struct Source {
    names: BTreeMap<String, Path>,
    used: BTreeSet<Path>,
}

/// The source files of a crate, tests left out.
struct Tree(BTreeMap<Path, Source>);

impl Tree {
    fn read(folder: &str) -> Self {
        let folder = root().join(folder);
        let mut texts = BTreeMap::new();
        for file in files(&folder).into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            let path = file.strip_prefix(&folder).expect("a file of the crate").with_extension("");
            let mut module: Path = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            if module == ["lib"] || module == ["main"] {
                module.clear();
            }
            if module.last().is_none_or(|name| name != "tests") {
                texts.insert(module, fs::read_to_string(&file).expect("a source file"));
            }
        }
        let modules: BTreeSet<Path> = texts.keys().cloned().collect();
        Self(texts.into_iter().map(|(module, text)| (module.clone(), source(&module, &text, &modules))).collect())
    }

    /// The files that a path leads to: the one that it names, and those that this has it from.
    fn owners(&self, path: &[String]) -> Vec<&Path> {
        let (mut owners, mut path) = (Vec::new(), path.to_vec());
        loop {
            let own = (0..=path.len()).rev().find_map(|length| self.0.get_key_value(&path[..length]));
            let (owner, source) = own.expect("the crate itself");
            if owners.contains(&owner) {
                return owners;
            }
            owners.push(owner);
            let rest = &path[owner.len()..];
            let Some(from) = rest.first().and_then(|name| source.names.get(name)) else { return owners };
            path = from.iter().chain(&rest[1..]).cloned().collect();
        }
    }

    /// Which file uses which.
    fn uses(&self) -> BTreeSet<(&Path, &Path)> {
        let pairs = self.0.iter().flat_map(|(module, source)| {
            let owners = source.used.iter().flat_map(|path| self.owners(path));
            owners.filter(move |owner| *owner != module).map(move |owner| (module, owner))
        });
        pairs.collect()
    }

    /// The files of each folder that use themselves through others of that folder. A file and the folder of its name are one.
    fn circles(&self) -> Vec<(String, Vec<&str>)> {
        let all = self.uses();
        let folders: BTreeSet<&[String]> = self.0.keys().filter_map(|module| Some(module.split_last()?.1)).collect();
        let mut circles = Vec::new();
        for folder in folders {
            let pairs = all.iter().filter_map(|(from, to)| Some((part(from, folder)?, part(to, folder)?)));
            let mut pairs: BTreeSet<(&str, &str)> = pairs.filter(|(from, to)| from != to).collect();
            // Who uses nobody, or is used by nobody, is in no circle.
            loop {
                let (above, below): (BTreeSet<&str>, BTreeSet<&str>) = pairs.iter().copied().unzip();
                let left: BTreeSet<_> =
                    pairs.iter().copied().filter(|(from, to)| above.contains(to) && below.contains(from)).collect();
                if left.len() == pairs.len() {
                    break;
                }
                pairs = left;
            }
            let left: BTreeSet<&str> = pairs.iter().map(|(from, _)| *from).collect();
            if !left.is_empty() {
                circles.push((folder.join("/"), left.into_iter().collect()));
            }
        }
        circles
    }
}

/// What a module is called in this folder; none where it is not in it.
fn part<'a>(module: &'a Path, folder: &[String]) -> Option<&'a str> {
    module.strip_prefix(folder)?.first().map(String::as_str)
}

/// Reads a source file of a crate with these modules.
fn source(module: &[String], text: &str, modules: &BTreeSet<Path>) -> Source {
    let (mut names, mut used) = (BTreeMap::new(), BTreeSet::new());
    let words = words(text.split("#[cfg(test)]").next().unwrap_or_default());
    let mut words = words.iter().map(String::as_str).peekable();
    let mut before = "";
    while let Some(word) = words.next() {
        if word == "use" {
            for (name, path) in imported(&mut words) {
                if let Some(path) = absolute(module, &path, modules) {
                    names.insert(name.to_owned(), path.clone());
                    used.insert(path);
                }
            }
        } else if before != "::" && words.peek() == Some(&"::") {
            let mut path = vec![word];
            while words.next_if_eq(&"::").is_some() {
                path.extend(words.next_if(|next| is_name(next)));
            }
            used.extend(absolute(module, &path, modules));
        }
        before = word;
    }
    Source { names, used }
}

/// What one `use` brings in, behind that word: names, and their paths.
fn imported<'a>(words: &mut impl Iterator<Item = &'a str>) -> Vec<(&'a str, Vec<&'a str>)> {
    let (mut found, mut open, mut path) = (Vec::new(), Vec::<Vec<&str>>::new(), Vec::new());
    for word in words {
        match word {
            "{" => open.push(path.clone()),
            "," | "}" | ";" => {
                if path.len() > open.last().map_or(0, Vec::len) {
                    let name = *path.last().expect("it is longer than none");
                    match path[..] {
                        [.., "as", _] => path.truncate(path.len() - 2),
                        [.., "self" | "*"] => path.truncate(path.len() - 1),
                        _ => {}
                    }
                    found.push((name, path));
                }
                if word == "}" {
                    open.pop();
                }
                path = open.last().cloned().unwrap_or_default();
                if word == ";" {
                    break;
                }
            }
            word if is_name(word) || word == "*" => path.push(word),
            _ => {}
        }
    }
    found
}

/// A path from the root of the crate; none for one that leads out of it, or to what stands in the same file.
fn absolute(module: &[String], path: &[&str], modules: &BTreeSet<Path>) -> Option<Path> {
    let (mut base, mut rest) = (module.to_vec(), path);
    match path {
        ["crate", others @ ..] => (base, rest) = (Vec::new(), others),
        ["self", others @ ..] => rest = others,
        ["super", ..] => {
            while let ["super", others @ ..] = rest {
                base.pop();
                rest = others;
            }
        }
        [first, ..] => {
            base.push((*first).to_owned());
            if !modules.contains(&base) {
                return None;
            }
            rest = &path[1..];
        }
        [] => return None,
    }
    base.extend(rest.iter().map(|name| (*name).to_owned()));
    Some(base)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// The words and signs of a source text, comments and texts left out.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(letter) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if letter == '"' {
            let escaped = rest.bytes().skip(1).scan(false, |is_escaped, byte| {
                let is_end = byte == b'"' && !*is_escaped;
                *is_escaped = byte == b'\\' && !*is_escaped;
                (!is_end).then_some(())
            });
            escaped.count() + 2
        } else if rest.starts_with("'\"'") {
            3
        } else {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let length = match rest.find(|letter: char| !is_part(letter)).unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 => letter.len_utf8(),
                length => length,
            };
            words.extend(Some(rest[..length].to_owned()).filter(|word| !word.trim().is_empty()));
            length
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    words
}

/// The rows of a table in `docs/architecture.md`: its two cells.
fn rows(table: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let (_, rows) = text.split_once(&format!("\n| {table}, lowest first |")).expect("the table");
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row[1..].split_once('|').map(|(first, rest)| (first.trim().to_owned(), rest.to_owned()));
    rows.filter_map(cells).collect()
}

/// The folders of a table in `docs/architecture.md`, row by row: those of a row may use each other.
fn order(table: &str) -> Vec<Vec<String>> {
    let folder = |name: &str| name.trim().trim_matches('`').split('/').next().unwrap_or_default().to_owned();
    rows(table).iter().map(|(names, _)| names.split(',').map(folder).collect()).collect()
}

#[test]
fn imports_point_downwards() {
    for (table, source) in CRATES {
        let order = order(table);
        let rank = |module: &Path| {
            let name = module.first().map_or("main", String::as_str);
            let place = order.iter().position(|row| row.iter().any(|known| known == name));
            place.unwrap_or_else(|| panic!("docs/architecture.md does not have {name}"))
        };
        let tree = Tree::read(source);
        // The root of a library only says what is in it.
        let is_part = |module: &Path| table == "program" || !module.is_empty();
        for module in tree.0.keys().filter(|module| is_part(module)) {
            rank(module);
        }
        for (from, to) in tree.uses().into_iter().filter(|(from, to)| is_part(from) && is_part(to)) {
            assert!(rank(to) <= rank(from), "{table}: {} uses {}, which is higher", from.join("/"), to.join("/"));
        }
    }
}

/// The row of a folder names each of its files, unless it has one for each thing of a kind; what it explains exists.
#[test]
fn the_tables_name_the_files_that_exist() {
    for (table, source) in CRATES {
        for (folder, text) in rows(table) {
            let Some(folder) = folder.strip_prefix('`').and_then(|name| name.strip_suffix("/`")) else { continue };
            let place = root().join(source).join(folder);
            let (mut all, mut own) = (BTreeSet::new(), BTreeSet::new());
            for file in files(&place).iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
                let path = file.strip_prefix(&place).expect("a file of the folder").with_extension("");
                let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                own.extend(names.first().filter(|name| names.len() == 1 && *name != "tests").cloned());
                all.extend(names);
            }
            let parts: Vec<&str> = text.split('`').collect();
            let named = parts.iter().skip(1).step_by(2).map(|name| name.trim_end_matches('/').to_owned());
            let named: BTreeSet<String> = named.collect();
            let forgotten: Vec<&String> = own.difference(&named).collect();
            assert!(forgotten.is_empty() || text.contains("one file for each"), "{table} {folder}: {forgotten:?}");
            for pair in parts[1..].chunks(2).filter(|pair| pair.get(1).is_some_and(|rest| rest.starts_with(" ("))) {
                assert!(all.contains(pair[0].trim_end_matches('/')), "{table} {folder}: there is no {}", pair[0]);
            }
        }
    }
}

#[test]
fn files_of_a_folder_do_not_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (table, source) in CRATES {
        let tree = Tree::read(source);
        found.extend(
            tree.circles().into_iter().map(|(folder, names)| format!("{table}: {folder}: {}", names.join(", "))),
        );
    }
    assert!(found.is_empty(), "{found:#?}: what two files share belongs in a third, below them");
}

#[test]
fn what_differs_between_systems_is_in_one_folder() {
    for (_, source) in CRATES {
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
