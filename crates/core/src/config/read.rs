//! Turns a setting into a value, or its default, with a reader for each shape of field. A reader notes each error with
//! its place and the allowed forms, and continues, so that all errors of a configuration are reported at once.

use std::borrow::Cow;

use super::fields::{Field, Key, Kind};
use super::layers::Layers;
use super::raw::Setting;
use super::value::{self, is_blank};
use crate::text::diagnostic::Severity;
use crate::text::diagnostics::Diagnostics;
use crate::text::json::{Dialect, MAX_VALUES, Member, Node, Span, Value, parse};
use crate::text::number::grouped;

/// Reads settings layer by layer, and collects errors and warnings.
pub(super) struct SettingReader<'a> {
    pub(super) layers: Layers<'a>,
    pub(super) diagnostics: &'a mut Diagnostics,
}

/// A boolean, or another text, such as `auto` or a path.
pub(super) enum BoolOrText {
    Flag(bool),
    Text(String),
}

impl<'a> SettingReader<'a> {
    pub(super) fn setting(&self, key: Key) -> Option<&'a Setting> {
        self.layers.get(key)
    }

    /// Notes an error at a part of a setting. With an empty `hint`, it has no hint.
    pub(super) fn wrong(&mut self, key: Key, at: Span, message: impl AsRef<str>, hint: &str) {
        self.note(Severity::Error, key, at, message.as_ref(), hint);
    }

    /// Notes an error or a warning at a part of a setting.
    pub(super) fn note(&mut self, severity: Severity, key: Key, at: Span, message: &str, hint: &str) {
        let Some(setting) = self.setting(key) else { return };
        let hint = || Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.diagnostics.add(severity, at, message, &mut || (setting.place(Field::of(key), at), hint()));
    }

    /// Notes an error at a whole setting.
    pub(super) fn wrong_whole(&mut self, key: Key, message: impl AsRef<str>, hint: &str) {
        if let Some(setting) = self.setting(key) {
            self.wrong(key, setting.node.span, message, hint);
        }
    }

    /// Notes a warning about a whole setting.
    pub(super) fn warn_whole(&mut self, key: Key, message: impl AsRef<str>, hint: &str) {
        if let Some(setting) = self.setting(key) {
            self.note(Severity::Warning, key, setting.node.span, message.as_ref(), hint);
        }
    }

    /// Unwraps what a part of a setting means, or notes why it is wrong.
    pub(super) fn valid<T>(&mut self, key: Key, at: Span, meant: Result<T, String>, hint: &str) -> Option<T> {
        meant.map_err(|why| self.wrong(key, at, why, hint)).ok()
    }

    /// Notes an error if a fetched configuration set this path: it must not decide which files of this host ddns writes
    /// or trusts.
    pub(super) fn refuse_fetched_path(&mut self, key: Key) {
        if self.setting(key).is_some_and(Setting::is_fetched) {
            let message = format!("`{}` names a file, which a fetched configuration may not", Field::of(key).name);
            self.wrong_whole(key, message, "set it with an option or in the environment");
        }
    }

    fn wrong_type(&mut self, key: Key, at: &Node) {
        let field = Field::of(key);
        let message = format!("`{}` must be {}, not {}", field.name, field.allowed, at.value.kind());
        self.wrong(key, at.span, message, "");
    }

    fn wrong_value(&mut self, key: Key, at: &Node) {
        let Field { name, allowed, shown, .. } = Field::of(key);
        let text = at.value.text().filter(|_| !shown.is_secret(&at.value));
        let text = text.map(|text| format!(", not `{text}`")).unwrap_or_default();
        self.wrong(key, at.span, format!("`{name}` must be {allowed}{text}"), "");
    }

    /// Unwraps what a word means, or notes that the word is not allowed.
    pub(super) fn or_wrong<T>(&mut self, key: Key, word: &str, meant: Option<T>) -> Option<T> {
        if meant.is_none() {
            let Field { name, allowed, .. } = Field::of(key);
            self.wrong_whole(key, format!("`{name}` must be {allowed}, not `{word}`"), "");
        }
        meant
    }

    pub(super) fn is_set(&self, key: Key) -> bool {
        self.given(key).is_some()
    }

    /// The setting; `None` if it is not set or empty, so that the default counts.
    pub(super) fn given(&self, key: Key) -> Option<&'a Setting> {
        self.setting(key).filter(|setting| !is_blank(&setting.node.value))
    }

    /// A string; `None` if it is not set and has no default.
    pub(super) fn text(&mut self, key: Key) -> Option<String> {
        let Some(setting) = self.given(key) else { return default(key).map(str::to_owned) };
        let text = setting.node.value.text().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(key, &setting.node);
        }
        text
    }

    /// The text of a number, or of a string that may contain one; `None` if it is not set and has no default.
    pub(super) fn digits(&mut self, key: Key) -> Option<&'a str> {
        let Some(setting) = self.given(key) else { return default(key) };
        let digits = value::digits(&setting.node.value);
        if digits.is_none() {
            self.wrong_type(key, &setting.node);
        }
        digits
    }

    /// A number that is `right`, or a text with one; `None` if it is wrong, or not set and has no default.
    pub(super) fn number<T: std::str::FromStr>(&mut self, key: Key, right: impl Fn(&T) -> bool) -> Option<T> {
        let number = self.digits(key)?.parse().ok().filter(right);
        if number.is_none() {
            let setting = self.setting(key)?;
            self.wrong_value(key, &setting.node);
        }
        number
    }

    /// A boolean or one of its words (B13); `None` if it is wrong.
    pub(super) fn flag(&mut self, key: Key) -> Option<bool> {
        match self.choice(key)? {
            BoolOrText::Flag(flag) => Some(flag),
            BoolOrText::Text(_) => {
                let setting = self.setting(key)?;
                self.wrong_value(key, &setting.node);
                None
            }
        }
    }

    /// A boolean, one of its words, or another text; `None` if it is wrong.
    pub(super) fn choice(&mut self, key: Key) -> Option<BoolOrText> {
        let text = match self.given(key).map(|setting| &setting.node) {
            None => default(key)?,
            Some(Node { value: Value::Bool(flag), .. }) => return Some(BoolOrText::Flag(*flag)),
            Some(Node { value: Value::String(text), .. }) => text.trim(),
            Some(Node { value: Value::Number(text), .. }) if value::flag(text).is_some() => text,
            Some(node) => {
                self.wrong_type(key, node);
                return None;
            }
        };
        Some(value::flag(text).map_or_else(|| BoolOrText::Text(text.to_owned()), BoolOrText::Flag))
    }

    /// A list of strings and numbers, a single one, or a string that contains separators or a JSON list (B9, B11). Each
    /// item has its place. The default if nothing is set.
    pub(super) fn list(&mut self, key: Key) -> Vec<Cow<'a, Node>> {
        let default = || value::separated(Field::of(key).default).into_iter().map(Cow::Owned).collect();
        let Some(setting) = self.given(key) else { return default() };
        let (node, Field { name, kind, .. }) = (&setting.node, Field::of(key));
        // Positions inside a string are not positions in the file: the whole string is the place.
        let at_node = |items: Vec<Node>| items.into_iter().map(|item| Cow::Owned(item.at(node.span))).collect();
        match &node.value {
            Value::Array(items) if items.is_empty() => default(),
            Value::Array(items) => self.items(key, items.iter().map(Cow::Borrowed).collect()),
            Value::String(text) if text.matches([',', ';']).count() >= MAX_VALUES => {
                self.wrong(key, node.span, format!("`{name}` has more than {} items", grouped(MAX_VALUES)), "");
                Vec::new()
            }
            Value::String(text) => match value::items(*kind, text) {
                Ok(items) if items.is_empty() => default(),
                Ok(items) => self.items(key, at_node(items)),
                // `[::1]:3128` is a host, not a list.
                Err(_) if key == Key::Proxy && !text.contains('"') => at_node(value::separated(text)),
                Err(error) => {
                    let what = if text.trim_start().starts_with('{') { "object" } else { "list" };
                    let message = format!("`{name}` starts like a JSON {what} but is not one: {}", error.message);
                    self.wrong(key, node.span, message, "");
                    Vec::new()
                }
            },
            Value::Number(_) | Value::Bool(_) if *kind == Kind::Sources => vec![Cow::Borrowed(node)],
            Value::Bool(false) if *kind == Kind::Domains => Vec::new(),
            Value::Object(_) if kind.has_objects() => vec![Cow::Borrowed(node)],
            _ => {
                self.wrong_type(key, node);
                Vec::new()
            }
        }
    }

    /// A list of limited length, because its items are tried one after the other, or compared with each other.
    pub(super) fn short_list(&mut self, key: Key) -> Vec<Cow<'a, Node>> {
        const MAX_ITEMS: usize = 100;
        let items = self.list(key);
        if items.len() <= MAX_ITEMS {
            return items;
        }
        let message =
            format!("`{}` has {} items; at most {MAX_ITEMS} are allowed", Field::of(key).name, grouped(items.len()));
        self.wrong_whole(key, message, "");
        Vec::new()
    }

    /// Keeps strings, numbers and booleans of sources, and objects of domains and secrets. Notes all other items as
    /// errors.
    fn items(&mut self, key: Key, mut items: Vec<Cow<'a, Node>>) -> Vec<Cow<'a, Node>> {
        let mut at = 0;
        items.retain(|item| {
            at += 1;
            match &item.value {
                Value::String(_) => true,
                Value::Number(_) | Value::Bool(_) if Field::of(key).kind == Kind::Sources => true,
                Value::Object(_) if Field::of(key).kind.has_objects() => true,
                other => {
                    let message =
                        format!("`{}[{}]` must be a string, not {}", Field::of(key).name, at - 1, other.kind());
                    self.wrong(key, item.span, message, "");
                    false
                }
            }
        });
        items
    }

    /// The members of an object of strings, or of a text that contains headers. Each has its place.
    pub(super) fn headers(&mut self, key: Key) -> Vec<Member> {
        let Some(setting) = self.given(key) else { return Vec::new() };
        match &setting.node.value {
            Value::Object(members) => members.clone(),
            Value::String(text) => {
                let span = setting.node.span;
                let members = value::headers(text).map_err(|why| format!("`{}` {why}", Field::of(key).name));
                let hint = "write `Name: value` on a line for each header, or a JSON object";
                let members = self.valid(key, span, members, hint).unwrap_or_default().into_iter();
                members.map(|member| Member { key_span: span, node: member.node.at(span), ..member }).collect()
            }
            _ => {
                self.wrong_type(key, &setting.node);
                Vec::new()
            }
        }
    }

    /// A list of objects, a single one, or a string that contains either. Each has its place.
    pub(super) fn objects(&mut self, key: Key) -> Vec<Node> {
        let Some(setting) = self.given(key) else { return Vec::new() };
        let Some(node) = self.json(key, &setting.node) else { return Vec::new() };
        let mut items = match node.value {
            Value::Array(items) => items,
            value => vec![Node { span: node.span, value }],
        };
        if key == Key::Notify {
            items.iter_mut().for_each(value::expand_notification);
        }
        let (objects, others): (Vec<Node>, Vec<Node>) =
            items.into_iter().partition(|item| item.value.members().is_some());
        for item in &others {
            self.wrong_type(key, item);
        }
        objects
    }

    /// An object, or a string that contains one.
    pub(super) fn object(&mut self, key: Key) -> Option<Node> {
        let setting = self.given(key)?;
        let node = self.json(key, &setting.node)?;
        if node.value.members().is_none() {
            self.wrong_type(key, &setting.node);
            return None;
        }
        Some(node)
    }

    /// The JSON in a string, or the value itself.
    fn json(&mut self, key: Key, node: &Node) -> Option<Node> {
        let Value::String(text) = &node.value else { return Some(node.clone()) };
        if key == Key::Notify && value::is_web_address(text) {
            return Some(node.clone());
        }
        if !text.trim_start().starts_with(['{', '[', '/', '#']) {
            self.wrong_type(key, node);
            return None;
        }
        let inside = parse(text, Dialect::IN_TEXT).map(|inside| inside.at(node.span)).map_err(|error| {
            let (name, at) = (Field::of(key).name, error.span.start + 1);
            format!("`{name}` is not JSON: at character {at}, {}", error.message)
        });
        self.valid(key, node.span, inside, "")
    }
}

/// The hint that suggests a name; empty if no name is near enough.
pub(super) fn did_you_mean(near: Option<&str>) -> String {
    near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default()
}

/// The default of a field; `None` if it has none.
fn default(key: Key) -> Option<&'static str> {
    Some(Field::of(key).default).filter(|default| !default.is_empty())
}
