//! Turns values into text: escapes strings, for request bodies and the cache, and indents text for people.

use std::fmt::Write as _;

use super::{Member, Value};

/// Appends `text` as a JSON string, quotes included.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// Appends `text`, escaped for a JSON string, without quotes.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    // Most texts have nothing to escape. Without an early end, the search checks many bytes at once.
    if text.bytes().fold(0, |found, byte| found | u8::from(matches!(byte, 0..0x20 | b'"' | b'\\'))) == 0 {
        out.push_str(text);
        return;
    }
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
}

/// The value as indented text, two spaces for each level, with a line end.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    push_pretty(&mut out, value, 0);
    out.push('\n');
    out
}

fn push_pretty(out: &mut String, value: &Value, level: usize) {
    let indent = |out: &mut String, level| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(text) | Value::Placeholder(text) => out.push_str(text),
        Value::String(text) => push_string(out, text),
        Value::Array(nodes) if nodes.is_empty() => out.push_str("[]"),
        Value::Array(nodes) => {
            for (at, node) in nodes.iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                indent(out, level + 1);
                push_pretty(out, &node.value, level + 1);
            }
            indent(out, level);
            out.push(']');
        }
        Value::Object(members) if members.is_empty() => out.push_str("{}"),
        Value::Object(members) => {
            for (at, member) in members.iter().enumerate() {
                out.push(if at == 0 { '{' } else { ',' });
                indent(out, level + 1);
                push_string(out, &member.key);
                out.push_str(": ");
                push_pretty(out, &member.node.value, level + 1);
            }
            indent(out, level);
            out.push('}');
        }
    }
}

/// Appends a comma and an unknown member, so that a rewritten text keeps it.
pub(crate) fn push_member(out: &mut String, member: &Member) {
    out.push(',');
    push_string(out, &member.key);
    out.push(':');
    *out += &one_line(&member.node.value);
}

/// The value on one line. Line ends inside strings are escaped.
pub fn one_line(value: &Value) -> String {
    pretty(value).lines().map(str::trim_start).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::json::{Dialect, parse};

    proptest! {
        #[test]
        fn a_written_string_reads_back(text in any::<String>()) {
            let mut out = String::new();
            push_string(&mut out, &text);
            let read = parse(&out, Dialect::STRICT).expect("what we write we can read");
            prop_assert_eq!(read.value, Value::String(text));
        }
    }

    #[test]
    fn indented_text_reads_back() {
        let text = "{\n  \"a\": [\n    1.10,\n    {}\n  ],\n  \"b\": []\n}\n";
        assert_eq!(pretty(&parse(text, Dialect::STRICT).expect("JSON").value), text);
    }
}
