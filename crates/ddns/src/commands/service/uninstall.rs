//! `ddns service uninstall`: undoes what `install` did, and nothing else.

use std::env;
use std::fs;
use std::io;

use ddns_core::config::Config;
use ddns_core::service::access::user;
use ddns_core::service::{self, Manager, ServiceScope, Step, systemd};
use ddns_core::text::shell;

use super::facts::{HostFacts, Installed, configured, is_written_by_us};
use super::{check, loaded, needs_root, steps};
use crate::output::layout::{broken, width_of};
use crate::output::{fail, print, refuse};

/// Removes what it can, even if a step fails. Exits with 1 then.
pub(super) async fn run(facts: &HostFacts, is_print: bool) -> u8 {
    if !is_print && let Some(code) = needs_root(facts, "uninstall") {
        return code;
    }
    let found = facts.installed();
    let steps = match &found {
        Installed::Nothing => return nothing(facts),
        Installed::Other(why) => {
            // Nothing is known about a crontab that cannot be read.
            let is_file = facts.manager != Manager::Cron;
            let unknown = "nothing was changed: whether the crontab has a line for ddns is unknown";
            refuse(why.as_str(), if is_file { "it was kept: remove it yourself" } else { unknown });
            return 1;
        }
        Installed::OfPackage(..) => {
            let mut steps = vec![systemd::control(ServiceScope::System, &["disable", "--now", systemd::UNIT])];
            if is_written_by_us(systemd::DROP_IN) {
                steps.extend(systemd::without_drop_in());
            }
            steps
        }
        // For cron, `text` is the whole crontab.
        Installed::Ours(text) => service::uninstall(facts.manager, facts.scope, &facts.home, text),
    };
    if is_print {
        return print(&steps::shown(&steps));
    }
    let code = report(facts, steps::carry_out_each(&steps));
    let files = opened(facts, &found).await;
    let width = width_of(io::stdout());
    let left = broken(&left(facts, &found), 0, width);
    print(&format!("\n{left}{}", closing(&files, width))).max(code)
}

/// Prints the steps that failed. Returns the exit status.
fn report(facts: &HostFacts, failed: Vec<(&Step, String)>) -> u8 {
    let is_systemctl = |step: &Step| facts.manager == Manager::Systemd && matches!(step, Step::Run { .. });
    let (untold, others): (Vec<_>, Vec<_>) = failed.into_iter().partition(|(step, _)| is_systemctl(step));
    let untold: Vec<String> = untold.into_iter().map(|(_, why)| why).collect();
    let mut code = 0;
    if !untold.is_empty() {
        let why = untold.join("; ");
        code = fail(&format!("systemctl failed, so the service may still be running: {why}"));
    }
    for (_, why) in others {
        code = fail(&why);
    }
    code
}

/// The files that the group of the service can still read. ddns does not close them: others may rely on that by now.
async fn opened(facts: &HostFacts, found: &Installed) -> Vec<String> {
    let names = match found {
        Installed::Ours(text) | Installed::OfPackage(_, text) => configured(text),
        _ => Vec::new(),
    };
    if check::service_user(facts).is_none() {
        return Vec::new();
    }
    // As when it was installed.
    let _ = env::set_current_dir("/");
    let valid = loaded(names.clone(), facts).await;
    let configs: Vec<&Config> = valid.iter().map(|(config, _)| config).collect();
    check::opened(facts, &names, &configs)
}

/// How to close these files again, with the command on a line of its own.
fn closing(opened: &[String], width: usize) -> String {
    if opened.is_empty() {
        return String::new();
    }
    let note = "The group of the service can still read what was opened to it. To close that again:";
    let words = ["chmod", "g-r"].into_iter().chain(opened.iter().map(String::as_str));
    format!("{}  {}\n", broken(note, 0, width), shell::line(words))
}

/// What was kept.
fn left(facts: &HostFacts, found: &Installed) -> String {
    let (text, package) = match found {
        Installed::Ours(text) => (text.as_str(), String::new()),
        Installed::OfPackage(path, _) => {
            ("", format!(" {path} belongs to a package; remove the package to remove it."))
        }
        _ => ("", String::new()),
    };
    let configs = service::configurations(text).unwrap_or("/etc/ddns");
    let state = service::state(facts.manager, facts.scope, &facts.home);
    let mut left = if fs::symlink_metadata(&state).is_ok() {
        format!("Configuration and state were kept: {configs}, {state}.{package}")
    } else {
        format!("The configuration was kept: {configs}.{package}")
    };
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_host = (facts.manager, facts.scope) == (Manager::Systemd, ServiceScope::System);
    if is_host && package.is_empty() && user(systemd::USER, &passwd, "").is_some() {
        left += " So was the user ddns, whose group may own the configuration: `userdel ddns` removes it.";
    }
    left
}

fn nothing(facts: &HostFacts) -> u8 {
    let own = facts.own().map(|own| format!(" One is installed for your user: `{}`.", own.command("uninstall")));
    let hint = own.unwrap_or_default();
    print(&format!("No ddns service is installed: {}.{hint}\n", facts.looked_for()))
}
