//! Reads the configuration of NewFuture/DDNS, for any provider.

use std::slice;

use super::cursor::TextCursor;
use super::settings::{PeerError, PeerFile, PeerInput, PeerSection, PeerSettings, line_at, scalar};
use super::table::is_yes;
use super::variables;
use crate::address::source::split_list;
use crate::config::value::{is_off_word, list};
use crate::text::json::{Dialect, Node, Value, parse, push_string};

#[cfg(test)]
mod tests;

/// The fields that make up the request of a callback.
const REQUEST: [&str; 9] = ["id", "token", "endpoint", "ttl", "line", "extra", "method", "headers", "format"];

/// The configuration in a text: JSON with comments, or a Python literal. `None` if it is neither, or for another program.
pub(super) fn object(text: &str) -> Option<Node> {
    let root = parse(text, Dialect::CONFIG).or_else(|_| parse(&as_json(text), Dialect::CONFIG)).ok()?;
    let is_ours = root.value.member("dns").is_some() || root.value.member("providers").is_some();
    is_ours.then_some(root)
}

/// A Python literal as JSON. Every value stays on its line.
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

/// Reads a JSON object, or variables with the same meaning.
pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let (root, text) = match object(input.text) {
        Some(root) => (root, input.text),
        None => (of_variables(&variables::parse(input.text, file)?), ""),
    };
    let entries = match root.value.member("providers") {
        Some(Value::Array(items)) => items,
        Some(_) => return Err(PeerError::new(0, "`providers` is not a list")),
        None => slice::from_ref(&root),
    };
    let whole = || {
        let mut whole = PeerSettings::of_object(&root, text);
        whole.0.remove("providers");
        whole
    };
    for entry in entries {
        let mut fields = PeerSettings::of_object(entry, text);
        // Each entry gets its own copy of the common settings, so that settings which it does not use are reported.
        fields.add_unset(&whole());
        for name in ["ipv4", "ipv6", "index4", "index6"] {
            let is_names = name.starts_with("ipv");
            // In a list of domains, a word such as `false` means none.
            let list = fields.get(name).filter(|list| !is_names || !is_off_word(list)).unwrap_or_default();
            let quotes: &[char] = if is_names { &['"', '\''] } else { &[] };
            let items: Vec<String> = items(list).iter().map(|item| item.trim_matches(quotes).to_owned()).collect();
            fields.give(name, items.join("\n"));
        }
        let service = fields.get("provider").or_else(|| fields.get("dns")).unwrap_or_default().to_lowercase();
        let request = matches!(service.as_str(), "callback" | "webhook" | "http").then(|| {
            let is_part = |name: &str| REQUEST.contains(&name.split('.').next().unwrap_or_default());
            fields.0.values().filter(|field| is_part(&field.name)).for_each(|field| field.mark());
            let value = |name: &str| entry.value.member(name).or_else(|| root.value.member(name)).cloned();
            let parts = REQUEST.into_iter().filter_map(|name| Some((name, value(name)?)));
            parts.filter(|(_, value)| *value != Value::Null).collect()
        });
        file.sections.push(PeerSection { line: line_at(text, entry.span.start), fields, request });
    }
    let whole = whole();
    for name in ["level", "file", "format", "datefmt"] {
        let value = whole.get(&format!("log.{name}")).or_else(|| whole.get(&format!("log_{name}")));
        file.settings.extend(value.map(|value| (format!("log.{name}"), Value::string(value))));
    }
    if whole.get("debug").is_some_and(is_yes) {
        file.settings.push(("debug".to_owned(), Value::Bool(true)));
    }
    Ok(())
}

/// The items of a list with one or more items on each line.
fn items(text: &str) -> Vec<String> {
    let in_line = |line: &str| match list(line) {
        Ok(items) => items.iter().map(|item| scalar(&item.value)).collect::<Vec<_>>(),
        Err(_) => split_list(line.trim_matches(['[', ']'])).into_iter().map(str::to_owned).collect(),
    };
    text.lines().flat_map(in_line).collect()
}

/// The object that the `DDNS_` variables stand for.
fn of_variables(variables: &PeerSettings) -> Node {
    let ours = variables.0.values().filter_map(|setting| {
        let name = setting.name.to_uppercase().strip_prefix("DDNS_")?.to_lowercase().replace('.', "_");
        Some((name, Value::string(setting.value.clone())))
    });
    Node::synthetic(Value::object(ours))
}
