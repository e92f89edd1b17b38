//! The body. In JSON, placeholders are filled in inside strings and outside quotes; keys, numbers, booleans and `null`
//! are passed on unchanged (C2, C3, C8). The other formats are forms and plain text (H3).

use super::piece::{self, Piece, Position, push_plain};
use super::template::{self, Part};
use super::variables::Variables;
use crate::net::url::push_form;
use crate::text::json::{Member, Node, Value, push_string};
use crate::text::vocabulary::vocabulary;

vocabulary! {
    /// The format of a body: `format` (H3).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Format {
        /// A JSON object or list.
        #[default]
        Json = "json",
        /// Names and values, as a browser sends a form.
        Form = "form",
        /// Any text.
        Text = "text",
    }
}

impl Format {
    /// The value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Form => "application/x-www-form-urlencoded",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    pub(super) format: Format,
    pub(super) pieces: Vec<Piece>,
}

impl Body {
    /// Finds the placeholders of a document. `None`: it is neither an object nor a list. The error is a placeholder
    /// outside quotes that has no value: leaving it there would not be JSON.
    pub fn new(document: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Option<Self>, Node> {
        match document.value {
            Value::Object(_) | Value::Array(_) => {
                let mut writer = BodyWriter { pieces: Vec::new(), variables, unknown };
                writer.push(document)?;
                Ok(Some(Self { format: Format::Json, pieces: writer.pieces }))
            }
            _ => Ok(None),
        }
    }

    /// A form of scalars: encodes names and values, and fills in placeholders in values. The error is the first member
    /// whose value is not a scalar.
    pub fn form<'a>(
        members: &'a [Member],
        variables: &Variables,
        unknown: &mut Vec<String>,
    ) -> Result<Self, &'a Member> {
        let mut pieces = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let mut name = String::from(if at == 0 { "" } else { "&" });
            push_form(&mut name, &member.key);
            push_plain(&mut pieces, &name);
            push_plain(&mut pieces, "=");
            match &member.node.value {
                Value::String(text) => {
                    let parts = template::parse(text, variables, unknown);
                    pieces.extend(parts.into_iter().map(|part| placed(part, Position::FormValue)));
                }
                // A number may be a key.
                Value::Number(text) => pieces.push(Piece::Secret(Position::FormValue, text.clone())),
                Value::Bool(value) => push_plain(&mut pieces, if *value { "true" } else { "false" }),
                Value::Placeholder(name) => match variables.find(name) {
                    Some(variable) => pieces.push(Piece::Variable(Position::FormValue, variable)),
                    None => return Err(member),
                },
                Value::Null | Value::Array(_) | Value::Object(_) => return Err(member),
            }
        }
        Ok(Self { format: Format::Form, pieces })
    }

    /// A form as it was written, `a=1&ip=__IP__`: only the values of placeholders are encoded. Only names may be shown.
    pub fn form_text(text: &str, variables: &Variables, unknown: &mut Vec<String>) -> Self {
        let (mut pieces, mut is_value) = (Vec::new(), false);
        for part in template::parse(text, variables, unknown) {
            let Part::Literal(text) = part else {
                pieces.push(placed(part, Position::FormText));
                continue;
            };
            for run in text.split_inclusive(['&', '=']) {
                let (run, mark) = match run.strip_suffix(['&', '=']) {
                    Some(before) if run.ends_with('&') || !is_value => (before, &run[before.len()..]),
                    _ => (run, ""),
                };
                // Text without a following `=` counts as a value.
                if run.is_empty() || (mark == "=" && !is_value) {
                    push_plain(&mut pieces, run);
                } else {
                    pieces.push(Piece::Secret(Position::FormText, run.to_owned()));
                }
                push_plain(&mut pieces, mark);
                is_value = if mark.is_empty() { is_value } else { mark == "=" };
            }
        }
        Self { format: Format::Form, pieces }
    }

    /// Plain text; values are inserted as they are.
    pub fn text(text: &str, variables: &Variables, unknown: &mut Vec<String>) -> Self {
        let parts = template::parse(text, variables, unknown);
        Self { format: Format::Text, pieces: parts.into_iter().map(|part| placed(part, Position::Text)).collect() }
    }

    /// The body as written, with everything redacted that may be a key; placeholders appear by name.
    pub fn outline(&self, variables: &Variables) -> String {
        piece::outline(&self.pieces, variables)
    }
}

fn placed(part: Part, position: Position) -> Piece {
    match part {
        Part::Literal(text) => Piece::Secret(position, text),
        Part::Variable(variable) => Piece::Variable(position, variable),
    }
}

/// Writes a document without spaces, as pieces.
struct BodyWriter<'a> {
    pieces: Vec<Piece>,
    variables: &'a Variables,
    unknown: &'a mut Vec<String>,
}

impl BodyWriter<'_> {
    fn plain(&mut self, text: &str) {
        push_plain(&mut self.pieces, text);
    }

    fn push(&mut self, node: &Node) -> Result<(), Node> {
        match &node.value {
            Value::Null => self.plain("null"),
            Value::Bool(value) => self.plain(if *value { "true" } else { "false" }),
            // A number may be a key.
            Value::Number(text) => self.pieces.push(Piece::Secret(Position::JsonBare, text.clone())),
            Value::String(text) => {
                self.plain("\"");
                let parts = template::parse(text, self.variables, self.unknown);
                self.pieces.extend(parts.into_iter().map(|part| placed(part, Position::JsonString)));
                self.plain("\"");
            }
            Value::Placeholder(name) => {
                let variable = self.variables.find(name).ok_or_else(|| node.clone())?;
                self.pieces.push(Piece::Variable(Position::JsonBare, variable));
            }
            Value::Array(nodes) => {
                self.plain("[");
                for (at, node) in nodes.iter().enumerate() {
                    self.plain(if at == 0 { "" } else { "," });
                    self.push(node)?;
                }
                self.plain("]");
            }
            Value::Object(members) => {
                self.plain("{");
                for (at, member) in members.iter().enumerate() {
                    let mut key = String::from(if at == 0 { "" } else { "," });
                    push_string(&mut key, &member.key);
                    self.plain(&key);
                    self.plain(":");
                    self.push(&member.node)?;
                }
                self.plain("}");
            }
        }
        Ok(())
    }
}
