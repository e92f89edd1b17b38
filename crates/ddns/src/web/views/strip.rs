//! The last days of an update: one cell a day, the worst that happened, changes of the address marked.

use ddns_core::journal::{DAYS, Day, EventKind, UpdateState};
use ddns_core::web::when::Clock;
use maud::{Markup, html};

/// One cell for each day, the oldest first.
pub(crate) type Strip = [Day; DAYS];

/// A cell and the gap behind it.
const STEP: usize = 6;

/// The drawing: one path for each run of days of a kind, dashed into cells by the style sheet.
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

/// The strip of an update. What is drawn is said, too.
pub(crate) fn strip(cells: &Strip, clock: &Clock<'_>) -> Markup {
    html! { svg.strip role="img" aria-label=(said(cells, clock)) { (paths(cells)) } }
}

/// The same as large as there is room.
pub(crate) fn large(cells: &Strip, clock: &Clock<'_>) -> Markup {
    let width = cells.len() * STEP - 2;
    html! {
        svg.strip.wide viewBox={ "0 0 " (width) " 18" } role="img" aria-label=(said(cells, clock)) { (paths(cells)) }
    }
}

/// `30 days: failed on 12 Nov, 13 Nov; address changed on 12 Nov`
fn said(cells: &Strip, clock: &Clock<'_>) -> String {
    let dates = |wanted: fn(&Day) -> bool| -> Vec<String> {
        (0..DAYS).filter(|at| wanted(&cells[*at])).map(|at| date(at, clock)).collect()
    };
    let kinds = [
        ("stopped on", dates(|day| day.worst == Some(EventKind::Stopped))),
        ("failed on", dates(|day| day.worst == Some(EventKind::Failed))),
        ("address changed on", dates(|day| day.is_change)),
    ];
    let told: Vec<String> = kinds
        .into_iter()
        .filter(|(_, dates)| !dates.is_empty())
        .map(|(what, dates)| format!("{what} {}", dates.join(", ")))
        .collect();
    let told = if told.is_empty() { "nothing failed".to_owned() } else { told.join("; ") };
    format!("{DAYS} days: {told}")
}

/// `12 Nov`: the day of a cell, the last one is today.
fn date(at: usize, clock: &Clock<'_>) -> String {
    let ago = (DAYS - 1).saturating_sub(at) as u64;
    clock.date(clock.now.saturating_sub(ago * 86_400))
}

/// The same as a table, for those who do not see it or want to read it.
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

/// What the colours mean.
pub(crate) fn legend() -> Markup {
    let cell = |worst: Option<EventKind>, is_change: bool| {
        html! {
            li {
                svg.strip viewBox="0 0 4 18" aria-hidden="true" { (paths(&[Day { worst, is_change }])) }
                (if is_change { EventKind::Address.word() } else { words(worst) })
            }
        }
    };
    html! {
        ul.legend {
            (cell(Some(EventKind::Accepted), false))
            (cell(Some(EventKind::Failed), false))
            (cell(Some(EventKind::Stopped), false))
            (cell(Some(EventKind::Accepted), true))
            (cell(None, false))
        }
    }
}
