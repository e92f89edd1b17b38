//! The interface for programs: JSON, as the commands print it. `openapi.json` describes it; a test compares the two.

use ddns_core::config::validate::Surroundings;
use ddns_core::journal::{Filter, RecordKind};
use ddns_core::object;
use ddns_core::text::json::{Dialect, Value, parse};
use ddns_core::web::check::{Finding, check, has_errors};
use ddns_core::web::controls::{Content, EditForm};
use ddns_core::web::edit::Op;
use ddns_core::web::list::ListFilter;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde::Serialize;

use super::configuration::{self, Edit, Edited, look};
use super::history_queries;
use super::reply::{PageRequest, Reply};
use super::site::{Ask, Site, Wanted};
use super::views::configuration::Change;
use crate::clock::unix_time;

/// How many items an answer has, if no other number is asked for; and how many at most.
const USUAL: usize = 100;
const MAX_ITEMS: usize = 1000;

/// What is wrong, for programs.
pub(super) fn error(status: u16, why: &str) -> Reply {
    Reply::json(status, &object! { error: why })
}

fn gone() -> Reply {
    error(503, "the service ends")
}

/// The description of all of it.
pub(super) fn description() -> Reply {
    Reply::static_json(include_str!("openapi.json"))
}

pub(super) async fn status(site: &Site) -> Reply {
    match site.ask(Ask::Status).await {
        // As `ddns status --json` has it: a list of services.
        Some(status) => Reply::json(200, &[status]),
        None => gone(),
    }
}

pub(super) async fn synchronize(site: &Site, request: &PageRequest) -> Reply {
    let retry_stopped = match request.queried("retry_stopped").as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return error(400, "`retry_stopped` is `true` or `false`"),
    };
    match site.ask(|done| Ask::Synchronize { retry_stopped, done }).await {
        Some(result) => Reply::json(200, &result),
        None => gone(),
    }
}

pub(super) async fn addresses(site: &Site) -> Reply {
    let Some(configs) = site.ask(Ask::Configs).await else { return gone() };
    match site.sources.current(configs).await {
        Some((_, report)) => Reply::json(200, &report.json()),
        None => {
            error(503, "the sources have not responded yet: ask again").with(RETRY_AFTER, HeaderValue::from_static("2"))
        }
    }
}

/// Secrets are masked, and nothing is looked up: the addresses are those that the service knows.
pub(super) async fn preview(site: &Site, request: &PageRequest) -> Reply {
    let (skip, take) = match part(request) {
        Ok(part) => part,
        Err(reply) => return reply,
    };
    let filter = ListFilter { search: request.queried("domain").unwrap_or_default(), ..ListFilter::default() };
    let Some(previews) = site.ask(|respond| Ask::Previews(Wanted { filter, update: None, skip, take }, respond)).await
    else {
        return gone();
    };
    let now = unix_time().seconds;
    Reply::json(200, &previews.shown.iter().map(|preview| preview.json(now)).collect::<Vec<_>>())
}

/// What happened, the newest first.
pub(super) async fn history(site: &Site, request: &PageRequest) -> Reply {
    let limit = match part(request) {
        Ok((_, limit)) => limit,
        Err(reply) => return reply,
    };
    let Some(kind) = RecordKind::parse(&request.queried("outcome").unwrap_or_else(|| "all".to_owned())) else {
        return error(400, "`outcome` is one of all, failed, changed, accepted, group");
    };
    let Ok(since) = request.queried("since").unwrap_or_else(|| "0".to_owned()).parse() else {
        return error(400, "`since` is a number of seconds since 1970");
    };
    let domain = request.queried("domain").map(|domain| domain.to_lowercase());
    let filter = Filter { domain, since, kind, ..Default::default() };
    match history_queries::newest(site, filter, limit).await {
        Ok(records) => Reply::json(200, &records),
        Err(why) => error(503, &format!("the history cannot be read ({why})")),
    }
}

/// Every file of the configuration on this host: what is set, without its secrets, and what can be edited.
pub(super) async fn config(site: &Site) -> Reply {
    let Some(configured) = site.ask(Ask::Configured).await else { return gone() };
    let mut files = Vec::new();
    for number in 0..configured.names.len() {
        let Some(name) = configured.local_file(number) else { continue };
        let (looked, error) = look(site, name, &configured.around)
            .await
            .map_or_else(|why| (None, Some(why)), |looked| (Some(looked), None));
        let forms = looked.as_ref().map(|looked| looked.forms.iter().map(form).collect::<Vec<_>>());
        let (version, errors) = looked.map(|looked| (looked.version, looked.wrong)).unzip();
        files.push(object! { file: number, name: name; version: version, errors: errors, forms: forms, error: error });
    }
    Reply::json(200, &files)
}

fn form(form: &EditForm) -> impl Serialize + use<> {
    let controls = form.controls.iter().map(|control| {
        let (state, value, items) = match &control.content {
            Content::Unset => ("unset", None, None),
            Content::Open(text) => ("open", Some(text.clone()), None),
            Content::WriteOnly(outline) => ("write_only", Some(outline.clone()), None),
            Content::Locked(outline) => ("locked", Some(outline.clone()), None),
            Content::Items(items) => ("list", None, Some(items.iter().map(|(shown, _)| shown.clone()).collect::<Vec<_>>())),
        };
        let (elsewhere, from) = control.elsewhere.clone().unzip();
        let (field, label) = (control.field.name, control.label());
        object! { field: field, label: label, state: state; value: value, items: items, elsewhere: elsewhere, from: from }
    });
    object! { entry: form.entry, controls: controls.collect::<Vec<_>>() }
}

/// Applies operations to a file; with `dry_run` only says what would be sent then.
pub(super) async fn edit(site: &Site, request: &PageRequest) -> Reply {
    let body = std::str::from_utf8(&request.body).ok().and_then(|text| parse(text, Dialect::IN_TEXT).ok());
    let Some(Value::Object(_)) = body.as_ref().map(|body| &body.value) else {
        return error(400, "the body must be a JSON object");
    };
    let member = |name: &str| body.as_ref().and_then(|body| body.value.member(name));
    let number = match member("file") {
        None => Some(0),
        // One that is too large is that of no file.
        Some(Value::Number(number)) => Some(number.parse().unwrap_or(usize::MAX)),
        Some(_) => None,
    };
    let Some(file) = number else { return error(400, "`file` is the number of a file") };
    let Some(version) = member("version").and_then(Value::text) else {
        return error(400, "`version` is missing: it is in `GET config`");
    };
    let Some(Value::Array(written)) = member("operations") else { return error(400, "`operations` must be a list") };
    let ops: Result<Vec<Op>, String> = written.iter().map(|op| Op::read(&op.value)).collect();
    let is_saved = match member("dry_run") {
        None | Some(Value::Bool(false)) => true,
        Some(Value::Bool(true)) => false,
        Some(_) => return error(400, "`dry_run` is `true` or `false`"),
    };
    if !site.web.borrow().allow_edit {
        return error(403, "editing is switched off: set `web.allow_edit` on the host");
    }
    let Some(configured) = site.ask(Ask::Configured).await else { return gone() };
    let Some(name) = configured.local_file(file) else { return error(404, "there is no such file") };
    let wanted = Edit { version: version.to_owned(), ops, is_saved, addresses: configuration::addresses(site).await };
    match configuration::edit(site, name, &configured.around, wanted).await {
        Edited::Possible(changes) => {
            let change = |change: &Change| object! { about: change.about.clone(), before: change.before.clone(), after: change.after.clone() };
            Reply::json(200, &object! { saved: false, changes: changes.iter().map(change).collect::<Vec<_>>() })
        }
        Edited::Saved => match site.ask(Ask::Reload).await {
            Some(errors) => Reply::json(200, &object! { saved: true, errors: errors }),
            None => gone(),
        },
        Edited::Changed => error(409, "the file is another one now: read it again"),
        Edited::Misread(why) => error(400, &why),
        Edited::Wrong(findings) => {
            let shown: Vec<_> = findings.iter().map(Finding::json).collect();
            Reply::json(
                422,
                &object! { error: "the configuration would not be valid, or may not be edited like this", findings: shown },
            )
        }
        Edited::Failed(why) => error(500, &format!("nothing was saved: {name} {why}")),
    }
}

/// `skip` and `limit` of a list.
fn part(request: &PageRequest) -> Result<(usize, usize), Reply> {
    let number = |name: &str, usual: usize, right: &dyn Fn(usize) -> bool| match request.queried(name) {
        None => Ok(usual),
        Some(text) => text.parse().ok().filter(|number| right(*number)).ok_or_else(|| {
            error(400, &format!("`{name}` is a whole number: `skip` from 0 to 1000000, `limit` from 1 to {MAX_ITEMS}"))
        }),
    };
    let skip = number("skip", 0, &|number| number <= 1_000_000)?;
    Ok((skip, number("limit", USUAL, &|number| (1..=MAX_ITEMS).contains(&number))?))
}

/// What is wrong with a text that is taken for a configuration by itself. Nothing of it is run, read or asked.
pub(super) async fn judge(site: &Site, request: &PageRequest) -> Reply {
    let Ok(text) = String::from_utf8(request.body.clone()) else { return error(400, "the text is not UTF-8") };
    let checked = site.aside(move || check("the text", &text, &Surroundings::default()).1);
    let Some(findings) = checked.await else { return gone() };
    let shown: Vec<_> = findings.iter().map(Finding::json).collect();
    Reply::json(200, &object! { valid: !has_errors(&findings), findings: shown })
}
