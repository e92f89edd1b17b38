//! The API for programs: JSON as the commands print it. `openapi.json` describes it, and a test compares the two. Also
//! `/healthz`, `/readyz` and `/metrics` for monitoring.

use std::ops::RangeInclusive;
use std::time::Duration;

use ddns_core::config::validate::Surroundings;
use ddns_core::journal::{Filter, RecordKind};
use ddns_core::metrics::CONTENT_TYPE;
use ddns_core::object;
use ddns_core::text::json::{Dialect, Value, parse};
use ddns_core::update::domain::Domain;
use ddns_core::web::check::{Finding, check};
use ddns_core::web::controls::{Content, EditForm};
use ddns_core::web::edit::Op;
use hyper::header::RETRY_AFTER;
use serde::Serialize;
use tokio::sync::oneshot::Sender;
use tokio::time::timeout;

use super::configuration::{self, NotEdited, look};
use super::history_queries;
use super::reply::{Handled, Reply};
use super::request::PageRequest;
use super::site::{Site, SiteRequest};
use crate::clock::unix_time;

/// How long the event loop may take to answer monitoring.
const MONITORING_TIMEOUT: Duration = Duration::from_secs(5);

/// How many items an answer has by default, and at most.
const USUAL: usize = 100;
const MAX_ITEMS: usize = 1000;

/// An error for programs.
pub(super) fn error(status: u16, why: &str) -> Reply {
    Reply::json(status, &object! { error: why })
}

/// What the service answers.
async fn ask<T>(site: &Site, ask: impl FnOnce(Sender<T>) -> SiteRequest) -> Result<T, Reply> {
    site.ask(ask).await.ok_or_else(|| error(503, "the service has no configuration yet, or it ends"))
}

/// The description of the API.
pub(super) fn description() -> Reply {
    Reply::new(200, "application/json", include_str!("openapi.json"))
}

/// The same as `ddns status --json`: a list of services.
pub(super) async fn status(site: &Site) -> Handled {
    Ok(Reply::json(200, &[ask(site, SiteRequest::Status).await?]))
}

pub(super) async fn synchronize(site: &Site, request: &PageRequest) -> Handled {
    let retry_stopped = match request.queried("retry_stopped").as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(error(400, "`retry_stopped` is `true` or `false`")),
    };
    Ok(Reply::json(200, &ask(site, |done| SiteRequest::Synchronize { retry_stopped, done }).await?))
}

pub(super) async fn addresses(site: &Site) -> Handled {
    let Some((_, report)) = site.sources.current(ask(site, SiteRequest::Configs).await?).await else {
        return Err(error(503, "the sources have not responded yet: ask again").with(RETRY_AFTER, "2"));
    };
    Ok(Reply::json(200, &report.json()))
}

/// The requests as they would be sent now. Secrets are masked, and nothing is looked up: the addresses are those that the service knows.
pub(super) async fn preview(site: &Site, request: &PageRequest) -> Handled {
    let (skip, take) = part(request)?;
    let domain = request.queried("domain").map(|domain| domain.to_lowercase());
    let is_wanted =
        Box::new(move |own: &Domain, _| domain.as_ref().is_none_or(|it| own.as_str().to_lowercase() == *it));
    let previews = ask(site, |done| SiteRequest::Previews { is_wanted, skip, take, done }).await?;
    let now = unix_time().seconds;
    Ok(Reply::json(200, &previews.shown.iter().map(|preview| preview.json(now)).collect::<Vec<_>>()))
}

/// What happened, the newest first.
pub(super) async fn history(site: &Site, request: &PageRequest) -> Handled {
    let (_, limit) = part(request)?;
    let kind = RecordKind::parse(&request.queried("outcome").unwrap_or_else(|| "all".to_owned()))
        .ok_or_else(|| error(400, "`outcome` is one of all, failed, changed, accepted, group"))?;
    let since = request.queried("since").unwrap_or_else(|| "0".to_owned()).parse();
    let since = since.map_err(|_| error(400, "`since` is a number of seconds since 1970"))?;
    let domain = request.queried("domain").map(|domain| domain.to_lowercase());
    let filter = Filter { domain, since, kind, ..Default::default() };
    let records = history_queries::newest(site, filter, limit).await;
    let records = records.map_err(|why| error(503, &format!("the history cannot be read ({why})")))?;
    Ok(Reply::json(200, &records))
}

/// Every file of the configuration on this host: what is set, without secrets, and what can be edited.
pub(super) async fn config(site: &Site) -> Handled {
    let configured = ask(site, SiteRequest::Configured).await?;
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
    Ok(Reply::json(200, &files))
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
        let (field, label) = (control.field.name, control.field.label);
        object! { field: field, label: label, state: state; value: value, items: items, elsewhere: elsewhere, from: from }
    });
    object! { entry: form.entry, controls: controls.collect::<Vec<_>>() }
}

/// Applies operations to a file; with `dry_run`, only says what would be sent.
pub(super) async fn edit(site: &Site, request: &PageRequest) -> Handled {
    let wrong = |why: &str| error(400, why);
    let body = parse(request.text(), Dialect::IN_TEXT).map(|body| body.value);
    let body = body.ok().filter(|body| body.members().is_some());
    let body = body.ok_or_else(|| wrong("the body must be a JSON object"))?;
    let file = match body.member("file") {
        None => 0,
        // A number that is too large names no file.
        Some(Value::Number(number)) => number.parse().unwrap_or(usize::MAX),
        Some(_) => return Err(wrong("`file` is the number of a file")),
    };
    let version = body.member("version").and_then(Value::text);
    let version = version.ok_or_else(|| wrong("`version` is missing: it is in `GET config`"))?;
    let Some(Value::Array(written)) = body.member("operations") else {
        return Err(wrong("`operations` must be a list"));
    };
    let is_saved = match body.member("dry_run") {
        None | Some(Value::Bool(false)) => true,
        Some(Value::Bool(true)) => false,
        Some(_) => return Err(wrong("`dry_run` is `true` or `false`")),
    };
    if !site.web.borrow().allow_edit {
        return Err(error(403, "editing is switched off: set `web.allow_edit` on the host"));
    }
    let configured = ask(site, SiteRequest::Configured).await?;
    let name = configured.local_file(file).ok_or_else(|| error(404, "there is no such file"))?;
    let ops: Result<Vec<Op>, String> = written.iter().map(|op| Op::read(&op.value)).collect();
    let ops = ops.map_err(|why| wrong(&why))?;
    match configuration::edit(site, (name, version), &configured.around, ops, is_saved).await {
        Ok(Some((changes, _))) => Ok(Reply::json(200, &object! { saved: false, changes: changes })),
        Ok(None) => {
            let errors = ask(site, SiteRequest::Reload).await?;
            Ok(Reply::json(200, &object! { saved: true, errors: errors }))
        }
        Err(NotEdited::Changed) => Err(error(409, "the file has changed in the meantime: read it again")),
        Err(NotEdited::Wrong(findings)) => {
            let error = "the configuration would not be valid, or may not be edited like this";
            let findings: Vec<_> = findings.iter().map(Finding::json).collect();
            Err(Reply::json(422, &object! { error: error, findings: findings }))
        }
        Err(NotEdited::Failed(why)) => Err(error(500, &format!("nothing was saved: {name} {why}"))),
    }
}

/// `skip` and `limit` of a list.
fn part(request: &PageRequest) -> Result<(usize, usize), Reply> {
    let number = |name: &str, usual: usize, right: RangeInclusive<usize>| match request.queried(name) {
        None => Ok(usual),
        Some(text) => text.parse().ok().filter(|number| right.contains(number)).ok_or_else(|| {
            error(400, &format!("`{name}` is a whole number: `skip` from 0 to 1000000, `limit` from 1 to {MAX_ITEMS}"))
        }),
    };
    Ok((number("skip", 0, 0..=1_000_000)?, number("limit", USUAL, 1..=MAX_ITEMS)?))
}

/// Checks a text as a configuration of its own. Runs no program, reads no file and asks no host.
pub(super) async fn judge(site: &Site, request: &PageRequest) -> Handled {
    let text = String::from_utf8(request.body.clone()).map_err(|_| error(400, "the text is not UTF-8"))?;
    let work = move || {
        let (config, findings) = check("the text", &text, &Surroundings::default());
        (config.is_some(), findings)
    };
    let (valid, findings) = site.aside(work).await.ok_or_else(|| error(503, "the text cannot be checked"))?;
    let shown: Vec<_> = findings.iter().map(Finding::json).collect();
    Ok(Reply::json(200, &object! { valid: valid, findings: shown }))
}

/// What the service answers within [`MONITORING_TIMEOUT`]: if the event loop hangs, nothing may say that the service is well (I3).
async fn in_time<T>(site: &Site, ask: fn(Sender<T>) -> SiteRequest) -> Result<T, Reply> {
    let answer = timeout(MONITORING_TIMEOUT, site.ask(ask)).await.ok().flatten();
    answer.ok_or_else(|| Reply::text(503, "the service has no configuration yet, or it does not respond"))
}

pub(super) async fn alive(site: &Site) -> Handled {
    in_time(site, SiteRequest::Alive).await.map(|()| Reply::text(200, "alive"))
}

pub(super) async fn ready(site: &Site) -> Handled {
    match in_time(site, SiteRequest::Ready).await? {
        None => Ok(Reply::text(200, "ready")),
        Some(why) => Err(Reply::text(503, &format!("not ready: {why}"))),
    }
}

pub(super) async fn metrics(site: &Site) -> Handled {
    in_time(site, SiteRequest::Metrics).await.map(|text| Reply::new(200, CONTENT_TYPE, text))
}
