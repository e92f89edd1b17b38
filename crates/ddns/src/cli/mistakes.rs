//! Messages about mistakes on the command line. A stray value may be a secret: it is shown only if it certainly is not
//! one.

use ddns_core::config::fields::FIELDS;
use ddns_core::net::url::shown_path;
use ddns_core::text::diagnostic::{Diagnostic, Place, nearest};

use super::table::{COMMANDS, CONFIG, CommandSpec, GLOBAL_OPTIONS, NEGATIONS, QUIET, SYNC_OPTIONS, Word};

/// An error that points to the list of options.
pub(super) fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Nowhere, message).hint("`ddns help options` lists every option")
}

/// A syntax error that lexopt found. The value of a flag is not shown.
pub(super) fn misread(error: lexopt::Error) -> Diagnostic {
    match error {
        lexopt::Error::UnexpectedValue { option, .. } => wrong(format!("{option} takes no value")),
        error => wrong(error.to_string()),
    }
}

/// An option that a command, or a plain `ddns`, does not have.
pub(super) fn unknown_option(command: Option<&CommandSpec>, name: &str) -> Diagnostic {
    let message = match command {
        Some(command) if takes_nothing(command) => format!("`ddns {}` takes no options", command.name),
        Some(command) => format!("`ddns {}` has no option --{name}", command.name),
        None => format!("there is no option --{name}"),
    };
    let error = at(command, message);
    if let Some(hint) = elsewhere_hint(name) {
        return error.hint(hint);
    }
    if FIELDS.iter().any(|field| field.name == name && field.option.is_none()) {
        return error.hint(format!("`{name}` is a field of the configuration file"));
    }
    let others = elsewhere(name);
    if !others.is_empty() {
        return error.hint(format!("it is an option of {others}"));
    }
    // The user more likely meant one of the command's own options than a common one.
    match nearest(name, own(command)).or_else(|| nearest(name, common(command))) {
        Some(near) => error.hint(format!("did you mean --{near}?")),
        None => error,
    }
}

/// The same for `-x`.
pub(super) fn unknown_letter(command: Option<&CommandSpec>, letter: char) -> Diagnostic {
    at(
        command,
        match command {
            Some(command) if takes_nothing(command) => format!("`ddns {}` takes no options", command.name),
            Some(command) if letter == CONFIG.0 => format!("`ddns {}` takes no configuration", command.name),
            _ => format!("there is no option -{letter}"),
        },
    )
}

/// One of a command's own options lacks its value.
pub(super) fn missing_value(name: &str, what: &str) -> Diagnostic {
    wrong(format!("--{name} needs a value: {what}"))
}

/// A word that the command does not accept.
pub(super) fn wrong_word(command: &CommandSpec, word: &Word, value: &str) -> Diagnostic {
    let known = word.one_of.join(", ");
    let near = nearest(value, word.one_of.iter().copied());
    let hint = near.map_or(format!("use one of {known}"), |near| format!("did you mean `{near}`? Use one of {known}"));
    at(Some(command), format!("`ddns {}`: unknown {}{}", command.name, word.name, shown(value))).hint(hint)
}

/// A command lacks its required word.
pub(super) fn missing_word(command: &CommandSpec, word: &Word) -> Diagnostic {
    let error = at(Some(command), format!("`ddns {}` needs {} {}", command.name, article(word.name), word.name));
    if word.one_of.is_empty() { error } else { error.hint(format!("use one of {}", word.one_of.join(", "))) }
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
}

/// More words than the command takes.
pub(super) fn word_too_many(command: &CommandSpec, word: &Word) -> Diagnostic {
    let count = if word.next.is_some() { "two words" } else { &format!("one {}", word.name) };
    at(Some(command), format!("`ddns {}` takes only {count}", command.name))
}

/// Commands and options of NewFuture/DDNS that ddns does not have, and what to use instead.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "task",
        "`ddns service install` installs a service that keeps running. First remove the timer that `ddns task` made: \
         `systemctl disable --now ddns.timer`, or its line in `crontab -e`",
    ),
    ("web", "the page is part of the service: `ddns watch --help` explains --web"),
    ("mcp", "programs can use `ddns status --json` and the HTTP API of `ddns watch --web`"),
    ("open", "`ddns watch --web` prints the address of the page: open it in your browser"),
    ("port", "`ddns watch --web 127.0.0.1:PORT` sets the port of the page"),
];

fn elsewhere_hint(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, hint)| *hint)
}

/// Refuses a command after an option that takes every word: `ddns -c FILE check`.
pub(super) fn no_command(values: &[String]) -> Result<(), Diagnostic> {
    let Some(command) = values.iter().find_map(|value| CommandSpec::typed(value)) else { return Ok(()) };
    let name = command.name;
    let hint = format!("put the command first: `ddns {name} …`; to name a file, write ./{name}");
    Err(wrong(format!("`{name}` is a command")).hint(hint))
}

/// A word that belongs to no option.
pub(super) fn unexpected(value: &str, is_first: bool) -> Diagnostic {
    if let Some(hint) = elsewhere_hint(value).filter(|_| is_first) {
        return wrong(format!("there is no command `{value}`")).hint(hint);
    }
    let no_command = || format!("there is no command `{value}`");
    let (message, hint) = match nearest(value, COMMANDS.iter().map(|command| command.name)).filter(|_| is_first) {
        Some(near) => (no_command(), format!("did you mean `ddns {near}`?")),
        // A short lowercase word is a mistyped command, not a secret.
        None if is_first && is_plain(value) => (no_command(), "`ddns --help` lists every command".to_owned()),
        None if CommandSpec::typed(value).is_some() => {
            (format!("unexpected argument `{value}`"), format!("put the command first: `ddns {value} …`"))
        }
        None if value.contains(".json") && shown_path(value) == value => {
            let hint = format!("name a configuration with -c: `ddns check -c {value}` shows what it does");
            (format!("unexpected argument `{value}`"), hint)
        }
        None => {
            let hint =
                "put a value that contains spaces or quotes in single quotes; `ddns help options` lists every option";
            ("unexpected argument: it belongs to no option".to_owned(), hint.to_owned())
        }
    };
    wrong(message).hint(hint)
}

/// Endings of file names that users type in place of a configuration; no domain ends like this.
const FILES: [&str; 9] = ["json", "jsonc", "json5", "yaml", "yml", "toml", "conf", "ini", "txt"];

/// A file, URL, path or command that a list of domains swallowed, since it takes every word up to the next option. URLs
/// and paths may contain secrets, and are not shown.
pub(super) fn no_domain(option: &str, value: &str) -> Option<Diagnostic> {
    let ending = value.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    let is_file = FILES.contains(&ending.as_str());
    let name_first = format!("name a file before {option}, or with -c: a list takes every word up to the next option");
    let (message, hint) = if value.contains("://") {
        ("a URL is not a domain name".to_owned(), "pass the URL of the callback with --id".to_owned())
    } else if is_file {
        (format!("`{value}` is a file, not a domain name"), name_first)
    } else if value.contains('/') {
        ("a path is not a domain name".to_owned(), name_first)
    } else if CommandSpec::typed(value).is_some() {
        (
            format!("`{value}` is a command, not a domain name"),
            format!("put the command first: `ddns {value} {option} …`"),
        )
    } else {
        return None;
    };
    Some(Diagnostic::error(Place::Option(option.to_owned()), message).hint(hint))
}

/// An unknown help topic.
pub(super) fn unknown_topic<'a>(value: &str, known: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    let error = Diagnostic::error(Place::Nowhere, format!("there is no such help topic{}", shown(value)));
    match nearest(value, known.clone()) {
        Some(near) => error.hint(format!("did you mean `ddns help {near}`?")),
        None => error.hint(format!("use `ddns help` with one of {}", known.collect::<Vec<_>>().join(", "))),
    }
}

/// An error that points to the help of the command.
fn at(command: Option<&CommandSpec>, message: String) -> Diagnostic {
    match command {
        Some(command) => Diagnostic::error(Place::Nowhere, message).hint(format!("see `ddns {} --help`", command.name)),
        None => wrong(message),
    }
}

fn takes_nothing(command: &CommandSpec) -> bool {
    command.options.is_empty() && !command.configured
}

/// The command's own options.
fn own(command: Option<&CommandSpec>) -> impl Iterator<Item = &'static str> {
    command.map_or(&[][..], |command| command.options).iter().map(|choice| choice.name)
}

/// The options that the command shares with others; without a command, those of plain `ddns`.
fn common(command: Option<&CommandSpec>) -> impl Iterator<Item = &'static str> {
    let is_configured = command.is_none_or(|command| command.configured);
    let fields = FIELDS.iter().filter_map(|field| field.option).chain(NEGATIONS.map(|(option, _)| option));
    let configured = fields.chain([CONFIG.1.name, QUIET.1.name]).filter(move |_| is_configured);
    let alone = SYNC_OPTIONS.iter().map(|choice| choice.name).filter(move |_| command.is_none());
    configured.chain(alone).chain(GLOBAL_OPTIONS.map(|(_, choice)| choice.name))
}

/// The commands that have this option as their own.
fn elsewhere(name: &str) -> String {
    let with = COMMANDS.iter().filter(|command| command.options.iter().any(|choice| choice.name == name));
    with.map(|command| format!("`ddns {}`", command.name)).collect::<Vec<_>>().join(", ")
}

/// ` (`word`)` if the value certainly is not a secret.
fn shown(value: &str) -> String {
    if is_plain(value) { format!(" (`{value}`)") } else { String::new() }
}

/// Whether the value is a short lowercase word, and so no secret.
fn is_plain(value: &str) -> bool {
    value.len() < 12 && value.bytes().all(|byte| byte.is_ascii_lowercase())
}
