//! Generated from the table of fields: the JSON schema for editors, and the reference for people.

use super::fields::{FIELDS, FILE, Field, FieldScope, Key, Kind, SubField, SubKind, file_variables, used_by};
use super::value::natural;
use crate::notify::NotifyEvent;
use crate::text::json::{Node, Value, pretty};

/// Where the schema of a configuration has its fields.
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

/// The schema of a field. `base` is where the schemas of all fields are; inside an entry, long ones refer to it.
pub(crate) fn described(field: &Field, in_entry: bool, base: &str) -> Value {
    // The schema contains long parts only once.
    if in_entry && matches!(field.kind, Kind::Callbacks | Kind::ObjectOrText) {
        return Value::object([("$ref", Value::string(format!("{base}{}", field.name)))]);
    }
    let (strings, object_of) = (|| kind_of("string"), |parts, is_closed| Value::object(object(parts, is_closed)));
    let kind = match field.kind {
        Kind::Word if field.words.len() == 1 => vec![("const", Value::string(field.words[0]))],
        Kind::Word => with(typed(&["string"]), "examples", one_of(field.words)),
        Kind::Text => typed(&["string"]),
        Kind::Document => typed(&["object", "array", "string"]),
        Kind::Headers => with(typed(&["object", "string"]), "additionalProperties", strings()),
        Kind::Domains | Kind::Secrets => {
            let items = Value::object(any_of([strings(), object_of(field.parts, false)]));
            with(typed(&["array", "string", "object"]), "items", items)
        }
        Kind::List => with(typed(&["array", "string"]), "items", strings()),
        Kind::Sources => {
            let items = Value::object(typed(&["string", "integer"]));
            with(typed(&["array", "string", "integer", "boolean"]), "items", items)
        }
        Kind::Whole | Kind::WholeOrText => typed(&["integer", "string"]),
        Kind::Number => typed(&["number", "string"]),
        Kind::Flag | Kind::FlagOrText => typed(&["boolean", "string"]),
        Kind::Values => values(field.parts),
        Kind::Object => object(field.parts, true),
        Kind::ObjectOrText => any_of([strings(), object_of(field.parts, true)]),
        Kind::FlagObjectOrText => any_of([kind_of("boolean"), strings(), object_of(field.parts, true)]),
        Kind::Callbacks => {
            let inside = field.inside().into_iter().flat_map(used_by);
            let of_entry = inside.map(|field| (field.name, described(field, true, base)));
            let properties = of_entry.chain(field.parts.iter().map(|part| (part.name, described_part(part))));
            let object = Value::object(with(typed(&["object"]), "properties", Value::object(properties)));
            any_of([object.clone(), Value::object(list_of(object)), strings()])
        }
        Kind::Entries => {
            let entry = FIELDS.iter().filter(|field| field.scope == FieldScope::Entry);
            let name = |field: &Field| if field.key == Key::Dns { "provider" } else { field.name };
            let properties = Value::object(entry.map(|field| (name(field), described(field, true, base))));
            let entry = Value::object(with(typed(&["object"]), "properties", properties));
            with(list_of(entry), "minItems", Value::Number("1".into()))
        }
    };
    let mut members = [vec![("description", Value::string(field.help))], kind].concat();
    for (name, allowed) in &mut members {
        or_null(name, allowed);
    }
    if !field.default.is_empty() && !in_entry {
        members.push(("default", natural(field.kind, &Value::string(field.default))));
    }
    Value::object(members)
}

type SchemaMembers = Vec<(&'static str, Value)>;

/// A value of one of these types.
fn typed(kinds: &[&str]) -> SchemaMembers {
    vec![("type", if let [kind] = kinds { Value::string(*kind) } else { one_of(kinds) })]
}

fn list_of(items: Value) -> SchemaMembers {
    with(typed(&["array"]), "items", items)
}

fn any_of<const N: usize>(kinds: [Value; N]) -> SchemaMembers {
    vec![("anyOf", Value::list(kinds))]
}

fn with(mut members: SchemaMembers, name: &'static str, value: Value) -> SchemaMembers {
    members.push((name, value));
    members
}

/// An object with parts; `is_closed` if it may have no others.
fn object(parts: &'static [SubField], is_closed: bool) -> SchemaMembers {
    let properties = Value::object(parts.iter().map(|part| (part.name, described_part(part))));
    let mut members = with(typed(&["object"]), "properties", properties);
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
fn values(parts: &'static [SubField]) -> SchemaMembers {
    let scalar = Value::object(typed(&["string", "number", "boolean"]));
    let value = any_of([scalar, Value::object(object(parts, false))]);
    with(typed(&["object"]), "additionalProperties", Value::object(value))
}

pub(crate) fn described_part(part: &SubField) -> Value {
    let (strings, closed) = (|| kind_of("string"), || Value::object(object(part.parts, true)));
    let mut members = match part.kind {
        SubKind::Text | SubKind::Path | SubKind::SecretPath => typed(&["string"]),
        SubKind::Secret => any_of([strings(), Value::object(object(FILE, true))]),
        SubKind::Flag => typed(&["boolean"]),
        SubKind::FlagOrObject => any_of([kind_of("boolean"), closed()]),
        SubKind::Pointers => typed(&["object"]),
        SubKind::Whole => with(typed(&["integer"]), "minimum", Value::Number("1".into())),
        SubKind::WholeOrText => typed(&["integer", "string"]),
        SubKind::Statuses => typed(&["integer", "string", "array"]),
        SubKind::List => with(typed(&["array", "string"]), "items", strings()),
        SubKind::Values => values(part.parts),
        SubKind::Object => object(part.parts, true),
        SubKind::Named => with(typed(&["object"]), "additionalProperties", closed()),
        SubKind::Conditions => {
            let all = list_of(Value::object(any_of([strings(), closed()])));
            any_of([strings(), closed(), Value::object(all)])
        }
        SubKind::Events => {
            let words = Value::object([("enum", one_of(&NotifyEvent::KEYS))]);
            any_of([words.clone(), Value::object(list_of(words))])
        }
    };
    members.insert(0, ("description", Value::string(part.help)));
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
    Value::object(typed(&[name]))
}

pub(crate) fn one_of(kinds: &[&str]) -> Value {
    Value::list(kinds.iter().map(|kind| Value::string(*kind)))
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
