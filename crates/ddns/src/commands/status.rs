//! `ddns status`: how every update stands. The running service reports it; where none runs, the cache is read.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use ddns_core::config::validate::Valid;
use ddns_core::group::membership::Membership;
use ddns_core::net::family::Family;
use ddns_core::text::duration::{duration, seconds};
use ddns_core::text::json::{Value, pretty};
use ddns_core::update::Update;
use ddns_core::update::plan::{Verdict, judge};
use ddns_core::update::status::{Phase, Row, Status};

use crate::cli::{Form, Given};
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::output::complain;
use crate::output::layout::{broken, table};
use crate::output::print;
use crate::sync::Caches;
use crate::watch::{closed_folder, services};

/// So many rows that are up to date are shown; of more, only how many there are.
const MOST_ROWS: usize = 1000;

/// Exit status where no service responds (I6).
const NOT_RUNNING: u8 = 3;

/// 0 where everything is up to date, 1 where something is not, 2 for a wrong configuration, 3 where no service responds.
pub(crate) async fn run(given: Given) -> u8 {
    let form = given.form();
    let environment = Environment::read();
    let services = services(&environment, &given.settings.files).await;
    if given.has("alive") {
        return alive(&services);
    }
    let is_running = !services.is_empty();
    if !is_running && let Some(folder) = closed_folder(&environment) {
        let folder = folder.display();
        let _ =
            writeln!(io::stderr(), "note: {folder} belongs to another user's service: `sudo ddns status` asks that");
    }
    let mut all: Vec<Status> = services.into_iter().map(|(_, status)| status).collect();
    if all.is_empty() {
        let client = Client::default();
        match load::load(given.settings, &environment, &client).await {
            Ok(configs) => all.push(from_caches(&configs, &environment)),
            Err(wrong) => return complain(&wrong),
        }
    }
    let is_good = all.iter().all(Status::is_good);
    let text = if form.json {
        pretty(&Value::list(all.iter().map(Status::to_json)))
    } else {
        all.iter().map(|status| shown(status, form)).collect::<Vec<_>>().join("\n")
    };
    let code = if is_running { u8::from(!is_good) } else { NOT_RUNNING };
    print(&text).max(code)
}

/// Whether a service responds: for health checks, which must not restart it because an endpoint is down.
fn alive(services: &[(PathBuf, Status)]) -> u8 {
    if let Some((_, status)) = services.first() {
        return print(&format!("Running (process {}).\n", status.process.unwrap_or_default()));
    }
    print("No running service found.\n");
    NOT_RUNNING
}

/// What the caches remember of these configurations. Nothing is looked up, and nothing is written.
fn from_caches(configs: &[Valid], environment: &Environment) -> Status {
    let mut caches = Caches::default();
    let mut rows = Vec::new();
    let now = unix_time().seconds;
    let alone = configs.iter().filter(|(config, _)| config.group.is_none());
    for entry in alone.flat_map(|(config, _)| &config.entries) {
        let remembered = caches.of(entry, environment);
        for family in Family::ALL {
            for domain in entry.domains_of(family) {
                let memory = remembered.as_ref().map(|remembered| remembered.memory(entry, domain, family));
                let remembered = memory.map(|memory| memory.entry(domain, family)).unwrap_or_default();
                let last = remembered.accepted;
                // The address now is not known: the verdict is on the one that was accepted last.
                let verdict =
                    last.map(|last| judge(&Update { domain, family, ip: last.ip }, entry.rules(), memory, 0, now));
                let hold = memory.and_then(|memory| memory.hold(domain, family));
                let stopped = hold.and_then(|hold| hold.stopped.as_ref());
                rows.push(Row {
                    domain: domain.to_string(),
                    kind: family.record_type().to_owned(),
                    endpoint: None,
                    address: None,
                    source: None,
                    accepted: last,
                    in_doubt: remembered.in_doubt.map(|doubt| doubt.ip),
                    last: None,
                    phase: match verdict {
                        _ if stopped.is_some() => {
                            Phase::Stopped { why: stopped.map_or_else(String::new, |stopped| stopped.why.clone()) }
                        }
                        _ if remembered.in_doubt.is_some() => Phase::InDoubt,
                        None => Phase::NotAccepted,
                        Some(Verdict::UpToDate(_)) => Phase::Accepted,
                        Some(_) => Phase::Expired,
                    },
                });
            }
        }
    }
    for warning in caches.warnings {
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    let configs = configs.iter().map(|(config, _)| config.name.clone()).collect();
    Status { configs, rows, ..Status::default() }
}

fn shown(status: &Status, form: Form) -> String {
    let is_empty = status.rows.is_empty();
    let mut text = match (status.process, status.next) {
        (Some(process), next) => {
            let next = next.map_or_else(String::new, |next| format!(", next synchronization in {}", seconds(next)));
            broken(&format!("{} (process {process}{next})", status.summary()), 0, form.width) + "\n"
        }
        (None, _) if is_empty => {
            let note = "No running service found. What was accepted is in the store of the group, which is not asked.";
            return broken(note, 0, form.width);
        }
        (None, _) => "No running service found. The cache remembers:\n\n".to_owned(),
    };
    if let Some(group) = &status.group {
        text += &of_group(group, form);
    }
    if !status.errors.is_empty() {
        let errors = status.errors.iter().map(|error| broken(error, 2, form.width)).collect::<String>();
        let note = "The configuration changed but cannot be used; the previous one still is:";
        text += &format!("{}{errors}\n", broken(note, 0, form.width));
    }
    let now = unix_time().seconds;
    let mut rows = vec![["DOMAIN", "TYPE", "ADDRESS", "ACCEPTED", "STATE"].map(str::to_owned)];
    let is_long = status.rows.len() > MOST_ROWS && !form.wide;
    // Of very many, those that are not up to date matter.
    let shown = status.rows.iter().filter(|row| !is_long || !row.phase.is_good());
    rows.extend(shown.map(|row| {
        let accepted = row.accepted.map(|accepted| Duration::from_secs(now.saturating_sub(accepted.at)));
        let address = row.address.or(row.accepted.map(|accepted| accepted.ip));
        [
            row.domain.clone(),
            row.kind.clone(),
            address.map_or_else(|| "-".to_owned(), |ip| ip.to_string()),
            accepted.map_or_else(|| "never".to_owned(), |age| format!("{} ago", duration(age))),
            state(row),
        ]
    }));
    text += &table(&rows, form.width);
    if is_long {
        text += &format!("{} more are up to date (--wide shows them)\n", status.rows.len() + 1 - rows.len());
    }
    text
}

/// How this host stands in its group, who else is in it, and what somebody should know.
fn of_group(group: &Membership, form: Form) -> String {
    let others: Vec<&str> =
        (group.standing.members.iter().filter(|seen| !seen.is_self)).map(|seen| seen.member.as_str()).collect();
    let others = if others.is_empty() { "no other member".to_owned() } else { format!("with {}", others.join(", ")) };
    let line = format!("Group {}, member {}, {others}: {}", group.group, group.standing.member, group.sentence());
    let remarks = group.remarks().into_iter().map(|remark| broken(&remark, 2, form.width)).collect::<String>();
    broken(&line, 0, form.width) + &remarks + "\n"
}

fn state(row: &Row) -> String {
    let mut text = phase(&row.phase);
    match (row.in_doubt, row.accepted) {
        (Some(sent), Some(accepted)) if sent != accepted.ip => {
            text += &format!("; the endpoint has {} or {sent}", accepted.ip);
        }
        (None, Some(accepted)) if row.address.is_some_and(|ip| ip != accepted.ip) => {
            text += &format!("; the endpoint has {}", accepted.ip);
        }
        _ => {}
    }
    match &row.endpoint {
        Some(endpoint) => format!("{text} ({endpoint})"),
        None => text,
    }
}

fn phase(phase: &Phase) -> String {
    match phase {
        Phase::UpToDate => "up to date".to_owned(),
        Phase::Sending => "being sent".to_owned(),
        Phase::Retry { seconds, failures, why } => {
            let attempts = if *failures > 1 { format!(" ({failures} attempts)") } else { String::new() };
            format!("retry in {}: {why}{attempts}", duration(Duration::from_secs(*seconds)))
        }
        Phase::Waiting { seconds, why } => {
            format!("waiting to retry in {}: {why}", duration(Duration::from_secs(*seconds)))
        }
        Phase::NoAddress => "no address found".to_owned(),
        Phase::Accepted => "accepted".to_owned(),
        Phase::Expired => "accepted; sent again by the next run (cache_max_age)".to_owned(),
        Phase::InDoubt => "in doubt: sent again by the next run".to_owned(),
        Phase::NotAccepted => "not accepted yet".to_owned(),
        Phase::Held { seconds, why } => {
            format!("held back for {}: {why}", duration(Duration::from_secs(*seconds)))
        }
        Phase::Stopped { why } => format!("stopped: the service said `{why}` (`ddns --retry-stopped` sends it again)"),
        Phase::StandBy => "stands by".to_owned(),
    }
}
