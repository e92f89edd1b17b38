//! The one table of everything that can be set, objects inside of fields included.
//!
//! Names of options and environment variables, their help, the JSON schema, the configuration reference, what may be seen of a
//! value, who may set it and who takes it all come from here; a test fails when a generated file drifts, and another one looks at
//! what each column does. What a value means is decided in `validate`.

mod table;

use crate::text::json::Value;
pub use table::{FIELDS, FILE, Key};

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// One of its words.
    Word,
    /// A JSON object, or a string that holds a JSON document.
    Document,
    /// A list of strings, or one string with separators.
    List,
    /// The same; each may be in a file of its own.
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
    /// An object of scalars; each may be in a file of its own.
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
    /// Whether it is a list, which options add to.
    pub fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Secrets | Self::Domains | Self::Sources)
    }

    /// Whether an item of the list may be an object: a domain (H9), or the file of a secret (H13).
    pub(super) fn has_objects(self) -> bool {
        matches!(self, Self::Domains | Self::Secrets)
    }
}

/// Where a field may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldScope {
    /// Inside or outside of `providers`.
    Entry,
    /// Outside of `providers` only: it holds for the whole file.
    File,
    /// The same; inside it is no mistake.
    FileOrEntry,
}

/// What of a value may be seen, in listings, messages and on the page (G2, I2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// All of it, unless it is an object.
    Plain,
    /// All of it, objects included.
    Deep,
    /// An address without its keys; placeholders are filled in.
    Url,
    /// An address without its keys.
    BaseUrl,
    /// Names, placeholders, and what is no string or number.
    Body,
    /// Names, and values that are known to be no keys.
    Headers,
    /// Addresses without user and password.
    Proxies,
    /// Addresses without their keys, and the names of programs.
    Sources,
    /// Names, and what their parts say.
    Domains,
    /// Nothing but the path of a file that holds it.
    Never,
    /// What was read as a file, or looks like a path: the secret itself may stand there by mistake.
    Path,
    /// All of it, unless there is a user in it.
    WithoutUser,
    /// What its parts say.
    Parts,
    /// What its parts say, or all of it where it is no object.
    PlainOrParts,
    /// What the fields inside say.
    Fields,
}

impl Visibility {
    /// Whether a value may hold a key: a message shows neither it nor its line.
    pub fn is_secret(self, value: &Value) -> bool {
        match self {
            Self::Plain | Self::Deep | Self::Domains => false,
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
    /// Set it, but to no program (`cmd:`, `shell:`).
    NoProgram,
    /// Set it, but to no path.
    NoPath,
    /// Nothing: it belongs to the host.
    Host,
}

/// What part a field has in a request: who gets what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// It makes the request, or judges its response. An entry that the page adds has its own: nobody gets what was meant for
    /// somebody else.
    Content,
    /// It is the way to the endpoint; a notification inherits it.
    Way,
    /// None that could give something away.
    Nothing,
}

/// What else takes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldUse {
    /// The key of the cache: where it changes, updates are sent again (E3). The encoding itself is in `callback::key`.
    CacheKey = 1,
    /// A recipe may fill it. It fills nothing that runs a program, names a file or belongs to the host.
    Recipe = 2,
    /// A notification has it, too (I5).
    Notify = 4,
    /// A request around the update has it, too (H14).
    Step = 8,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// How the code refers to it.
    pub key: Key,
    /// The name in a file; a dot stands for an object inside.
    pub name: &'static str,
    /// What the page calls it; empty where it has no place there.
    pub label: &'static str,
    /// The name of the environment variable; `None` if only a file can set it.
    pub variable: Option<&'static str>,
    /// The environment variable that names a file which holds the value; `None` if the value is rarely a secret.
    pub file_variable: Option<&'static str>,
    /// The name of the option, without its dashes; `None` if only a file can set it.
    pub option: Option<&'static str>,
    /// What it takes.
    pub kind: Kind,
    /// The words that it takes, or the most usual ones.
    pub words: &'static [&'static str],
    /// Where it may stand.
    pub scope: FieldScope,
    /// What of it may be seen.
    pub shown: Visibility,
    /// What the page may do with it.
    pub edit: EditRight,
    /// What part it has in a request.
    pub request: RequestPart,
    /// What else takes it.
    uses: u8,
    /// What its objects consist of.
    pub parts: &'static [SubField],
    /// How the value is called in help texts.
    pub value: &'static str,
    /// What it is where it is not set, as one would type it behind the option; empty where it is nothing then.
    pub default: &'static str,
    /// What it could be, as JSON; empty where that is the default.
    pub example: &'static str,
    /// What is allowed, for a sentence that ends in it.
    pub allowed: &'static str,
    /// One line for people.
    pub help: &'static str,
}

/// What a part of a field takes.
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
    /// An object of scalars; each may be in a file of its own.
    Values,
    /// A string, or an object that names a file with it.
    Secret,
    /// The path of a file.
    Path,
    /// The path of a file for its owner alone.
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

/// A row of an object inside of a field. Where it may stand and what part it has in a request is said by the field; the page sets it where it
/// sets the field, unless it is a path.
#[derive(Debug, Clone, Copy)]
pub struct SubField {
    /// The name in the object.
    pub name: &'static str,
    /// What it takes.
    pub kind: SubKind,
    /// Whether the object is none without it.
    pub is_needed: bool,
    /// What of it may be seen.
    pub shown: Visibility,
    /// What else takes it.
    uses: u8,
    /// What its objects consist of.
    pub parts: &'static [SubField],
    /// One line for editors; empty where the name says it.
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

    /// The field of a name, as files and entries have it; `provider` is `dns` there.
    pub fn written(name: &str) -> Option<&'static Self> {
        let name = if name == "provider" { "dns" } else { name };
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Whether something takes it.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }

    /// Whether an option, typed without its dashes, sets it. Its name, with `_` for a dot too, is what users of other clients
    /// have in their scripts.
    pub fn is_set_by(&self, typed: &str) -> bool {
        let fits = |(typed, written): (u8, u8)| typed == written || (typed, written) == (b'_', b'.');
        let is_name = || typed.len() == self.name.len() && typed.bytes().zip(self.name.bytes()).all(fits);
        self.option.is_some_and(|option| option == typed || is_name())
    }
}

impl SubField {
    /// Whether something takes it.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }
}

/// The fields that something takes.
pub fn used_by(what: FieldUse) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.is_for(what))
}

/// The field of a name, where something takes it.
pub fn used(what: FieldUse, name: &str) -> Option<&'static Field> {
    used_by(what).find(|field| field.name == name)
}

/// The fields that may be read from a file, each with the environment variable that names it.
pub fn file_variables() -> impl Iterator<Item = (&'static Field, &'static str)> {
    FIELDS.iter().filter_map(|field| Some((field, field.file_variable?)))
}

/// The part of a name.
pub fn part(parts: &'static [SubField], name: &str) -> Option<&'static SubField> {
    parts.iter().find(|part| part.name == name)
}

/// The names of parts.
pub fn names(parts: &'static [SubField]) -> impl Iterator<Item = &'static str> {
    parts.iter().map(|part| part.name)
}

/// The names of parts in backticks, for a sentence.
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
            // `--header` sets one of them.
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
