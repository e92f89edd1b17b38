//! What a configuration of another client says, before it becomes entries: its settings with their lines, what it updates, and
//! what the import has to say about it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::table::PeerTable;
use crate::text::json::{Node, Value};

/// One setting. Whoever uses it marks it: what nobody used is reported.
#[derive(Debug)]
pub(super) struct PeerSetting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
    pub(super) is_used: Cell<bool>,
}

/// The settings of one section. Sections may share some: those that count for all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerSettings(pub(super) Vec<Rc<PeerSetting>>);

impl PeerSettings {
    /// Sets a value, in place of an earlier one.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>, line: usize) {
        let is_used = Cell::new(false);
        self.put(&Rc::new(PeerSetting { name: name.to_owned(), value: value.into(), line, is_used }));
    }

    /// Adds what others say and this does not.
    pub(super) fn add_unset(&mut self, others: &Self) {
        for other in &others.0 {
            if self.find(&other.name).is_none() {
                self.0.push(Rc::clone(other));
            }
        }
    }

    /// The same with a setting that others have, too.
    pub(super) fn put(&mut self, setting: &Rc<PeerSetting>) {
        self.0.retain(|known| known.name != setting.name);
        self.0.push(Rc::clone(setting));
    }

    pub(super) fn find(&self, name: &str) -> Option<&Rc<PeerSetting>> {
        self.0.iter().find(|setting| setting.name == name)
    }

    /// The value of a setting that is not empty; it counts as used.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let setting = self.find(name)?;
        setting.is_used.set(true);
        Some(setting.value.trim()).filter(|value| !value.is_empty())
    }

    /// Everything but what others share counts as used.
    pub(super) fn take_all(&self, shared: &Self) {
        let is_shared = |field: &&Rc<PeerSetting>| shared.0.iter().any(|known| Rc::ptr_eq(known, field));
        self.0.iter().filter(|field| !is_shared(field)).for_each(|field| field.is_used.set(true));
    }

    /// Sets what the import itself knows: nobody has to use it. It stands where the file said something else.
    pub(super) fn give(&mut self, name: &str, value: impl Into<String>) {
        self.set(name, value, self.line(name));
        self.get(name);
    }

    /// Where it stands; 0 where it is not set.
    pub(super) fn line(&self, name: &str) -> usize {
        self.find(name).map_or(0, |setting| setting.line)
    }

    /// Scalars of an object, those inside of objects as `outer.inner`.
    pub(super) fn of_object(object: &Node, text: &str) -> Self {
        let mut settings = Self::default();
        settings.add_object("", object, text);
        settings
    }

    fn add_object(&mut self, prefix: &str, object: &Node, text: &str) {
        for member in object.value.members().unwrap_or_default() {
            let name = format!("{prefix}{}", member.key);
            match &member.node.value {
                Value::Object(_) => self.add_object(&format!("{name}."), &member.node, text),
                value => self.set(&name, scalar(value), line_at(text, member.key_span.start)),
            }
        }
    }
}

/// A value as a text; a list with a line for each item.
pub(super) fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => items.iter().map(|item| scalar(&item.value)).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The line of a byte, from 1.
pub(super) fn line_at(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].split(|byte| *byte == b'\n').count()
}

/// Fields of an entry.
pub(super) type EntryFields = Vec<(&'static str, Value)>;

/// A part of the file that updates something.
#[derive(Debug, Default)]
pub(super) struct PeerSection {
    pub(super) line: usize,
    pub(super) fields: PeerSettings,
    /// The request of a service that has no recipe, where the file has it as we do.
    pub(super) request: Option<EntryFields>,
}

/// What is around a file: the other files of the host, and variables.
pub struct PeerSurroundings<'a> {
    /// The path of the file, as the user named it.
    pub file: &'a str,
    /// Another file of the host; relative to the file.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A file that is read.
pub(super) struct PeerInput<'a> {
    pub(super) text: &'a str,
    pub(super) around: &'a PeerSurroundings<'a>,
    pub(super) table: PeerTable,
}

/// Why a file cannot be read. Holds nothing of its text: that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerError {
    /// Of the file; 0 where it is about the whole of it.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl PeerError {
    pub(super) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }

    /// The same in another file, or in a value, that a line names.
    pub(super) fn within(self, line: usize, name: &str) -> Self {
        Self::new(line, format!("in {name}, line {}: {}", self.line, self.message))
    }
}

/// In which part of the report something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotePart {
    /// Taken over.
    Taken,
    /// Taken over in another way.
    Changed,
    /// Not taken over, and nothing that is sent depends on it.
    Dropped,
    /// Not taken over, and updates are missing for that reason.
    LeftOut,
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// The number of the entry, for `--set`; none where it is about something else.
    pub entry: Option<usize>,
    /// Of the file; 0 where it has none.
    pub line: usize,
    /// The setting or the service.
    pub what: String,
    /// What became of it, or why it was not taken over.
    pub text: String,
    /// Where it stands.
    pub part: NotePart,
}

/// Everything that a file says.
#[derive(Debug, Default)]
pub(super) struct PeerFile {
    pub(super) sections: Vec<PeerSection>,
    /// Settings that belong to no section.
    pub(super) globals: PeerSettings,
    /// The shortest interval, in seconds.
    pub(super) interval: Option<u64>,
    /// Fields of the whole file.
    pub(super) settings: Vec<(String, Value)>,
    /// Recipes of notifications, and their answers.
    pub(super) notify: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) notes: Vec<ImportNote>,
}

impl PeerFile {
    /// Adds a section that begins at a line.
    pub(super) fn add(&mut self, line: usize, fields: PeerSettings) {
        self.sections.push(PeerSection { line, fields, ..PeerSection::default() });
    }

    pub(super) fn note(&mut self, part: NotePart, line: usize, what: &str, text: impl Into<String>) {
        let note = ImportNote { entry: None, line, what: what.to_owned(), text: text.into(), part };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn left_out(&mut self, line: usize, what: &str, why: impl Into<String>) {
        self.note(NotePart::LeftOut, line, what, why);
    }
}
