//! What is generated from the table of fields: the JSON schema for editors, and the reference for people.

use super::fields::{FIELDS, Field, FieldScope, Key, Kind, file_variables};
use super::notify;
use super::value::natural;
use crate::callback::{Format, Method};
use crate::notify::NotifyEvent;
use crate::text::json::{Node, Value, pretty};

/// The text of `schema/ddns.schema.json`.
pub fn schema() -> String {
    let mut properties: Vec<(&str, Value)> = Vec::new();
    let mut log: Vec<(&str, Value)> = Vec::new();
    for field in &FIELDS {
        match field.name.strip_prefix("log.") {
            Some(name) => log.push((name, described(field, false))),
            None => properties.push((field.name, described(field, false))),
        }
    }
    let log = Value::object(vec![
        ("description", Value::string("Where and how the runtime log is written")),
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

fn described(field: &Field, in_entry: bool) -> Value {
    let mut members = vec![("description", Value::string(field.help))];
    let strings = || kind_of("string");
    let file = || {
        Value::object(vec![
            ("type", Value::string("object")),
            ("properties", Value::object(vec![("file", strings())])),
            ("required", one_of(&["file"])),
        ])
    };
    let scalar = || Value::object(vec![("type", one_of(&["string", "number", "boolean"]))]);
    let scalar_or_file = || Value::object(vec![("anyOf", Value::list([scalar(), file()]))]);
    match (field.key, field.kind) {
        (Key::Dns, _) => members.push(("const", Value::string("callback"))),
        (Key::Providers, _) => {
            let entry = FIELDS.iter().filter(|field| field.scope == FieldScope::Entry);
            let name = |field: &Field| if field.key == Key::Dns { "provider" } else { field.name };
            let properties = Value::object(entry.map(|field| (name(field), described(field, true))));
            let item = Value::object(vec![("type", Value::string("object")), ("properties", properties)]);
            members.extend([
                ("type", Value::string("array")),
                ("items", item),
                ("minItems", Value::Number("1".into())),
            ]);
        }
        (Key::Method, _) => {
            let words = Value::list(Method::ALL.map(|method| Value::string(method.as_str())));
            members.extend([("type", Value::string("string")), ("examples", words)]);
        }
        (Key::Format, _) => {
            let words = Value::list(Format::ALL.map(|format| Value::string(format.as_str())));
            members.extend([("type", Value::string("string")), ("examples", words)]);
        }
        (_, Kind::Headers) => {
            members.extend([("type", one_of(&["object", "string"])), ("additionalProperties", strings())]);
        }
        (_, Kind::Text) => members.push(("type", Value::string("string"))),
        (_, Kind::Document) => members.push(("type", one_of(&["object", "array", "string"]))),
        (_, Kind::Domains) => {
            let extra = Value::object(vec![("type", Value::string("object")), ("additionalProperties", scalar())]);
            let own = vec![("name", strings()), ("extra", extra), ("interface_id", strings())];
            let object = Value::object(vec![
                ("type", Value::string("object")),
                ("properties", Value::object(own)),
                ("required", one_of(&["name"])),
            ]);
            let items = Value::object(vec![("anyOf", Value::list([strings(), object]))]);
            members.extend([("type", one_of(&["array", "string", "object"])), ("items", items)]);
        }
        (Key::Sign, _) => {
            let items = Value::object(vec![("anyOf", Value::list([strings(), file()]))]);
            members.extend([("type", one_of(&["array", "string", "object"])), ("items", items)]);
        }
        (_, Kind::List) => members.extend([("type", one_of(&["array", "string"])), ("items", strings())]),
        (_, Kind::Sources) => {
            let items = Value::object(vec![("type", one_of(&["string", "integer"]))]);
            members.extend([("type", one_of(&["array", "string", "integer", "boolean"])), ("items", items)]);
        }
        (_, Kind::Whole | Kind::WholeOrText) => members.push(("type", one_of(&["integer", "string"]))),
        (_, Kind::Number) => members.push(("type", one_of(&["number", "string"]))),
        (_, Kind::Flag | Kind::FlagOrText) => members.push(("type", one_of(&["boolean", "string"]))),
        (Key::Expect, _) => members.push(("anyOf", expect())),
        (Key::Group, _) => members.extend(group()),
        (Key::Web, _) => members.push(("anyOf", web())),
        (_, Kind::FlagObjectOrText) => members.push(("type", one_of(&["boolean", "object", "string"]))),
        (_, Kind::ObjectOrText) => members.push(("type", one_of(&["object", "string"]))),
        (_, Kind::Object) => {
            members.extend([("type", Value::string("object")), ("additionalProperties", scalar_or_file())]);
        }
        (_, Kind::Callbacks) => {
            let own = notify::fields().map(|field| (field.name, described(field, true)));
            let words = NotifyEvent::ALL.map(|event| Value::string(event.as_str()));
            let words = Value::object([("enum", Value::list(words))]);
            let events = Value::object([("type", Value::string("array")), ("items", words.clone())]);
            let on = Value::object([
                ("description", Value::string("What to tell; not set: `changed`, `failed`, `recovered` and `stopped`")),
                ("anyOf", Value::list([words, events])),
            ]);
            let after = Value::object([
                ("description", Value::string("Failures in a row before `failed` is sent; not set: 3")),
                ("type", Value::string("integer")),
                ("minimum", Value::Number("1".into())),
            ]);
            let object = Value::object([
                ("type", Value::string("object")),
                ("properties", Value::object(own.chain([("on", on), ("after", after)]))),
            ]);
            let list = Value::object([("type", Value::string("array")), ("items", object.clone())]);
            members.push(("anyOf", Value::list([object, list, strings()])));
        }
        (_, Kind::Objects) => {}
    }
    for (name, allowed) in &mut members {
        or_null(name, allowed);
    }
    if !field.default.is_empty() && !in_entry {
        members.push(("default", natural(field.kind, &Value::string(field.default))));
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

fn kind_of(name: &str) -> Value {
    Value::object([("type", Value::string(name))])
}

fn one_of(kinds: &[&str]) -> Value {
    Value::list(kinds.iter().map(|kind| Value::string(*kind)))
}

/// What `web` may be.
fn web() -> Value {
    let list = || Value::object([("type", one_of(&["array", "string"])), ("items", kind_of("string"))]);
    let parts = super::web::PARTS.map(|name| match name {
        "allow_edit" => (name, kind_of("boolean")),
        "hosts" | "proxies" => (name, list()),
        _ => (name, kind_of("string")),
    });
    let object = Value::object([
        ("type", Value::string("object")),
        ("properties", Value::object(parts)),
        ("additionalProperties", Value::Bool(false)),
    ]);
    Value::list([kind_of("boolean"), kind_of("string"), object])
}

/// What `group` is.
fn group() -> [(&'static str, Value); 4] {
    let parts = super::group::PARTS.map(|name| match name {
        "prefer" | "lease" => (name, Value::object([("type", one_of(&["integer", "string"]))])),
        _ => (name, kind_of("string")),
    });
    [
        ("type", Value::string("object")),
        ("properties", Value::object(parts)),
        ("required", one_of(&["store", "name"])),
        ("additionalProperties", Value::Bool(false)),
    ]
}

/// What `expect` may be.
fn expect() -> Value {
    let string = || kind_of("string");
    let status = Value::object([("type", one_of(&["integer", "string", "array"]))]);
    let parts = [
        ("status", status),
        ("body", string()),
        ("json", kind_of("object")),
        ("for", string()),
        ("until", string()),
        ("all", kind_of("boolean")),
    ];
    let condition = Value::object([
        ("type", Value::string("object")),
        ("properties", Value::object(parts)),
        ("additionalProperties", Value::Bool(false)),
    ]);
    let list = Value::object([
        ("type", Value::string("array")),
        ("items", Value::object([("anyOf", Value::list([string(), condition.clone()]))])),
    ]);
    let any = Value::object([("anyOf", Value::list([string(), condition, list]))]);
    let names = ["stop", "wait", "reject", "accept"];
    let conditions = Value::object([
        ("type", Value::string("object")),
        ("properties", Value::object(names.map(|name| (name, any.clone())))),
        ("additionalProperties", Value::Bool(false)),
    ]);
    Value::list([string(), conditions])
}

const ABOVE: &str = "\
# Configuration

A configuration is a JSON object; `//`, `#` and `/* */` comments and trailing commas are allowed. Each field can also be
set by a variable of the environment or an option. The command line wins over the file, the file over the environment;
`null` in a file sets a field to nothing, whatever the environment says. In the environment a list is JSON or separated by commas. Editors find a schema in
[schema/ddns.schema.json](../schema/ddns.schema.json).

This page is generated from the table of fields in the source.

";

const BELOW: &str = "`DDNS_CONFIG` names
configuration files, as `-c` does.

Inside of an entry of `providers` a field is called as above, but `provider` in place of `dns`; `log`, `debug`,
`concurrency`, `interval`, `web`, `group` and `notify` apply to the whole file and belong outside. [notifications.md](notifications.md)
explains `notify`, [several-hosts.md](several-hosts.md) `group`.
";

/// The text of `docs/configuration.md`.
pub fn page() -> String {
    let mut text =
        format!("{ABOVE}| field | environment | option | takes | default | what it is |\n|---|---|---|---|---|---|\n");
    for field in &FIELDS {
        let code = |dashes: &str, name: Option<&str>| name.map_or("-".to_owned(), |name| format!("`{dashes}{name}`"));
        let default = if field.default.is_empty() { "-".to_owned() } else { format!("`{}`", field.default) };
        text += &format!(
            "| `{}` | {} | {} | {} | {default} | {} |\n",
            field.name,
            code("", field.variable),
            code("--", field.option),
            field.allowed(),
            field.help
        );
    }
    let files: Vec<String> = file_variables().map(|(_, variable)| format!("`{variable}`")).collect();
    text + &format!("\n{} name files that hold the value. {BELOW}", files.join(" and "))
}
