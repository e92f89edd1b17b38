//! The facts about this host: its service manager, its user, and what is already installed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use ddns_core::service::systemd::OF_PACKAGES;
use ddns_core::service::{Home, MARKER, Manager, ServiceScope, configurations, cron, file};
use ddns_core::text::diagnostic::{Diagnostic, nearest};
use rustix::process::geteuid;

use super::wrong;
use crate::cli::ParsedArgs;
use crate::environment::{Environment, has_program};
use crate::open_file::reason;

/// Everything that decides what an action does.
pub(super) struct HostFacts {
    pub(super) manager: Manager,
    pub(super) scope: ServiceScope,
    pub(super) home: Home,
    pub(super) is_root: bool,
    /// Whether `--manager` chose the service manager.
    is_named: bool,
    pub(super) environment: Environment,
}

/// What is installed where the service would be.
pub(super) enum Installed {
    Nothing,
    /// The text that `ddns service install` wrote; for cron, the whole crontab.
    Ours(String),
    /// The unit of a package: its path and text.
    OfPackage(String, String),
    /// Something that ddns must not change: a sentence about it.
    Other(String),
}

impl HostFacts {
    pub(super) fn find(given: &ParsedArgs) -> Result<Self, Diagnostic> {
        let environment = Environment::read();
        let manager = match given.value("manager") {
            Some(name) => Manager::parse(name).ok_or_else(|| unknown(name))?,
            None => found()?,
        };
        let scope = if given.has("user") { ServiceScope::User } else { ServiceScope::System };
        let is_root = geteuid().is_root();
        if scope == ServiceScope::User && manager == Manager::Procd {
            return Err(wrong("OpenWrt has no user services", "leave out --user"));
        }
        if scope == ServiceScope::User && is_root && environment.get("SUDO_USER").is_some() {
            return Err(wrong("--user with sudo would install a service for root", "leave out either sudo or --user"));
        }
        let folder = environment.home().map(|home| home.display().to_string()).unwrap_or_default();
        if folder.is_empty() && scope == ServiceScope::User {
            return Err(wrong("HOME is not set: there is no place for your own service", "set HOME"));
        }
        let named = environment.get("XDG_CONFIG_HOME").filter(|path| Path::new(path).is_absolute());
        let config = named.map_or_else(|| format!("{folder}/.config"), str::to_owned);
        let home = Home { folder, config };
        Ok(Self { manager, scope, home, is_root, is_named: given.has("manager"), environment })
    }

    /// The command line for an action on this service.
    pub(super) fn command(&self, action: &str) -> String {
        let manager = if self.is_named { format!(" --manager {}", self.manager.key()) } else { String::new() };
        format!("ddns service {action}{}{manager}", self.scope.option())
    }

    /// The file of the service; `None` for cron.
    pub(super) fn file(&self) -> Option<String> {
        file(self.manager, self.scope, &self.home)
    }

    /// These facts, or those of the user's own service if only that one is installed.
    pub(super) fn where_installed(self) -> Self {
        if matches!(self.installed(), Installed::Nothing) { self.own().unwrap_or(self) } else { self }
    }

    /// The facts of the user's own service, if it is installed and these are about the system service.
    pub(super) fn own(&self) -> Option<Self> {
        // A user has only one crontab, and OpenWrt has no user services.
        let is_possible = self.scope == ServiceScope::System && self.manager == Manager::Systemd;
        let own =
            Self { scope: ServiceScope::User, home: self.home.clone(), environment: self.environment.clone(), ..*self };
        (is_possible && matches!(own.installed(), Installed::Ours(_))).then_some(own)
    }

    pub(super) fn installed(&self) -> Installed {
        let Some(path) = self.file() else {
            return match self.table() {
                Ok(table) if cron::has_one(&table) => Installed::Ours(table),
                Ok(_) => Installed::Nothing,
                Err(why) => Installed::Other(why),
            };
        };
        match fs::read_to_string(&path) {
            Ok(text) if text.contains(MARKER) => Installed::Ours(text),
            Ok(_) => Installed::Other(format!("{path} already exists, and `ddns service install` did not write it")),
            Err(error) if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {
                self.of_package()
            }
            Err(error) => Installed::Other(format!("{path} already exists, and cannot be read ({})", reason(&error))),
        }
    }

    fn of_package(&self) -> Installed {
        let is_possible = self.manager == Manager::Systemd && self.scope == ServiceScope::System;
        let mut units = OF_PACKAGES.iter().filter(|_| is_possible);
        let unit = units.find_map(|path| Some((path, fs::read_to_string(path).ok()?)));
        unit.map_or(Installed::Nothing, |(path, text)| Installed::OfPackage((*path).to_owned(), text))
    }

    /// The crontab of the current user; empty if there is none, or the manager is not cron. Fails if it cannot be read:
    /// an installation would overwrite it.
    pub(super) fn table(&self) -> Result<String, String> {
        if self.manager != Manager::Cron {
            return Ok(String::new());
        }
        let output = Command::new("crontab").arg("-l").env("LC_ALL", "C").stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("`crontab` cannot be run ({})", reason(&error)))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            // vixie-cron and its descendants print the first text, busybox the second.
            let is_missing = said.contains("no crontab") || said.contains("No such file");
            return if is_missing { Ok(String::new()) } else { Err(format!("`crontab -l` failed: {}", said.trim())) };
        }
        String::from_utf8(output.stdout).map_err(|_| "the crontab is not UTF-8 text".to_owned())
    }

    /// Why no service was found: a phrase.
    pub(super) fn looked_for(&self) -> String {
        match self.file() {
            Some(path) => format!("{path} does not exist"),
            None => "this user's crontab has no line for it".to_owned(),
        }
    }
}

/// The configurations of an installed service: those in the head that `install` writes, or else those in the command
/// line of a unit or script that came with a package.
pub(super) fn configured(text: &str) -> Vec<String> {
    if let Some(names) = configurations(text) {
        return names.split(", ").map(str::to_owned).collect();
    }
    let command = text.lines().find_map(|line| line.split_once(" watch -c "));
    command.map_or("", |(_, names)| names).split_whitespace().map(str::to_owned).collect()
}

/// Whether `ddns service install` wrote a file.
pub(super) fn is_written_by_us(path: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains(MARKER))
}

/// The service manager of this host.
fn found() -> Result<Manager, Diagnostic> {
    let has = |path: &str| Path::new(path).exists();
    match () {
        // sd_booted(3) does the same.
        () if has("/run/systemd/system") => Ok(Manager::Systemd),
        () if has("/etc/openwrt_release") => Ok(Manager::Procd),
        () if has_program("crontab") => Ok(Manager::Cron),
        () => Err(wrong(
            "no service manager found: neither systemd nor OpenWrt's procd runs here, and there is no `crontab`",
            "start `ddns watch -c FILE` from your own init system; in a container, make it the container's command",
        )),
    }
}

fn unknown(name: &str) -> Diagnostic {
    let all = Manager::ALL.map(Manager::key);
    let near = nearest(name, all).map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    wrong("--manager names an unknown service manager", format!("{near}Use one of {}", all.join(", ")))
}
