//! The one table of commands. Parsing, help, completions and the manual page come from here and from the table of
//! fields; a new command is one row, one file in `commands/` and one line in `main`.

use ddns_core::config::fields::{Field, Key, Kind};

/// A command. What it does is decided in `main`, which must know every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Demo,
    Watch,
    Status,
    History,
    Sync,
    Service,
    Init,
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
    /// How it is typed.
    pub(crate) name: &'static str,
    /// What it does, short enough to stand beside the name on one line.
    pub(crate) summary: &'static str,
    /// What else a user wants to know, for `ddns COMMAND --help`.
    pub(crate) about: &'static str,
    /// Whether it takes `-c` and the options of the fields, as a synchronization does.
    pub(crate) configured: bool,
    /// The options that it alone understands.
    pub(crate) options: &'static [OptionSpec],
    /// The word that may follow it.
    pub(crate) word: Option<Word>,
    /// One line to try.
    pub(crate) example: &'static str,
}

/// An option of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionSpec {
    /// Without its dashes.
    pub(crate) name: &'static str,
    /// The name of its value in help; empty if it takes none. `FILE` and `PATH` are completed as files.
    pub(crate) value: &'static str,
    pub(crate) help: &'static str,
}

/// A word that follows a command without an option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// Its name in help.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    /// Everything that it can be; empty if the command itself checks it.
    pub(crate) one_of: &'static [&'static str],
    pub(crate) is_required: bool,
    /// The word that may follow it.
    pub(crate) next: Option<&'static Word>,
}

const fn flag(name: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value: "", help }
}

const fn option(name: &'static str, value: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value, help }
}

/// A word that may be left out, and that the command itself checks.
const fn word(name: &'static str, help: &'static str) -> Word {
    Word { name, help, one_of: &[], is_required: false, next: None }
}

/// For commands that print a report.
const JSON: OptionSpec = flag("json", "Print JSON, for programs");
/// For commands that print a report.
const WIDE: OptionSpec = flag("wide", "Do not wrap long lines");

/// The table, in the order of the help.
pub(crate) const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        which: Name::Demo,
        name: "demo",
        summary: "Show what ddns does, on this machine alone",
        about: "Starts a receiver on loopback in place of your endpoint and sends updates to it: two for new \
                domains, none while the address stays the same, and one for a change. Needs no configuration. \
                Nothing leaves this machine and no file is left behind.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns demo",
    },
    CommandSpec {
        which: Name::Init,
        name: "init",
        summary: "Write a configuration: asks a few questions",
        about: "Asks for the endpoint, the domains and the source of the address, looks up the address, writes a \
                commented file that only you can read, and shows what would be sent. It never overwrites a file and \
                sends no update. A question that an option already answers is not asked. With --recipe it asks for what \
                the service needs; the service itself is not asked.",
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
            flag("offline", "Has no effect any more: nothing is looked up at the service"),
        ],
        word: Some(word("FILE", "The file to write; config.json by default")),
        example: "ddns init",
    },
    CommandSpec {
        which: Name::Watch,
        name: "watch",
        summary: "Keep running: send changes at once, retry what failed",
        about: "Synchronizes at the start, at every `interval` (5 minutes by default), as soon as the kernel reports \
                that an address of this host changed, and on request: `ddns sync` or SIGUSR1. Reloads on SIGHUP and \
                when a configuration file changes. SIGTERM stops it. With --web, a page shows how everything stands.",
        configured: true,
        options: &[],
        word: None,
        example: "ddns watch -c config.json",
    },
    CommandSpec {
        which: Name::Status,
        name: "status",
        summary: "Show the state of every domain",
        about: "Asks the `ddns watch` that runs on the configuration that `ddns` would use here, or the only one that runs. If none \
                responds, shows what the cache remembers. Exit status: 0 if everything is up to date, 1 if something is not, 2 if \
                several services could be meant, 3 if no service responds. With --alive only that counts: for health checks.",
        configured: true,
        options: &[ALL, JSON, WIDE, flag("alive", "Only check whether the service responds")],
        word: None,
        example: "ddns status",
    },
    CommandSpec {
        which: Name::History,
        name: "history",
        summary: "Show what was sent, what changed and what failed",
        about: "Asks the `ddns watch` that runs on the configuration that `ddns` would use here, or the only one that runs; if none \
                responds, reads the history of that configuration. Shows what was written down beside the cache, the oldest first: every outcome of an update, \
                every change of an address, every source that failed, every lease of a `group` taken over or lost. Of a failure that repeats, the 2nd, 4th, 8th … try is \
                shown. With a DOMAIN, only what concerns it.",
        configured: true,
        options: &[
            option("since", "AGE", "Only what is not older: 30m, 12h, 7d"),
            flag("failed", "Only what failed"),
            flag("changed", "Only changes of an address"),
            flag("group", "Only the group: its lease taken over, given back or lost"),
            ALL,
            JSON,
            WIDE,
        ],
        word: Some(word("DOMAIN", "A domain of the configuration")),
        example: "ddns history home.example.com --since 7d",
    },
    CommandSpec {
        which: Name::Sync,
        name: "sync",
        summary: "Make the running service synchronize now",
        about: "Asks the `ddns watch` that runs on the configuration that `ddns` would use here, or the only one that runs, waits \
                until it is done and prints the result. Failed updates are retried at once, unless their \
                endpoint sent a `Retry-After` that is not over yet.",
        configured: true,
        options: &[ALL, RETRY_STOPPED],
        word: None,
        example: "ddns sync",
    },
    CommandSpec {
        which: Name::Service,
        name: "service",
        summary: "Install `ddns watch` as a service, and look after it",
        about: "`install` checks the configuration, writes what systemd, OpenWrt's procd or cron needs, starts \
                it, and says what it did; a second time it updates that. `uninstall` takes back exactly that: \
                configuration and state stay. `status` shows how it is, `logs` what it says. A service of the host reads \
                /etc/ddns/config.json unless -c names another, and needs root; --user makes one of your own.",
        configured: false,
        options: &[
            flag("user", "Your own service, without root"),
            flag("print", "Show files and commands, do nothing"),
            FOLLOW.1,
            option("manager", "NAME", "systemd, procd or cron, instead of what is found here"),
        ],
        word: Some(Word {
            one_of: &["install", "uninstall", "status", "logs"],
            is_required: true,
            ..word("ACTION", "install, uninstall, status or logs")
        }),
        example: "ddns service install --user -c config.json",
    },
    CommandSpec {
        which: Name::Addresses,
        name: "addresses",
        summary: "Show this host's addresses, which one is sent, and why",
        about: "Shows every address of this host and whether it can be used, what each source of the configuration \
                returns now, and which address would be sent. Also works without a configuration. Sends no update.",
        configured: true,
        options: &[JSON, WIDE],
        word: None,
        example: "ddns addresses --index4 public default",
    },
    CommandSpec {
        which: Name::Listen,
        name: "listen",
        summary: "Receive callbacks on this machine, show them and respond",
        about: "For trying things out: shows every request as an endpoint sees it, keys included, and responds as \
                you choose. Listens on 127.0.0.1:8080 unless you name another ADDRESS; port 0 picks a free port. \
                Ctrl-C stops it.",
        configured: false,
        options: &[
            option("status", "CODE", "Status of the first response; 200 by default"),
            option("then", "CODE", "Status of the next one; repeat for more. The last one stays"),
            option("delay", "TIME", "Wait before each response: 500ms, 2s, 1m"),
            option("retry-after", "SECONDS", "Send a Retry-After; the status is 503 unless --status is given"),
            option("redirect", "URL", "Redirect to URL; the status is 307 unless --status is another 3xx"),
            option("count", "NUMBER", "Exit after this many requests"),
            flag("json", "Print one JSON object per line, for programs"),
            WIDE,
        ],
        word: Some(word("ADDRESS", "Where to listen: an address of this host, a port, or both")),
        example: "ddns listen --status 503 --then 204",
    },
    CommandSpec {
        which: Name::Check,
        name: "check",
        summary: "Check the configuration; show each setting and its origin",
        about: "Shows every setting and where it comes from, with secrets masked, and all errors and warnings. Exit \
                status: 0 if the configuration is valid, otherwise 2. With --online it also looks up the addresses \
                and connects to each endpoint, without sending a request, and exits with 1 if that fails.",
        configured: true,
        options: &[
            flag("all", "Include defaults"),
            flag("online", "Also look up the addresses and connect to each endpoint"),
            JSON,
            WIDE,
        ],
        word: None,
        example: "ddns check --online",
    },
    CommandSpec {
        which: Name::Preview,
        name: "preview",
        summary: "Show every request that would be sent now, and why",
        about: "For every domain: the exact request, the address and its source, and whether it would be sent. Sends \
                no update and does not change the cache. What you typed into `token`, `extra` and URLs shows as ***.",
        configured: true,
        options: &[
            flag("curl", "Print the requests as curl commands"),
            flag("lookup", "Send the requests of `before`, which only read, and show the finished update"),
            flag("show-secrets", "Do not mask secrets; in a terminal, or with --yes"),
            flag("yes", "Allow --show-secrets when the output is not a terminal"),
            option("ip", "ADDRESS", "Show the requests with this address, as an example; once per family"),
            JSON,
            WIDE,
        ],
        word: None,
        example: "ddns preview --curl",
    },
    CommandSpec {
        which: Name::Password,
        name: "password",
        summary: "Make the hash of a password, for the page",
        about: "Asks twice for a password, without showing it; without a terminal, reads one line of standard input. \
                Prints its hash (argon2id): put that into a file and name it in `web.password_file`.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns password > web.password",
    },
    CommandSpec {
        which: Name::Notify,
        name: "notify",
        summary: "Send each notification once, to try it",
        about: "Sends every notification of the configuration (`notify`) once, with example values, and shows the response: \
                about the first event of its `on`, or about EVENT where one is named. Sends no update and does not change \
                the cache. Exit status: 0 if all arrived, otherwise 1.",
        configured: true,
        options: &[],
        word: Some(Word {
            one_of: &["changed", "failed", "recovered", "stopped", "synchronized", "took-over", "lost"],
            ..word("EVENT", "changed, failed, recovered, stopped, synchronized, took-over or lost")
        }),
        example: "ddns notify failed",
    },
    CommandSpec {
        which: Name::Recipes,
        name: "recipes",
        summary: "List the services that `ddns init --recipe` knows",
        about: "A recipe is data: what a service asks for, its rules, and the configuration that it fills. With a WORD, \
                lists only those that contain it. `ddns recipes show NAME` shows one in full, `ddns recipes check FILE` \
                finds what is wrong with one that you wrote.",
        configured: false,
        options: &[JSON],
        word: Some(Word {
            next: Some(&word("NAME", "The recipe to show, or a file that holds one")),
            ..word("WORD", "A part of a name or description; or `show` and the NAME of a recipe, `check` and a FILE")
        }),
        example: "ddns recipes show duckdns",
    },
    CommandSpec {
        which: Name::Schema,
        name: "schema",
        summary: "Print the JSON schema of a configuration, for editors",
        about: "With it, an editor completes and checks a configuration while you write: put the path of the file \
                into `$schema`.",
        configured: false,
        options: &[flag("recipe", "The schema of a recipe instead")],
        word: None,
        example: "ddns schema > ddns.schema.json",
    },
    CommandSpec {
        which: Name::Completions,
        name: "completions",
        summary: "Print the completions for a shell",
        about: "The script contains everything: ddns is not run while you type.",
        configured: false,
        options: &[],
        word: Some(Word { one_of: &["bash", "zsh", "fish"], is_required: true, ..word("SHELL", "bash, zsh or fish") }),
        example: "ddns completions bash > ~/.local/share/bash-completion/completions/ddns",
    },
    CommandSpec {
        which: Name::Man,
        name: "man",
        summary: "Print the manual page",
        about: "In roff, the format that `man` reads.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns man > /usr/local/share/man/man1/ddns.1",
    },
    CommandSpec {
        which: Name::Version,
        name: "version",
        summary: "Show the version; --verbose for reports of errors",
        about: "With --verbose also the commit that it was built from (`unknown` if it was built from an archive), the \
                processor and system that it was built for, and the features that are in it.",
        configured: false,
        options: &[flag("verbose", "Also commit, target and features")],
        word: None,
        example: "ddns version --verbose",
    },
    CommandSpec {
        which: Name::Help,
        name: "help",
        summary: "Explain a command or a topic",
        about: "Without a TOPIC, prints the same as `ddns --help`.",
        configured: false,
        options: &[],
        word: Some(word("TOPIC", "A command, or one of options, config, placeholders, sources, exit-codes")),
        example: "ddns help placeholders",
    },
];

/// Options that set no field and that every synchronization takes: letter, name, value, help.
pub(crate) const CONFIG: (char, OptionSpec) =
    ('c', option("config", "FILE…", "Configuration files, or http(s) URLs; all of them are run"));
/// The option for timers: sets the level of the log.
pub(crate) const QUIET: (char, OptionSpec) = ('q', flag("quiet", "Log warnings and errors only"));
/// For commands that show something that goes on.
pub(crate) const FOLLOW: (char, OptionSpec) = ('f', flag("follow", "Go on: show new lines of the log as they come"));
/// The option that writes a template and does nothing else; its value may be left out.
pub(crate) const NEW_CONFIG: OptionSpec =
    option("new-config", "[FILE]", "Write a commented configuration and exit; config.json by default");
/// For commands that ask a service.
const ALL: OptionSpec = flag("all", "Every service of this user");
/// The option that sends what services refused for good; `sync` has it too.
pub(crate) const RETRY_STOPPED: OptionSpec =
    flag("retry-stopped", "Also send updates that their service refused for good");
/// What plain `ddns` takes, and no command does.
pub(crate) const ALONE: [OptionSpec; 2] = [RETRY_STOPPED, NEW_CONFIG];
/// Options that are understood everywhere.
pub(crate) const EVERYWHERE: [(char, OptionSpec); 2] =
    [('h', flag("help", "Show help")), ('V', flag("version", "Show the version"))];

/// The options that switch a field off.
pub(crate) const NEGATIONS: [(&str, Key); 2] = [("no-cache", Key::Cache), ("no-ssl", Key::Ssl)];

impl CommandSpec {
    /// What `-c` is for this command.
    pub(crate) fn config(&self) -> (char, OptionSpec) {
        let (value, help) = match self.which {
            Name::Init => ("FILE", "The same as FILE"),
            Name::Status | Name::History | Name::Sync => (
                "FILE…",
                "The service on this configuration; by default on the one that `ddns` would use here, or the only one",
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

    /// The option of its own that a letter stands for.
    pub(crate) fn lettered(&self, letter: char) -> Option<&'static str> {
        self.options.iter().find(|choice| choice.letter() == Some(letter)).map(|choice| choice.name)
    }

    /// The words that may follow it, in their order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Word> {
        std::iter::successors(self.word.as_ref(), |word| word.next)
    }

    /// The row of what was typed.
    pub(crate) fn typed(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }
}

impl OptionSpec {
    /// The letter that stands for it, where there is one.
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
                let is_common = EVERYWHERE.iter().chain([&CONFIG]).any(|(_, other)| other.name == choice.name);
                assert!(!is_taken && !is_common, "{} --{}", command.name, choice.name);
                assert_eq!(command.options.iter().filter(|other| other.name == choice.name).count(), 1);
            }
        }
    }
}
