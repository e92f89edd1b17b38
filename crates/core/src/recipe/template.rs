//! Texts that contain `${name}`.

use crate::net::url::push_value;
use crate::text::json::{Member, Node, Value};

/// The names in a text, in order.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
}

/// The name, if the text contains nothing else.
pub(super) fn only(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains('}')).then_some(name)
}

/// The text with every name replaced by its value. Names in values are not replaced.
pub(super) fn filled(text: &str, mut value: impl FnMut(&str) -> String) -> String {
    replaced(text, |name, _| value(name))
}

/// The same for a URL. A value at the beginning is a URL itself: it stays unchanged, except that its trailing slashes are removed.
/// A typed value stays unchanged, too. All others are encoded, except for slashes in the path.
pub(super) fn filled_url(text: &str, is_typed: impl Fn(&str) -> bool, mut value: impl FnMut(&str) -> String) -> String {
    if let Some(name) = only(text) {
        return value(name);
    }
    replaced(text, |name, before| {
        let (value, is_typed) = (value(name), is_typed(name));
        if is_typed {
            return value;
        }
        if before.is_empty() {
            return value.trim_end_matches('/').to_owned();
        }
        let encoded = |text: &str| {
            let mut out = String::new();
            push_value(&mut out, text);
            out
        };
        let is_path = !before.contains('?') && before.matches('/').count() > 2 || before.starts_with('/');
        if is_path { value.split('/').map(encoded).collect::<Vec<_>>().join("/") } else { encoded(&value) }
    })
}

/// Replaces each name by `value` of the name and of the text written so far.
fn replaced(text: &str, mut value: impl FnMut(&str, &str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        out += before;
        let value = value(name, &out);
        out += &value;
        rest = after;
    }
    out + rest
}

/// Calls `see` for every text in the members, with the keys that lead to it.
pub(super) fn texts<'a>(members: &'a [Member], see: &mut impl FnMut(&[&'a str], &'a str, &'a Node)) {
    fn walk<'a>(node: &'a Node, keys: &mut Vec<&'a str>, see: &mut impl FnMut(&[&'a str], &'a str, &'a Node)) {
        match &node.value {
            Value::String(text) => see(keys, text, node),
            Value::Array(items) => items.iter().for_each(|item| walk(item, keys, see)),
            Value::Object(members) => {
                for member in members {
                    keys.push(&member.key);
                    walk(&member.node, keys, see);
                    keys.pop();
                }
            }
            _ => {}
        }
    }
    for member in members {
        walk(&member.node, &mut vec![&member.key], see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_encoded_in_urls() {
        let value = |name: &str| if name == "a" { "${b}/x y&z".to_owned() } else { "https://h.example/p/".to_owned() };
        assert_eq!(filled("<${a}> ${", value), "<${b}/x y&z> ${");
        let filled_url = |text: &str| filled_url(text, |name| name == "c", value);
        assert_eq!(filled_url("https://h/?${c}&v=__IP__"), "https://h/?https://h.example/p/&v=__IP__");
        assert_eq!(
            filled_url("${b}/q/${a}?v=${a}"),
            "https://h.example/p/q/%24%7Bb%7D/x%20y%26z?v=%24%7Bb%7D%2Fx%20y%26z"
        );
        assert_eq!(filled_url("/${a}"), "/%24%7Bb%7D/x%20y%26z");
        assert_eq!(filled_url("https://${a}@h/"), "https://%24%7Bb%7D%2Fx%20y%26z@h/");
        assert_eq!((only("${a}"), only("${a} "), only("${a}${b}")), (Some("a"), None, None));
        assert_eq!(names("${a}/${b}${").collect::<Vec<_>>(), ["a", "b"]);
    }
}
