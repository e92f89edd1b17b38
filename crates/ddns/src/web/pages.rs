//! The pages: each handler asks the service for what its view shows.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::journal::{Filter, RecordKind};
use ddns_core::web::list::ListFilter;
use ddns_core::web::overview::{self, OverviewQuery};
use ddns_core::web::when::Clock;
use maud::Render as _;

use super::history_queries;
use super::reply::{PageRequest, Reply};
use super::site::{Ask, Site, Wanted};
use super::view_models;
use super::views;
use super::views::layout::{Frame, Tab};
use super::views::parts::ListRange;
use crate::clock::{local_offset, unix_time};
use crate::lookup::report::LookupReport;

/// Where the service ends while a page is made.
pub(super) const GONE: &str = "the service ends: try again when it runs";

/// How many updates with the same name and type have details.
const MAX_ALIKE: usize = 100;

/// How long a button waits for a synchronization; what comes later is shown when it comes.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many records are shown with the details of an update.
const MAX_RECORDS: usize = 20;

/// What surrounds a view.
pub(super) fn frame<'a>(request: &'a PageRequest, title: &'a str, tab: Option<Tab>) -> Frame<'a> {
    let can_log_out = request.has_password && request.visitor.is_let_in;
    Frame { title, tab, has_tabs: tab.is_some(), token: &request.token, can_log_out, is_live: tab.is_some() }
}

/// The clock of this host.
fn clock() -> Clock<'static> {
    Clock { now: unix_time().seconds, offset: &local_offset }
}

pub(super) async fn overview(site: &Site, request: &PageRequest) -> Reply {
    let Some(status) = site.ask(Ask::Status).await else { return Reply::text(503, GONE) };
    if status.configs.is_empty() {
        return without_answer(site).await;
    }
    let query = OverviewQuery::read(|name| request.queried(name));
    let view = overview::overview(&status, &query);
    let title = format!("{} · Overview", view.headline);
    let frame = frame(request, &title, Some(Tab::Overview));
    let (token, clock) = (frame.token, clock());
    let outcome = site.outcome();
    let past = history_queries::days(site, &view.rows, clock.now).await;
    let since = view.addresses.iter().map(|current| past.since.get(&current.ip).copied()).collect();
    let strips = past.strips;
    let model = views::overview::OverviewModel {
        status: &status,
        view: &view,
        query: &query,
        clock,
        token,
        strips,
        since,
        outcome,
    };
    Reply::page(200, frame.around(&model.render()))
}

/// One update.
pub(super) async fn update(site: &Site, request: &PageRequest) -> Reply {
    let (Some(domain), Some(kind)) = (request.queried("domain"), request.queried("type")) else {
        return missing(request, "The address of this page names no domain and no type.");
    };
    let endpoint = request.queried("endpoint");
    let wanted = Wanted {
        filter: ListFilter::default(),
        update: Some((domain.clone(), kind.clone())),
        skip: 0,
        take: MAX_ALIKE,
    };
    let (Some(status), Some(previews)) =
        (site.ask(Ask::Status).await, site.ask(|respond| Ask::Previews(wanted, respond)).await)
    else {
        return without_answer(site).await;
    };
    let alike = || status.rows.iter().filter(|row| row.domain == domain && row.kind == kind).zip(&previews.shown);
    // The history names the origin alone.
    let wanted = endpoint.as_deref().unwrap_or_default();
    let is_meant = |own: Option<&str>| own.is_none_or(|own| own.starts_with(wanted));
    let exact = alike().find(|(row, _)| row.endpoint == endpoint);
    let Some((row, preview)) = exact.or_else(|| alike().find(|(row, _)| is_meant(row.endpoint.as_deref()))) else {
        return missing(request, "The configuration no longer has this update.");
    };
    let title = format!("{}: {}", row.domain, row.state.word());
    let frame = frame(request, &title, Some(Tab::Overview));
    let (token, clock) = (frame.token, clock());
    let past = history_queries::days(site, &[row], clock.now).await;
    let filter = Filter { domain: Some(domain), ..Default::default() };
    let mut records = history_queries::newest(site, filter, history_queries::MAX_RECORDS).await.unwrap_or_default();
    records.retain(|record| record.family.is_some_and(|family| family.record_type() == row.kind));
    records.truncate(MAX_RECORDS);
    let model = views::details::DetailsModel {
        row,
        request: Some(view_models::item(preview, clock.now)),
        strip: past.strips.first().copied(),
        history: records,
        decided: preview.decided.clone(),
        outcome: site.outcome(),
        clock,
        token,
    };
    Reply::page(200, frame.around(&model.render()))
}

/// Where the service does not say what a page needs: there is no configuration yet, or it ends.
async fn without_answer(site: &Site) -> Reply {
    let is_set_up = site.ask(Ask::Configured).await.is_some_and(|configured| configured.set_up.is_some());
    if is_set_up { Reply::see("/setup") } else { Reply::text(503, GONE) }
}

/// A page that is not there.
pub(super) fn missing(request: &PageRequest, text: &str) -> Reply {
    let wrong = views::login::ErrorPage { title: "There is nothing here", text };
    let frame = Frame { is_live: false, has_tabs: true, ..frame(request, "Not found", None) };
    Reply::page(404, frame.around(&wrong.render()))
}

pub(super) async fn addresses(site: &Site, request: &PageRequest) -> Reply {
    let Some(configs) = site.ask(Ask::Configs).await else { return without_answer(site).await };
    let known = site.sources.current(configs).await;
    let frame = frame(request, "Addresses", Some(Tab::Addresses));
    let (asked, report) =
        known.map_or_else(|| (None, Rc::new(LookupReport::of_host())), |(at, report)| (Some(clock().when(at)), report));
    let model = views::addresses::AddressesModel { report: &report, asked, token: frame.token };
    Reply::page(200, frame.around(&model.render()))
}

/// Asks the sources again.
pub(super) async fn ask_sources(site: &Site) -> Reply {
    let Some(configs) = site.ask(Ask::Configs).await else { return without_answer(site).await };
    site.sources.ask(configs).await;
    Reply::see("/addresses")
}

pub(super) async fn requests(site: &Site, request: &PageRequest) -> Reply {
    let filter = ListFilter::read(|name| request.queried(name));
    let per_page = views::requests::PER_PAGE;
    let skip = (filter.page - 1).saturating_mul(per_page);
    let wanted = Wanted { filter: filter.clone(), update: None, skip, take: per_page };
    let Some(previews) = site.ask(|respond| Ask::Previews(wanted, respond)).await else {
        return without_answer(site).await;
    };
    let frame = frame(request, "Requests", Some(Tab::Requests));
    let now = clock().now;
    let model = views::requests::RequestsModel {
        filter: &filter,
        items: previews.shown.iter().map(|preview| view_models::item(preview, now)).collect(),
        range: ListRange { page: filter.page, per_page, total: previews.total },
        closing: view_models::closing(&previews),
    };
    Reply::page(200, frame.around(&model.render()))
}

pub(super) async fn history(site: &Site, request: &PageRequest) -> Reply {
    let filter = ListFilter::read(|name| request.queried(name));
    let kind = RecordKind::parse(&filter.outcome).unwrap_or_default();
    let wanted = Filter { words: filter.search.to_lowercase(), kind, ..Default::default() };
    let (records, trouble) = match history_queries::newest(site, wanted, history_queries::MAX_RECORDS).await {
        Ok(records) => (records, None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    let per_page = views::history::PER_PAGE;
    let range = ListRange { page: filter.page, per_page, total: records.len() };
    let shown = records.chunks(per_page).nth(filter.page - 1).unwrap_or_default();
    let frame = frame(request, "History", Some(Tab::History));
    let model = views::history::HistoryModel { filter: &filter, kind, records: shown, range, clock: clock(), trouble };
    Reply::page(200, frame.around(&model.render()))
}

/// What the service logged lately.
pub(super) async fn log(site: &Site, request: &PageRequest) -> Reply {
    let Some(lines) = site.ask(Ask::Log).await else { return without_answer(site).await };
    let frame = frame(request, "Log", Some(Tab::Log));
    Reply::page(200, frame.around(&views::log::LogModel { lines, clock: clock() }.render()))
}

/// Synchronizes, and goes back to the page that asked for it. It is waited for a moment: what came of it is there then.
pub(super) async fn synchronize(site: &Rc<Site>, request: &PageRequest, retry_stopped: bool) -> Reply {
    let done = tokio::task::spawn_local(Rc::clone(site).synchronize(retry_stopped));
    let _ = tokio::time::timeout(PATIENCE, done).await;
    Reply::back_to(request.field("back").as_deref())
}
