//! Loads the configuration again while the service runs: when a file changed, or on request.

use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use ddns_core::config::validate::Valid;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::log_format::Level;
use futures_util::future::LocalBoxFuture;

use super::page;
use super::service::Service;
use crate::clock::steady_time;
use crate::group;
use crate::load;
use crate::output::log::Log;

/// A changed file is loaded after this time: it may not be completely written yet.
const SETTLING: Duration = Duration::from_millis(300);

/// How much file times may lag behind the clock. Less than [`SETTLING`], so that a change does not lead to two reloads.
const TICK: Duration = Duration::from_millis(20);

/// Shown to people if the new configuration cannot be used.
pub(super) const REJECTED: &str = "the new configuration is invalid: keeping the previous one";

/// The configurations, or what is wrong with them.
pub(super) type Loaded = Result<Vec<Valid>, Vec<Diagnostic>>;

pub(super) struct Reload<'a> {
    loading: Option<LocalBoxFuture<'a, Loaded>>,
    /// When changed files are loaded; `None` if no file changed.
    pub(super) at: Option<Duration>,
    /// Whether the reload was requested, not caused by a changed file.
    is_requested: bool,
    /// Why the configuration loaded last cannot be used; empty if it can.
    pub(super) errors: Vec<String>,
}

impl<'a> Reload<'a> {
    /// `is_stale`: load the configuration again at once.
    pub(super) fn new(is_stale: bool) -> Self {
        Self { loading: None, at: is_stale.then(steady_time), is_requested: false, errors: Vec::new() }
    }

    /// Schedules a reload, because files changed.
    pub(super) fn schedule(&mut self, now: Duration) {
        self.at = Some(now + SETTLING);
    }

    /// Whether a reload is scheduled or in progress.
    pub(super) fn is_pending(&self) -> bool {
        self.at.is_some() || self.loading.is_some()
    }

    pub(super) fn begin(&mut self, service: &mut Service<'a>, is_requested: bool) {
        self.at = None;
        self.is_requested = is_requested;
        service.systemd.reloading();
        service.read_at = SystemTime::now() - TICK;
        let (settings, environment, client) = (service.settings.clone(), service.environment, service.client);
        self.loading = Some(Box::pin(async move { load::load(settings, environment, client).await }));
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Loaded> {
        match self.loading.as_mut().map(|loading| loading.as_mut().poll(context)) {
            Some(Poll::Ready(loaded)) => {
                self.loading = None;
                Poll::Ready(loaded)
            }
            _ => Poll::Pending,
        }
    }

    /// Decides about the loaded configurations. `None` if the service keeps `current`, because they are the same, or
    /// the new ones cannot be used.
    pub(super) fn decide(
        &mut self,
        loaded: Loaded,
        current: &[Valid],
        service: &mut Service<'_>,
        log: &Log<'_>,
    ) -> Option<Vec<Valid>> {
        let was_wrong = !std::mem::take(&mut self.errors).is_empty();
        let wrong = match loaded {
            Ok(fresh) if is_same(current, &fresh) => {
                // Do not log a file that was only touched.
                let is_news = self.is_requested || was_wrong;
                let level = if is_news { Level::Info } else { Level::Debug };
                log.line(level, || "the configuration has not changed".to_owned());
                return None;
            }
            Ok(fresh) => match usable(&fresh, service) {
                Ok(()) => {
                    log.info("the configuration changed: reloading");
                    return Some(fresh);
                }
                Err(wrong) => wrong,
            },
            Err(wrong) => wrong,
        };
        self.errors = wrong.iter().map(|diagnostic| log.masked(&diagnostic.one_line()).into_owned()).collect();
        for error in &self.errors {
            log.error(error);
        }
        log.error(REJECTED);
        None
    }
}

/// Whether a service can run on these; if so, locks their caches.
fn usable(fresh: &[Valid], service: &mut Service<'_>) -> Result<(), Vec<Diagnostic>> {
    page::wanted(fresh)?;
    group::joinable(fresh)?;
    service.lock(fresh).map_err(|why| vec![Diagnostic::error(Place::Nowhere, why)])
}

fn is_same(current: &[Valid], fresh: &[Valid]) -> bool {
    current.iter().map(|(config, _)| config).eq(fresh.iter().map(|(config, _)| config))
}
