//! Options and commands. Every option for a field comes from the table of fields, and so does its help.

use std::ffi::OsString;

use ddns_core::config::fields::{FIELDS, Field, Key, Kind};
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::diagnostic::{Diagnostic, Place, nearest};
use ddns_core::json::{Dialect, Node, Value, parse as parse_json};
use ddns_core::source::split_list;
use lexopt::{Arg, Parser, ValueExt as _};

use crate::layout::beside;

/// What the user asked for.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// One synchronization.
    Synchronize(Settings),
    /// `ddns addresses`
    Addresses(Settings, Form),
    /// `ddns demo`
    Demo,
    /// `--help`
    Help,
    /// `--version`
    Version,
}

/// The files named with `-c`, and what the options set.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) files: Vec<String>,
    pub(crate) options: Raw,
}

/// How a command shows what it found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// As JSON, for programs.
    pub(crate) json: bool,
    /// Without breaking lines that are wider than 80 columns.
    pub(crate) wide: bool,
}

/// The commands, with what they do.
const COMMANDS: [(&str, &str); 2] = [
    ("demo", "Show what it does, on this machine alone, without a configuration"),
    (
        "addresses",
        "Show every address of this host, what each source says, and which one is told and why; takes --json for \
         programs and --wide for long lines",
    ),
];

/// Options that set no field.
const OTHERS: [(&str, &str); 3] = [
    ("-c, --config FILE…", "Configuration files, or http(s) addresses of some; each is run"),
    ("-h, --help", "Show this"),
    ("-V, --version", "Show the version"),
];

/// The options that switch a field off.
const NEGATIONS: [(&str, Key); 2] = [("no-cache", Key::Cache), ("no-ssl", Key::Ssl)];

const EXAMPLES: &str = "\
Tells any HTTP endpoint this host's address when it changes.

  ddns demo                  see in ten seconds what it does
  ddns -c config.json        find the address and tell every domain that changed
  ddns addresses             see which address would be told, and why
  ddns --dns callback --ipv4 home.example.com \\
       --id 'https://example.com/update?name=__DOMAIN__&ip=__IP__'
";

const NOTES: &str = "\
Each option can also stand in the configuration file, or in the environment
(DDNS_ID, DDNS_TOKEN, …). Exit status: 0 all told or already known, 1 something
failed, 2 wrong configuration or usage.
";

/// Reads the arguments behind the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Diagnostic> {
    let mut parser = Parser::from_args(arguments);
    let mut settings = Settings::default();
    let mut addresses: Option<Form> = None;
    let mut is_first = true;
    while let Some(argument) = parser.next().map_err(|error| wrong(error.to_string()))? {
        match argument {
            Arg::Value(command) if is_first && command == "demo" => return demo(&mut parser),
            Arg::Value(command) if is_first && command == "help" => return Ok(Invocation::Help),
            Arg::Value(command) if is_first && command == "addresses" => addresses = Some(Form::default()),
            Arg::Value(value) => return Err(unexpected(&value.to_string_lossy(), is_first)),
            Arg::Short('h') | Arg::Long("help") => return Ok(Invocation::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Invocation::Version),
            Arg::Short('c') | Arg::Long("config") => settings.files.extend(values(&mut parser, "--config")?),
            Arg::Short(letter) => return Err(wrong(format!("there is no option -{letter}"))),
            Arg::Long(name) => match (name, &mut addresses) {
                ("json", Some(form)) => form.json = true,
                ("wide", Some(form)) => form.wide = true,
                _ => {
                    let name = name.to_owned();
                    set(&mut settings.options, &name, &mut parser)?;
                }
            },
        }
        is_first = false;
    }
    Ok(match addresses {
        Some(form) => Invocation::Addresses(settings, form),
        None => Invocation::Synchronize(settings),
    })
}

fn demo(parser: &mut Parser) -> Result<Invocation, Diagnostic> {
    match parser.next() {
        Ok(None) => Ok(Invocation::Demo),
        Ok(Some(Arg::Short('h') | Arg::Long("help"))) => Ok(Invocation::Help),
        _ => Err(wrong("`ddns demo` takes no options")),
    }
}

/// Takes the value of an option and sets its field.
fn set(options: &mut Raw, name: &str, parser: &mut Parser) -> Result<(), Diagnostic> {
    if let Some((option, key)) = NEGATIONS.iter().find(|(option, _)| *option == name.replace('_', "-")) {
        options.set(*key, Node::synthetic(Value::Bool(false)), Origin::Option(format!("--{option}")));
        return Ok(());
    }
    let is_meant = |field: &&Field| field.option == Some(name) || field.aliases.contains(&name);
    let field = FIELDS.iter().find(is_meant).ok_or_else(|| unknown(name))?;
    let option = format!("--{}", field.option.unwrap_or_default());
    let value = match field.kind {
        Kind::Flag | Kind::FlagOrText => match optional_value(parser, field.kind)? {
            Some(text) => Value::String(text),
            None => Value::Bool(true),
        },
        Kind::List | Kind::Sources => list(options, field.key, values(parser, &option)?),
        _ => Value::String(text(parser.value().map_err(|_| missing_value(field))?)?),
    };
    options.set(field.key, Node::synthetic(value), Origin::Option(option));
    Ok(())
}

/// One value may be a list in itself, with separators or in JSON; several values, and repeated options, add up.
fn list(options: &Raw, key: Key, mut values: Vec<String>) -> Value {
    let before = options.get(key).map(|setting| &setting.node.value);
    if before.is_none() && values.len() == 1 {
        return Value::String(values.remove(0));
    }
    let mut items: Vec<Node> = match before {
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(text)) => split(text),
        _ => Vec::new(),
    };
    items.extend(values.iter().flat_map(|value| split(value)));
    Value::Array(items)
}

/// The items of one value; what only begins like JSON stays whole, for the core to complain about.
fn split(text: &str) -> Vec<Node> {
    if !text.trim_start().starts_with('[') {
        return split_list(text).into_iter().map(|item| Node::synthetic(Value::string(item))).collect();
    }
    match parse_json(text, Dialect::STRICT) {
        Ok(Node { value: Value::Array(items), .. }) => items,
        _ => vec![Node::synthetic(Value::string(text))],
    }
}

/// `--cache`, `--cache=PATH` and `--cache PATH`; behind a flag only a word that can be meant for it.
fn optional_value(parser: &mut Parser, kind: Kind) -> Result<Option<String>, Diagnostic> {
    if let Some(attached) = parser.optional_value() {
        return text(attached).map(Some);
    }
    let Some(mut rest) = parser.try_raw_args() else { return Ok(None) };
    let next = rest.next_if(|next| {
        let next = next.to_string_lossy();
        if kind == Kind::Flag { matches!(&*next, "true" | "false" | "yes" | "no") } else { !next.starts_with('-') }
    });
    next.map(text).transpose()
}

/// Everything up to the next option; at least one.
fn values(parser: &mut Parser, option: &str) -> Result<Vec<String>, Diagnostic> {
    let values = parser.values().map_err(|_| wrong(format!("{option} needs a value behind it")))?;
    let values: Vec<String> = values.map(text).collect::<Result<_, _>>()?;
    if values.iter().any(|value| value.trim().is_empty()) {
        return Err(wrong(format!("{option} has an empty value behind it: is a variable of the shell not set?")));
    }
    Ok(values)
}

fn text(value: OsString) -> Result<String, Diagnostic> {
    value.string().map_err(|_| wrong("an option has a value that is no UTF-8 text"))
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Nowhere, message).hint("`ddns --help` shows every option")
}

fn missing_value(field: &Field) -> Diagnostic {
    wrong(format!("--{} needs a value behind it: {}", field.option.unwrap_or_default(), field.allowed()))
}

fn unknown(name: &str) -> Diagnostic {
    let known = FIELDS.iter().filter_map(|field| field.option).chain(["config", "help", "version", "json", "wide"]);
    let error = wrong(format!("there is no option --{name}"));
    match nearest(name, known.chain(NEGATIONS.map(|(option, _)| option))) {
        Some(near) => error.hint(format!("did you mean --{near}?")),
        None => error,
    }
}

/// A value that no option takes. It is shown only where it is surely no secret.
fn unexpected(value: &str, is_first: bool) -> Diagnostic {
    match nearest(value, COMMANDS.map(|(name, _)| name)).filter(|_| is_first) {
        Some(near) => wrong(format!("there is no command `{value}`")).hint(format!("did you mean `ddns {near}`?")),
        // A short word of letters is a command that we do not have, and no secret.
        None if is_first && value.len() < 12 && value.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            wrong(format!("there is no command `{value}`"))
        }
        None if value.contains(".json") && !value.contains("://") => {
            wrong(format!("`{value}` stands alone: no option takes it"))
                .hint(format!("did you mean `ddns -c {value}`?"))
        }
        None => wrong("a value stands alone: no option takes it")
            .hint("a value with blanks or quotes in it stands in single quotes; `ddns --help` shows every option"),
    }
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let row = |left: &str, right: &str| beside(&format!("  {left}"), right, 28);
    let mut help = format!("{EXAMPLES}\nCommands:\n");
    for (name, what) in COMMANDS {
        help += &row(name, what);
    }
    help += "\nOptions:\n";
    for (names, what) in OTHERS {
        help += &row(names, what);
    }
    for field in &FIELDS {
        let Some(option) = field.option else { continue };
        let value = match field.kind {
            Kind::Flag => String::new(),
            Kind::FlagOrText => format!(" [{}]", field.value),
            Kind::List | Kind::Sources => format!(" {}…", field.value),
            _ => format!(" {}", field.value),
        };
        help += &row(&format!("--{option}{value}"), field.help);
    }
    for (option, key) in NEGATIONS {
        help += &row(&format!("--{option}"), &format!("The same as --{} false", Field::of(key).name));
    }
    help + "\n" + NOTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Invocation, Diagnostic> {
        parse(arguments.iter().map(OsString::from))
    }

    fn settings(arguments: &[&str]) -> (Vec<String>, Raw) {
        match parsed(arguments) {
            Ok(Invocation::Synchronize(Settings { files, options })) => (files, options),
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    fn shown(options: &Raw, key: Key) -> String {
        match options.get(key).map(|setting| &setting.node.value) {
            Some(Value::Array(items)) => {
                items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(" ")
            }
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(value)) => value.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn b11_every_spelling_of_an_option_is_understood() {
        for spelling in ["--log-level", "--log_level", "--log.level"] {
            assert_eq!(shown(&settings(&[spelling, "DEBUG"]).1, Key::LogLevel), "DEBUG", "{spelling}");
        }
        assert_eq!(shown(&settings(&["--cache_max_age=5"]).1, Key::CacheMaxAge), "5");
    }

    #[test]
    fn b11_lists_take_several_values_and_repeat() {
        let arguments =
            ["--ipv4", "a.example", "b.example", "--ipv4", "c.example,d.example", "-c", "x", "y", "-c", "z"];
        let (files, options) = settings(&arguments);
        assert_eq!(shown(&options, Key::Ipv4), "a.example b.example c.example d.example");
        assert_eq!(files, ["x", "y", "z"]);
        assert_eq!(shown(&settings(&["--index4", "[\"default\"]"]).1, Key::Index4), "[\"default\"]");
        assert_eq!(shown(&settings(&["--ipv4", "a", "--ipv4=b"]).1, Key::Ipv4), "a b");
        assert_eq!(shown(&settings(&["--ipv4", "[\"a\",\"b\"]", "--ipv4", "c"]).1, Key::Ipv4), "a b c");
    }

    #[test]
    fn b11_a_value_may_be_left_out_where_a_flag_is_meant() {
        assert_eq!(shown(&settings(&["--cache"]).1, Key::Cache), "true");
        assert_eq!(shown(&settings(&["--cache", "/x"]).1, Key::Cache), "/x");
        assert_eq!(shown(&settings(&["--cache=/x", "--debug"]).1, Key::Cache), "/x");
        assert_eq!(shown(&settings(&["--cache", "--debug"]).1, Key::Debug), "true");
        assert_eq!(shown(&settings(&["--no-cache"]).1, Key::Cache), "false");
        assert_eq!(shown(&settings(&["--no_ssl"]).1, Key::Ssl), "false");
    }

    #[test]
    fn a_mistake_is_told_with_the_way_out() {
        let cases = [
            (vec!["--tokne", "x"], "--token"),
            (vec!["dmo"], "ddns demo"),
            (vec!["run"], "no command `run`"),
            (vec!["--index4", ""], "empty value"),
            (vec!["my.json"], "ddns -c my.json"),
            (vec!["--ttl"], "whole number"),
            (vec!["-c"], "--config needs a value"),
            (vec!["-x"], "no option -x"),
            (vec!["--debug", "demo"], "stands alone"),
            (vec!["--token", "{k:", "s3cret}"], "single quotes"),
            (vec!["demo", "--x"], "takes no options"),
        ];
        for (arguments, part) in cases {
            let error = parsed(&arguments).expect_err("a mistake").shown();
            assert!(error.contains(part) && !error.contains("s3cret"), "{arguments:?}: {error}");
        }
    }

    #[test]
    fn help_names_every_option() {
        let help = help();
        for field in &FIELDS {
            assert!(field.option.is_none_or(|option| help.contains(&format!("--{option}"))), "{}", field.name);
        }
        for line in help.lines() {
            assert!(line.chars().count() <= crate::layout::WIDTH, "{line}");
        }
    }
}
