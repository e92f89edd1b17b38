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

/// For commands that only look at a configuration.
const THE_FILE: Word = word("FILE", "The same as -c FILE");
/// For commands that print a report.
const JSON: OptionSpec = flag("json", "Print JSON, for programs");
/// For commands that print a report.
const WIDE: OptionSpec = flag("wide", "Do not wrap long lines");

/// The table, in the order of the help.
pub(crate) const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        which: Name::Demo,
        name: "demo",
        summary: "Show what ddns does, without leaving this machine",
        about: "Starts a receiver on loopback in place of your endpoint and sends updates to it: two for new \
                domains, nothing while the address stays the same, and one for a change. Needs no configuration, \
                sends nothing beyond this machine, and leaves no files behind.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns demo",
    },
    CommandSpec {
        which: Name::Init,
        name: "init",
        summary: "Write a configuration: asks a few questions",
        about: "Asks which service has your domain, and then only for what that service needs. Looks up your address, shows \
                what would be sent, sends it once if you say so, and writes a commented file that only you can read. It never \
                overwrites a file. A question that an option already answers is not asked; with --yes, or where nobody \
                can answer, nothing is asked and nothing is sent.",
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
        example: "ddns init",
    },
    CommandSpec {
        which: Name::Import,
        name: "import",
        summary: "Take over the configuration of another client",
        about: "Reads the configuration of ddclient, inadyn, ddns-go, qdm12/ddns-updater, favonia/cloudflare-ddns, NewFuture/DDNS or \
                OpenWrt's ddns-scripts, writes one for ddns, and reports what was taken over, what changed and what is missing. \
                Without FILE it looks in the usual places. It sends nothing, runs nothing, never overwrites a file and never changes \
                the other client's. Exit status: 0 if everything that sends was taken over, 1 if an entry was left out, 2 if nothing \
                was written.",
        configured: false,
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
        example: "ddns import /etc/ddclient.conf",
    },
    CommandSpec {
        which: Name::Watch,
        name: "watch",
        summary: "Keep running: send changes at once, retry what failed",
        about: "Synchronizes at the start, at every `interval` (5 minutes by default), as soon as the kernel reports \
                that an address of this host changed, and on request: `ddns sync` or SIGUSR1. Reloads on SIGHUP and \
                when a configuration file changes. SIGTERM stops it. With --web, you can see its state in a browser.",
        configured: true,
        options: &[],
        word: None,
        example: "ddns watch -c config.json",
    },
    CommandSpec {
        which: Name::Status,
        name: "status",
        summary: "Show the state of every domain",
        about: "Asks the `ddns watch` that uses the same configuration as `ddns` would here, or the only running service. If it does \
                not respond, shows what the cache contains. Exit status: 0 if everything is up to date, 1 if something is not, 2 if \
                several services match, 3 if no service responds. With --alive, 0 means that the service responds: for health checks.",
        configured: true,
        options: &[ALL, JSON, WIDE, flag("alive", "Only check whether the service responds")],
        word: None,
        example: "ddns status",
    },
    CommandSpec {
        which: Name::History,
        name: "history",
        summary: "Show what was sent, what changed and what failed",
        about: "Asks the `ddns watch` that uses the same configuration as `ddns` would here, or the only running service; if it does not \
                respond, reads the history file of that configuration. Lists, oldest first, every outcome of an update, every changed address, every failed \
                source, and every time this host took over or lost the lease of a `group`. If a failure repeats, it lists the 2nd, 4th, 8th … attempt. \
                With a DOMAIN, lists only what concerns it.",
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
        example: "ddns history home.example.com --since 7d",
    },
    CommandSpec {
        which: Name::Sync,
        name: "sync",
        summary: "Make the running service synchronize now",
        about: "Asks the `ddns watch` that uses the same configuration as `ddns` would here, or the only running service, waits \
                until it is done and prints the result. Failed updates are retried at once, unless their \
                endpoint sent a `Retry-After` that has not passed yet.",
        configured: true,
        options: &[ALL, RETRY_STOPPED],
        word: None,
        example: "ddns sync",
    },
    CommandSpec {
        which: Name::Verify,
        name: "verify",
        summary: "Check in DNS whether the world sees the addresses",
        about: "Asks the servers of each domain's own zone now, with or without `verify` in the configuration, and compares what \
                they say with the address that was accepted last; if none was, with the address that the sources give now. Sends \
                no update and does not change the cache. Exit status: 0 if all are visible, 1 if one is not, 3 if it cannot \
                be told. With DOMAINs, only these.",
        configured: true,
        options: &[option("wait", "TIME", "Ask again until all are visible, for so long: 90s, 5m, 1h"), JSON, WIDE],
        word: Some(word("DOMAIN…", "Domains of the configuration")),
        example: "ddns verify home.example.com --wait 5m",
    },
    CommandSpec {
        which: Name::Service,
        name: "service",
        summary: "Install and manage `ddns watch` as a service",
        about: "`install` checks the configuration, writes the files that systemd, OpenWrt's procd or cron needs, starts \
                the service, and lists what it did; run it again to update the service. `uninstall` removes exactly \
                what `install` wrote, and keeps configuration and state. `status` shows whether the service runs, `logs` \
                shows its log. A system service reads /etc/ddns/config.json unless you pass -c, and needs root; \
                --user installs one for your own user.",
        configured: false,
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
        example: "ddns service install --user -c config.json",
    },
    CommandSpec {
        which: Name::Addresses,
        name: "addresses",
        summary: "Show this host's addresses, which one is sent, and why",
        about: "Shows every address of this host and whether it is usable, what each configured source \
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
            option("then", "CODE", "Status of the next response; repeat for more. The last one is kept"),
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
        word: Some(THE_FILE),
        example: "ddns check config.json --online",
    },
    CommandSpec {
        which: Name::Preview,
        name: "preview",
        summary: "Show every request that would be sent now, and why",
        about: "Shows for every domain the exact request, the address and its source, and whether it would be sent. Sends \
                no update and does not change the cache. Your values in `token`, `extra` and URLs appear as ***.",
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
        example: "ddns preview --curl",
    },
    CommandSpec {
        which: Name::Password,
        name: "password",
        summary: "Hash a password for the page",
        about: "Asks twice for a password without showing it; without a terminal, reads one line from standard input. \
                Prints its hash (argon2id): save it in a file, and name that file in `web.password_file`.",
        configured: false,
        options: &[],
        word: None,
        example: "ddns password > web.password",
    },
    CommandSpec {
        which: Name::Notify,
        name: "notify",
        summary: "Send a test of each notification",
        about: "Sends every notification of the configuration (`notify`) once, with example values, and shows the response. \
                Uses the first event of its `on`, or EVENT if you name one. Sends no update and does not change \
                the cache. Exit status: 0 if all were accepted, otherwise 1.",
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
        summary: "List the services that `ddns init --recipe` supports",
        about: "A recipe says what a service asks for, what its rules are, and which configuration to write. With a WORD, \
                lists only recipes that contain it. `ddns recipes show NAME` shows a recipe in full, `ddns recipes check \
                FILE` finds mistakes in a recipe of your own.",
        configured: false,
        options: &[JSON],
        word: Some(Word {
            next: Some(&word("NAME", "The recipe to show, or a file that contains one")),
            ..word("WORD", "Part of a name or description; or `show` and the NAME of a recipe, or `check` and a FILE")
        }),
        example: "ddns recipes show duckdns",
    },
    CommandSpec {
        which: Name::Schema,
        name: "schema",
        summary: "Print the JSON schema of a configuration, for editors",
        about: "Lets an editor complete and check a configuration while you write it: put the path of the file \
                into `$schema`.",
        configured: false,
        options: &[flag("recipe", "Print the schema of a recipe instead")],
        word: None,
        example: "ddns schema > ddns.schema.json",
    },
    CommandSpec {
        which: Name::Completions,
        name: "completions",
        summary: "Print the completions for a shell",
        about: "The script contains all options and commands, and does not run ddns while you type.",
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
    ('c', option("config", "FILE…", "Configuration files, or http(s) URLs; ddns runs all of them"));
/// The option for timers: sets the level of the log.
pub(crate) const QUIET: (char, OptionSpec) = ('q', flag("quiet", "Log warnings and errors only"));
/// For commands that show something that goes on.
pub(crate) const FOLLOW: (char, OptionSpec) = ('f', flag("follow", "Keep showing new lines of the log as they arrive"));
/// The option that writes a template and does nothing else; its value may be left out.
pub(crate) const NEW_CONFIG: OptionSpec =
    option("new-config", "[FILE]", "Write a commented configuration and exit; config.json by default");
/// For commands that ask a service.
const ALL: OptionSpec = flag("all", "Every service of this user");
/// The option that sends what services refused for good; `sync` has it too.
pub(crate) const RETRY_STOPPED: OptionSpec =
    flag("retry-stopped", "Also send updates that the service refused permanently");
/// The option that sends what is up to date.
pub(crate) const FORCE: OptionSpec = option("force", "DOMAIN…", "Send these domains even if they are up to date");
/// The option that waits until the world sees what was accepted.
pub(crate) const VERIFY: OptionSpec =
    option("verify", "TIME", "Then ask DNS whether the addresses are visible, for this long at most: 2m");
/// What plain `ddns` takes, and no command does.
pub(crate) const ALONE: [OptionSpec; 4] = [FORCE, RETRY_STOPPED, VERIFY, NEW_CONFIG];
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

impl Word {
    /// Whether it may stand there several times.
    pub(crate) fn is_repeated(&self) -> bool {
        self.name.ends_with('…')
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
