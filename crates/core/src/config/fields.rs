//! The table of everything that can be set, including objects inside fields.
//!
//! It defines the names of options and environment variables, their help, the JSON schema, the configuration reference,
//! how much of a value may be shown, who may set it, and where it is used. One test fails if a generated file differs
//! from the table, and another checks what each column does. `validate` decides what a value means.

mod table;

use crate::text::json::Value;
pub use table::{FIELDS, FILE, Key};

/// The values that a field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// One of its words.
    Word,
    /// A JSON object, or a string that contains a JSON document.
    Document,
    /// A list of strings, or one string with separators.
    List,
    /// Like [`Kind::List`], but each item may be in a separate file.
    Secrets,
    /// A list of domains, one domain, or one string with separators.
    Domains,
    /// A list of sources, one source, or `false`.
    Sources,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// A boolean, or a string with a meaning of its own (`auto`, a path).
    FlagOrText,
    /// A whole number, or a string with a meaning of its own (`auto`, `90s`).
    WholeOrText,
    /// An object of scalars; each may be in a separate file.
    Values,
    /// An object with parts.
    Object,
    /// An object of strings, or lines of the form `Name: value`.
    Headers,
    /// An object with parts, or a string with a meaning of its own (`dyndns2`).
    ObjectOrText,
    /// A boolean, an object with parts, or a string with a meaning of its own (an address).
    FlagObjectOrText,
    /// A list of objects.
    Entries,
    /// A list of objects, or one object.
    Callbacks,
}

impl Kind {
    /// Whether it is a list: its option takes several values, and may be repeated.
    pub fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Secrets | Self::Domains | Self::Sources)
    }

    /// Whether an item of the list may be an object: a domain (H9), or the file of a secret (H13).
    pub(super) fn has_objects(self) -> bool {
        matches!(self, Self::Domains | Self::Secrets)
    }
}

/// Where a field may appear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldScope {
    /// Inside or outside `providers`.
    Entry,
    /// Only outside `providers`: it applies to the whole file.
    File,
    /// It applies to the whole file, but is also allowed inside `providers`.
    FileOrEntry,
}

/// How much of a value listings, messages and the page may show (G2, I2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// All of it, unless it is an object.
    Plain,
    /// All of it, objects included.
    Deep,
    /// A URL without its secrets; its placeholders are shown.
    Url,
    /// A URL without its secrets, in which nothing is a placeholder.
    BaseUrl,
    /// Names, placeholders, booleans and `null`; other strings and numbers are masked.
    Body,
    /// Names, and values that are known not to be secret.
    Headers,
    /// Proxies without user and password.
    Proxies,
    /// URLs without their secrets, and the names of programs.
    Sources,
    /// Domain names, and which settings of their own the domains have.
    Domains,
    /// Only the path of the file that contains it.
    Never,
    /// A path, but only if its file was read or it looks like a path: the user may have put the secret itself there.
    Path,
    /// All of it, unless it contains a user (`@`).
    WithoutUser,
    /// What the rows of its parts allow.
    Parts,
    /// What the rows of its parts allow, or all of it if it is not an object.
    PlainOrParts,
    /// What the fields inside it allow.
    Fields,
}

/// No domain name contains these: a text with one is JSON of a domain with its own values, or a part of it.
pub(super) const JSON_MARKS: [char; 4] = ['{', '}', '"', '\''];

impl Visibility {
    /// Whether a value may contain a secret, which messages must then not show.
    pub fn is_secret(self, value: &Value) -> bool {
        match self {
            Self::Plain | Self::Deep => false,
            Self::Domains => match value {
                Value::Array(items) => items.iter().any(|item| self.is_secret(&item.value)),
                value => value.member("name").unwrap_or(value).text().is_some_and(|text| text.contains(JSON_MARKS)),
            },
            Self::PlainOrParts => value.members().is_some() || value.text().is_some_and(|text| text.contains('{')),
            _ => true,
        }
    }
}

/// What the page may do with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditRight {
    /// Set it.
    Free,
    /// Set it, but not to a program (`cmd:`, `shell:`).
    NoProgram,
    /// Set it, but not to a path.
    NoPath,
    /// Nothing: it belongs to the host.
    Host,
}

/// The role of a field in a request, which decides who receives its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// It shapes the request, or judges its response. An entry added on the page never inherits it, so that no service
    /// receives what is meant for another.
    Content,
    /// It says how to reach the endpoint; notifications inherit it.
    Transport,
    /// No role that could disclose anything.
    Nothing,
}

/// What else uses a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldUse {
    /// The key of the cache: if the field changes, updates are sent again (E3). The encoding is in `callback::key`.
    CacheKey = 1,
    /// A recipe may set it. No recipe sets anything that runs a program, names a file or belongs to the host.
    Recipe = 2,
    /// A notification has it too (I5).
    Notify = 4,
    /// A request around the update has it too (H14).
    Step = 8,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// How the code refers to it.
    pub key: Key,
    /// The name in a file; a dot stands for a nested object (`log.level`).
    pub name: &'static str,
    /// Its label on the page; empty if the page does not show it.
    pub label: &'static str,
    /// The name of the environment variable; `None` if only a file can set it.
    pub variable: Option<&'static str>,
    /// The environment variable that names a file with the value; `None` if the value is rarely a secret.
    pub file_variable: Option<&'static str>,
    /// The name of the option, without its dashes; `None` if only a file can set it.
    pub option: Option<&'static str>,
    /// The values that it accepts.
    pub kind: Kind,
    /// The words that it accepts, or the most common ones.
    pub words: &'static [&'static str],
    /// Where it may appear.
    pub scope: FieldScope,
    /// How much of it may be shown.
    pub shown: Visibility,
    /// What the page may do with it.
    pub edit: EditRight,
    /// Its role in a request.
    pub request: RequestPart,
    /// A bit for each [`FieldUse`].
    uses: u8,
    /// The parts of its objects.
    pub parts: &'static [SubField],
    /// What help texts call its value.
    pub value: &'static str,
    /// The default, as typed after the option; empty if there is none.
    pub default: &'static str,
    /// An example, as JSON; empty if the default serves as one.
    pub example: &'static str,
    /// The allowed values, as the end of a sentence.
    pub allowed: &'static str,
    /// Its help, in one line.
    pub help: &'static str,
}

/// The values that a part of a field accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubKind {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A boolean, or an object with parts.
    FlagOrObject,
    /// A whole number.
    Whole,
    /// A whole number, or a string that is one or has a unit.
    WholeOrText,
    /// A list of strings, or one string with separators.
    List,
    /// An object of scalars; each may be in a separate file.
    Values,
    /// A string, or an object that names the file with this string.
    Secret,
    /// The path of a file.
    Path,
    /// The path of a file that only its owner should read.
    SecretPath,
    /// A status, a range of them, or a list of both.
    Statuses,
    /// An object of JSON pointers and values.
    Pointers,
    /// A regular expression, an object with parts, or a list of both.
    Conditions,
    /// Words of events, or one of them.
    Events,
    /// An object with parts.
    Object,
    /// An object of names that the user chooses, each an object with parts.
    Named,
}

/// A row of an object inside a field. The field decides where it may appear, its role in a request, and whether the
/// page may set it; the page never sets a path.
#[derive(Debug, Clone, Copy)]
pub struct SubField {
    /// The name in the object.
    pub name: &'static str,
    /// The values that it accepts.
    pub kind: SubKind,
    /// Whether the object is invalid without it.
    pub is_needed: bool,
    /// How much of it may be shown.
    pub shown: Visibility,
    /// A bit for each [`FieldUse`].
    uses: u8,
    /// The parts of its objects.
    pub parts: &'static [SubField],
    /// One line of help for editors.
    pub help: &'static str,
}

impl Field {
    /// Which fields its objects have besides their parts; `None` if they have none.
    pub fn inside(&self) -> Option<FieldUse> {
        match self.key {
            Key::Notify => Some(FieldUse::Notify),
            Key::Before | Key::Absent | Key::After => Some(FieldUse::Step),
            _ => None,
        }
    }

    /// The row of a key.
    pub fn of(key: Key) -> &'static Self {
        &FIELDS[key as usize]
    }

    /// The field with this name in a file or an entry; `provider` means `dns`.
    pub fn written(name: &str) -> Option<&'static Self> {
        let name = if name == "provider" { "dns" } else { name };
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Whether it has this use.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }

    /// Whether an option, typed without its dashes, sets it. The name of the field works too, also with `_` for a dot,
    /// because scripts for other clients use it.
    pub fn is_set_by(&self, typed: &str) -> bool {
        let fits = |(typed, written): (u8, u8)| typed == written || (typed, written) == (b'_', b'.');
        let is_name = || typed.len() == self.name.len() && typed.bytes().zip(self.name.bytes()).all(fits);
        self.option.is_some_and(|option| option == typed || is_name())
    }
}

impl SubField {
    /// Whether it has this use.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }
}

/// The fields with this use.
pub fn used_by(what: FieldUse) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.is_for(what))
}

/// The field with this name, if it has this use.
pub fn used(what: FieldUse, name: &str) -> Option<&'static Field> {
    used_by(what).find(|field| field.name == name)
}

/// The fields that may be read from a file, each with the environment variable that names it.
pub fn file_variables() -> impl Iterator<Item = (&'static Field, &'static str)> {
    FIELDS.iter().filter_map(|field| Some((field, field.file_variable?)))
}

/// The part with this name.
pub fn part(parts: &'static [SubField], name: &str) -> Option<&'static SubField> {
    parts.iter().find(|part| part.name == name)
}

/// The names of parts.
pub fn names(parts: &'static [SubField]) -> impl Iterator<Item = &'static str> {
    parts.iter().map(|part| part.name)
}

/// The names of parts in backticks, for a sentence; `last` separates the last one.
pub(super) fn quoted(parts: &'static [SubField], last: &str) -> String {
    let names: Vec<String> = names(parts).map(|name| format!("`{name}`")).collect();
    names.split_last().map(|(end, others)| format!("{}{last}{end}", others.join(", "))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b11_names_of_options_and_variables_follow_from_the_field() {
        for field in &FIELDS {
            let plain = field.name.replace('.', "_");
            assert!(!field.help.is_empty() && field.key == Field::of(field.key).key, "{}", field.name);
            let (Some(variable), Some(option)) = (field.variable, field.option) else {
                assert_eq!((field.variable, field.option), (None, None), "{}", field.name);
                continue;
            };
            assert_eq!(variable, format!("DDNS_{}", plain.to_uppercase()));
            assert!(field.file_variable.is_none_or(|name| name.strip_suffix("_FILE") == Some(variable)));
            // `--header` sets a single header.
            assert_eq!(option, if field.key == Key::Headers { "header".to_owned() } else { plain.replace('_', "-") });
            for spelling in [option, field.name, &plain] {
                let is_set_by = |field: &&Field| field.is_set_by(spelling);
                assert_eq!(FIELDS.iter().find(is_set_by).map(|field| field.key), Some(field.key), "{spelling}");
            }
        }
        for other in ["log.Level", "log-leve", "group", "$schema", "cache.max_age", ""] {
            assert!(!FIELDS.iter().any(|field| field.is_set_by(other)), "{other}");
        }
    }
}
