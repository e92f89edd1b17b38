//! Checks the recipe that a configuration was written from: whether its version was correct, and whether a name has both families
//! at a service that takes only one (H23).

use std::slice;

use super::named;
use crate::config::fields::{Field, Key};
use crate::config::raw::{FileLayers, Raw, Setting};
use crate::config::{Config, Entry};
use crate::net::family::Family;
use crate::text::diagnostic::Diagnostic;
use crate::text::shell::quote;
use crate::update::domain::Domain;

/// A suggested command does not repeat more domains than this.
const MAX_NAMED: usize = 4;

/// Warnings about the recipes that a configuration names, and about entries whose recipe takes only one address for a name.
pub fn doubts(written: &FileLayers, config: &Config) -> Vec<Diagnostic> {
    let outdated = |raw: &Raw, entries: &[Entry]| {
        let setting = raw.get(Key::Recipe)?;
        Some(warning(setting, doubt(setting.node.value.text()?.trim(), &domains(entries))?))
    };
    let own = written.entries.iter().flatten().zip(&config.entries);
    let own = own.filter_map(|((raw, _), entry)| outdated(raw, slice::from_ref(entry)));
    let outdated = outdated(&written.file, &config.entries).into_iter().chain(own);
    let entries = written.entries.as_ref().map(|entries| entries.iter().map(|(raw, _)| raw).collect());
    let entries: Vec<&Raw> = entries.unwrap_or_else(|| vec![&written.file]);
    let of_both = entries.into_iter().zip(&config.entries).filter_map(|(raw, entry)| {
        let setting = raw.get(Key::Recipe).or_else(|| written.file.get(Key::Recipe))?;
        Some(warning(setting, both_families(setting.node.value.text()?.trim(), entry)?))
    });
    outdated.chain(of_both).collect()
}

fn warning(setting: &Setting, (message, hint): (String, Option<String>)) -> Diagnostic {
    let place = setting.place(Field::of(Key::Recipe), setting.node.span);
    Diagnostic::warning(place, format!("`recipe`: {message}")).hint_if_any(hint)
}

/// The problem with a name in both families if the service takes only one address, and how to solve it.
fn both_families(text: &str, entry: &Entry) -> Option<(String, Option<String>)> {
    let recipe = named(text.split('@').next()?).ok().filter(|recipe| recipe.has_one_address)?;
    let [v4, v6] = Family::ALL.map(|family| entry.domains_of(family));
    let domain = v4.iter().find(|domain| v6.contains(domain))?;
    let message = format!("{} takes one address for {domain}: IPv4 and IPv6 replace each other", recipe.title);
    Some((message, Some("remove it from `ipv4` or from `ipv6`".to_owned())))
}

/// The options of `ddns init` for the domains of the entries, each with a leading space; empty if these are several entries or
/// many domains.
fn domains(entries: &[Entry]) -> String {
    let [entry] = entries else { return String::new() };
    let all = Family::ALL.map(|family| entry.domains_of(family));
    if all.iter().map(|domains| domains.len()).sum::<usize>() > MAX_NAMED {
        return String::new();
    }
    let option = |(option, domains): (&str, &[Domain])| {
        domains
            .first()
            .map(|_| domains.iter().fold(option.to_owned(), |line, domain| line + " " + &quote(domain.as_str())))
    };
    [" --ipv4", " --ipv6"].into_iter().zip(all).filter_map(option).collect()
}

/// The problem with `NAME@VERSION`, and how to solve it. `domains` are options for `ddns init`.
fn doubt(text: &str, domains: &str) -> Option<(String, Option<String>)> {
    let (name, version) = text.rsplit_once('@').unwrap_or((text, "1"));
    let recipe = match named(name) {
        Ok(recipe) => recipe,
        Err(wrong) => return wrong.into_iter().next().map(|wrong| (wrong.message, wrong.hint)),
    };
    let Ok(version) = version.parse::<u32>() else {
        return Some(("it is a name and a version".to_owned(), Some(format!("\"{name}@{}\"", recipe.version))));
    };
    let (_, why) = recipe.wrong.iter().find(|(wrong, _)| *wrong == version)?;
    let message = format!("version {version} of `{name}` is known to be wrong: {why}");
    let command = format!("ddns init new.json --recipe {name}{domains}");
    let asked: Vec<String> = recipe.questions.iter().map(|question| format!("`{}`", question.name)).collect();
    let answers = if asked.is_empty() { "" } else { "; its answers are in this file: " };
    Some((message, Some(format!("`{command}` writes it anew{answers}{}", asked.join(", ")))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::raw::{self, Document};
    use crate::config::validate::{Surroundings, validate};

    fn warned(more: &str) -> String {
        let text = format!("{{\"dns\": \"callback\", \"id\": \"https://h.example/__IP__\", {more}}}");
        let read = || raw::read(&Document::local("c.json", &text)).expect("JSON");
        let (config, _) = validate("c.json", Some(read()), &Surroundings::default()).expect("a configuration");
        doubts(&read(), &config).iter().map(Diagnostic::one_line).collect()
    }

    #[test]
    fn h23_a_name_in_both_families_is_worth_a_warning_where_it_has_one_address() {
        let both = "\"ipv4\": [\"a.example\"], \"ipv6\": [\"a.example\"]";
        let said = warned(&format!("\"recipe\": \"edgeone@3\", {both}"));
        assert!(said.contains("takes one address for a.example: IPv4 and IPv6 replace each other"), "{said}");
        let inner = format!("\"recipe\": \"edgeone@3\", \"providers\": [{{\"provider\": \"callback\", {both}}}]");
        assert!(warned(&inner).contains("takes one address"));
        for right in [
            "\"recipe\": \"edgeone@3\", \"ipv4\": [\"a.example\"], \"ipv6\": [\"b.example\"]".to_owned(),
            format!("\"recipe\": \"edgeone-dns@2\", {both}"),
            both.to_owned(),
        ] {
            assert_eq!(warned(&right), "", "{right}");
        }
    }

    #[test]
    fn h23_a_recipe_that_was_wrong_or_is_none_is_worth_a_warning() {
        let warned = |recipe: &str| warned(&format!("\"recipe\": \"{recipe}\", \"ipv4\": [\"a.example\"]"));
        assert!(warned("cloudflare@1").contains("version 1 of `cloudflare` is known to be wrong: it "));
        let command = "`ddns init new.json --recipe cloudflare --ipv4 a.example` writes it anew; its answers are in this file: `token`, `zone`";
        assert!(warned("cloudflare@1").contains(command), "{}", warned("cloudflare@1"));
        assert!(warned("cloudflair@2").contains("did you mean `cloudflare`?"));
        assert!(warned("hetzner@1").contains("use `hetzner-cloud`"));
        assert!(warned("cloudflare@x").contains("a name and a version"));
        for right in ["cloudflare@2", "cloudflare@99", "duckdns", "duckdns@1"] {
            assert_eq!(warned(right), "", "{right}");
        }
        for recipe in crate::recipe::names().map(|name| named(name).expect(name)) {
            // A version is only replaced if it was wrong.
            assert!(recipe.wrong.iter().map(|(version, _)| *version).eq(1..recipe.version), "{}", recipe.name);
        }
    }
}
