//! `combine`: several updates in one request (H7).

use super::super::fields::{Field, Key, SubKind, part, quoted};
use super::super::read::SettingReader;
use super::Maker;
use crate::callback::{Callback, Combine};
use crate::text::json::Value;

/// How many domains one request may combine; services refuse more.
const MAX_DOMAINS: usize = 1000;

impl Maker<'_, '_> {
    /// Refuses placeholders that have no single meaning, and a `combine` that is never seen.
    pub(super) fn check_combine(&mut self, callback: &Callback) {
        if let Some(name) = callback.ambiguous() {
            let message = format!("{name} is ambiguous if `combine` puts several updates in one request");
            let hint = "use __IPV4__, __IPV6__ or __IPS__ for families, __DOMAINS__ for domains";
            self.reader.wrong_whole(Key::Combine, message, hint);
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
            (name, _) => {
                let parts = Field::of(Key::Combine).parts;
                let what = match part(parts, name).map(|part| part.kind) {
                    Some(SubKind::Flag) => "`true` or `false`",
                    Some(SubKind::Text) => "a string",
                    Some(_) => "a whole number from 1 to 1000",
                    None => {
                        let hint = format!("use {}", quoted(parts, " and "));
                        let message = format!("`combine` has no field `{name}`");
                        reader.wrong(Key::Combine, member.node.span, message, &hint);
                        continue;
                    }
                };
                reader.part::<()>(Key::Combine, name, member.node.span, None, [what, ""]);
            }
        }
    }
    (combine.families || combine.domains > 1).then_some(combine)
}
