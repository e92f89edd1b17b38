//! The JSON schema of a recipe, for editors.

use super::read::{OF_QUESTION, OF_RECIPE};
use super::{CERTAINTIES, KINDS};
use crate::config::fields::{Field, FieldUse, Key, SubField, used_by};
use crate::config::reference::{described, described_part, kind_of, one_of};
use crate::text::json::{Value, pretty};

/// The place of the configuration fields in this schema.
const BASE: &str = "#/properties/config/properties/";

/// The text of `schema/recipe.schema.json`.
pub fn schema() -> String {
    let properties = OF_RECIPE.map(|(name, help)| (name, with(help, of_recipe(name))));
    let mut members = closed(properties.to_vec(), &["title", "kind", "about", "documentation", "certainty"]);
    members.splice(
        0..0,
        [
            ("$schema", Value::string("http://json-schema.org/draft-07/schema#")),
            ("title", Value::string("Recipe of ddns")),
        ],
    );
    pretty(&Value::object(members))
}

fn of_recipe(name: &str) -> Vec<(&'static str, Value)> {
    let words = |words: &[&str]| vec![("enum", one_of(words))];
    let list = |items: Value| vec![("type", Value::string("array")), ("items", items)];
    let texts = || vec![("type", Value::string("object")), ("additionalProperties", kind_of("string"))];
    match name {
        "kind" => words(&KINDS.map(|(word, _)| word)),
        "certainty" => words(&CERTAINTIES.map(|(word, _)| word)),
        "aliases" | "sources" | "rules" => list(kind_of("string")),
        "not_in_dns" | "one_address" => vec![("type", Value::string("boolean"))],
        "families" => list(Value::object(words(&["ipv4", "ipv6"]))),
        "version" => vec![("type", Value::string("integer")), ("minimum", Value::Number("1".into()))],
        "wrong" => texts(),
        "values" => vec![("type", Value::string("object")), ("additionalProperties", Value::object(texts()))],
        "questions" => {
            let of_question = OF_QUESTION.map(|(name, help)| {
                let kind = match name {
                    "each" => words(&["domain", "record"]),
                    "secret" | "typed" | "file" => vec![("type", Value::string("boolean"))],
                    _ => vec![("type", Value::string("string"))],
                };
                (name, with(help, kind))
            });
            list(Value::object(closed(of_question.to_vec(), &["name", "ask"])))
        }
        "config" => filled(used_by(FieldUse::Recipe), false, &[]),
        "ipv4" | "ipv6" | "both" => {
            vec![("allOf", Value::list([Value::object([("$ref", Value::string("#/properties/config"))])]))]
        }
        "domain" => filled([].into_iter(), true, Field::of(Key::Ipv4).parts),
        "notify" => {
            let fields = used_by(FieldUse::Recipe).filter(|field| field.is_for(FieldUse::Notify));
            let one = Value::object(filled(fields, true, Field::of(Key::Notify).parts));
            vec![("anyOf", Value::list([one.clone(), Value::object(list(one))]))]
        }
        _ => vec![("type", Value::string("string"))],
    }
}

/// An object with the fields and parts that a recipe may fill.
fn filled(
    fields: impl Iterator<Item = &'static Field>,
    in_entry: bool,
    parts: &'static [SubField],
) -> Vec<(&'static str, Value)> {
    let parts = parts.iter().filter(|part| part.is_for(FieldUse::Recipe)).map(|part| (part.name, described_part(part)));
    closed(fields.map(|field| (field.name, described(field, in_entry, BASE))).chain(parts).collect(), &[])
}

/// An object with only these members.
fn closed(properties: Vec<(&'static str, Value)>, needed: &[&str]) -> Vec<(&'static str, Value)> {
    let mut members = vec![("type", Value::string("object")), ("properties", Value::object(properties))];
    if !needed.is_empty() {
        members.push(("required", one_of(needed)));
    }
    members.push(("additionalProperties", Value::Bool(false)));
    members
}

fn with(help: &str, mut members: Vec<(&'static str, Value)>) -> Value {
    members.insert(0, ("description", Value::string(help)));
    Value::object(members)
}
