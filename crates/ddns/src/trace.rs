//! What the driver is told and what it does, for the checks of the tests: lines of JSON, appended to the file that
//! `TRACE_DDNS` names. Not part of a release.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::IpAddr;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use ddns_core::config::Concurrency;
use ddns_core::engine::plan::{Plan, StoreId, StorePlace};
use ddns_core::engine::{Effect, Engine, Event, Facts, RequestId};
use ddns_core::journal::{JournalEvent, What};
use ddns_core::text::own_json;
use serde::Serialize;

use crate::clock::{steady_time, unix_time};

/// Larger files are not copied into the trace.
const MAX_FILE_BYTES: usize = 1 << 20;

/// A domain, its record type and the address.
type TracedUpdate = (String, &'static str, IpAddr);

#[derive(Serialize)]
pub(crate) enum Traced {
    Begin,
    Closing,
    Cancel,
    Settled {
        request: RequestId,
        retry_after: Option<String>,
        /// What the journal says about it, and whether it is tried again.
        told: Vec<(TracedUpdate, bool)>,
    },
    Persisted {
        file: String,
        text: Option<String>,
    },
    Send {
        request: RequestId,
        members: Vec<TracedUpdate>,
        callback: String,
        origin: String,
        config: usize,
        concurrency: Option<u16>,
        timeout: f64,
        file: Option<String>,
        is_followed: bool,
    },
}

pub(crate) struct DriverTrace {
    /// `None` if no trace is wanted, or it cannot be written.
    file: Option<File>,
    /// Tells drivers of all processes apart.
    driver: String,
}

impl DriverTrace {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = std::env::var_os("TRACE_DDNS");
        let file = path.and_then(|path| File::options().create(true).append(true).open(path).ok());
        Self { file, driver: format!("{}.{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)) }
    }

    fn write(&mut self, what: &Traced) {
        let Some(file) = &mut self.file else { return };
        let line = own_json::line(&(&self.driver, steady_time().as_secs_f64(), unix_time().seconds, what));
        // In one write, so that lines of several processes stay whole.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    /// What to write about an event once the engine was told.
    pub(crate) fn event(&self, event: &Event, plan: &Plan) -> Option<Traced> {
        self.file.as_ref()?;
        match event {
            Event::Begin => Some(Traced::Begin),
            Event::Stop | Event::Reload(_) => Some(Traced::Closing),
            Event::Settled { request, facts } => {
                let retry_after = match facts {
                    Facts::Response(response) => response.retry_after.clone(),
                    Facts::Failed { .. } => None,
                };
                Some(Traced::Settled { request: *request, retry_after, told: Vec::new() })
            }
            Event::Persisted { store, result: Ok(()), .. } => {
                let file = file_of(plan, *store)?;
                let text = fs::read_to_string(&file).ok().filter(|text| text.len() <= MAX_FILE_BYTES);
                Some(Traced::Persisted { file, text })
            }
            _ => None,
        }
    }

    /// Writes it, after the engine was told, with what the journal says about it.
    pub(crate) fn told(&mut self, mut what: Option<Traced>, journal: &[JournalEvent]) {
        if let Some(Traced::Settled { told, .. }) = &mut what {
            told.extend(journal.iter().filter_map(|event| match &event.what {
                What::Settled(settled) => {
                    let (domain, kind) = (settled.about.domain.as_str(), settled.about.family.record_type());
                    Some(((domain.to_owned(), kind, settled.ip), settled.outcome.is_retried()))
                }
                _ => None,
            }));
        }
        if let Some(what) = what {
            self.write(&what);
        }
    }

    pub(crate) fn effect(&mut self, effect: &Effect, engine: &Engine, plan: &Plan) {
        match effect {
            _ if self.file.is_none() => {}
            Effect::Cancel => self.write(&Traced::Cancel),
            Effect::Send { request, entry, message, .. } => {
                let known = plan.entry(*entry);
                let members = engine.carried(*request).iter().map(|(id, ip)| {
                    let (_, domain, family) = plan.about(*id);
                    (domain.as_str().to_owned(), family.record_type(), *ip)
                });
                let concurrency = match plan.config(plan.config_of(*entry)).concurrency {
                    Concurrency::Auto => None,
                    Concurrency::Fixed(number) => Some(number.get()),
                };
                self.write(&Traced::Send {
                    request: *request,
                    members: members.collect(),
                    callback: known.callback.fingerprint(&[]).to_string(),
                    origin: message.url.origin(),
                    config: plan.config_of(*entry),
                    concurrency,
                    timeout: known.timeout.as_secs_f64(),
                    file: file_of(plan, plan.store_of(*entry)),
                    is_followed: known.callback.after().is_some(),
                });
            }
            _ => {}
        }
    }
}

/// The path of a store; `None` if it is no file.
fn file_of(plan: &Plan, store: StoreId) -> Option<String> {
    match &plan.places()[store] {
        StorePlace::File(path) => Some(path.to_string_lossy().into_owned()),
        StorePlace::Memory | StorePlace::Group(_) => None,
    }
}
