//! `ddns service install`.

use std::env;
use std::io;
use std::path::{Path, absolute};

use ddns_core::address::source::Source;
use ddns_core::config::Config;
use ddns_core::config::raw;
use ddns_core::service::{self, Manager, ServiceScope, ServiceSpec, Starts, Step, systemd};
use ddns_core::text::diagnostic::{Diagnostic, without_repeats};

use super::facts::{HostFacts, Installed, is_written_by_us};
use super::{check, needs_root, note, steps, wrong};
use crate::cli::{CliSettings, ParsedArgs};
use crate::commands::check::warnings;
use crate::http::Client;
use crate::load::{self, Examined};
use crate::output::layout::{broken, width_of};
use crate::output::{complain, fail, print};

/// Where ddns looks for the configuration of a system service.
const SYSTEM_CONFIG_FILES: [&str; 2] = ["/etc/ddns/config.json", "/etc/ddns.json"];

/// The end of `ExecStart` in the unit of a package.
const PACKAGED: &str = " watch -c /etc/ddns/config.json";

/// Checks, writes, starts, and says what it did.
pub(super) async fn run(given: &ParsedArgs, facts: &HostFacts) -> u8 {
    let is_print = given.has("print");
    if !is_print && let Some(code) = needs_root(facts, "install") {
        return code;
    }
    match planned(given, facts).await {
        Err(wrong) => complain(&wrong),
        Ok((_, steps)) if is_print => print(&steps::shown(&steps)),
        Ok((service, steps)) => match steps::carry_out(&steps) {
            Ok(()) => print(&farewell(facts, &service)),
            Err(why) => {
                // cron keeps no log.
                let is_logged = facts.manager != Manager::Cron;
                let logs =
                    if is_logged { format!("see `{}` for details; ", facts.command("logs")) } else { String::new() };
                fail(&format!("{why}\n  hint: {logs}`{}` undoes it", facts.command("uninstall")))
            }
        },
    }
}

/// The service and the steps that install it, or everything that prevents it. Changes nothing.
async fn planned(given: &ParsedArgs, facts: &HostFacts) -> Result<(ServiceSpec, Vec<Step>), Vec<Diagnostic>> {
    let program = env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
    let program = program.ok_or_else(|| vec![wrong("the path of this program is unknown", "start it by its path")])?;
    let configs = configurations(&given.settings.files, facts).map_err(|error| vec![error])?;
    let unfit = configs.iter().chain([&program]).find_map(|path| service::unfit(path));
    let unfit = unfit.or_else(|| systemd::unfit(&program).filter(|_| facts.manager == Manager::Systemd));
    if let Some(why) = unfit {
        return Err(vec![wrong(why, "move it elsewhere")]);
    }
    let loaded = examined(&configs, facts).await?;
    let valid: Vec<&Config> = loaded.iter().collect();
    let entries = || valid.iter().flat_map(|config| &config.entries);
    if facts.manager == Manager::Cron
        && let Some(why) = unfit_for_cron(&valid)
    {
        return Err(vec![why]);
    }
    let relative = check::relative(&valid);
    if !relative.is_empty() {
        return Err(relative);
    }
    let runs_programs = entries().any(|entry| entry.sources.iter().flatten().any(Source::runs_a_program));
    let starts = match runs_programs {
        true => Starts::Programs,
        false if cfg!(target_feature = "crt-static") => Starts::Nothing,
        false => Starts::Libraries,
    };
    let service = ServiceSpec { program, configs, starts };
    let access = check::access(facts, &service, &valid);
    if !access.wrong.is_empty() {
        return Err(access.wrong);
    }
    for warning in check::unwritable(facts, &valid) {
        complain(&[warning]);
    }
    let mut steps = access.steps;
    match facts.installed() {
        Installed::Other(why) if facts.manager == Manager::Cron => {
            return Err(vec![wrong(why, "install cron, or choose another one with `--manager`")]);
        }
        Installed::Other(why) => {
            return Err(vec![wrong(why, "move it away and install again, or change that service")]);
        }
        Installed::OfPackage(path, text) => steps.extend(started(&path, &text, &service)?),
        Installed::Nothing | Installed::Ours(_) => {
            let table = facts.table().map_err(|why| vec![wrong(why, "nothing was changed")])?;
            steps.extend(service::install(facts.manager, facts.scope, &service, &facts.home, &table));
        }
    }
    Ok((service, steps))
}

/// Why cron cannot start ddns with these configurations: each run ends by itself. `None` if it can.
fn unfit_for_cron(configs: &[&Config]) -> Option<Diagnostic> {
    if configs.iter().any(|config| config.interval.is_some()) {
        let message = "`interval` makes ddns keep running, and cron would start another one every five minutes";
        return Some(wrong(message, "remove `interval` from the configuration"));
    }
    configs.iter().any(|config| config.web.is_some()).then(|| {
        let message = "`web` needs a ddns that keeps running, and cron only starts short runs, which open no page";
        wrong(message, "remove `web` from the configuration, or choose another service manager with `--manager`")
    })
}

/// Starts the unit of a package, and does not rewrite it.
fn started(path: &str, text: &str, service: &ServiceSpec) -> Result<Vec<Step>, Vec<Diagnostic>> {
    let is_ours = text.lines().any(|line| line.starts_with("ExecStart=") && line.ends_with(PACKAGED));
    if !is_ours || service.configs != [SYSTEM_CONFIG_FILES[0]] {
        let message = format!("{path} belongs to a package and reads {}", SYSTEM_CONFIG_FILES[0]);
        return Err(vec![wrong(
            message,
            format!("put the configuration there, or use `systemctl edit {}`", systemd::UNIT),
        )]);
    }
    let mut steps = Vec::new();
    // A drop-in that ddns did not write stays unchanged.
    if service.starts == Starts::Programs
        && (is_written_by_us(systemd::DROP_IN) || !Path::new(systemd::DROP_IN).exists())
    {
        steps.push(systemd::for_package(service));
        steps.push(systemd::control(ServiceScope::System, &["daemon-reload"]));
    }
    steps.extend(systemd::start(ServiceScope::System));
    Ok(steps)
}

/// The absolute paths of the files that the user named, or of the first one in the default places.
fn configurations(named: &[String], facts: &HostFacts) -> Result<Vec<String>, Diagnostic> {
    if named.is_empty() {
        return Ok(vec![default_configuration(facts)?]);
    }
    let mut files = Vec::new();
    for name in named {
        if name.contains("://") {
            let hint = "save the configuration in a file, and name that file";
            return Err(wrong("a service reads its configuration from a file, not from a URL", hint));
        }
        let path = absolute(facts.environment.path(name)).ok().and_then(|path| path.to_str().map(str::to_owned));
        files.push(path.ok_or_else(|| wrong("the path of a configuration is not UTF-8 text", "rename it"))?);
    }
    Ok(files)
}

fn default_configuration(facts: &HostFacts) -> Result<String, Diagnostic> {
    if facts.scope == ServiceScope::User {
        let found = load::default_file(&facts.environment.of_service());
        let path = found.and_then(|path| absolute(path).ok()).and_then(|path| path.to_str().map(str::to_owned));
        return path.ok_or_else(|| load::no_configuration(&facts.environment));
    }
    if let Some(path) = SYSTEM_CONFIG_FILES.iter().find(|path| Path::new(path).is_file()) {
        return Ok((*path).to_owned());
    }
    let hint = if Path::new("config.json").is_file() {
        "`sudo install -D -m 600 config.json /etc/ddns/config.json` copies the one in this folder; or name another with -c"
    } else {
        "`sudo ddns init /etc/ddns/config.json` writes one; or name another with -c"
    };
    Err(wrong(format!("there is no configuration: neither {}", SYSTEM_CONFIG_FILES.join(" nor ")), hint))
}

/// Checks the configurations as the service will see them: from its folder, without the variables of this shell.
async fn examined(files: &[String], facts: &HostFacts) -> Result<Vec<Config>, Vec<Diagnostic>> {
    let strangers = facts.environment.not_passed_to_services();
    if !strangers.is_empty() {
        let names = strangers.join(", ");
        note(&format!("{names}: set in this shell, but not for the service; put the values into the configuration"));
    }
    let is_at_home = facts.scope == ServiceScope::User || facts.manager == Manager::Cron;
    let folder = if is_at_home && !facts.home.folder.is_empty() { facts.home.folder.as_str() } else { "/" };
    let _ = env::set_current_dir(folder);
    let settings = CliSettings { files: files.to_vec(), ..CliSettings::default() };
    let environment = facts.environment.of_service();
    let Examined { documents, around, result } = load::examine(settings, &environment, &Client::default()).await;
    let valid = result?;
    let texts: Vec<_> = documents.iter().map(|document| raw::read(document).ok()).collect();
    let all = without_repeats(warnings(&valid, &texts, &around));
    if !all.is_empty() {
        complain(&all);
    }
    Ok(valid.into_iter().map(|(config, _)| config).collect())
}

/// What runs now, and the next steps.
fn farewell(facts: &HostFacts, service: &ServiceSpec) -> String {
    let width = width_of(io::stdout());
    let configs = service.configs.join(", ");
    let state = service::state(facts.manager, facts.scope, &facts.home);
    let how = match facts.manager {
        Manager::Cron => "cron starts ddns every five minutes.",
        _ if facts.scope == ServiceScope::User => "ddns runs now, and starts when you log in.",
        _ => "ddns runs now, and starts with the system.",
    };
    let mut text = format!("\n{}", broken(&format!("{how} Configuration: {configs}. State: {state}."), 0, width));
    let more = match (facts.manager, facts.scope) {
        (Manager::Systemd, ServiceScope::User) => {
            "It stops when you log out; run `loginctl enable-linger` to keep it running from boot to shutdown."
        }
        (Manager::Cron, ServiceScope::System) => "It runs as root; install with --user to run it as yourself.",
        _ => "",
    };
    if !more.is_empty() {
        text += &broken(more, 0, width);
    }
    let mut rows = vec![(facts.command("status"), "show its state")];
    // cron keeps no log.
    if facts.manager != Manager::Cron {
        rows.push((format!("{} -f", facts.command("logs")), "show its log"));
    }
    rows.push((facts.command("uninstall"), "undoes this"));
    let column = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let rows: Vec<String> = rows.iter().map(|(name, what)| format!("  {name:column$}   {what}\n")).collect();
    text + "\n" + &rows.concat()
}
