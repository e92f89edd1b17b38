//! Whether the service could run: whether its user can reach the program and the files that it needs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ddns_core::config::{Cache, Config};
use ddns_core::net::ssl::Ssl;
use ddns_core::service::access::{Obstacle, PathNode, UserIds, hidden, obstacle, user};
use ddns_core::service::{Manager, ServiceScope, ServiceSpec, Step, procd, systemd};
use ddns_core::text::diagnostic::{Diagnostic, Place, without_repeats};
use ddns_core::text::order;
use ddns_core::text::shell::quote;

use super::facts::HostFacts;
use super::wrong;
use crate::platform::has_acl;

/// What prevents the service from running, and the steps that fix the rest.
#[derive(Default)]
pub(super) struct AccessCheck {
    pub(super) wrong: Vec<Diagnostic>,
    /// Let the group of the service read files.
    pub(super) steps: Vec<Step>,
}

/// The user of the service. Only system services of systemd and procd run as another user than the one who installs
/// them.
pub(super) fn service_user(facts: &HostFacts) -> Option<&'static str> {
    match (facts.manager, facts.scope) {
        (Manager::Systemd, ServiceScope::System) => Some(systemd::USER),
        (Manager::Procd, _) => Some(procd::USER),
        _ => None,
    }
}

fn ids_of(name: &str) -> Option<UserIds> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    user(name, &read("/etc/passwd"), &read("/etc/group"))
}

pub(super) fn access(facts: &HostFacts, service: &ServiceSpec, configs: &[&Config]) -> AccessCheck {
    let Some(name) = service_user(facts) else { return AccessCheck::default() };
    let known = ids_of(name);
    let reader = known.clone().unwrap_or_default();
    let is_confined = facts.manager == Manager::Systemd;
    let group = if is_confined {
        systemd::USER.to_owned()
    } else {
        reader.gids.first().map(u32::to_string).unwrap_or_default()
    };
    let mut access = AccessCheck::default();
    access.wrong.extend(unreachable_program(&service.program, &reader, is_confined));
    for path in needed(&service.configs, configs) {
        let nodes = nodes(&path);
        let place = nodes.last().map_or(path.as_str(), |node| node.path.as_str());
        if let Some(what) = hidden(place).filter(|_| is_confined) {
            access.wrong.push(hidden_file(&path, what, service.configs.contains(&path)));
            continue;
        }
        match obstacle(&reader, &nodes, 4) {
            None => {}
            Some(Obstacle::Closed(node)) => {
                access.steps.push(Step::run(&["chgrp", &group, &node.path]));
                access.steps.push(Step::run(&["chmod", "g+r", &node.path]));
            }
            Some(Obstacle::Folder(node)) => access.wrong.push(closed_folder(&path, node, name)),
            Some(Obstacle::OfGroup(node)) => access.wrong.push(wrong(
                format!("the service runs as the user {name}, who cannot read {path}"),
                format!(
                    "it belongs to another group. `sudo chgrp {group} {path}` lets the service read it, \
                     `sudo chmod o+r {path}` everybody",
                    path = quote(&node.path)
                ),
            )),
        }
    }
    if known.is_none() && is_confined && !access.steps.is_empty() {
        access.steps.insert(0, systemd::make_user());
    }
    access
}

/// The files of the service as an installation opens them: besides their owner, only its group can read them.
pub(super) fn opened(facts: &HostFacts, names: &[String], configs: &[&Config]) -> Vec<String> {
    let ids = service_user(facts).and_then(ids_of);
    let Some(group) = ids.and_then(|ids| ids.gids.first().copied()) else { return Vec::new() };
    let is_opened =
        |node: &PathNode| !node.is_folder && !node.has_acl && node.gid == group && node.mode & 0o074 == 0o040;
    let files = needed(names, configs).into_iter().filter_map(|path| nodes(&path).pop());
    let mut all: Vec<String> = files.filter(is_opened).map(|node| node.path).collect();
    // Two names may lead to one file.
    order::sort(&mut all);
    all.dedup();
    all
}

/// Every file that the service reads: the configurations with these names, and what they name.
fn needed(names: &[String], configs: &[&Config]) -> Vec<String> {
    let in_settings = configs.iter().flat_map(|config| config.files.iter().cloned());
    let of_entries = configs.iter().flat_map(|config| &config.entries).map(|entry| &entry.ssl);
    let of_notify = configs.iter().flat_map(|config| &config.notify).map(|notification| &notification.ssl);
    let authorities = of_entries.chain(of_notify).filter_map(|ssl| match ssl {
        Ssl::Ca(path) => Some(path.clone()),
        _ => None,
    });
    let pages = configs.iter().filter_map(|config| config.web.as_ref());
    let of_page = pages.flat_map(|page| [&page.password, &page.token, &page.certificate, &page.key]);
    let of_page = of_page.flatten().map(|held| held.path.clone());
    let all = names.iter().cloned().chain(in_settings).chain(authorities).chain(of_page);
    let mut all: Vec<String> = all.collect();
    order::sort(&mut all);
    all.dedup();
    all
}

/// A file and the folders above it, from the top, with links resolved.
fn nodes(path: &str) -> Vec<PathNode> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    above.into_iter().filter_map(node).collect()
}

fn node(path: &Path) -> Option<PathNode> {
    let metadata = fs::metadata(path).ok()?;
    Some(PathNode {
        path: path.display().to_string(),
        mode: metadata.mode(),
        uid: metadata.uid(),
        gid: metadata.gid(),
        has_acl: has_acl(path),
        is_folder: metadata.is_dir(),
    })
}

fn unreachable_program(program: &str, reader: &UserIds, is_confined: bool) -> Option<Diagnostic> {
    let nodes = nodes(program);
    let why = match (hidden(program).filter(|_| is_confined), obstacle(reader, &nodes, 5)) {
        (Some(what), _) => format!("is in one of the {what}, which the service cannot see"),
        (None, Some(_)) => "cannot be run by the user of the service".to_owned(),
        (None, None) => return None,
    };
    let copy = format!("install -m 755 {} /usr/local/bin/ddns", quote(program));
    let hint = format!("`sudo {copy}`, then `sudo /usr/local/bin/ddns service install`");
    Some(wrong(format!("the program {program} {why}"), hint))
}

fn hidden_file(path: &str, what: &str, is_config: bool) -> Diagnostic {
    let hint = if is_config {
        let copy = format!("install -D -m 600 {} /etc/ddns/config.json", quote(path));
        format!("`sudo {copy}`, then `sudo ddns service install`; or, without sudo, `ddns service install --user`")
    } else {
        "move it to /etc/ddns, and change the configuration; or install with --user".to_owned()
    };
    wrong(format!("{path} is in one of the {what}, which a system service cannot see"), hint)
}

fn closed_folder(path: &str, node: &PathNode, name: &str) -> Diagnostic {
    let message = format!("the service runs as the user {name}, who cannot reach {path}: {} is closed", node.path);
    let or = if node.path.starts_with("/etc/ddns") { "" } else { ", or move the file to /etc/ddns" };
    wrong(message, format!("`sudo chmod o+x {}`{or}", quote(&node.path)))
}

/// Errors about files that ddns would write elsewhere as a service than here: it starts in another folder.
pub(super) fn relative(configs: &[&Config]) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    for config in configs {
        let caches = config.entries.iter().filter_map(|entry| match &entry.cache {
            Cache::File(path) => Some(("cache", path)),
            Cache::Off | Cache::Standard => None,
        });
        let logs = config.log.file.iter().map(|path| ("log.file", path));
        for (field, path) in logs.chain(caches) {
            if !path.starts_with("~/") && Path::new(path).is_relative() {
                let message = format!("`{field}`: {path} is not a whole path, and a service starts in another folder");
                let hint = format!("write the whole path, which begins with /, or leave `{field}` out");
                wrong.push(Diagnostic::error(Place::file(&config.name), message).hint(hint));
            }
        }
    }
    without_repeats(wrong)
}

/// Warnings about files that ddns would write, but the service cannot.
pub(super) fn unwritable(facts: &HostFacts, configs: &[&Config]) -> Vec<Diagnostic> {
    if (facts.manager, facts.scope) != (Manager::Systemd, ServiceScope::System) {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    for config in configs {
        let mut add = |field: &str, path: &str, way: &str| {
            if !systemd::may_write(path) {
                let message = format!("`{field}`: the service cannot write to {path}");
                warnings.push(Diagnostic::warning(Place::file(&config.name), message).hint(way));
            }
        };
        if let Some(path) = &config.log.file {
            add("log.file", path, "leave it out: the journal keeps the log; or name a file in /var/lib/ddns");
        }
        if config.web.as_ref().is_some_and(|page| page.allow_edit) {
            add("web.allow_edit", &config.name, "leave it out, or install with --user: then the page can add to it");
        }
        for entry in &config.entries {
            if let Cache::File(path) = &entry.cache {
                add("cache", path, "leave it out, or name a file in /var/lib/ddns");
            }
        }
    }
    warnings.dedup();
    warnings
}
