//! The JSON body: a tree whose strings are templates. Keys, numbers, booleans and `null` pass through (C2, C3, C8).

use super::template::{Piece, Template, Values, Variable, Variables};
use crate::text::json::{Node, Value, push_escaped, push_string};
use crate::text::secrets::MASK;

/// The body of a POST. Refuses to hold anything but an object or a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Body(Tree);

#[derive(Clone, PartialEq)]
enum Tree {
    /// A number, boolean or `null`, as it was written.
    Plain(String),
    Text(Template),
    /// A placeholder outside quotes.
    Bare(Variable),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Body {
    /// Finds the placeholders of a document. None where it is neither an object nor a list. A placeholder outside
    /// quotes that has no value cannot stay as it is (it would be no JSON): its place is the error.
    pub fn new(document: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Option<Self>, Node> {
        match document.value {
            Value::Object(_) | Value::Array(_) => Ok(Some(Self(tree(document, variables, unknown)?))),
            _ => Ok(None),
        }
    }

    pub(super) fn render(&self, values: &Values<'_>) -> String {
        let mut out = String::new();
        push(&mut out, &self.0, values);
        out
    }

    pub(super) fn masked(&self) -> Self {
        Self(map(&self.0, &|leaf| match leaf {
            Tree::Text(template) => Tree::Text(masked_text(template)),
            Tree::Plain(text) if is_number(text) => {
                Tree::Text(Template { pieces: vec![Piece::Literal(MASK.to_owned())] })
            }
            other => other.clone(),
        }))
    }

    /// What may be shown of it as it was written: placeholders by their names, everything else masked.
    pub fn outline(&self, variables: &Variables) -> String {
        let mut out = String::new();
        push_outline(&mut out, &self.masked().0, variables);
        out
    }

    pub(super) fn literals(&self, into: &mut Vec<String>) {
        each(&self.0, &mut |leaf| match leaf {
            Tree::Text(template) => into.extend(template.literals().map(str::to_owned)),
            Tree::Plain(text) if is_number(text) => into.push(text.clone()),
            _ => {}
        });
    }

    pub(super) fn describe(&self, into: &mut String) {
        describe(&self.0, into);
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(MASK)
    }
}

fn tree(node: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Tree, Node> {
    Ok(match &node.value {
        Value::Null => Tree::Plain("null".to_owned()),
        Value::Bool(value) => Tree::Plain(value.to_string()),
        Value::Number(text) => Tree::Plain(text.clone()),
        Value::String(text) => Tree::Text(Template::parse(text, variables, unknown)),
        Value::Placeholder(name) => Tree::Bare(variables.find(name).ok_or_else(|| node.clone())?),
        Value::Array(nodes) => {
            Tree::List(nodes.iter().map(|node| tree(node, variables, unknown)).collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let member = |member: &crate::text::json::Member| {
                tree(&member.node, variables, unknown).map(|tree| (member.key.clone(), tree))
            };
            Tree::Object(members.iter().map(member).collect::<Result<_, _>>()?)
        }
    })
}

fn push(out: &mut String, tree: &Tree, values: &Values<'_>) {
    match tree {
        Tree::Plain(text) => out.push_str(text),
        Tree::Text(template) => {
            out.push('"');
            template.render(out, values, push_escaped, push_escaped);
            out.push('"');
        }
        Tree::Bare(variable) => match values.json(*variable) {
            Value::String(text) => push_string(out, &text),
            Value::Number(text) => out.push_str(&text),
            Value::Bool(value) => out.push_str(if value { "true" } else { "false" }),
            _ => out.push_str("null"),
        },
        Tree::List(trees) => {
            out.push('[');
            for (at, tree) in trees.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push(out, tree, values);
            }
            out.push(']');
        }
        Tree::Object(members) => {
            out.push('{');
            for (at, (key, tree)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_string(out, key);
                out.push(':');
                push(out, tree, values);
            }
            out.push('}');
        }
    }
}

fn push_outline(out: &mut String, tree: &Tree, variables: &Variables) {
    match tree {
        Tree::Plain(text) => out.push_str(text),
        Tree::Text(template) => {
            out.push('"');
            for piece in &template.pieces {
                out.push_str(match piece {
                    Piece::Literal(text) => text,
                    Piece::Variable(variable) => variables.name_of(*variable),
                });
            }
            out.push('"');
        }
        Tree::Bare(variable) => out.push_str(variables.name_of(*variable)),
        Tree::List(trees) => {
            for (at, tree) in trees.iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                push_outline(out, tree, variables);
            }
            out.push_str(if trees.is_empty() { "[]" } else { "]" });
        }
        Tree::Object(members) => {
            for (at, (key, tree)) in members.iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                push_string(out, key);
                out.push(':');
                push_outline(out, tree, variables);
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
        }
    }
}

/// Numbers may be keys; `true`, `false` and `null` are none.
fn is_number(plain: &str) -> bool {
    plain.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

fn masked_text(template: &Template) -> Template {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Literal(_) => Piece::Literal(MASK.to_owned()),
        Piece::Variable(variable) => Piece::Variable(*variable),
    });
    Template { pieces: pieces.collect() }
}

fn map(tree: &Tree, change: &dyn Fn(&Tree) -> Tree) -> Tree {
    match tree {
        Tree::List(trees) => Tree::List(trees.iter().map(|tree| map(tree, change)).collect()),
        Tree::Object(members) => {
            Tree::Object(members.iter().map(|(key, tree)| (key.clone(), map(tree, change))).collect())
        }
        leaf => change(leaf),
    }
}

fn each(tree: &Tree, visit: &mut dyn FnMut(&Tree)) {
    match tree {
        Tree::List(trees) => trees.iter().for_each(|tree| each(tree, visit)),
        Tree::Object(members) => members.iter().for_each(|(_, tree)| each(tree, visit)),
        leaf => visit(leaf),
    }
}

/// A text that differs where two bodies differ.
fn describe(tree: &Tree, into: &mut String) {
    match tree {
        Tree::Plain(text) => into.push_str(text),
        Tree::Text(template) => {
            into.push('t');
            template.describe(into);
        }
        Tree::Bare(variable) => *into += &format!("b{variable:?}"),
        Tree::List(trees) => {
            into.push('[');
            for tree in trees {
                describe(tree, into);
                into.push(',');
            }
            into.push(']');
        }
        Tree::Object(members) => {
            into.push('{');
            for (key, tree) in members {
                *into += &format!("{key:?}:");
                describe(tree, into);
                into.push(',');
            }
            into.push('}');
        }
    }
}
