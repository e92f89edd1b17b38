//! Every sentence that the program, its recipes and its pages contain, in one list for a reader, and none with a turn of phrase that has
//! to be read twice.

use std::fs;
use std::path::Path;

use crate::support::given::files;
use crate::support::pages::root;

/// Turns of phrase that a native writer would not use, and what to write in their place.
const TURNS: [(&str, &str); 34] = [
    ("none where", "say when there is none"),
    ("so many", "name the number"),
    ("as it stands", "say what is meant"),
    (" stands", "is"),
    ("come about", "fail"),
    ("came about", "happened"),
    ("did not come", "did not arrive"),
    ("whoever", "name the actor"),
    ("makes none", "does not create one"),
    ("for good", "permanently"),
    ("a blank", "a space"),
    ("stand by", "on standby"),
    ("what usual runs", "say which runs"),
    ("os error", "say what went wrong"),
    ("are possible", "at most … are allowed"),
    (" any more", "no longer"),
    (" one that ", "name the thing"),
    ("is no part", "has no field"),
    ("is not a part of it", "has no field"),
    ("that is none", "invalid"),
    ("is none that", "unknown"),
    ("inside of", "inside"),
    ("where there is", "if there is"),
    ("where none", "if none"),
    ("where it cannot", "if it cannot"),
    ("vouches for", "say who issued it"),
    ("broke off", "was closed"),
    ("connection off", "reset the connection"),
    ("holds a ", "contains a"),
    ("hold a ", "contain a"),
    ("holds no ", "contains no"),
    ("of yours", "your"),
    ("was made by", "name the actor"),
    ("lead to one", "point to"),
];

/// Not read yet: pages and code that are written anew elsewhere. Each line goes when its files are clean.
const LATER: [&str; 1] = [
    // Generated from the recipes and the code that reads them.
    "docs/services.md",
];

/// Pages for developers that keep their words: promises and reasons, as they were given.
const RECORDS: [&str; 2] = ["docs/contract.md", "docs/decisions.md"];

/// The texts in a source file, with their lines; those of its tests are left out.
fn texts(source: &str) -> Vec<(usize, String)> {
    let tests = ["\n#[cfg(test)]\nmod tests {", "\n#[cfg(test)]\npub(crate) mod tests {"];
    let source = tests.iter().fold(source, |source, tests| source.split(tests).next().unwrap_or_default());
    let (mut found, mut rest) = (Vec::new(), source);
    while let Some(letter) = rest.chars().next() {
        let line = || source[..source.len() - rest.len()].matches('\n').count() + 1;
        let after_comment = rest.starts_with("//").then(|| rest.split_once('\n').map_or("", |(_, next)| next));
        let hashes = rest.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
        let raw = hashes.and_then(|count| {
            let text = rest[1 + count..].strip_prefix('"')?;
            text.split_once(&format!("\"{}", "#".repeat(count)))
        });
        if let Some(next) = after_comment {
            rest = next;
        } else if let Some((text, next)) = raw {
            found.push((line(), text.to_owned()));
            rest = next;
        } else if letter == '"' {
            let (text, next) = quoted(&rest[1..]);
            found.push((line(), text));
            rest = next;
        } else {
            // A quotation mark as a character begins no text.
            let skipped = ["'\"'", "b'\"'", "'\\\"'", "b'\\\"'"].iter().find(|sign| rest.starts_with(**sign));
            rest = &rest[skipped.map_or(letter.len_utf8(), |sign| sign.len())..];
        }
    }
    found
}

/// A text up to its closing quotation mark, as the program has it, and what follows.
fn quoted(rest: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = rest.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, &rest[at + 1..]),
            '\\' => match letters.next() {
                Some((_, '\n')) => while letters.next_if(|(_, next)| next.is_whitespace()).is_some() {},
                Some((_, 'n')) => text.push('\n'),
                Some((_, other)) => text.push(other),
                None => {}
            },
            _ => text.push(letter),
        }
    }
    (text, "")
}

/// Three words or more, so that it can be read wrongly.
fn is_sentence(text: &str) -> bool {
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|letter| letter.is_alphabetic() || ",.;:'`".contains(letter));
    text.split_whitespace().filter(is_word).count() >= 3
}

/// The lines of a page, without those that programs read or write.
fn prose(page: &str) -> Vec<(usize, String)> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if !is_code && !is_fence {
            lines.push((at + 1, line.to_owned()));
        }
    }
    lines
}

/// What people read, with its place.
fn sentences() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let place = |file: &Path| file.strip_prefix(root()).expect("a file of ours").display().to_string();
    let mut add = |file: &Path, texts: Vec<(usize, String)>| {
        let texts = texts.into_iter().filter(|(_, text)| is_sentence(text));
        all.extend(texts.map(|(line, text)| (format!("{}:{line}", place(file)), text)));
    };
    for krate in ["core", "ddns", "group"] {
        for file in files(&root().join("crates").join(krate).join("src")) {
            let text = || fs::read_to_string(&file).expect("a file of the program");
            match file.extension().and_then(|end| end.to_str()) {
                Some("rs") if !file.ends_with("tests.rs") => add(&file, texts(&text())),
                Some("js" | "json") => add(&file, texts(&text())),
                Some("txt") => add(&file, prose(&text())),
                _ => {}
            }
        }
    }
    for recipe in files(&root().join("recipes")) {
        add(&recipe, texts(&fs::read_to_string(&recipe).expect("a recipe")));
    }
    let mut pages = files(&root().join("docs"));
    pages.extend(["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    for page in pages.iter().filter(|page| page.extension().is_some_and(|end| end == "md")) {
        if !RECORDS.contains(&place(page).as_str()) {
            add(page, prose(&fs::read_to_string(page).expect("a page")));
        }
    }
    all
}

#[test]
fn words_the_sentences_of_the_program_are_listed_and_plain() {
    let all = sentences();
    assert!(all.len() > 1000, "{}", all.len());
    let list: Vec<String> = all.iter().map(|(place, text)| format!("{place}\t{}", text.replace('\n', " "))).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sentences.txt");
    fs::write(&path, list.join("\n")).expect("the list is written");
    let mut wrong = Vec::new();
    for (place, text) in all.iter().filter(|(place, _)| !LATER.iter().any(|later| place.starts_with(later))) {
        for (turn, better) in TURNS.iter().filter(|(turn, _)| text.to_lowercase().contains(turn)) {
            wrong.push(format!("{place}: `{turn}` ({better}): {text}"));
        }
    }
    assert!(wrong.is_empty(), "{} is the list of all; {}:\n{}", path.display(), wrong.len(), wrong.join("\n"));
}

#[test]
fn words_texts_are_found_as_the_program_has_them() {
    let source = "let a = \"one two three\"; // \"not this\"\nlet b = r#\"raw \"text\" here\"#; let c = '\"';\nf(\"x \\\n      y\\n\\\"z\\\"\");\n\n#[cfg(test)]\nmod tests {\n\"no\"";
    let found: Vec<(usize, String)> = texts(source);
    let expected = [(1, "one two three"), (2, "raw \"text\" here"), (3, "x y\n\"z\"")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    assert_eq!(prose("one\n```json\ntwo\n```\nthree"), [(1, "one".to_owned()), (5, "three".to_owned())]);
}
