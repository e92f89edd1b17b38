//! What an import says: what was taken over, what became something else, and what was not taken over (L14).

use super::Import;
use super::settings::{ImportNote, NotePart};
use crate::net::family::Family;
use crate::update::domain::Domain;

/// The three parts. `left` says why an entry is left out; nothing where it is written.
pub fn rows(import: &Import, left: &[Option<String>]) -> [Vec<ImportNote>; 3] {
    let mut all = Vec::new();
    for ((place, entry), left) in import.entries.iter().enumerate().zip(left) {
        let names = entry.domains.each_ref().map(|names| names.iter().map(Domain::as_str).collect::<Vec<_>>());
        let described = Family::ALL.into_iter().filter(|family| !names[family.index()].is_empty()).map(|family| {
            let sources = match entry.sources[family.index()].as_slice() {
                [] => "default".to_owned(),
                sources => sources.iter().map(|source| shown(source)).collect::<Vec<_>>().join(", "),
            };
            format!("{family}: {}, address from {sources}", listed(&names[family.index()]))
        });
        let what = entry.recipe().map_or_else(|| format!("{} (its own URL)", entry.service), str::to_owned);
        let (part, text) = match left {
            None => (NotePart::Taken, described.collect::<Vec<_>>().join("; ")),
            Some(why) => (NotePart::LeftOut, format!("{}: {why}", listed(&names.concat()))),
        };
        all.push(ImportNote { entry: Some(place + 1), line: entry.line, what, text, part });
    }
    for (name, value) in import.settings.iter().filter(|(name, _)| name == "interval" || name == "notify") {
        let text = value.text().unwrap_or("a sign of life and failures are reported as before").to_owned();
        all.push(ImportNote { entry: None, line: 0, what: name.clone(), text, part: NotePart::Taken });
    }
    all.extend(import.notes.iter().cloned());
    let parts = [&[NotePart::Taken][..], &[NotePart::Changed], &[NotePart::Dropped, NotePart::LeftOut]];
    parts.map(|parts| all.iter().filter(|note| parts.contains(&note.part)).cloned().collect())
}

/// The first of many.
fn listed(names: &[&str]) -> String {
    let mut names = names.to_vec();
    names.dedup();
    match names.as_slice() {
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        names => names.join(", "),
    }
}

/// A source without what may be a secret: the address of a page may hold one, and a command.
fn shown(source: &str) -> String {
    match source.split_once(':') {
        Some(("url", url)) => {
            let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            format!("url:…{}", authority.rsplit('@').next().unwrap_or_default())
        }
        Some((kind @ ("shell" | "cmd"), command)) => {
            format!("{kind}:{}…", command.split(' ').next().unwrap_or_default())
        }
        _ => source.to_owned(),
    }
}
