//! Text to values. Refuses what is no JSON, at the place where it stops being JSON; never recurses deeper than
//! [`MAX_DEPTH`], so that no input can exhaust the stack.

use super::{Member, Node, Span, Value};

/// How deep lists and objects may nest.
const MAX_DEPTH: usize = 100;

/// What is accepted beyond plain JSON.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// `//`, `#` and `/* */` comments, and a comma after the last element.
    relaxed: bool,
    /// `__NAME__` outside quotes.
    placeholders: bool,
}

impl Dialect {
    /// Plain JSON.
    pub const STRICT: Self = Self { relaxed: false, placeholders: false };
    /// Configuration files.
    pub const CONFIG: Self = Self { relaxed: true, placeholders: false };
    /// The string form of `token`.
    pub const TOKEN: Self = Self { relaxed: false, placeholders: true };
}

/// Where and why a text is no JSON. The message never holds any of the text: it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The place.
    pub span: Span,
    /// What is wrong there.
    pub message: String,
}

/// Reads one value; nothing but blanks (and comments) may surround it. A byte order mark at the start is passed over.
pub fn parse(text: &str, dialect: Dialect) -> Result<Node, SyntaxError> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0, dialect };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.skip_blank()?;
    let node = reader.value()?;
    reader.skip_blank()?;
    if reader.at < text.len() {
        return Err(reader.error_here("nothing may follow the end of the document"));
    }
    Ok(node)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    dialect: Dialect,
}

type Read<T> = Result<T, SyntaxError>;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn error(start: usize, end: usize, message: impl Into<String>) -> SyntaxError {
        SyntaxError { span: Span { start, end }, message: message.into() }
    }

    fn error_here(&self, message: impl Into<String>) -> SyntaxError {
        let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        Self::error(self.at, self.at + width, message)
    }

    fn skip_blank(&mut self) -> Read<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' if self.dialect.relaxed => self.skip_line(),
                b'/' if self.dialect.relaxed => match self.bytes.get(self.at + 1) {
                    Some(b'/') => self.skip_line(),
                    Some(b'*') => {
                        let Some(length) = self.text[self.at + 2..].find("*/") else {
                            return Err(Self::error(self.at, self.at + 2, "this comment has no end (`*/`)"));
                        };
                        self.at += length + 4;
                    }
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        self.at = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
    }

    fn value(&mut self) -> Read<Node> {
        let start = self.at;
        let value = match self.peek() {
            None => return Err(self.error_here("a value is missing: the text ends here")),
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => self.word()?,
            Some(b'\'') => return Err(self.error_here("text must stand in double quotes, not in single ones")),
            Some(_) => return Err(self.error_here("a value was expected here")),
        };
        Ok(Node { span: Span { start, end: self.at }, value })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        if self.depth == MAX_DEPTH {
            return Err(self.error_here(format!("lists and objects nest deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Read<Value> {
        let open = self.at;
        let mut nodes = Vec::new();
        self.at += 1;
        self.skip_blank()?;
        while !self.closes(b']', nodes.is_empty())? {
            nodes.push(self.value()?);
            self.separator(b']', open, "list")?;
        }
        Ok(Value::Array(nodes))
    }

    fn object(&mut self) -> Read<Value> {
        let open = self.at;
        let mut members = Vec::new();
        self.at += 1;
        self.skip_blank()?;
        while !self.closes(b'}', members.is_empty())? {
            let start = self.at;
            match self.peek() {
                Some(b'"') => {}
                None => return Err(self.unclosed(open, "object")),
                Some(_) => return Err(self.error_here("a key in double quotes was expected here")),
            }
            let key = self.string()?;
            let key_span = Span { start, end: self.at };
            self.skip_blank()?;
            if self.peek() != Some(b':') {
                return Err(self.error_here("a `:` was expected after the key"));
            }
            self.at += 1;
            self.skip_blank()?;
            let node = self.value()?;
            members.push(Member { key, key_span, node });
            self.separator(b'}', open, "object")?;
        }
        Ok(Value::Object(members))
    }

    /// Takes the closing bracket where it stands here. After a comma that is a trailing one.
    fn closes(&mut self, bracket: u8, first: bool) -> Read<bool> {
        if self.peek() != Some(bracket) {
            return Ok(false);
        }
        let after_comma = !first && self.text[..self.at].trim_end().ends_with(',');
        if after_comma && !self.dialect.relaxed {
            return Err(self.error_here("a comma may not stand before the closing bracket"));
        }
        self.at += 1;
        Ok(true)
    }

    /// After an element: a comma is taken, the closing bracket is left, anything else is wrong.
    fn separator(&mut self, bracket: u8, open: usize, what: &str) -> Read<()> {
        self.skip_blank()?;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_blank()
            }
            Some(byte) if byte == bracket => Ok(()),
            None => Err(self.unclosed(open, what)),
            Some(_) => {
                let close = char::from(bracket);
                Err(self.error_here(format!("a `,` or the closing `{close}` was expected here")))
            }
        }
    }

    fn unclosed(&self, open: usize, what: &str) -> SyntaxError {
        let line = self.text[..open].matches('\n').count() + 1;
        self.error_here(format!("the text ends here, but the {what} that begins in line {line} is not closed"))
    }

    fn string(&mut self) -> Read<String> {
        let open = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)).unwrap_or(rest.len());
            text.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                None | Some(b'\n' | b'\r') => {
                    return Err(Self::error(open, self.at, "this string has no closing quote on its line"));
                }
                Some(_) => return Err(self.error_here("a control character in a string must be written as an escape")),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.at += 2;
        let plain = match self.bytes.get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => {
                let message = "this escape is unknown; a backslash itself is written `\\\\`";
                return Err(Self::error(start, start + 1, message));
            }
        };
        Ok(plain)
    }

    fn unicode_escape(&mut self, start: usize) -> Read<char> {
        let first = self.hex4(start)?;
        let code = if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.hex4(start)?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(Self::error(start, self.at, "half of a character: the second `\\u` does not belong to it"));
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code)
            .ok_or_else(|| Self::error(start, self.at, "half of a character: its other `\\u` is missing"))
    }

    fn hex4(&mut self, start: usize) -> Read<u32> {
        let digits = self.bytes.get(self.at..self.at + 4).filter(|four| four.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(Self::error(start, start + 1, "`\\u` needs four hexadecimal digits"));
        };
        self.at += 4;
        Ok(digits.iter().fold(0, |code, &digit| code * 16 + char::from(digit).to_digit(16).unwrap_or(0)))
    }

    fn digits(&mut self) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut right = whole == 1 || (whole > 1 && !leading_zero);
        if self.peek() == Some(b'.') {
            self.at += 1;
            right &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            right &= self.digits() > 0;
        }
        if self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')) {
            right = false;
            self.word_end();
        }
        if right {
            Ok(Value::Number(self.text[start..self.at].to_owned()))
        } else {
            Err(Self::error(start, self.at, "this is no number; text must stand in double quotes"))
        }
    }

    fn word_end(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.' | b'-');
        self.at += rest.iter().position(is_end).unwrap_or(rest.len());
    }

    fn word(&mut self) -> Read<Value> {
        let start = self.at;
        self.word_end();
        match &self.text[start..self.at] {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            name if self.dialect.placeholders && is_placeholder_name(name) => Ok(Value::Placeholder(name.to_owned())),
            "True" | "False" | "None" => {
                Err(Self::error(start, self.at, "JSON writes `true`, `false` and `null` in small letters"))
            }
            _ => Err(Self::error(start, self.at, "text must stand in double quotes")),
        }
    }
}

/// Whether a text has the form `__NAME__`: capital letters, digits and single underscores between double ones.
pub(crate) fn is_placeholder_name(text: &str) -> bool {
    let inner = text.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    inner.is_some_and(|name| {
        !name.is_empty()
            && !name.starts_with('_')
            && !name.ends_with('_')
            && !name.contains("__")
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn config(text: &str) -> Result<Node, SyntaxError> {
        parse(text, Dialect::CONFIG)
    }

    #[test]
    fn comments_trailing_commas_and_a_byte_order_mark_are_accepted() {
        let text = "\u{feff}{ // one\n # two\n /* three\n */ \"a\": [1, 2,], \"b\": {\"c\": null,},\n}";
        let node = config(text).expect("relaxed JSON");
        assert_eq!(node.value.members().expect("an object").len(), 2);
        for strict in ["[1,]", "{\"a\":1,}", "// c\n1", "[1] # c"] {
            assert!(parse(strict, Dialect::STRICT).is_err(), "{strict}");
        }
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let cases = [
            ("", 0, "the text ends here"),
            ("{\"a\" 1}", 5, "`:`"),
            ("[1 2]", 3, "a `,` or the closing `]`"),
            ("{\"a\": 1", 7, "line 1 is not closed"),
            ("{\"a\": \"x\n\"}", 6, "no closing quote"),
            ("[01]", 1, "no number"),
            ("[1.]", 1, "no number"),
            ("[30O]", 1, "no number"),
            ("[abc]", 1, "double quotes"),
            ("[True]", 1, "small letters"),
            ("['a']", 1, "double quotes"),
            ("[\"\\x\"]", 2, "escape"),
            ("[\"\\ud800\"]", 2, "half of a character"),
            ("[,]", 1, "a value was expected"),
            ("{} x", 3, "nothing may follow"),
            ("/* a", 0, "no end"),
            ("[__TTL__]", 1, "double quotes"),
        ];
        for (text, at, message) in cases {
            let error = config(text).expect_err(text);
            assert_eq!(error.span.start, at, "{text}: {error:?}");
            assert!(error.message.contains(message), "{text}: {error:?}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow() {
        let deep = "[".repeat(200_000);
        assert!(config(&deep).expect_err("too deep").message.contains("nest"));
    }

    #[test]
    fn c7_a_placeholder_outside_quotes_is_read_in_tokens_only() {
        let node = parse("{\"ttl\": __TTL__}", Dialect::TOKEN).expect("a token");
        assert_eq!(node.value.members().expect("an object")[0].node.value, Value::Placeholder("__TTL__".into()));
        assert!(parse("{\"ttl\": __ttl__}", Dialect::TOKEN).is_err());
    }

    fn from_serde(value: &serde_json::Value) -> Value {
        let node = |value| Node::synthetic(from_serde(value));
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => Value::Number(number.to_string()),
            serde_json::Value::String(text) => Value::String(text.clone()),
            serde_json::Value::Array(list) => Value::Array(list.iter().map(node).collect()),
            serde_json::Value::Object(map) => {
                let member = |(key, value): (&String, _)| Member {
                    key: key.clone(),
                    key_span: Span::default(),
                    node: node(value),
                };
                Value::Object(map.iter().map(member).collect())
            }
        }
    }

    fn without_spans(mut node: Node) -> Value {
        fn strip(value: &mut Value) {
            match value {
                Value::Array(nodes) => nodes.iter_mut().for_each(|node| {
                    node.span = Span::default();
                    strip(&mut node.value);
                }),
                Value::Object(members) => members.iter_mut().for_each(|member| {
                    (member.key_span, member.node.span) = (Span::default(), Span::default());
                    strip(&mut member.node.value);
                }),
                _ => {}
            }
        }
        strip(&mut node.value);
        node.value
    }

    proptest! {
        /// Another reader is the judge: what it accepts we accept with the same value, what it refuses we refuse.
        #[test]
        fn plain_json_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"0-9.eE+\-truefalsn \\ub]{0,24}"#) {
            let ours = parse(&text, Dialect::STRICT);
            match serde_json::from_str::<serde_json::Value>(&text) {
                Ok(theirs) => {
                    // Repeated keys: theirs keeps the last one only.
                    let ours = without_spans(ours.expect("accepted by both"));
                    let repeated = format!("{ours:?}").matches("key:").count() != format!("{theirs:?}").matches("\": ").count();
                    prop_assert!(repeated || same_numbers(&ours, &from_serde(&theirs)), "{ours:?} {theirs:?}");
                }
                Err(_) => prop_assert!(ours.is_err(), "{ours:?}"),
            }
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>()) {
            for dialect in [Dialect::STRICT, Dialect::CONFIG, Dialect::TOKEN] {
                if let Err(error) = parse(&text, dialect) {
                    prop_assert!(text.get(error.span.start..error.span.end).is_some());
                }
            }
        }
    }

    /// `serde_json` writes exponents its own way, so numbers are compared as numbers here; digits are tested elsewhere.
    fn same_numbers(ours: &Value, theirs: &Value) -> bool {
        match (ours, theirs) {
            (Value::Number(a), Value::Number(b)) => a.parse::<f64>().ok() == b.parse::<f64>().ok(),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_numbers(&a.value, &b.value))
            }
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| a.key == b.key && same_numbers(&a.node.value, &b.node.value))
            }
            (a, b) => a == b,
        }
    }
}
