//! `ddns service`: installs `ddns watch` with the service manager of this host, and uninstalls it. The core decides
//! what to write and run; the program finds the facts and carries out the steps.

mod check;
mod facts;
mod install;
mod status;
mod steps;
mod uninstall;

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use ddns_core::config::validate::Valid;
use ddns_core::service::{Manager, ServiceScope, log};
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::shell;

use super::status::NOT_RUNNING;
use crate::cli::{CliSettings, ParsedArgs};
use crate::http::Client;
use crate::load;
use crate::output::layout::{WIDE, broken, width_of};
use crate::output::{Ended, complain, fail, print, refuse, say};

use facts::{HostFacts, Installed, configured};

/// The actions that take an option.
const TAKEN_BY: [(&str, &[&str]); 2] = [("print", &["install", "uninstall", "logs"]), ("follow", &["logs"])];

/// Exits with 2 for a wrong configuration or command line, without changing anything; with 1 if a step fails.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let action = given.word().unwrap_or_default().to_owned();
    let stray = TAKEN_BY.iter().find(|(option, actions)| given.has(option) && !actions.contains(&action.as_str()));
    if let Some((option, actions)) = stray {
        let message = format!("`ddns service {action}` has no option --{option}");
        return Err(refuse(message, format!("it is for {}", actions.join(", "))));
    }
    if action != "install" && !given.settings.files.is_empty() {
        let message = format!("`ddns service {action}` takes no configuration: it acts on the installed service");
        return Err(refuse(message, "leave out -c"));
    }
    let facts = HostFacts::find(&given).map_err(|error| complain(&[error]))?;
    Ok(match action.as_str() {
        "install" => install::run(&given, &facts).await,
        "uninstall" => uninstall::run(&facts, given.has("print")).await,
        "status" => status::run(facts.where_installed()).await,
        _ => logs(&facts.where_installed(), given.has("follow"), given.has("print")).await,
    })
}

fn wrong(message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Place::Nowhere, message).hint(hint)
}

/// Prints a note to standard error.
fn note(text: &str) {
    let width = if io::IsTerminal::is_terminal(&io::stderr()) { width_of(io::stderr()) } else { WIDE };
    say(&broken(&format!("note: {text}"), 0, width));
}

/// Only root may change system services: the exit status if this user may not.
fn needs_root(facts: &HostFacts, action: &str) -> Option<u8> {
    if facts.scope == ServiceScope::User || facts.is_root {
        return None;
    }
    let way = match facts.manager {
        Manager::Procd => "log in as root".to_owned(),
        _ => format!("`sudo ddns service {action}`, or `ddns service {action} --user` for your own service"),
    };
    refuse(format!("you must be root to {action} a system service"), way);
    Some(1)
}

/// Replaces this process with the program that shows the log.
async fn logs(facts: &HostFacts, follow: bool, is_print: bool) -> u8 {
    let found = facts.installed();
    let file = match &found {
        Installed::Ours(text) if facts.manager == Manager::Cron => log_file(text, facts).await,
        Installed::Nothing if !is_print => {
            let _ = fail(&format!("no ddns service is installed: {}", facts.looked_for()));
            return NOT_RUNNING;
        }
        _ => None,
    };
    let Some(words) = log(facts.manager, facts.scope, file.as_deref(), follow) else {
        return fail("cron keeps no log: it mails what ddns prints. For a log, set `log.file` in the configuration");
    };
    let line = shell::line(words.iter().map(String::as_str));
    if is_print {
        return print(&format!("{line}\n"));
    }
    let error = Command::new(&words[0]).args(&words[1..]).exec();
    fail(&format!("`{line}` cannot be started ({error})"))
}

/// `log.file` of the configuration that the crontab names.
async fn log_file(table: &str, facts: &HostFacts) -> Option<String> {
    loaded(configured(table), facts).await.into_iter().find_map(|(config, _)| config.log.file)
}

/// The configurations of an installed service; none if one of them is invalid by now.
async fn loaded(files: Vec<String>, facts: &HostFacts) -> Vec<Valid> {
    if files.is_empty() {
        return Vec::new();
    }
    let settings = CliSettings { files, ..CliSettings::default() };
    load::load(settings, &facts.environment.of_service(), &Client::default()).await.unwrap_or_default()
}
