//! JSON with places: every value knows where it stands in its text.
//!
//! One reader for all JSON that others write: configuration files (with comments and trailing commas), `token` documents
//! (with placeholders outside quotes), lists in the environment, and the cache. It keeps what a body must keep (the
//! order of keys, every digit of numbers) and what an error must name (line and column). It knows nothing of fields.

mod excerpt;
mod read;
mod scan;
mod token;
mod write;

pub use excerpt::{Excerpt, excerpt};
pub use read::parse;
pub(crate) use scan::is_placeholder_name;
pub(crate) use token::{TokenKind, first as first_token};
pub use write::{one_line, pretty, push_string};
pub(crate) use write::{push_escaped, push_member};

/// What is accepted beyond plain JSON.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// `//`, `#` and `/* */` comments, and a comma after the last element.
    relaxed: bool,
    /// `__NAME__` outside quotes.
    placeholders: bool,
    /// The limit of values and keys.
    most: usize,
}

/// How many values and keys a configuration may hold: a hundred thousand domains need far fewer, and their memory
/// stays below 200 MB.
pub const MAX_VALUES: usize = 1_000_000;

impl Dialect {
    /// Plain JSON of any size: what the program itself wrote.
    pub const STRICT: Self = Self { relaxed: false, placeholders: false, most: usize::MAX };
    /// Configuration files.
    pub const CONFIG: Self = Self { relaxed: true, placeholders: false, most: MAX_VALUES };
    /// A list or an object in a string.
    pub const IN_TEXT: Self = Self { most: MAX_VALUES, ..Self::STRICT };
    /// The string form of `token`.
    pub const TOKEN: Self = Self { relaxed: false, placeholders: true, most: MAX_VALUES };
}

/// A stretch of a text, in bytes: `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Its first byte: the bracket of an object.
    pub(crate) fn first(self) -> Self {
        Self { start: self.start, end: self.start + 1 }
    }
}

/// A value and the place where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// What stands there.
    pub value: Value,
}

impl Node {
    /// A value that stands nowhere: made by the program, or given outside of a file.
    pub fn synthetic(value: Value) -> Self {
        Self { span: Span::default(), value }
    }

    /// The same with everything inside at one place: places inside of a text mean nothing in the file that holds it.
    #[must_use]
    pub fn at(self, span: Span) -> Self {
        let value = match self.value {
            Value::Array(items) => Value::Array(items.into_iter().map(|item| item.at(span)).collect()),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|member| Member { key_span: span, node: member.node.at(span), ..member })
                    .collect(),
            ),
            value => value,
        };
        Self { span, value }
    }
}

/// A JSON value. Numbers are their own text; nothing is rounded.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// An object; keys in the order in which they were written, repeated ones too.
    Object(Vec<Member>),
    /// A placeholder outside quotes, `__TTL__`: only where [`Dialect::TOKEN`] is read.
    Placeholder(String),
}

/// One `key: value` of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Value {
    /// A string value.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// An object of the program's own.
    pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        let member = |(key, value): (K, Self)| Member {
            key: key.into(),
            key_span: Span::default(),
            node: Node::synthetic(value),
        };
        Self::Object(members.into_iter().map(member).collect())
    }

    /// A list of the program's own.
    pub fn list(values: impl IntoIterator<Item = Self>) -> Self {
        Self::Array(values.into_iter().map(Node::synthetic).collect())
    }

    /// What kind of value it is, for a sentence: `a list`, `a number`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
            Self::Placeholder(_) => "a placeholder",
        }
    }

    /// The members, where it is an object.
    pub fn members(&self) -> Option<&[Member]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value of the member of this name, where it is an object that has one.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.key == name).map(|member| &member.node.value)
    }

    /// The text, where it is a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Where and why a text is not JSON. The message never holds any of the text: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where the reader stopped.
    pub span: Span,
    /// What is wrong there.
    pub message: String,
}

impl SyntaxError {
    fn new(start: usize, end: usize, message: impl Into<String>) -> Self {
        Self { span: Span { start, end }, message: message.into() }
    }

    /// At one character, or at the end of the text.
    fn at(text: &str, at: usize, message: impl Into<String>) -> Self {
        let width = text[at..].chars().next().map_or(0, char::len_utf8);
        Self::new(at, at + width, message)
    }
}

#[cfg(test)]
mod tests;
