//! What happened, the latest first: the history in the words of `ddns history`, and the log.

use ddns_core::journal::{EventKind, Record, RecordKind, UpdateState};
use ddns_core::text::log_format::Level;
use ddns_core::web::list::ListQuery;
use ddns_core::web::overview::details_link;
use ddns_core::web::when::Clock;
use maud::{Markup, html};

use super::parts::{Tone, empty, head, notice, pager, prose, said, search, time};
use crate::output::log::RecentLine;

/// How many records a page shows.
pub(crate) const PER_PAGE: usize = 50;

/// One page of the records that match, or why they cannot be read.
pub(crate) fn page(all: &Result<Vec<Record>, String>, query: &ListQuery, clock: &Clock<'_>) -> Markup {
    let known = all.as_deref().unwrap_or_default();
    let query = &query.within(PER_PAGE, known.len());
    let shown = known.chunks(PER_PAGE).nth(query.page - 1).unwrap_or_default();
    let kinds = html! {
        select name="outcome" aria-label="Outcome" {
            @for kind in RecordKind::ALL { option value=(kind.key()) selected[kind == query.outcome] { (kind.word()) } }
        }
    };
    html! {
        div.stack {
            div.head { h1 { "History" } }
            @if let Err(why) = all { (notice(Tone::Bad, html! { "The history cannot be read: " (why) ". Updates go on." })) }
            section.card.flush aria-label="History" {
                div.bar { (search("/history", "Filter by domain", &query.search, &kinds)) }
                @if !shown.is_empty() {
                    (records(shown, clock, true))
                    (pager((query.page, PER_PAGE, known.len()), "history", |page| query.on_page(page).link("/history")))
                } @else if query.search.is_empty() && query.outcome == RecordKind::All {
                    (empty("Nothing yet", "Outcomes and changes of the address are shown here as they come."))
                } @else {
                    (empty("Nothing matches", html! { "Nothing of this kind happened. " a href="/history" { "Show everything" } "." }))
                }
            }
        }
    }
}

/// Records as a list; with the names of their domains if it `has_names`.
pub(super) fn records(records: &[Record], clock: &Clock<'_>, has_names: bool) -> Markup {
    html! {
        ol.timeline {
            @for record in records {
                li {
                    @let when = clock.when(record.at);
                    div.soft { p { (time(&when)) } p.small { (when.exact.get(..19).unwrap_or_default().replace('T', " ")) } }
                    div {
                        p.row {
                            @if has_names {
                                @match (&record.domain, record.family) {
                                    (Some(domain), Some(family)) => strong { a href=(details_link(domain, family.record_type(), record.endpoint.as_deref())) { (domain) } },
                                    (Some(domain), None) => strong { (domain) },
                                    (None, _) => span { "this host" },
                                }
                            }
                            @if let Some(family) = record.family { span.tag { (family.record_type()) } }
                            @if let Some(ip) = record.address { span.mono { (ip) } }
                            @if let Some(endpoint) = &record.endpoint { span.soft.small { (endpoint) } }
                        }
                        p { (said(sign(record.event), "")) " " (prose(&record.sentence())) }
                    }
                }
            }
        }
    }
}

/// The state whose icon an event has.
fn sign(event: EventKind) -> UpdateState {
    match event {
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
    }
}

/// The newest lines of the log, the newest first; secrets are masked as in the log itself.
pub(crate) fn log(lines: &[RecentLine], clock: &Clock<'_>) -> Markup {
    html! {
        div.stack {
            (head("Log", "The latest lines since the service started, the newest first. The log on the host has all of them.", ""))
            section.card.flush aria-label="Log" {
                @if lines.is_empty() { (empty("Nothing yet", "Lines are shown here as they are logged.")) }
                ol.timeline {
                    @for line in lines {
                        li { span.soft { (time(&clock.when(line.at))) } p { (level(line.level)) " " span.lines { (prose(&line.text)) } } }
                    }
                }
            }
        }
    }
}

fn level(level: Level) -> Markup {
    match level {
        Level::Debug | Level::Info => html! {},
        Level::Warning => said(UpdateState::Retrying, "warning:"),
        Level::Error | Level::Critical => said(UpdateState::Stopped, "error:"),
    }
}
