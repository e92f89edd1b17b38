//! Every request as it would be sent now, redacted: the same that `ddns preview` shows.

use ddns_core::callback::Redacted;
use ddns_core::engine::{Preview, Previews};
use ddns_core::net::reach::doubtful;
use ddns_core::text::number::grouped;
use ddns_core::web::list::ListQuery;
use ddns_core::web::overview::details_link;
use maud::{Markup, html};

use super::parts::{Tone, code, empty, head, notice, pager, prose, search};

/// How many requests a page shows.
pub(crate) const PER_PAGE: usize = 20;

/// One page of the requests.
pub(crate) fn page(previews: &Previews, query: &ListQuery, now: u64) -> Markup {
    let Previews { shown, total, due } = previews;
    html! {
        div.stack {
            (head("Requests", html! {
                @if *due == 0 && !query.search.is_empty() { "None of these would be sent now: this is what each request would be." }
                @else if *due == 0 { "Nothing would be sent now: this is what each request would be." }
                @else { (grouped(*due)) " of " (grouped(*total)) " updates would be sent now." }
                " Secrets are shown as " code { "***" } "."
            }, ""))
            section.card.flush aria-label="Requests" {
                div.bar { (search("/requests", "Filter by domain", &query.search, &html! {})) }
                @if shown.is_empty() {
                    (empty("No requests", html! {
                        @if query.search.is_empty() { "The configuration has no domains that are switched on." }
                        @else { "No domain has these words. " a href="/requests" { "Show all" } "." }
                    }))
                } @else {
                    ul.steps { @for preview in shown { li { (name(preview)) (body(preview, now)) } } }
                    (pager((query.page, PER_PAGE, *total), "requests", |page| query.on_page(page).link("/requests")))
                }
            }
        }
    }
}

fn name(preview: &Preview) -> Markup {
    let (domain, kind) = (&preview.domain, preview.family.record_type());
    html! { h2 { a href=(details_link(domain, kind, None)) { (domain) } " " span.tag { (kind) } } }
}

/// Verdict, address and request of an update.
pub(super) fn body(preview: &Preview, now: u64) -> Markup {
    let request = preview.redacted();
    let own = request.filter(|_| !preview.is_together);
    html! {
        dl.pairs {
            dt { "Verdict" } dd { (prose(&preview.sentence(now))) }
            @if let Some((ip, source)) = &preview.address {
                dt { "Address" } dd { (ip) @if let Some(source) = source { ", from " (prose(source)) } }
            }
            @if let Some(request) = own {
                dt { "Endpoint" }
                dd { code { (request.url.origin()) } @if let Some(proxy) = &request.proxy { ", through the proxy " code { (proxy.address) } } }
            }
        }
        @if let Some(doubt) = preview.address.as_ref().and_then(|(ip, _)| doubtful(*ip)) { (notice(Tone::Warning, prose(&doubt))) }
        @if let Some(request) = own {
            (code(&each(preview, request, ("", "\n\n"), |request| request.lines().join("\n")), "the request"))
            details {
                summary { "As a curl command" }
                (code(&each(preview, request, ("# ", "\n"), |request| preview.command(request, None)), "the command"))
            }
        } @else if request.is_some() { p.soft { "It goes in one request with another update, which shows it." } }
    }
}

/// A request as text. If others go around it, all of them in order, each below its name; `before` comes before each name,
/// `between` between the requests.
fn each(
    preview: &Preview,
    request: &Redacted,
    (before, between): (&str, &str),
    shown: impl Fn(&Redacted) -> String,
) -> String {
    if preview.around.is_empty() {
        return shown(request);
    }
    let all = preview.around.iter().map(|(role, request)| format!("{before}{role}:\n{}", shown(request)));
    all.collect::<Vec<_>>().join(between)
}
