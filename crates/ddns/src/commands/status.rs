//! `ddns status`: shows the state of every update. The running service reports it; if none runs, the cache is read.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::config::Cache;
use ddns_core::config::validate::Valid;
use ddns_core::journal::{DnsState, Row, Status, UpdateState};
use ddns_core::lease::membership::Membership;
use ddns_core::text::duration::{duration, seconds};
use ddns_core::update::state::Accepted;

use crate::cli::{ParsedArgs, ReportFormat};
use crate::clock::unix_time;
use crate::compose::{look, plan};
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::output::layout::{broken, table};
use crate::output::{Ended, complain, fail, json, print, refuse};
use crate::watch::{Services, meant, name, note_closed_folder};

/// Of a longer list, the rows that are up to date are only counted.
const MAX_ROWS: usize = 1000;

/// How many addresses are shown with their sources; the rest is counted.
const MAX_SOURCES: usize = 4;

/// Exit status if no service responds (I6).
pub(super) const NOT_RUNNING: u8 = 3;

const NO_CONFIGURATION: &str =
    "No configuration was found either: `ddns status -c FILE` shows what the cache of one remembers.";

/// Exits with 0 if everything is up to date, with 1 if something is not, with 2 for an invalid configuration, with 3 if
/// no service responds, or one of them does not.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let form = given.form();
    let environment = Environment::read();
    let services = meant(&given, &environment).await?;
    if services.running.is_empty() {
        note_closed_folder(&environment, "status");
    }
    if given.has("alive") {
        if form.json {
            let message = "--alive has no --json: its exit status is what programs look at";
            return Err(refuse(message, "leave out one of them"));
        }
        return Ok(alive(&services));
    }
    let is_all = given.has("all") && !services.running.is_empty();
    let silence = services.silence();
    let has_silent = !services.silent.is_empty();
    let mut all: Vec<Status> = services.running.into_iter().map(|(_, status)| status).collect();
    let is_running = !all.is_empty();
    if is_running && has_silent {
        fail(&silence);
    }
    if !is_running {
        let client = Client::default();
        let examined = load::examine(given.settings, &environment, &client).await;
        let configs = examined.result.map_err(|wrong| complain(&wrong))?;
        let is_off = |(config, _): &Valid| {
            config.group.is_none() && config.entries.iter().all(|entry| entry.cache == Cache::Off)
        };
        if !configs.is_empty() && configs.iter().all(is_off) && !form.json {
            let note = format!("{silence} Nothing is remembered between runs: `cache` is off.");
            return Ok(print(&broken(&note, 0, form.width)).max(NOT_RUNNING));
        }
        if !configs.is_empty() {
            all.push(from_caches(configs, &environment));
        }
    }
    let is_good = all.iter().all(Status::is_good);
    let text = if form.json {
        json(&all)
    } else if all.is_empty() {
        broken(&format!("{silence} {NO_CONFIGURATION}"), 0, form.width)
    } else {
        let head = |status: &Status| {
            if is_all { broken(&format!("Service: {}", name(status)), 0, form.width) } else { String::new() }
        };
        all.iter().map(|status| head(status) + &shown(status, &silence, form)).collect::<Vec<_>>().join("\n")
    };
    let code = if is_running && !has_silent { u8::from(!is_good) } else { NOT_RUNNING };
    Ok(print(&text).max(code))
}

/// Whether every service responds. For health checks, which must not restart a service because an endpoint is down.
fn alive(services: &Services) -> u8 {
    if services.silent.is_empty() && !services.running.is_empty() {
        let line = |(_, status): &(_, Status)| format!("Running (process {}).\n", status.process.unwrap_or_default());
        return print(&services.running.iter().map(line).collect::<String>());
    }
    print(&format!("{}\n", services.silence()));
    NOT_RUNNING
}

/// What the caches remember about these configurations. Looks up and writes nothing.
fn from_caches(all: Vec<Valid>, environment: &Environment) -> Status {
    let configs = all.iter().map(|(config, _)| config.name.clone()).collect();
    let alone = all.into_iter().filter(|(config, _)| config.group.is_none()).collect();
    let rows = look(&plan(&Rc::new(alone), environment), &[]).rows();
    Status { configs, rows, ..Status::default() }
}

fn shown(status: &Status, silence: &str, form: ReportFormat) -> String {
    let is_empty = status.rows.is_empty();
    let mut text = match (status.process, status.next) {
        (Some(process), next) => {
            let next = next.map_or_else(String::new, |next| format!(", next synchronization in {}", seconds(next)));
            let summary = format!("{} (process {process}{next})", status.summary());
            broken(&summary, 0, form.width) + &sources(&status.rows, form.width) + "\n"
        }
        (None, _) if is_empty => {
            let note = format!("{silence} The store of the group knows what was accepted; it was not asked.");
            return broken(&note, 0, form.width);
        }
        (None, _) => broken(&format!("{silence} The cache remembers:"), 0, form.width) + "\n",
    };
    if let Some(group) = &status.group {
        text += &of_group(group, form);
    }
    if !status.errors.is_empty() {
        let errors = status.errors.iter().map(|error| broken(error, 2, form.width)).collect::<String>();
        let note = "The configuration changed but is invalid; the previous one is still used:";
        text += &format!("{}{errors}\n", broken(note, 0, form.width));
    }
    let now = unix_time().seconds;
    let has_dns = status.rows.iter().any(|row| row.dns.is_some());
    let mut rows = vec![["DOMAIN", "TYPE", "ADDRESS", "ACCEPTED", "STATE", "DNS"].map(str::to_owned)];
    let is_long = status.rows.len() > MAX_ROWS && !form.wide;
    // In a long list, only what is not up to date matters.
    let is_wrong = |row: &Row| !row.state.is_good() || row.dns.as_ref().is_some_and(DnsState::is_wrong);
    let shown = status.rows.iter().filter(|row| !is_long || is_wrong(row));
    rows.extend(shown.map(|row| {
        let address = row.address.or(row.accepted_address);
        let accepted = match row.accepted() {
            // The store of the group may know.
            None if row.state == UpdateState::StandBy => "-".to_owned(),
            None => "never".to_owned(),
            Some(accepted) if address == Some(accepted.ip) => age(accepted, now),
            // The address that is shown was not accepted yet; the state says when another one was.
            Some(_) => "not yet".to_owned(),
        };
        [
            row.domain.clone(),
            row.kind.clone(),
            address.map_or_else(|| "-".to_owned(), |ip| ip.to_string()),
            accepted,
            state(row, now, status.process.is_some()),
            row.dns.as_ref().map_or_else(|| "-".to_owned(), |dns| dns.text.clone()),
        ]
    }));
    let hidden = status.rows.len() + 1 - rows.len();
    let stands_by = status.rows.iter().any(|row| row.state == UpdateState::StandBy);
    if rows.len() == 1 && hidden > 0 {
        let all = if stands_by { "All of them are on standby" } else { "Nothing is wrong with any of them" };
        return text + &format!("{all} (--wide shows all {hidden})\n");
    }
    text += &if has_dns {
        table(&rows, form.width)
    } else {
        let narrow =
            |[domain, kind, address, accepted, state, _]: [String; 6]| [domain, kind, address, accepted, state];
        table(&rows.into_iter().map(narrow).collect::<Vec<_>>(), form.width)
    };
    if hidden > 0 {
        let state = if stands_by { "are on standby" } else { "are up to date" };
        text += &format!("{hidden} more {state} (--wide shows them)\n");
    }
    text
}

/// `Address: 203.0.113.7 from public`
fn sources(rows: &[Row], width: usize) -> String {
    let mut seen = HashSet::new();
    let found = rows.iter().filter_map(|row| Some((row.address?, row.source.as_deref()?)));
    let found: Vec<String> =
        found.filter(|pair| seen.insert(*pair)).map(|(ip, source)| format!("{ip} from {source}")).collect();
    let shown = &found[..found.len().min(MAX_SOURCES)];
    let more = match found.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match found.len() {
        0 => String::new(),
        1 => broken(&format!("Address: {}", found[0]), 0, width),
        _ => broken(&format!("Addresses: {}{more}", shown.join(", ")), 0, width),
    }
}

/// The state of this host in its group, the other members, and remarks.
fn of_group(group: &Membership, form: ReportFormat) -> String {
    let others: Vec<&str> =
        (group.status.members.iter().filter(|seen| !seen.is_self)).map(|seen| seen.member.as_str()).collect();
    let others = if others.is_empty() { "no other member".to_owned() } else { format!("with {}", others.join(", ")) };
    let line = format!("Group {}, member {}, {others}: {}", group.group, group.status.member, group.sentence());
    let remarks = group.remarks().into_iter().map(|remark| broken(&remark, 2, form.width)).collect::<String>();
    broken(&line, 0, form.width) + &remarks + "\n"
}

/// `12 min ago`
fn age(accepted: Accepted, now: u64) -> String {
    if accepted.at > now {
        return "later than now (the clock was set back)".to_owned();
    }
    format!("{} ago", duration(Duration::from_secs(now.saturating_sub(accepted.at))))
}

fn state(row: &Row, now: u64, is_running: bool) -> String {
    let mut text = in_words(row, is_running) + &last(row);
    match (row.in_doubt, row.accepted()) {
        (Some(sent), Some(accepted)) if sent != accepted.ip => {
            text += &format!(
                "; the endpoint had {} (accepted {}), {sent} may have arrived",
                accepted.ip,
                age(accepted, now)
            );
        }
        // Without a service, no other column shows this address.
        (Some(sent), None) if row.address != Some(sent) => {
            text += &format!("; the endpoint may have {sent}");
        }
        (None, Some(accepted)) if row.address.is_some_and(|ip| ip != accepted.ip) => {
            text += &format!("; the endpoint has {} (accepted {})", accepted.ip, age(accepted, now));
        }
        _ => {}
    }
    match &row.endpoint {
        Some(endpoint) => format!("{text} ({endpoint})"),
        None => text,
    }
}

/// The last request: ` (200, 12 ms)`, ` (12 ms, 3 attempts)`.
fn last(row: &Row) -> String {
    let took = row.last_ms.map(|took| format!("{took} ms"));
    let parts = match row.state {
        UpdateState::UpToDate => [row.last_status.map(|status| status.to_string()), took],
        // The reason already contains the status.
        UpdateState::Retrying => {
            [took, row.failures.filter(|failures| *failures > 1).map(|failures| format!("{failures} attempts"))]
        }
        _ => [None, None],
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// The state, with its reason or what to do about it.
fn in_words(row: &Row, is_running: bool) -> String {
    let (word, why) = (row.state.word(), row.reason.as_deref().unwrap_or_default());
    let left = duration(Duration::from_secs(row.next.unwrap_or_default()));
    match row.state {
        UpdateState::Retrying => format!("{word} in {left}: {why}"),
        UpdateState::HeldBack => format!("{word} for {left}: {why}"),
        UpdateState::Stopped => {
            // A service would notice a single run only at its next synchronization.
            let way_out = if is_running { "ddns sync --retry-stopped" } else { "ddns --retry-stopped" };
            // Words about a request before or after the update are already quoted.
            let why = if why.contains('`') { why.to_owned() } else { format!("`{why}`") };
            format!("{word}: the service said {why} (`{way_out}` sends it again)")
        }
        UpdateState::Accepted if row.is_expired => format!("{word}; the next run sends it again (cache_max_age)"),
        UpdateState::NoAddress if row.address.is_some() => {
            format!("{word} of the other family, and both are sent in one request")
        }
        UpdateState::NoAddress if !why.is_empty() => format!("{word}: {why}"),
        UpdateState::InDoubt if row.in_doubt.is_none() => "not accepted yet: the next run sends it".to_owned(),
        UpdateState::InDoubt => format!("{word}: the next run sends it again"),
        _ => word.to_owned(),
    }
}
