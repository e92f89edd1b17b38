//! `ddns service status`: what the service manager says about the service, and a summary of its updates.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use ddns_core::journal::Status;
use ddns_core::service::{Manager, ServiceScope, procd, systemd};
use ddns_core::text::duration::seconds;

use super::facts::{HostFacts, Installed, configured};
use super::{NOT_RUNNING, note};
use crate::load::full_name;
use crate::output::layout::{beside, width_of};
use crate::output::print;
use crate::watch::{closed_folder, services};

/// The column in which the text of a row begins.
const COLUMN: usize = 10;

/// What the service manager says.
struct ManagerState {
    /// In words.
    text: String,
    is_running: bool,
    /// The process of the service; `None` if the manager does not tell.
    process: Option<u32>,
}

/// Exits with 0 if the service runs and everything is up to date, with 1 if something is not, with 3 if no service is
/// installed or responds.
pub(super) async fn run(facts: HostFacts) -> u8 {
    let found = facts.installed();
    let what = match &found {
        Installed::Nothing => {
            let text = format!("No ddns service is installed: {}.\n", facts.looked_for());
            return print(&text).max(NOT_RUNNING);
        }
        // Without its table, nothing is known.
        Installed::Other(why) if facts.manager == Manager::Cron => {
            return print(&format!("Whether cron starts ddns is unknown: {why}.\n")).max(NOT_RUNNING);
        }
        Installed::OfPackage(path, _) => format!("{path}, of a package"),
        Installed::Ours(_) => facts.file().unwrap_or_else(|| "a line in this user's crontab".to_owned()),
        Installed::Other(why) => why.clone(),
    };
    let ManagerState { text, is_running, process } = state(&facts);
    let mut rows = vec![("Service", format!("{what} ({})", facts.manager.key())), ("State", text)];
    if facts.manager == Manager::Cron {
        rows.push(("Updates", "`ddns status` shows the result of the last run".to_owned()));
        return print(&shown(&rows));
    }
    let names = names(&facts, &found);
    let mut running = services(&facts.environment).await.running;
    running.retain(|(_, status)| is_installed(status, &names, process));
    let mut code = if is_running { 0 } else { NOT_RUNNING };
    for (_, status) in &running {
        rows.push(("Updates", summary(status)));
        code = code.max(u8::from(!status.is_good()));
    }
    if running.is_empty() {
        code = NOT_RUNNING;
        rows.push(("Updates", "the service does not respond".to_owned()));
        if let Some(folder) = closed_folder(&facts.environment) {
            note(&format!("only root may ask the service in {}: `sudo ddns service status`", folder.display()));
        }
    }
    print(&shown(&rows)).max(code)
}

/// The full names of the configurations of the installed service; empty if they are unknown.
fn names(facts: &HostFacts, found: &Installed) -> Vec<String> {
    let configs = match found {
        Installed::Ours(text) | Installed::OfPackage(_, text) => configured(text),
        _ => {
            let text = facts.file().and_then(|path| fs::read_to_string(path).ok());
            configured(&text.unwrap_or_default())
        }
    };
    configs.iter().map(|name| full_name(name)).collect()
}

/// Whether a running `ddns watch` is the installed service, and not another one of the same user. After
/// `systemctl edit`, the service may use another configuration than its unit names, but systemd knows its process.
fn is_installed(status: &Status, names: &[String], process: Option<u32>) -> bool {
    let is_unknown = names.is_empty() && process.is_none();
    is_unknown
        || process.is_some() && status.process == process
        || status.configs.iter().any(|name| names.contains(name))
}

fn shown(rows: &[(&str, String)]) -> String {
    let width = width_of(io::stdout());
    rows.iter().map(|(name, text)| beside(&format!("{name}:"), text, COLUMN, width)).collect()
}

fn summary(status: &Status) -> String {
    let process = status.process.unwrap_or_default();
    let next = status.next.map_or_else(String::new, |next| format!(", next synchronization in {}", seconds(next)));
    let wrong = if status.errors.is_empty() { "" } else { "; the configuration changed but is invalid" };
    format!("{} (process {process}{next}){wrong}", status.summary())
}

fn state(facts: &HostFacts) -> ManagerState {
    match facts.manager {
        Manager::Systemd => of_systemd(facts.scope),
        Manager::Procd => {
            let asked = |word: &str| said(&[procd::SCRIPT, word]).is_some();
            let (runs, starts) = (asked("running"), asked("enabled"));
            let words = [if runs { "running" } else { "not running" }, if starts { "enabled" } else { "not enabled" }];
            ManagerState { text: words.join(", "), is_running: runs, process: None }
        }
        Manager::Cron => {
            ManagerState { text: "cron starts it every five minutes".to_owned(), is_running: true, process: None }
        }
    }
}

fn of_systemd(scope: ServiceScope) -> ManagerState {
    let asked = ["show", systemd::UNIT, "--property=ActiveState,SubState,UnitFileState,Result,NRestarts,MainPID"];
    let Some(text) = said(&[&["systemctl"], scope.word(), &asked].concat()) else {
        return ManagerState { text: "systemd does not respond".to_owned(), is_running: false, process: None };
    };
    let value =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or("unknown");
    let active = value("ActiveState");
    let mut state = format!("{active} ({}), {}", value("SubState"), value("UnitFileState"));
    if !matches!(value("Result"), "success" | "unknown") {
        state += &format!(", last result: {}", value("Result"));
    }
    if !matches!(value("NRestarts"), "0" | "unknown") {
        state += &format!(", restarted {} times", value("NRestarts"));
    }
    // A service that does not run has the process 0.
    let process = value("MainPID").parse::<u32>().ok().filter(|process| *process > 0);
    ManagerState { text: state, is_running: active == "active" || active == "reloading", process }
}

/// The output of a program; `None` if it fails.
fn said(words: &[&str]) -> Option<String> {
    let program = Path::new(words.first()?);
    let output = Command::new(program).args(&words[1..]).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
