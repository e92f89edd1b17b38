//! The JSON body: placeholders in its strings, and outside of quotes, are filled in; keys, numbers, booleans and `null` pass
//! through (C2, C3, C8).

use super::piece::{self, Piece, Position, Show, push_plain};
use super::template::{self, Part};
use super::variables::{Values, Variables};
use crate::text::json::{Node, Value, push_string};

/// The body of a POST: an object or a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    pub(super) pieces: Vec<Piece>,
}

impl Body {
    /// Finds the placeholders of a document. None where it is neither an object nor a list. A placeholder outside
    /// quotes that has no value cannot stay as it is (it would be no JSON): its place is the error.
    pub fn new(document: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Option<Self>, Node> {
        match document.value {
            Value::Object(_) | Value::Array(_) => {
                let mut writer = Writer { pieces: Vec::new(), variables, unknown };
                writer.push(document)?;
                Ok(Some(Self { pieces: writer.pieces }))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn render(&self, values: &Values<'_>, show: Show) -> String {
        piece::render(&self.pieces, values, show)
    }

    /// What may be seen of it as it was written: placeholders by their names, everything else redacted.
    pub fn outline(&self, variables: &Variables) -> String {
        piece::outline(&self.pieces, variables)
    }
}

/// Writes a document without blanks, as pieces.
struct Writer<'a> {
    pieces: Vec<Piece>,
    variables: &'a Variables,
    unknown: &'a mut Vec<String>,
}

impl Writer<'_> {
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
                self.pieces.extend(parts.into_iter().map(|part| match part {
                    Part::Literal(text) => Piece::Secret(Position::JsonString, text),
                    Part::Variable(variable) => Piece::Variable(Position::JsonString, variable),
                }));
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
