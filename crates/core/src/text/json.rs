//! JSON with places: every value knows its position in the text.
//!
//! One reader for configuration files (with comments and trailing commas), `token` documents (with placeholders outside
//! quotes), lists in the environment, and the cache. It keeps what a request body needs (the order of keys, every digit
//! of numbers) and what an error message needs (line and column). It knows nothing about fields.

mod excerpt;
mod read;
mod scan;
mod token;
mod write;

pub use excerpt::{Excerpt, excerpt};
pub use read::parse;
pub(crate) use scan::{MAX_DEPTH, is_placeholder_name};
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
    /// The most values and keys that a text may contain.
    most: usize,
}

/// How many values and keys a configuration may contain: a hundred thousand domains need far fewer, and this many take
/// less than 200 MB of memory.
pub const MAX_VALUES: usize = 1_000_000;

impl Dialect {
    /// Plain JSON of any size, as the program itself writes it.
    pub const STRICT: Self = Self { relaxed: false, placeholders: false, most: usize::MAX };
    /// Configuration files.
    pub const CONFIG: Self = Self { relaxed: true, placeholders: false, most: MAX_VALUES };
    /// A list or an object in a string.
    pub const IN_TEXT: Self = Self { most: MAX_VALUES, ..Self::STRICT };
    /// A list in a string, perhaps with a comma after its last element.
    pub const LIST: Self = Self { relaxed: true, ..Self::IN_TEXT };
    /// The string form of `token`.
    pub const TOKEN: Self = Self { relaxed: false, placeholders: true, most: MAX_VALUES };
}

/// A range of a text, in bytes: `start..end`.
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

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the value is.
    pub span: Span,
    /// The value there.
    pub value: Value,
}

impl Node {
    /// A value without a place: made by the program, or given outside a file.
    pub fn synthetic(value: Value) -> Self {
        Self { span: Span::default(), value }
    }

    /// Gives the value, and everything inside, one place. Positions inside a string are not positions in the file that
    /// contains the string.
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

/// A JSON value. Numbers are kept as text, so that nothing is rounded.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// An object; its keys in their written order, including repeated ones.
    Object(Vec<Member>),
    /// A placeholder outside quotes, `__TTL__`: only in [`Dialect::TOKEN`].
    Placeholder(String),
}

/// One `key: value` of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Where the key is, including its quotes.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Value {
    /// A string value.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// An object made by the program.
    pub fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        let member = |(key, value): (K, Self)| Member {
            key: key.into(),
            key_span: Span::default(),
            node: Node::synthetic(value),
        };
        Self::Object(members.into_iter().map(member).collect())
    }

    /// A list made by the program.
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

    /// The members; `None` if it is not an object.
    pub fn members(&self) -> Option<&[Member]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value of the member with this name; `None` if it has none, or is not an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.key == name).map(|member| &member.node.value)
    }

    /// The text; `None` if it is not a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }
}

/// Where and why a text is not JSON. The message never quotes the text, which may be a secret.
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
