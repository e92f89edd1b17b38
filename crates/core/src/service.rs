//! `ddns service`: the files to write and the commands to run so that the system starts `ddns`, and how to undo that. All steps
//! are values, so `--print` shows exactly what an installation does.

pub mod access;
pub mod cron;
pub mod procd;
pub mod systemd;

use crate::text::shell;
use crate::text::vocabulary::vocabulary;

/// Marks each file that an installation writes: only files with this text are replaced or removed.
pub const MARKER: &str = "Written by `ddns service install`";

/// Precedes the names of the configurations in the head of a file.
const CONFIGURATION: &str = "Configuration: ";

vocabulary! {
    /// A service manager.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Manager {
        /// systemd
        Systemd = "systemd",
        /// The service manager of `OpenWrt`
        Procd = "procd",
        /// For hosts without a service manager: cron runs `ddns` every five minutes.
        Cron = "cron",
    }
}

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceScope {
    /// The host's.
    System,
    /// One user's (`--user`).
    User,
}

impl ServiceScope {
    /// The option for this scope, with a leading space; empty for the host's.
    pub fn option(self) -> &'static str {
        if self == Self::User { " --user" } else { "" }
    }

    /// The option for this scope, for a list of words.
    pub fn word(self) -> &'static [&'static str] {
        if self == Self::User { &["--user"] } else { &[] }
    }
}

/// What a service must be allowed to start besides itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starts {
    /// Nothing: the program is static.
    Nothing,
    /// Nothing, but the program must load its libraries.
    Libraries,
    /// The programs of `cmd:` and `shell:` sources.
    Programs,
}

/// The service to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSpec {
    /// The full path of the program.
    pub program: String,
    /// The full paths of the configurations.
    pub configs: Vec<String>,
    /// What the service must be allowed to start.
    pub starts: Starts,
}

impl ServiceSpec {
    /// The command line: program, `before`, and the configurations.
    fn words<'a>(&'a self, before: &[&'a str]) -> Vec<&'a str> {
        let program = std::iter::once(self.program.as_str()).chain(before.iter().copied());
        program.chain(["-c"]).chain(self.configs.iter().map(String::as_str)).collect()
    }

    /// The command line of the service.
    fn watching(&self) -> Vec<&str> {
        self.words(&["watch"])
    }

    /// The head of a file, to put after a first `# `: what wrote it, how to remove it, and which configurations it uses.
    fn head(&self, options: &str, advice: &str) -> String {
        let head = format!("{MARKER}; `ddns service uninstall{options}` removes it.{advice}");
        format!("{head}\n# {CONFIGURATION}{}", self.configs.join(", "))
    }
}

/// The folders of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// The home folder.
    pub folder: String,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home folder.
    pub config: String,
}

/// One step of an installation or removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Write a file; create its folder if necessary.
    Write {
        /// The path.
        path: String,
        /// The whole text.
        text: String,
        /// The permissions.
        mode: u32,
    },
    /// Remove a file.
    Remove(String),
    /// Remove a folder if it is empty.
    RemoveFolder(String),
    /// Run a program.
    Run {
        /// The program and its arguments.
        words: Vec<String>,
        /// Its standard input.
        input: Option<String>,
        /// Whether the steps end if this program fails.
        must_succeed: bool,
    },
}

impl Step {
    /// Runs a program that must succeed.
    pub fn run(words: &[&str]) -> Self {
        Self::Run { words: words.iter().map(|&word| word.to_owned()).collect(), input: None, must_succeed: true }
    }

    /// The step as `--print` shows it: the file, or a command to type.
    pub fn shown(&self) -> String {
        match self {
            Self::Write { path, text, mode } => format!("# The file {path} (mode {mode:o}):\n{text}\n"),
            Self::Remove(path) => format!("{}\n", shell::line(["rm", path])),
            Self::RemoveFolder(path) => format!("{}\n", shell::line(["rmdir", path])),
            Self::Run { words, input: None, .. } => format!("{}\n", shell::line(words.iter().map(String::as_str))),
            Self::Run { words, input: Some(text), .. } => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                format!("{} <<'END'\n{text}{end}END\n", shell::line(words.iter().map(String::as_str)))
            }
        }
    }
}

/// The file that tells the service manager about the service; `None` for cron, which uses a table.
pub fn file(manager: Manager, scope: ServiceScope, home: &Home) -> Option<String> {
    match (manager, scope) {
        (Manager::Systemd, ServiceScope::System) => Some(format!("/etc/systemd/system/{}", systemd::UNIT)),
        (Manager::Systemd, ServiceScope::User) => Some(format!("{}/systemd/user/{}", home.config, systemd::UNIT)),
        (Manager::Procd, _) => Some(procd::SCRIPT.to_owned()),
        (Manager::Cron, _) => None,
    }
}

/// The steps of an installation. `table` is the current table of cron.
pub fn install(manager: Manager, scope: ServiceScope, service: &ServiceSpec, home: &Home, table: &str) -> Vec<Step> {
    let write = |text: String, mode: u32| {
        file(manager, scope, home).map(|path| Step::Write { path, text, mode }).into_iter().collect::<Vec<_>>()
    };
    match manager {
        Manager::Systemd => {
            let mut steps = write(systemd::installed(service, scope), 0o644);
            steps.push(systemd::control(scope, &["daemon-reload"]));
            steps.extend(systemd::start(scope));
            steps
        }
        Manager::Procd => {
            let mut steps = write(procd::installed(service), 0o755);
            steps.extend(["enable", "restart"].map(|word| Step::run(&[procd::SCRIPT, word])));
            steps
        }
        Manager::Cron => vec![cron::replace(cron::with(table, service, scope))],
    }
}

/// The steps that undo an installation. `table` is the current table of cron.
pub fn uninstall(manager: Manager, scope: ServiceScope, home: &Home, table: &str) -> Vec<Step> {
    let remove = file(manager, scope, home).map(Step::Remove);
    match manager {
        Manager::Systemd => {
            let stop = [systemd::control(scope, &["disable", "--now", systemd::UNIT])];
            let reload = systemd::control(scope, &["daemon-reload"]);
            stop.into_iter().chain(remove).chain([reload]).collect()
        }
        Manager::Procd => {
            let stop = ["stop", "disable"].map(|word| {
                let words = [procd::SCRIPT, word].map(str::to_owned).to_vec();
                // The service may be stopped or disabled already.
                Step::Run { words, input: None, must_succeed: false }
            });
            stop.into_iter().chain(remove).collect()
        }
        Manager::Cron => vec![cron::replace(cron::without(table))],
    }
}

/// The folder in which the service keeps its cache.
pub fn state(manager: Manager, scope: ServiceScope, home: &Home) -> String {
    match (manager, scope) {
        (Manager::Systemd, ServiceScope::System) | (Manager::Procd, _) => "/var/lib/ddns".to_owned(),
        _ => format!("{}/.local/state/ddns", home.folder),
    }
}

/// The command that shows the log; `None` if cron runs ddns without a log file. `log_file` is that of the configuration.
pub fn log(manager: Manager, scope: ServiceScope, log_file: Option<&str>, follow: bool) -> Option<Vec<String>> {
    let words: Vec<&str> = match manager {
        Manager::Systemd => {
            [&["journalctl", "--no-pager", "--lines=100"], scope.word(), &["--unit", systemd::UNIT]].concat()
        }
        Manager::Procd => vec!["logread", "-e", "ddns"],
        Manager::Cron => vec!["tail", "-n", "100", log_file?],
    };
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    if follow {
        words.insert(1, "-f".to_owned());
    }
    Some(words)
}

/// The configurations that the head of a file names, with commas.
pub fn configurations(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.split_once(CONFIGURATION).map(|(_, names)| names.trim()))
}

/// Why a path cannot be written to the file of any service manager; `None` if it can.
pub fn unfit(path: &str) -> Option<&'static str> {
    path.chars()
        .any(char::is_control)
        .then_some("the path of the program or of a configuration contains a control character")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ServiceSpec {
        /// The service of the files in `packaging/`.
        pub(super) fn packaged(program: &str) -> Self {
            let configs = vec!["/etc/ddns/config.json".to_owned()];
            Self { program: program.to_owned(), configs, starts: Starts::Nothing }
        }
    }

    pub(super) fn odd() -> ServiceSpec {
        ServiceSpec {
            program: "/opt/my tools/100%/ddns".to_owned(),
            configs: vec!["/etc/ddns/it's \"$HOME\" \\ <é>&.json".to_owned(), "/etc/ddns/b.json".to_owned()],
            starts: Starts::Nothing,
        }
    }

    fn home() -> Home {
        Home { folder: "/home/a".to_owned(), config: "/home/a/.config".to_owned() }
    }

    #[test]
    fn every_file_has_the_marker_and_names_the_configurations() {
        for manager in Manager::ALL {
            for scope in [ServiceScope::System, ServiceScope::User] {
                for service in [ServiceSpec::packaged("/usr/bin/ddns"), odd()] {
                    let steps = install(manager, scope, &service, &home(), "");
                    let text = steps.iter().find_map(|step| match step {
                        Step::Write { text, .. } | Step::Run { input: Some(text), .. } => Some(text),
                        _ => None,
                    });
                    let text = text.expect("a text");
                    assert!(text.contains(MARKER), "{text}");
                    assert_eq!(configurations(text), Some(service.configs.join(", ").as_str()), "{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_what_is_removed() {
        for manager in Manager::ALL {
            for scope in [ServiceScope::System, ServiceScope::User] {
                let service = ServiceSpec::packaged("/usr/bin/ddns");
                let written =
                    install(manager, scope, &service, &home(), "").into_iter().filter_map(|step| match step {
                        Step::Write { path, .. } => Some(path),
                        _ => None,
                    });
                let removed = uninstall(manager, scope, &home(), "").into_iter().filter_map(|step| match step {
                    Step::Remove(path) => Some(path),
                    _ => None,
                });
                assert_eq!(written.collect::<Vec<_>>(), removed.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_step_is_shown_as_it_can_be_typed() {
        assert_eq!(Step::run(&["chgrp", "ddns", "/a b"]).shown(), "chgrp ddns '/a b'\n");
        let table = Step::Run { words: vec!["crontab".to_owned()], input: Some("x".to_owned()), must_succeed: true };
        assert_eq!(table.shown(), "crontab <<'END'\nx\nEND\n");
    }
}
