//! The configuration of NewFuture/DDNS, for any provider.

use super::cursor::TextCursor;
use super::settings::{NotePart, PeerError, PeerFile, PeerName, PeerSection, PeerSettings, cron, line_at, scalar};
use crate::text::json::{Dialect, Member, Node, Value, parse, push_string};

/// Fields of an entry that mean the same here.
const SAME: [&str; 5] = ["proxy", "ssl", "cache_max_age", "timeout", "cache"];

/// What the request of a callback is made of.
const REQUEST: [&str; 9] = ["id", "token", "endpoint", "ttl", "line", "extra", "method", "headers", "format"];

/// The object of a text: JSON with comments, or a Python literal.
pub(super) fn object(text: &str) -> Option<Node> {
    let root = parse(text, Dialect::CONFIG).or_else(|_| parse(&as_json(text), Dialect::CONFIG)).ok()?;
    let is_ours = root.value.member("dns").is_some() || root.value.member("providers").is_some();
    is_ours.then_some(root)
}

/// A Python literal as JSON on the same lines.
fn as_json(text: &str) -> String {
    let (mut at, mut json) = (TextCursor::new(text), String::new());
    while let Some(letter) = at.peek() {
        match letter {
            '\'' | '"' => {
                at.take();
                let mut word = String::new();
                loop {
                    match at.take() {
                        None => break,
                        Some(end) if end == letter => break,
                        Some('\\') => match at.take() {
                            Some('n') => word.push('\n'),
                            Some('t') => word.push('\t'),
                            Some('x') => word.push(at.code(16, 2)),
                            Some('u') => word.push(at.code(16, 4)),
                            other => word.extend(other),
                        },
                        Some(other) => word.push(other),
                    }
                }
                push_string(&mut json, &word);
            }
            '#' => drop(at.take_while(|letter| letter != '\n')),
            '(' | ')' => {
                at.take();
                json.push(if letter == '(' { '[' } else { ']' });
            }
            _ if letter.is_ascii_alphabetic() => {
                json += match at.take_while(|letter| letter.is_ascii_alphanumeric()) {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    other => other,
                };
            }
            _ => json.extend(at.take()),
        }
    }
    json
}

/// Reads an object, or variables as one.
pub(super) fn read(root: &Node, text: &str, file: &mut PeerFile) -> Result<(), PeerError> {
    let members = root.value.members().unwrap_or_default();
    let outer: Vec<Member> = members.iter().filter(|member| member.key != "providers").cloned().collect();
    let entries = match root.value.member("providers") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(_) => return Err(PeerError::new(0, "`providers` is not a list")),
        None => vec![root],
    };
    for entry in entries {
        let own = entry.value.members().unwrap_or_default();
        let inherited = outer.iter().filter(|member| own.iter().all(|known| known.key != member.key));
        let all: Vec<Member> = own.iter().chain(inherited).cloned().collect();
        let value = Node { value: Value::Object(all), span: entry.span };
        let section = section(&value, text, file);
        file.sections.push(section);
    }
    let whole = PeerSettings::of_object(&Node { value: Value::Object(outer), span: root.span }, text);
    for name in ["level", "file", "format", "datefmt"] {
        let value = whole.get(&format!("log.{name}")).or_else(|| whole.get(&format!("log_{name}")));
        file.settings.extend(value.map(|value| (format!("log.{name}"), Value::string(value))));
    }
    if whole.flag("debug") == Some(true) {
        file.settings.push(("debug".to_owned(), Value::Bool(true)));
    }
    match whole.get("cron").map(|line| (line, cron(line))) {
        Some((_, Some(seconds))) => file.every(Some(seconds)),
        Some(_) => file.changed(whole.line("cron"), "DDNS_CRON", "not set: ddns has intervals, no schedule"),
        None => {}
    }
    Ok(())
}

fn section(entry: &Node, text: &str, file: &mut PeerFile) -> PeerSection {
    let line = line_at(text, entry.span.start);
    let fields = PeerSettings::of_object(entry, text);
    let service = fields.get("provider").or_else(|| fields.get("dns")).unwrap_or_default().to_lowercase();
    let mut section = PeerSection { line, services: vec![service.clone()], ..PeerSection::default() };
    for (place, (list, index)) in [("ipv4", "index4"), ("ipv6", "index6")].into_iter().enumerate() {
        let names = fields.get(list).map(|names| split(names, false)).unwrap_or_default();
        let sources = fields.get(index).map(|sources| match entry.value.member(index) {
            Some(Value::Array(items)) => items.iter().map(|item| scalar(&item.value)).collect(),
            _ => split(sources, true),
        });
        let sources = sources.unwrap_or_default();
        if matches!(sources.as_slice(), [only] if matches!(only.to_lowercase().as_str(), "false" | "none")) {
            if !names.is_empty() {
                file.note(NotePart::Dropped, fields.line(list), list, format!("it is switched off there (`{index}`)"));
            }
            continue;
        }
        section.names[place] = names.iter().map(|name| domain(name)).collect();
        section.sources[place] = sources;
    }
    for name in SAME {
        let value = entry.value.member(name).filter(|value| **value != Value::Null && fields.get(name).is_some());
        match value {
            Some(Value::String(path))
                if name == "cache" && !matches!(path.to_lowercase().as_str(), "true" | "false") =>
            {
                file.changed(fields.line(name), name, "not set: ddns keeps a cache of its own");
            }
            Some(Value::Bool(true)) if name == "cache" => {}
            Some(value) => section.settings.push((name, value.clone())),
            None => {}
        }
    }
    if matches!(service.as_str(), "callback" | "webhook" | "http") {
        let field = |name| fields.get(name).and(entry.value.member(name)).or_else(|| entry.value.member(name));
        let used = |name: &&'static str| {
            field(*name).filter(|value| **value != Value::Null).map(|value| (*name, value.clone()))
        };
        section.request = Some(REQUEST.iter().filter_map(used).collect());
        let is_part =
            |name: &str| name.starts_with("token.") || name.starts_with("extra.") || name.starts_with("headers.");
        fields.0.iter().filter(|field| is_part(&field.name)).for_each(|field| field.is_used.set(true));
    }
    section.fields = fields;
    section
}

/// A list in a text: with commas, else with semicolons. What follows `url:` and the like is one source.
fn split(text: &str, is_sources: bool) -> Vec<String> {
    let text = text.trim().trim_matches(['[', ']']);
    let is_whole = |text: &str| ["url:", "regex:", "cmd:", "shell:"].iter().any(|start| text.starts_with(start));
    let separator = if text.contains(',') { ',' } else { ';' };
    let (mut all, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let start = rest.trim_start();
        let (one, behind) = match start.split_once(separator) {
            Some(parts) if !(is_sources && is_whole(start)) => parts,
            _ => (start, ""),
        };
        all.push(one.trim().trim_matches(['"', '\'']).to_owned());
        rest = behind;
    }
    all.retain(|one| !one.is_empty());
    all
}

/// `sub~example.com` and `sub+example.com` name the zone.
fn domain(written: &str) -> PeerName {
    match written.split_once(['~', '+']) {
        Some((host, zone)) => {
            let name = if matches!(host, "" | "@") { zone.to_owned() } else { format!("{host}.{zone}") };
            PeerName { zone: Some(zone.to_owned()), ..PeerName::new(&name) }
        }
        None => PeerName::new(written),
    }
}

/// Variables as an object.
pub(super) fn of_variables(variables: &PeerSettings) -> Node {
    let ours = variables.0.iter().filter_map(|setting| {
        setting.is_used.set(true);
        let name = setting.name.to_uppercase().strip_prefix("DDNS_")?.to_lowercase().replace('.', "_");
        Some((name, Value::string(setting.value.clone())))
    });
    let ours: Vec<(String, Value)> = ours.collect();
    Node::synthetic(Value::object(ours.iter().map(|(name, value)| (name.as_str(), value.clone()))))
}
