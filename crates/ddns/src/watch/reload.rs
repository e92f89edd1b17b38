//! Loading the configuration again while the service runs: when a file changed, or on request.

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

/// A file that changed is loaded after this time: whoever writes it may not be done.
const SETTLING: Duration = Duration::from_millis(300);

/// The times of files may be so much behind the clock. Less than [`SETTLING`]: what led to a reload does not lead to another.
const TICK: Duration = Duration::from_millis(20);

/// For people, where what was loaded cannot be used.
pub(super) const REJECTED: &str = "the new configuration is invalid: keeping the previous one";

/// The configurations, or what is wrong with them.
pub(super) type Loaded = Result<Vec<Valid>, Vec<Diagnostic>>;

pub(super) struct Reload<'a> {
    loading: Option<LocalBoxFuture<'a, Loaded>>,
    /// When files that changed are loaded; none where none did.
    pub(super) at: Option<Duration>,
    /// Whether it was requested: no file changed.
    is_requested: bool,
    /// Why what was loaded last could not be used; empty where it could.
    pub(super) errors: Vec<String>,
}

impl<'a> Reload<'a> {
    /// A configuration that `is_stale` is loaded again at once.
    pub(super) fn new(is_stale: bool) -> Self {
        Self { loading: None, at: is_stale.then(steady_time), is_requested: false, errors: Vec::new() }
    }

    /// Files changed.
    pub(super) fn schedule(&mut self, now: Duration) {
        self.at = Some(now + SETTLING);
    }

    /// Whether something else than what runs now may be wanted.
    pub(super) fn is_pending(&self) -> bool {
        self.at.is_some() || self.loading.is_some()
    }

    /// Begins to load.
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

    /// Takes in what was loaded while `current` run: `None` where these go on, because it is the same, or cannot be used.
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
                // A file that was merely touched is no news.
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

/// Whether a service can run on these; their caches are locked then.
fn usable(fresh: &[Valid], service: &mut Service<'_>) -> Result<(), Vec<Diagnostic>> {
    page::wanted(fresh)?;
    group::joinable(fresh)?;
    service.lock(fresh).map_err(|why| vec![Diagnostic::error(Place::Nowhere, why)])
}

fn is_same(current: &[Valid], fresh: &[Valid]) -> bool {
    current.iter().map(|(config, _)| config).eq(fresh.iter().map(|(config, _)| config))
}
