//! The options that set fields, all from the table of fields.

use std::ffi::OsString;
use std::time::Duration;

use ddns_core::config::fields::{FIELDS, Field, Key, Kind};
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::config::value;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::duration;
use ddns_core::text::json::{Node, Value};
use ddns_core::text::log_format::Level;
use ddns_core::text::screen;
use lexopt::{Parser, ValueExt as _};

use super::mistakes::{no_command, no_domain, wrong};
use super::table::{NEGATIONS, QUIET};

/// Takes the value of an option and sets its field; `false` if there is no such option.
pub(super) fn set(options: &mut Raw, name: &str, parser: &mut Parser) -> Result<bool, Diagnostic> {
    if let Some((option, key)) = NEGATIONS.iter().find(|(option, _)| *option == name.replace('_', "-")) {
        options.set(*key, Node::synthetic(Value::Bool(false)), Origin::Option(format!("--{option}")));
        return Ok(true);
    }
    // NewFuture/DDNS sets one member with `--extra.__KEY__ value`.
    if let Some(key) = name.strip_prefix("extra.") {
        let value = text(parser.value().map_err(|_| wrong(format!("--{name} needs a value")))?)?;
        let more =
            with_member(options, Key::Extra, (key, &value), "--extra and --extra.NAME are both given: use only one")?;
        options.set(Key::Extra, Node::synthetic(more), Origin::Option(format!("--{name}")));
        return Ok(true);
    }
    let Some(field) = FIELDS.iter().find(|field| field.is_set_by(name)) else { return Ok(false) };
    let option = format!("--{}", field.option.unwrap_or_default());
    if field.key == Key::Extra && options.get(Key::Extra).is_some_and(|before| before.node.value.members().is_some()) {
        return Err(wrong("--extra and --extra.NAME are both given: use only one"));
    }
    let value = match field.kind {
        Kind::Flag | Kind::FlagOrText | Kind::FlagObjectOrText => match optional_value(parser, field.kind)? {
            Some(text) => Value::String(text),
            None => Value::Bool(true),
        },
        Kind::Domains => list(options, field.key, domains(parser, &option)?),
        // NewFuture/DDNS takes several words as `line`, and uses the first.
        kind if kind.is_list() || field.key == Key::Line => {
            let words = values(parser, &option, "value")?;
            no_command(&words)?;
            list(options, field.key, words)
        }
        Kind::Headers => {
            let line = text(parser.value().map_err(|_| wrong("--header needs a value: `Name: value`"))?)?;
            headers(options, field.key, &line)?
        }
        _ => Value::String(text(parser.value().map_err(|_| missing_value(field))?)?),
    };
    options.set(field.key, Node::synthetic(value), Origin::Option(option));
    Ok(true)
}

/// `--quiet`: overrides the log level of any file.
pub(super) fn quiet(options: &mut Raw) {
    let origin = || Origin::Option(format!("--{}", QUIET.1.name));
    options.set(Key::LogLevel, Node::synthetic(Value::string(Level::Warning.key())), origin());
    options.set(Key::Debug, Node::synthetic(Value::Bool(false)), origin());
}

/// One value may itself be a list, with separators or in JSON. Several values and repeated options add up.
fn list(options: &Raw, key: Key, mut values: Vec<String>) -> Value {
    let before = options.get(key).map(|setting| &setting.node.value);
    if before.is_none() && values.len() == 1 {
        return Value::String(values.remove(0));
    }
    let mut items: Vec<Node> = match before {
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(text)) => split(key, text),
        _ => Vec::new(),
    };
    items.extend(values.iter().flat_map(|value| split(key, value)));
    Value::Array(items)
}

/// Adds one header to those of earlier options.
fn headers(options: &Raw, key: Key, line: &str) -> Result<Value, Diagnostic> {
    let before = options.get(key).map(|setting| setting.node.value.clone());
    if before.is_none() && line.trim_start().starts_with('{') {
        return Ok(Value::string(line));
    }
    let Some((name, value)) = value::header(line) else {
        return Err(wrong("--header needs a name, a colon and a value: `Name: value`"));
    };
    with_member(
        options,
        key,
        (name, value),
        "--header is repeated, and one of them is a JSON object: write `Name: value`",
    )
}

/// The object of earlier options plus one member. Fails with `otherwise` if an earlier value is not an object.
fn with_member(options: &Raw, key: Key, member: (&str, &str), otherwise: &str) -> Result<Value, Diagnostic> {
    let Value::Object(mut more) = Value::object([(member.0, Value::string(member.1))]) else { return Ok(Value::Null) };
    let mut members = match options.get(key).map(|setting| setting.node.value.clone()) {
        Some(Value::Object(members)) => members,
        Some(_) => return Err(wrong(otherwise)),
        None => Vec::new(),
    };
    members.append(&mut more);
    Ok(Value::Object(members))
}

/// The items of one value. Broken JSON stays one item, so that the core reports it.
fn split(key: Key, text: &str) -> Vec<Node> {
    value::items(Field::of(key).kind, text).unwrap_or_else(|_| vec![Node::synthetic(Value::string(text))])
}

/// Reads `--cache`, `--cache=PATH` or `--cache PATH`. A plain flag takes the next word only if it is a flag's value.
pub(super) fn optional_value(parser: &mut Parser, kind: Kind) -> Result<Option<String>, Diagnostic> {
    if let Some(attached) = parser.optional_value() {
        return text(attached).map(Some);
    }
    let Some(mut rest) = parser.try_raw_args() else { return Ok(None) };
    let next = rest.next_if(|next| {
        let next = next.to_string_lossy();
        if kind == Kind::Flag { value::flag(&next).is_some() } else { !next.starts_with('-') }
    });
    let next = next.map(text).transpose()?;
    no_command(next.as_slice())?;
    Ok(next)
}

/// All words up to the next option, at least one.
pub(super) fn values(parser: &mut Parser, option: &str, what: &str) -> Result<Vec<String>, Diagnostic> {
    let values = parser.values().map_err(|_| wrong(format!("{option} needs a {what}")))?;
    let values: Vec<String> = values.map(text).collect::<Result<_, _>>()?;
    // An empty `line` is the same as none (C5).
    if option != "--line" && values.iter().any(|value| value.trim().is_empty()) {
        return Err(wrong(format!("{option} has an empty value: is a shell variable unset?")));
    }
    Ok(values)
}

/// The same for domain names; refuses files, URLs and commands.
pub(super) fn domains(parser: &mut Parser, option: &str) -> Result<Vec<String>, Diagnostic> {
    let values = values(parser, option, "domain")?;
    values.iter().find_map(|value| no_domain(option, value)).map_or(Ok(values), Err)
}

/// Reads a time, which must have a unit.
pub(crate) fn time(option: &str, text: &str) -> Result<Duration, Diagnostic> {
    let time = duration::parse(text).filter(|_| text.trim_end().ends_with(char::is_alphabetic));
    let wrong = || format!("`{}` is no time such as 90s or 5m", screen::line(text));
    time.ok_or_else(|| Diagnostic::error(Place::Option(option.to_owned()), wrong()))
}

/// Fails if the value is not UTF-8.
pub(super) fn text(value: OsString) -> Result<String, Diagnostic> {
    value.string().map_err(|_| wrong("the value of an option is not valid UTF-8"))
}

fn missing_value(field: &Field) -> Diagnostic {
    wrong(format!("--{} needs a value: {}", field.option.unwrap_or_default(), field.allowed))
}
