//! What is generated from the table of fields: the JSON schema for editors, and the reference for people.

use super::fields::{FIELDS, FILE, Field, FieldScope, Key, Kind, SubField, SubKind, file_variables, used_by};
use super::value::natural;
use crate::notify::NotifyEvent;
use crate::text::json::{Node, Value, pretty};

/// Where the fields stand in the schema of a configuration.
const BASE: &str = "#/properties/";

/// The text of `schema/ddns.schema.json`.
pub fn schema() -> String {
    let mut properties: Vec<(&str, Value)> = Vec::new();
    let mut log: Vec<(&str, Value)> = Vec::new();
    for field in &FIELDS {
        match field.name.strip_prefix("log.") {
            Some(name) => log.push((name, described(field, false, BASE))),
            None => properties.push((field.name, described(field, false, BASE))),
        }
    }
    let log = Value::object(vec![
        ("description", Value::string("Where and how to write the log")),
        ("type", one_of(&["object", "null"])),
        ("properties", Value::object(log)),
    ]);
    let at = properties.iter().position(|(name, _)| *name == "providers").unwrap_or(properties.len());
    properties.insert(at, ("log", log));
    pretty(&Value::object(vec![
        ("$schema", Value::string("http://json-schema.org/draft-07/schema#")),
        ("title", Value::string("Configuration of ddns")),
        ("type", Value::string("object")),
        ("properties", Value::object(properties)),
    ]))
}

/// The schema of a field. `base` is where those of all fields stand; inside of an entry what is long refers to it.
pub(crate) fn described(field: &Field, in_entry: bool, base: &str) -> Value {
    // What is long stands in the schema once.
    if in_entry && matches!(field.kind, Kind::Callbacks | Kind::ObjectOrText) {
        return Value::object([("$ref", Value::string(format!("{base}{}", field.name)))]);
    }
    let mut members = vec![("description", Value::string(field.help))];
    let strings = || kind_of("string");
    let items_of = |items: Value| [("type", Value::string("array")), ("items", items)];
    match field.kind {
        Kind::Word if field.words.len() == 1 => members.push(("const", Value::string(field.words[0]))),
        Kind::Word => members.extend([("type", Value::string("string")), ("examples", one_of(field.words))]),
        Kind::Text => members.push(("type", Value::string("string"))),
        Kind::Document => members.push(("type", one_of(&["object", "array", "string"]))),
        Kind::Headers => {
            members.extend([("type", one_of(&["object", "string"])), ("additionalProperties", strings())]);
        }
        Kind::Domains | Kind::Secrets => {
            let items = any_of([strings(), Value::object(object(field.parts, false))]);
            members.extend([("type", one_of(&["array", "string", "object"])), ("items", items)]);
        }
        Kind::List => members.extend([("type", one_of(&["array", "string"])), ("items", strings())]),
        Kind::Sources => {
            let items = Value::object([("type", one_of(&["string", "integer"]))]);
            members.extend([("type", one_of(&["array", "string", "integer", "boolean"])), ("items", items)]);
        }
        Kind::Whole | Kind::WholeOrText => members.push(("type", one_of(&["integer", "string"]))),
        Kind::Number => members.push(("type", one_of(&["number", "string"]))),
        Kind::Flag | Kind::FlagOrText => members.push(("type", one_of(&["boolean", "string"]))),
        Kind::Values => members.extend(values(field.parts)),
        Kind::Object => members.extend(object(field.parts, true)),
        Kind::ObjectOrText => {
            members.push(("anyOf", Value::list([strings(), Value::object(object(field.parts, true))])));
        }
        Kind::FlagObjectOrText => {
            let any = [kind_of("boolean"), strings(), Value::object(object(field.parts, true))];
            members.push(("anyOf", Value::list(any)));
        }
        Kind::Callbacks => {
            let inside = field.inside().into_iter().flat_map(used_by);
            let of_entry = inside.map(|field| (field.name, described(field, true, base)));
            let properties = of_entry.chain(field.parts.iter().map(|part| (part.name, described_part(part))));
            let object = Value::object([("type", Value::string("object")), ("properties", Value::object(properties))]);
            let list = Value::object(items_of(object.clone()));
            members.push(("anyOf", Value::list([object, list, strings()])));
        }
        Kind::Entries => {
            let entry = FIELDS.iter().filter(|field| field.scope == FieldScope::Entry);
            let name = |field: &Field| if field.key == Key::Dns { "provider" } else { field.name };
            let properties = Value::object(entry.map(|field| (name(field), described(field, true, base))));
            members.extend(items_of(Value::object([("type", Value::string("object")), ("properties", properties)])));
            members.push(("minItems", Value::Number("1".into())));
        }
    }
    for (name, allowed) in &mut members {
        or_null(name, allowed);
    }
    if !field.default.is_empty() && !in_entry {
        members.push(("default", natural(field.kind, &Value::string(field.default))));
    }
    Value::object(members)
}

/// An object with parts; `is_closed` where it has no others.
fn object(parts: &'static [SubField], is_closed: bool) -> Vec<(&'static str, Value)> {
    let properties = Value::object(parts.iter().map(|part| (part.name, described_part(part))));
    let mut members = vec![("type", Value::string("object")), ("properties", properties)];
    let needed: Vec<&str> = parts.iter().filter(|part| part.is_needed).map(|part| part.name).collect();
    if !needed.is_empty() {
        members.push(("required", one_of(&needed)));
    }
    if is_closed {
        members.push(("additionalProperties", Value::Bool(false)));
    }
    members
}

/// An object of scalars, or of objects with these parts.
fn values(parts: &'static [SubField]) -> [(&'static str, Value); 2] {
    let scalar = Value::object([("type", one_of(&["string", "number", "boolean"]))]);
    let value = any_of([scalar, Value::object(object(parts, false))]);
    [("type", Value::string("object")), ("additionalProperties", value)]
}

pub(crate) fn described_part(part: &SubField) -> Value {
    let types = |kinds: &[&str]| vec![("type", one_of(kinds))];
    let one = |kind: &str| vec![("type", Value::string(kind))];
    let list = |items: Value| Value::object([("type", Value::string("array")), ("items", items)]);
    let mut members = match part.kind {
        SubKind::Text | SubKind::Path | SubKind::SecretPath => one("string"),
        SubKind::Secret => vec![("anyOf", Value::list([kind_of("string"), Value::object(object(FILE, true))]))],
        SubKind::Flag => one("boolean"),
        SubKind::FlagOrObject => {
            vec![("anyOf", Value::list([kind_of("boolean"), Value::object(object(part.parts, true))]))]
        }
        SubKind::Pointers => one("object"),
        SubKind::Whole => [one("integer"), vec![("minimum", Value::Number("1".into()))]].concat(),
        SubKind::WholeOrText => types(&["integer", "string"]),
        SubKind::Statuses => types(&["integer", "string", "array"]),
        SubKind::List => [types(&["array", "string"]), vec![("items", kind_of("string"))]].concat(),
        SubKind::Values => values(part.parts).to_vec(),
        SubKind::Object => object(part.parts, true),
        SubKind::Named => {
            [one("object"), vec![("additionalProperties", Value::object(object(part.parts, true)))]].concat()
        }
        SubKind::Conditions => {
            let condition = || Value::object(object(part.parts, true));
            let all = list(any_of([kind_of("string"), condition()]));
            vec![("anyOf", Value::list([kind_of("string"), condition(), all]))]
        }
        SubKind::Events => {
            let words = Value::object([("enum", one_of(&NotifyEvent::ALL.map(NotifyEvent::key)))]);
            vec![("anyOf", Value::list([words.clone(), list(words)]))]
        }
    };
    if !part.help.is_empty() {
        members.insert(0, ("description", Value::string(part.help)));
    }
    Value::object(members)
}

/// Allows `null`, which sets a field to nothing (B11).
fn or_null(name: &str, allowed: &mut Value) {
    match (name, &mut *allowed) {
        ("type", Value::String(kind)) => *allowed = one_of(&[kind, "null"]),
        ("type", Value::Array(kinds)) => kinds.push(Node::synthetic(Value::string("null"))),
        ("anyOf", Value::Array(kinds)) => kinds.push(Node::synthetic(kind_of("null"))),
        _ => {}
    }
}

pub(crate) fn kind_of(name: &str) -> Value {
    Value::object([("type", Value::string(name))])
}

pub(crate) fn one_of(kinds: &[&str]) -> Value {
    Value::list(kinds.iter().map(|kind| Value::string(*kind)))
}

fn any_of<const N: usize>(kinds: [Value; N]) -> Value {
    Value::object([("anyOf", Value::list(kinds))])
}

/// The text of `docs/configuration.md`.
pub fn page() -> String {
    let row = |field: &Field| {
        let Field { name, allowed, help, .. } = field;
        let code = |dashes: &str, name: Option<&str>| name.map_or("-".to_owned(), |name| format!("`{dashes}{name}`"));
        let default = Some(field.default).filter(|default| !default.is_empty());
        let set = [code("", field.variable), code("--", field.option)].join(" | ");
        format!("| `{name}` | {set} | {allowed} | {} | {help} |\n", code("", default))
    };
    let files: Vec<String> = file_variables().map(|(_, variable)| format!("`{variable}`")).collect();
    let files = files.join(", ");
    let files = files.rsplit_once(", ").map_or_else(|| files.clone(), |(others, last)| format!("{others} and {last}"));
    let rows: String = FIELDS.iter().map(row).collect();
    include_str!("reference.txt").replace("@rows@\n", &rows).replace("@files@", &files)
}
