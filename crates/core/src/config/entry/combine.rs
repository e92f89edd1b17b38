//! `combine`: several updates in one request (H7).

use super::super::fields::{Field, Key, quoted};
use super::super::read::SettingReader;
use super::Maker;
use crate::callback::{Callback, Combine};
use crate::text::json::{Node, Value};

/// How many domains one request may combine; services refuse more.
const MAX_DOMAINS: usize = 1000;

impl Maker<'_, '_> {
    /// Refuses placeholders that have no single meaning, and a `combine` that is never seen.
    pub(super) fn check_combine(&mut self, callback: &Callback) {
        if let Some(name) = callback.ambiguous() {
            let message = format!("{name} has no single meaning where `combine` puts several updates in one request");
            let hint = "use __IPV4__, __IPV6__ or __IPS__ for families, __DOMAINS__ for domains".to_owned();
            self.reader.wrong_whole(Key::Combine, message, Some(hint));
        }
    }
}

/// `combine`; `None` if it is not set, or changes nothing.
pub(crate) fn combine(reader: &mut SettingReader<'_>) -> Option<Combine> {
    let node = reader.object(Key::Combine)?;
    let mut combine = Combine { families: false, domains: 1, missing: None };
    for member in node.value.members().unwrap_or_default() {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=MAX_DOMAINS).contains(number));
        match (member.key.as_str(), &member.node.value) {
            ("families", Value::Bool(families)) => combine.families = *families,
            ("missing", Value::String(missing)) => combine.missing = Some(missing.clone()),
            ("domains", Value::Number(text)) if number(text).is_some() => combine.domains = number(text).unwrap_or(1),
            (name @ ("families" | "missing" | "domains"), _) => {
                let what = match name {
                    "families" => "`true` or `false`",
                    "missing" => "a string",
                    _ => "a whole number from 1 to 1000",
                };
                reader.wrong(Key::Combine, &at(&member.node), format!("`combine.{name}` must be {what}"), None);
            }
            (name, _) => {
                let hint = format!("use {}", quoted(Field::of(Key::Combine).parts, " and "));
                let message = format!("`combine`: `{name}` is not a part of it");
                reader.wrong(Key::Combine, &at(&member.node), message, Some(hint));
            }
        }
    }
    (combine.families || combine.domains > 1).then_some(combine)
}

/// The place of a value, without the value.
fn at(node: &Node) -> Node {
    Node { span: node.span, value: Value::Null }
}
