//! `expect`: what a response must say (H4).

use std::ops::RangeInclusive;

use super::super::fields::{Field, Key, SubField, part, quoted};
use super::super::value::whole;
use super::EntryBuilder;
use crate::callback::Variables;
use crate::callback::expect::{Condition, Conditions, Expect, Pointer};
use crate::callback::steps::unknown_in;
use crate::text::duration;
use crate::text::json::{Member, Node, Span, Value, pretty};
use crate::update::hold::MAX_WAIT_SECONDS;

/// Why a part of `expect` is wrong: place, message and hint.
type ExpectMistake = (Span, String, String);

fn wrong<T>(at: &Node, message: impl Into<String>, hint: impl Into<String>) -> Result<T, ExpectMistake> {
    Err((at.span, message.into(), hint.into()))
}

impl EntryBuilder<'_, '_> {
    /// `None`: the status decides. `not_here` are the parts that `expect` must not have here.
    pub(super) fn expect(
        &mut self,
        variables: &Variables,
        unknown: &mut Vec<String>,
        not_here: &[&str],
    ) -> Option<Expect> {
        let setting = self.reader.given(Key::Expect)?;
        if let Some(word) = setting.node.value.text().map(str::trim)
            && !word.starts_with('{')
        {
            let preset = word.eq_ignore_ascii_case("dyndns2").then_some(Expect::Dyndns2);
            return self.reader.or_wrong(Key::Expect, word, preset);
        }
        let node = self.reader.object(Key::Expect)?;
        for member in node.value.members().unwrap_or_default() {
            if not_here.contains(&member.key.as_str()) {
                let message = format!("`expect`: `{}` has no meaning here", member.key);
                let hint = match member.key.as_str() {
                    "none" => "`none` belongs in a step of `before`",
                    _ => "leave it out: a notification has no steps whose values it could forget",
                };
                self.reader.wrong(Key::Expect, member.key_span, message, hint);
                return None;
            }
        }
        match conditions(&node) {
            Ok(conditions) => {
                let wanted = conditions.all().flat_map(|condition| &condition.json);
                wanted.for_each(|(_, value)| unknown_in(value, variables, unknown));
                Some(Expect::Conditions(conditions))
            }
            Err((at, message, hint)) => {
                self.reader.wrong(Key::Expect, at, message, &hint);
                None
            }
        }
    }
}

fn conditions(node: &Node) -> Result<Conditions, ExpectMistake> {
    let mut all = Conditions { written: pretty(&node.value), ..Conditions::default() };
    let members = node.value.members().unwrap_or_default();
    for (at, member) in members.iter().enumerate() {
        let (name, parts) = (member.key.as_str(), Field::of(Key::Expect).parts);
        let list = match name {
            "stop" => &mut all.stop,
            "wait" => &mut all.wait,
            "reject" => &mut all.reject,
            "accept" => all.accept.insert(Vec::new()),
            "forget" => &mut all.forget,
            "none" => &mut all.none,
            _ => {
                let message = format!("`expect` has no field `{name}`");
                return wrong(&member.node, message, format!("use {}", quoted(parts, " and ")));
            }
        };
        if members[..at].iter().any(|before| before.key == name) {
            return wrong(&member.node, format!("`expect.{name}` is written twice"), "write one list: [\"…\", \"…\"]");
        }
        let parts = part(parts, name).map(|part| part.parts).unwrap_or_default();
        *list = match &member.node.value {
            Value::Array(items) if items.is_empty() => {
                return wrong(&member.node, format!("`expect.{name}` is empty: it would never match"), "leave it out");
            }
            Value::Array(items) => items.iter().map(|item| condition(name, parts, item)).collect::<Result<_, _>>()?,
            _ => vec![condition(name, parts, &member.node)?],
        };
    }
    Ok(all)
}

fn condition(list: &str, parts: &'static [SubField], node: &Node) -> Result<Condition, ExpectMistake> {
    let with_pattern = |condition: Condition, at: &Node, pattern: &str| match condition.with_pattern(pattern) {
        _ if pattern.is_empty() => {
            wrong(at, format!("`expect.{list}` has an empty pattern"), "it would always match; leave it out")
        }
        Ok(condition) => Ok(condition),
        Err(why) => {
            let hint = "write a `\\` twice in JSON; look-around is not supported";
            wrong(at, format!("`expect.{list}` is not a regular expression: {why}"), hint)
        }
    };
    match &node.value {
        Value::String(pattern) => return with_pattern(Condition::default(), node, pattern),
        Value::Object(_) => {}
        other => {
            let message = format!("`expect.{list}` must be a string or an object, not {}", other.kind());
            return wrong(node, message, "e.g. \"^good\", or {\"status\": 200, \"body\": \"^good\"}");
        }
    }
    let mut condition = Condition::default();
    for Member { key, node: inner, .. } in node.value.members().unwrap_or_default() {
        match (key.as_str(), &inner.value) {
            ("status", _) => condition.status = statuses(list, inner)?,
            ("body", Value::String(pattern)) => condition = with_pattern(condition, inner, pattern)?,
            ("json", Value::Object(wanted)) => {
                for Member { key, node, .. } in wanted {
                    let Some(pointer) = Pointer::parse(key) else {
                        let message = format!("`expect.{list}.json`: `{key}` is not a JSON pointer");
                        return wrong(node, message, Pointer::FORM);
                    };
                    condition.json.push((pointer, node.value.clone()));
                }
            }
            ("for", Value::String(text)) if list == "wait" => {
                let wait = duration::parse(text).filter(|wait| !wait.is_zero() && wait.as_secs() <= MAX_WAIT_SECONDS);
                if wait.is_none() {
                    let message = format!("`expect.wait.for`: `{text}` is not a duration from 1s to 31d");
                    return wrong(inner, message, "e.g. 90s, 30m, 1h");
                }
                condition.wait_for = wait;
            }
            ("until", Value::String(text)) if list == "stop" && text == "address" => condition.until_address = true,
            ("all", Value::Bool(all)) if list == "stop" => condition.all = *all,
            (name, _) if part(parts, name).is_some() => {
                let hint = "`body` is a string, `json` an object, `for` (of `wait`) a duration such as \"30m\", `until` (of `stop`) \"address\", `all` (of `stop`) true";
                return wrong(inner, format!("`expect.{list}.{key}` cannot be {}", inner.value.kind()), hint);
            }
            (other, _) => {
                let hint = "use `status`, `body`, `json`, `for` in `wait`, `until` and `all` in `stop`";
                return wrong(inner, format!("`expect.{list}`: a condition has no field `{other}`"), hint);
            }
        }
    }
    if condition.is_empty() {
        return wrong(node, format!("`expect.{list}` has an empty condition"), "it would always match; leave it out");
    }
    Ok(condition)
}

fn statuses(list: &str, node: &Node) -> Result<Vec<RangeInclusive<u16>>, ExpectMistake> {
    let one = |node: &Node| {
        let number = |text: &str| text.trim().parse().ok().filter(|status| (100..=599).contains(status));
        let range = match &node.value {
            Value::Number(text) => number(whole(text)).map(|status: u16| status..=status),
            Value::String(text) => match text.split_once('-') {
                Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| from..=to),
                None => number(text).map(|status| status..=status),
            },
            _ => None,
        };
        match range.filter(|range| !range.is_empty()) {
            Some(range) => Ok(range),
            None => wrong(
                node,
                format!("`expect.{list}.status` must be a status from 100 to 599, or a range"),
                "e.g. 200, \"200-299\", or [200, 304]",
            ),
        }
    };
    match &node.value {
        Value::Array(items) => items.iter().map(one).collect(),
        _ => one(node).map(|range| vec![range]),
    }
}
