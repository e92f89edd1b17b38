//! The texts of help: all of them come from the tables.

use ddns_core::config::fields::FIELDS;
use ddns_core::text::diagnostic::Diagnostic;

use super::mistakes;
use super::table::{COMMANDS, CONFIG, Choice, Command, EVERYWHERE, NEGATIONS, NEW_CONFIG, negation_help, usage_of};
use super::topics::TOPICS;
use crate::output::layout::{beside, broken};

/// What is said about a command begins in this column.
pub(crate) const NAMES: usize = 15;
/// What is said about an option begins in this column.
const OPTIONS: usize = 28;

/// Three ways to begin.
pub(crate) const EXAMPLES: &str = "  \
  ddns demo                 see in ten seconds what it does
  ddns init                 write config.json: a few questions
  ddns -c config.json       find the address, tell every domain that changed
";

const FURTHER: &str = "\
`ddns COMMAND --help` shows the options of a command and an example.
`ddns help options` shows every option that a configuration can hold, too.
";

/// The page of a command, or the first one.
pub(crate) fn page(command: Option<&Command>) -> String {
    command.map_or_else(overview, page_of)
}

/// The page behind `ddns help`, with what stands behind it.
pub(crate) fn about(word: Option<&str>) -> Result<String, Diagnostic> {
    let Some(word) = word else { return Ok(overview()) };
    if let Some(command) = Command::typed(word) {
        return Ok(page_of(command));
    }
    if let Some(topic) = TOPICS.iter().find(|topic| topic.name == word) {
        return Ok((topic.page)());
    }
    let known = COMMANDS.iter().map(|command| command.name).chain(TOPICS.iter().map(|topic| topic.name));
    Err(mistakes::unknown_topic(word, known))
}

/// The text of `ddns --help`: a screen full.
fn overview() -> String {
    let mut help = format!("Tells any HTTP endpoint this host's address when it changes.\n\n{EXAMPLES}\nCommands:\n");
    help += &beside("  (none)", "One synchronization: find the address, tell what changed", NAMES);
    for command in COMMANDS {
        help += &beside(&format!("  {}", command.name), command.summary, NAMES);
    }
    help += "\nOptions:\n";
    for (letter, choice) in [CONFIG].into_iter().chain(EVERYWHERE) {
        help += &lettered(letter, &choice);
    }
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    help + "\n" + FURTHER + &broken(&format!("Topics of `ddns help`: {}.", topics.join(", ")), 0)
}

/// The text of `ddns COMMAND --help`.
fn page_of(command: &Command) -> String {
    let mut help = format!("{}.\n\nUsage: {}\n\n{}", command.summary, usage(command), broken(command.about, 0));
    if let Some(word) = &command.word {
        help += "\n";
        help += &beside(&format!("  {}", word.name), word.help, OPTIONS);
    }
    help += "\nOptions:\n";
    for choice in command.options {
        help += &row(&choice.usage(), choice.help);
    }
    if command.configured {
        help += &lettered(CONFIG.0, &CONFIG.1);
    }
    help += &lettered(EVERYWHERE[0].0, &EVERYWHERE[0].1);
    if command.configured {
        help += "\nAnd every option that a configuration can hold, too: `ddns help options`.\n";
    }
    help + &format!("\nExample:\n  {}\n", command.example)
}

/// `ddns listen [ADDRESS] [OPTION…]`
pub(crate) fn usage(command: &Command) -> String {
    let word = match &command.word {
        Some(word) if word.is_required => format!(" {}", word.name),
        Some(word) => format!(" [{}]", word.name),
        None => String::new(),
    };
    let files = if command.configured { " [-c FILE…]" } else { "" };
    let options = if command.configured || !command.options.is_empty() { " [OPTION…]" } else { "" };
    format!("ddns {}{word}{files}{options}", command.name)
}

/// The page of `ddns help options`.
pub(super) fn options() -> String {
    let mut help = "Options of a synchronization, and of every command that reads a configuration:\n".to_owned();
    help += &lettered(CONFIG.0, &CONFIG.1);
    for field in &FIELDS {
        if let Some(usage) = usage_of(field) {
            help += &row(&usage, field.help);
        }
    }
    for (option, key) in NEGATIONS {
        help += &row(&format!("--{option}"), &negation_help(key));
    }
    help += &row(&NEW_CONFIG.usage(), NEW_CONFIG.help);
    let note = "Each can also stand in the configuration file, or in the environment (DDNS_ID, DDNS_TOKEN, …): `ddns \
                help config`. A list takes several values, and can be repeated.";
    help + "\n" + &broken(note, 0)
}

fn lettered(letter: char, choice: &Choice) -> String {
    row(&format!("-{letter}, {}", choice.usage()), choice.help)
}

fn row(left: &str, right: &str) -> String {
    beside(&format!("  {left}"), right, OPTIONS)
}
