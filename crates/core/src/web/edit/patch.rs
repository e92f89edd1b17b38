//! Edits a JSON text in place: everything else keeps its bytes, comments included.

use crate::config::value;
use crate::text::json::{Member, Node, Span, Value, one_line, pretty};
use crate::web::addition::comma_after;

/// Sets a member of an object; if its key is written twice, the last one is changed.
pub(super) fn set(text: &str, object: &Node, name: &str, value: &Value) -> String {
    let members = object.value.members().unwrap_or_default();
    match (name.split_once('.'), members.iter().rfind(|member| member.key == name)) {
        (_, Some(member)) => replace(text, member.node.span, &written(text, member.key_span.start, value)),
        (None, None) => {
            let spans: Vec<Span> = members.iter().map(whole).collect();
            let at = spans.last().map_or(object.span.start, |last| last.start);
            insert(
                text,
                object.span,
                &spans,
                &format!("{}: {}", one_line(&Value::string(name)), written(text, at, value)),
            )
        }
        // A part of an object, such as `log.level`.
        (Some((outer, inner)), None) => match members.iter().rfind(|member| member.key == outer) {
            Some(member) if member.node.value.members().is_some() => set(text, &member.node, inner, value),
            _ => set(text, object, outer, &Value::object([(inner, value.clone())])),
        },
    }
}

/// Removes every member with this name.
pub(super) fn unset(text: &str, object: &Node, name: &str) -> String {
    let members = object.value.members().unwrap_or_default();
    let spans: Vec<Span> = members.iter().map(whole).collect();
    let places: Vec<usize> = (0..members.len()).filter(|at| members[*at].key == name).collect();
    match (name.split_once('.'), places.is_empty()) {
        (Some((outer, inner)), true) => match members.iter().rfind(|member| member.key == outer) {
            Some(member) => unset(text, &member.node, inner),
            None => text.to_owned(),
        },
        _ => remove(text, &spans, &places),
    }
}

/// The JSON text of each item of a list, which may be written as one string or as a single value (B9).
pub(super) fn items(text: &str, list: &Node) -> Vec<String> {
    match &list.value {
        Value::Array(items) => items.iter().map(|item| text[item.span.start..item.span.end].to_owned()).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::String(inside) if !inside.trim_start().starts_with('{') => {
            value::list(inside).unwrap_or_default().iter().map(|item| one_line(&item.value)).collect()
        }
        _ => vec![text[list.span.start..list.span.end].to_owned()],
    }
}

/// Replaces an item of a list; without `new`, removes it; without `at`, appends it.
pub(super) fn set_item(text: &str, list: &Node, at: Option<usize>, new: Option<&Value>) -> String {
    let new = new.map(one_line);
    let Value::Array(written) = &list.value else {
        let mut all = items(text, list);
        match (at, new) {
            (Some(at), Some(new)) => all[at] = new,
            (Some(at), None) => drop(all.remove(at)),
            (None, new) => all.extend(new),
        }
        return replace(text, list.span, &format!("[{}]", all.join(", ")));
    };
    let spans: Vec<Span> = written.iter().map(|item| item.span).collect();
    match (at, new) {
        (Some(at), Some(new)) => replace(text, spans[at], &new),
        (Some(at), None) => remove(text, &spans, &[at]),
        (None, Some(new)) => insert(text, list.span, &spans, &new),
        (None, None) => text.to_owned(),
    }
}

fn whole(member: &Member) -> Span {
    Span { start: member.key_span.start, end: member.node.span.end }
}

fn replace(text: &str, span: Span, new: &str) -> String {
    [&text[..span.start], new, &text[span.end..]].concat()
}

/// A value as text, indented like the line at `at`.
fn written(text: &str, at: usize, value: &Value) -> String {
    let is_short = |items: &[Node]| items.iter().all(|item| item.value.members().is_none());
    match value {
        Value::Array(items) if is_short(items) => {
            let items: Vec<String> = items.iter().map(|item| one_line(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        value => pretty(value).trim_end().replace('\n', &format!("{}{}", line_end(text), indent(text, at))),
    }
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The indentation of the line at `at`.
fn indent(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start().len()]
}

/// Appends an element, after the comments that follow the last one.
fn insert(text: &str, container: Span, elements: &[Span], new: &str) -> String {
    let (from, to) = (elements.last().map_or(container.start + 1, |last| last.end), container.end - 1);
    let between = &text[from..to];
    let kept = between.trim_end();
    let comma = if elements.is_empty() || comma_after(between).is_some() { "" } else { "," };
    let is_long = between.contains('\n');
    let before = match (is_long, elements.last()) {
        (true, Some(last)) => format!("{}{}", line_end(text), indent(text, last.start)),
        (true, None) => format!("{}{}  ", line_end(text), indent(text, container.start)),
        (false, Some(_)) => " ".to_owned(),
        (false, None) => String::new(),
    };
    [&text[..from], comma, kept, &before, new, &between[kept.len()..], &text[to..]].concat()
}

/// Removes elements with their commas, and lines that contained nothing else.
fn remove(text: &str, elements: &[Span], places: &[usize]) -> String {
    let mut text = text.to_owned();
    for at in places.iter().rev() {
        let Span { start, end } = elements[*at];
        if let Some(comma) = comma_after(&text[end..]) {
            text.remove(end + comma);
            text.replace_range(alone(&text, start, end), "");
            continue;
        }
        text.replace_range(alone(&text, start, end), "");
        // The last element is gone: remove the comma after the one before it.
        if let Some(before) = at.checked_sub(1).map(|before| elements[before].end)
            && let Some(comma) = comma_after(&text[before..])
        {
            let spaces = text[before + comma + 1..].chars().take_while(|letter| *letter == ' ').count();
            let is_end = text[before + comma + 1 + spaces..].starts_with(['}', ']']);
            text.replace_range(before + comma..before + comma + 1 + if is_end { spaces } else { 0 }, "");
        }
    }
    text
}

/// What is removed with an element: its whole line if nothing else is on it, otherwise the spaces before the next text.
fn alone(text: &str, start: usize, end: usize) -> std::ops::Range<usize> {
    let is_space = |letter: char| letter == ' ' || letter == '\t';
    let line = text[..start].trim_end_matches(is_space).len();
    let rest = end + (text[end..].len() - text[end..].trim_start_matches(is_space).len());
    let break_length = ["\r\n", "\n"].iter().find(|end| text[rest..].starts_with(**end)).map(|end| end.len());
    match break_length {
        Some(length) if text[..line].ends_with('\n') => line..rest + length,
        None => start..rest,
        Some(_) => start..end,
    }
}
