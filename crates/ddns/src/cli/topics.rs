//! The topics that `ddns help` explains besides the commands.

use ddns_core::config::fields::FIELDS;

use super::rows;
use super::table::{self, NEGATIONS, SYNC_OPTIONS, negation_help, usage_of};
use crate::output::layout::{broken, fitted};

/// A help page on one subject.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// The heading in the manual page.
    pub(crate) title: &'static str,
    /// Empty for the options, which come from the tables.
    text: &'static str,
}

/// In the order of the help.
pub(crate) const TOPICS: [Topic; 5] = [
    Topic { name: "options", title: "OPTIONS", text: "" },
    Topic { name: "config", title: "CONFIGURATION", text: include_str!("topics/config.txt") },
    Topic { name: "placeholders", title: "PLACEHOLDERS", text: include_str!("topics/placeholders.txt") },
    Topic { name: "sources", title: "SOURCES OF THE ADDRESS", text: include_str!("topics/sources.txt") },
    Topic { name: "exit-codes", title: "EXIT STATUS", text: include_str!("topics/exit-codes.txt") },
];

impl Topic {
    /// The text, for a screen of this width.
    pub(crate) fn page(&self, width: usize) -> String {
        if self.text.is_empty() { options(width) } else { fitted(self.text, width) }
    }
}

fn options(width: usize) -> String {
    let head = "Options of `ddns` and of every command that reads a configuration; --force, --verify and --new-config \
                only of `ddns`, --retry-stopped also of `ddns sync`:";
    let mut help = broken(head, 0, width);
    help += &rows::lettered(&table::CONFIG, width);
    help += &rows::lettered(&table::QUIET, width);
    for (usage, field) in FIELDS.iter().filter_map(|field| Some((usage_of(field)?, field))) {
        help += &rows::option(&usage, field.help, width);
    }
    for (option, key) in NEGATIONS {
        help += &rows::option(&format!("--{option}"), &negation_help(key), width);
    }
    for choice in &SYNC_OPTIONS {
        help += &rows::option(&choice.usage(), choice.help, width);
    }
    let note = "Most can also be set in the configuration file or in the environment (DDNS_ID, DDNS_TOKEN, …): see \
                `ddns help config`. An option that takes a list can have several values, and can be repeated.";
    help + "\n" + &broken(note, 0, width)
}
