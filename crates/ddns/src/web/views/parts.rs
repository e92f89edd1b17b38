//! What views are made of: a state, a time, a countdown, a pager, a text to copy, a field.

use ddns_core::journal::UpdateState;
use ddns_core::text::number::grouped;
use ddns_core::web::when::{When, countdown};
use maud::{Markup, PreEscaped, Render, html};

use ddns_core::net::status::with_reason;

/// The drawings of all icons, once in each page.
pub(super) const SPRITE: PreEscaped<&str> = PreEscaped(include_str!("../assets/sprite.svg"));

/// An icon of [`SPRITE`]; each state has one with its key. The words beside it say the same.
pub(crate) fn icon(name: &str) -> Markup {
    html! { svg.i aria-hidden="true" { use href={ "#i-" (name) } {} } }
}

/// A state as icon and words, in its color; the words may be other ones.
pub(crate) fn said(state: UpdateState, words: &str) -> Markup {
    html! { span class={ "state " (state.key()) } { (icon(state.key())) (words) } }
}

/// The same on a background of its color.
pub(crate) fn pill(state: UpdateState, words: &str) -> Markup {
    html! { span class={ "state pill " (state.key()) } { (icon(state.key())) (words) } }
}

/// A moment in words, with the exact time on hover.
pub(crate) fn time(when: &When) -> Markup {
    html! { time datetime=(when.exact) title=(when.exact.replacen('T', " ", 1)) data-ago=[when.ago] { (when.words) } }
}

/// A countdown until something happens; it runs if scripts run.
pub(crate) fn left(seconds: u64) -> Markup {
    html! { span.count role="timer" data-left=(seconds) { (countdown(seconds)) } }
}

/// The status and text in how a request ended: `503` or `503: words`; `None`: there was no response.
fn responded(why: &str) -> Option<(u16, &str)> {
    let (number, words) = why.split_once(": ").unwrap_or((why, ""));
    Some((number.parse().ok().filter(|_| number.len() == 3)?, words))
}

/// How a request ended, as a sentence.
pub(crate) fn response(why: &str) -> String {
    match responded(why) {
        None => format!("The request failed: {}.", why.trim_end_matches('.')),
        Some((status, "")) => format!("The response was {}.", with_reason(status)),
        Some((status, words)) => format!("The response was {}: {}.", with_reason(status), words.trim_end_matches('.')),
    }
}

/// The text of the response in how a request ended; `None`: there is none.
pub(crate) fn response_text(why: &str) -> Option<&str> {
    responded(why).map(|(_, words)| words).filter(|words| !words.is_empty())
}

/// A sentence from the program; text between backticks becomes code.
pub(crate) fn prose(text: &str) -> Markup {
    let is_even = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_even {
            @for (at, part) in text.split('`').enumerate() {
                @if at % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Info,
    Warning,
    Bad,
}

/// A notice: one sentence, and what to do.
pub(crate) fn notice(tone: Tone, text: impl Render) -> Markup {
    let (class, sign, role) = match tone {
        Tone::Info => ("notice info", "info", "status"),
        Tone::Warning => ("notice warn", "retrying", "status"),
        Tone::Bad => ("notice bad", "stopped", "alert"),
    };
    html! { div class=(class) role=(role) { (icon(sign)) div { (text) } } }
}

/// The head of a view: its title, a description, and a button.
pub(crate) fn head(title: &str, about: impl Render, button: impl Render) -> Markup {
    html! { div.head { div { h1 { (title) } p.soft { (about) } } (button) } }
}

/// Shown instead of an empty list: what is missing, and why.
pub(crate) fn empty(title: &str, text: impl Render) -> Markup {
    html! { div.empty { (icon("empty")) h2 { (title) } p { (text) } } }
}

/// A text as code, with a button that copies it if scripts run.
pub(crate) fn code(text: &str, what: &str) -> Markup {
    html! {
        div.code {
            button.copy type="button" hidden data-copy { "Copy" span.unseen { " " (what) } }
            pre tabindex="0" aria-label=(what) role="group" { code { (text) } }
        }
    }
}

/// A field of a form: its label, help, and error.
pub(crate) struct FormField<'a> {
    pub(crate) id: &'a str,
    pub(crate) label: &'a str,
    pub(crate) help: Option<&'a str>,
    pub(crate) wrong: Option<&'a str>,
}

impl FormField<'_> {
    /// The field around its control, which refers to help and error by [`FormField::described`] and [`FormField::invalid`].
    pub(crate) fn around(&self, control: &Markup) -> Markup {
        html! {
            div.field {
                label for=(self.id) { (self.label) }
                (control)
                (self.notes())
            }
        }
    }

    /// The error and the help below the control.
    pub(crate) fn notes(&self) -> Markup {
        html! {
            @if let Some(wrong) = self.wrong { p.wrong id={ (self.id) "-wrong" } { (icon("retrying")) span { (wrong) } } }
            @if let Some(help) = self.help { p.help id={ (self.id) "-help" } { (help) } }
        }
    }

    /// The value of `aria-describedby` of the control.
    pub(crate) fn described(&self) -> Option<String> {
        let parts = [(self.wrong, "wrong"), (self.help, "help")].into_iter().filter(|(text, _)| text.is_some());
        let ids: Vec<String> = parts.map(|(_, part)| format!("{}-{part}", self.id)).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// The value of `aria-invalid` of the control.
    pub(crate) fn invalid(&self) -> Option<&'static str> {
        self.wrong.map(|_| "true")
    }

    /// A control for one line of text; `list` is the id of a list to choose from. A browser must not offer the key of one service
    /// for another, so it completes nothing.
    pub(crate) fn input(&self, name: &str, kind: &str, value: Option<&str>, list: Option<&str>) -> Markup {
        self.around(&html! {
            input type=(kind) id=(self.id) name=(name) value=[value] list=[list] aria-describedby=[self.described()]
                aria-invalid=[self.invalid()] autofocus[self.wrong.is_some()] autocapitalize="none" spellcheck="false" autocomplete="off";
        })
    }

    /// A control for several lines: as many as the text has, within limits.
    pub(crate) fn area(&self, name: &str, text: &str, least: usize) -> Markup {
        self.around(&html! {
            textarea id=(self.id) name=(name) rows=(text.lines().count().clamp(least, 12)) aria-describedby=[self.described()]
                aria-invalid=[self.invalid()] autofocus[self.wrong.is_some()] autocapitalize="none" spellcheck="false" autocomplete="off" { (text) }
        })
    }
}

/// The form above a list that filters it.
pub(crate) fn search(path: &str, label: &str, text: &str, more: &Markup) -> Markup {
    html! {
        form action=(path) role="search" {
            input type="search" name="q" value=(text) aria-label=(label) placeholder=(label) autocapitalize="none" spellcheck="false";
            (more)
            button { "Filter" }
        }
    }
}

/// A button that does something: a form of its own, with the token that proves that it was sent from this page.
pub(crate) fn action(path: &str, token: &str, button: &Markup) -> Markup {
    html! { form method="post" action=(path) data-quiet { (token_field(token)) (button) } }
}

/// The hidden field of every form that changes something.
pub(crate) fn token_field(token: &str) -> Markup {
    html! { input type="hidden" name="token" value=(token); }
}

/// `1–50 of 10,000`, and links to the previous and the next page. The numbers: the page (from 1), the items on a page, and the
/// items in all. `link` returns the URL of a page.
pub(crate) fn pager(numbers: (usize, usize, usize), what: &str, link: impl Fn(usize) -> String) -> Markup {
    turns(numbers, what, |page, rel, words| html! { a.button href=(link(page)) rel=(rel) { (words) } })
}

/// The same with what turns to a page, which knows its number, its relation and its words.
pub(crate) fn turns(
    (page, per_page, total): (usize, usize, usize),
    what: &str,
    turn: impl Fn(usize, &str, &str) -> Markup,
) -> Markup {
    let first = (page - 1).saturating_mul(per_page).saturating_add(1);
    let last = page.saturating_mul(per_page).min(total);
    let is_last = last >= total;
    html! {
        nav.pager aria-label={ "Pages of " (what) } {
            span.number {
                @if total == 0 { "none" }
                @else if first == 1 && is_last { (grouped(total)) " in all" }
                @else { (grouped(first)) "–" (grouped(last)) " of " (grouped(total)) }
            }
            @if !(page == 1 && is_last) {
                div.row {
                    @if page > 1 { (turn(page - 1, "prev", "‹ Previous")) }
                    @if !is_last { (turn(page + 1, "next", "Next ›")) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i1_what_stands_between_backticks_is_code_and_nothing_is_markup() {
        let cases = [
            ("set `web` to `true`", "set <code>web</code> to <code>true</code>"),
            ("a ` alone", "a ` alone"),
            ("`<b>`", "<code>&lt;b&gt;</code>"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(prose(text).into_string(), expected);
        }
    }

    #[test]
    fn i1_the_end_of_a_request_is_a_sentence() {
        let cases = [
            ("503", "The response was 503 Service Unavailable."),
            ("200: badauth", "The response was 200 OK: badauth."),
            ("799", "The response was 799."),
            ("connection refused", "The request failed: connection refused."),
            ("12: x", "The request failed: 12: x."),
        ];
        for (why, expected) in cases {
            assert_eq!(response(why), expected);
        }
    }
}
