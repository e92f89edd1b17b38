//! The pages: each handler asks the service for what its view shows.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::journal::Filter;
use ddns_core::net::family::Family;
use ddns_core::update::domain::Domain;
use ddns_core::web::list::ListQuery;
use ddns_core::web::overview;
use ddns_core::web::when::Clock;
use tokio::sync::oneshot::Sender;

use super::history_queries;
use super::reply::{Handled, Reply};
use super::request::PageRequest;
use super::site::{Site, SiteRequest, containing};
use super::views;
use super::views::details::DetailsModel;
use super::views::overview::OverviewModel;
use crate::clock::{local_offset, unix_time};
use crate::lookup::report::LookupReport;

/// What is said if the service ends while a page is made.
pub(super) const SERVICE_STOPPING: &str = "the service is stopping: try again once it runs again";

/// How many updates with the same name and type have details.
const MAX_ALIKE: usize = 100;

/// How long a button waits for a synchronization; a later result is shown when it comes.
const SYNC_WAIT: Duration = Duration::from_secs(2);

/// How many records are shown with the details of an update.
const MAX_RECORDS: usize = 20;

/// The clock of this host.
fn clock() -> Clock<'static> {
    Clock { now: unix_time().seconds, offset: &local_offset }
}

/// What the service answers.
pub(super) async fn ask<T>(site: &Site, ask: impl FnOnce(Sender<T>) -> SiteRequest) -> Result<T, Reply> {
    match site.ask(ask).await {
        Some(answer) => Ok(answer),
        None => Err(without_answer(site).await),
    }
}

/// The reply if the service does not answer: there is no configuration yet, or the service ends.
async fn without_answer(site: &Site) -> Reply {
    let is_set_up = site.ask(SiteRequest::Configured).await.is_some_and(|configured| configured.set_up.is_some());
    if is_set_up { Reply::see("/setup") } else { Reply::text(503, SERVICE_STOPPING) }
}

/// The page for something that does not exist.
pub(super) fn missing(request: &PageRequest, text: &str) -> Reply {
    request.page(404, "Not found", Some(""), &views::login::error("There is nothing here", text))
}

pub(super) async fn overview(site: &Site, request: &PageRequest) -> Handled {
    let status = ask(site, SiteRequest::Status).await?;
    if status.configs.is_empty() {
        return Err(without_answer(site).await);
    }
    let query = ListQuery::read(|name| request.queried(name));
    let view = overview::overview(&status, &query);
    let (clock, token, outcome) = (clock(), request.token.as_str(), site.outcome());
    let past = history_queries::days(site, &view.rows, clock.now).await;
    let model = OverviewModel { status: &status, view: &view, query: &query, clock, token, past, outcome };
    Ok(request.page(200, &format!("{} · Overview", view.headline), Some("/"), &model.page()))
}

/// The details of an update.
pub(super) async fn update(site: &Site, request: &PageRequest) -> Handled {
    let (Some(domain), Some(kind)) = (request.queried("domain"), request.queried("type")) else {
        return Err(missing(request, "The address of this page names no domain and no type."));
    };
    let endpoint = request.queried("endpoint");
    let (name, record) = (domain.clone(), kind.clone());
    let is_wanted =
        Box::new(move |own: &Domain, family: Family| own.as_str() == name && family.record_type() == record);
    let status = ask(site, SiteRequest::Status).await?;
    let previews = ask(site, |done| SiteRequest::Previews { is_wanted, skip: 0, take: MAX_ALIKE, done }).await?;
    let alike = || status.rows.iter().filter(|row| row.domain == domain && row.kind == kind).zip(&previews.shown);
    // The history contains only the origin.
    let wanted = endpoint.as_deref().unwrap_or_default();
    let is_meant = |own: Option<&str>| own.is_none_or(|own| own.starts_with(wanted));
    let exact = alike().find(|(row, _)| row.endpoint == endpoint);
    let found = exact.or_else(|| alike().find(|(row, _)| is_meant(row.endpoint.as_deref())));
    let (row, preview) = found.ok_or_else(|| missing(request, "The configuration no longer has this update."))?;
    let (clock, token, outcome) = (clock(), request.token.as_str(), site.outcome());
    let strip = history_queries::days(site, &[row], clock.now).await.strips.first().copied();
    let filter = Filter { domain: Some(domain), ..Default::default() };
    let mut history = history_queries::newest(site, filter, history_queries::MAX_RECORDS).await.unwrap_or_default();
    history.retain(|record| record.family.is_some_and(|family| family.record_type() == row.kind));
    history.truncate(MAX_RECORDS);
    let model = DetailsModel { row, preview, strip, history, outcome, clock, token };
    Ok(request.page(200, &format!("{}: {}", row.domain, row.state.word()), Some("/"), &model.page()))
}

pub(super) async fn addresses(site: &Site, request: &PageRequest) -> Handled {
    let (asked, report) = match site.sources.current(ask(site, SiteRequest::Configs).await?).await {
        Some((at, report)) => (Some(clock().when(at)), report),
        None => (None, Rc::new(LookupReport::of_host())),
    };
    let content = views::addresses::page(&report, asked.as_ref(), &request.token);
    Ok(request.page(200, "Addresses", Some("/addresses"), &content))
}

/// Asks the sources again.
pub(super) async fn ask_sources(site: &Site) -> Handled {
    site.sources.ask(ask(site, SiteRequest::Configs).await?).await;
    Ok(Reply::see("/addresses"))
}

pub(super) async fn requests(site: &Site, request: &PageRequest) -> Handled {
    let mut query = ListQuery::read(|name| request.queried(name));
    let take = views::requests::PER_PAGE;
    let previews = loop {
        let (is_wanted, skip) = (containing(&query.search), (query.page - 1).saturating_mul(take));
        let previews = ask(site, |done| SiteRequest::Previews { is_wanted, skip, take, done }).await?;
        match query.within(take, previews.total) {
            last if last.page < query.page => query = last,
            _ => break previews,
        }
    };
    let content = views::requests::page(&previews, &query, clock().now);
    Ok(request.page(200, "Requests", Some("/requests"), &content))
}

pub(super) async fn history(site: &Site, request: &PageRequest) -> Handled {
    let query = ListQuery::read(|name| request.queried(name));
    let wanted = Filter { words: query.search.to_lowercase(), kind: query.outcome, ..Default::default() };
    let records = history_queries::newest(site, wanted, history_queries::MAX_RECORDS).await;
    let content = views::history::page(&records.map_err(|why| why.to_string()), &query, &clock());
    Ok(request.page(200, "History", Some("/history"), &content))
}

/// The newest lines of the log.
pub(super) async fn log(site: &Site, request: &PageRequest) -> Handled {
    let lines = ask(site, SiteRequest::Log).await?;
    Ok(request.page(200, "Log", Some("/log"), &views::history::log(&lines, &clock())))
}

/// Synchronizes, and returns to the page with the button. It waits a moment, so that a quick result is shown at once.
pub(super) async fn synchronize(site: &Rc<Site>, request: &PageRequest, retry_stopped: bool) -> Handled {
    let done = tokio::task::spawn_local(Rc::clone(site).synchronize(retry_stopped));
    let _ = tokio::time::timeout(SYNC_WAIT, done).await;
    Ok(Reply::see(&request.field("back").unwrap_or_default()))
}
