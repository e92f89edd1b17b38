//! `ddns status`: how every domain stands. The running service is asked; where none runs, the cache is read.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::net::family::Family;
use ddns_core::text::duration::{duration, seconds};
use ddns_core::text::json::{Value, pretty};
use ddns_core::update::state::State;
use ddns_core::update::status::{Progress, Row, Status};

use crate::cli::Given;
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::output::complain;
use crate::output::layout::WIDTH;
use crate::output::print;
use crate::sync;
use crate::watch::services;

/// So many rows are shown on a screen where all is well; the others are counted.
const MOST_ROWS: usize = 1000;

/// 0 where everything is up to date, 1 where something is not, 2 for a wrong configuration.
pub(crate) async fn run(given: Given) -> u8 {
    let form = given.form();
    let environment = Environment::read();
    let mut all: Vec<Status> =
        meant(services(&environment).await, &given.settings.files).into_iter().map(|(_, status)| status).collect();
    if all.is_empty() {
        let client = Client::default();
        match load::load(given.settings, &environment, &client).await {
            Ok(configs) => all.push(from_cache(&configs, &environment)),
            Err(wrong) => return complain(&wrong),
        }
    }
    let is_good = all.iter().flat_map(|status| &status.rows).all(|row| row.progress.is_good());
    let text = if form.json {
        pretty(&Value::list(all.iter().map(Status::to_json)))
    } else {
        all.iter().map(|status| shown(status, form.wide)).collect::<Vec<_>>().join("\n")
    };
    print(&text).max(u8::from(!is_good))
}

/// The services that run one of these files; all of them where none is named.
pub(super) fn meant(services: Vec<(PathBuf, Status)>, files: &[String]) -> Vec<(PathBuf, Status)> {
    let files: Vec<String> = files
        .iter()
        .map(|file| fs::canonicalize(file).map_or_else(|_| file.clone(), |path| path.display().to_string()))
        .collect();
    let is_meant = |status: &Status| files.is_empty() || status.configs.iter().any(|name| files.contains(name));
    services.into_iter().filter(|(_, status)| is_meant(status)).collect()
}

/// What the caches remember of these configurations. Nothing is written.
fn from_cache(configs: &[Valid], environment: &Environment) -> Status {
    let mut rows = Vec::new();
    for (config, _) in configs {
        for entry in &config.entries {
            let text = sync::cache_path(entry, environment).and_then(|path| fs::read_to_string(path).ok());
            let state = text.as_deref().and_then(State::from_text);
            let memory = state.as_ref().map(|state| (state, entry.callback.fingerprint(state.salt())));
            for family in Family::ALL {
                for domain in entry.domains_of(family) {
                    let last = memory.and_then(|(state, print)| state.last(print, domain, family));
                    rows.push(Row {
                        domain: domain.to_string(),
                        kind: family.record_type().to_owned(),
                        address: last.map(|last| last.ip),
                        accepted: last.map(|last| last.at),
                        progress: if last.is_some() { Progress::Told } else { Progress::NotTold },
                    });
                }
            }
        }
    }
    let configs = configs.iter().map(|(config, _)| config.name.clone()).collect();
    Status { process: None, configs, next: None, rows }
}

fn shown(status: &Status, wide: bool) -> String {
    let mut text = match (status.process, status.next) {
        (Some(process), next) => {
            let next = next.map_or_else(String::new, |next| format!(", next synchronization in {}", seconds(next)));
            format!("{} (process {process}{next})\n\n", status.summary())
        }
        (None, _) => "no `ddns watch` runs; this is what the cache remembers\n\n".to_owned(),
    };
    let now = unix_time().seconds;
    let mut table = vec![["DOMAIN", "TYPE", "ADDRESS", "ACCEPTED", "STATE"].map(str::to_owned)];
    let is_long = status.rows.len() > MOST_ROWS && !wide;
    // Of very many, those that are not well matter.
    let rows = status.rows.iter().filter(|row| !is_long || !row.progress.is_good());
    table.extend(rows.map(|row| {
        let accepted = row.accepted.map(|at| Duration::from_secs(now.saturating_sub(at)));
        [
            row.domain.clone(),
            row.kind.clone(),
            row.address.map_or_else(|| "-".to_owned(), |ip| ip.to_string()),
            accepted.map_or_else(|| "never".to_owned(), |age| format!("{} ago", duration(age))),
            state(&row.progress),
        ]
    }));
    let mut widths = [0; 4];
    for row in &table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in &table {
        text += &line(row, widths, wide);
    }
    if is_long {
        text += &format!("{} more are up to date (--wide shows them)\n", status.rows.len() + 1 - table.len());
    }
    text
}

/// One row on one line; where that is too wide, what does not fit stands below.
fn line(row: &[String; 5], widths: [usize; 4], wide: bool) -> String {
    let [domain, kind, address, accepted, state] = row;
    let [first, second, third, fourth] = widths;
    let line = format!("{domain:first$}  {kind:second$}  {address:third$}  {accepted:fourth$}  {state}");
    let line = line.trim_end();
    if wide || line.chars().count() <= WIDTH {
        return format!("{line}\n");
    }
    let below = format!("    {kind:second$}  {address:third$}  {accepted:fourth$}");
    let rest = if below.chars().count() + 2 + state.chars().count() <= WIDTH {
        format!("{below}  {state}\n")
    } else {
        format!("{}\n{}", below.trim_end(), crate::output::layout::broken(state, 4))
    };
    format!("{domain}\n{rest}")
}

fn state(progress: &Progress) -> String {
    match progress {
        Progress::UpToDate => "up to date".to_owned(),
        Progress::Sending => "being sent".to_owned(),
        Progress::Retry { seconds, why } => {
            format!("retry in {}: {why}", duration(Duration::from_secs(*seconds)))
        }
        Progress::NoAddress => "waiting for an address".to_owned(),
        Progress::Told => "told".to_owned(),
        Progress::NotTold => "not told yet".to_owned(),
    }
}
