//! What a service keeps over reloads.

use std::collections::BTreeSet;
use std::io;
use std::path::{self, Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use ddns_core::config::Entry;
use ddns_core::config::fields::file_variables;
use ddns_core::config::validate::Valid;
use ddns_core::engine::Engine;
use ddns_core::engine::plan::Plan;
use ddns_core::journal::SyncResult;
use ddns_core::net::family::Family;
use ddns_core::text::duration::duration;
use tokio::sync::oneshot;

use super::control::Control;
use super::events::Events;
use super::instance::Lock;
use super::metrics::Metrics;
use super::systemd::Systemd;
use crate::cli::CliSettings;
use crate::compose::cache_with_files;
use crate::environment::Environment;
use crate::group::GroupMember;
use crate::http::Client;
use crate::notify::Unreported;
use crate::open_file::reason;
use crate::output::log::{Log, RecentLines};

/// Caches, and the lock of each; `None` if the system cannot lock.
pub(super) type Locks = Vec<(PathBuf, Option<Lock>)>;

pub(super) struct Service<'a> {
    pub(super) settings: CliSettings,
    pub(super) environment: &'a Environment,
    pub(super) client: &'a Client,
    pub(super) systemd: Systemd,
    /// Why the kernel does not report changes of addresses, until this is logged; `None` if it does.
    pub(super) no_notifications: Option<io::Error>,
    /// Whether it was logged that changed files are not noticed at once.
    pub(super) are_missing_notifications_logged: bool,
    pub(super) locks: Locks,
    /// This host in its group; `None`: it is in no group.
    pub(super) member: Option<GroupMember>,
    /// Whether this host joined or left a group since the last run.
    pub(super) is_new_group: bool,
    /// When ddns began to read the current configurations, or earlier.
    pub(super) read_at: SystemTime,
    pub(super) recent: Rc<RecentLines>,
    /// Sources that were logged because nothing was pushed for long.
    pub(super) silent: BTreeSet<String>,
    /// Requests for a synchronization that has not ended; each gets its result.
    pub(super) waiting: Vec<Box<dyn FnOnce(SyncResult)>>,
    /// Requests of the page that wait for the configuration to be loaded.
    pub(super) reloading: Vec<oneshot::Sender<Vec<String>>>,
    /// What notifications still have to report after a reload.
    pub(super) unreported: Unreported,
    /// `None`: there is no page.
    pub(super) metrics: Option<Metrics>,
    /// Whether the configuration changed again while the previous run ended.
    pub(super) is_stale: bool,
    /// The engine between two runs; `None` before the first.
    pub(super) engine: Option<Box<Engine>>,
}

/// Why a run on its configurations ends.
pub(super) enum End {
    Stop(u8),
    /// Another run follows, on these configurations.
    Reload(Rc<Vec<Valid>>, Rc<Plan>),
}

impl<'a> Service<'a> {
    pub(super) fn new(
        settings: CliSettings,
        environment: &'a Environment,
        client: &'a Client,
        no_notifications: Option<io::Error>,
    ) -> Self {
        Self {
            settings,
            environment,
            client,
            systemd: Systemd::new(environment),
            no_notifications,
            are_missing_notifications_logged: false,
            locks: Vec::new(),
            member: None,
            is_new_group: false,
            read_at: environment.read_at,
            recent: Rc::default(),
            silent: BTreeSet::new(),
            waiting: Vec::new(),
            reloading: Vec::new(),
            unreported: Unreported::default(),
            metrics: None,
            is_stale: false,
            engine: None,
        }
    }

    /// Locks the caches of these configurations. If one cannot be locked, nothing changes.
    pub(super) fn lock(&mut self, configs: &[Valid]) -> Result<(), String> {
        self.locks.extend(locks(configs, self.environment, &self.locks)?);
        Ok(())
    }

    /// Releases all caches but those of these configurations. The run that wrote to the others must have ended.
    pub(super) fn release_others(&mut self, configs: &[Valid]) {
        let caches = caches(configs, self.environment);
        self.locks.retain(|(path, _)| caches.contains(path));
    }

    /// The files that the configurations were read from.
    pub(super) fn files(&self, configs: &[Valid]) -> Vec<PathBuf> {
        let named = configs.iter().map(|(config, _)| config.name.as_str()).filter(|name| !name.contains("://"));
        let secrets = file_variables().filter_map(|(_, name)| self.environment.get(name));
        let values = configs.iter().flat_map(|(config, _)| config.files.iter().map(String::as_str));
        named.chain(secrets).chain(values).map(|path| self.environment.path(path)).collect()
    }

    pub(super) fn log_start(&mut self, configs: &[Valid], interval: Duration, log: &Log<'_>) {
        let count: usize =
            entries(configs).flat_map(|entry| Family::ALL.map(|family| entry.domains_of(family).len())).sum();
        let at_once =
            if self.no_notifications.is_none() { ", and at once when an address of this host changes" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        log.info(format!("watching {count} record{plural}: every {}{at_once}", duration(interval)));
        if let Some(error) = self.no_notifications.take() {
            log.warning(format!("this system does not report address changes ({error}): only the interval finds them"));
        }
    }

    /// Logs, once, that changed files are not noticed at once.
    pub(super) fn log_missing_notifications(&mut self, why: &io::Error, log: &Log<'_>) {
        if !std::mem::replace(&mut self.are_missing_notifications_logged, true) {
            let why = reason(why);
            log.warning(format!(
                "changed configuration files cannot be noticed at once ({why}): they are loaded with the next check, or on SIGHUP"
            ));
        }
    }

    /// Opens the control socket for `ddns status` and `ddns sync`.
    pub(super) async fn open_control(&self, configs: &[Valid], events: &mut Events, log: &Log<'_>) {
        // Close the open socket first: the new one has the same name.
        events.control = None;
        // A service in another folder may use the same relative paths for other files.
        let absolute = |path: &Path| path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let caches = self.locks.iter().map(|(path, _)| absolute(path));
        let names = configs.iter().map(|(config, _)| absolute(Path::new(&config.name)));
        let identity: Vec<PathBuf> = if self.locks.is_empty() { names.collect() } else { caches.collect() };
        match Control::open(self.environment, &identity).await {
            Ok(control) => events.control = Some(control),
            Err(error) => {
                log.warning(format!("`ddns status` and `ddns sync` cannot reach this service ({error})"));
            }
        }
    }
}

/// Locks the caches of these configurations, except those in `known`. Fails with a sentence if another service has one.
pub(super) fn locks(
    configs: &[Valid],
    environment: &Environment,
    known: &[(PathBuf, Option<Lock>)],
) -> Result<Locks, String> {
    let is_new = |path: &PathBuf| known.iter().all(|(known, _)| known != path);
    let lock = |path: PathBuf| Lock::take(&path).map(|lock| (path, lock)).map_err(|why| why + second_member(configs));
    caches(configs, environment).into_iter().filter(is_new).map(lock).collect()
}

fn caches(configs: &[Valid], environment: &Environment) -> BTreeSet<PathBuf> {
    entries(configs).filter_map(|entry| cache_with_files(entry, environment)).collect()
}

/// A hint for users who try a group on one host.
fn second_member(configs: &[Valid]) -> &'static str {
    if configs.iter().any(|(config, _)| config.group.is_some()) {
        " (a second group member on the same host needs its own, too: its history is kept beside it)"
    } else {
        ""
    }
}

fn entries(configs: &[Valid]) -> impl Iterator<Item = &Entry> {
    configs.iter().flat_map(|(config, _)| &config.entries)
}
