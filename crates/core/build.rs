//! Puts the recipes into the program: their names, and a text with a line for each, its JSON without blanks.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a build script looks at files; the core does not"
)]

use std::path::Path;
use std::{env, fs};

fn main() {
    // Asked for when it runs: a build folder may be copied to another tree.
    let tree = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let folder = Path::new(&tree).join("recipes");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut recipes: Vec<(String, String)> = fs::read_dir(&folder)
        .expect("the folder recipes")
        .map(|file| file.expect("a file of the folder recipes").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a plain name").to_owned();
            (name, without_blanks(&fs::read_to_string(&path).expect("a recipe")))
        })
        .collect();
    recipes.sort();
    let names: Vec<&str> = recipes.iter().map(|(name, _)| name.as_str()).collect();
    let text: Vec<&str> = recipes.iter().map(|(_, text)| text.as_str()).collect();
    let folder = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("recipes.names"), names.join("\n")).expect("the names are written");
    fs::write(Path::new(&folder).join("recipes.texts"), text.join("\n")).expect("the text is written");
}

/// JSON without the blanks between its values. What is not JSON stays so: the tests read every recipe.
fn without_blanks(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let (mut is_text, mut is_escaped) = (false, false);
    for letter in text.chars() {
        if is_text || !letter.is_ascii_whitespace() {
            short.push(letter);
        }
        if letter == '"' && !is_escaped {
            is_text = !is_text;
        }
        is_escaped = is_text && letter == '\\' && !is_escaped;
    }
    short
}
