//! What an import says: what was taken over, what became something else, and what was not taken over (L14).

use super::Import;
use super::settings::{ImportNote, NotePart};
use crate::net::family::Family;
use crate::text::json::Value;
use crate::update::domain::Domain;

/// One line of the report.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// The number of the entry, for `--set`; none where it is about something else.
    pub entry: Option<usize>,
    /// Of the file; 0 where it has none.
    pub line: usize,
    /// What it is about.
    pub what: String,
    /// What there is to say.
    pub text: String,
    /// Whether updates are missing for that reason.
    pub sends: bool,
}

/// The three parts. `left` says why an entry is left out; nothing where it is written.
pub fn rows(import: &Import, left: &[Option<String>]) -> [Vec<ReportRow>; 3] {
    let [mut taken, mut changed, mut not_taken]: [Vec<ReportRow>; 3] = Default::default();
    for ((place, entry), left) in import.entries.iter().enumerate().zip(left) {
        let names =
            Family::ALL.map(|family| entry.domains[family.index()].iter().map(Domain::as_str).collect::<Vec<_>>());
        let described =
            Family::ALL.into_iter().zip(&names).filter(|(_, names)| !names.is_empty()).map(|(family, names)| {
                let sources = match entry.sources[family.index()].as_slice() {
                    [] => "default".to_owned(),
                    sources => sources.iter().map(|source| shown(source)).collect::<Vec<_>>().join(", "),
                };
                format!("{family}: {}, address from {sources}", listed(names))
            });
        let described = described.collect::<Vec<_>>().join("; ");
        let what = entry.recipe().map_or_else(|| format!("{} (its own URL)", entry.service), str::to_owned);
        let row = ReportRow { entry: Some(place + 1), line: entry.line, what, text: described, sends: false };
        match left {
            None => taken.push(row),
            Some(why) => {
                not_taken.push(ReportRow { text: format!("{}: {why}", listed(&names.concat())), sends: true, ..row });
            }
        }
    }
    for (name, value) in import.settings.iter().filter(|(name, _)| name == "interval" || name == "notify") {
        let text = match value {
            Value::String(text) => text.clone(),
            _ => "a sign of life and failures are reported as before".to_owned(),
        };
        taken.push(ReportRow { entry: None, line: 0, what: name.clone(), text, sends: false });
    }
    for ImportNote { line, what, text, part } in &import.notes {
        let row = ReportRow {
            entry: None,
            line: *line,
            what: what.clone(),
            text: text.clone(),
            sends: *part == NotePart::LeftOut,
        };
        if *part == NotePart::Changed { changed.push(row) } else { not_taken.push(row) }
    }
    [taken, changed, not_taken]
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
