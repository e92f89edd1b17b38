//! What a written value means, whether it comes from a file, the environment, an option or an answer. One function for
//! each kind of value.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fields::{Key, Kind};
use super::layers::Layers;
use crate::address::source::split_list;
use crate::callback::Variables;
use crate::text::json::{Dialect, Member, Node, Span, SyntaxError, Value, is_placeholder_name, parse};

/// The boolean that a word means, in any case (B13).
pub fn flag(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "t" | "y" | "1" => Some(true),
        "false" | "no" | "f" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a value of `index4` or `index6` switches the family off. (`0` is the first interface, and an interface may
/// be called `no`.)
pub(crate) fn is_off(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::String(text) => is_off_word(text),
        _ => false,
    }
}

/// Whether a text is `false` or `none`, in any case.
pub(crate) fn is_off_word(text: &str) -> bool {
    ["false", "none"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Drops a fraction of zeros: `300.0` is `300`. Anything else stays unchanged.
pub(super) fn whole(number: &str) -> &str {
    let is_zero = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    number.split_once('.').filter(|(_, fraction)| is_zero(fraction)).map_or(number, |(whole, _)| whole)
}

/// The text of a number, without a fraction of zeros (B13), or of a string that may contain one.
pub(super) fn digits(value: &Value) -> Option<&str> {
    match value {
        Value::Number(text) => Some(whole(text)),
        Value::String(text) => Some(text.trim()),
        _ => None,
    }
}

/// Whether ddns decides: `auto`, in any case.
pub(super) fn is_auto(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("auto")
}

/// The items of a list in one text: JSON, or separated (B9, B11). Fails if the text begins like JSON but is invalid.
pub fn list(text: &str) -> Result<Vec<Node>, SyntaxError> {
    if !text.trim_start().starts_with('[') {
        return Ok(separated(text));
    }
    let in_double_quotes = |error| {
        let parsed = parse(&double_quoted(text), Dialect::LIST);
        if text.contains('\'') { parsed } else { parsed.map_err(|_| error) }
    };
    let parsed = parse(text, Dialect::LIST).or_else(in_double_quotes);
    // JSON that begins with a bracket is an array.
    parsed.map(|node| if let Value::Array(items) = node.value { items } else { Vec::new() })
}

/// Like [`list`], for a field whose items may be objects (H9, H13): a text that begins like one is a single item.
pub fn items(kind: Kind, text: &str) -> Result<Vec<Node>, SyntaxError> {
    if kind.has_objects() && text.trim_start().starts_with('{') {
        return parse(text, Dialect::IN_TEXT).map(|item| vec![item]);
    }
    list(text)
}

/// A list in Python syntax, `['a', 'b']`, as JSON.
fn double_quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '"' | '\'') => {
                quote = Some(letter);
                json.push('"');
            }
            (Some(open), _) if letter == open => {
                quote = None;
                json.push('"');
            }
            (Some('\''), '"') => json += "\\\"",
            (Some(_), '\\') => match letters.next() {
                Some('\'') => json.push('\''),
                next => {
                    // Python keeps a backslash that begins no escape.
                    let is_escape = next.is_some_and(|next| "\"\\/bfnrtu".contains(next));
                    json.push_str(if is_escape { "\\" } else { "\\\\" });
                    json.extend(next);
                }
            },
            _ => json.push(letter),
        }
    }
    json
}

/// The items of a list that is not JSON.
pub(super) fn separated(text: &str) -> Vec<Node> {
    split_list(text).into_iter().map(|item| Node::synthetic(Value::string(item))).collect()
}

/// The document of a `token`; `None` if it is empty (B7). Fails if a string is not valid JSON.
pub(super) fn document(node: &Node) -> Result<Option<Cow<'_, Node>>, SyntaxError> {
    match &node.value {
        value if is_empty_token(value) => Ok(None),
        // A string with any text in it is not empty: `"{}"` is a body.
        Value::String(text) => parse(text, Dialect::TOKEN).map(|document| Some(Cow::Owned(document))),
        _ => Ok(Some(Cow::Borrowed(node))),
    }
}

/// The placeholders for which domains have their own values (H9), up to the limit of `extra`.
pub(super) fn own_names(layers: &Layers<'_>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for setting in [Key::Ipv4, Key::Ipv6].into_iter().filter_map(|key| layers.get(key)) {
        match &setting.node.value {
            Value::String(text) if text.contains("\"extra\"") => {
                if let Ok(node) = parse(text, Dialect::IN_TEXT) {
                    own_names_in(&node, &mut names);
                }
            }
            _ => own_names_in(&setting.node, &mut names),
        }
    }
    names.into_iter().filter(|name| is_placeholder_name(name)).take(Variables::MAX_EXTRA).collect()
}

fn own_names_in(domains: &Node, names: &mut BTreeSet<String>) {
    match &domains.value {
        Value::Array(items) => items.iter().for_each(|item| own_names_in(item, names)),
        value => {
            let extra = value.member("extra").and_then(Value::members);
            names.extend(extra.into_iter().flatten().map(|own| own.key.clone()));
        }
    }
}

/// The name of a domain, which may be an object (H9).
pub(super) fn domain_name(node: &Node) -> Option<&str> {
    node.value.member("name").unwrap_or(&node.value).text()
}

/// Whether a `token` counts as empty (B7, H3).
pub(super) fn is_empty_token(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => is_blank(other),
    }
}

/// The members of an object, or of a text that contains one, because options and environment variables are always
/// texts.
pub(super) fn members(value: &Value, dialect: Dialect) -> Option<Cow<'_, [Member]>> {
    match value {
        Value::Object(members) => Some(Cow::Borrowed(members)),
        Value::String(text) if text.trim_start().starts_with('{') => match parse(text, dialect).ok()?.value {
            Value::Object(members) => Some(Cow::Owned(members)),
            _ => None,
        },
        _ => None,
    }
}

/// The name and value of a header written as one line: `Name: value`.
pub fn header(line: &str) -> Option<(&str, &str)> {
    line.split_once(':').map(|(name, value)| (name.trim(), value.trim()))
}

/// The headers in one text: a JSON object, or one line for each. The error says why it is neither, as a phrase that
/// follows the name of the field.
pub(super) fn headers(text: &str) -> Result<Vec<Member>, String> {
    if text.trim_start().starts_with('{') {
        return match parse(text, Dialect::IN_TEXT) {
            Ok(Node { value: Value::Object(members), .. }) => Ok(members),
            Ok(_) => Ok(Vec::new()),
            Err(error) => Err(format!("is not JSON: at character {}, {}", error.span.start + 1, error.message)),
        };
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let members = lines.enumerate().map(|(at, line)| {
        let (name, value) = header(line).ok_or_else(|| format!("has no colon in line {}", at + 1))?;
        Ok(Member { key: name.to_owned(), key_span: Span::default(), node: Node::synthetic(Value::string(value)) })
    });
    members.collect()
}

pub(super) fn is_web_address(text: &str) -> bool {
    let text = text.trim_start().to_ascii_lowercase();
    text.starts_with("https://") || text.starts_with("http://")
}

/// Expands a notification that is only a URL: ddns posts the message there, as `text`.
pub(super) fn expand_notification(node: &mut Node) {
    let Some(address) = node.value.text().filter(|text| is_web_address(text)).map(str::trim) else { return };
    let body = Value::object([("text", Value::string("__MESSAGE__"))]);
    let fields = Value::object([("id", Value::string(address)), ("token", body)]);
    *node = Node::synthetic(fields).at(node.span);
}

/// Whether a value counts as not set.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// The value as people write it in a file: a text that means a number becomes a number. An invalid value stays
/// unchanged.
pub(crate) fn natural(kind: Kind, value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let json = || parse(text, Dialect::IN_TEXT).map(|node| node.value);
    let meant = match kind {
        Kind::Sources if is_off(value) => Some(Value::Bool(false)),
        Kind::List | Kind::Secrets | Kind::Domains | Kind::Sources => items(kind, text).ok().map(Value::Array),
        // Only a string makes an empty document a body (B7), and only a string may contain a placeholder outside
        // quotes.
        Kind::Document => json()
            .ok()
            .filter(|document| matches!(document, Value::Object(_) | Value::Array(_)) && !is_empty_token(document)),
        Kind::Whole | Kind::Number | Kind::WholeOrText => json().ok().filter(|json| matches!(json, Value::Number(_))),
        Kind::FlagObjectOrText => {
            let object = json().ok().filter(|json| json.members().is_some());
            flag(text).map(Value::Bool).or(object)
        }
        Kind::Flag | Kind::FlagOrText => flag(text).map(Value::Bool),
        Kind::Values | Kind::Object | Kind::Callbacks => json().ok(),
        Kind::Headers => headers(text).ok().map(Value::Object),
        Kind::ObjectOrText => json().ok().filter(|json| json.members().is_some()),
        Kind::Text | Kind::Word | Kind::Entries => None,
    };
    meant.unwrap_or_else(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b13_words_for_booleans() {
        for word in ["true", "YES", " 1 ", "t", "Y"] {
            assert_eq!(flag(word), Some(true), "{word}");
        }
        for word in ["False", "no", "0", "f", "N"] {
            assert_eq!(flag(word), Some(false), "{word}");
        }
        for word in ["", "on", "auto", "10", "/var/no"] {
            assert_eq!(flag(word), None, "{word}");
        }
    }

    #[test]
    fn b9_lists_are_separated_or_json() {
        let items = |text: &str| -> Vec<String> {
            list(text).expect("a list").iter().map(|item| item.value.text().unwrap_or("?").to_owned()).collect()
        };
        assert_eq!(items(" a, b;c ,"), ["a", "b", "c"]);
        assert_eq!(items(r#" ["a,b", "c"]"#), ["a,b", "c"]);
        assert_eq!(items("url:http://h/?a,b"), ["url:http://h/?a,b"]);
        assert!(items("").is_empty() && list("[a]").is_err());
    }

    #[test]
    fn h9_an_object_in_a_text_is_one_item() {
        let text = r#" {"name": "a.example", "extra": {"__A__": "b,c;d"}}"#;
        for kind in [Kind::Domains, Kind::Secrets] {
            let Value::Array(items) = natural(kind, &Value::string(text)) else { panic!("{kind:?}") };
            assert_eq!((items.len(), domain_name(&items[0])), (1, Some("a.example")));
            assert_eq!(natural(kind, &Value::string("{s")), Value::string("{s"));
        }
        assert_eq!(items(Kind::List, "{a,b}").map(|items| items.len()).ok(), Some(2));
    }

    #[test]
    fn b11_lists_may_have_single_quotes() {
        let cases: [(&str, &[&str]); 6] = [
            ("['a','b']", &["a", "b"]),
            (" [ 'a' , \"b\" ] ", &["a", "b"]),
            ("[\"it's\", 'x']", &["it's", "x"]),
            (r#"['say "a"', 'it\'s', 'a\\b', "c\"d"]"#, &["say \"a\"", "it's", "a\\b", "c\"d"]),
            ("['url:https://h/?a=1,2', 'shell:echo [1]']", &["url:https://h/?a=1,2", "shell:echo [1]"]),
            ("['']", &[""]),
        ];
        for (text, expected) in cases {
            let items = list(text).unwrap_or_else(|error| panic!("{text}: {}", error.message));
            assert_eq!(items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>(), expected, "{text}");
        }
        for wrong in ["['a'", "['a',b']", "['a\\", "['a']]", "[a']", "['a' 'b']"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_whole_number_may_have_a_fraction_of_zeros() {
        for (number, expected) in [("300", "300"), ("300.0", "300"), ("-5.000", "-5"), ("0.0", "0")] {
            assert_eq!(whole(number), expected);
        }
        for other in ["1.5", "1.", "1.0e3", "1.0x", ".5"] {
            assert_eq!(whole(other), other);
        }
    }

    #[test]
    fn h2_headers_are_lines_or_json() {
        let pairs = |text: &str| -> Vec<(String, String)> {
            let members = headers(text).expect("headers").into_iter();
            members.map(|member| (member.key, member.node.value.text().unwrap_or("?").to_owned())).collect()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs("A: b"), [pair("A", "b")]);
        assert_eq!(pairs("\n A:b:c \r\n\nX-Y : \n"), [pair("A", "b:c"), pair("X-Y", "")]);
        assert_eq!(pairs(r#" {"A": "b", "C": 1}"#), [pair("A", "b"), pair("C", "?")]);
        assert!(pairs(" ").is_empty());
        assert!(headers("A: b\ns3cret").is_err_and(|why| why == "has no colon in line 2"));
        assert!(headers("{s3cret").is_err_and(|why| !why.contains("s3cret")));
    }
}
