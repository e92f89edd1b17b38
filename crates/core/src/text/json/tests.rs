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
fn mistakes_are_reported_where_they_are() {
    let cases = [
        ("", 0, "the text ends here"),
        ("{\"a\" 1}", 5, "`:`"),
        ("[1 2]", 3, "a `,` or the closing `]`"),
        ("{\"a\": 1", 7, "line 1 is not closed"),
        ("{\"a\": \"x\n\"}", 6, "no closing quote"),
        ("[01]", 1, "not a number"),
        ("[1.]", 1, "not a number"),
        ("[30O]", 1, "not a number"),
        ("[abc]", 1, "double quotes"),
        ("[True]", 1, "in lowercase"),
        ("['a']", 1, "double quotes"),
        ("[\"\\x\"]", 2, "escape"),
        ("[\"\\ud800\"]", 2, "half of a character"),
        ("[\"\\u12\"]", 2, "four hexadecimal digits"),
        ("[\"a\tb\"]", 3, "control character"),
        ("[\"\0", 2, "control character"),
        ("[-]", 1, "not a number"),
        ("[1e+]", 1, "not a number"),
        ("[1.2.3]", 1, "not a number"),
        ("[0x10]", 1, "not a number"),
        ("[true_]", 1, "double quotes"),
        ("[,]", 1, "a value was expected"),
        ("[1,,2]", 3, "a value was expected"),
        ("[\0]", 1, "a value was expected"),
        ("[1\u{a0}]", 2, "does not allow this kind of space"),
        ("{\"a\": }", 6, "a value was expected"),
        ("{a: 1}", 1, "a key in double quotes"),
        ("{'a': 1}", 1, "a key in double quotes"),
        ("{-1: 1}", 1, "a key in double quotes"),
        ("{\"a\" 'b'}", 5, "`:`"),
        ("{\"a\": 1 /* b */ \"c\": 2}", 16, "a `,` or the closing `}`"),
        ("{\"a\": [1}", 8, "a `,` or the closing `]`"),
        ("{\"a\": {\n\"b\": [", 14, "the list that begins in line 2 is not closed"),
        ("{\"a\": x\", \"b\": 1\n}", 6, "double quotes"),
        ("{} x", 3, "nothing may follow"),
        ("/* a", 0, "no end"),
        ("[__TTL__]", 1, "a placeholder must be in double quotes"),
    ];
    for (text, at, message) in cases {
        let error = config(text).expect_err(text);
        assert_eq!(error.span.start, at, "{text}: {error:?}");
        assert!(error.message.contains(message), "{text}: {error:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let brackets = open.matches(['[', '{']).count();
        let nested = |levels: usize| {
            let levels = levels / brackets;
            format!("{}1{}", open.repeat(levels), close.repeat(levels))
        };
        assert!(config(&nested(100)).is_ok());
        for levels in [102, 512, 1_000_000] {
            assert!(config(&nested(levels)).expect_err("too deep").message.contains("deeper than 100 levels"));
        }
    }
}

#[test]
fn a_megabyte_is_read_in_one_go() {
    for (start, item) in [("[", "1,"), ("{", "\"a\":1,"), ("", "/**/"), ("", "#\n"), ("[", "\"\\n\",")] {
        let text = start.to_owned() + &item.repeat((1 << 20) / item.len());
        assert!(config(&text).is_err(), "{item}");
        let closed = text.trim_end_matches(',').to_owned() + if start == "{" { "}" } else { "]" };
        assert_eq!(config(&closed).is_ok(), !start.is_empty(), "{item}");
    }
}

#[test]
fn places_are_those_of_the_text_as_it_was_written() {
    let text = "\u{feff}# \"ä\"\n{\"ttl\": [1.10, \"b\"], \"ttl\": null}";
    let node = config(text).expect("relaxed JSON");
    let at = |span: Span| &text[span.start..span.end];
    let members = node.value.members().expect("an object");
    assert_eq!(members.iter().map(|member| at(member.key_span)).collect::<Vec<_>>(), ["\"ttl\""; 2]);
    assert_eq!(members.iter().map(|member| at(member.node.span)).collect::<Vec<_>>(), ["[1.10, \"b\"]", "null"]);
    let token = "[ __TTL__, {\"a\": __IP__}]";
    let Value::Array(items) = parse(token, Dialect::TOKEN).expect("a token").value else { panic!("a list") };
    assert_eq!(&token[items[0].span.start..items[0].span.end], "__TTL__");
    assert_eq!(items[0].value, Value::Placeholder("__TTL__".into()));
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
            let member =
                |(key, value): (&String, _)| Member { key: key.clone(), key_span: Span::default(), node: node(value) };
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
    /// `serde_json` is the reference: we accept the same texts with the same values, and refuse the same texts.
    #[test]
    fn plain_json_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:,"0-9.eE+\-truefalsn \\ub]{0,24}"#) {
        let ours = parse(&text, Dialect::STRICT);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(theirs) => {
                // Of repeated keys, `serde_json` keeps only the last one.
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
