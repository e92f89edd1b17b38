//! The last days of an update as a strip: one cell for each day, with its worst outcome, and marks for changes of the address.

use std::collections::HashMap;
use std::net::IpAddr;

use ddns_core::journal::{DAYS, Day, EventKind, UpdateState};
use ddns_core::web::when::Clock;
use maud::{Markup, html};

/// One cell for each day, the oldest first.
pub(crate) type Strip = [Day; DAYS];

/// The last days of some updates.
#[derive(Default)]
pub(crate) struct HistoryStrips {
    /// One for each update; empty if no history is kept.
    pub(crate) strips: Vec<Strip>,
    /// Since when this host has had an address, in seconds since the epoch.
    pub(crate) since: HashMap<IpAddr, u64>,
}

/// The width of a cell and the gap after it.
const STEP: usize = 6;

/// The drawing: one path for each run of days with the same outcome, dashed into cells by the style sheet.
fn paths(cells: &[Day]) -> Markup {
    let mut at = 0;
    let runs = cells.chunk_by(|one, other| one.worst == other.worst).map(|run| {
        let begin = at;
        at += run.len();
        (run[0].worst, begin * STEP, run.len() * STEP - 2)
    });
    let changes =
        cells.iter().enumerate().filter(|(_, cell)| cell.is_change).map(|(at, _)| format!("M{} 17h4", at * STEP));
    let changes: String = changes.collect();
    html! {
        @for (worst, begin, length) in runs { path class=[class(worst)] d={ "M" (begin) " 7h" (length) } {} }
        @if !changes.is_empty() { path.c d=(changes) {} }
    }
}

/// The strip of an update; if it `is_wide`, as wide as there is room. Its label says what is drawn.
pub(crate) fn strip(cells: &Strip, clock: &Clock<'_>, is_wide: bool) -> Markup {
    let size = is_wide.then(|| format!("0 0 {} 18", cells.len() * STEP - 2));
    html! { svg.strip.wide[is_wide] viewBox=[size] role="img" aria-label=(said(cells, clock)) { (paths(cells)) } }
}

/// `30 days: failed on 12 Nov, 13 Nov; address changed on 12 Nov`
fn said(cells: &Strip, clock: &Clock<'_>) -> String {
    let told = |what: &str, wanted: fn(&Day) -> bool| {
        let dates: Vec<String> = (0..DAYS).filter(|at| wanted(&cells[*at])).map(|at| date(at, clock)).collect();
        (!dates.is_empty()).then(|| format!("{what} on {}", dates.join(", ")))
    };
    let kinds = [
        told("stopped", |day| day.worst == Some(EventKind::Stopped)),
        told("failed", |day| day.worst == Some(EventKind::Failed)),
        told("address changed", |day| day.is_change),
    ];
    let told = kinds.into_iter().flatten().collect::<Vec<_>>().join("; ");
    format!("{DAYS} days: {}", if told.is_empty() { "nothing failed" } else { &told })
}

/// `12 Nov`: the day of a cell; the last cell is today.
fn date(at: usize, clock: &Clock<'_>) -> String {
    let ago = (DAYS - 1).saturating_sub(at) as u64;
    clock.date(clock.now.saturating_sub(ago * 86_400))
}

/// The same as a table, for people who cannot see the strip or prefer to read.
pub(crate) fn table(cells: &Strip, clock: &Clock<'_>) -> Markup {
    html! {
        details {
            summary { "As a table" }
            table {
                thead { tr { th scope="col" { "Day" } th scope="col" { "Worst state" } th scope="col" { "Address" } } }
                tbody {
                    @for (at, day) in cells.iter().enumerate().rev() {
                        tr {
                            th scope="row" { (date(at, clock)) }
                            td { (words(day.worst)) }
                            td { @if day.is_change { "changed" } }
                        }
                    }
                }
            }
        }
    }
}

fn class(worst: Option<EventKind>) -> Option<&'static str> {
    match worst? {
        EventKind::Stopped => Some("b"),
        EventKind::Failed => Some("w"),
        _ => Some("g"),
    }
}

fn words(worst: Option<EventKind>) -> &'static str {
    match worst {
        None => "not known",
        Some(EventKind::Accepted) => UpdateState::UpToDate.word(),
        Some(kind) => kind.word(),
    }
}

/// What the colors mean.
pub(crate) fn legend() -> Markup {
    let good = Some(EventKind::Accepted);
    let cells = [
        (good, false),
        (Some(EventKind::Failed), false),
        (Some(EventKind::Stopped), false),
        (good, true),
        (None, false),
    ];
    html! {
        ul.legend {
            @for (worst, is_change) in cells {
                li {
                    svg.strip viewBox="0 0 4 18" aria-hidden="true" { (paths(&[Day { worst, is_change }])) }
                    (if is_change { EventKind::Address.word() } else { words(worst) })
                }
            }
        }
    }
}
