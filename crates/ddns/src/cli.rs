//! Parses the command line. Its commands and options come from the table of commands and the table of fields.

mod fields;
pub(crate) mod help;
mod mistakes;
mod rows;
pub(crate) mod table;
pub(crate) mod topics;

use std::ffi::OsString;
use std::time::Duration;
use std::{io, iter};

use ddns_core::config::fields::Kind;
use ddns_core::config::raw::Raw;
use ddns_core::text::diagnostic::Diagnostic;
use lexopt::{Arg, Parser};

pub(crate) use fields::time;

use crate::output::layout::{WIDE, width_of};
use table::{CommandSpec, FORCE, NEW_CONFIG, Name, RETRY_STOPPED, SYNC_OPTIONS, VERIFY};

/// What the user asked for.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// No command: one synchronization.
    Synchronize(CliSettings),
    /// A command with its words and options.
    Command(Name, ParsedArgs),
    /// `--new-config`: writes a commented template to the file that the word names.
    Template(ParsedArgs),
    /// A text to print: `--help`, `--version`.
    Show(String),
}

/// The files named with `-c`, and what the options set.
#[derive(Debug, Clone, Default)]
pub(crate) struct CliSettings {
    pub(crate) files: Vec<String>,
    pub(crate) options: Raw,
    /// Whether to send stopped updates, too.
    pub(crate) retry_stopped: bool,
    /// Domains that are sent even if they are up to date.
    pub(crate) force: Vec<String>,
    /// How long to wait until addresses are visible in DNS; `None`: do not check.
    pub(crate) verify: Option<Duration>,
}

/// The words and options of a command.
#[derive(Debug, Default)]
pub(crate) struct ParsedArgs {
    /// For a command that takes files or fields.
    pub(crate) settings: CliSettings,
    /// The command's own options, in the order in which they were typed; the value is empty for a flag.
    own: Vec<(&'static str, String)>,
    words: Vec<String>,
}

impl ParsedArgs {
    /// Whether one of the command's own options was given.
    pub(crate) fn has(&self, option: &'static str) -> bool {
        self.value(option).is_some()
    }

    /// The last value of one of the command's own options; `None` if it was not given.
    pub(crate) fn value(&self, option: &'static str) -> Option<&str> {
        self.values(option).last()
    }

    /// All values of an option that may be repeated.
    pub(crate) fn values(&self, option: &'static str) -> impl Iterator<Item = &str> {
        let meant = self.own.iter().filter(move |(name, _)| *name == option);
        meant.map(|(_, value)| value.as_str())
    }

    /// The first word after the command.
    pub(crate) fn word(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    /// All words that follow the command.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The settings of a command whose files may also be given as words.
    pub(crate) fn into_settings(self) -> CliSettings {
        let Self { mut settings, words, .. } = self;
        settings.files.splice(0..0, words);
        settings
    }

    /// The second word, for a command that takes two.
    pub(crate) fn second(&self) -> Option<&str> {
        self.words.get(1).map(String::as_str)
    }

    /// The format of the report, for commands with `--json` and `--wide`.
    pub(crate) fn form(&self) -> ReportFormat {
        let wide = self.has("wide");
        ReportFormat { json: self.has("json"), wide, width: if wide { WIDE } else { width_of(io::stdout()) } }
    }
}

/// What `--version` prints.
pub(crate) const VERSION: &str = concat!("ddns ", env!("CARGO_PKG_VERSION"), "\n");

/// How a command prints its report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReportFormat {
    /// As JSON, for programs.
    pub(crate) json: bool,
    /// Everything, on lines of any length.
    pub(crate) wide: bool,
    /// The maximum width of a line, in columns.
    pub(crate) width: usize,
}

/// Reads the arguments that follow the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Diagnostic> {
    let mut parser = Parser::from_args(arguments);
    let mut command: Option<&'static CommandSpec> = None;
    let mut given = ParsedArgs::default();
    let mut is_first = true;
    while let Some(argument) = parser.next().map_err(mistakes::misread)? {
        match argument {
            Arg::Value(word) if is_first => {
                let word = fields::text(word)?;
                command = Some(CommandSpec::typed(&word).ok_or_else(|| mistakes::unexpected(&word, true))?);
            }
            Arg::Value(word) => take_word(&mut given, command, fields::text(word)?)?,
            Arg::Short('h') | Arg::Long("help") => {
                return Ok(Invocation::Show(help::page(command, width_of(io::stdout()))));
            }
            // NewFuture/DDNS uses `-v`.
            Arg::Short('V' | 'v') | Arg::Long("version") => {
                return Ok(Invocation::Show(VERSION.to_owned()));
            }
            Arg::Short('c') | Arg::Long("config") if command.is_none_or(CommandSpec::takes_files) => {
                let files = fields::values(&mut parser, "--config", "value")?;
                mistakes::no_command(&files)?;
                given.settings.files.extend(files);
            }
            Arg::Short('q') | Arg::Long("quiet") if command.is_none_or(|command| command.configured) => {
                fields::quiet(&mut given.settings.options);
            }
            Arg::Short(letter) => match command.and_then(|command| command.lettered(letter)) {
                Some(name) => take_option(&mut given, command, name, &mut parser)?,
                None => return Err(mistakes::unknown_letter(command, letter)),
            },
            Arg::Long(name) => {
                let name = name.to_owned();
                take_option(&mut given, command, &name, &mut parser)?;
            }
        }
        is_first = false;
    }
    let Some(command) = command else {
        if given.has(NEW_CONFIG.name) {
            return Ok(Invocation::Template(given));
        }
        let retry_stopped = given.has(RETRY_STOPPED.name);
        let force = given.values(FORCE.name).map(str::to_owned).collect();
        let verify = given.value(VERIFY.name).map(|text| fields::time("--verify", text)).transpose()?;
        return Ok(Invocation::Synchronize(CliSettings { retry_stopped, force, verify, ..given.settings }));
    };
    match &command.word {
        Some(word) if word.is_required && given.words.is_empty() => Err(mistakes::missing_word(command, word)),
        _ => Ok(Invocation::Command(command.which, given)),
    }
}

/// Adds a word, if the command takes one here.
fn take_word(given: &mut ParsedArgs, command: Option<&CommandSpec>, word: String) -> Result<(), Diagnostic> {
    let Some((command, taken)) = command.and_then(|command| Some((command, command.word.as_ref()?))) else {
        return Err(mistakes::unexpected(&word, false));
    };
    let mut words = iter::successors(Some(taken), |word| word.next);
    let Some(taken) = words.nth(given.words.len()).or(Some(taken).filter(|word| word.is_repeated())) else {
        return Err(mistakes::word_too_many(command, taken));
    };
    if !taken.one_of.is_empty() && !taken.one_of.contains(&word.as_str()) {
        return Err(mistakes::wrong_word(command, taken, &word));
    }
    given.words.push(word);
    Ok(())
}

/// Takes one of the command's own options, or the option of a field.
fn take_option(
    given: &mut ParsedArgs,
    command: Option<&CommandSpec>,
    name: &str,
    parser: &mut Parser,
) -> Result<(), Diagnostic> {
    let own = command.map_or(&SYNC_OPTIONS[..], |command| command.options);
    let is_meant = |known: &str| known == name || known == name.replace('_', "-");
    if let Some(choice) = own.iter().find(|choice| is_meant(choice.name)) {
        let values = match choice.value {
            "" => vec![String::new()],
            "[FILE]" => {
                given.words.extend(fields::optional_value(parser, Kind::FlagOrText)?);
                vec![String::new()]
            }
            "DOMAIN…" => fields::domains(parser, &format!("--{}", choice.name))?,
            what => {
                let value = fields::text(parser.value().map_err(|_| mistakes::missing_value(choice.name, what))?)?;
                // Said before the words after it are judged: `--verify -c FILE` lacks its time, not its `-c`.
                if what == "TIME" && value.starts_with('-') {
                    fields::time(&format!("--{}", choice.name), &value)?;
                }
                vec![value]
            }
        };
        given.own.extend(values.into_iter().map(|value| (choice.name, value)));
        return Ok(());
    }
    let is_configured = command.is_none_or(|command| command.configured);
    if is_configured && fields::set(&mut given.settings.options, name, parser)? {
        return Ok(());
    }
    Err(mistakes::unknown_option(command, name))
}

#[cfg(test)]
mod tests;
