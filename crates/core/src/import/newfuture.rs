//! Reads the configuration of NewFuture/DDNS, for any provider.

use std::slice;

use super::cursor::TextCursor;
use super::settings::{
    EntryFields, NotePart, PeerError, PeerFile, PeerInput, PeerSection, PeerSettings, line_at, scalar,
};
use super::table::is_yes;
use super::variables;
use crate::address::source::split_list;
use crate::config::value::{is_off_word, list};
use crate::text::json::{Dialect, Member, Node, Span, Value, excerpt, is_placeholder_name, parse, push_string};

#[cfg(test)]
mod tests;

/// The fields that make up the request of a callback.
const REQUEST: [&str; 9] = ["id", "token", "endpoint", "ttl", "line", "extra", "method", "headers", "format"];

/// What that client also replaces inside a value of `extra`.
const FILLED_IN: [&str; 6] = ["__DOMAIN__", "__IP__", "__RECORDTYPE__", "__TTL__", "__LINE__", "__TIMESTAMP__"];

/// The configuration in a text: JSON with comments, or a Python literal. `None` if it is neither, or for another program.
pub(super) fn object(text: &str) -> Option<Node> {
    let root = parse(text, Dialect::CONFIG).or_else(|_| parse(&as_json(text), Dialect::CONFIG)).ok()?;
    let is_ours = root.value.member("dns").is_some() || root.value.member("providers").is_some();
    is_ours.then_some(root)
}

/// Why a text that begins like JSON is neither JSON nor a Python literal; `None` if it is one, or begins in another way.
pub(super) fn broken(text: &str) -> Option<PeerError> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let python = as_json(text);
    let (json, literal) = (parse(text, Dialect::CONFIG).err()?, parse(&python, Dialect::CONFIG).err()?);
    let is_python = text.get(json.span.start..).unwrap_or_default().starts_with(['\'', '(', 'T', 'F', 'N']);
    let (text, error) = if is_python { (python.as_str(), literal) } else { (text, json) };
    let place = excerpt(text, error.span, false);
    Some(PeerError::new(place.line, format!("not valid JSON in column {}: {}", place.column, error.message)))
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
        None => match broken(input.text) {
            Some(error) => return Err(error),
            None => (of_variables(input, file)?, input.text),
        },
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
            let plain = |item: &String| {
                let plain = if is_names { item.trim_matches(['"', '\'']) } else { variables::unquoted(item) };
                plain.to_owned()
            };
            let items: Vec<String> = items(list).iter().map(plain).collect();
            fields.give(name, items.join("\n"));
        }
        let service = fields.get("provider").or_else(|| fields.get("dns")).unwrap_or_default().to_lowercase();
        let is_callback = matches!(service.as_str(), "callback" | "webhook" | "http");
        let request = is_callback.then(|| request(entry, &root, text, &fields, file));
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

/// The request of a callback.
fn request(entry: &Node, root: &Node, text: &str, fields: &PeerSettings, file: &mut PeerFile) -> EntryFields {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    fields.0.values().filter(|field| REQUEST.contains(&first(&field.name).as_str())).for_each(|field| field.mark());
    let value = |name: &str| entry.value.member(name).or_else(|| root.value.member(name)).cloned();
    let parts = REQUEST.into_iter().filter_map(|name| Some((name, value(name)?)));
    let mut parts: EntryFields = parts.filter(|(_, value)| *value != Value::Null).collect();
    let place = parts.iter().position(|(name, _)| *name == "extra");
    let own = match place.map(|place| parts.remove(place)) {
        Some((_, Value::Object(own))) => own,
        Some(other) => {
            parts.push(other);
            return parts;
        }
        None => Vec::new(),
    };
    // That client also takes values beside the fields: `extra_` and a name wins over `extra`, the name alone does not.
    let beside = || [entry, root].into_iter().flat_map(|node| node.value.members().unwrap_or_default());
    let prefixed = beside().filter_map(|member| Some((member.key.strip_prefix("extra_")?, member, true)));
    let inside = own.iter().map(|member| (member.key.as_str(), member, false));
    let bare = beside().filter(|member| is_placeholder_name(&member.key));
    let bare = bare.map(|member| (member.key.as_str(), member, true));
    let mut extra: Vec<Member> = Vec::new();
    for (name, member, is_beside) in prefixed.chain(inside).chain(bare) {
        if extra.iter().any(|known| known.key == name) {
            continue;
        }
        fields.0.values().filter(|field| first(&field.name) == member.key).for_each(|field| field.mark());
        let mut note = |part, about: &str| file.note(part, line_at(text, member.key_span.start), &member.key, about);
        if !is_placeholder_name(name) {
            note(NotePart::Dropped, "ddns replaces only `__NAME__`: rename it, also in `id` or `token`");
            continue;
        }
        if is_beside {
            note(NotePart::Changed, "it is in `extra` now");
        }
        let value = scalar(&member.node.value);
        if FILLED_IN.iter().any(|known| value.contains(*known)) {
            let about =
                format!("ddns fills in nothing inside a value: write it in place of `{name}` in `id` or `token`");
            note(NotePart::Changed, &about);
        }
        extra.push(Member { key: name.to_owned(), ..member.clone() });
    }
    if !extra.is_empty() {
        parts.push(("extra", Value::Object(extra)));
    }
    parts
}

/// The object that the `DDNS_` variables stand for. Each value has the place of its line; others are noted.
fn of_variables(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<Node, PeerError> {
    let variables = variables::parse(input.text, file)?;
    let (mut members, mut extra) = (Vec::new(), Vec::new());
    for setting in variables.0.values() {
        let start = input.text.split_inclusive('\n').take(setting.line.saturating_sub(1)).map(str::len).sum();
        let span = Span { start, end: start };
        let member = |key: &str, value| Member { key: key.to_owned(), key_span: span, node: Node { span, value } };
        let (name, value) = (setting.name.to_uppercase(), Value::string(setting.value.clone()));
        let Some(name) = name.strip_prefix("DDNS_") else {
            match input.table.why_not(&setting.name, &setting.value) {
                Some("") => {}
                why => {
                    let why = why.unwrap_or("that client has no such variable");
                    file.note(NotePart::Dropped, setting.line, &setting.name, why);
                }
            }
            continue;
        };
        match name.strip_prefix("EXTRA_").filter(|name| is_placeholder_name(name)) {
            Some(name) => extra.push(member(name, value)),
            None => members.push(member(&name.to_lowercase().replace('.', "_"), value)),
        }
    }
    if let Some(span) = extra.first().map(|first: &Member| first.key_span) {
        let node = Node { span, value: Value::Object(extra) };
        members.push(Member { key: "extra".to_owned(), key_span: span, node });
    }
    let start = members.iter().map(|member| member.key_span.start).min().unwrap_or(0);
    Ok(Node { span: Span { start, end: start }, value: Value::Object(members) })
}
