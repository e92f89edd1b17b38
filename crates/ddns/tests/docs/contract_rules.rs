//! `docs/contract.md` and the code agree on the rules: whatever rule a test or a comment names is there, and each rule of
//! sections A to G has a test that names it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support::given::files;
use crate::support::pages::root;

/// The rules of the contract, as `- E4a decided. …` begins one.
fn rules() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/contract.md")).expect("the contract");
    let heads = text.lines().filter_map(|line| line.strip_prefix("- ")?.split(' ').next());
    heads.filter(|head| is_rule(head)).map(str::to_owned).collect()
}

/// A letter from A to L, one or two digits, and perhaps a small letter.
fn is_rule(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(|letter| matches!(letter, 'A'..='L')) else { return false };
    let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && rest.len() - digits.len() < 2
}

/// The rules that a comment names; `%C3` and `U+F0` are none.
fn in_comment(comment: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_%+".contains(letter);
    let words = comment.split(|letter| !is_part(letter));
    words.filter(|word| is_rule(word)).map(str::to_owned).collect()
}

/// The rules in front of a test's name: `c3_c8_numbers_…` names two.
fn in_name(name: &str) -> Vec<String> {
    let parts = name.split('_').map(|part| {
        let (first, rest) = part.split_at_checked(1).unwrap_or_default();
        first.to_ascii_uppercase() + rest
    });
    parts.take_while(|part| is_rule(part)).collect()
}

/// What stands behind `//` on a line, unless that is part of an address.
fn comment(line: &str) -> Option<&str> {
    let (at, _) = line.match_indices("//").find(|(at, _)| !line[..*at].ends_with(':'))?;
    Some(line[at..].trim_start_matches(['/', '!']))
}

/// Every rule that a source file names, with where; and those that a test of it names.
fn named(path: &str, text: &str) -> (Vec<(String, String)>, Vec<String>) {
    let (mut all, mut tested) = (Vec::new(), Vec::new());
    // The doc comment and the attributes above a function.
    let (mut above, mut is_test) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", number + 1);
        let here = comment(line).map(in_comment).unwrap_or_default();
        all.extend(here.iter().map(|rule| (rule.clone(), place.clone())));
        let line = line.trim_start();
        match line.strip_prefix("fn ").or(line.strip_prefix("async fn ")) {
            _ if line.starts_with("///") => above.extend(here),
            _ if line.starts_with("#[test]") => is_test = true,
            _ if line.starts_with("#[") || line.starts_with("//") => {}
            Some(function) if is_test => {
                let name = in_name(function.split('(').next().unwrap_or_default());
                all.extend(name.iter().map(|rule| (rule.clone(), place.clone())));
                tested.extend(name);
                tested.append(&mut above);
                is_test = false;
            }
            _ => (above, is_test) = (Vec::new(), false),
        }
    }
    (all, tested)
}

#[test]
fn contract_every_rule_that_is_named_exists_and_every_rule_has_a_test() {
    let rules = rules();
    assert!(rules.len() > 60 && rules.contains("E4a"), "{rules:?}");
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut tested = BTreeSet::new();
    for file in files(&root().join("crates")).iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let text = fs::read_to_string(file).expect("a source file");
        let (all, proved) = named(&file.display().to_string(), &text);
        tested.extend(proved);
        for (rule, place) in all.into_iter().filter(|(rule, _)| !rules.contains(rule)) {
            unknown.entry(rule).or_default().push(place);
        }
    }
    assert!(unknown.is_empty(), "docs/contract.md has no such rules: {unknown:#?}");
    let untested: Vec<_> = rules.iter().filter(|rule| rule.as_str() < "H" && !tested.contains(*rule)).collect();
    assert!(untested.is_empty(), "no test names {untested:?}");
}

/// The test above is worth what it finds.
#[test]
fn contract_rules_are_found_in_names_and_comments() {
    let source = "/// As A1 wants it (E4a), not %C3 nor a1.\n#[test]\n#[ignore]\nfn z9_one() {\n    let a = \"http://B1/\"; // B2\n}\n\
                  #[test]\nfn c3_c8_b64_two() {}\n/// D1\nfn d9_three() {}\n";
    let (all, tested) = named("x.rs", source);
    let all: Vec<&str> = all.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(all, ["A1", "E4a", "B2", "C3", "C8", "B64", "D1"]);
    assert_eq!(tested, ["A1", "E4a", "C3", "C8", "B64"]);
    assert!(!is_rule("A") && !is_rule("AAAA") && !is_rule("A123") && !is_rule("A1ab") && !is_rule("V4"));
}
