//! The contents of another client's file before they become entries: settings with their lines, sections, and notes for the
//! report.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::table::PeerTable;
use crate::text::json::{Node, Value};

/// More settings in one place are not read, and the import is refused: no client has as many.
pub(super) const MAX_SETTINGS: usize = 300;

/// A setting. Code that reads it sets `is_used`, and unused settings are reported.
#[derive(Debug, Default)]
pub(super) struct PeerSetting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
    pub(super) is_used: Cell<bool>,
    /// What the value was made from: used if this is used.
    from: Vec<Rc<PeerSetting>>,
}

impl PeerSetting {
    pub(super) fn mark(&self) {
        self.is_used.set(true);
        self.from.iter().for_each(|setting| setting.mark());
    }

    /// The value; `None` if it is empty.
    pub(super) fn text(&self) -> Option<&str> {
        Some(self.value.trim()).filter(|value| !value.is_empty())
    }
}

/// The settings of one section. Sections share global settings, so a global setting counts as used if one section uses it.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerSettings(pub(super) BTreeMap<String, Rc<PeerSetting>>);

impl PeerSettings {
    /// Sets a value, and replaces an earlier one.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>, line: usize) {
        self.put(&Rc::new(PeerSetting { name: name.to_owned(), value: value.into(), line, ..PeerSetting::default() }));
    }

    /// Adds the settings of `others` that are not set here.
    pub(super) fn add_unset(&mut self, others: &Self) {
        for (name, other) in &others.0 {
            if self.find(name).is_none() {
                self.put(other);
            }
        }
    }

    /// Sets a setting that other sections may share, and replaces an earlier one.
    pub(super) fn put(&mut self, setting: &Rc<PeerSetting>) {
        if !self.is_full() {
            self.0.insert(setting.name.clone(), Rc::clone(setting));
        }
    }

    /// Whether there are too many settings.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() > MAX_SETTINGS
    }

    pub(super) fn find(&self, name: &str) -> Option<&Rc<PeerSetting>> {
        self.0.get(name)
    }

    /// The value of a setting, which then counts as used; `None` if it is not set or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let setting = self.find(name)?;
        setting.mark();
        setting.text()
    }

    /// Marks all settings as used, except those in `shared`.
    pub(super) fn take_all(&self, shared: &Self) {
        let is_shared =
            |field: &&Rc<PeerSetting>| shared.find(&field.name).is_some_and(|known| Rc::ptr_eq(known, field));
        self.0.values().filter(|field| !is_shared(field)).for_each(|field| field.mark());
    }

    /// Sets a value that the import itself found. It counts as used, and keeps the line of the value that it replaces.
    pub(super) fn give(&mut self, name: &str, value: impl Into<String>) {
        self.give_from(name, value.into(), Vec::new());
        self.get(name);
    }

    /// The same, where the value was made from settings, which count as used when it does.
    pub(super) fn give_from(&mut self, name: &str, value: String, from: Vec<Rc<PeerSetting>>) {
        let setting =
            PeerSetting { name: name.to_owned(), value, line: self.line(name), from, ..PeerSetting::default() };
        self.0.insert(name.to_owned(), Rc::new(setting));
    }

    /// The line of a setting; 0 if it is not set.
    pub(super) fn line(&self, name: &str) -> usize {
        self.find(name).map_or(0, |setting| setting.line)
    }

    /// The values in an object as settings. Those in nested objects are named `outer.inner`.
    pub(super) fn of_object(object: &Node, text: &str) -> Self {
        let mut settings = Self::default();
        settings.add_object("", object, text);
        settings
    }

    fn add_object(&mut self, prefix: &str, object: &Node, text: &str) {
        for member in object.value.members().unwrap_or_default() {
            if self.is_full() {
                return;
            }
            let name = format!("{prefix}{}", member.key);
            match &member.node.value {
                Value::Object(_) => self.add_object(&format!("{name}."), &member.node, text),
                value => self.set(&name, scalar(value), line_at(text, member.key_span.start)),
            }
        }
    }
}

/// A value as a text; a list gets a line for each item.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => items.iter().map(|item| scalar(&item.value)).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        // No value of a client that the import knows, but one that must be reported.
        _ => "{…}".to_owned(),
    }
}

/// The line of the byte `at`, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

/// Fields for an entry of the configuration.
pub(super) type EntryFields = Vec<(&'static str, Value)>;

/// A part of the file with names to update.
#[derive(Debug, Default)]
pub(super) struct PeerSection {
    pub(super) line: usize,
    pub(super) fields: PeerSettings,
    /// The request of a service without a recipe, if the file has the same fields for it as ddns.
    pub(super) request: Option<EntryFields>,
}

/// What a reader may use besides the file: other files of the host, and variables.
pub struct PeerSurroundings<'a> {
    /// The path of the file, as the user typed it.
    pub file: &'a str,
    /// Reads another file; its path may be relative to this file.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// The input of a reader.
pub(super) struct PeerInput<'a> {
    pub(super) text: &'a str,
    pub(super) around: &'a PeerSurroundings<'a>,
    pub(super) table: PeerTable,
}

/// Why a file cannot be read. Never contains text of the file, which may be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerError {
    /// The line in the file; 0 if the error is about the whole file.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl PeerError {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    /// The same error, in a file or value that `line` names.
    pub(super) fn within(self, line: usize, name: &str) -> Self {
        Self::new(line, format!("in {name}, line {}: {}", self.line, self.message))
    }
}

/// The part of the report that a note belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePart {
    /// Taken over.
    Taken,
    /// Taken over with a change.
    Changed,
    /// Not taken over, without an effect on updates.
    Dropped,
    /// Not taken over, so that updates are missing.
    LeftOut,
}

/// A line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// The number of the entry, for `--set`; `None` if the note is not about an entry.
    pub entry: Option<usize>,
    /// The line in the file; 0 if there is none.
    pub line: usize,
    /// The setting or the service.
    pub what: String,
    /// What it became, or why it was not taken over.
    pub text: String,
    /// The part of the report.
    pub part: NotePart,
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct PeerFile {
    pub(super) sections: Vec<PeerSection>,
    /// The settings outside of sections.
    pub(super) globals: PeerSettings,
    /// The shortest interval of all sections, in seconds.
    pub(super) interval: Option<u64>,
    /// The fields for the whole configuration.
    pub(super) settings: Vec<(String, Value)>,
    /// The recipes of notifications, and the answers to their questions.
    pub(super) notify: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) notes: Vec<ImportNote>,
}

impl PeerFile {
    /// Adds a section that begins at `line`.
    pub(super) fn add(&mut self, line: usize, fields: PeerSettings) {
        self.sections.push(PeerSection { line, fields, ..PeerSection::default() });
    }

    pub(super) fn note(&mut self, part: NotePart, line: usize, what: &str, text: impl Into<String>) {
        let note = ImportNote { entry: None, line, what: what.to_owned(), text: text.into(), part };
        // Equal ones come close together, and a file can be made to have very many.
        if !self.notes.iter().rev().take(100).any(|known| *known == note) {
            self.notes.push(note);
        }
    }

    pub(super) fn left_out(&mut self, line: usize, what: &str, why: impl Into<String>) {
        self.note(NotePart::LeftOut, line, what, why);
    }
}
