//! The pages of help: `ddns --help`, `ddns COMMAND --help` and `ddns help TOPIC`.

use ddns_core::text::diagnostic::Diagnostic;

use super::table::{COMMANDS, CONFIG, Command, EVERYWHERE, Name, QUIET};
use super::topics::TOPICS;
use super::{mistakes, rows};
use crate::output::layout::broken;

/// Three ways to begin.
pub(crate) const EXAMPLES: &str = "  \
  ddns demo                 see what it does, in ten seconds
  ddns init                 write config.json
  ddns -c config.json       look up the address, send what changed
";

const FURTHER: &str = "\
`ddns COMMAND --help` shows the options of a command and an example.
`ddns help options` shows the options for every field of a configuration.
";

/// The page of a command, or the first one.
pub(crate) fn page(command: Option<&Command>) -> String {
    command.map_or_else(overview, page_of)
}

/// The page of `ddns help`, or of the command or topic that follows it.
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
    let mut help =
        format!("Sends this host's address to any HTTP endpoint when it changes.\n\n{EXAMPLES}\nCommands:\n");
    help += &rows::command("(none)", "Synchronize once: look up the address, send what changed");
    for command in COMMANDS {
        help += &rows::command(command.name, command.summary);
    }
    help += "\nOptions:\n";
    for choice in [CONFIG, QUIET].iter().chain(&EVERYWHERE) {
        help += &rows::lettered(choice);
    }
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    help + "\n" + FURTHER + &broken(&format!("Topics of `ddns help`: {}.", topics.join(", ")), 0)
}

/// The text of `ddns COMMAND --help`.
fn page_of(command: &Command) -> String {
    let mut help = format!("{}.\n\nUsage: {}\n\n{}", command.summary, usage(command), broken(command.about, 0));
    if let Some(word) = &command.word {
        help += "\n";
        help += &rows::option(word.name, word.help);
    }
    help += "\nOptions:\n";
    for choice in command.options {
        help += &rows::option(&choice.usage(), choice.help);
    }
    if command.configured {
        help += &rows::lettered(&command.config());
    }
    if command.which == Name::Watch {
        help += &rows::lettered(&QUIET);
    }
    help += &rows::lettered(&EVERYWHERE[0]);
    if command.configured {
        help += "\nEvery field of a configuration is an option too: `ddns help options`.\n";
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
    let files = if command.configured && command.which != Name::Init { " [-c FILE…]" } else { "" };
    let options = if command.configured || !command.options.is_empty() { " [OPTION…]" } else { "" };
    format!("ddns {}{word}{files}{options}", command.name)
}
