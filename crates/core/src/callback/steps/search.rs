//! What a step finds in its response: one entry, nothing, or too many entries to choose from (H15 to H17).

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::value::RawValue;

use super::{Callback, LookupStep, RequestContext, Values, addresses, agree};
use crate::callback::Method;
use crate::callback::expect::Pointer;
use crate::callback::variables::scalar_text;
use crate::text::json::{Dialect, MAX_DEPTH, Node, Value, parse};

/// How many pages a list may have.
const MAX_PAGES: usize = 20;

/// How many entries a list may have.
const MAX_ENTRIES: usize = 10_000;

/// How long a taken value may be, in bytes.
const MAX_VALUE: usize = 1024;

/// How many entries a message names if several match.
const NAMED: usize = 5;

/// How much a message shows of a response that is not a list, in characters.
const EXCERPT: usize = 200;

/// What the pages of a response contained so far.
#[derive(Debug, Default)]
pub struct Search {
    pages: usize,
    entries: usize,
    total: Option<usize>,
    /// How many entries match `where`.
    matched: usize,
    /// How many of these match `same`.
    same: usize,
    /// The first entries that match `where` and not `not`; `left_count` counts all of them.
    left: Vec<Node>,
    left_count: usize,
    /// For each pointer of `where`: whether any entry had a value there, or need not.
    seen: Vec<bool>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// No entry matches.
    Nothing,
    /// One entry matches.
    One {
        /// Whether the service already has the address.
        is_same: bool,
        /// The values taken from the entry, with the indexes of their names.
        values: Vec<(usize, Value)>,
    },
}

impl Search {
    /// Takes in a page, which is JSON. Returns the value that asks for the next page; `None`: it was the last. The error is a phrase.
    pub fn feed(
        &mut self,
        callback: &Callback,
        step: &LookupStep,
        about: RequestContext<'_>,
        text: &str,
    ) -> Result<Option<String>, String> {
        let values = callback.values(about);
        let document: &RawValue =
            serde_json::from_str(text).map_err(|error| format!("the response is not JSON: {error}"))?;
        if is_too_deep(text) {
            return Err(format!("the response is nested deeper than {MAX_DEPTH} levels"));
        }
        match &step.list {
            None => self.look_at(step, &values, document)?,
            Some(pointer) => {
                let Some(list) = find(document, pointer) else {
                    return Err(format!("the response has nothing at `{pointer}`"));
                };
                let is_object = list.get().starts_with('{');
                for entry in entries(list, pointer)? {
                    // An error message must not count as an empty list: `absent` would then create a record.
                    if is_object && !is_entry(step, &values, entry) {
                        return Err(format!("the response is not a list of entries{}", excerpt(callback, step, list)));
                    }
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
                Some(Value::Null | Value::Bool(false)) => None,
                // Pages are counted from 1, so that 0 means that there is none.
                Some(Value::Number(text)) if text == "0" => None,
                Some(Value::String(text) | Value::Number(text)) => Some(text),
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
        self.seen.resize(step.wanted.len(), false);
        for (seen, (pointer, wanted)) in self.seen.iter_mut().zip(&step.wanted) {
            let found = pointer.find(&node);
            *seen = *seen || found.is_some_and(|it| it.value != Value::Null) || fits(found, wanted, values);
        }
        let fits = |(pointer, wanted): &(Pointer, Value)| fits(pointer.find(&node), wanted, values);
        if !step.wanted.iter().all(fits) {
            return Ok(());
        }
        self.matched += 1;
        let has = |(pointer, wanted): &(Pointer, Value)| {
            pointer.find(&node).is_some_and(|it| agree(only(&it.value, wanted), wanted, values, true))
        };
        if !step.same.is_empty() && step.same.iter().all(has) {
            self.same += 1;
        }
        if step.left_out.is_empty() || !step.left_out.iter().all(fits) {
            self.left_count += 1;
            if self.left.len() < NAMED {
                self.left.push(node);
            }
        }
        Ok(())
    }

    /// The result over all pages. The error is a phrase.
    pub fn end(&self, callback: &Callback, step: &LookupStep, about: RequestContext<'_>) -> Result<Found, String> {
        if let Some(total) = self.total.filter(|total| self.entries < *total) {
            return Err(format!("the list has {} of {total} entries", self.entries));
        }
        let is_same = self.same > 0 && (self.matched == 1 || leaves_same_out(callback, step));
        match &self.left[..] {
            [] if is_same => Ok(Found::One { is_same, values: Vec::new() }),
            // A mistyped place, or a service that renamed it: `absent` would create another record each time.
            [] => match self.seen.iter().zip(&step.wanted).find(|(seen, _)| !**seen) {
                Some((_, (pointer, _))) => Err(format!("no entry of the list has `{pointer}`: correct `where`")),
                None => Ok(Found::Nothing),
            },
            [entry] if self.left_count == 1 => match taken(step, entry) {
                Err(_) if is_same => Ok(Found::One { is_same, values: Vec::new() }),
                values => surplus(step, &callback.values(about), entry)
                    .map_or(Ok(Found::One { is_same, values: values? }), Err),
            },
            several => {
                let names: Vec<String> = several.iter().filter_map(|entry| name(callback, step, entry)).collect();
                let (count, names) = (self.left_count, names.join(", "));
                let colon = if names.is_empty() { "" } else { ": " };
                Err(format!("{count} entries match{colon}{names}; delete all but one, or narrow `where` down"))
            }
        }
    }

    /// What `where` looks for, for a message: `/name home, /type A`.
    pub fn wanted(callback: &Callback, step: &LookupStep, about: RequestContext<'_>) -> String {
        let values = callback.values(about);
        let wanted = step.wanted.iter().map(|(pointer, value)| format!("{pointer} {}", meant(value, &values)));
        wanted.collect::<Vec<_>>().join(", ")
    }
}

/// A wanted value, for people.
fn meant(wanted: &Value, values: &Values<'_>) -> String {
    match wanted {
        Value::String(text) => super::filled(&super::template::parse(text, values.variables, &mut Vec::new()), values),
        Value::Array(any) => any.iter().map(|one| meant(&one.value, values)).collect::<Vec<_>>().join(" or "),
        Value::Null => "missing".to_owned(),
        other => scalar_text(other).into_owned(),
    }
}

/// Whether a value is wanted by `where` or `not`: a wanted list allows any of its values, and a wanted `null` stands
/// for a missing value. A `null` is an empty text, too: so some services write the name of the zone itself.
fn fits(found: Option<&Node>, wanted: &Value, values: &Values<'_>) -> bool {
    match (found.map(|node| &node.value), wanted) {
        (None | Some(Value::Null), Value::Null) => true,
        (Some(Value::Null), Value::String(_)) => agree(&Value::string(""), wanted, values, true),
        (Some(found @ Value::Array(_)), _) => agree(found, wanted, values, true),
        (_, Value::Array(any)) => any.iter().any(|one| fits(found, &one.value, values)),
        (found, _) => found.is_some_and(|found| agree(found, wanted, values, true)),
    }
}

/// Whether an entry has everything that `where` looks at.
fn is_entry(step: &LookupStep, values: &Values<'_>, entry: &RawValue) -> bool {
    step.wanted.iter().all(|(pointer, wanted)| find(entry, pointer).is_some() || fits(None, wanted, values))
}

/// Whether `not` leaves out the record that already has the address, and the update is a POST. Such a service cannot
/// change records: the new record exists beside the old one until that is deleted, and repeating the POST would create
/// it twice. Other methods can be repeated (H19).
fn leaves_same_out(callback: &Callback, step: &LookupStep) -> bool {
    let is_compared = |pointer: &Pointer| step.same.iter().any(|(same, _)| same == pointer);
    callback.request.method() == Method::Post
        && !step.left_out.is_empty()
        && step.left_out.iter().all(|(pointer, _)| is_compared(pointer))
}

/// The error if the entry has more values at a place of `same` than are wanted there, in a list or in a text of addresses: an
/// update would replace all of them.
fn surplus(step: &LookupStep, values: &Values<'_>, entry: &Node) -> Option<String> {
    step.same.iter().find_map(|(pointer, wanted)| {
        let (count, names): (usize, Vec<String>) = match (&pointer.find(entry)?.value, wanted) {
            (Value::Array(found), wanted) => {
                let allowed = if let Value::Array(wanted) = wanted { wanted.len() } else { 1 };
                let names = found.iter().filter_map(|node| address_in(&node.value)).take(NAMED);
                (found.len(), if found.len() > allowed { names.collect() } else { return None })
            }
            (Value::String(found), Value::String(_)) => {
                let (found, wanted) = (addresses(found)?, addresses(&meant(wanted, values))?);
                let more = |is: fn(&IpAddr) -> bool| {
                    found.iter().filter(|ip| is(ip)).count() > wanted.iter().filter(|ip| is(ip)).count()
                };
                if found.len() == 1 || !more(IpAddr::is_ipv4) && !more(IpAddr::is_ipv6) {
                    return None;
                }
                (found.len(), found.iter().take(NAMED).map(IpAddr::to_string).collect())
            }
            _ => return None,
        };
        let colon = if names.is_empty() { "" } else { ": " };
        let names = names.join(", ");
        Some(format!("`{pointer}` has {count} values{colon}{names}; an update would leave only the new one: delete all but one first"))
    })
}

/// The value in a list of one, if no list is wanted.
fn only<'v>(found: &'v Value, wanted: &Value) -> &'v Value {
    match (found, wanted) {
        (Value::Array(nodes), wanted) if !matches!(wanted, Value::Array(_)) && nodes.len() == 1 => &nodes[0].value,
        (found, _) => found,
    }
}

/// Names an entry in a message: by the first taken value that may be shown and tells entries apart, and by its address.
fn name(callback: &Callback, step: &LookupStep, entry: &Node) -> Option<String> {
    let variables = &callback.variables;
    let name_of = |place: usize| variables.taken.get(place).map_or("", |taken| taken.name.as_str());
    let tells = |place: usize| !variables.is_taken_secret(place) && !matches!(name_of(place), "__TTL__" | "__LINE__");
    let taken = step.take.iter().find(|(_, place)| tells(*place)).and_then(|(pointer, _)| {
        let text = scalar_text(&pointer.find(entry)?.value);
        Some(format!("{} {text}", pointer.last().unwrap_or_default()).trim().to_owned())
    });
    let address = step.same.iter().find_map(|(pointer, _)| address_in(&pointer.find(entry)?.value));
    match (taken, address) {
        (Some(taken), Some(address)) if !taken.ends_with(&address) => Some(format!("{taken} ({address})")),
        (taken, address) => taken.or(address),
    }
}

/// The first address in a value.
fn address_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim()).filter(|text| text.parse::<IpAddr>().is_ok()).map(str::to_owned),
        Value::Array(nodes) => nodes.iter().find_map(|node| address_in(&node.value)),
        Value::Object(members) => members.iter().find_map(|member| address_in(&member.node.value)),
        _ => None,
    }
}

/// The start of a response, for a message; empty if it may contain secrets.
fn excerpt(callback: &Callback, step: &LookupStep, said: &RawValue) -> String {
    if step.take.iter().any(|(_, place)| callback.variables.is_taken_secret(*place)) {
        return String::new();
    }
    let text = said.get();
    let start: String = text.chars().take(EXCERPT).collect();
    format!(": `{start}{}`", if start.len() < text.len() { "…" } else { "" })
}

/// Takes the values from an entry.
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
        let why = match text {
            "" => "is empty".to_owned(),
            "." | ".." => format!("is `{text}`, which would be another path"),
            _ if text.len() > MAX_VALUE => format!("is longer than {MAX_VALUE} bytes"),
            _ if text.chars().any(char::is_control) => "is not a single line".to_owned(),
            _ => return Ok((*place, value.clone())),
        };
        Err(format!("`{pointer}` of the result {why}"))
    };
    step.take.iter().map(take).collect()
}

/// Whether a JSON text has a value at a place, other than `null` and an empty text; `None`: the text is not JSON.
pub(super) fn has(text: &str, pointer: &Pointer) -> Option<bool> {
    let document = serde_json::from_str::<&RawValue>(text).ok()?;
    Some(find(document, pointer).is_some_and(|found| !matches!(found.get(), "null" | "\"\"")))
}

/// The value at a place. Only the way there is parsed.
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

/// The entries of a list. An object whose values are all objects is a list of these; any other object is a list of one.
fn entries<'t>(list: &'t RawValue, pointer: &Pointer) -> Result<Vec<&'t RawValue>, String> {
    if let Some(members) = members(list) {
        let is_list = members.values().all(|value| value.get().starts_with('{'));
        return Ok(if is_list { members.into_values().collect() } else { vec![list] });
    }
    match list.get().as_bytes().first() {
        Some(b'[') => serde_json::from_str(list.get()).map_err(|error| format!("the response is not JSON: {error}")),
        // `null`: some services write an empty list like this.
        Some(b'n') => Ok(Vec::new()),
        _ => Err(format!("`{pointer}` of the response is not a list")),
    }
}

/// Whether lists and objects are nested deeper than any service has reason to: also in parts that nothing reads.
fn is_too_deep(json: &str) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    json.bytes().any(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

fn scalar(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= MAX_VALUE).then(|| parse(raw.get(), Dialect::STRICT).ok()).flatten().map(|node| node.value)
}
