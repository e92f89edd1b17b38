//! Applies the rows `>` and `%` of a table to a section. A key without a dot adds or replaces a field for the rows below; `-` only
//! makes a note. All other keys are the parts of an entry:
//!
//! ```text
//! .services                    with ` / ` between them, the most precise first; none: no entry
//! .names4 .names6              with commas. `.marks` are those letters that may follow a name: `?` before
//!                              parameters, `;` before an interface id, any other one before the zone
//! .except                      a pattern of names that are left out, for the reason that the note of the row gives
//! .index4 .index6              a source: as it is; `page:` and `pages:` (with commas) by their addresses; `known:`
//!                              those with `url:`, or by names; `list:` a line for each; `echo:` an address and
//!                              `cat:` a file, in quotes
//! .proxy .ssl .timeout .min_interval .cache_max_age .cache    settings; .interval, which is .least and .most so many seconds
//! .id .token .ttl .agent .expect .accept               a request
//! .notify.RECIPE.QUESTION                              an answer for a notification
//! ```
//!
//! The note of a row is `WHAT: TEXT`. WHAT begins with a field, and the note gets its line.

use std::cell::RefCell;
use std::collections::BTreeSet;

use regex_lite::Regex;

use super::settings::{EntryFields, NotePart, PeerFile, PeerSection, PeerSurroundings};
use super::table::{MeaningRow, PeerTable, filled};
use crate::net::family::Family;
use crate::net::url::percent_decode;
use crate::text::json::Value;
use crate::text::shell;

/// The built-in pages of clients, which `public` replaces.
const PAGES: &str = "checkip.dyndns.org checkip.dyndns.com freedns.afraid.org domains.google.com checkip.dns.he.net \
    api.ipify.org api4.ipify.org api6.ipify.org api64.ipify.org myonlineportal.net ip1.dynupdate.no-ip.com \
    ip1.dynupdate6.no-ip.com ipv4.nsupdate.info ipv6.nsupdate.info dynamic.zoneedit.com freemyip.com myip.ipip.net \
    ddns.oray.com ip.3322.net 4.ipw.cn 6.ipw.cn v4.yinghualuo.cn v6.yinghualuo.cn speed.neu6.edu.cn v6.ident.me \
    v4.ident.me checkipv6.dynu.com checkip.zerigo.com checkip.two-dns.de dns.loopia.se ifconfig.me ipv4.icanhazip.com \
    ipv6.icanhazip.com icanhazip.com";

/// The source for a page (L10).
pub(super) fn page(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.split(':').next().unwrap_or_default();
    // At https://1.1.1.1/cdn-cgi/trace, the first address is 1.1.1.1 itself, so `url:` cannot read this page.
    let is_public = path.starts_with("cdn-cgi/trace") || PAGES.split(' ').any(|known| known == host);
    if is_public { "public".to_owned() } else { format!("url:{url}") }
}

/// Reads a duration: `300`, `5m` or `1h30m`. A number without a unit is in seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 5] =
        [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400), ("weeks", 604_800)];
    let (mut sum, mut rest) = (0_u64, text.trim());
    loop {
        let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let next = unit.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: u64 = rest[..rest.len() - unit.len()].parse().ok()?;
        let (_, factor) = UNITS.iter().find(|(name, _)| name.starts_with(&unit[..unit.len() - next.len()]))?;
        sum = sum.checked_add(number.checked_mul(*factor)?)?;
        rest = next.trim_start();
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

/// Why ddns cannot take the value of a key; an empty one means none.
fn unfit(key: &str, text: &str, around: &PeerSurroundings<'_>) -> Option<&'static str> {
    let is_word = |text: &str| ["true", "false", "auto"].iter().any(|word| word.eq_ignore_ascii_case(text));
    if key == ".ssl" && !text.is_empty() && !is_word(text) && (around.read)(text).is_err() {
        return Some("the file cannot be read here; copy it, and set `ssl` to its path");
    }
    (!is_valid(key, text)).then_some("ddns cannot take this value; set it yourself")
}

fn is_valid(key: &str, text: &str) -> bool {
    let most = match key {
        _ if text.is_empty() => return true,
        ".ttl" => return text.parse::<u32>().is_ok(),
        ".timeout" => 3600,
        ".interval" | ".min_interval" | ".cache_max_age" => u64::MAX,
        _ => return true,
    };
    // 0: an address is always sent.
    let least = u64::from(key != ".cache_max_age");
    seconds(text).is_some_and(|number| (least..=most).contains(&number))
}

/// A duration for the configuration.
pub(super) fn span(seconds: u64) -> Value {
    Value::String(if seconds.is_multiple_of(60) { format!("{}m", seconds / 60) } else { format!("{seconds}s") })
}

/// A name to update, from the other client's file.
#[derive(Debug)]
pub(super) struct PeerName {
    pub(super) name: String,
    /// The zone; `None` if the file does not say.
    pub(super) zone: Option<String>,
    pub(super) interface_id: Option<String>,
    /// Parameters for the requests of this name.
    pub(super) parameters: Vec<(String, String)>,
}

impl PeerSection {
    /// Applies the rows to this section. Returns why names that match `.except` are left out.
    pub(super) fn take_meanings(
        &mut self,
        rows: &[MeaningRow],
        around: &PeerSurroundings<'_>,
        file: &mut PeerFile,
    ) -> String {
        // Only rows may set keys that begin with a dot, not the file.
        self.fields.0.retain(|name, _| !name.starts_with('.') || matches!(&**name, ".kind" | ".name"));
        let (mut known, mut except) = (BTreeSet::new(), String::new());
        for row in rows {
            if known.contains(&row.key) {
                continue;
            }
            let read = RefCell::new(Vec::new());
            // With a `$` before its name, also the value of a variable.
            let value = |name: &str| {
                let variable = name.strip_prefix('$');
                let setting = self.fields.find(variable.unwrap_or(name));
                read.borrow_mut().extend(setting.cloned());
                let value = setting.and_then(|setting| setting.text()).map(str::to_owned);
                value.or_else(|| (around.variable)(variable?))
            };
            let Some((text, note)) = row.holds(&value) else { continue };
            let read = read.into_inner();
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
                    for setting in &read {
                        setting.mark();
                    }
                }
                _ => {}
            }
            if row.key != "-" {
                known.insert(&row.key);
                match (unfit(&row.key, &text, around), read.first()) {
                    (None, _) => self.fields.give_from(&row.key, text, read),
                    (Some(why), Some(setting)) => {
                        file.note(NotePart::Dropped, setting.line, &setting.name, why);
                        for setting in &read {
                            setting.mark();
                        }
                    }
                    (Some(_), None) => {}
                }
            }
        }
        except
    }

    /// The names of a family. Names that are left out are noted, with the reason `except`.
    pub(super) fn names(&self, family: Family, except: &str, file: &mut PeerFile) -> Vec<PeerName> {
        let get = |key: &str| self.fields.get(key).unwrap_or_default();
        let mut names = names(get([".names4", ".names6"][family.index()]), get(".marks"));
        let pattern = self.fields.get(".except").and_then(|pattern| Regex::new(&format!("(?i){pattern}")).ok());
        let is_left_out = |name: &mut PeerName| pattern.as_ref().is_some_and(|pattern| pattern.is_match(&name.name));
        for name in names.extract_if(.., is_left_out) {
            let service = get(".services").split(" / ").next().unwrap_or_default();
            file.left_out(self.line, &format!("{service} ({})", name.name), except);
        }
        names
    }

    /// The sources of a family, without duplicates.
    pub(super) fn sources(&self, family: Family) -> Vec<String> {
        let mut all = Vec::new();
        for source in self.fields.get([".index4", ".index6"][family.index()]).into_iter().flat_map(sources) {
            if !all.contains(&source) {
                all.push(source);
            }
        }
        all
    }

    /// The settings for the entries of this section.
    pub(super) fn settings(&self) -> EntryFields {
        let setting = |name: &'static str| {
            let text = self.fields.get(&format!(".{name}"))?;
            let number = seconds(text);
            let value = match name {
                "proxy" => Value::list(text.split(['\n', ';']).map(Value::string)),
                "ssl" | "cache" => text.parse().map_or_else(|_| Value::string(text), Value::Bool),
                "min_interval" => span(number?),
                _ => Value::Number(number?.to_string()),
            };
            Some((name, value))
        };
        ["proxy", "ssl", "timeout", "min_interval", "cache_max_age", "cache"].into_iter().filter_map(setting).collect()
    }

    /// Adds the interval and the notifications, which are for the whole file.
    pub(super) fn add_to(&self, file: &mut PeerFile) {
        let span = |key: &str| self.fields.get(key).and_then(seconds);
        let every = span(".interval");
        let every = every.map(|every| every.max(span(".least").unwrap_or(0)).min(span(".most").unwrap_or(u64::MAX)));
        // The shortest interval wins (L11).
        file.interval = [file.interval, every].into_iter().flatten().min();
        for setting in self.fields.0.values() {
            if let Some((recipe, question)) = setting.name.strip_prefix(".notify.").and_then(|it| it.split_once('.')) {
                setting.mark();
                let answers = file.notify.entry(recipe.to_owned()).or_default();
                answers.insert(question.to_owned(), setting.value.clone());
            }
        }
    }

    /// The request, if the section has its own URL.
    pub(super) fn request_by(&self, table: PeerTable) -> Option<EntryFields> {
        let get = |key: &str| self.fields.get(key);
        let mut parts = [get(".id")?.to_owned(), get(".token").unwrap_or_default().to_owned()];
        let mut extra = Vec::new();
        for row in table.lines("% ").filter(|row| !row.contains('*')) {
            let mut words = row.split(' ');
            let (mark, ours) = (words.next()?, filled(words.next()?, &|name| get(name).map(str::to_owned))?);
            for part in &mut parts {
                // A NUL stands for it until the other marks are replaced: `%%h` is no `%h`.
                *part = part.replace(mark, if mark == "%%" { "\0" } else { &ours });
            }
            if let Some(field) = words.next().filter(|_| parts.iter().any(|part| part.contains(&ours))) {
                extra.push((ours, Value::string(get(field).unwrap_or_default())));
            }
        }
        let [id, token] = parts.map(|part| part.replace('\0', "%"));
        // ddns-go decides in the same way.
        let is_form = !token.trim_start().is_empty() && !token.trim_start().starts_with(['{', '[']);
        let accept = get(".accept").map(|accept| Value::object([("accept", Value::string(accept))]));
        let all = [
            ("id", Some(Value::String(id.replace(' ', "%20")))),
            ("format", is_form.then(|| Value::string("form"))),
            ("token", Some(token).filter(|token| !token.is_empty()).map(Value::String)),
            ("ttl", get(".ttl").and_then(|ttl| Some(Value::Number(ttl.parse::<u32>().ok()?.to_string())))),
            ("headers", get(".agent").map(|agent| Value::object([("User-Agent", Value::string(agent))]))),
            ("expect", accept.or_else(|| get(".expect").map(Value::string))),
            ("extra", Some(extra).filter(|extra| !extra.is_empty()).map(Value::object)),
        ];
        Some(all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

fn sources(text: &str) -> Vec<String> {
    match text.split_once(':') {
        Some(("page", url)) => vec![page(url)],
        Some(("pages", urls)) => urls.split(',').map(|url| page(url.trim())).collect(),
        Some(("known", pages)) => {
            let pages = pages.split(',').map(str::trim).filter(|page| !page.is_empty());
            pages.map(|known| known.strip_prefix("url:").map_or_else(|| "public".to_owned(), page)).collect()
        }
        Some(("list", lines)) => lines.lines().map(str::to_owned).collect(),
        // Quote the word: data must not become a command.
        Some((program @ ("echo" | "cat"), word)) => vec![format!("shell:{program} {}", shell::quote(word.trim()))],
        _ => vec![text.to_owned()],
    }
}

/// The placeholder for a parameter of the file.
pub(super) fn variable(key: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("__P_{}__", key.chars().map(plain).collect::<String>())
}

/// Replaces the marks of a domain's own parameters in a request by their placeholders. Fails with a mark that has no value: the other
/// client sends it as it is.
pub(super) fn put_parameters(
    request: &mut EntryFields,
    table: PeerTable,
    parameters: &[(String, String)],
) -> Result<(), String> {
    let Some((start, end)) = table.lines("% ").find_map(|row| row.split(' ').next()?.split_once('*')) else {
        return Ok(());
    };
    for (_, value) in request {
        let Value::String(text) = value else { continue };
        for (key, _) in parameters {
            *text = text.replace(&format!("{start}{key}{end}"), &variable(key));
        }
        if let Some((name, _)) = text.split_once(start).and_then(|(_, rest)| rest.split_once(end)) {
            // Something else between the marks may be secret.
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            let name = if name.chars().all(is_name) { name } else { "…" };
            return Err(format!("{start}{name}{end}"));
        }
    }
    Ok(())
}

/// Splits a list of names at commas and lines. `marks` are the characters that may follow a name.
fn names(list: &str, marks: &str) -> Vec<PeerName> {
    let all = list.split([',', '\n']).map(str::trim).filter(|written| !written.is_empty());
    let split = |text: &str, mark: char| {
        let (before, behind) = text.split_once(mark).filter(|_| marks.contains(mark)).unwrap_or((text, ""));
        (before.to_owned(), behind.to_owned())
    };
    let name = |written: &str| {
        let (written, id) = split(written, ';');
        let (written, parameters) = split(&written, '?');
        let decoded = |text: &str| percent_decode(&text.replace('+', " "));
        let parameters = parameters.split('&').filter_map(|pair| pair.split_once('='));
        let parameters = parameters.map(|(key, value)| (decoded(key), decoded(value))).collect();
        let (name, zone) = match written.split_once(|letter| marks.contains(letter)) {
            Some(("" | "@", zone)) => (zone.to_owned(), Some(zone.to_owned())),
            Some((host, zone)) => (format!("{host}.{zone}"), Some(zone.to_owned())),
            None => (written, None),
        };
        PeerName { name, zone, interface_id: Some(id).filter(|id| !id.is_empty()), parameters }
    };
    all.map(name).collect()
}
