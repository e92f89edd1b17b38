//! A check as text and as JSON.

use ddns_core::config::listing::SettingRow;
use ddns_core::net::family::Family;
use ddns_core::net::reach::doubtful;
use ddns_core::object;
use ddns_core::text::diagnostic::{Diagnostic, Severity};
use ddns_core::text::number::grouped;
use ddns_core::text::screen;
use serde::Serialize;

use super::{CheckReport, Online};
use crate::http::ProbeStep;
use crate::output::json;
use crate::output::layout::{broken, complaint, first_lines, folded, folded_beside};
use ddns_core::address::lookup::Lookup;

/// The column in which origins begin, if the value leaves room.
const ORIGINS: usize = 56;

/// How many columns are reserved for origins on a narrow screen.
const BESIDE: usize = 24;

/// How many lines of a value are shown.
const MAX_VALUE_LINES: usize = 4;

impl CheckReport {
    pub(super) fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for (name, sections) in &self.listings {
            let is_of_file = !name.is_empty();
            let name = if is_of_file { name } else { "Environment and options" };
            for section in sections.iter().filter(|section| is_of_file || !section.rows.is_empty()) {
                let entry = section.entry.map(|entry| format!(", providers[{entry}]")).unwrap_or_default();
                text += &folded_beside("", &format!("{name}{entry}"), 0, width, usize::MAX);
                let column = section.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
                text.extend(section.rows.iter().map(|row| setting(row, column, width)));
                text.push('\n');
            }
        }
        if let Some(online) = &self.online {
            text += &online.text(width);
        } else if self.is_left_out {
            text += "Nothing was tested online: fix the errors first.\n\n";
        }
        for diagnostic in &self.diagnostics {
            text += &complaint(diagnostic, width);
        }
        text + if self.diagnostics.is_empty() { "" } else { "\n" } + &broken(&self.closing(), 0, width)
    }

    /// `No errors, 2 warnings.`
    fn closing(&self) -> String {
        let count = |severity| {
            let meant = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity);
            let (count, name) = (meant.map(|diagnostic| diagnostic.count).sum(), severity.key());
            match count {
                0 => format!("no {name}s"),
                1 => format!("1 {name}"),
                _ => format!("{} {name}s", grouped(count)),
            }
        };
        let online = match &self.online {
            Some(online) if !online.is_fine() => " Some online checks failed: see ✗ above.",
            _ => "",
        };
        let counts = format!("{}, {}.{online}", count(Severity::Error), count(Severity::Warning));
        counts.replacen("no e", "No e", 1)
    }

    pub(super) fn json(&self) -> String {
        let rows = self.listings.iter().flat_map(|(name, sections)| {
            let file = Some(name).filter(|name| !name.is_empty());
            let rows = sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section.entry, row)));
            rows.map(move |(entry, SettingRow { name, value, origin, .. })| {
                object! { file: file, entry: entry, field: name, value: value, origin: origin }
            })
        });
        json(&object! {
            settings: rows.collect::<Vec<_>>(),
            errors: findings(&self.diagnostics, Severity::Error),
            warnings: findings(&self.diagnostics, Severity::Warning);
            addresses: self.online.as_ref().map(Online::addresses_json),
            origins: self.online.as_ref().map(Online::origins_json),
        })
    }
}

/// The diagnostics of one severity, for JSON.
pub(in crate::commands) fn findings(all: &[Diagnostic], severity: Severity) -> Vec<impl Serialize> {
    let one = |Diagnostic { place, message, hint, .. }: &Diagnostic| {
        let place = place.to_string().trim_end_matches(": ").to_owned();
        object! { place: place, message: message.clone(), hint: hint.clone() }
    };
    all.iter().filter(|diagnostic| diagnostic.severity == severity).map(one).collect()
}

/// `  ttl = 300   config.json:7`; the origin goes below a value that leaves no room.
fn setting(row: &SettingRow, column: usize, width: usize) -> String {
    let indent = column + 5;
    let mut lines = first_lines(folded(&row.value, width - indent), MAX_VALUE_LINES);
    let last = lines.last().map_or(0, |line| indent + line.chars().count());
    let origin = screen::line(&row.origin);
    let room = width.saturating_sub(origin.chars().count()).min(ORIGINS).min(width - BESIDE);
    if last + 2 + origin.chars().count() <= width {
        let blanks = " ".repeat(room.saturating_sub(last).max(2));
        lines.last_mut().into_iter().for_each(|line| *line += &format!("{blanks}{origin}"));
    } else {
        let blanks = " ".repeat(room.saturating_sub(indent));
        let below = folded(&origin, width - indent - blanks.len());
        lines.extend(below.iter().map(|line| format!("{blanks}{line}")));
    }
    let mut text = format!("  {:<column$} = ", row.name);
    text += &lines.join(&format!("\n{}", " ".repeat(indent)));
    text.push('\n');
    text
}

/// `  ✓ TLS          TLS 1.3; the certificate is verified`
fn step(name: &str, result: &Result<String, String>, width: usize) -> String {
    match result {
        Ok(detail) => marked('✓', name, detail, width),
        Err(why) => marked('✗', name, why, width),
    }
}

fn marked(mark: char, name: &str, detail: &str, width: usize) -> String {
    folded_beside(&format!("  {mark} {name}"), detail, 17, width, usize::MAX)
}

impl Online {
    fn text(&self, width: usize) -> String {
        let mut text = String::from("Addresses\n");
        if self.addresses.is_empty() {
            text += "  not needed: every family with domains is turned off\n";
        }
        for (family, lookup) in &self.addresses {
            for (source, why) in lookup.failed() {
                // A source that fails does no harm if another one returns an address.
                let mark = if lookup.address().is_some() { '·' } else { '✗' };
                text += &marked(mark, &family.to_string(), &format!("{source} gave no address: {why}"), width);
            }
            if let Some(why) = lookup.behind_nat() {
                text += &marked('!', "", &format!("warning: {why}"), width);
            }
            if let Some((source, choice)) = lookup.found() {
                text += &step(&family.to_string(), &Ok(format!("{}, from {source}: {}", choice.ip, choice.why)), width);
                if let Some(why) = doubtful(choice.ip) {
                    text += &marked('!', "", &format!("warning: {why}"), width);
                }
            }
        }
        for (origin, steps) in &self.origins {
            text.push('\n');
            text += &folded_beside("", origin, 0, width, usize::MAX);
            text.extend(steps.iter().map(|one| step(one.name, &one.result, width)));
        }
        text.push('\n');
        text
    }

    fn addresses_json(&self) -> Vec<impl Serialize> {
        let address = |(family, lookup): &(Family, Lookup)| {
            let (found, failed) = (lookup.found(), lookup.failed().map(|(source, why)| format!("{source}: {why}")));
            object! {
                r#type: *family,
                address: found.map(|(_, choice)| choice.ip),
                source: found.map(|(source, _)| source.to_owned()),
                failed: failed.collect::<Vec<_>>(),
            }
        };
        self.addresses.iter().map(address).collect()
    }

    fn origins_json(&self) -> Vec<impl Serialize> {
        let step = |ProbeStep { name, result }: &ProbeStep| {
            let detail = result.as_ref().unwrap_or_else(|why| why).clone();
            object! { step: *name, ok: result.is_ok(), detail: detail }
        };
        let steps = |steps: &[ProbeStep]| steps.iter().map(step).collect::<Vec<_>>();
        self.origins.iter().map(|(origin, all)| object! { origin: origin, steps: steps(all) }).collect()
    }
}
