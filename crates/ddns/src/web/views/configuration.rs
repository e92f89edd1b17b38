//! *Configuration*: the text with line numbers, what is wrong with it, and what saving would change.

use ddns_core::text::diagnostic::Severity;
use ddns_core::web::check::{Finding, Spot, has_errors};
use maud::{Markup, html};

use super::parts::{Tone, code, notice, token_field};
use crate::web::sent::{Changes, Sent};

/// So many characters of a line are shown on either side of what is wrong.
const MARGIN: usize = 60;

/// So many requests of each kind are shown.
const MOST: usize = 20;

/// The files of the service, and the one that is shown.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) names: &'a [String],
    pub(crate) number: usize,
}

/// What the page shows.
pub(crate) struct Editor<'a> {
    pub(crate) file: File<'a>,
    pub(crate) version: &'a str,
    pub(crate) token: &'a str,
    pub(crate) text: &'a str,
    pub(crate) findings: &'a [Finding],
    /// Why nothing can be changed.
    pub(crate) why_not: Option<&'a str>,
    pub(crate) notice: Option<(Tone, &'a str)>,
    /// Where somebody wants to save: what would change, and the mark of the text that this is about.
    pub(crate) changes: Option<(&'a Changes, String)>,
}

pub(crate) fn page(editor: &Editor<'_>) -> Markup {
    let name = editor.file.names.get(editor.file.number).map_or("", String::as_str);
    html! {
        div.stack {
            div.head { div { h1 { "Configuration" } p.soft { (name) } } }
            (files(editor.file))
            @if let Some((tone, text)) = editor.notice { (notice(tone, text)) }
            @if let Some(why) = editor.why_not { (notice(Tone::Info, why)) }
            form method="post" action="/configuration" data-editor[editor.why_not.is_none()] {
                (token_field(editor.token))
                input type="hidden" name="version" value=(editor.version);
                input type="hidden" name="file" value=(editor.file.number);
                div.stack {
                    @if let Some((changes, mark)) = &editor.changes {
                        input type="hidden" name="reviewed" value=(mark);
                        (review(changes))
                    }
                    (text(editor))
                    div #findings aria-live="polite" { (findings(editor.text, editor.findings)) }
                    @if editor.why_not.is_none() {
                        div.row { button.main name="step" value="review" { "Review changes" } }
                        p.soft.small {
                            "What shows as *** stays as it is, wherever you move it. Type over it to replace it."
                        }
                    }
                }
            }
        }
    }
}

/// Where a file cannot be shown.
pub(crate) fn unreadable(names: &[String], number: usize, name: Option<&str>, why: &str) -> Markup {
    html! {
        div.stack {
            div.head { div { h1 { "Configuration" } p.soft { (name.unwrap_or_default()) } } }
            (files(File { names, number }))
            (notice(Tone::Info, why))
        }
    }
}

fn files(file: File<'_>) -> Markup {
    html! {
        @if file.names.len() > 1 {
            nav.chips aria-label="Files" {
                @for (number, name) in file.names.iter().enumerate() {
                    a href={ "/configuration?file=" (number) } aria-current=[(number == file.number).then_some("page")] { (name) }
                }
            }
        }
    }
}

fn text(editor: &Editor<'_>) -> Markup {
    let lines = editor.text.lines().count().max(1) + 1;
    let wrong: Vec<usize> = editor.findings.iter().filter_map(|finding| finding.spot).map(|spot| spot.line).collect();
    html! {
        div.field {
            label for="text" { "Text" }
            div.editor {
                pre aria-hidden="true" {
                    @for number in 1..=lines { span class=[wrong.contains(&number).then_some("at")] { (number) } "\n" }
                }
                textarea #text name="text" rows=(lines) wrap="off" spellcheck="false" autocapitalize="none" autocomplete="off"
                    readonly[editor.why_not.is_some()] aria-describedby="findings"
                    aria-invalid=[has_errors(editor.findings).then_some("true")] { "\n" (editor.text) }
            }
        }
    }
}

/// What is wrong, as on the command line: the line, a caret, the hint, and the help of the field.
pub(crate) fn findings(text: &str, findings: &[Finding]) -> Markup {
    let lines: Vec<String> =
        findings.iter().filter_map(|finding| finding.spot).map(|spot| spot.line.to_string()).collect();
    html! {
        ol.findings data-wrong=(lines.join(" ")) {
            @for finding in findings {
                li class=(if finding.severity == Severity::Error { "bad" } else { "warn" }) {
                    p {
                        strong { (finding.severity.name()) @if let Some(spot) = finding.spot { ", line " (spot.line) } ": " }
                        (finding.message)
                    }
                    @if let Some(spot) = finding.spot { pre { (excerpt(text, spot)) } }
                    @if let Some(hint) = &finding.hint { p { "Hint: " (hint) } }
                    @if let Some(field) = finding.field { p.soft { code { (field.name) } ": " (field.help) } }
                }
            }
        }
    }
}

/// The line, and a caret under the place.
fn excerpt(text: &str, spot: Spot) -> String {
    let line = text.lines().nth(spot.line - 1).unwrap_or_default();
    let letters: Vec<char> = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let at = (spot.column - 1).min(letters.len());
    let start = at.saturating_sub(MARGIN);
    let end = (at + MARGIN).min(letters.len());
    let dots = if start > 0 { "…" } else { "" };
    let shown: String = letters[start..end].iter().collect();
    let blank = " ".repeat(at - start + dots.chars().count());
    let caret = "^".repeat(spot.length.min(end.saturating_sub(at)).max(1));
    format!("{dots}{shown}\n{blank}{caret}")
}

/// What saving would change in what is sent.
fn review(changes: &Changes) -> Markup {
    let Changes { added, removed, changed, same } = changes;
    let is_same = added.is_empty() && removed.is_empty() && changed.is_empty();
    html! {
        section.card aria-labelledby="review" {
            h2 #review { "What would change in what is sent" }
            @if is_same { p { "Nothing: every request stays as it is." } }
            @else if *same > 0 { p.soft { (same) " requests stay as they are." } }
            @for (before, now) in changed.iter().take(MOST) {
                h3 { (now.about) }
                @if before.shown == now.shown {
                    p { "Its secret, or where it is sent, changes." }
                    @if before.origin != now.origin { p { (before.origin) " becomes " (now.origin) } }
                } @else {
                    div.columns {
                        div { p.soft { "Until now, to " (before.origin) } (code(&before.shown, &format!("{} until now, to {}", before.about, before.origin))) }
                        div { p.soft { "From then on, to " (now.origin) } (code(&now.shown, &format!("{} from then on, to {}", now.about, now.origin))) }
                    }
                }
            }
            (some("New", added))
            (some("No longer sent", removed))
            @if changed.len() > MOST { p.soft { "And " (changed.len() - MOST) " more that change." } }
            div.row { button.main name="step" value="save" { "Save" } }
        }
    }
}

fn some(title: &str, all: &[Sent]) -> Markup {
    html! {
        @for sent in all.iter().take(MOST) {
            h3 { (title) ": " (sent.about) }
            p.soft { "To " (sent.origin) }
            (code(&sent.shown, &format!("{title}, {}, to {}", sent.about, sent.origin)))
        }
        @if all.len() > MOST { p.soft { "And " (all.len() - MOST) " more." } }
    }
}
