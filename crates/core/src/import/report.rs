//! The report of an import: what was taken over, what was changed, and what was not taken over (L14).

use super::settings::{ImportNote, NotePart};
use super::{Import, ImportedEntry, MissingAnswer, entries};
use crate::address::source::Source;
use crate::config::listing::listing;
use crate::config::raw::{self, Document};
use crate::config::validate::Surroundings;
use crate::net::family::Family;
use crate::text::order;
use crate::text::secrets::MASK;
use crate::update::domain::Domain;

#[cfg(test)]
mod tests;

/// The three parts of the report. `left` says for each entry why it is left out; `None`: it is written.
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
        let host = entry.service.rsplit('@').next().unwrap_or_default();
        let what = entry.recipe().map_or_else(|| format!("{host} (its own URL)"), str::to_owned);
        let (part, text) = match left {
            None => (NotePart::Taken, described.chain(entry.named_settings()).collect::<Vec<_>>().join("; ")),
            Some(why) => (NotePart::LeftOut, format!("{}: {why}", listed(&names.concat()))),
        };
        all.push(ImportNote { entry: Some(place + 1), line: entry.line, what, text, part });
    }
    let is_written = left.iter().any(Option::is_none);
    let interval = import.settings.iter().find(|(name, _)| is_written && name == "interval");
    let interval = interval.and_then(|(_, value)| value.text());
    let notify =
        (is_written && !import.notify.is_empty()).then_some("a sign of life and failures are reported as before");
    for (what, text) in [("interval", interval), ("notify", notify)] {
        let (what, text) = (what.to_owned(), text.map(str::to_owned));
        all.extend(text.map(|text| ImportNote { entry: None, line: 0, what, text, part: NotePart::Taken }));
    }
    // An answer replaces a guess.
    let guess = |(place, entry): (usize, &ImportedEntry)| {
        let text = format!("{} is a guess; if it is wrong, use --set {}.zone=…", entry.guess.as_ref()?, place + 1);
        Some(ImportNote { entry: None, line: entry.line, what: "zone".to_owned(), text, part: NotePart::Changed })
    };
    let mut notes = import.notes.clone();
    notes.extend(import.entries.iter().enumerate().filter_map(guess));
    order::sort_by_key(&mut notes, |note| note.line);
    all.extend(notes);
    let parts = [&[NotePart::Taken][..], &[NotePart::Changed], &[NotePart::Dropped, NotePart::LeftOut]];
    parts.map(|parts| all.iter().filter(|note| parts.contains(&note.part)).cloned().collect())
}

/// Why an entry is left out: the answers that are missing in the file, and those that cannot be right. `number` is for `--set`.
pub fn why_left_out(number: usize, missing: &[MissingAnswer]) -> String {
    let (refused, absent): (Vec<_>, Vec<_>) = missing.iter().partition(|it| it.refused.is_some());
    let absent = absent.iter().map(|it| {
        let help = if it.help.is_empty() { String::new() } else { format!(": {}", it.help) };
        format!("{} (--set {number}.{}=…{help})", it.label, it.name)
    });
    let refused = refused.iter().map(|it| {
        let why = it.refused.as_deref().unwrap_or_default();
        format!("{} ({why}; --set {number}.{}=… replaces it)", it.label, it.name)
    });
    let parts = [
        ("this is missing", absent.collect::<Vec<_>>()),
        ("the file has a value that cannot be right", refused.collect::<Vec<_>>()),
    ];
    let parts = parts.iter().filter(|(_, items)| !items.is_empty());
    parts.map(|(why, items)| format!("left out, because {why}: {}", items.join(", "))).collect::<Vec<_>>().join("; ")
}

/// The fields that may contain a secret although secrets go to files: a text of the file that contains one, such as a URL, stays
/// in the configuration.
pub fn exposed(import: &Import, chosen: &[usize]) -> Vec<String> {
    let mut all = Vec::new();
    for (place, entry) in chosen.iter().filter_map(|place| Some((*place, import.entries.get(*place)?))) {
        // Report only values of the user, not those of the recipe.
        let is_meant = |name: &str| match entry.recipe() {
            None => name != "extra",
            Some(_) => name == "proxy" || name == "id" && entry.has_typed_secret(),
        };
        let Ok(filled) = entries::document(&[(place + 1, entry)], &[], Some("/"), "") else { continue };
        let Ok(layers) = raw::read(&Document::local("config.json", &filled.text)) else { continue };
        let sections = listing(Some(&layers), &Surroundings::default(), false);
        let rows = sections.iter().flat_map(|section| &section.rows);
        let rows = rows.filter(|row| row.value.contains(MASK) && is_meant(row.name)).map(|row| row.name);
        let pages = entry.sources.iter().zip(["index4", "index6"]);
        let pages = pages.filter(|(sources, _)| sources.iter().any(|source| is_hidden(source))).map(|(_, name)| name);
        let of = if chosen.len() > 1 { format!(" of entry {}", place + 1) } else { String::new() };
        for field in rows.chain(pages).map(|name| format!("`{name}`{of}")) {
            if !all.contains(&field) {
                all.push(field);
            }
        }
    }
    all
}

/// Whether a source is a page whose URL is redacted.
fn is_hidden(source: &str) -> bool {
    source.starts_with("url:") && Source::parse(source).is_ok_and(|parsed| parsed.to_string() != source)
}

/// The names with commas; only the first three of many.
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

/// A source without possible secrets. A text that is no source may be anything.
fn shown(source: &str) -> String {
    Source::parse(source).map_or_else(|_| "…".to_owned(), |source| source.to_string())
}
