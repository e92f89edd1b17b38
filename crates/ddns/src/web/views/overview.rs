//! The first view.

use ddns_core::journal::{Row, Status, SyncResult, UpdateState};
use ddns_core::text::number::grouped;
use ddns_core::web::list::{ListQuery, Sort};
use ddns_core::web::overview::{Current, Overview, PER_PAGE, Trouble, address, details_link};
use ddns_core::web::when::Clock;
use maud::{Markup, html};

use super::group;
use super::parts::{Tone, action, empty, icon, left, notice, pager, pill, response, said, search, time};
use super::strip::{HistoryStrips, Strip, strip};

/// What the view is made of.
pub(crate) struct OverviewModel<'a> {
    pub(crate) status: &'a Status,
    pub(crate) view: &'a Overview<'a>,
    pub(crate) query: &'a ListQuery,
    pub(crate) clock: Clock<'a>,
    pub(crate) token: &'a str,
    /// The last days of each row of the page, and since when this host has had its addresses.
    pub(crate) past: HistoryStrips,
    /// The last synchronization that somebody requested: its time and its result; no result: it is running.
    pub(crate) outcome: Option<(u64, Option<SyncResult>)>,
}

impl OverviewModel<'_> {
    pub(crate) fn page(&self) -> Markup {
        html! {
            div.stack {
                (self.hero())
                (outcome(self.outcome.as_ref(), &self.clock))
                @if !self.status.errors.is_empty() { (broken(&self.status.errors)) }
                @if let Some(membership) = &self.status.group { (group::section(membership, &self.clock)) }
                @if !self.view.trouble.is_empty() { (self.trouble()) }
                (self.table())
            }
        }
    }

    fn hero(&self) -> Markup {
        let view = self.view;
        html! {
            section.card.hero aria-labelledby="headline" {
                div.head {
                    div class={ "say " (view.worst.key()) } {
                        (icon(view.worst.key()))
                        div {
                            h1 #headline { (view.headline) }
                            @if let Some(next) = self.status.next { p.soft { "Next check in " (left(next)) } }
                        }
                    }
                    @if view.all > 0 { (action("/sync", self.token, &html! { button.main { "Synchronize now" } })) }
                }
                @if !view.addresses.is_empty() {
                    dl.facts { @for current in &view.addresses { (self.fact(current)) } }
                }
            }
        }
    }

    fn fact(&self, current: &Current<'_>) -> Markup {
        html! {
            div {
                dt { (if current.ip.is_ipv4() { "IPv4 address" } else { "IPv6 address" }) }
                dd.value { (current.ip) }
                dd.soft {
                    "from " code { (current.source) }
                    @if let Some(since) = self.past.since.get(&current.ip) { " · since " (time(&self.clock.since(*since))) }
                    " · " (grouped(current.count)) (if current.count == 1 { " update" } else { " updates" })
                }
            }
        }
    }

    fn trouble(&self) -> Markup {
        let view = self.view;
        let is_stopped = view.counts.iter().any(|(state, _)| *state == UpdateState::Stopped);
        html! {
            section.card.flush aria-labelledby="trouble" {
                header {
                    h2 #trouble { "What needs attention" }
                    @if is_stopped { (action("/retry-stopped", self.token, &html! { button { "Send stopped again" } })) }
                }
                ul.trouble { @for trouble in &view.trouble { (self.sentence(trouble)) } }
                @if view.more_trouble > 0 {
                    p.verdict {
                        "And for " (grouped(view.more_trouble)) " more reasons. "
                        a href=(self.query.in_state(None).sorted(Sort::State).link("/")) { "Show the worst first" }
                    }
                }
            }
        }
    }

    fn sentence(&self, trouble: &Trouble<'_>) -> Markup {
        let Some(first) = trouble.named.first() else { return html! {} };
        let more = trouble.count - trouble.named.len();
        html! {
            li class=(trouble.state.key()) {
                div.what {
                    p.who {
                        @for row in &trouble.named {
                            span { a href=(of(row)) { (row.domain) } " " span.tag { (row.kind) } }
                        }
                        @if more > 0 { span.soft { "and " (grouped(more)) " more" } }
                        (pill(trouble.state, trouble.state.word()))
                    }
                    p { (why(first, trouble.next)) " " (self.held(first)) }
                }
                @if more > 0 {
                    a.button href=(self.query.in_state(Some(trouble.state)).link("/")) { "Show all" }
                } @else {
                    a.button.spare href=(of(first)) { "Details" }
                }
            }
        }
    }

    /// Which address the endpoint has in the meantime.
    fn held(&self, row: &Row) -> Markup {
        let Some(accepted) = row.accepted() else {
            return html! { @if row.address.is_some() { "The endpoint has accepted no address yet." } };
        };
        html! {
            @match row.in_doubt {
                Some(sent) if sent != accepted.ip => {
                    "The endpoint has " code { (accepted.ip) } " or " code { (sent) } "."
                }
                _ if row.address != Some(accepted.ip) => {
                    "The endpoint has " code { (accepted.ip) } ", accepted " (time(&self.clock.when(accepted.at))) "."
                }
                _ => {}
            }
        }
    }

    fn table(&self) -> Markup {
        let (view, query) = (self.view, self.query);
        html! {
            section.card.flush aria-labelledby="updates" {
                h2.unseen #updates { "Updates" }
                @if view.all == 0 {
                    (empty("No updates yet", html! {
                        "The configuration has no domains that are switched on. "
                        a href="/recipes" { "Find your service" } " or add domains in " a href="/configuration" { "the configuration" } "."
                    }))
                } @else {
                    (self.bar())
                    @if view.rows.is_empty() {
                        (empty("Nothing matches", html! {
                            "No update has these words and this state. " a href="/" { "Show all " (grouped(view.all)) } "."
                        }))
                    } @else {
                        table.updates {
                            (self.head())
                            tbody { @for (at, row) in view.rows.iter().enumerate() { (self.row(row, self.past.strips.get(at))) } }
                        }
                        (pager((view.page, PER_PAGE, view.total), "updates", |page| query.on_page(page).link("/")))
                    }
                }
            }
        }
    }

    fn bar(&self) -> Markup {
        let (view, query) = (self.view, self.query);
        let states = view.counts.iter().map(|(state, count)| (Some(*state), *count));
        html! {
            div.bar {
                (search("/", "Filter by domain, address or source", &query.search, &html! {
                    @if let Some(state) = query.state { input type="hidden" name="state" value=(state.key()); }
                }))
                @if view.counts.len() > 1 || query.state.is_some() {
                    nav.chips aria-label="States" {
                        @for (state, count) in [(None, view.all)].into_iter().chain(states) {
                            a href=(query.in_state(state).link("/")) aria-current=[(query.state == state).then_some("true")] {
                                @if let Some(state) = state { (icon(state.key())) }
                                (state.map_or("all", UpdateState::word)) span.number { (grouped(count)) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn head(&self) -> Markup {
        let order = if self.query.is_reverse { "descending" } else { "ascending" };
        let sorts =
            [(Sort::Name, "Name"), (Sort::State, "State"), (Sort::Address, "Address"), (Sort::Accepted, "Accepted")];
        html! {
            thead {
                tr {
                    @for (sort, words) in sorts {
                        th scope="col" aria-sort=[(self.query.sort == sort).then_some(order)] { a href=(self.query.sorted(sort).link("/")) { (words) } }
                    }
                    th scope="col" { "Last response" }
                    @if !self.past.strips.is_empty() { th scope="col" { "Last 30 days" } }
                }
            }
        }
    }

    fn row(&self, row: &Row, days: Option<&Strip>) -> Markup {
        html! {
            tr {
                th {
                    a href=(of(row)) { (row.domain) } " " span.tag { (row.kind) }
                    @if let Some(endpoint) = &row.endpoint { span.small.soft { (endpoint) } }
                }
                td {
                    (said(row.state, row.state.word()))
                    @if let Some(seconds) = row.next { span.small.soft { "next try in " (left(seconds)) } }
                    (dns(row))
                }
                td.mono { @match address(row) { Some(ip) => (ip), None => "–" } }
                td { @match row.accepted { Some(at) => (time(&self.clock.when(at))), None if row.state == UpdateState::StandBy => "–", None => "never" } }
                td { (last(row)) }
                @if let Some(days) = days { td { (strip(days, &self.clock, false)) } }
            }
        }
    }
}

/// The URL of the details of a row.
pub(super) fn of(row: &Row) -> String {
    details_link(&row.domain, &row.kind, row.endpoint.as_deref())
}

/// The result of a synchronization that somebody requested.
pub(super) fn outcome(outcome: Option<&(u64, Option<SyncResult>)>, clock: &Clock<'_>) -> Markup {
    html! {
        @match outcome {
            None => {}
            Some((_, None)) => (notice(Tone::Info, "Synchronizing. What comes of it is shown here.")),
            Some((at, Some(SyncResult { good, text }))) => {
                (notice(if *good { Tone::Info } else { Tone::Warning }, html! { "Synchronized " (time(&clock.when(*at))) ": " (text.trim_end_matches('.')) "." }))
            }
        }
    }
}

/// What DNS shows of a row: a second mark beside its state.
pub(super) fn dns(row: &Row) -> Markup {
    html! {
        @if let Some(dns) = &row.dns {
            @let words = format!("DNS: {}", dns.word());
            span.small title=(dns.text) {
                @if dns.is_wrong() { (said(UpdateState::InDoubt, &words)) } @else { span.soft { (words) } }
            }
        }
    }
}

pub(super) fn last(row: &Row) -> Markup {
    html! {
        @match (row.last_ms, row.last_status) {
            (None, _) => span.soft { "–" },
            (Some(took), Some(status)) => { (status) " in " (grouped(took as usize)) " ms" }
            (Some(_), None) => span.soft { "none came" },
        }
    }
}

/// What is wrong with an update and what happens next, in sentences.
pub(super) fn why(row: &Row, next: Option<u64>) -> Markup {
    let reason = row.reason.as_deref().unwrap_or_default();
    let next = left(next.or(row.next).unwrap_or_default());
    html! {
        @match row.state {
            UpdateState::Retrying => {
                @if row.failures.is_none() { "Waits for its endpoint. " }
                (response(reason))
                @if let Some(failures) = row.failures.filter(|failures| *failures > 1) { " It failed " (failures) " times in a row." }
                " Next try in " (next) "."
            }
            UpdateState::HeldBack => { "Due, but " (reason) ". It is sent in " (next) "." }
            UpdateState::NoAddress => {
                @if row.address.is_some() { "It goes in one request with the address of the other family. " }
                "There is no " (if (row.kind == "A") == row.address.is_none() { "IPv4" } else { "IPv6" }) " address"
                @if !reason.is_empty() { ": " (reason) }
                ". " a href="/addresses" { "See what each source says" } "."
            }
            UpdateState::Stopped => {
                "The service refused it permanently: " q { (reason) } ". Correct the cause, then send it again."
            }
            UpdateState::InDoubt => { "It is not known which address the endpoint has; it is sent again." }
            UpdateState::Sending => "It is being sent.",
            UpdateState::StandBy => "Another host of the group sends it, or will.",
            UpdateState::UpToDate | UpdateState::Accepted => "The endpoint has this address.",
        }
    }
}

/// A notice that a newer configuration cannot be used.
fn broken(errors: &[String]) -> Markup {
    notice(
        Tone::Bad,
        html! {
            p { strong { "The configuration changed but cannot be used." } " The previous one still is." }
            ul { @for error in errors { li.mono.small { (error) } } }
            p { a href="/configuration" { "Open the configuration" } }
        },
    )
}
