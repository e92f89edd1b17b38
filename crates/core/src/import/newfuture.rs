//! The configuration of NewFuture/DDNS, for any provider.

use super::cursor::TextCursor;
use super::settings::{PeerError, PeerFile, PeerInput, PeerSection, PeerSettings, line_at};
use super::table::is_yes;
use super::variables;
use crate::config::value::is_off_word;
use crate::text::json::{Dialect, Member, Node, Value, parse, push_string};

#[cfg(test)]
mod tests;

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
                push_string(&mut json, &at.quoted(letter, "ntxu*").unwrap_or_else(|rest| rest));
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
pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let (root, text) = match object(input.text) {
        Some(root) => (root, input.text),
        None => (of_variables(&variables::parse(input.text)?), ""),
    };
    let members = root.value.members().unwrap_or_default();
    let outer: Vec<Member> = members.iter().filter(|member| member.key != "providers").cloned().collect();
    let entries = match root.value.member("providers") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(_) => return Err(PeerError::new(0, "`providers` is not a list")),
        None => vec![&root],
    };
    for entry in entries {
        let own = entry.value.members().unwrap_or_default();
        let inherited = outer.iter().filter(|member| own.iter().all(|known| known.key != member.key));
        let all: Vec<Member> = own.iter().chain(inherited).cloned().collect();
        let value = Node { value: Value::Object(all), span: entry.span };
        file.sections.push(section(&value, text));
    }
    let whole = PeerSettings::of_object(&Node { value: Value::Object(outer), span: root.span }, text);
    for name in ["level", "file", "format", "datefmt"] {
        let value = whole.get(&format!("log.{name}")).or_else(|| whole.get(&format!("log_{name}")));
        file.settings.extend(value.map(|value| (format!("log.{name}"), Value::string(value))));
    }
    if whole.get("debug").is_some_and(is_yes) {
        file.settings.push(("debug".to_owned(), Value::Bool(true)));
    }
    Ok(())
}

fn section(entry: &Node, text: &str) -> PeerSection {
    let line = line_at(text, entry.span.start);
    let mut section = PeerSection { line, fields: PeerSettings::of_object(entry, text), ..PeerSection::default() };
    let fields = &mut section.fields;
    for (family, (list, index)) in [("ipv4", "index4"), ("ipv6", "index6")].into_iter().enumerate() {
        // There, it means none.
        let names = fields.get(list).filter(|names| !is_off_word(names)).unwrap_or_default();
        let names = split(names, false).join("\n");
        fields.give(list, names);
        let sources = split(fields.get(index).unwrap_or_default(), true);
        section.sources[family] = sources.into_iter().map(str::to_owned).collect();
    }
    let proxies = fields.get("proxy").map(|proxies| proxies.replace(';', "\n"));
    if let Some(proxies) = proxies {
        fields.give("proxy", proxies);
    }
    let own = |name: &str| entry.value.member(name).filter(|value| **value != Value::Null).cloned();
    let service = fields.get("provider").or_else(|| fields.get("dns")).unwrap_or_default().to_lowercase();
    if matches!(service.as_str(), "callback" | "webhook" | "http") {
        section.request = Some(REQUEST.into_iter().filter_map(|name| Some((name, own(name)?))).collect());
        let is_part = |name: &str| REQUEST.contains(&name.split('.').next().unwrap_or_default());
        fields.0.iter().filter(|field| is_part(&field.name)).for_each(|field| field.is_used.set(true));
    }
    section
}

/// A list in a text: a line for each item, or with commas, else with semicolons. What follows `url:` and the like is one source.
fn split(text: &str, is_sources: bool) -> Vec<&str> {
    let is_whole = |text: &str| ["url:", "regex:", "cmd:", "shell:"].iter().any(|start| text.starts_with(start));
    let text = text.trim();
    let mut rest = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let separator = ['\n', ',', ';'].into_iter().find(|separator| rest.contains(*separator)).unwrap_or(';');
    let mut all = Vec::new();
    while !rest.is_empty() {
        let start = rest.trim_start();
        let (one, behind) = match start.split_once(separator) {
            Some(parts) if separator == '\n' || !is_sources || !is_whole(start) => parts,
            _ => (start, ""),
        };
        let one = one.trim();
        all.push(if is_sources && is_whole(one) { one } else { one.trim_matches(['"', '\'']) });
        rest = behind;
    }
    all.retain(|one| !one.is_empty());
    all
}

/// Variables as an object.
fn of_variables(variables: &PeerSettings) -> Node {
    let ours = variables.0.iter().filter_map(|setting| {
        setting.is_used.set(true);
        let name = setting.name.to_uppercase().strip_prefix("DDNS_")?.to_lowercase().replace('.', "_");
        Some((name, Value::string(setting.value.clone())))
    });
    let ours: Vec<(String, Value)> = ours.collect();
    Node::synthetic(Value::object(ours.iter().map(|(name, value)| (name.as_str(), value.clone()))))
}
