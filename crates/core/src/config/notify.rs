//! `notify`: callbacks that report events (I5), or everything that is wrong with them.

use std::time::Duration;

use super::entry::EntryBuilder;
use super::fields::{FIELDS, Field, FieldUse, Key, RequestPart, names, used, used_by};
use super::layers::{Layers, Surroundings};
use super::raw::{Raw, Setting};
use super::read::{SettingReader, did_you_mean};
use super::value::digits;
use super::{Cache, Entry, Notification};
use crate::notify::{DEFAULT_AFTER, NotifyEvent, NotifyEvents};
use crate::text::diagnostic::{Severity, nearest};
use crate::text::diagnostics::Diagnostics;
use crate::text::json::{Member, Node, Value};

const MAX_NOTIFICATIONS: usize = 20;

/// The largest `after`; more is probably a typing mistake.
const MAX_FAILURES: u32 = 1000;

/// The notifications, except invalid ones, which are noted as errors. `entries` are those of the file; `is_service`:
/// ddns keeps running.
pub(super) fn notify(
    around: &Surroundings,
    file: &Raw,
    (entries, is_service): (&[Entry], bool),
    diagnostics: &mut Diagnostics,
) -> Vec<Notification> {
    let empty = Raw::default();
    let layers = around.layers(&empty, file);
    let Some(setting) = layers.get(Key::Notify) else { return Vec::new() };
    let mut reader = SettingReader { layers, diagnostics };
    let objects = reader.objects(Key::Notify);
    if objects.len() > MAX_NOTIFICATIONS {
        let message = format!("`notify` has {} items; at most {MAX_NOTIFICATIONS} are allowed", objects.len());
        reader.wrong_whole(Key::Notify, message, "");
        return Vec::new();
    }
    if !is_service && entries.iter().any(|entry| entry.cache == Cache::Off) {
        let message = "`cache` is off: a single run cannot report changed addresses or count the failures of \
                       earlier runs";
        reader.warn_whole(Key::Notify, message, "leave `cache` on");
    }
    let inherited = [&around.options, file, &around.environment].map(|layer| layer.only(RequestPart::Transport));
    let objects = objects.iter();
    objects.filter_map(|node| notification(node, setting, &inherited, around, &mut reader)).collect()
}

fn notification(
    node: &Node,
    setting: &Setting,
    [options, file, environment]: &[Raw; 3],
    around: &Surroundings,
    whole: &mut SettingReader<'_>,
) -> Option<Notification> {
    let before = whole.diagnostics.errors();
    let own = setting.inner(Field::of(Key::Notify), node);
    let (mut on, mut after) = (NotifyEvents::DEFAULT, DEFAULT_AFTER);
    for member in node.value.members().unwrap_or_default() {
        match member.key.as_str() {
            "on" => on = read_on(whole, &member.node).unwrap_or(on),
            "after" => after = read_after(whole, &member.node).unwrap_or(after),
            name if used(FieldUse::Notify, name).is_none() => warn_unknown(whole, member),
            _ => {}
        }
    }
    let start = setting.start(Field::of(Key::Notify), node);
    let layers = Layers(vec![options, &own, file, environment]);
    let reader = SettingReader { layers, diagnostics: &mut *whole.diagnostics };
    let mut maker = EntryBuilder { reader, start: &start, around };
    let callback = maker.notice();
    let proxies = maker.proxy(callback.as_ref().map(|callback| &callback.request.target));
    let (ssl, timeout) = (maker.ssl(), maker.timeout());
    if whole.diagnostics.errors() > before {
        return None;
    }
    Some(Notification {
        callback: callback?,
        on,
        after,
        proxies,
        ssl: ssl?,
        timeout: Duration::from_secs_f64(timeout?),
    })
}

/// A list of events, or a single one.
fn read_on(reader: &mut SettingReader<'_>, node: &Node) -> Option<NotifyEvents> {
    let words = NotifyEvent::ALL.map(NotifyEvent::key);
    let all = words.map(|word| format!("`{word}`")).join(", ");
    let items: &[Node] = match &node.value {
        Value::Null => return None,
        Value::Array(items) => items,
        _ => std::slice::from_ref(node),
    };
    let mut events = NotifyEvents::NONE;
    for item in items {
        let text = item.value.text().unwrap_or_default();
        for word in text.split([',', ';']).map(str::trim) {
            if let Some(event) = NotifyEvent::parse(word) {
                events = events.with(event);
                continue;
            }
            let message = match &item.value {
                Value::String(_) => format!("`notify`: `on` has no event `{word}`"),
                other => format!("`notify`: `on` must be events, not {}", other.kind()),
            };
            let near = nearest(word, words).map(|near| format!("did you mean `{near}`? "));
            let hint = format!("{}use any of {all}", near.unwrap_or_default());
            reader.wrong(Key::Notify, item.span, message, &hint);
        }
    }
    if items.is_empty() {
        let hint = format!("use any of {all}, or leave `on` out");
        reader.wrong(Key::Notify, node.span, "`notify`: `on` is empty: nothing would be sent", &hint);
    }
    Some(events)
}

fn read_after(reader: &mut SettingReader<'_>, node: &Node) -> Option<u32> {
    if node.value == Value::Null {
        return None;
    }
    let number =
        digits(&node.value).and_then(|text| text.parse().ok()).filter(|number| (1..=MAX_FAILURES).contains(number));
    let must = || format!("`notify`: `after` must be a whole number from 1 to {MAX_FAILURES}");
    reader.valid(Key::Notify, node.span, number.ok_or_else(must), "it counts failures in a row")
}

fn warn_unknown(reader: &mut SettingReader<'_>, Member { key, key_span, .. }: &Member) {
    if matches!(key.as_str(), "before" | "absent" | "after") {
        let message = format!("`notify`: a notification is a single request and has no `{key}`");
        reader.wrong(Key::Notify, *key_span, message, "leave it out");
        return;
    }
    if FIELDS.iter().any(|field| field.name == key) {
        let message = format!("`notify`: `{key}` has no effect in a notification");
        reader.note(Severity::Warning, Key::Notify, *key_span, &message, "leave it out");
        return;
    }
    let near = match key.as_str() {
        "url" | "address" | "webhook" => Some("id"),
        "body" | "data" | "json" | "payload" => Some("token"),
        "events" | "when" | "event" => Some("on"),
        _ => {
            let own = names(Field::of(Key::Notify).parts);
            nearest(key, used_by(FieldUse::Notify).map(|field| field.name).chain(own))
        }
    };
    let message = format!("`notify`: unknown field `{key}`: it has no effect");
    let hint = did_you_mean(near);
    reader.note(Severity::Warning, Key::Notify, *key_span, &message, &hint);
}

#[cfg(test)]
mod tests;
