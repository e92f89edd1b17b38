//! Units of systemd. Those in `packaging/systemd` are these texts: a test compares them.

use super::{ServiceScope, ServiceSpec, Starts, Step};

/// The name of the unit.
pub const UNIT: &str = "ddns.service";

/// The user of the host's service: one that exists while it runs, unless there is one of that name.
pub const USER: &str = "ddns";

/// Where packages put their units.
pub const OF_PACKAGES: [&str; 2] = ["/usr/lib/systemd/system/ddns.service", "/lib/systemd/system/ddns.service"];

/// What an installation adds to the unit of a package.
pub const DROP_IN: &str = "/etc/systemd/system/ddns.service.d/programs.conf";

const SECRETS: &str = "\
# Secrets: files that only root can read, passed as credentials. Then leave `token` or `id` out of config.json.
#LoadCredential=token:/etc/ddns/token
#Environment=DDNS_TOKEN_FILE=%d/token
#LoadCredential=id:/etc/ddns/id
#Environment=DDNS_ID_FILE=%d/id
";

const CONFINED: &str = "\
# A user that exists while the service runs and owns only its state.
DynamicUser=yes
User=ddns
StateDirectory=ddns
StateDirectoryMode=0700
ConfigurationDirectory=ddns
UMask=0077

# No privileges, and no way to get any.
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
RestrictSUIDSGID=yes
PrivateUsers=yes
KeyringMode=private

# Files: only state and control socket can be written; homes, devices and other processes are hidden.
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateMounts=yes
PrivateDevices=yes
DevicePolicy=closed
ProtectProc=invisible
ProcSubset=pid
";

const KERNEL: &str = "\
# The kernel.
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateIPC=yes
";

/// What a user's own manager may set without privileges, too.
const CALLS: &str = "\
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictNamespaces=yes
RestrictRealtime=yes
# Requests; address notifications from the kernel; control socket and systemd.
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
SystemCallArchitectures=native
";

/// How the service is started, watched and ended.
const LIFE: &str = "\
WatchdogSec=1min
Restart=on-failure
RestartSec=10s
# Retrying does not fix a wrong configuration.
RestartPreventExitStatus=2
# Running requests have 5 s to finish.
TimeoutStopSec=15s
";

/// `packaging/systemd/ddns.service`
pub fn packaged(service: &ServiceSpec) -> String {
    let head = "Keeps running and sends each change of the address. How to install it: docs/running-as-a-service.md.";
    of_system(service, head)
}

/// `packaging/systemd/ddns-once.service`
pub fn once(service: &ServiceSpec) -> String {
    format!(
        "\
# One synchronization, started by ddns.timer. Use ddns.service instead if ddns can run all the time.

[Unit]
Description=Dynamic DNS: send this host's address to an HTTP endpoint, once
After=network.target

[Service]
Type=oneshot
ExecStart={}
TimeoutStartSec=10min

{SECRETS}
{}",
        command(&service.words(&[])),
        confinement(service)
    )
}

/// `packaging/systemd/programs.conf`
pub fn programs() -> String {
    drop_in(
        "For configurations with `cmd:` or `shell:` sources: lets ddns start programs, which are confined like ddns itself.\n\
         # Install in /etc/systemd/system/ddns.service.d/ (for the timer: ddns-once.service.d/).",
    )
}

/// The same for the unit of a package, which `ddns service install` does not write itself.
pub fn for_package(service: &ServiceSpec) -> Step {
    let head = service.head("", "").replace('\n', "\n# ");
    Step::Write { path: DROP_IN.to_owned(), text: drop_in(&head), mode: 0o644 }
}

/// Takes that back.
pub fn without_drop_in() -> [Step; 3] {
    let folder = DROP_IN.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    [Step::Remove(DROP_IN.to_owned()), Step::RemoveFolder(folder), control(ServiceScope::System, &["daemon-reload"])]
}

fn drop_in(head: &str) -> String {
    format!("# {head}\n\n[Service]\nNoExecPaths=\nExecPaths=\nSystemCallFilter=@system-service\n")
}

/// The unit that `ddns service install` writes.
pub fn installed(service: &ServiceSpec, scope: ServiceScope) -> String {
    let advice = match scope {
        ServiceScope::System => " Change it with `systemctl edit ddns`.",
        ServiceScope::User => " Change it with `systemctl --user edit ddns`.",
    };
    let head = service.head(scope.option(), advice).replace('\n', "\n# ");
    match scope {
        ServiceScope::System => of_system(service, &head),
        ServiceScope::User => of_user(service, &head),
    }
}

fn of_system(service: &ServiceSpec, head: &str) -> String {
    format!(
        "\
# {head}

[Unit]
Description=Dynamic DNS: send this host's address to an HTTP endpoint
# Not network-online.target: ddns waits for a network itself.
After=network.target
# One of the two is enough.
Conflicts=ddns.timer
StartLimitIntervalSec=5min
StartLimitBurst=5

[Service]
Type=notify
ExecStart={}
# With full privileges, because only ddns itself can be started in the unit (NoExecPaths below).
ExecReload=+/bin/kill -HUP $MAINPID
{LIFE}# The control socket, for `ddns status` and `ddns sync`.
RuntimeDirectory=ddns
RuntimeDirectoryMode=0700

{SECRETS}
{}
[Install]
WantedBy=multi-user.target
",
        command(&service.watching()),
        confinement(service)
    )
}

/// A user's manager cannot change users or hide folders on every system: what needs no privileges is left.
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
{LIFE}UMask=0077

# No way to get privileges.
NoNewPrivileges=yes
RestrictSUIDSGID=yes
{CALLS}SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=default.target
",
        command(&service.watching())
    )
}

fn confinement(service: &ServiceSpec) -> String {
    let program = word(&service.program);
    let paths = match service.starts {
        Starts::Nothing => format!(
            "# No other program can be started: `cmd:` and `shell:` sources need programs.conf.\nNoExecPaths=/\n\
             ExecPaths={program}\n"
        ),
        Starts::Libraries => format!(
            "# No other program can be started: `cmd:` and `shell:` sources need programs.conf. This program needs its \
             libraries.\nNoExecPaths=/\nExecPaths={program} -/lib -/lib32 -/lib64 -/usr/lib -/usr/lib32 -/usr/lib64\n"
        ),
        Starts::Programs => {
            "# Programs can be started, for `cmd:` or `shell:` in the configuration; they are confined like ddns itself.\n"
                .to_owned()
        }
    };
    let calls = match service.starts {
        Starts::Programs => "SystemCallFilter=@system-service\n",
        _ => {
            "SystemCallFilter=@basic-io @file-system @io-event @network-io @process @signal @sync @timer\n\
             SystemCallFilter=flock ioctl madvise mremap sysinfo umask uname\n"
        }
    };
    format!("{CONFINED}{paths}\n{KERNEL}{CALLS}{calls}SystemCallErrorNumber=EPERM\n")
}

/// A command line: behind the program, `$` begins a variable.
fn command(words: &[&str]) -> String {
    let words =
        words.iter().enumerate().map(|(at, text)| if at == 0 { word(text) } else { word(text).replace('$', "$$") });
    words.collect::<Vec<_>>().join(" ")
}

/// Why systemd would not start a program there.
pub fn unfit(program: &str) -> Option<&'static str> {
    program
        .contains(['"', '\'', '\\'])
        .then_some("systemd cannot start a program whose path contains a quote or a backslash")
}

/// A word of a unit: `%` is doubled, and what would separate or be read as something else stands in quotes.
fn word(text: &str) -> String {
    let escaped = text.replace('%', "%%");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@+:,./-%=".contains(letter);
    if !escaped.is_empty() && escaped.chars().all(is_plain) {
        return escaped;
    }
    format!("\"{}\"", escaped.replace('\\', "\\\\").replace('"', "\\\""))
}

/// `systemctl`, for the host's services or the user's.
pub fn control(scope: ServiceScope, words: &[&str]) -> Step {
    let option = if scope == ServiceScope::User { &["--user"][..] } else { &[] };
    Step::run(&[&["systemctl"], option, words].concat())
}

/// Starts it now and with the system; anew, where it runs already.
pub fn start(scope: ServiceScope) -> [Step; 2] {
    [control(scope, &["enable", "--quiet", UNIT]), control(scope, &["restart", UNIT])]
}

/// Whether the host's service can write to a file there.
pub fn may_write(path: &str) -> bool {
    ["/var/lib/ddns/", "/var/lib/private/ddns/", "/run/ddns/"].iter().any(|folder| path.starts_with(folder))
}

/// Makes the user that files can be opened to.
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
