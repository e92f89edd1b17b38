//! Every request as it would be sent now, redacted: the same that `ddns preview` shows.

use ddns_core::web::list::ListFilter;
use ddns_core::web::overview::link;
use maud::{Markup, Render, html};

use super::parts::{ListRange, Tone, code, empty, notice, pager, prose};

/// How many requests a page shows.
pub(crate) const PER_PAGE: usize = 20;

/// One update and its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestItem {
    pub(crate) domain: String,
    pub(crate) kind: String,
    /// What would be done and why: `would be sent: ...`.
    pub(crate) verdict: String,
    /// The address and where it comes from.
    pub(crate) address: Option<String>,
    /// What is wrong with the sources, or doubtful about the address.
    pub(crate) warnings: Vec<String>,
    pub(crate) request: RequestContent,
}

/// The request of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestContent {
    /// As text and as a command of curl.
    Shown { text: String, curl: String, endpoint: String, proxy: Option<String> },
    /// It goes in one request with another update.
    Together,
    /// There is none: the verdict says why.
    None,
}

/// What the view is made of.
pub(crate) struct RequestsModel<'a> {
    pub(crate) filter: &'a ListFilter,
    /// Those of this page.
    pub(crate) items: Vec<RequestItem>,
    pub(crate) range: ListRange,
    /// `Nothing was sent. A run now would send 1 of 2 updates.`
    pub(crate) closing: String,
}

impl Render for RequestsModel<'_> {
    fn render(&self) -> Markup {
        html! {
            div.stack {
                div.head {
                    div {
                        h1 { "Requests" }
                        p.soft { (self.closing) " Secrets are shown as " code { "***" } "." }
                    }
                }
                section.card.flush aria-label="Requests" {
                    div.bar {
                        form action="/requests" role="search" {
                            input type="search" name="q" value=(self.filter.search) aria-label="Filter by domain"
                                placeholder="Filter by domain" autocapitalize="none" spellcheck="false";
                            button { "Filter" }
                        }
                    }
                    @if self.items.is_empty() {
                        (empty("No requests", if self.filter.search.is_empty() {
                            html! { "The configuration has no domains that are switched on." }
                        } else {
                            html! { "No domain has these words. " a href="/requests" { "Show all" } "." }
                        }))
                    } @else {
                        ul.steps { @for item in &self.items { li { (head(item)) (body(item)) } } }
                        (pager(self.range, "requests", |page| self.filter.on_page(page).link("/requests")))
                    }
                }
            }
        }
    }
}

fn head(item: &RequestItem) -> Markup {
    html! {
        h2 { a href=(link("/update", [("domain", item.domain.clone()), ("type", item.kind.clone())])) { (item.domain) } " " span.tag { (item.kind) } }
    }
}

/// Verdict, address and request of an update.
pub(super) fn body(item: &RequestItem) -> Markup {
    html! {
        dl.pairs {
            dt { "Verdict" } dd { (prose(&item.verdict)) }
            @if let Some(address) = &item.address { dt { "Address" } dd { (prose(address)) } }
            @if let RequestContent::Shown { endpoint, proxy, .. } = &item.request {
                dt { "Endpoint" }
                dd { code { (endpoint) } @if let Some(proxy) = proxy { ", through the proxy " code { (proxy) } } }
            }
        }
        @for warning in &item.warnings { (notice(Tone::Warning, prose(warning))) }
        @match &item.request {
            RequestContent::Shown { text, curl, .. } => {
                (code(text, "the request"))
                details { summary { "As a curl command" } (code(curl, "the command")) }
            }
            RequestContent::Together => p.soft { "It goes in one request with another update, which shows it." },
            RequestContent::None => {}
        }
    }
}
