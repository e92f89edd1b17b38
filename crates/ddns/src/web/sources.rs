//! What the sources of addresses say, for the page: asked when somebody looks, and not again for a while.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ddns_core::config::Config;
use ddns_core::config::validate::Valid;
use tokio::time::timeout;

use crate::clock::unix_time;
use crate::http::Client;
use crate::lookup::report::LookupReport;

/// For how many seconds their results are shown.
const FRESH: u64 = 60;

/// So long a page waits for them. What a slow one says is shown when it has responded.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What was said last.
#[derive(Default)]
pub(super) struct Sources {
    /// With the time, in seconds since the epoch.
    report: RefCell<Option<(u64, Rc<LookupReport>)>>,
    is_asking: Cell<bool>,
}

impl Sources {
    /// What was said not long ago, or what they say now; `None` if one of them takes its time.
    pub(super) async fn current(self: &Rc<Self>, configs: Rc<Vec<Valid>>) -> Option<(u64, Rc<LookupReport>)> {
        match self.known() {
            None => self.ask(configs).await,
            known => known,
        }
    }

    fn known(&self) -> Option<(u64, Rc<LookupReport>)> {
        let is_fresh = |(at, _): &(u64, Rc<LookupReport>)| unix_time().seconds.abs_diff(*at) < FRESH;
        self.report.borrow().clone().filter(is_fresh)
    }

    /// Asks them, unless that is being done; `None` if one of them takes its time.
    pub(super) async fn ask(self: &Rc<Self>, configs: Rc<Vec<Valid>>) -> Option<(u64, Rc<LookupReport>)> {
        if self.is_asking.replace(true) {
            return None;
        }
        let sources = Rc::clone(self);
        let asking = tokio::task::spawn_local(async move {
            let configs: Vec<&Config> = configs.iter().map(|(config, _)| config).collect();
            let report = LookupReport::make(&configs, &Client::default()).await;
            sources.report.replace(Some((unix_time().seconds, Rc::new(report))));
            sources.is_asking.set(false);
        });
        timeout(PATIENCE, asking).await.ok()?.ok()?;
        self.known()
    }
}
