//! What somebody typed into a form of the configuration, as operations. What was left as it is makes none.

use super::controls::{Content, EditControl, EditForm};
use super::edit::{At, Op};
use crate::config::fields::{Field, Key, Kind};
use crate::config::value::{is_off, list, natural};
use crate::text::json::Value;

/// The operations of a form; `typed` is what its fields hold.
pub fn operations(form: &EditForm, typed: impl Fn(&str) -> Option<String>) -> Vec<Op> {
    let text_of = |name: &str| typed(name).map(|text| text.replace("\r\n", "\n").trim().to_owned());
    let is_json = text_of("format").is_none_or(|format| format.is_empty() || format.eq_ignore_ascii_case("json"));
    let mut ops = Vec::new();
    for EditControl { field, content, .. } in &form.controls {
        let at = At { entry: form.entry, key: field.key };
        let text = text_of(field.name);
        let set = |text: String| {
            let value = Value::String(text);
            let is_text = field.key == Key::Token && !is_json;
            Op::Set { at, item: None, value: if is_text { value } else { natural(field.kind, &value) } }
        };
        let full = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        match content {
            Content::Locked(_) => {}
            Content::Items(items) => of_list(at, items, &text_of, &mut ops),
            Content::Unset if matches!(field.kind, Kind::Domains | Kind::Sources) => {
                of_list(at, &[], &text_of, &mut ops);
            }
            Content::Unset => ops.extend(full(&text).map(set)),
            Content::Open(now) => match text {
                Some(text) if text == now.trim() => {}
                // The form has the word in its own letters.
                Some(text) if !field.words.is_empty() && text.eq_ignore_ascii_case(now.trim()) => {}
                Some(text) if text.is_empty() => ops.push(Op::Unset { at }),
                text => ops.extend(text.map(set)),
            },
            Content::WriteOnly(_) => match full(&text) {
                Some(text) => ops.push(set(text)),
                None if text_of(&format!("unset.{}", field.name)).is_some() => ops.push(Op::Unset { at }),
                None => {}
            },
        }
    }
    ops
}

/// A list has a field for each item (`keep`, `remove`, or what stands in its place), and one for more of them.
fn of_list(at: At, items: &[(String, bool)], text_of: &dyn Fn(&str) -> Option<String>, ops: &mut Vec<Op>) {
    let name = Field::of(at.key).name;
    let each: Vec<Option<String>> = (0..items.len()).map(|number| text_of(&format!("{name}.{number}"))).collect();
    let more: Vec<String> = [text_of(&format!("{name}.add")), text_of(&format!("{name}.other"))]
        .into_iter()
        .flatten()
        .flat_map(|text| if text.starts_with("url:") { vec![text] } else { split(&text) })
        .collect();
    if each.iter().flatten().chain(&more).any(|text| is_off(&Value::string(text))) {
        if items.first().is_none_or(|(shown, _)| shown != "false") {
            ops.push(Op::Set { at, item: None, value: Value::Bool(false) });
        }
        return;
    }
    let is_change = |text: &str| !matches!(text, "" | "keep" | "remove");
    for (number, text) in each.iter().enumerate() {
        if let Some(text) = text.as_ref().filter(|text| is_change(text)) {
            ops.push(Op::Set { at, item: Some(number), value: Value::string(text) });
        }
    }
    for (number, text) in each.iter().enumerate().rev() {
        if text.as_deref() == Some("remove") {
            ops.push(Op::Remove { list: at, item: number });
        }
    }
    ops.extend(more.into_iter().map(|item| Op::Add { list: at, item: Value::string(item) }));
}

/// Items on lines of their own, or separated.
fn split(text: &str) -> Vec<String> {
    let lines = text.lines().flat_map(|line| list(line).unwrap_or_default());
    lines
        .filter_map(|item| item.value.text().map(|text| text.trim().to_owned()))
        .filter(|text| !text.is_empty())
        .collect()
}
