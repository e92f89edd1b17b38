//! `ddns history`: shows the history that runs and services keep beside their caches (I4).

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use ddns_core::journal::{Filter, Record, RecordKind, Status};
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::duration;
use ddns_core::text::order;
use ddns_core::text::own_json;
use ddns_core::text::screen;
use ddns_core::update::domain::Domain;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::cli::{ParsedArgs, ReportFormat};
use crate::clock::{unix_time, zone};
use crate::compose::cache_with_files;
use crate::environment::Environment;
use crate::history::{beside, records};
use crate::http::Client;
use crate::load;
use crate::output::layout::{broken, table};
use crate::output::{Ended, complain, fail, json, print};
use crate::watch::{Command, meant, name, note_closed_folder, request};

/// Exits with 0 if the history can be read, even if it is empty; with 1 if not; with 2 for a wrong option or
/// configuration.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let filter = filter(&given).map_err(|wrong| complain(&[wrong]))?;
    let form = given.form();
    let environment = Environment::read();
    let is_all = given.has("all");
    let kept = kept(given, &environment).await?;
    let shown = match kept.as_slice() {
        [(_, paths)] if paths.is_empty() => {
            return Err(fail("no history is kept: `cache` is off, and the history is kept beside the cache"));
        }
        [(service, paths)] if !is_all || service.process.is_none() && !form.json => show(paths, &filter, form),
        all => show_all(all, &filter, form),
    };
    match shown {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        shown => shown.map_err(|error| fail(&format!("the history cannot be shown ({error})"))),
    }
}

/// A service and the files of its history. If no service runs, its status is empty.
type ServiceHistory = (Status, Vec<PathBuf>);

/// The files of the chosen services; if none runs, those of the configurations.
async fn kept(given: ParsedArgs, environment: &Environment) -> Result<Vec<ServiceHistory>, u8> {
    let running = meant(&given, environment).await?.running;
    if running.is_empty() {
        note_closed_folder(environment, "history");
    }
    let mut all: Vec<ServiceHistory> = Vec::new();
    for (socket, status) in running {
        let response = request(&socket, Command::History).await.unwrap_or_default();
        if let Some(paths) = own_json::read(&response) {
            all.push((status, paths));
        }
    }
    if all.iter().all(|(_, paths)| paths.is_empty()) {
        let client = Client::default();
        let mut paths = Vec::new();
        let examined = load::examine(given.settings, environment, &client).await;
        let configs = examined.result.map_err(|wrong| complain(&wrong))?;
        let entries = configs.iter().flat_map(|(config, _)| &config.entries);
        paths.extend(entries.filter_map(|entry| Some(beside(&cache_with_files(entry, environment)?))));
        if configs.is_empty() {
            paths.push(beside(&environment.standard_cache()));
        }
        all = vec![(Status::default(), paths)];
    }
    for (_, paths) in &mut all {
        order::sort(paths);
        paths.dedup();
    }
    Ok(all)
}

fn filter(given: &ParsedArgs) -> Result<Filter, Diagnostic> {
    let wrong = |place: &str, message: String| {
        Diagnostic::error(Place::Option(place.to_owned()), message).hint("`ddns help history` explains how to use it")
    };
    let domain = given.word().map(Domain::parse).transpose().map_err(|why| wrong("DOMAIN", why))?;
    let since = match given.value("since") {
        None => 0,
        Some(text) => {
            let age = duration::parse(text).filter(|_| text.trim_end().ends_with(char::is_alphabetic));
            let age = age
                .ok_or_else(|| wrong("--since", format!("`{}` is not an age such as 12h or 7d", screen::line(text))))?;
            unix_time().seconds.saturating_sub(age.as_secs())
        }
    };
    let kinds = [RecordKind::Failed, RecordKind::Changed, RecordKind::Group];
    let kind = match kinds.into_iter().filter(|kind| given.has(kind.key())).collect::<Vec<_>>()[..] {
        [] => RecordKind::All,
        [kind] => kind,
        [.., last] => {
            let message = "only one of --failed, --changed and --group can be given";
            return Err(wrong(&format!("--{}", last.key()), message.to_owned()));
        }
    };
    Ok(Filter { domain: domain.map(|domain| domain.to_string()), since, kind, ..Filter::default() })
}

fn show(paths: &[PathBuf], filter: &Filter, form: ReportFormat) -> io::Result<u8> {
    let records = records(paths, filter)?;
    if form.json {
        return show_json(records, BufWriter::new(io::stdout().lock())).map(|()| 0);
    }
    let records = records.collect::<io::Result<Vec<Record>>>()?;
    if records.is_empty() {
        let is_all = *filter == Filter::default();
        let place = paths.first().filter(|_| is_all).map_or_else(String::new, |path| format!(" in {}", path.display()));
        return Ok(print(&format!("No records{place}.\n")));
    }
    Ok(print(&shown(&records, form.width)))
}

/// Shows the histories one after the other, each with the name of its service.
fn show_all(all: &[ServiceHistory], filter: &Filter, form: ReportFormat) -> io::Result<u8> {
    let mut code = 0;
    for (at, (service, paths)) in all.iter().enumerate() {
        if form.json {
            let (process, configs) = (own_json::line(&service.process), json(&service.configs));
            let found = records(paths, filter).and_then(Iterator::collect::<io::Result<Vec<Record>>>);
            let mut out = BufWriter::new(io::stdout().lock());
            let begin = if at == 0 { "[" } else { "," };
            write!(out, "{begin}\n{{\"process\": {process}, \"configurations\": {configs}, \"records\": ")?;
            match found {
                Ok(found) => show_json(found.into_iter().map(Ok), &mut out)?,
                Err(error) => {
                    code = fail(&format!("{}: the history cannot be read ({error})", name(service)));
                    write!(out, "null")?;
                }
            }
            write!(out, "}}{}", if at + 1 == all.len() { "\n]\n" } else { "" })?;
        } else {
            let gap = if at == 0 { "" } else { "\n" };
            code = code.max(print(&format!("{gap}{}", broken(&format!("Service: {}", name(service)), 0, form.width))));
            code = code.max(show(paths, filter, form)?);
        }
    }
    Ok(code)
}

/// Writes a list with one record per line, while the records are read.
fn show_json(records: impl Iterator<Item = io::Result<Record>>, mut out: impl Write) -> io::Result<()> {
    let mut between = "[\n";
    for record in records {
        write!(out, "{between}{}", screen::json(&record?.to_line()))?;
        between = ",\n";
    }
    writeln!(out, "{}", if between == "[\n" { "[]" } else { "\n]" })?;
    out.flush()
}

fn shown(records: &[Record], width: usize) -> String {
    let zone = zone();
    let first = records.iter().find_map(|record| record.endpoint.as_ref());
    let is_one = records.iter().all(|record| record.endpoint.is_none() || record.endpoint.as_ref() == first);
    let mut rows = vec![["TIME", "DOMAIN", "TYPE", "ADDRESS", "OUTCOME"].map(str::to_owned)];
    rows.extend(records.iter().map(|record| {
        let endpoint = record.endpoint.as_ref().filter(|_| !is_one);
        let endpoint = endpoint.map_or_else(String::new, |endpoint| format!(" ({endpoint})"));
        [
            time(record.at, &zone),
            record.domain.as_deref().unwrap_or("(this host)").to_owned(),
            record.family.map_or("-", Family::record_type).to_owned(),
            record.address.map_or_else(|| "-".to_owned(), |ip| ip.to_string()),
            record.sentence() + &endpoint,
        ]
    }));
    table(&rows, width)
}

/// `2026-11-15 19:03:31`, in the zone of this host.
fn time(at: u64, zone: &TimeZone) -> String {
    let seconds = i64::try_from(at).unwrap_or(i64::MAX);
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_zoned(zone.clone());
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}
