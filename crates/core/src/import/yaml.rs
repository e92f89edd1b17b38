//! Reads the part of YAML that ddns-go writes: block maps and lists, plain and quoted scalars, and texts with several lines.
//! Anything else is an error with its line.

use super::cursor::TextCursor;
use super::settings::PeerError;
use crate::text::json::{Member, Node, Span, Value};

#[cfg(test)]
mod tests;

/// Values must not be nested deeper.
const MAX_DEPTH: usize = 20;

#[derive(Clone, Copy)]
struct YamlLine<'a> {
    indent: usize,
    text: &'a str,
    /// The text with the dashes before it.
    whole: &'a str,
    /// The byte of its first letter in the file.
    at: usize,
    number: usize,
}

impl<'a> YamlLine<'a> {
    /// The key, and what follows its colon; `None` if the line has no key.
    fn key(&self) -> Option<(&'a str, &'a str)> {
        let quote = self.text.chars().next().filter(|letter| matches!(letter, '"' | '\''));
        // A comment may contain a colon.
        let plain = self.text.split(" #").next().unwrap_or_default().trim_end();
        let (key, rest) = if let Some(quote) = quote {
            let (key, rest) = self.text[1..].split_once(quote)?;
            (key, rest.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with(' '))?)
        } else if let Some(at) = plain.find(": ") {
            (&plain[..at], &self.text[at + 1..])
        } else {
            (plain.strip_suffix(':')?, "")
        };
        let rest = rest.trim();
        Some((key, if rest.starts_with('#') { "" } else { rest }))
    }

    fn node(&self, value: Value) -> Node {
        Node { span: Span { start: self.at, end: self.at }, value }
    }

    fn wrong<T>(&self, message: &str) -> Result<T, PeerError> {
        Err(PeerError::new(self.number, message))
    }
}

struct YamlReader<'a> {
    lines: Vec<YamlLine<'a>>,
    place: usize,
}

/// Parses a text. Every scalar becomes a string.
pub(super) fn parse(text: &str) -> Result<Node, PeerError> {
    let (mut at, mut lines) = (0, Vec::new());
    for (place, whole) in text.split_inclusive('\n').enumerate() {
        let trimmed = whole.trim_start_matches(' ');
        let indent = whole.len() - trimmed.len();
        let text = trimmed.trim_end();
        let mut line = YamlLine { indent, text, whole: text, at: at + indent, number: place + 1 };
        // Treat the text after a dash as a line of its own, indented further.
        while let Some(rest) = line.text.strip_prefix("- ").map(str::trim_start) {
            lines.push(YamlLine { text: "-", ..line });
            let shift = line.text.len() - rest.len();
            line = YamlLine { indent: line.indent + shift, text: rest, at: line.at + shift, ..line };
        }
        lines.push(line);
        at += whole.len();
    }
    let mut reader = YamlReader { lines, place: 0 };
    if let Some(line) = reader.peek().filter(|line| line.text != "-" && line.key().is_none()) {
        return line.wrong("it is neither `key: value` nor `- item`");
    }
    let root = reader.block(0, 0)?;
    match reader.peek() {
        Some(line) => line.wrong("the line is indented in another way than those around it"),
        None => Ok(root),
    }
}

impl<'a> YamlReader<'a> {
    /// The next line with content.
    fn peek(&mut self) -> Option<YamlLine<'a>> {
        let is_empty = |line: &YamlLine<'_>| line.text.is_empty() || line.text.starts_with('#') || line.text == "---";
        while self.lines.get(self.place).is_some_and(is_empty) {
            self.place += 1;
        }
        self.lines.get(self.place).copied()
    }

    /// A list, map or scalar below a line with the indentation `above`.
    fn block(&mut self, above: usize, depth: usize) -> Result<Node, PeerError> {
        let Some(first) = self.peek() else { return Ok(Node::synthetic(Value::Null)) };
        if depth > MAX_DEPTH {
            return first.wrong("values are nested too deeply");
        }
        let is_list = first.text == "-";
        if !is_list && first.key().is_none() {
            return self.scalar(first, first.text, above);
        }
        let (mut items, mut members) = (Vec::new(), Vec::new());
        while let Some(line) = self.peek().filter(|line| line.indent == first.indent && is_list == (line.text == "-")) {
            if is_list {
                items.push(self.below(line, depth)?);
                continue;
            }
            let Some((key, rest)) = line.key() else { return line.wrong("it is neither `key: value` nor `- item`") };
            let node = if rest.is_empty() { self.below(line, depth)? } else { self.scalar(line, rest, line.indent)? };
            members.push(Member { key: key.to_owned(), key_span: Span { start: line.at, end: line.at }, node });
        }
        Ok(first.node(if is_list { Value::Array(items) } else { Value::Object(members) }))
    }

    /// The value below a key or a dash; null if the next line is not indented further. A list may have the indentation of its key.
    fn below(&mut self, line: YamlLine<'_>, depth: usize) -> Result<Node, PeerError> {
        self.place += 1;
        let is_list = |next: &YamlLine<'_>| next.indent == line.indent && next.text == "-" && line.text != "-";
        match self.peek().filter(|next| next.indent > line.indent || is_list(next)) {
            Some(_) => self.block(line.indent, depth + 1),
            None => Ok(Node::synthetic(Value::Null)),
        }
    }

    fn scalar(&mut self, line: YamlLine<'_>, text: &str, above: usize) -> Result<Node, PeerError> {
        self.place += 1;
        let is_end = |rest: &str| rest.trim().is_empty() || rest.trim_start().starts_with('#');
        let value = match text.chars().next() {
            Some('|' | '>') => return self.literal(line, text, above),
            Some('"') => {
                let mut at = TextCursor::new(&text[1..]);
                at.quoted('"', "ntrxuU*").ok().filter(|_| is_end(at.rest))
            }
            Some('\'') => {
                let inner = text[1..].replace("''", "\0");
                let closed = inner.split_once('\'').filter(|(_, rest)| is_end(rest));
                closed.map(|(inner, _)| inner.replace('\0', "'"))
            }
            _ if matches!(text, "[]" | "{}" | "~" | "null") => return Ok(Node::synthetic(Value::Null)),
            Some('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`') => {
                return line.wrong("this form of YAML is not understood; write block lists and plain or quoted values");
            }
            _ => text.split(" #").next().map(|text| text.trim_end().to_owned()),
        };
        match value {
            Some(value) => Ok(line.node(Value::String(value))),
            None => line.wrong("a quote is not closed on its line"),
        }
    }

    /// A text with several lines.
    fn literal(&mut self, line: YamlLine<'_>, mark: &str, above: usize) -> Result<Node, PeerError> {
        if !matches!(mark, "|" | "|-" | "|+" | ">" | ">-" | ">+") {
            return line.wrong("this form of YAML is not understood");
        }
        let own = self.lines[self.place..].iter().take_while(|next| next.text.is_empty() || next.indent > above);
        let mut own: Vec<&YamlLine<'_>> = own.collect();
        self.place += own.len();
        own.dedup_by_key(|line| line.number);
        let indent = own.iter().filter(|line| !line.text.is_empty()).map(|line| line.indent).min().unwrap_or(0);
        let texts = own.iter().map(|line| " ".repeat(line.indent.saturating_sub(indent)) + line.whole);
        let text = texts.collect::<Vec<_>>().join(if mark.starts_with('|') { "\n" } else { " " });
        Ok(line.node(Value::String(text.trim_end().to_owned())))
    }
}
