//! What a section means here, by the rows `>` and `%` of a table. A key without a dot is one more field, for the rows below it, in
//! place of one of that name; `-` only says something. The others are what an entry is made of:
//!
//! ```text
//! .services                    with ` / ` between them, the most precise first; none: no entry
//! .names4 .names6              with commas. `.marks` are those letters that may follow a name: `?` before
//!                              parameters, `;` before an interface id, any other one before the zone
//! .except                      a pattern of names that are left out, for the reason that the note of the row gives
//! .index4 .index6              a source: as it is; `page:` and `pages:` (with commas) by their addresses;
//!                              `echo:` an address and `cat:` a file, in quotes
//! .proxy .ssl .timeout .min_interval .cache_max_age .cache    settings; .interval, which is .least and .most so many seconds
//! .id .token .ttl .expect .accept                      a request
//! .notify.RECIPE.QUESTION                              an answer for a notification
//! ```
//!
//! The note of a row is `WHAT: TEXT`; WHAT begins with the field whose line it is about.

use std::collections::BTreeSet;

use regex_lite::Regex;

use super::settings::{ImportNote, NotePart, PeerFile, PeerName, PeerSection, PeerSurroundings};
use super::table::{MeaningRow, PeerTable, filled};
use crate::net::url::percent_decode;
use crate::text::json::{Dialect, Value, parse};
use crate::text::shell;

/// Pages that clients have built in: what they say, `public` finds out as well.
const PAGES: &str = "checkip.dyndns.org checkip.dyndns.com freedns.afraid.org domains.google.com checkip.dns.he.net \
    api.ipify.org api4.ipify.org api6.ipify.org api64.ipify.org myonlineportal.net ip1.dynupdate.no-ip.com \
    ip1.dynupdate6.no-ip.com ipv4.nsupdate.info ipv6.nsupdate.info dynamic.zoneedit.com freemyip.com myip.ipip.net \
    ddns.oray.com ip.3322.net 4.ipw.cn 6.ipw.cn v4.yinghualuo.cn v6.yinghualuo.cn speed.neu6.edu.cn v6.ident.me \
    v4.ident.me checkipv6.dynu.com checkip.zerigo.com checkip.two-dns.de dns.loopia.se ifconfig.me ipv4.icanhazip.com \
    ipv6.icanhazip.com icanhazip.com";

/// The source that a page becomes (L10).
pub(super) fn page(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.split(':').next().unwrap_or_default();
    // The page of 1.1.1.1 names that address before the caller's.
    let is_public = url == "public" || path.starts_with("cdn-cgi/trace") || PAGES.split(' ').any(|known| known == host);
    if is_public { "public".to_owned() } else { format!("url:{url}") }
}

/// A span of time: numbers with units, `300`, `5m`, `1h30m`; without a unit they are seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (mut sum, mut rest) = (0_u64, text.trim());
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let factor = match &rest[digits..rest.len() - unit.len()] {
            "" | "s" | "second" | "seconds" => 1,
            "m" | "minute" | "minutes" => 60,
            "h" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            "w" | "week" | "weeks" => 604_800,
            _ => return None,
        };
        sum = sum.checked_add(number.checked_mul(factor)?)?;
        rest = unit.trim_start();
    }
    Some(sum).filter(|_| !text.trim().is_empty())
}

/// A span of time as a configuration has it.
pub(super) fn span(seconds: u64) -> Value {
    Value::String(if seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") })
}

/// Does what a table says, for all sections.
pub(super) fn follow(file: &mut PeerFile, table: PeerTable, around: &PeerSurroundings<'_>) {
    let rows = table.meanings();
    let mut sections = std::mem::take(&mut file.sections);
    for section in &mut sections {
        // What begins with a dot is ours to say.
        section.fields.0.retain(|field| !field.name.starts_with('.') || matches!(&*field.name, ".kind" | ".name"));
        let is_left_out = |note: &ImportNote| note.part == NotePart::LeftOut;
        let before = file.notes.iter().filter(|note| is_left_out(note)).count();
        let except = section.take_meanings(&rows, around, file);
        section.take_entry(table, except, file);
        let has_more = file.notes.iter().filter(|note| is_left_out(note)).count() > before;
        if has_more && section.names.iter().all(Vec::is_empty) {
            // That is said once.
            section.fields.take_all(&file.globals);
        }
    }
    sections.retain(|section| !section.services.is_empty());
    file.sections = sections;
}

impl PeerSection {
    /// A field, or a variable where it begins with `$`.
    fn value(&self, name: &str, around: &PeerSurroundings<'_>) -> Option<String> {
        let variable = name.strip_prefix('$');
        let value = self.fields.get(variable.unwrap_or(name)).map(str::to_owned);
        value.or_else(|| (around.variable)(variable?))
    }

    /// Sets what the rows say. Gives why some names are left out, where a row has that.
    fn take_meanings(&mut self, rows: &[MeaningRow], around: &PeerSurroundings<'_>, file: &mut PeerFile) -> String {
        let (mut known, mut except) = (BTreeSet::new(), String::new());
        for row in rows {
            if known.contains(&row.key) {
                continue;
            }
            let Some((text, note)) = row.holds(&|name| self.value(name, around)) else { continue };
            match (&row.note, note.split_once(": ")) {
                (Some(_), _) if row.key == ".except" => except = note,
                (Some((mark, _)), Some((what, note))) => {
                    let part = match mark {
                        '!' => NotePart::LeftOut,
                        '-' => NotePart::Dropped,
                        _ => NotePart::Changed,
                    };
                    let line = self.fields.line(what.split(['=', ' ']).next().unwrap_or_default());
                    file.note(part, if line > 0 { line } else { self.line }, what, note);
                }
                _ => {}
            }
            if row.key != "-" {
                known.insert(&row.key);
                self.fields.give(&row.key, text);
            }
        }
        except
    }

    /// Reads what an entry is made of.
    fn take_entry(&mut self, table: PeerTable, except: String, file: &mut PeerFile) {
        let get = |key: &str| self.fields.get(key);
        self.services = get(".services").unwrap_or_default().split(" / ").map(str::to_owned).collect();
        self.services.retain(|service| !service.is_empty());
        let Some(service) = self.services.first() else { return };
        let except = get(".except").and_then(|pattern| Regex::new(&format!("(?i){pattern}")).ok()).zip(Some(except));
        for (family, version) in ["4", "6"].into_iter().enumerate() {
            let listed = get(&format!(".names{version}")).unwrap_or_default();
            let mut names = names(listed, get(".marks").unwrap_or_default());
            if let Some((pattern, why)) = &except {
                for name in names.extract_if(.., |name| pattern.is_match(&name.name)) {
                    file.left_out(self.line, &format!("{service} ({})", name.name), why.as_str());
                }
            }
            self.names[family].extend(names);
            for source in get(&format!(".index{version}")).into_iter().flat_map(sources) {
                if !self.sources[family].contains(&source) {
                    self.sources[family].push(source);
                }
            }
        }
        let bound = |key: &str, default| get(key).and_then(seconds).unwrap_or(default);
        let every = get(".interval").and_then(seconds);
        let every = every.map(|every| every.max(bound(".least", 0)).min(bound(".most", u64::MAX)));
        // Of several intervals the shortest counts (L11).
        file.interval = [file.interval, every].into_iter().flatten().min();
        for name in ["proxy", "ssl", "timeout", "min_interval", "cache_max_age", "cache"] {
            let Some(text) = get(&format!(".{name}")) else { continue };
            let number = seconds(text).filter(|number| *number > 0);
            let value = match name {
                "proxy" => Some(Value::list(text.split('\n').map(Value::string))),
                "ssl" | "cache" => Some(text.parse().map_or_else(|_| Value::string(text), Value::Bool)),
                "min_interval" => number.map(span),
                "timeout" => number.filter(|number| *number <= 3600).map(|number| Value::Number(number.to_string())),
                _ => number.map(|number| Value::Number(number.to_string())),
            };
            self.settings.extend(value.map(|value| (name, value)));
        }
        for setting in &self.fields.0 {
            if let Some((recipe, question)) = setting.name.strip_prefix(".notify.").and_then(|it| it.split_once('.')) {
                let answers = file.notify.entry(recipe.to_owned()).or_default();
                answers.insert(question.to_owned(), setting.value.clone());
            }
        }
        let request = self.request_by(table);
        self.request = self.request.take().or(request);
    }

    /// The request of its own URL.
    fn request_by(&self, table: PeerTable) -> Option<Vec<(&'static str, Value)>> {
        let get = |key: &str| self.fields.get(key);
        let mut parts = [get(".id")?.to_owned(), get(".token").unwrap_or_default().to_owned()];
        let mut extra = Vec::new();
        for row in table.lines("% ") {
            let mut words = row.split(' ');
            let (mark, ours) = (words.next()?, filled(words.next()?, &|name| get(name).map(str::to_owned))?);
            for part in &mut parts {
                *part = match mark.split_once('*') {
                    Some((start, end)) => named_variables(part, start, end),
                    None => part.replace(mark, &ours),
                };
            }
            if let Some(field) = words.next().filter(|_| parts.iter().any(|part| part.contains(&ours))) {
                extra.push((ours, Value::string(get(field).unwrap_or_default())));
            }
        }
        let [id, token] = parts;
        let is_form = !token.is_empty() && parse(&token, Dialect::TOKEN).is_err();
        let accept = get(".accept").map(|accept| Value::object([("accept", Value::string(accept))]));
        let all = [
            ("id", Some(Value::String(id.replace(' ', "%20")))),
            ("format", is_form.then(|| Value::string("form"))),
            ("token", Some(Value::String(token)).filter(|token| token.text() != Some(""))),
            ("ttl", get(".ttl").filter(|ttl| ttl.parse::<u32>().is_ok()).map(|ttl| Value::Number(ttl.to_owned()))),
            ("expect", accept.or_else(|| get(".expect").map(Value::string))),
            (
                "extra",
                (!extra.is_empty())
                    .then(|| Value::object(extra.iter().map(|(name, value)| (name.as_str(), value.clone())))),
            ),
        ];
        Some(all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

fn sources(text: &str) -> Vec<String> {
    match text.split_once(':') {
        Some(("page", url)) => vec![page(url)],
        Some(("pages", urls)) => urls.split(',').map(|url| page(url.trim())).collect(),
        // What was data does not become a program.
        Some((program @ ("echo" | "cat"), word)) => vec![format!("shell:{program} {}", shell::quote(word.trim()))],
        _ => vec![text.to_owned()],
    }
}

/// A variable of the file's own by a name that ddns takes.
pub(super) fn variable(key: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("__P_{}__", key.chars().map(plain).collect::<String>())
}

/// A text in which what stands between two marks is the name of a variable.
fn named_variables(text: &str, start: &str, end: &str) -> String {
    let mut parts = text.split(start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once(end) {
        Some((name, rest)) => format!("{text}{}{rest}", variable(name)),
        None => format!("{text}{start}{part}"),
    })
}

/// Names with commas between them, or one on each line; `marks` may stand behind each.
fn names(list: &str, marks: &str) -> Vec<PeerName> {
    let all = list.split([',', '\n']).map(str::trim).filter(|written| !written.is_empty());
    let split = |text: &str, mark: char| {
        let (before, behind) = text.split_once(mark).filter(|_| marks.contains(mark)).unwrap_or((text, ""));
        (before.to_owned(), behind.to_owned())
    };
    let name = |written: &str| {
        let (written, id) = split(written, ';');
        let (written, parameters) = split(&written, '?');
        let mut rest = Vec::new();
        if !id.is_empty() {
            rest.push(("interface_id", Value::string(id)));
        }
        let decoded = |text: &str| percent_decode(&text.replace('+', " "));
        let parameters = parameters.split('&').filter_map(|pair| pair.split_once('='));
        let parameters = parameters.map(|(key, value)| (decoded(key), decoded(value))).collect();
        let (name, zone) = match written.split_once(|letter| marks.contains(letter)) {
            Some(("" | "@", zone)) => (zone.to_owned(), Some(zone.to_owned())),
            Some((host, zone)) => (format!("{host}.{zone}"), Some(zone.to_owned())),
            None => (written, None),
        };
        PeerName { name, zone, rest, parameters }
    };
    all.map(name).collect()
}
