//! `ddns man`: the manual page, in roff, from the two tables and the topics of help.

use ddns_core::config::fields::FIELDS;

use crate::cli::help::{EXAMPLES, usage};
use crate::cli::table::{
    COMMANDS, CONFIG, CommandSpec, CommandText, GLOBAL_OPTIONS, NEGATIONS, QUIET, SYNC_OPTIONS, negation_help, usage_of,
};
use crate::cli::topics::TOPICS;
use crate::output::layout::WIDTH;
use crate::output::print;

pub(crate) fn run() -> u8 {
    print(&page())
}

const ABOUT: &str = "Looks up the address of this host and, for every domain that is not up to date, sends one HTTP \
    request to a URL that you configured: a GET, or a POST with a JSON body. An update is accepted, and remembered, if \
    the status of the response is from 200 to 299 (and, if you set `expect`, if the text says so); otherwise the next run \
    sends it again. Without a command, `ddns` does this once and exits.";

fn page() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut page = format!(".TH DDNS 1 \"\" \"ddns {version}\" \"User Commands\"\n.SH NAME\n");
    page += "ddns \\- send this host's address to any HTTP endpoint when it changes\n.SH SYNOPSIS\n";
    page += &format!(".nf\n{}\n{}\n.fi\n", code("ddns [-c FILE…] [OPTION…]"), code("ddns COMMAND [OPTION…]"));
    page += &format!(".SH DESCRIPTION\n{}\n.SH EXAMPLES\n{}", prose(ABOUT), verbatim(EXAMPLES));
    page += ".SH COMMANDS\n";
    for command in COMMANDS {
        page += &section(command);
    }
    page += ".SH OPTIONS\n";
    for (letter, choice) in [CONFIG, QUIET].into_iter().chain(GLOBAL_OPTIONS) {
        page += &row(&format!("-{letter}, {}", choice.usage()), choice.help);
    }
    for field in &FIELDS {
        if let Some(usage) = usage_of(field) {
            let default = if field.default.is_empty() { "." } else { &format!("; default: {}.", field.default) };
            let variable = field.variable.map(|name| format!(" (environment: {name})")).unwrap_or_default();
            page += &row(&usage, &format!("{}{default}{variable}", field.help));
        }
    }
    for (option, key) in NEGATIONS {
        page += &row(&format!("--{option}"), &negation_help(key));
    }
    for choice in &SYNC_OPTIONS {
        page += &row(&choice.usage(), choice.help);
    }
    for topic in TOPICS.iter().filter(|topic| topic.name != "options") {
        page += &format!(".SH \"{}\"\n{}", topic.title, verbatim(&topic.page(WIDTH)));
    }
    page
}

/// One command, with its own options and its example.
fn section(command: &CommandSpec) -> String {
    let CommandText { about, example, .. } = command.text();
    let mut text = format!(".SS \"{}\"\n{}\n", plain(&usage(command)), prose(&about.replace('\n', " ")));
    for word in command.words() {
        text += &row(word.name, word.help);
    }
    for choice in command.options {
        let letter = choice.letter().map(|letter| format!("-{letter}, ")).unwrap_or_default();
        text += &row(&format!("{letter}{}", choice.usage()), choice.help);
    }
    text + ".PP\nExample:\n" + &verbatim(&format!("  {example}\n"))
}

/// A name and its meaning.
fn row(name: &str, help: &str) -> String {
    format!(".TP\n{}\n{}\n", code(name), prose(help))
}

/// Text whose lines stay unchanged.
fn verbatim(text: &str) -> String {
    let lines: String = text.lines().map(|line| guarded(plain(line)) + "\n").collect();
    format!(".PP\n.nf\n{lines}.fi\n")
}

/// roff would take a line that begins with a period for a request.
fn guarded(line: String) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

fn code(text: &str) -> String {
    format!("\\fB{}\\fR", plain(text))
}

/// Running text; text between backticks becomes bold.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let text: String = parts.map(|(at, part)| if at % 2 == 1 { code(part) } else { plain(part) }).collect();
    guarded(text)
}

/// Escapes text for roff, in plain ASCII: not every roff knows the encoding.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => escaped += "\\e",
            '-' => escaped += "\\-",
            '\'' => escaped += "\\(aq",
            '"' => escaped += "\\(dq",
            '`' => escaped += "\\(ga",
            '^' => escaped += "\\(ha",
            '~' => escaped += "\\(ti",
            ' '..='~' => escaped.push(letter),
            _ => escaped += &format!("\\[u{:04X}]", u32::from(letter)),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_taken_for_a_request() {
        assert_eq!(prose(".TH it's"), "\\&.TH it\\(aqs");
        assert_eq!(plain("\\n…"), "\\en\\[u2026]");
        assert_eq!(prose("see `--x`."), "see \\fB\\-\\-x\\fR.");
    }
}
