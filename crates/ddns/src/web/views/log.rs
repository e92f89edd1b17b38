//! What the service logged lately, as the log itself has it: masked.

use ddns_core::journal::UpdateState;
use ddns_core::text::log_format::Level;
use ddns_core::web::when::Clock;
use maud::{Markup, Render, html};

use super::parts::{empty, said, time};
use crate::output::log::RecentLine;

/// What the view is made of.
pub(crate) struct LogModel<'a> {
    /// The latest first.
    pub(crate) lines: Vec<RecentLine>,
    pub(crate) clock: Clock<'a>,
}

impl Render for LogModel<'_> {
    fn render(&self) -> Markup {
        html! {
            div.stack {
                div.head { div { h1 { "Log" } p.soft { "The latest lines since the service started, the newest first. The log itself has all of them." } } }
                section.card.flush aria-label="Log" {
                    @if self.lines.is_empty() { (empty("Nothing yet", "Lines are shown here as they are logged.")) }
                    ol.timeline {
                        @for line in &self.lines {
                            li { span.soft { (time(&self.clock.when(line.at))) } p { (level(line.level)) " " span.lines { (line.text) } } }
                        }
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
