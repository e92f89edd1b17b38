//! The help pages: `ddns --help`, `ddns COMMAND --help` and `ddns help TOPIC`.

use ddns_core::config::fields::{Field, Key};
use ddns_core::text::diagnostic::Diagnostic;

use super::table::{COMMANDS, CONFIG, CommandSpec, CommandText, GLOBAL_OPTIONS, Name, QUIET, usage_of};
use super::topics::TOPICS;
use super::{mistakes, rows};
use crate::output::layout::{broken, fitted};

/// Three ways to begin.
pub(crate) const EXAMPLES: &str = "  \
  ddns demo                 see what ddns does, in ten seconds
  ddns init                 write config.json
  ddns -c config.json       look up the address, send what changed
";

const FURTHER: &str = "\
`ddns COMMAND --help` shows the options of a command and an example.
`ddns help options` shows the options for every field of a configuration.
";

/// The page of a command, or the overview.
pub(crate) fn page(command: Option<&CommandSpec>, width: usize) -> String {
    command.map_or_else(|| overview(width), |command| page_of(command, width))
}

/// The overview, or the page of the command or topic `word`.
pub(crate) fn about(word: Option<&str>, width: usize) -> Result<String, Diagnostic> {
    let Some(word) = word else { return Ok(overview(width)) };
    if let Some(command) = CommandSpec::typed(word) {
        return Ok(page_of(command, width));
    }
    if let Some(topic) = TOPICS.iter().find(|topic| topic.name == word) {
        return Ok(topic.page(width));
    }
    let known = COMMANDS.iter().map(|command| command.name).chain(TOPICS.iter().map(|topic| topic.name));
    Err(mistakes::unknown_topic(word, known))
}

/// The text of `ddns --help`, which fits on one screen.
fn overview(width: usize) -> String {
    let mut help = broken("A dynamic DNS client: sends this host's address to any HTTP endpoint.", 0, width);
    help += &format!("\n{}\nCommands:\n", fitted(EXAMPLES, width));
    help += &rows::command("(none)", "Synchronize once: look up the address, send what changed", width);
    for command in COMMANDS {
        help += &rows::command(command.name, command.text().summary, width);
    }
    help += "\nOptions:\n";
    for choice in [CONFIG, QUIET].iter().chain(&GLOBAL_OPTIONS) {
        help += &rows::lettered(choice, width);
    }
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    help + "\n" + &fitted(FURTHER, width) + &broken(&format!("Topics of `ddns help`: {}.", topics.join(", ")), 0, width)
}

/// The text of `ddns COMMAND --help`.
fn page_of(command: &CommandSpec, width: usize) -> String {
    let CommandText { summary, about, example } = command.text();
    let mut help = broken(&format!("{summary}."), 0, width);
    help += &format!("\nUsage: {}\n\n{}", usage(command), broken(about, 0, width));
    if command.word.is_some() {
        help += "\n";
    }
    for word in command.words() {
        help += &rows::option(word.name, word.help, width);
    }
    help += "\nOptions:\n";
    for choice in command.options {
        help += &match choice.letter() {
            Some(letter) => rows::lettered(&(letter, *choice), width),
            None => rows::option(&choice.usage(), choice.help, width),
        };
    }
    if command.takes_files() {
        help += &rows::lettered(&command.config(), width);
    }
    if command.which == Name::Watch {
        help += &rows::lettered(&QUIET, width);
        for field in [Key::Web, Key::Interval].map(Field::of) {
            help += &rows::option(&usage_of(field).unwrap_or_default(), field.help, width);
        }
    }
    help += &rows::lettered(&GLOBAL_OPTIONS[0], width);
    if command.configured {
        help += "\n";
        help += &broken("Most fields of a configuration are options too: `ddns help options`.", 0, width);
    }
    help + "\nExample:\n" + &fitted(&format!("  {example}"), width)
}

/// `ddns listen [ADDRESS] [OPTION…]`
pub(crate) fn usage(command: &CommandSpec) -> String {
    let word: String = command
        .words()
        .map(|word| if word.is_required { format!(" {}", word.name) } else { format!(" [{}]", word.name) })
        .collect();
    let files = if command.takes_files() && command.which != Name::Init { " [-c FILE…]" } else { "" };
    let options = if command.configured || !command.options.is_empty() { " [OPTION…]" } else { "" };
    format!("ddns {}{word}{files}{options}", command.name)
}
