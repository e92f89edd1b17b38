//! The one table of commands. Parsing, help, completions and the manual page come from here and from the table of
//! fields. A new command needs a row here, a text in `commands.txt`, a file in `commands/` and a line in `main`.

use ddns_core::config::fields::{Field, Key, Kind};
use ddns_core::notify::NotifyEvent;

/// A command. `main` matches on it, so that none is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Demo,
    Watch,
    Status,
    History,
    Sync,
    Verify,
    Service,
    Init,
    Import,
    Addresses,
    Listen,
    Check,
    Preview,
    Password,
    Notify,
    Recipes,
    Schema,
    Completions,
    Man,
    Version,
    Help,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct CommandSpec {
    pub(crate) which: Name,
    pub(crate) name: &'static str,
    /// Whether the command takes `-c` and the options of fields, as plain `ddns` does.
    pub(crate) configured: bool,
    /// The command's own options.
    pub(crate) options: &'static [OptionSpec],
    /// The first word after the command; `None`: it takes no words.
    pub(crate) word: Option<Word>,
}

/// A paragraph for each command: name and summary, more about it, and an example.
const TEXTS: &str = include_str!("commands.txt");

/// What users read about a command.
pub(crate) struct CommandText {
    /// Short enough to fit beside the name on one line.
    pub(crate) summary: &'static str,
    /// Details for `ddns COMMAND --help`; its line breaks have no meaning.
    pub(crate) about: &'static str,
    /// A command line to try.
    pub(crate) example: &'static str,
}

/// An option of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionSpec {
    /// Without its dashes.
    pub(crate) name: &'static str,
    /// The name of its value in help; empty for a flag. Shells complete `FILE` and `PATH` as files.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
}

/// A positional argument of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// As shown in help.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// The allowed values; empty if the command itself checks the word.
    pub(crate) one_of: &'static [&'static str],
    pub(crate) is_required: bool,
    /// The word that may come next; `None`: this is the last.
    pub(crate) next: Option<&'static Word>,
}

/// A command without words and options of its own.
const fn command(which: Name, name: &'static str) -> CommandSpec {
    CommandSpec { which, name, configured: false, options: &[], word: None }
}

const fn flag(name: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value: "", help }
}

const fn option(name: &'static str, value: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value, help }
}

/// An optional word that the command itself checks.
const fn word(name: &'static str, help: &'static str) -> Word {
    Word { name, help, one_of: &[], is_required: false, next: None }
}

/// For commands that only look at a configuration.
const THE_FILE: Word = word("FILE", "The same as -c FILE");
/// For commands that print a report.
const JSON: OptionSpec = flag("json", "Print JSON, for programs");
/// For commands that print a report.
const WIDE: OptionSpec = flag("wide", "Do not wrap long lines");

/// The table, in the order of the help.
pub(crate) const COMMANDS: &[CommandSpec] = &[
    command(Name::Demo, "demo"),
    CommandSpec {
        configured: true,
        options: &[
            flag("yes", "Ask nothing: accept every suggestion"),
            option("recipe", "NAME", "For a service that `ddns recipes` lists, or a recipe in a file: ./my.json"),
            option("set", "NAME=VALUE", "Answer a question of the recipe; repeat for more. NAME.DOMAIN for one domain"),
            option(
                "notify-recipe",
                "NAME",
                "Also notify, by a recipe of the kind notification; its answers: --set notify.NAME=…",
            ),
            option("secrets", "FOLDER", "Put each secret of the recipe into a file of its own in FOLDER"),
            flag("offline", "Ask the network nothing: look up no address, send nothing"),
            option(
                "push",
                "ROUTER",
                "Print how fritzbox, unifi or openwrt tells its address to `ddns watch --web`; write nothing",
            ),
        ],
        word: Some(word("FILE", "The file to write; config.json by default")),
        ..command(Name::Init, "init")
    },
    CommandSpec {
        options: &[
            option("from", "NAME", "The client, if the file does not show it: ddclient, inadyn, ddns-go, …"),
            option(
                "set",
                "ENTRY.NAME=VALUE",
                "Answer what the file does not say, for an entry of the report; repeat for more",
            ),
            option("secrets", "FOLDER", "Put each secret into a file of its own in FOLDER"),
            flag("dry-run", "Only print the report"),
            JSON,
        ],
        word: Some(Word {
            next: Some(&word("TARGET", "The file to write; config.json by default")),
            ..word("FILE", "The configuration of the other client; - is standard input")
        }),
        ..command(Name::Import, "import")
    },
    CommandSpec { configured: true, ..command(Name::Watch, "watch") },
    CommandSpec {
        configured: true,
        options: &[ALL, JSON, WIDE, flag("alive", "Only check whether the service responds")],
        ..command(Name::Status, "status")
    },
    CommandSpec {
        configured: true,
        options: &[
            option("since", "AGE", "Only entries of this period: 30m, 12h, 7d"),
            flag("failed", "Only failures"),
            flag("changed", "Only changed addresses"),
            flag("group", "Only the group: its lease taken over, given back or lost"),
            ALL,
            JSON,
            WIDE,
        ],
        word: Some(word("DOMAIN", "A domain of the configuration")),
        ..command(Name::History, "history")
    },
    CommandSpec { configured: true, options: &[ALL, RETRY_STOPPED], ..command(Name::Sync, "sync") },
    CommandSpec {
        configured: true,
        options: &[
            option("wait", "TIME", "Ask again until all are visible, for at most this long: 90s, 5m, 1h"),
            JSON,
            WIDE,
        ],
        word: Some(word("DOMAIN…", "Domains of the configuration")),
        ..command(Name::Verify, "verify")
    },
    CommandSpec {
        options: &[
            flag("user", "A service for your own user, without root"),
            flag("print", "Only show the files and commands"),
            FOLLOW.1,
            option("manager", "NAME", "systemd, procd or cron: overrides the detected service manager"),
        ],
        word: Some(Word {
            one_of: &["install", "uninstall", "status", "logs"],
            is_required: true,
            ..word("ACTION", "install, uninstall, status or logs")
        }),
        ..command(Name::Service, "service")
    },
    CommandSpec { configured: true, options: &[JSON, WIDE], ..command(Name::Addresses, "addresses") },
    CommandSpec {
        options: &[
            option("status", "CODE", "Status of the first response; 200 by default"),
            option("then", "CODE", "Status of the next response; repeat for more. The last one is kept"),
            option("delay", "TIME", "Wait before each response: 500ms, 2s, 1m"),
            option("retry-after", "SECONDS", "Send a Retry-After; the status is 503 unless --status is given"),
            option("redirect", "URL", "Redirect to URL; the status is 307 unless --status is another 3xx"),
            option("count", "NUMBER", "Exit after this many requests"),
            flag("json", "Print one JSON object per line, for programs"),
            WIDE,
        ],
        word: Some(word("ADDRESS", "Where to listen: an address of this host, a port, or both")),
        ..command(Name::Listen, "listen")
    },
    CommandSpec {
        configured: true,
        options: &[
            flag("all", "Include defaults"),
            flag("online", "Also look up the addresses and connect to each endpoint"),
            JSON,
            WIDE,
        ],
        word: Some(THE_FILE),
        ..command(Name::Check, "check")
    },
    CommandSpec {
        configured: true,
        options: &[
            flag("curl", "Print the requests as curl commands"),
            flag("lookup", "Send the requests of `before`, which only read, and show the finished update"),
            flag("show-secrets", "Do not mask secrets; only in a terminal, or with --yes"),
            flag("yes", "Allow --show-secrets when the output is not a terminal"),
            option("ip", "ADDRESS", "Show the requests with this address, as an example; once per family"),
            JSON,
            WIDE,
        ],
        word: Some(THE_FILE),
        ..command(Name::Preview, "preview")
    },
    command(Name::Password, "password"),
    CommandSpec {
        configured: true,
        word: Some(Word {
            one_of: &NotifyEvent::KEYS,
            ..word(
                "EVENT",
                "changed, failed, recovered, stopped, not-visible, drifted, visible, synchronized, took-over or lost",
            )
        }),
        ..command(Name::Notify, "notify")
    },
    CommandSpec {
        options: &[JSON],
        word: Some(Word {
            next: Some(&word("NAME", "The recipe to show, or a file that contains one")),
            ..word("WORD", "Part of a name or description; or `show` and the NAME of a recipe, or `check` and a FILE")
        }),
        ..command(Name::Recipes, "recipes")
    },
    CommandSpec {
        options: &[flag("recipe", "Print the schema of a recipe instead")],
        ..command(Name::Schema, "schema")
    },
    CommandSpec {
        word: Some(Word { one_of: &["bash", "zsh", "fish"], is_required: true, ..word("SHELL", "bash, zsh or fish") }),
        ..command(Name::Completions, "completions")
    },
    command(Name::Man, "man"),
    CommandSpec {
        options: &[flag("verbose", "Also commit, target and features")],
        ..command(Name::Version, "version")
    },
    CommandSpec {
        word: Some(word("TOPIC", "A command, or one of options, config, placeholders, sources, exit-codes")),
        ..command(Name::Help, "help")
    },
];

/// Names configuration files; every command that reads a configuration takes it.
pub(crate) const CONFIG: (char, OptionSpec) =
    ('c', option("config", "FILE…", "Configuration files, or http(s) URLs; ddns runs all of them"));
/// Made for timers; sets the log level.
pub(crate) const QUIET: (char, OptionSpec) = ('q', flag("quiet", "Log warnings and errors only"));
/// For commands that show a log.
pub(crate) const FOLLOW: (char, OptionSpec) = ('f', flag("follow", "Keep showing new lines of the log as they arrive"));
/// Writes a template and exits; the value is optional.
pub(crate) const NEW_CONFIG: OptionSpec =
    option("new-config", "[FILE]", "Write a commented configuration and exit; config.json by default");
/// For commands that ask a service.
const ALL: OptionSpec = flag("all", "Every service of this user");
/// Also sends stopped updates; `sync` takes it, too.
pub(crate) const RETRY_STOPPED: OptionSpec =
    flag("retry-stopped", "Also send updates that the service refused permanently");
/// Also sends updates that are up to date.
pub(crate) const FORCE: OptionSpec = option("force", "DOMAIN…", "Send these domains even if they are up to date");
/// Waits until DNS shows the accepted addresses.
pub(crate) const VERIFY: OptionSpec =
    option("verify", "TIME", "Then ask DNS whether the addresses are visible, for this long at most: 2m");
/// Options of plain `ddns`; of the commands, only `sync` takes one of them.
pub(crate) const SYNC_OPTIONS: [OptionSpec; 4] = [FORCE, RETRY_STOPPED, VERIFY, NEW_CONFIG];
/// Options of every command.
pub(crate) const GLOBAL_OPTIONS: [(char, OptionSpec); 2] =
    [('h', flag("help", "Show help")), ('V', flag("version", "Show the version"))];

/// The options that switch a field off.
pub(crate) const NEGATIONS: [(&str, Key); 2] = [("no-cache", Key::Cache), ("no-ssl", Key::Ssl)];

impl CommandSpec {
    pub(crate) fn text(&self) -> CommandText {
        let mut texts = TEXTS.split("\n\n").filter_map(|text| text.strip_prefix(self.name)?.strip_prefix(": "));
        let (summary, rest) = texts.next().and_then(|text| text.split_once('\n')).unwrap_or_default();
        let (about, example) = rest.split_once("\n$ ").unwrap_or_default();
        CommandText { summary, about, example: example.trim_end() }
    }

    /// `-c` with its meaning for this command.
    pub(crate) fn config(&self) -> (char, OptionSpec) {
        let (value, help) = match self.which {
            Name::Init => ("FILE", "The same as FILE"),
            Name::Status | Name::History | Name::Sync => (
                "FILE…",
                "The service that uses this configuration; by default the configuration that `ddns` would use here, or the only service",
            ),
            Name::Watch => return CONFIG,
            Name::Service => ("FILE…", "The configuration of the service"),
            _ => ("FILE…", "Configuration files, or http(s) URLs; several are allowed"),
        };
        (CONFIG.0, OptionSpec { name: CONFIG.1.name, value, help })
    }

    /// Whether it takes `-c`.
    pub(crate) fn takes_files(&self) -> bool {
        self.configured || self.which == Name::Service
    }

    /// The command's own option with this letter.
    pub(crate) fn lettered(&self, letter: char) -> Option<&'static str> {
        self.options.iter().find(|choice| choice.letter() == Some(letter)).map(|choice| choice.name)
    }

    /// The words that the command takes, in order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Word> {
        std::iter::successors(self.word.as_ref(), |word| word.next)
    }

    /// The command with this name.
    pub(crate) fn typed(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }
}

impl Word {
    /// Whether the word may be repeated.
    pub(crate) fn is_repeated(&self) -> bool {
        self.name.ends_with('…')
    }
}

impl OptionSpec {
    /// The letter of the option; `None` if it has none.
    pub(crate) fn letter(&self) -> Option<char> {
        (self.name == FOLLOW.1.name).then_some(FOLLOW.0)
    }

    /// `--status CODE`
    pub(crate) fn usage(&self) -> String {
        let space = if self.value.is_empty() { "" } else { " " };
        format!("--{}{space}{}", self.name, self.value)
    }
}

/// `--ipv4 DOMAIN…`: how the option of a field is written; `None` if it has no option.
pub(crate) fn usage_of(field: &Field) -> Option<String> {
    let value = match field.kind {
        Kind::Flag => String::new(),
        Kind::FlagOrText | Kind::FlagObjectOrText => format!(" [{}]", field.value),
        kind if kind.is_list() => format!(" {}…", field.value),
        _ => format!(" {}", field.value),
    };
    field.option.map(|option| format!("--{option}{value}"))
}

/// `Same as --cache false`: the help of an option that switches a field off.
pub(crate) fn negation_help(key: Key) -> String {
    format!("Same as --{} false", Field::of(key).name)
}

#[cfg(test)]
mod tests {
    use ddns_core::config::fields::FIELDS;

    use super::*;

    #[test]
    fn no_option_has_two_meanings() {
        for command in COMMANDS {
            for choice in command.options {
                let is_taken = FIELDS.iter().any(|field| field.option == Some(choice.name));
                let is_common = GLOBAL_OPTIONS.iter().chain([&CONFIG]).any(|(_, other)| other.name == choice.name);
                assert!(!is_taken && !is_common, "{} --{}", command.name, choice.name);
                assert_eq!(command.options.iter().filter(|other| other.name == choice.name).count(), 1);
            }
        }
    }
}
