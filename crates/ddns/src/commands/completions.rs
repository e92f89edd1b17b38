//! `ddns completions SHELL`: a completion script, from the two tables. The script contains everything, so that
//! completion runs no program.

use std::collections::HashSet;

use ddns_core::config::fields::{EditRight, FIELDS, Field, Kind};

use crate::cli::ParsedArgs;
use crate::cli::table::{
    COMMANDS, CONFIG, CommandSpec, GLOBAL_OPTIONS, NEGATIONS, Name, OptionSpec, QUIET, SYNC_OPTIONS, negation_help,
};
use crate::cli::topics::TOPICS;
use crate::output::print;

/// Prints the script for one shell; the table of commands lists the shells.
pub(crate) fn run(given: &ParsedArgs) -> u8 {
    print(&match given.word() {
        Some("zsh") => zsh(),
        Some("fish") => fish(),
        _ => bash(),
    })
}

/// What can follow an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionArgument {
    /// The option takes no value.
    Nothing,
    /// A value that only the user knows.
    Anything,
    /// One of these words or, if the flag is set, a file.
    Words(&'static [&'static str], bool),
}

/// One option as a shell offers it.
struct CompletionItem {
    letter: Option<char>,
    name: &'static str,
    help: String,
    behind: OptionArgument,
    /// Whether the option takes several values.
    is_list: bool,
}

impl CompletionItem {
    fn own(letter: Option<char>, choice: &OptionSpec) -> Self {
        let behind = match choice.value {
            "" => OptionArgument::Nothing,
            "FILE" | "FILE…" | "[FILE]" | "PATH" | "FOLDER" => OptionArgument::Words(&[], true),
            _ => OptionArgument::Anything,
        };
        Self { letter, name: choice.name, help: choice.help.to_owned(), behind, is_list: choice.value.ends_with('…') }
    }

    fn field(field: &Field) -> Option<Self> {
        let takes_file = field.edit == EditRight::NoPath;
        let behind = match (field.kind, field.words) {
            (Kind::Flag, _) => OptionArgument::Nothing,
            (_, []) if !takes_file => OptionArgument::Anything,
            (_, words) => OptionArgument::Words(words, takes_file),
        };
        let is_list = field.kind.is_list();
        Some(Self { letter: None, name: field.option?, help: field.help.to_owned(), behind, is_list })
    }
}

/// The options of plain `ddns` and of every command that reads a configuration.
fn configured() -> Vec<CompletionItem> {
    let negations = NEGATIONS.map(|(name, key)| CompletionItem {
        letter: None,
        name,
        help: negation_help(key),
        behind: OptionArgument::Nothing,
        is_list: false,
    });
    let lettered = [CONFIG, QUIET].map(|(letter, choice)| CompletionItem::own(Some(letter), &choice));
    lettered.into_iter().chain(FIELDS.iter().filter_map(CompletionItem::field)).chain(negations).collect()
}

/// The options of plain `ddns` alone.
fn alone() -> Vec<CompletionItem> {
    SYNC_OPTIONS.iter().map(|choice| CompletionItem::own(None, choice)).collect()
}

fn everywhere() -> Vec<CompletionItem> {
    GLOBAL_OPTIONS.iter().map(|(letter, choice)| CompletionItem::own(Some(*letter), choice)).collect()
}

fn own(command: &CommandSpec) -> Vec<CompletionItem> {
    let files = (command.takes_files() && !command.configured).then(|| command.config());
    let files = files.map(|(letter, choice)| CompletionItem::own(Some(letter), &choice));
    command.options.iter().map(|choice| CompletionItem::own(choice.letter(), choice)).chain(files).collect()
}

/// The known values of a command's first word.
fn words(command: &CommandSpec) -> Vec<&'static str> {
    if command.which == Name::Help {
        return COMMANDS.iter().map(|command| command.name).chain(TOPICS.iter().map(|topic| topic.name)).collect();
    }
    if command.which == Name::Recipes {
        return std::iter::once("show").chain(ddns_core::recipe::names()).collect();
    }
    command.word.map_or(&[][..], |word| word.one_of).to_vec()
}

/// `-c --config --json`: first the letters, then the names.
fn dashed(offers: &[CompletionItem]) -> String {
    let letters = offers.iter().filter_map(|offer| offer.letter).map(|letter| format!("-{letter}"));
    letters.chain(offers.iter().map(|offer| format!("--{}", offer.name))).collect::<Vec<_>>().join(" ")
}

fn names() -> Vec<&'static str> {
    COMMANDS.iter().map(|command| command.name).collect()
}

/// Replaces each `@name@` in a script with its value.
fn filled(script: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(script.to_owned(), |script, (name, value)| script.replace(&format!("@{name}@"), value))
}

fn bash() -> String {
    let case = |command: &CommandSpec| {
        let shared = if command.configured { " $configured" } else { "" };
        let offered = format!("{}{shared} $everywhere", dashed(&own(command)));
        format!("        {}) own=\"{offered}\" words=\"{}\" ;;\n", command.name, words(command).join(" "))
    };
    let mut seen = HashSet::new();
    let mut values = String::new();
    for offer in configured().into_iter().chain(alone()).chain(COMMANDS.iter().flat_map(own)) {
        let OptionArgument::Words(words, files) = offer.behind else { continue };
        if !seen.insert(offer.name) {
            continue;
        }
        let letter = offer.letter.map(|letter| format!("-{letter} | ")).unwrap_or_default();
        let first = if offer.is_list { "" } else { "((behind == 1)) && " };
        let file = if files { " is_file=yes" } else { "" };
        values += &format!("        {letter}--{}) {first}offered=\"{}\"{file} ;;\n", offer.name, words.join(" "));
    }
    filled(
        include_str!("completions/ddns.bash"),
        &[
            ("commands", names().join(" ")),
            ("configured", dashed(&configured())),
            ("everywhere", dashed(&everywhere())),
            ("cases", COMMANDS.iter().map(case).collect()),
            ("alone", dashed(&alone())),
            ("values", values),
        ],
    )
}

fn zsh() -> String {
    let rows = |offers: &[CompletionItem]| offers.iter().map(zsh_option).collect::<String>();
    let command = |row: &CommandSpec| format!("        {}\n", quoted(&format!("{}:{}", row.name, row.text().summary)));
    let case = |command: &CommandSpec| {
        let shared = if command.configured { " $configured" } else { "" };
        let word = match words(command) {
            words if words.is_empty() => String::new(),
            words => format!(" {}", quoted(&format!("2:word:({})", words.join(" ")))),
        };
        let row = |offer: &CompletionItem| format!("            {} \\\n", zsh_option(offer).trim());
        let own: String = own(command).iter().map(row).collect();
        let head = format!("        {})\n            _arguments '1:command:'{word} \\\n", command.name);
        format!("{head}{own}               {shared} $everywhere ;;\n")
    };
    filled(
        include_str!("completions/ddns.zsh"),
        &[
            ("commands", COMMANDS.iter().map(command).collect()),
            ("configured", rows(&configured())),
            ("everywhere", rows(&everywhere())),
            ("cases", COMMANDS.iter().map(case).collect()),
            ("alone", rows(&alone()).trim().to_owned()),
        ],
    )
}

fn zsh_option(offer: &CompletionItem) -> String {
    let help = offer.help.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
    let action = match offer.behind {
        OptionArgument::Nothing => String::new(),
        OptionArgument::Anything => ":value: ".to_owned(),
        OptionArgument::Words(words, false) => format!(":value:({})", words.join(" ")),
        OptionArgument::Words(_, true) => ":file:_files".to_owned(),
    };
    let again = if offer.is_list { "*" } else { "" };
    let letter = offer.letter.map(|letter| format!("-{letter}"));
    let spellings = letter.into_iter().chain([format!("--{}", offer.name)]);
    let rows = spellings.map(|spelling| quoted(&format!("{again}{spelling}[{help}]{action}")));
    rows.flat_map(|row| ["        ".to_owned(), row, "\n".to_owned()]).collect()
}

fn fish() -> String {
    let mut script = include_str!("completions/ddns.fish").to_owned();
    for command in COMMANDS {
        let help = fish_quoted(command.text().summary);
        script += &format!("complete -c ddns -n __fish_use_subcommand -a {} -d {help}\n", command.name);
    }
    let without: Vec<&str> = COMMANDS.iter().filter(|row| !row.configured).map(|row| row.name).collect();
    let condition = format!("-n 'not __fish_seen_subcommand_from {}'", without.join(" "));
    script.extend(configured().iter().map(|offer| fish_option(&condition, offer)));
    let no_command = format!("-n 'not __fish_seen_subcommand_from {}'", names().join(" "));
    script.extend(alone().iter().map(|offer| fish_option(&no_command, offer)));
    script.extend(everywhere().iter().map(|offer| fish_option("", offer)));
    for command in COMMANDS {
        let condition = format!("-n '__fish_seen_subcommand_from {}'", command.name);
        script.extend(own(command).iter().map(|offer| fish_option(&condition, offer)));
        let words = words(command);
        if !words.is_empty() {
            script += &format!("complete -c ddns {condition} -a {}\n", fish_quoted(&words.join(" ")));
        }
    }
    script
}

fn fish_option(condition: &str, offer: &CompletionItem) -> String {
    let letter = offer.letter.map(|letter| format!(" -s {letter}")).unwrap_or_default();
    let behind = match offer.behind {
        OptionArgument::Nothing => String::new(),
        OptionArgument::Anything => " -x".to_owned(),
        OptionArgument::Words([], true) => " -r -F".to_owned(),
        OptionArgument::Words(words, true) => format!(" -r -F -a {}", fish_quoted(&words.join(" "))),
        OptionArgument::Words(words, false) => format!(" -x -a {}", fish_quoted(&words.join(" "))),
    };
    let space = if condition.is_empty() { "" } else { " " };
    format!("complete -c ddns{space}{condition}{letter} -l {}{behind} -d {}\n", offer.name, fish_quoted(&offer.help))
}

/// In single quotes, for bash and zsh.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// In single quotes, for fish.
fn fish_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}
