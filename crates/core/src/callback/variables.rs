//! Placeholders and their values: those of the update, those that the configuration gives, and the time.

use std::borrow::Cow;
use std::fmt;

use crate::text::json::Value;
use crate::text::secrets::MASK;
use crate::update::Update;

/// Seconds since the epoch with a fractional part, read once per request (C9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Whole seconds.
    pub seconds: u64,
    /// Microseconds beyond them.
    pub micros: u32,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.seconds, self.micros)
    }
}

/// A placeholder that has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variable {
    Domain,
    Ip,
    RecordType,
    Ttl,
    Line,
    Timestamp,
    /// One of `extra`, by its place.
    Extra(usize),
}

const BUILT_IN: [(&str, Variable); 6] = [
    ("__DOMAIN__", Variable::Domain),
    ("__IP__", Variable::Ip),
    ("__RECORDTYPE__", Variable::RecordType),
    ("__TTL__", Variable::Ttl),
    ("__LINE__", Variable::Line),
    ("__TIMESTAMP__", Variable::Timestamp),
];

impl Variable {
    /// Whether its value is something that the user typed: it may be a key (G2).
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Extra(_))
    }
}

/// The values that a configuration gives: `ttl`, `line` and `extra`. Does not show the values of `extra` when printed:
/// the user typed them, so they may be keys.
#[derive(Clone, PartialEq, Default)]
pub struct Variables {
    ttl: Option<u32>,
    line: Option<String>,
    /// `extra`: names of the form `__NAME__` and their scalar values.
    extra: Vec<(String, Value)>,
}

impl Variables {
    /// No `extra` has more: each name in a text is looked for among them.
    pub const MOST: usize = 1000;

    /// `ttl` and `line`; none where they are not set.
    pub fn new(ttl: Option<u32>, line: Option<String>) -> Self {
        Self { ttl, line, extra: Vec::new() }
    }

    /// Every name that has a value, for messages.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        BUILT_IN.iter().map(|(name, _)| *name).chain(self.extra.iter().map(|(name, _)| name.as_str()))
    }

    pub(super) fn name_of(&self, variable: Variable) -> &str {
        match variable {
            Variable::Extra(at) => self.extra.get(at).map_or(MASK, |(name, _)| name),
            built_in => BUILT_IN.iter().find(|(_, variable)| *variable == built_in).map_or(MASK, |(name, _)| name),
        }
    }

    /// Adds a variable of the user's. Refuses a value that is not a scalar, and the name of a built-in.
    pub fn add(&mut self, name: &str, value: Value) -> Result<(), &'static str> {
        if BUILT_IN.iter().any(|(known, _)| *known == name) {
            return Err("is a built-in placeholder");
        }
        match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                self.extra.retain(|(known, _)| known != name);
                self.extra.push((name.to_owned(), value));
            }
            _ => return Err("must be a string, a number or a boolean"),
        }
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> Option<Variable> {
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, variable)| *variable);
        built_in.or_else(|| self.extra.iter().position(|(known, _)| known == name).map(Variable::Extra))
    }

    pub(super) fn with<'a>(&'a self, update: &Update<'a>, now: Timestamp) -> Values<'a> {
        Values { update: *update, now, variables: self }
    }

    /// `ttl`; none where it is not set.
    pub(super) fn ttl(&self) -> Option<u32> {
        self.ttl
    }

    /// `line`; none where it is not set.
    pub(super) fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    /// Names and values of `extra`, in the order in which they were added.
    pub(super) fn extra(&self) -> &[(String, Value)] {
        &self.extra
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.extra.iter().map(|(name, _)| name).collect();
        f.debug_struct("Variables").field("ttl", &self.ttl).field("line", &self.line).field("extra", &names).finish()
    }
}

/// A value of `extra` as text.
pub(super) fn scalar_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) | Value::Number(text) | Value::Placeholder(text) => Cow::Borrowed(text),
        Value::Bool(value) => Cow::Owned(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Cow::Borrowed(""),
    }
}

/// The values of one request; made text where they are used.
pub(super) struct Values<'a> {
    update: Update<'a>,
    now: Timestamp,
    variables: &'a Variables,
}

impl Values<'_> {
    /// The value as text; what is not set is the empty text (C5).
    pub(super) fn text(&self, variable: Variable) -> Cow<'_, str> {
        match variable {
            Variable::Domain => self.update.domain.as_str().into(),
            Variable::Ip => self.update.ip.to_string().into(),
            Variable::RecordType => self.update.family.record_type().into(),
            Variable::Ttl => self.variables.ttl.map(|ttl| ttl.to_string()).unwrap_or_default().into(),
            Variable::Line => self.variables.line.as_deref().unwrap_or_default().into(),
            Variable::Timestamp => self.now.to_string().into(),
            Variable::Extra(at) => self.variables.extra.get(at).map_or("".into(), |(_, value)| scalar_text(value)),
        }
    }

    /// The value as JSON of its own kind, for a placeholder outside quotes (C7).
    pub(super) fn json(&self, variable: Variable) -> Value {
        match variable {
            Variable::Ttl => self.variables.ttl.map_or(Value::Null, |ttl| Value::Number(ttl.to_string())),
            Variable::Line => self.variables.line.clone().map_or(Value::Null, Value::String),
            Variable::Timestamp => Value::Number(self.now.to_string()),
            Variable::Extra(at) => self.variables.extra.get(at).map_or(Value::Null, |(_, value)| value.clone()),
            Variable::Domain | Variable::Ip | Variable::RecordType => Value::String(self.text(variable).into_owned()),
        }
    }
}
