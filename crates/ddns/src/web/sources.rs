//! What the sources of addresses say, for the page: ddns asks them when somebody looks, and not again for a while.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::source::Source;
use ddns_core::config::Config;
use ddns_core::config::validate::Valid;
use ddns_core::journal::Row;
use ddns_core::net::family::Family;
use ddns_core::net::local_address::LocalAddress;
use ddns_core::net::ssl::Ssl;
use ddns_core::web::controls::{EditControl, EditForm};
use tokio::time::timeout;

use super::views::configuration::SourceChoice;
use crate::clock::unix_time;
use crate::http::Client;
use crate::lookup::report::LookupReport;
use crate::lookup::{Query, local_addresses, look_up_all, own_address};

/// How long results are shown, in seconds.
const FRESH: u64 = 60;

/// How long a page waits for the sources. The result of a slow one is shown when it has responded.
const PAGE_WAIT: Duration = Duration::from_millis(1500);

/// How long a source may take that is asked from a form.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// What the sources said last.
#[derive(Default)]
pub(super) struct Sources {
    /// The last report with its time, in seconds since the epoch.
    report: RefCell<Option<(u64, Rc<LookupReport>)>>,
    is_asking: Cell<bool>,
    /// What each source gave last, by family and source.
    given: RefCell<BTreeMap<(usize, String), String>>,
}

impl Sources {
    /// The last report if it is still fresh, or else a new one; `None`: not all sources have responded yet.
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

    /// Asks the sources, unless they are being asked already; `None`: not all of them have responded yet.
    pub(super) async fn ask(self: &Rc<Self>, configs: Rc<Vec<Valid>>) -> Option<(u64, Rc<LookupReport>)> {
        if self.is_asking.replace(true) {
            return None;
        }
        // Until the new report is there, the page says that the sources are being asked.
        self.report.take();
        let sources = Rc::clone(self);
        let asking = tokio::task::spawn_local(async move {
            let configs: Vec<&Config> = configs.iter().map(|(config, _)| config).collect();
            let report = LookupReport::make(&configs, &Client::default()).await;
            report.lists.iter().for_each(|list| sources.note(list.family, &list.lookup));
            sources.report.replace(Some((unix_time().seconds, Rc::new(report))));
            sources.is_asking.set(false);
        });
        timeout(PAGE_WAIT, asking).await.ok()?.ok()?;
        self.known()
    }

    fn note(&self, family: Family, lookup: &Lookup) {
        for attempt in &lookup.attempts {
            let gives = given(attempt.result.as_ref().ok().map(|choice| choice.ip));
            self.given.borrow_mut().insert((family.index(), attempt.source.clone()), gives);
        }
    }

    /// Takes in the addresses that the service itself found last.
    pub(super) fn learn(&self, rows: &[Row]) {
        for (ip, source) in rows.iter().filter_map(|row| Some((row.address?, row.source.clone()?))) {
            let family = if ip.is_ipv4() { Family::V4 } else { Family::V6 };
            self.given.borrow_mut().insert((family.index(), source), ip.to_string());
        }
    }

    /// Asks the sources of a form, and those that it offers, but runs no programs.
    pub(super) async fn ask_for(&self, form: &EditForm) {
        let client = Client::default();
        for family in Family::ALL {
            let name = ["index4", "index6"][family.index()];
            let own = form.controls.iter().filter(|control| control.field.name == name).flat_map(EditControl::items);
            let texts = own.filter(|(_, is_all)| *is_all).map(|(text, _)| text.as_str()).chain(["default", "public"]);
            let mut all: Vec<Source> = texts.filter_map(|text| Source::parse(text).ok()).collect();
            all.retain(|source| !source.runs_a_program());
            let query = Query::of(family, &all, LIMIT, &Ssl::Auto);
            if let Ok(lookup) = timeout(2 * LIMIT, look_up_all(query, &client)).await {
                self.note(family, &lookup);
            }
        }
    }

    /// The sources that a form offers, each with what it gave last, and others that gave something.
    pub(super) fn choices(&self, family: Family) -> Vec<SourceChoice> {
        let known = self.given.borrow();
        let last = known.get(&(family.index(), "public".to_owned())).cloned().unwrap_or_default();
        let mut all: Vec<SourceChoice> = Vec::new();
        let mut offer = |source: &str, gives: &str, is_offered| {
            if all.iter().all(|other| other.source != source) {
                all.push(SourceChoice { source: source.to_owned(), gives: gives.to_owned(), is_offered });
            }
        };
        offer("default", &given(own_address(family)), true);
        offer("public", &last, true);
        let is_of = |local: &&LocalAddress| local.unusable().is_none() && Family::of(local.ip) == Some(family);
        for local in local_addresses().unwrap_or_default().iter().filter(is_of) {
            offer(&format!("interface:{}", local.interface), &local.ip.to_string(), true);
        }
        for ((_, source), gives) in known.iter().filter(|((of, _), _)| *of == family.index()) {
            offer(source, gives, false);
        }
        all
    }
}

/// What a source gave, in words.
fn given(ip: Option<IpAddr>) -> String {
    ip.map_or_else(|| "no address".to_owned(), |ip| ip.to_string())
}
