//! Checks a recipe as a whole: whether each name has a value, and which fields it fills.

use std::collections::HashMap;
use std::iter;

use super::read::RecipeReader;
use super::{Each, Recipe, template};
use crate::config::fields::{FILE, Field, FieldUse, Key, Kind, SubField, SubKind, part, used_by};
use crate::config::files::path_of;
use crate::text::json::{Member, Node, Span, Value};
use crate::text::order;

/// Names that ddns itself gives a value, and how often that value differs.
const OWN: [(&str, Each); 4] =
    [("domain", Each::Domain), ("host", Each::Domain), ("subdomain", Each::Domain), ("type", Each::Record)];

impl RecipeReader<'_> {
    /// Checks that every name has a value where it is used, and that each secret can have a file of its own.
    pub(super) fn check(&mut self, recipe: &Recipe, root: &Node) {
        let span = root.span;
        let written = |name: &str| root.value.members()?.iter().rfind(|member| member.key == name);
        // Where a question is, by its number.
        let question_at = |at: usize| match written("questions").map(|member| &member.node.value) {
            Some(Value::Array(questions)) => questions.get(at).map_or(span, |question| question.span),
            _ => span,
        };
        let mut known: HashMap<&str, Each> = OWN.into_iter().collect();
        known.extend(recipe.values.iter().map(|(name, _)| (name.as_str(), Each::Record)));
        if recipe.literal_zone().is_some() {
            known.insert("zone", Each::Once);
        }
        for (at, question) in recipe.questions.iter().enumerate() {
            let span = question_at(at);
            if question.name == "zone" && question.each != Each::Once {
                self.error(span, "`zone` is asked once: all domains of a recipe are in it");
            }
            if known.insert(&question.name, question.each).is_some() {
                self.error(span, format!("two things are called `{}`", question.name));
            }
        }
        if !known.contains_key("zone") {
            known.retain(|name, _| !matches!(*name, "host" | "subdomain"));
        }
        for (at, (version, _)) in recipe.wrong.iter().enumerate().filter(|(_, it)| it.0 >= recipe.version) {
            let wrong = written("wrong").and_then(|member| member.node.value.members()?.get(at));
            let span = wrong.map_or(span, |member| member.key_span);
            self.error(span, format!("`wrong` names version {version}: the recipe must have a later `version`"));
        }
        if recipe.config.is_empty() && recipe.notify.is_empty() {
            self.error(span, "a recipe needs `config` or `notify`: it would write nothing");
        }
        let mut used: Vec<&str> = Vec::new();
        let secrets: Vec<&str> = recipe.questions.iter().filter(|it| it.secret).map(|it| it.name.as_str()).collect();
        let entry = filled(used_by(FieldUse::Recipe), &[]);
        let domain = filled(iter::empty(), Field::of(Key::Ipv4).parts);
        let both = used_by(FieldUse::Recipe).filter(|field| field.is_for(FieldUse::Notify));
        let notification = filled(both, Field::of(Key::Notify).parts);
        let mut parts = vec![(&recipe.config, Each::Once, &entry), (&recipe.domain, Each::Record, &domain)];
        parts.extend(recipe.own.iter().chain(&recipe.both).map(|part| (part, Each::Once, &entry)));
        parts.extend(recipe.notify.iter().map(|part| (part, Each::Once, &notification)));
        for (members, each, known_fields) in parts {
            self.check_fields(members, known_fields, recipe);
            template::texts(members, &mut |keys, text, node| {
                // Requests around an update follow the rules for the update.
                let keys = if keys.len() > 1 && is_around(keys[0]) { &keys[1..] } else { keys };
                // An answer that goes into the URL unchanged gets an entry for each of its values.
                let is_typed = |name: &str| *keys == ["id"] && recipe.is_typed(name);
                used.extend(template::names(text));
                for name in template::names(text).filter(|name| !is_typed(name)) {
                    self.check_name_here(name, &known, each, node.span);
                }
                let may_be_file = match keys {
                    [name] => kind_of(name) == Some(Kind::Secrets),
                    [name, inside] => match kind_of(name) {
                        Some(Kind::Secrets) => part(Field::of(Key::Sign).parts, inside).is_some_and(is_secret),
                        kind => kind == Some(Kind::Values),
                    },
                    _ => false,
                };
                let is_whole = template::only(text).is_some() && may_be_file;
                let is_key_file = matches!(keys, [name, _, _] if kind_of(name) == Some(Kind::Secrets));
                if template::names(text).any(|name| recipe.is_file(name)) && !is_key_file {
                    self.error(node.span, "the path of a file may only stand in `sign`: {\"file\": \"${name}\"}");
                }
                let is_out_of_place = |name: &str| secrets.contains(&name) && !is_typed(name);
                if !is_whole && template::names(text).any(is_out_of_place) {
                    self.error(node.span, "a secret may only be the whole value of a variable in `extra`, or `sign`");
                }
            });
        }
        // The name below the zone follows from the zone.
        let below = ["host", "subdomain"];
        let is_used = |name: &str| used.contains(&name) || name == "zone" && below.iter().any(|it| used.contains(it));
        for (at, question) in recipe.questions.iter().enumerate().filter(|(_, question)| !is_used(&question.name)) {
            self.error(question_at(at), format!("`{}` is asked for, but nothing uses it", question.name));
        }
    }

    fn check_fields(&mut self, members: &[Member], known: &[&str], recipe: &Recipe) {
        for Member { key, key_span, node } in members {
            if !known.contains(&key.as_str()) {
                self.error(*key_span, format!("a recipe does not fill `{key}`; it may fill {}", known.join(", ")));
            }
            // ddns would parse such a text as JSON, which could name a file.
            let is_json = |text: &str| text.trim_start().starts_with(['{', '[']);
            let is_nested = is_around(key) || kind_of(key) == Some(Kind::Secrets);
            if is_nested && matches!(&node.value, Value::String(text) if is_json(text)) {
                self.error(node.span, format!("`{key}` must be JSON, not a text of it"));
            }
            if is_around(key) {
                let known = filled(used_by(FieldUse::Step), Field::of(Key::Before).parts);
                match &node.value {
                    Value::Object(members) => self.check_fields(members, &known, recipe),
                    Value::Array(items) => {
                        for item in items {
                            self.check_fields(item.value.members().unwrap_or_default(), &known, recipe);
                        }
                    }
                    _ => {}
                }
            }
            let names_a_file = match (kind_of(key), &node.value) {
                (Some(Kind::Values), Value::Object(members)) => !members.iter().all(|member| is_scalar(&member.node)),
                (Some(Kind::Secrets), Value::Array(items)) => !items.iter().all(is_scalar),
                (Some(Kind::Secrets), Value::Object(members)) => {
                    let is_answer = |node: &Node| {
                        path_of(&node.value).and_then(template::only).is_some_and(|name| recipe.is_file(name))
                    };
                    let is_right = |member: &Member| {
                        is_answer(&member.node) || is_scalar(&member.node) && member.key != FILE[0].name
                    };
                    !members.iter().all(is_right)
                }
                (kind, _) => kind == Some(Kind::Values),
            };
            if names_a_file {
                self.error(node.span, format!("a recipe names no file: `{key}` holds plain values"));
            }
        }
    }

    fn check_name_here(&mut self, name: &str, known: &HashMap<&str, Each>, each: Each, span: Span) {
        match known.get(name) {
            None => self.error(span, format!("nothing here is called `{name}`")),
            Some(of) if *of > each => self.error(span, format!("`{name}` has no single value here")),
            Some(_) => {}
        }
    }
}

/// The names of the fields and parts that a recipe may fill.
fn filled(fields: impl Iterator<Item = &'static Field>, parts: &'static [SubField]) -> Vec<&'static str> {
    let parts = parts.iter().filter(|part| part.is_for(FieldUse::Recipe)).map(|part| part.name);
    let mut names: Vec<&str> = fields.map(|field| field.name).chain(parts).collect();
    order::sort(&mut names);
    names
}

/// Whether a field contains requests around the update (H14).
pub(super) fn is_around(name: &str) -> bool {
    Field::written(name).is_some_and(|field| field.inside() == Some(FieldUse::Step))
}

fn kind_of(name: &str) -> Option<Kind> {
    Field::written(name).map(|field| field.kind)
}

fn is_secret(part: &SubField) -> bool {
    part.kind == SubKind::Secret
}

fn is_scalar(node: &Node) -> bool {
    !matches!(node.value, Value::Object(_) | Value::Array(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::read::tests::with;

    #[test]
    fn h12_a_mistake_in_a_recipe_is_shown_at_its_line() {
        let cases = [
            (
                r#""questions": [\n{"name": "a", "ask": "A"}], "config": {"id": "x"}"#,
                "my.json:2:1: error: `a` is asked",
            ),
            (
                r#""questions": [{"name": "a", "ask": "A"},\n{"name": "a", "ask": "B"}], "config": {"id": "${a}"}"#,
                "my.json:2:1: error: two things are called `a`",
            ),
            (r#""config": {"id": "x"}, "wrong": {\n"9": "It was."}"#, "my.json:2:1: error: `wrong` names version 9"),
        ];
        for (rest, expected) in cases {
            let text = with(&rest.replace("\\n", "\n"));
            let wrong = Recipe::read("my.json", &text).expect_err(&text);
            assert!(wrong.iter().any(|it| it.shown().starts_with(expected)), "{expected}: {wrong:#?}");
        }
    }

    #[test]
    fn h12_a_recipe_runs_no_program_and_names_no_file() {
        let cases = [
            (r#""config": {"index4": ["shell:id"]}"#, "a recipe does not fill `index4`"),
            (r#""ipv6": {"index6": "cmd:id"}"#, "a recipe does not fill `index6`"),
            (r#""both": {"log": {"file": "/a"}}"#, "a recipe does not fill `log`"),
            (r#""config": {"proxy": "http://h.example"}"#, "a recipe does not fill `proxy`"),
            (r#""config": {"providers": []}"#, "a recipe does not fill `providers`"),
            (r#""domain": {"name": "a"}"#, "a recipe does not fill `name`"),
            (r#""config": {"extra": {"__A__": {"file": "/a"}}}"#, "a recipe names no file"),
            (r#""domain": {"extra": {"__A__": {"file": "/a"}}}"#, "a recipe names no file"),
            (r#""config": {"extra": "{\"__A__\": {\"file\": \"/a\"}}"}"#, "a recipe names no file"),
            (r#""config": {"sign": {"file": "/a"}}"#, "a recipe names no file"),
            (r#""config": {"sign": [{"file": "/a"}]}"#, "a recipe names no file"),
            (r#""config": {"sign": "{\"file\": \"/a\"}"}"#, "`sign` must be JSON"),
            (r#""config": {"before": "{\"id\": \"/a\", \"sign\": {\"file\": \"/a\"}}"}"#, "`before` must be JSON"),
            (r#""notify": {"proxy": "http://h.example"}"#, "a recipe does not fill `proxy`"),
            (r#""notify": [{"id": "https://h.example/"}, {"ssl": "/a"}]"#, "a recipe does not fill `ssl`"),
            (r#""notify": {"extra": {"__A__": {"file": "/a"}}}"#, "a recipe names no file"),
            (r#""notify": 5"#, "`notify` must be an object"),
            (r#""config": {"sign": {"scheme": "google", "key": {"file": "/a"}}}"#, "a recipe names no file"),
            (r#""config": {"sign": {"scheme": "google", "key": {"file": "/a/${key}"}}}"#, "a recipe names no file"),
            (r#""config": {"sign": {"file": "${key}"}}"#, "a recipe names no file"),
            (r#""config": {"extra": {"__A__": {"file": "${key}"}}}"#, "a recipe names no file"),
            (r#""config": {"extra": {"__A__": "${key}"}}"#, "may only stand in `sign`"),
            (r#""config": {"sign": {"scheme": "google", "key": "${key}"}}"#, "may only stand in `sign`"),
        ];
        let key = r#""questions": [{"name": "key", "ask": "Key", "file": true}]"#;
        for (rest, expected) in cases {
            let text = with(&format!("{key}, {rest}"));
            let wrong = Recipe::read("my.json", &text).expect_err(&text);
            assert!(wrong.iter().any(|it| it.shown().contains(expected)), "{expected}: {wrong:#?}");
        }
    }
}
