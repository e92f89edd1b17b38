//! Finds the service that a user means, from a few letters, in any spelling, and despite a typo.

use strsim::osa_distance;

use super::{Recipe, built_in};
use crate::text::order;

/// Shorter words must not contain a typo: they would be similar to everything.
const MIN_FUZZY: usize = 4;

/// The recipes that a word may mean, the likeliest first; all recipes if the word is empty.
pub fn search(word: &str) -> Vec<Recipe> {
    let mut found: Vec<(u8, Recipe)> =
        built_in().filter_map(|recipe| Some((likeness(word, &recipe)?, recipe))).collect();
    // Assume a typo only if nothing matches the word exactly as typed.
    let has_plain = found.iter().any(|(rank, _)| *rank < SLIP);
    found.retain(|(rank, _)| !has_plain || *rank < SLIP);
    order::sort_by_key(&mut found, |(rank, _)| *rank);
    found.into_iter().map(|(_, recipe)| recipe).collect()
}

/// Whether a word is one of the recipe's names, in any spelling, or the name of its website.
pub fn is_exactly(word: &str, recipe: &Recipe) -> bool {
    likeness(word, recipe).is_some_and(|rank| rank <= SITE)
}

const EXACT: u8 = 0;
/// After [`EXACT`]: `nsupdate.info` is a service, and `nsupdate` another.
const SITE: u8 = 1;
const BEGINNING: u8 = 2;
const INSIDE: u8 = 3;
const ABOUT: u8 = 4;
const SLIP: u8 = 5;

/// Only letters and digits, in lower case: `No-IP`, `no ip` and `noip` are the same.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// How well a word matches; lower is better. `None`: not at all.
fn likeness(word: &str, recipe: &Recipe) -> Option<u8> {
    let word = word.trim().trim_end_matches('.').to_lowercase();
    let word = word.strip_prefix("www.").unwrap_or(&word);
    let typed = plain(word);
    if typed.is_empty() {
        return Some(ABOUT);
    }
    // Users may type one of their own domains, or the name of the service's website.
    if recipe.suffix().is_some_and(|suffix| word == suffix || word.ends_with(&format!(".{suffix}"))) {
        return Some(EXACT);
    }
    let site = word.rsplit_once('.').filter(|_| !word.contains(' ')).map(|(site, _)| plain(site));
    let names = [&recipe.name, &recipe.title].into_iter().chain(&recipe.aliases).map(|name| plain(name));
    let rank = |name: String| {
        if name == typed {
            Some(EXACT)
        } else if site.as_ref() == Some(&name) {
            Some(SITE)
        } else if name.starts_with(&typed) {
            Some(BEGINNING)
        } else if name.contains(&typed) {
            Some(INSIDE)
        } else {
            is_slip(&typed, &name).then_some(SLIP)
        }
    };
    let is_about = || [recipe.kind, &recipe.about].iter().any(|text| text.to_lowercase().contains(word));
    let best = names.filter_map(rank).min();
    best.filter(|rank| *rank < SLIP).or_else(|| is_about().then_some(ABOUT)).or(best)
}

/// Whether a word is a name, or the beginning of a name, with one typo; with two in a long word.
fn is_slip(typed: &str, name: &str) -> bool {
    let count = typed.chars().count();
    let allowed = match count {
        0..MIN_FUZZY => return false,
        MIN_FUZZY..8 => 1,
        8..=32 => 2,
        _ => return false,
    };
    let beginning: String = name.chars().take(count).collect();
    osa_distance(typed, name) <= allowed || osa_distance(typed, &beginning) <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h12_a_service_is_found_as_people_write_it() {
        let first = [
            ("noip", "no-ip"),
            ("no ip", "no-ip"),
            ("No-IP", "no-ip"),
            ("no-ip.com", "no-ip"),
            ("cloudfalre", "cloudflare"),
            ("clodflare", "cloudflare"),
            ("Cloud Flare", "cloudflare"),
            ("fritz", "dyndns2"),
            ("FRITZ!Box", "dyndns2"),
            ("duck", "duckdns"),
            ("duck dns", "duckdns"),
            ("duckdsn", "duckdns"),
            ("myhome.duckdns.org", "duckdns"),
            ("dedyn.io", "desec"),
            ("desec", "desec"),
            ("route 53", "route53"),
            ("aws", "route53"),
            ("hetzner", "hetzner-cloud"),
            ("godaddy.com", "godaddy"),
            ("he.net", "he-net"),
            ("nsupdate.info", "nsupdate-info"),
            ("www.cloudflare.com", "cloudflare"),
            ("dyndns.org", "dyn"),
            ("spdns", "spdyn"),
            ("afraid", "freedns-v2"),
            ("strato", "strato"),
        ];
        for (word, expected) in first {
            let found = search(word);
            assert_eq!(found.first().map(|recipe| recipe.name.as_str()), Some(expected), "{word}");
        }
        for word in ["xyzzyxyzzy", "qq", "!", "\u{0}"] {
            assert!(word == "!" || word == "\u{0}" || search(word).is_empty(), "{word}");
        }
        assert_eq!(search("").len(), built_in().count());
        assert!(search("notification").iter().all(|recipe| recipe.kind == "notification"));
    }

    #[test]
    fn h12_only_a_whole_name_is_taken_without_asking() {
        for (word, name, expected) in [
            ("no ip", "no-ip", true),
            ("no-ip.com", "no-ip", true),
            ("noip", "no-ip", true),
            ("no", "no-ip", false),
            ("cloudfalre", "cloudflare", false),
        ] {
            let recipe = super::super::named(name).expect("a recipe");
            assert_eq!(is_exactly(word, &recipe), expected, "{word}");
        }
    }

    /// If one word were the exact name of two services, chance would decide.
    #[test]
    fn h12_no_two_services_share_a_name() {
        let all: Vec<Recipe> = built_in().collect();
        for recipe in &all {
            for word in [&recipe.name, &recipe.title].into_iter().chain(&recipe.aliases) {
                let is_named = |other: &&Recipe| likeness(word, other) == Some(EXACT);
                let others: Vec<&str> = all.iter().filter(is_named).map(|other| other.name.as_str()).collect();
                assert!(others == [recipe.name.as_str()], "{word}: {others:?}");
            }
        }
    }
}
