//! What a step finds in its answers: one entry, nothing, or more than can be right (H15 to H17).

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Basis, Callback, LookupStep, Values, agree};
use crate::callback::expect::Pointer;
use crate::text::json::{Dialect, Node, Value, parse};

/// How many pages a list may have.
const MAX_PAGES: usize = 20;

/// How many entries a list may have.
const MAX_ENTRIES: usize = 10_000;

/// How long a value may be, in bytes.
const MAX_VALUE: usize = 1024;

/// Of more entries that match, so many are named.
const NAMED: usize = 5;

/// What the pages of an answer held so far.
#[derive(Debug, Default)]
pub struct Search {
    pages: usize,
    entries: usize,
    total: Option<usize>,
    /// How many match `where`.
    matched: usize,
    /// Whether the first of them has everything already.
    is_same: bool,
    /// Those that `not` leaves; the first few.
    left: Vec<Node>,
    left_count: usize,
}

/// What a step found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// One entry.
    One {
        /// Whether the service has the address already.
        is_same: bool,
        /// What is taken from it: places of names, and values.
        values: Vec<(usize, Value)>,
    },
}

impl Search {
    /// Takes in a page: an answer in JSON. Returns what asks for the next one; `None` if it was the last. Fails with a phrase.
    pub fn feed(
        &mut self,
        callback: &Callback,
        step: &LookupStep,
        about: Basis<'_>,
        text: &str,
    ) -> Result<Option<String>, String> {
        let values = callback.values(about);
        let document: &RawValue =
            serde_json::from_str(text).map_err(|error| format!("the response is not JSON: {error}"))?;
        match &step.list {
            None => self.look_at(step, &values, document)?,
            Some(pointer) => {
                let Some(list) = find(document, pointer) else {
                    return Err(format!("the response has nothing at `{pointer}`"));
                };
                for entry in entries(list, pointer)? {
                    self.look_at(step, &values, entry)?;
                }
            }
        }
        self.pages += 1;
        if let Some(total) = step.total.as_ref() {
            let number = find(document, total).and_then(scalar);
            let number = number.as_ref().and_then(|value| match value {
                Value::Number(text) | Value::String(text) => text.parse().ok(),
                _ => None,
            });
            self.total = Some(number.ok_or_else(|| format!("the response has no number at `{total}`"))?);
        }
        let next = match step.next.as_ref().and_then(|(pointer, _)| find(document, pointer)) {
            None => None,
            Some(raw) => match scalar(raw) {
                Some(Value::String(text) | Value::Number(text)) => Some(text),
                Some(Value::Null | Value::Bool(false)) => None,
                _ => return Err("the value that asks for the next page is not a single line".to_owned()),
            },
        };
        match next.filter(|next| !next.is_empty()) {
            Some(_) if self.pages == MAX_PAGES => Err(format!("the list has more than {MAX_PAGES} pages")),
            next => Ok(next),
        }
    }

    fn look_at(&mut self, step: &LookupStep, values: &Values<'_>, entry: &RawValue) -> Result<(), String> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(format!("the list has more than {MAX_ENTRIES} entries"));
        }
        let node = parse(entry.get(), Dialect::STRICT)
            .map_err(|error| format!("the response is not JSON: {}", error.message))?;
        let all = |pairs: &[(Pointer, Value)], loosely| {
            pairs.iter().all(|(pointer, wanted)| {
                pointer.find(&node).is_some_and(|found| agree(&found.value, wanted, values, loosely))
            })
        };
        if !all(&step.wanted, true) {
            return Ok(());
        }
        self.matched += 1;
        self.is_same = self.matched == 1 && !step.same.is_empty() && all(&step.same, true);
        if step.left_out.is_empty() || !all(&step.left_out, true) {
            self.left_count += 1;
            if self.left.len() < NAMED {
                self.left.push(node);
            }
        }
        Ok(())
    }

    /// What was found on all pages. Fails with a phrase.
    pub fn end(&self, callback: &Callback, step: &LookupStep) -> Result<Found, String> {
        if let Some(total) = self.total.filter(|total| self.entries < *total) {
            return Err(format!("the list has {} of {total} entries", self.entries));
        }
        match &self.left[..] {
            [] if self.is_same => Ok(Found::One { is_same: true, values: Vec::new() }),
            [] => Ok(Found::Nothing),
            [entry] if self.left_count == 1 => match taken(step, entry) {
                Err(_) if self.is_same => Ok(Found::One { is_same: true, values: Vec::new() }),
                values => Ok(Found::One { is_same: self.is_same, values: values? }),
            },
            several => {
                let names: Vec<String> = several.iter().filter_map(|entry| name(callback, step, entry)).collect();
                let (count, names) = (self.left_count, names.join(", "));
                let colon = if names.is_empty() { "" } else { ": " };
                Err(format!("{count} entries match{colon}{names}; delete all but one, or narrow `where` down"))
            }
        }
    }

    /// What was looked for, for a message: `/name home, /type A`.
    pub fn wanted(callback: &Callback, step: &LookupStep, about: Basis<'_>) -> String {
        let values = callback.values(about);
        let wanted = step.wanted.iter().map(|(pointer, value)| match value {
            Value::String(text) => {
                let parts = super::template::parse(text, values.variables, &mut Vec::new());
                format!("{pointer} {}", super::filled(&parts, &values))
            }
            other => format!("{pointer} {}", scalar_text(other)),
        });
        wanted.collect::<Vec<_>>().join(", ")
    }
}

/// What an entry is called by: the first value that is taken from it and may be seen.
fn name(callback: &Callback, step: &LookupStep, entry: &Node) -> Option<String> {
    let (pointer, _) = step.take.iter().find(|(_, place)| !callback.variables.is_taken_secret(*place))?;
    let text = scalar_text(&pointer.find(entry)?.value);
    let last = pointer.last().unwrap_or_default();
    Some(format!("{last} {text}").trim().to_owned())
}

fn scalar_text(value: &Value) -> String {
    crate::callback::variables::scalar_text(value).into_owned()
}

/// The values that are taken from an entry.
fn taken(step: &LookupStep, entry: &Node) -> Result<Vec<(usize, Value)>, String> {
    let take = |(pointer, place): &(Pointer, usize)| {
        let missing = || format!("the result has nothing at `{pointer}`");
        let value = &pointer.find(entry).ok_or_else(missing)?.value;
        let text = match value {
            Value::String(text) | Value::Number(text) => text.as_str(),
            Value::Bool(_) => "true",
            Value::Null => return Err(missing()),
            other => return Err(format!("`{pointer}` of the result is {}, not a single value", other.kind())),
        };
        // `.` and `..` would be another path.
        if text.is_empty() || text.len() > MAX_VALUE || text.chars().any(char::is_control) || matches!(text, "." | "..")
        {
            return Err(format!("`{pointer}` of the result is not a single line"));
        }
        Ok((*place, value.clone()))
    };
    step.take.iter().map(take).collect()
}

/// What stands at a place; nothing but the way there is read.
/// Whether a JSON text has nothing in a place, or an empty text.
pub(super) fn lacks(text: &str, pointer: &Pointer) -> bool {
    let Ok(document) = serde_json::from_str::<&RawValue>(text) else { return false };
    find(document, pointer).is_none_or(|found| matches!(found.get(), "null" | "\"\""))
}

fn find<'t>(document: &'t RawValue, pointer: &Pointer) -> Option<&'t RawValue> {
    pointer.steps().iter().try_fold(document, |raw, step| {
        if let Some(mut members) = members(raw) {
            return members.remove(step.as_str());
        }
        let items: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
        items.get(step.parse::<usize>().ok()?).copied()
    })
}

fn members(raw: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// The entries of a list. An object whose values are all objects is a list of them, any other one is a list of one.
fn entries<'t>(list: &'t RawValue, pointer: &Pointer) -> Result<Vec<&'t RawValue>, String> {
    if let Some(members) = members(list) {
        let is_list = members.values().all(|value| value.get().starts_with('{'));
        return Ok(if is_list { members.into_values().collect() } else { vec![list] });
    }
    match list.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str(list.get()).map_err(|error| format!("the response is not JSON: {error}")),
        // How some services write an empty list.
        Some(b'n') => Ok(Vec::new()),
        _ => Err(format!("`{pointer}` of the response is not a list")),
    }
}

fn scalar(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= MAX_VALUE).then(|| parse(raw.get(), Dialect::STRICT).ok()).flatten().map(|node| node.value)
}
