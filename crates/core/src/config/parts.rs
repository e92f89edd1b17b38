//! Reads an object inside a field, part by part. Messages name a part by its path: `group.lease`.

use super::fields::{Field, Key, SubField, names, part, quoted};
use super::raw::Setting;
use super::read::{SettingReader, did_you_mean};
use super::value::{self, list};
use crate::text::diagnostic::nearest;
use crate::text::json::{Member, Node, Value};

/// A member that is set. As for fields, the last one counts if it is written twice, even if it is `null`.
pub(super) fn member<'n>(members: &'n [Member], name: &str) -> Option<&'n Node> {
    let last = members.iter().rfind(|member| member.key == name);
    last.map(|member| &member.node).filter(|node| node.value != Value::Null)
}

/// One object, and the parts that it may have.
pub(super) struct PartReader<'n, 'a, 'r> {
    pub(super) reader: &'r mut SettingReader<'a>,
    pub(super) key: Key,
    /// The path of the object, which begins its messages: `group`, `web.push.NAME`.
    pub(super) name: String,
    pub(super) members: &'n [Member],
    pub(super) parts: &'static [SubField],
}

impl<'n, 'a, 'r> PartReader<'n, 'a, 'r> {
    /// Reads the object that is the value of a field.
    pub(super) fn new(reader: &'r mut SettingReader<'a>, key: Key, members: &'n [Member]) -> Self {
        let Field { name, parts, .. } = Field::of(key);
        Self { reader, key, name: (*name).to_owned(), members, parts }
    }

    /// A part that is set.
    pub(super) fn get(&self, name: &str) -> Option<&'n Node> {
        member(self.members, name)
    }

    /// Reads a part. An error of `read` continues a sentence that begins with the part's name. `None`: the part is not
    /// set, or it is wrong, which is noted.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'n Node) -> Result<T, String>,
        hint: &str,
    ) -> Option<T> {
        let node = self.get(name)?;
        let meant = read(node).map_err(|why| format!("`{}.{name}`{why}", self.name));
        self.reader.valid(self.key, node.span, meant, hint)
    }

    /// Like `read`, with an error that says what the part must be, and a hint.
    pub(super) fn part<T>(
        &mut self,
        name: &str,
        meant: impl FnOnce(&'n Node) -> Option<T>,
        [must, hint]: [&str; 2],
    ) -> Option<T> {
        self.read(name, |node| meant(node).ok_or_else(|| format!(" must be {must}")), hint)
    }

    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let meant = self.get(name).and_then(|node| node.value.text()).and_then(value::flag);
        let hint = meant.map(|flag| format!("did you mean `{flag}`, without quotes?")).unwrap_or_default();
        let flag = |node: &Node| if let Value::Bool(flag) = node.value { Some(flag) } else { None };
        self.part(name, flag, ["`true` or `false`", &hint])
    }

    /// The items of a list, or of one string with separators; empty if any of them is wrong.
    pub(super) fn list<T>(&mut self, name: &str, what: &str, read: fn(&str) -> Option<T>) -> Vec<T> {
        let items = |node: &Node| {
            let items = match &node.value {
                Value::Array(items) => items.clone(),
                Value::String(text) => list(text).ok()?,
                _ => vec![node.clone()],
            };
            items.iter().map(|item| item.value.text().map(str::trim).and_then(read)).collect::<Option<Vec<T>>>()
        };
        self.part(name, items, [&format!("{what}, or a list of them"), ""]).unwrap_or_default()
    }

    /// The path in a part. A fetched configuration must not name a file; `local` is the hint for that case.
    pub(super) fn path(&mut self, name: &str, local: &str) -> Option<&'n str> {
        let is_fetched = self.reader.setting(self.key).is_some_and(Setting::is_fetched);
        let hint = if is_fetched { local } else { "" };
        let path = |node: &'n Node| match node.value.text().filter(|path| !path.trim().is_empty()) {
            _ if is_fetched => Err(" names a file, which a fetched configuration may not".to_owned()),
            path => path.ok_or_else(|| " must be the path of a file".to_owned()),
        };
        self.read(name, path, hint)
    }

    /// Notes unknown members as errors, with the `hint` for their name, or else the nearest part.
    pub(super) fn refuse_unknown(&mut self, hint: impl Fn(&str) -> Option<&'static str>) {
        for member in self.members.iter().filter(|member| part(self.parts, &member.key).is_none()) {
            let hint = match (hint(&member.key), nearest(&member.key, names(self.parts))) {
                (Some(hint), _) => hint.to_owned(),
                (None, None) => format!("use {}", quoted(self.parts, ", ")),
                (None, near) => did_you_mean(near),
            };
            let message = format!("`{}` has no field `{}`", self.name, member.key);
            self.reader.wrong(self.key, member.key_span, message, &hint);
        }
    }
}
