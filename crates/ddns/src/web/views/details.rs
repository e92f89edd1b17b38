//! One update: its state, its request, the last response and what decided on it, its history.

use ddns_core::engine::Preview;
use ddns_core::journal::{EventKind, Record, Row, SyncResult, UpdateState};
use ddns_core::web::list::link;
use ddns_core::web::overview::address;
use ddns_core::web::when::Clock;
use maud::{Markup, html};

use super::history::records;
use super::overview::{last, of, outcome, why};
use super::parts::{action, code, empty, pill, prose, response_text, time};
use super::requests::body;
use super::strip::{Strip, legend, strip, table};

/// What the view is made of.
pub(crate) struct DetailsModel<'a> {
    pub(crate) row: &'a Row,
    /// Its request.
    pub(crate) preview: &'a Preview,
    /// The last days; `None` if there is no history.
    pub(crate) strip: Option<Strip>,
    /// The latest first.
    pub(crate) history: Vec<Record>,
    /// The last synchronization that somebody requested: its time and its result; no result: it is running.
    pub(crate) outcome: Option<(u64, Option<SyncResult>)>,
    pub(crate) clock: Clock<'a>,
    pub(crate) token: &'a str,
}

impl DetailsModel<'_> {
    pub(crate) fn page(&self) -> Markup {
        let state = self.row.state;
        let (path, words, is_main) = match state {
            UpdateState::Stopped => ("/retry-stopped", "Send stopped again", true),
            UpdateState::UpToDate | UpdateState::Sending => ("/sync", "Synchronize now", false),
            _ => ("/sync", "Try now", true),
        };
        let button = html! {
            input type="hidden" name="back" value=(of(self.row));
            button.main[is_main] { (words) }
        };
        html! {
            div.stack {
                nav.crumb aria-label="Back" { a href="/" { "‹ Overview" } }
                div.head {
                    div.row {
                        h1 { (self.row.domain) }
                        span.tag { (self.row.kind) }
                        (pill(state, state.word()))
                    }
                    (action(path, self.token, &button))
                }
                (outcome(self.outcome.as_ref(), &self.clock))
                (self.facts())
                @if let Some(days) = &self.strip {
                    section.card aria-labelledby="days" {
                        header { h2 #days { "Last 30 days" } (legend()) }
                        (strip(days, &self.clock, true))
                        (table(days, &self.clock))
                    }
                }
                section.card aria-labelledby="request" { h2 #request { "Request" } (body(self.preview, self.clock.now)) }
                section.card.flush aria-labelledby="history" {
                    header {
                        h2 #history { "History" }
                        a.small href=(link("/history", [("q", self.row.domain.clone())])) { "All of this domain" }
                    }
                    @if self.history.is_empty() {
                        (empty("Nothing yet", html! { "Nothing was sent for this update since the history began." }))
                    } @else {
                        (records(&self.history, &self.clock, false))
                    }
                }
            }
        }
    }

    fn facts(&self) -> Markup {
        let row = self.row;
        let of_request = || self.preview.redacted().map(|request| request.url.origin());
        html! {
            section.card aria-labelledby="now" {
                h2 #now { "Now" }
                p { (why(row, None)) }
                dl.pairs {
                    dt { "Address" }
                    dd {
                        @match address(row) {
                            Some(ip) => { span.mono { (ip) } @if let Some(source) = &row.source { span.soft { ", from " } code { (source) } } }
                            None => span.soft { "none" },
                        }
                    }
                    dt { "Accepted" }
                    dd {
                        @match row.accepted() {
                            Some(accepted) => { span.mono { (accepted.ip) } ", " (time(&self.clock.when(accepted.at))) }
                            None if row.state == UpdateState::StandBy => span.soft { "–" },
                            None => span.soft { "never" },
                        }
                    }
                    @if let Some(dns) = &row.dns { dt { "In DNS" } dd { (prose(&dns.text)) @if let Some(asked) = dns.asked { span.soft { ", asked " (time(&self.clock.when(asked))) } } } }
                    @if let Some(ip) = row.in_doubt { dt { "In doubt" } dd { span.mono { (ip) } span.soft { " was sent; the endpoint may have it" } } }
                    @if let Some(endpoint) = row.endpoint.clone().or_else(of_request) { dt { "Endpoint" } dd { code { (endpoint) } } }
                    dt { "Last response" }
                    dd { (last(row)) }
                    @if let Some(text) = self.response() { dt { "Response text" } dd { (code(text, "the text of the last response")) } }
                    @if let Some(decided) = &self.preview.decided { dt { "Decided by" } dd { (prose(decided)) } }
                }
            }
        }
    }

    /// The text of the last response; `None`: it was a success, or there was no text.
    fn response(&self) -> Option<&str> {
        let last = self.history.iter().find(|record| record.status.is_some() || record.event == EventKind::Failed)?;
        let is_failure = matches!(last.event, EventKind::Failed | EventKind::Stopped);
        let reason = self.row.reason.as_deref().filter(|_| self.row.state == UpdateState::Retrying);
        response_text(reason.or(last.reason.as_deref().filter(|_| is_failure))?)
    }
}
