//! What the service logged lately, as the log itself has it: masked.

use ddns_core::journal::UpdateState;
use ddns_core::text::log_format::Level;
use ddns_core::web::when::Clock;
use maud::{Markup, html};

use super::parts::{empty, said, time};
use crate::output::log::RecentLine;

/// The lines, the latest first.
pub(crate) fn page(lines: &[RecentLine], clock: &Clock<'_>) -> Markup {
    html! {
        div.stack {
            div.head { div { h1 { "Log" } p.soft { "The latest lines since the service started, the newest first. The log itself has all of them." } } }
            section.card.flush aria-label="Log" {
                @if lines.is_empty() { (empty("Nothing yet", "Lines are shown here as they are logged.")) }
                ol.timeline {
                    @for line in lines {
                        li { span.soft { (time(&clock.when(line.at))) } p { (level(line.level)) " " span.lines { (line.text) } } }
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
