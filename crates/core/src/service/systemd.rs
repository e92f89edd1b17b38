//! Units for systemd: those in `packaging/systemd`, with the changes of an installation.

use super::{ServiceScope, ServiceSpec, Starts, Step};

/// The name of the unit.
pub const UNIT: &str = "ddns.service";

/// The user of the host's service. systemd creates it while the service runs, unless it exists.
pub const USER: &str = "ddns";

/// Where packages put the unit.
pub const OF_PACKAGES: [&str; 2] = ["/usr/lib/systemd/system/ddns.service", "/lib/systemd/system/ddns.service"];

/// The drop-in that an installation adds to the unit of a package.
pub const DROP_IN: &str = "/etc/systemd/system/ddns.service.d/programs.conf";

/// `packaging/systemd/ddns.service`: the unit that an installation for the host changes in a few lines.
const PACKAGED: &str = include_str!("ddns.service");

/// The program and the command line in the packaged unit.
const PROGRAM: &str = "/usr/local/bin/ddns";
const START: &str = "/usr/local/bin/ddns watch -c /etc/ddns/config.json";

/// The lines of the packaged unit that limit which programs it may start, and which system calls it may make.
const PATHS: &str = "\
# No other program can be started: `cmd:` and `shell:` sources need programs.conf.
NoExecPaths=/
ExecPaths=/usr/local/bin/ddns
";
const CALLS: &str = "\
SystemCallFilter=@basic-io @file-system @io-event @network-io @process @signal @sync @timer
SystemCallFilter=flock ioctl madvise mremap sysinfo umask uname
";

/// Writes `packaging/systemd/programs.conf` for the unit of a package, which `ddns service install` does not replace.
pub fn for_package(service: &ServiceSpec) -> Step {
    let (_, settings) = include_str!("programs.conf").split_once("\n\n").unwrap_or_default();
    let text = format!("# {}\n\n{settings}", service.head("", ""));
    Step::Write { path: DROP_IN.to_owned(), text, mode: 0o644 }
}

/// Removes what [`for_package`] wrote.
pub fn without_drop_in() -> [Step; 3] {
    let folder = DROP_IN.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    [Step::Remove(DROP_IN.to_owned()), Step::RemoveFolder(folder), control(ServiceScope::System, &["daemon-reload"])]
}

/// The unit that `ddns service install` writes.
pub fn installed(service: &ServiceSpec, scope: ServiceScope) -> String {
    let advice = match scope {
        ServiceScope::System => " Change it with `systemctl edit ddns`.",
        ServiceScope::User => " Change it with `systemctl --user edit ddns`.",
    };
    let head = service.head(scope.option(), advice);
    match scope {
        ServiceScope::System => of_system(service, &head),
        ServiceScope::User => of_user(service, &head),
    }
}

fn of_system(service: &ServiceSpec, head: &str) -> String {
    let program = word(&service.program);
    let (paths, calls) = match service.starts {
        Starts::Nothing => (PATHS.replace(PROGRAM, &program), CALLS),
        Starts::Libraries => {
            let paths = format!("{program} -/lib -/lib32 -/lib64 -/usr/lib -/usr/lib32 -/usr/lib64");
            let why = "conf. This program needs its libraries.\n";
            (PATHS.replace("conf.\n", why).replace(PROGRAM, &paths), CALLS)
        }
        Starts::Programs => {
            let why = "# Programs can be started, for `cmd:` or `shell:` in the configuration; they are confined like ddns itself.\n";
            (why.to_owned(), "SystemCallFilter=@system-service\n")
        }
    };
    let (_, unit) = PACKAGED.split_once('\n').unwrap_or_default();
    let unit = unit.replace(CALLS, calls).replace(PATHS, &paths);
    format!("# {head}\n{}", unit.replacen(START, &command(&service.watching()), 1))
}

/// The unit for one user. It contains only settings that need no privileges: not on every system can a user's service manager
/// change users or hide folders.
fn of_user(service: &ServiceSpec, head: &str) -> String {
    format!(
        "\
# {head}

[Unit]
Description=Dynamic DNS: send this host's address to an HTTP endpoint
StartLimitIntervalSec=5min
StartLimitBurst=5

[Service]
Type=notify
ExecStart={}
ExecReload=/bin/kill -HUP $MAINPID
{}UMask=0077

# No way to get privileges.
NoNewPrivileges=yes
RestrictSUIDSGID=yes
{}SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
",
        command(&service.watching()),
        packaged_between("$MAINPID\n", "# The control socket"),
        packaged_between("PrivateIPC=yes\n", CALLS)
    )
}

/// The part of the packaged unit between two texts.
fn packaged_between(before: &str, behind: &str) -> &'static str {
    let rest = PACKAGED.split_once(before).map_or("", |(_, rest)| rest);
    rest.split_once(behind).map_or("", |(part, _)| part)
}

/// A command line. `$` begins a variable, but not in the path of the program.
fn command(words: &[&str]) -> String {
    let words =
        words.iter().enumerate().map(|(at, text)| if at == 0 { word(text) } else { word(text).replace('$', "$$") });
    words.collect::<Vec<_>>().join(" ")
}

/// Why systemd would not start a program with this path; `None` if it would.
pub fn unfit(program: &str) -> Option<&'static str> {
    program
        .contains(['"', '\'', '\\'])
        .then_some("systemd cannot start a program whose path contains a quote or a backslash")
}

/// A word for a unit file: `%` is doubled, and words with special characters are quoted.
fn word(text: &str) -> String {
    let escaped = text.replace('%', "%%");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@+:,./-%=".contains(letter);
    if !escaped.is_empty() && escaped.chars().all(is_plain) {
        return escaped;
    }
    format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs `systemctl` for the services of the host or of the user.
pub fn control(scope: ServiceScope, words: &[&str]) -> Step {
    Step::run(&[&["systemctl"], scope.word(), words].concat())
}

/// Starts the service now and with the system; restarts it if it is running.
pub fn start(scope: ServiceScope) -> [Step; 2] {
    [control(scope, &["enable", "--quiet", UNIT]), control(scope, &["restart", UNIT])]
}

/// Whether the host's service can write a file with this path.
pub fn may_write(path: &str) -> bool {
    ["/var/lib/ddns/", "/var/lib/private/ddns/", "/run/ddns/"].iter().any(|folder| path.starts_with(folder))
}

/// Creates the user, so that files can be made readable for it.
pub fn make_user() -> Step {
    Step::run(&["systemd-sysusers", "--inline", &format!("u {USER} - \"Dynamic DNS\"")])
}

#[cfg(test)]
mod tests {
    use super::super::tests::odd;
    use super::*;

    #[test]
    fn words_mean_to_systemd_what_they_are() {
        assert_eq!(word("/usr/bin/ddns"), "/usr/bin/ddns");
        assert_eq!(word("/a b/100%"), "\"/a b/100%%\"");
        assert_eq!(command(&["/x", "it's \"$HOME\" \\"]), r#"/x "it's \"$$HOME\" \\""#);
        assert_eq!(word(""), "\"\"");
    }

    #[test]
    fn a_service_of_a_user_asks_for_nothing_that_needs_privileges() {
        let unit = installed(&odd(), ServiceScope::User);
        for key in ["DynamicUser", "User=", "ProtectSystem", "PrivateUsers", "NoExecPaths", "StateDirectory", "=+/bin"]
        {
            assert!(!unit.contains(key), "{key}:\n{unit}");
        }
        assert!(unit.contains("WantedBy=default.target") && unit.contains("NoNewPrivileges=yes"), "{unit}");
        assert!(unit.contains("\nRestart=on-failure\n") && unit.contains("\nLockPersonality=yes\n"), "{unit}");
    }

    #[test]
    fn what_may_be_started_follows_from_the_configuration() {
        let unit = |starts| installed(&ServiceSpec { starts, ..odd() }, ServiceScope::System);
        assert!(unit(Starts::Nothing).contains("\nNoExecPaths=/\nExecPaths=\"/opt/my tools/100%%/ddns\"\n"));
        assert!(unit(Starts::Libraries).contains(" -/usr/lib "));
        let programs = unit(Starts::Programs);
        assert!(!programs.contains("NoExecPaths=/") && programs.contains("=@system-service\n"), "{programs}");
        assert!(programs.contains("ProtectSystem=strict"), "{programs}");
    }
}
