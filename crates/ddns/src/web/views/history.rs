//! What happened, the latest first: the same that `ddns history` shows.

use ddns_core::journal::{EventKind, Record, RecordKind, UpdateState};
use ddns_core::net::family::Family;
use ddns_core::text::duration::seconds;
use ddns_core::text::number::grouped;
use ddns_core::web::list::ListFilter;
use ddns_core::web::overview::link;
use ddns_core::web::when::Clock;
use maud::{Markup, Render, html};

use super::parts::{ListRange, Tone, empty, notice, pager, response, said, time};

/// How many records a page shows.
pub(crate) const PER_PAGE: usize = 50;

/// What the view is made of.
pub(crate) struct HistoryModel<'a> {
    pub(crate) filter: &'a ListFilter,
    pub(crate) kind: RecordKind,
    /// Those of this page, the latest first.
    pub(crate) records: &'a [Record],
    pub(crate) range: ListRange,
    pub(crate) clock: Clock<'a>,
    /// Why the history cannot be read.
    pub(crate) trouble: Option<String>,
}

impl Render for HistoryModel<'_> {
    fn render(&self) -> Markup {
        html! {
            div.stack {
                div.head { h1 { "History" } }
                @if let Some(why) = &self.trouble {
                    (notice(Tone::Bad, html! { "The history cannot be read: " (why) ". Updates go on." }))
                }
                section.card.flush aria-label="History" {
                    (self.bar())
                    @if self.records.is_empty() { (self.nothing()) } @else {
                        (records(self.records, &self.clock, true))
                        (pager(self.range, "history", |page| self.filter.on_page(page).link("/history")))
                    }
                }
            }
        }
    }
}

impl HistoryModel<'_> {
    fn bar(&self) -> Markup {
        html! {
            div.bar {
                form action="/history" role="search" {
                    input type="search" name="q" value=(self.filter.search) aria-label="Filter by domain"
                        placeholder="Filter by domain" autocapitalize="none" spellcheck="false";
                    select name="outcome" aria-label="Outcome" data-submit {
                        @for kind in RecordKind::ALL {
                            option value=(kind.key()) selected[kind == self.kind] { (kind.word()) }
                        }
                    }
                    button { "Filter" }
                }
            }
        }
    }

    fn nothing(&self) -> Markup {
        if self.filter.search.is_empty() && self.kind == RecordKind::All {
            return empty("Nothing yet", html! { "Outcomes and changes of the address are shown here as they come." });
        }
        empty(
            "Nothing matches",
            html! { "Nothing of this kind happened. " a href="/history" { "Show everything" } "." },
        )
    }
}

/// Records as a list; with the names of their domains where they may be of several.
pub(super) fn records(records: &[Record], clock: &Clock<'_>, has_names: bool) -> Markup {
    html! {
        ol.timeline {
            @for record in records {
                li {
                    @let when = clock.when(record.at);
                    div.soft { p { (time(&when)) } p.small { (when.exact.get(..19).unwrap_or_default().replace('T', " ")) } }
                    div {
                        p.row {
                            (sign(record.event))
                            @if has_names {
                                @match &record.domain {
                                    Some(domain) => strong { (name(record, domain)) },
                                    None => span { "this host" },
                                }
                            }
                            @if let Some(family) = record.family { span.tag { (family.record_type()) } }
                            @if let Some(endpoint) = &record.endpoint { span.soft.small { (endpoint) } }
                        }
                        (told(record, clock))
                    }
                }
            }
        }
    }
}

/// A domain that leads to its details, where it has some.
fn name(record: &Record, domain: &str) -> Markup {
    let pairs = |family: Family| {
        let endpoint = record.endpoint.clone().map(|endpoint| ("endpoint", endpoint));
        [("domain", domain.to_owned()), ("type", family.record_type().to_owned())].into_iter().chain(endpoint)
    };
    html! {
        @match record.family {
            Some(family) => a href=(link("/update", pairs(family))) { (domain) },
            None => (domain),
        }
    }
}

fn sign(event: EventKind) -> Markup {
    let state = match event {
        EventKind::Accepted
        | EventKind::Unchanged
        | EventKind::AlreadyThere
        | EventKind::Made
        | EventKind::SourceRecovered
        | EventKind::Visible
        | EventKind::TookOver => UpdateState::UpToDate,
        EventKind::Failed | EventKind::SourceFailed | EventKind::Lost => UpdateState::Retrying,
        EventKind::NotVisible | EventKind::Drifted => UpdateState::InDoubt,
        EventKind::Stopped => UpdateState::Stopped,
        EventKind::HeldBack => UpdateState::HeldBack,
        EventKind::Address => UpdateState::Sending,
        EventKind::NoAddress => UpdateState::NoAddress,
        EventKind::GaveBack => UpdateState::StandBy,
    };
    said(state, event.word())
}

fn told(record: &Record, clock: &Clock<'_>) -> Markup {
    let address = || html! { @if let Some(ip) = record.address { span.mono { (ip) } } };
    let before = || html! { @if let Some(ip) = record.previous.filter(|_| record.is_change()) { ", before " span.mono { (ip) } } };
    let source = || html! { @if let Some(source) = &record.source { "from " code { (source) } } };
    let reason = record.reason.as_deref().unwrap_or_default();
    html! {
        p.soft {
            @match record.event {
                EventKind::Accepted | EventKind::Unchanged | EventKind::AlreadyThere | EventKind::Made => {
                    (address()) (before())
                    @if let Some(status) = record.status { " · " (status) }
                    @if let Some(took) = record.took { " in " (grouped(usize::try_from(took).unwrap_or(usize::MAX))) " ms" }
                    @if record.attempt > 1 { " · try " (record.attempt) }
                }
                EventKind::Failed => { (address()) " · " (response(reason)) @if record.attempt > 1 { " Try " (record.attempt) "." } }
                EventKind::Stopped => { (address()) " · the service refused it permanently. " (response(reason)) }
                EventKind::HeldBack => {
                    (address()) " · " (reason)
                    @if let Some(until) = record.until { ", until " (time(&clock.when(until))) }
                }
                EventKind::Visible | EventKind::NotVisible | EventKind::Drifted => {
                    (address()) " · " (reason)
                    @if let Some(after) = record.after { " · " (seconds(after)) " after it was accepted" }
                }
                EventKind::Address => { (address()) (before()) " · " (source()) }
                EventKind::NoAddress => { "No source gave an address" (before()) "." }
                EventKind::SourceFailed => { (source()) ": " (reason) }
                EventKind::SourceRecovered => { (source()) }
                EventKind::TookOver | EventKind::GaveBack | EventKind::Lost => { "This host " (record.sentence()) "." }
            }
        }
    }
}
