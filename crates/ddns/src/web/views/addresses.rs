//! Every address of this host with the verdict on it, what each source says, and which address is sent and why: the same
//! that `ddns addresses` shows.

use ddns_core::journal::UpdateState;
use ddns_core::net::local_address::LocalAddress;
use ddns_core::web::when::When;
use maud::{Markup, html};

use super::parts::{Tone, action, empty, head, notice, prose, said, time};
use crate::lookup::report::{LookupReport, SourceReport, described, verdict};

/// The report; `asked` is when the sources were asked; `None`: they are being asked now.
pub(crate) fn page(report: &LookupReport, asked: Option<&When>, token: &str) -> Markup {
    html! {
        div.stack {
            (head("Addresses", html! {
                "The first source that gives an address decides."
                @if let Some(asked) = asked { " Asked " (time(asked)) "." }
            }, html! { @if asked.is_some() { (action("/addresses", token, &html! { button { "Ask again" } })) } }))
            @if asked.is_none() {
                (notice(Tone::Info, html! { "The sources are being asked. " a href="/addresses" data-again { "Show what they say" } }))
            } @else if report.lists.is_empty() {
                section.card.flush {
                    (empty("No sources", html! { "No domain is switched on, so no address is looked for." }))
                }
            }
            div.columns { @for list in &report.lists { (sources(list)) } }
            (host(report))
        }
    }
}

fn host(report: &LookupReport) -> Markup {
    html! {
        section.card.flush aria-labelledby="local" {
            header { h2 #local { "Addresses of this host" } }
            @match &report.local {
                Err(why) => (notice(Tone::Warning, html! { "The addresses of this host cannot be listed: " (why) })),
                Ok(local) if local.is_empty() => {
                    (empty("No address", html! { "No interface of this host has an address: it has no network." }))
                }
                Ok(local) => table.cards {
                    thead {
                        tr { @for title in ["Address", "Interface", "Verdict", "What it is"] { th scope="col" { (title) } } }
                    }
                    tbody { @for local in local { (row(local)) } }
                }
            }
        }
    }
}

fn row(local: &LocalAddress) -> Markup {
    let state = if local.unusable().is_none() { UpdateState::UpToDate } else { UpdateState::NoAddress };
    html! {
        tr {
            th scope="row" { span.mono { (local.ip) "/" (local.prefix) } }
            td data-label="Interface" { span.mono { (local.interface) } }
            td data-label="Verdict" { (said(state, &verdict(local))) }
            td data-label="What it is" { span.soft { (described(local)) } }
        }
    }
}

fn sources(list: &SourceReport) -> Markup {
    html! {
        section.card.flush {
            header { h2 { (list.family) " (" (list.family.record_type()) ")" } span.soft.small { (list.named()) } }
            ul.steps {
                @for attempt in &list.lookup.attempts {
                    li {
                        div.row {
                            code { (attempt.source) }
                            span.soft.small.number { (attempt.took.as_millis()) " ms" }
                        }
                        @match &attempt.result {
                            Ok(choice) => p { strong.mono { (choice.ip) } " " span.soft { (prose(&choice.why)) } },
                            Err(why) => p { (said(UpdateState::Retrying, UpdateState::NoAddress.word())) " " span.soft { (prose(why)) } },
                        }
                    }
                }
            }
            div.verdict {
                @match list.verdict() {
                    Some(chosen) => { (said(UpdateState::UpToDate, "")) div { p { (prose(&chosen)) } @for doubt in list.doubts() { p.soft { (prose(&doubt)) } } } }
                    None => { (said(UpdateState::Retrying, "")) p { "No address found: nothing is sent." } }
                }
            }
        }
    }
}
