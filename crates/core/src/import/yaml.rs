//! YAML as far as ddns-go writes it: block maps and lists, plain and quoted scalars, texts of several lines. Anything else is an
//! error at its line, never a guess.

use super::cursor::TextCursor;
use super::settings::PeerError;
use crate::text::json::{Member, Node, Span, Value};

/// No value is deeper.
const MAX_DEPTH: usize = 20;

#[derive(Clone, Copy)]
struct YamlLine<'a> {
    indent: usize,
    text: &'a str,
    /// Its first letter, in bytes.
    at: usize,
    number: usize,
}

struct YamlReader<'a> {
    lines: Vec<YamlLine<'a>>,
    place: usize,
}

/// The value of a text. Every scalar is a string.
pub(super) fn parse(text: &str) -> Result<Node, PeerError> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').enumerate().map(|(place, line)| {
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        let start = at + indent;
        at += line.len();
        YamlLine { indent, text: trimmed.trim_end(), at: start, number: place + 1 }
    });
    let mut reader = YamlReader { lines: lines.collect(), place: 0 };
    let root = reader.block(0)?;
    match reader.peek() {
        Some(line) => Err(PeerError::new(line.number, "the line is indented in another way than those around it")),
        None => Ok(root),
    }
}

/// A key, and what follows its colon.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''));
    let (key, rest) = match quote {
        Some(quote) => {
            let (key, rest) = text[1..].split_once(quote)?;
            (key, rest.strip_prefix(':')?)
        }
        None => text.split_once(": ").or_else(|| Some((text.strip_suffix(':')?, "")))?,
    };
    (rest.is_empty() || rest.starts_with(' ') || quote.is_none()).then(|| (key, rest.trim()))
}

impl<'a> YamlReader<'a> {
    /// The next line that says something.
    fn peek(&mut self) -> Option<YamlLine<'a>> {
        let is_empty = |line: &YamlLine<'_>| line.text.is_empty() || line.text.starts_with('#') || line.text == "---";
        while self.lines.get(self.place).is_some_and(is_empty) {
            self.place += 1;
        }
        self.lines.get(self.place).copied()
    }

    fn block(&mut self, depth: usize) -> Result<Node, PeerError> {
        let Some(first) = self.peek() else { return Ok(Node::synthetic(Value::Null)) };
        if depth > MAX_DEPTH {
            return Err(PeerError::new(first.number, "values are nested too deeply"));
        }
        let is_item = |text: &str| text == "-" || text.starts_with("- ");
        let span = Span { start: first.at, end: first.at };
        let (mut items, mut members) = (Vec::new(), Vec::new());
        while let Some(line) = self.peek().filter(|line| line.indent == first.indent) {
            if is_item(line.text) != is_item(first.text) {
                break;
            }
            if is_item(line.text) {
                let rest = line.text[1..].trim_start();
                let shift = line.text.len() - rest.len();
                let inner = YamlLine { indent: line.indent + shift, text: rest, at: line.at + shift, ..line };
                if rest.is_empty() {
                    items.push(self.below(line, depth)?);
                } else if split_key(rest).is_some() && !rest.starts_with(['|', '>']) {
                    self.lines[self.place] = inner;
                    items.push(self.block(depth + 1)?);
                } else {
                    items.push(self.scalar(inner, rest, line.indent)?);
                }
                continue;
            }
            let Some((key, rest)) = split_key(line.text) else {
                return Err(PeerError::new(line.number, "it is neither `key: value` nor `- item`"));
            };
            let key_span = Span { start: line.at, end: line.at };
            let node = if rest.is_empty() { self.below(line, depth)? } else { self.scalar(line, rest, line.indent)? };
            members.push(Member { key: key.to_owned(), key_span, node });
        }
        let value = if is_item(first.text) { Value::Array(items) } else { Value::Object(members) };
        Ok(Node { span, value })
    }

    /// What stands below a key or a dash; nothing where the next line is not deeper. A list may stand below its key.
    fn below(&mut self, line: YamlLine<'_>, depth: usize) -> Result<Node, PeerError> {
        self.place += 1;
        let is_list = |next: &YamlLine<'_>| {
            next.indent == line.indent && next.text.starts_with('-') && !line.text.starts_with('-')
        };
        match self.peek().filter(|next| next.indent > line.indent || is_list(next)) {
            Some(_) => self.block(depth + 1),
            None => Ok(Node::synthetic(Value::Null)),
        }
    }

    fn scalar(&mut self, line: YamlLine<'_>, text: &str, indent: usize) -> Result<Node, PeerError> {
        self.place += 1;
        let wrong = |message: &str| Err(PeerError::new(line.number, message));
        let value = match text.chars().next() {
            Some('|' | '>') => return self.literal(line, text, indent),
            Some('"') => {
                quoted(&text[1..]).ok_or_else(|| PeerError::new(line.number, "a quote is not closed on its line"))
            }
            Some('\'') => {
                let inner = text[1..].replace("''", "\0");
                let closed = inner.split_once('\'').filter(|(_, rest)| is_comment(rest));
                match closed {
                    Some((inner, _)) => Ok(inner.replace('\0', "'")),
                    None => return wrong("a quote is not closed on its line"),
                }
            }
            _ if matches!(text, "[]" | "{}" | "~" | "null") => return Ok(Node::synthetic(Value::Null)),
            Some('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`') => {
                return wrong("this form of YAML is not understood; write block lists and plain or quoted values");
            }
            _ => Ok(text.split(" #").next().unwrap_or_default().trim_end().to_owned()),
        }?;
        Ok(Node { span: Span { start: line.at, end: line.at }, value: Value::String(value) })
    }

    /// A text of several lines.
    fn literal(&mut self, line: YamlLine<'_>, mark: &str, indent: usize) -> Result<Node, PeerError> {
        if !matches!(mark, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
            return Err(PeerError::new(line.number, "this form of YAML is not understood"));
        }
        let mut lines = Vec::new();
        while let Some(next) = self.lines.get(self.place).filter(|next| next.text.is_empty() || next.indent > indent) {
            lines.push(*next);
            self.place += 1;
        }
        let own = lines.iter().filter(|line| !line.text.is_empty()).map(|line| line.indent).min().unwrap_or(0);
        let texts = lines.iter().map(|line| " ".repeat(line.indent.saturating_sub(own)) + line.text);
        let text = texts.collect::<Vec<_>>().join(if mark.starts_with('|') { "\n" } else { " " });
        Ok(Node { span: Span { start: line.at, end: line.at }, value: Value::String(text.trim_end().to_owned()) })
    }
}

fn is_comment(rest: &str) -> bool {
    rest.trim().is_empty() || rest.trim_start().starts_with('#')
}

fn quoted(text: &str) -> Option<String> {
    let (mut at, mut value) = (TextCursor::new(text), String::new());
    loop {
        match at.take()? {
            '"' => return is_comment(at.rest).then_some(value),
            '\\' => match at.take()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                '0' => value.push('\0'),
                'x' => value.push(at.code(16, 2)),
                'u' => value.push(at.code(16, 4)),
                'U' => value.push(at.code(16, 8)),
                other => value.push(other),
            },
            letter => value.push(letter),
        }
    }
}
