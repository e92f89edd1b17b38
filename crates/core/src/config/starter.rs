//! The text of a new configuration: the requested settings as JSON, and every other field as a comment with an example,
//! each below its help from the table of fields. Nothing that people typed ends up in a comment.

use super::fields::{FIELDS, Field, FieldUse, Key};
use super::files::FileContents;
use super::raw::{Origin, Raw};
use super::validate::{Surroundings, Valid, validate};
use super::value::{is_blank, natural};
use crate::callback::Format;
use crate::text::diagnostic::Diagnostic;
use crate::text::json::{Node, Value, pretty, push_string};

const ABOVE: &str = "\
// Configuration of ddns. Text after // is a comment.
// `ddns preview` shows what it would send, `ddns` sends it.
";

const REST: &str = "  // Everything below is optional: remove the // before a field to set it.
  // Values are defaults or examples.
";

/// The most columns of a comment: inside `log`, seven columns precede it.
const WIDTH: usize = 80 - 7;

/// Examples for what a template cannot know.
const EXAMPLE_ID: &str = "https://example.com/update?name=__DOMAIN__&ip=__IP__";
const EXAMPLE_DOMAIN: &str = "home.example.com";

/// The required settings that are missing, as options.
pub fn missing(settings: &Raw) -> Vec<&'static str> {
    let needed = [(lacks_address(settings), "--id"), (lacks_domains(settings), "--ipv4 or --ipv6")];
    needed.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, option)| option).collect()
}

/// Whether there is no URL to send updates to.
pub fn lacks_address(settings: &Raw) -> bool {
    !is_set(settings, Key::Id) && !is_set(settings, Key::Endpoint)
}

/// Whether there are no domains to update.
pub fn lacks_domains(settings: &Raw) -> bool {
    !is_set(settings, Key::Ipv4) && !is_set(settings, Key::Ipv6)
}

fn is_set(settings: &Raw, key: Key) -> bool {
    given(settings, Field::of(key)).is_some()
}

/// The value of a field as written into a file; `None` if it counts as not set.
fn given(settings: &Raw, field: &Field) -> Option<Value> {
    let value = &settings.get(field.key)?.node.value;
    // With `format` set to `text`, `token` is not JSON, even if it looks like it.
    let is_text = field.key == Key::Token && is_text(settings);
    let value = if is_text { value.clone() } else { natural(field.kind, value) };
    let is_empty =
        is_blank(&value) || matches!(&value, Value::Array(items) if items.is_empty() && field.key != Key::Token);
    (!is_empty).then_some(value)
}

/// Whether `format` is `text`.
fn is_text(settings: &Raw) -> bool {
    let word = settings.get(Key::Format).and_then(|setting| setting.node.value.text());
    word.and_then(Format::parse) == Some(Format::Text)
}

/// The settings, with examples for required ones that are missing; the provider is always `callback`.
#[must_use]
pub fn completed(settings: &Raw) -> Raw {
    let mut all = settings.clone();
    let mut fill = |key, value| all.set(key, Node::synthetic(Value::string(value)), Origin::Option(String::new()));
    if lacks_address(settings) {
        fill(Key::Id, EXAMPLE_ID);
    }
    if lacks_domains(settings) {
        fill(Key::Ipv4, EXAMPLE_DOMAIN);
    }
    if !is_set(settings, Key::Dns) {
        fill(Key::Dns, "callback");
    }
    all
}

/// The configuration that the settings mean, with examples for what is missing, and the warnings about it. Reads no file
/// that they name. Fails with everything that is wrong.
pub fn checked(settings: &Raw) -> Result<Valid, Vec<Diagnostic>> {
    let mut around = Surroundings { options: completed(settings), ..Surroundings::default() };
    around.files = FileContents::stand_ins(around.named_files());
    validate("config.json", None, &around)
}

/// The text of a configuration with these settings, and all other fields as comments.
pub fn text(settings: &Raw) -> String {
    let values = settings_of(&completed(settings));
    file(ABOVE, &values)
}

/// The settings by the names of their fields, in the form in which a file contains them.
pub fn settings_of(settings: &Raw) -> Vec<(String, Value)> {
    FIELDS.iter().filter_map(|field| Some((field.name.to_owned(), given(settings, field)?))).collect()
}

/// The text of a configuration with these values, by the names of their fields, below the comments `above`; all other
/// fields are comments.
pub(crate) fn file(above: &str, values: &[(String, Value)]) -> String {
    let value = |field: &Field| values.iter().find(|(name, _)| name == field.name).map(|(_, value)| value.clone());
    let (log, plain): (Vec<&Field>, Vec<&Field>) = FIELDS.iter().partition(|field| log_name(field).is_some());
    let (set, mut unset): (Vec<&Field>, Vec<&Field>) = plain.into_iter().partition(|field| value(field).is_some());
    // Requests around an update come from a recipe, or from the documentation.
    unset.retain(|field| field.inside() != Some(FieldUse::Step) && field.key != Key::Recipe);
    let mut parts: Vec<String> = set.into_iter().map(|field| written(field.name, field, value(field))).collect();
    let has_log = log.iter().any(|field| value(field).is_some());
    let inside: String = log
        .iter()
        .map(|field| {
            let text = written(log_name(field).unwrap_or_default(), field, value(field));
            // If `log` as a whole is a comment, its fields need no `//` of their own.
            if has_log { text } else { text.replacen("\n// \"", "\n\"", 1) }
        })
        .collect();
    let inside = format!("\"log\": {{\n{}}},\n", indented("  ", &inside));
    if has_log {
        parts.push(inside.clone());
    }
    let set = parts.join("\n");
    let mut parts: Vec<String> = unset.into_iter().map(|field| written(field.name, field, None)).collect();
    if !has_log {
        parts.push(indented("// ", &inside));
    }
    format!("{above}{{\n{}\n{REST}\n{}}}\n", indented("  ", &set), indented("  ", &parts.join("\n")))
}

/// The name inside the object `log`.
fn log_name(field: &Field) -> Option<&'static str> {
    field.name.strip_prefix("log.")
}

/// The comment of a field, and its value or, after `//`, an example.
fn written(name: &str, field: &Field, value: Option<Value>) -> String {
    let mut key = String::new();
    push_string(&mut key, name);
    let comment = comment(field.help);
    match value {
        Some(value) => format!("{comment}{key}: {},\n", compact(&value)),
        None => format!("{comment}// {key}: {},\n", example(field)),
    }
}

/// A text as a comment, wrapped between words.
pub(crate) fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("//");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines.push('\n');
            line = String::from("//");
        }
        line.push(' ');
        line += word;
    }
    lines + &line + "\n"
}

/// Puts `before` in front of every line; no line ends in a space.
fn indented(before: &str, lines: &str) -> String {
    let lines: Vec<String> = lines.lines().map(|line| format!("{before}{line}").trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// A list of short values on one line, anything else indented.
fn compact(value: &Value) -> String {
    let is_short = |item: &Node| !matches!(item.value, Value::Array(_) | Value::Object(_));
    match value {
        Value::Array(items) if items.iter().all(is_short) => {
            let items: Vec<String> = items.iter().map(|item| compact(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        value => pretty(value).trim_end().to_owned(),
    }
}

/// The value in the comment of a field that is not set: its example, or its default.
fn example(field: &Field) -> String {
    match field.example {
        "" => compact(&natural(field.kind, &Value::string(field.default))),
        example => example.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;
    use crate::config::raw::{self, Document};

    fn raw(settings: &[(Key, &str)]) -> Raw {
        let mut raw = Raw::default();
        for (key, text) in settings {
            raw.set(*key, Node::synthetic(Value::string(*text)), Origin::Option(String::new()));
        }
        raw
    }

    /// The configuration that a text means; there must be no warning about it.
    fn loaded(text: &str) -> crate::config::Config {
        let document = Document { name: "config.json".to_owned(), text: text.to_owned(), fetched: false };
        let written = raw::read(&Rc::new(document)).unwrap_or_else(|error| panic!("{}\n{text}", error.shown()));
        match validate("config.json", Some(written), &Surroundings::default()) {
            Ok((config, warnings)) if warnings.is_empty() => config,
            Ok((_, warnings)) | Err(warnings) => panic!("{warnings:?}\n{text}"),
        }
    }

    #[test]
    fn a_template_can_be_read_by_people_and_by_the_program() {
        let text = text(&Raw::default());
        assert_eq!(loaded(&text), checked(&Raw::default()).expect("it is valid").0);
        let words = |text: &str| text.replace("//", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        let is_left_out = |field: &Field| field.inside() == Some(FieldUse::Step) || field.key == Key::Recipe;
        for field in FIELDS.iter().filter(|field| !is_left_out(field)) {
            let name = log_name(field).unwrap_or(field.name);
            assert!(words(&text).contains(&words(field.help)) && text.contains(&format!("\"{name}\": ")), "{name}");
        }
        assert!(text.lines().all(|line| line.trim_end() == line && line.chars().count() <= 80), "{text}");
    }

    /// Removing the `//` is enough to switch a field on.
    #[test]
    fn every_commented_field_is_valid_when_it_is_switched_on() {
        let text = text(&Raw::default());
        let mut count = 0;
        for line in text.lines().filter(|line| line.starts_with("  // \"") && line.ends_with(',')) {
            loaded(&text.replace(line, &line.replacen("// ", "", 1)));
            count += 1;
        }
        assert!(count > 15, "{text}");
        let log: Vec<&str> = text.lines().skip_while(|line| !line.contains("// \"log\"")).collect();
        let switched_on: String = log.iter().map(|line| line.replacen("// ", "", 1) + "\n").collect();
        loaded(&text.replace(&log.join("\n"), &switched_on));
    }

    #[test]
    fn a_value_is_written_as_one_writes_it() {
        let text = text(&raw(&[
            (Key::Id, "https://h.example/x?ip=__IP__"),
            (Key::Token, r#"{"key": "s3cret", "ip": "__IP__", "list": [1.10]}"#),
            (Key::Ipv4, "a.example, b.example"),
            (Key::Index4, "url:https://h.example/a,b"),
            (Key::Index6, "false"),
            (Key::Ttl, "300"),
            (Key::Cache, "no"),
            (Key::Debug, "true"),
            (Key::LogLevel, "DEBUG"),
            (Key::Extra, r#"{"__A__": "b"}"#),
        ]));
        let lines = [
            "  \"token\": {\n    \"key\": \"s3cret\",\n    \"ip\": \"__IP__\",\n    \"list\": [\n      1.10\n    ]\n  },\n",
            "  \"ipv4\": [\"a.example\", \"b.example\"],\n",
            "  \"index4\": [\"url:https://h.example/a,b\"],\n",
            "  \"index6\": false,\n",
            "  \"ttl\": 300,\n",
            "  \"cache\": false,\n",
            "  \"debug\": true,\n",
            "    \"level\": \"DEBUG\",\n",
            "    // \"file\": \"ddns.log\",\n",
        ];
        for line in lines {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(text.matches("s3cret").count(), 1);
        loaded(&text);
    }

    #[test]
    fn a_bare_placeholder_keeps_the_form_in_which_it_is_possible() {
        let text = text(&raw(&[(Key::Id, "https://h.example/"), (Key::Token, r#"{"ttl": __TTL__}"#)]));
        assert!(text.contains(r#""token": "{\"ttl\": __TTL__}","#), "{text}");
        loaded(&text);
    }

    #[test]
    fn b7_an_empty_object_in_a_string_stays_a_body() {
        let settings = raw(&[(Key::Id, "https://h.example/"), (Key::Ipv4, "a.example"), (Key::Token, "{}")]);
        let text = text(&settings);
        assert!(text.contains("\"token\": \"{}\","), "{text}");
        assert_eq!(loaded(&text), checked(&settings).expect("it is valid").0);
        assert!(loaded(&text).entries[0].callback.request.body.is_some());
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(missing(&Raw::default()), ["--id", "--ipv4 or --ipv6"]);
        assert_eq!(missing(&raw(&[(Key::Endpoint, "http://h/"), (Key::Ipv4, " ")])), ["--ipv4 or --ipv6"]);
        assert!(missing(&raw(&[(Key::Id, "http://h/"), (Key::Ipv6, "a.example")])).is_empty());
    }

    proptest! {
        /// Whatever is typed, the file means the same as the options, and no comment contains any of it.
        #[test]
        fn the_file_means_what_was_answered(
            path in "[ -~üß]{0,20}",
            value in any::<String>(),
            line in "[ -~\n*/#]{0,12}",
            domain in "[a-z]{1,5}\\.example",
        ) {
            let token = crate::text::json::pretty(&Value::object([("value", Value::string(value))]));
            let id = format!("https://h.example/{path}");
            let settings = raw(&[(Key::Id, &id), (Key::Token, &token), (Key::Line, &line), (Key::Ipv6, &domain)]);
            if let Ok((config, warnings)) = checked(&settings) {
                prop_assume!(warnings.is_empty());
                prop_assert_eq!(loaded(&text(&settings)), config);
            }
        }
    }
}
