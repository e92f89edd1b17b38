//! The one table of commands. Parsing, help, completions and the manual page come from here and from the table of
//! fields; a new command is one row, one file in `commands/` and one line in `main`.

use ddns_core::config::fields::{Field, Key, Kind};

/// A command. What it does is decided in `main`, which must know every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Demo,
    Watch,
    Status,
    Sync,
    Init,
    Addresses,
    Listen,
    Check,
    Preview,
    Schema,
    Completions,
    Man,
    Help,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) which: Name,
    /// How it is typed.
    pub(crate) name: &'static str,
    /// What it does, short enough to stand beside the name on one line.
    pub(crate) summary: &'static str,
    /// What else a user wants to know, for its own help.
    pub(crate) about: &'static str,
    /// Whether it takes `-c` and the options of the fields, as a synchronization does.
    pub(crate) configured: bool,
    /// The options that it alone understands.
    pub(crate) options: &'static [Choice],
    /// The word that may stand behind it.
    pub(crate) word: Option<Word>,
    /// One line to try.
    pub(crate) example: &'static str,
}

/// An option of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    /// Without its dashes.
    pub(crate) name: &'static str,
    /// How its value is called; empty where it takes none. `FILE` and `PATH` are completed as files.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
}

/// A word that stands behind a command without an option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// How it is called in help.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Everything that it can be; empty where the command itself knows.
    pub(crate) one_of: &'static [&'static str],
    pub(crate) is_required: bool,
}

const fn flag(name: &'static str, help: &'static str) -> Choice {
    Choice { name, value: "", help }
}

const fn option(name: &'static str, value: &'static str, help: &'static str) -> Choice {
    Choice { name, value, help }
}

/// For commands that print a report.
const JSON: Choice = flag("json", "As JSON, for programs");
/// For commands that print a report.
const WIDE: Choice = flag("wide", "Do not break lines that are wider than 80 columns");

/// The table, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        which: Name::Demo,
        name: "demo",
        summary: "Show what it does, on this machine alone, without a configuration",
        about: "A receiver on loopback stands in for your endpoint: two callbacks are sent to it, sent again when the \
                address changes, and left out when it does not. Nothing leaves this machine, nothing stays behind.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns demo",
    },
    Command {
        which: Name::Init,
        name: "init",
        summary: "Write a configuration: asks a few questions, tries the answers",
        about: "Asks for the endpoint, the domains and the source of the address, looks the address up, writes a \
                commented file that only you can read, and shows what would be sent. It never overwrites a file and \
                sends no callback. What an option says is not asked: with --id or --endpoint and a domain nothing is.",
        configured: true,
        options: &[flag("yes", "Ask nothing: take what is suggested where no option says more")],
        word: Some(Word {
            name: "FILE",
            help: "The file to write; config.json where none is named",
            one_of: &[],
            is_required: false,
        }),
        example: "ddns init",
    },
    Command {
        which: Name::Watch,
        name: "watch",
        summary: "Keep running: tell changes at once, try again what failed",
        about: "Synchronizes at the start, at every `interval` (5 minutes where none is set), at once when the kernel \
                says that an address of this host changed, and when it is asked to: SIGUSR1 or `ddns sync`. Reloads on \
                SIGHUP and when a configuration file changes. SIGTERM ends it.",
        configured: true,
        options: &[],
        word: None,
        example: "ddns watch -c config.json",
    },
    Command {
        which: Name::Status,
        name: "status",
        summary: "Show how every domain stands, as the running service knows it",
        about: "Asks the `ddns watch` that runs; where none does, it shows what the cache remembers. Exit status: 0 \
                where everything is up to date, 1 where something is not.",
        configured: true,
        options: &[JSON, WIDE],
        word: None,
        example: "ddns status",
    },
    Command {
        which: Name::Sync,
        name: "sync",
        summary: "Ask the running service to synchronize now",
        about: "Waits until that is done and says what it came to. What failed before is tried again at once, unless \
                its endpoint asked to be left alone.",
        configured: true,
        options: &[],
        word: None,
        example: "ddns sync",
    },
    Command {
        which: Name::Addresses,
        name: "addresses",
        summary: "Show this host's addresses, and which one is told and why",
        about: "Shows every address of this host with the verdict on it, what each source of the configuration says \
                now, and which one would be told. Works without a configuration, too. Sends no callback.",
        configured: true,
        options: &[JSON, WIDE],
        word: None,
        example: "ddns addresses --index4 public default",
    },
    Command {
        which: Name::Listen,
        name: "listen",
        summary: "Receive callbacks on this machine, show them and answer",
        about: "For rehearsals: it shows every request as an endpoint would see it, keys included, and answers as you \
                say. It listens on 127.0.0.1:8080 unless another ADDRESS is named; port 0 is one that is free. Ctrl-C \
                ends it.",
        configured: false,
        options: &[
            option("status", "CODE", "Answer the first request with this status; 200 without it"),
            option("then", "CODE", "And the next one with this; can be repeated, and the last one stays"),
            option("delay", "TIME", "Wait before each answer: 500ms, 2s, 1m"),
            option("retry-after", "SECONDS", "Ask to be called again then; with a 503, unless --status is given"),
            option("redirect", "URL", "Lead elsewhere; with a 307, unless --status is another from 300 to 399"),
            option("count", "NUMBER", "End after so many requests"),
            flag("json", "One JSON object a line, for programs"),
            WIDE,
        ],
        word: Some(Word {
            name: "ADDRESS",
            help: "Where to listen: an address of this host, a port, or both",
            one_of: &[],
            is_required: false,
        }),
        example: "ddns listen --status 503 --then 204",
    },
    Command {
        which: Name::Check,
        name: "check",
        summary: "Check the configuration; show each setting and its origin",
        about: "Shows every setting that counts and where it was made, secrets masked, and everything that is wrong or \
                doubtful. Ends with 0, or with 2 where something is wrong. Nothing is sent, --online included: that \
                looks for the addresses and opens a connection to each endpoint, and ends with 1 where one fails.",
        configured: true,
        options: &[
            flag("all", "Show settings that nobody made, too"),
            flag("online", "Look for addresses and connect to each endpoint"),
            JSON,
            WIDE,
        ],
        word: None,
        example: "ddns check --online",
    },
    Command {
        which: Name::Preview,
        name: "preview",
        summary: "Show every request that would be sent now, and why; send none",
        about: "For every domain: the request exactly as a run would send it, the address and the source that gave it, \
                and whether it would be sent. Sends no callback and changes no cache. What you typed into `token`, \
                `extra` and addresses shows as ***.",
        configured: true,
        options: &[
            flag("curl", "As commands of curl that send the same"),
            flag("show-secrets", "Show secrets too: in a terminal, or with --yes"),
            flag("yes", "Show secrets where standard output is no terminal"),
            Choice { name: "ip", value: "ADDRESS", help: "Take this address, look for none; once for each family" },
            JSON,
            WIDE,
        ],
        word: None,
        example: "ddns preview --ip 203.0.113.7 --curl",
    },
    Command {
        which: Name::Schema,
        name: "schema",
        summary: "Print the JSON schema of a configuration, for editors",
        about: "Editors that know it complete and check a configuration while you write it: name the file in \
                `$schema`.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns schema > ddns.schema.json",
    },
    Command {
        which: Name::Completions,
        name: "completions",
        summary: "Print what a shell needs to complete commands and options",
        about: "The script holds everything: nothing is run while you type.",
        configured: false,
        options: &[],
        word: Some(Word {
            name: "SHELL",
            help: "bash, zsh or fish",
            one_of: &["bash", "zsh", "fish"],
            is_required: true,
        }),
        example: "ddns completions bash > ~/.local/share/bash-completion/completions/ddns",
    },
    Command {
        which: Name::Man,
        name: "man",
        summary: "Print the manual page",
        about: "In roff, the form that `man` reads.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns man > /usr/local/share/man/man1/ddns.1",
    },
    Command {
        which: Name::Help,
        name: "help",
        summary: "Explain a command or a topic",
        about: "Without a word behind it, it shows what `ddns --help` shows.",
        configured: false,
        options: &[],
        word: Some(Word {
            name: "TOPIC",
            help: "A command; or options, config, placeholders, sources, exit-codes",
            one_of: &[],
            is_required: false,
        }),
        example: "ddns help placeholders",
    },
];

/// Options that set no field and that every synchronization takes: letter, name, value, help.
pub(crate) const CONFIG: (char, Choice) = (
    'c',
    Choice { name: "config", value: "FILE…", help: "Configuration files, or http(s) addresses of some; each is run" },
);
/// The option that writes a template and does nothing else; its value may be left out.
pub(crate) const NEW_CONFIG: Choice = Choice {
    name: "new-config",
    value: "[FILE]",
    help: "Write a commented configuration (config.json), and end; never overwrites",
};
/// Options that are understood everywhere.
pub(crate) const EVERYWHERE: [(char, Choice); 2] =
    [('h', flag("help", "Show help: for a command, its own")), ('V', flag("version", "Show the version"))];

/// The options that switch a field off.
pub(crate) const NEGATIONS: [(&str, Key); 2] = [("no-cache", Key::Cache), ("no-ssl", Key::Ssl)];

impl Command {
    /// The row of what was typed.
    pub(crate) fn typed(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }
}

impl Choice {
    /// `--status CODE`
    pub(crate) fn usage(&self) -> String {
        let space = if self.value.is_empty() { "" } else { " " };
        format!("--{}{space}{}", self.name, self.value)
    }
}

/// `--ipv4 DOMAIN…`: how the option of a field is written; none where it has no option.
pub(crate) fn usage_of(field: &Field) -> Option<String> {
    let value = match field.kind {
        Kind::Flag => String::new(),
        Kind::FlagOrText => format!(" [{}]", field.value),
        Kind::List | Kind::Sources => format!(" {}…", field.value),
        _ => format!(" {}", field.value),
    };
    field.option.map(|option| format!("--{option}{value}"))
}

/// `The same as --cache false`: what an option says that switches a field off.
pub(crate) fn negation_help(key: Key) -> String {
    format!("The same as --{} false", Field::of(key).name)
}

#[cfg(test)]
mod tests {
    use ddns_core::config::fields::FIELDS;

    use super::*;
    use crate::output::layout::WIDTH;

    #[test]
    fn each_row_can_be_shown() {
        for command in COMMANDS {
            let name = command.name;
            assert!(
                super::super::help::NAMES + command.summary.chars().count() <= WIDTH,
                "{name}: too long for a line"
            );
            assert!(name.len() + 4 <= super::super::help::NAMES, "{name}: too long for its column");
            assert!(command.example.starts_with(&format!("ddns {name}")), "{name}: another command's example");
            assert!(!command.about.is_empty() && command.summary.starts_with(char::is_uppercase), "{name}");
            assert_eq!(COMMANDS.iter().filter(|other| other.name == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn no_option_has_two_meanings() {
        for command in COMMANDS {
            for choice in command.options {
                let is_taken = FIELDS.iter().any(|field| field.option == Some(choice.name));
                let is_common = EVERYWHERE.iter().chain([&CONFIG]).any(|(_, other)| other.name == choice.name);
                assert!(!is_taken && !is_common, "{} --{}", command.name, choice.name);
                assert_eq!(command.options.iter().filter(|other| other.name == choice.name).count(), 1);
            }
        }
    }
}
