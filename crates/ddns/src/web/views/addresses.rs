//! Every address of this host with the verdict on it, what each source says, and which address is sent and why: the same
//! that `ddns addresses` shows.

use ddns_core::journal::UpdateState;
use ddns_core::web::when::When;
use maud::{Markup, Render, html};

use super::parts::{Tone, action, empty, notice, prose, said, time};

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) interface: String,
    /// With the length of its prefix.
    pub(crate) ip: String,
    pub(crate) is_usable: bool,
    /// `usable`, or why not.
    pub(crate) verdict: String,
    /// Scope, flags and lifetimes.
    pub(crate) described: String,
}

/// What the sources of some domains give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceList {
    /// `IPv4 (A)`
    pub(crate) family: String,
    /// `for home.example.com`
    pub(crate) domains: String,
    pub(crate) attempts: Vec<AttemptView>,
    /// The address that would be sent and why; `None` if no source gave one.
    pub(crate) chosen: Option<String>,
    /// What is doubtful about it.
    pub(crate) warnings: Vec<String>,
}

/// What one source gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptView {
    pub(crate) source: String,
    /// The address; `None` if the source gave none.
    pub(crate) ip: Option<String>,
    /// Why this one, or why none.
    pub(crate) why: String,
    pub(crate) milliseconds: u128,
}

/// What the view is made of.
pub(crate) struct AddressesModel<'a> {
    pub(crate) local: Vec<Local>,
    /// Why the addresses of this host cannot be listed.
    pub(crate) trouble: Option<String>,
    pub(crate) lists: Vec<SourceList>,
    /// When the sources were asked; none while they are.
    pub(crate) asked: Option<When>,
    pub(crate) token: &'a str,
}

impl Render for AddressesModel<'_> {
    fn render(&self) -> Markup {
        let again = html! { button { "Ask again" } };
        html! {
            div.stack {
                div.head {
                    div {
                        h1 { "Addresses" }
                        p.soft {
                            "The first source that gives an address decides."
                            @if let Some(asked) = &self.asked { " Asked " (time(asked)) "." }
                        }
                    }
                    @if self.asked.is_some() { (action("/addresses", self.token, &again)) }
                }
                @if self.asked.is_none() {
                    (notice(Tone::Info, html! { "The sources are being asked. " a href="/addresses" data-again { "Show what they say" } }))
                } @else if self.lists.is_empty() {
                    section.card.flush {
                        (empty("No sources", html! { "No domain is switched on, so no address is looked for." }))
                    }
                }
                div.columns { @for list in &self.lists { (sources(list)) } }
                (self.host())
            }
        }
    }
}

impl AddressesModel<'_> {
    fn host(&self) -> Markup {
        html! {
            section.card.flush aria-labelledby="local" {
                header { h2 #local { "Addresses of this host" } }
                @if let Some(why) = &self.trouble {
                    (notice(Tone::Warning, html! { "The addresses of this host cannot be listed: " (why) }))
                } @else if self.local.is_empty() {
                    (empty("No address", html! { "No interface of this host has an address: it has no network." }))
                } @else {
                    table.cards {
                        thead {
                            tr {
                                th scope="col" { "Address" }
                                th scope="col" { "Interface" }
                                th scope="col" { "Verdict" }
                                th scope="col" { "What it is" }
                            }
                        }
                        tbody { @for local in &self.local { (row(local)) } }
                    }
                }
            }
        }
    }
}

fn row(local: &Local) -> Markup {
    let state = if local.is_usable { UpdateState::UpToDate } else { UpdateState::NoAddress };
    html! {
        tr {
            th scope="row" { span.mono { (local.ip) } }
            td data-label="Interface" { span.mono { (local.interface) } }
            td data-label="Verdict" { (said(state, &local.verdict)) }
            td data-label="What it is" { span.soft { (local.described) } }
        }
    }
}

fn sources(list: &SourceList) -> Markup {
    html! {
        section.card.flush {
            header { h2 { (list.family) } span.soft.small { (list.domains) } }
            ul.steps {
                @for attempt in &list.attempts {
                    li {
                        div.row {
                            code { (attempt.source) }
                            span.soft.small.number { (attempt.milliseconds) " ms" }
                        }
                        @match &attempt.ip {
                            Some(ip) => p { strong.mono { (ip) } " " span.soft { (prose(&attempt.why)) } },
                            None => p { (said(UpdateState::Retrying, UpdateState::NoAddress.word())) " " span.soft { (prose(&attempt.why)) } },
                        }
                    }
                }
            }
            div.verdict {
                @match &list.chosen {
                    Some(chosen) => { (said(UpdateState::UpToDate, "")) div { p { (prose(chosen)) } @for warning in &list.warnings { p.soft { (prose(warning)) } } } }
                    None => { (said(UpdateState::Retrying, "")) p { "No address found: nothing is sent." } }
                }
            }
        }
    }
}
