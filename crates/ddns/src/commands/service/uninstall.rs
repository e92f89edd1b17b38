//! `ddns service uninstall`: undoes what `install` did, and nothing else.

use std::fs;
use std::io;

use ddns_core::service::access::user;
use ddns_core::service::{self, Manager, ServiceScope, systemd};

use super::facts::{HostFacts, Installed, is_written_by_us};
use super::{needs_root, steps};
use crate::output::layout::{broken, width_of};
use crate::output::{fail, print, refuse};

pub(super) fn run(facts: &HostFacts, is_print: bool) -> u8 {
    if !is_print && let Some(code) = needs_root(facts, "uninstall") {
        return code;
    }
    let found = facts.installed();
    let steps = match &found {
        Installed::Nothing => return nothing(facts),
        Installed::Other(why) => {
            refuse(why.as_str(), "it was kept: remove it yourself");
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
    if let Err(why) = steps::carry_out(&steps) {
        return fail(&why);
    }
    print(&format!("\n{}", broken(&left(facts, &found), 0, width_of(io::stdout()))))
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
    let mut left = format!("Configuration and state were kept: {configs}, {state}.{package}");
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
