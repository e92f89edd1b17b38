//! A preview as text, as commands of curl, and as JSON.

use ddns_core::address::observation::doubtful;
use ddns_core::callback::Redacted;
use ddns_core::callback::curl;
use ddns_core::engine::previews as preview;
use ddns_core::notify::NotifyEvent;
use ddns_core::object;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::number::grouped;
use ddns_core::text::secrets::MASK;
use ddns_core::update::plan::Verdict;
use serde::Serialize;

use super::{FamilyUpdates, PreviewItem, Sample};
use crate::cli::{Given, ReportFormat};
use crate::clock::unix_time;
use crate::output;
use crate::output::layout::{WIDE, broken, folded};

/// How many updates of a kind are shown in full.
const MAX_ALIKE: usize = 20;

/// The values of an update begin in this column.
const COLUMN: usize = 11;

/// How many lines of a body are shown.
const MAX_BODY_LINES: usize = 20;

/// How a preview is shown.
pub(super) struct PreviewOptions {
    form: ReportFormat,
    curl: bool,
    /// Secrets too.
    pub(super) reveal: bool,
}

impl PreviewOptions {
    /// Secrets are shown to somebody who sits at a terminal. Elsewhere they may end up in a file or a log: that must be
    /// meant.
    pub(super) fn of(given: &Given, is_terminal: bool) -> Result<Self, Diagnostic> {
        let reveal = given.has("show-secrets");
        if reveal && !is_terminal && !given.has("yes") {
            let place = Place::Option("--show-secrets".to_owned());
            let message = "standard output is not a terminal: secrets could end up in a file or a log";
            return Err(Diagnostic::error(place, message).hint("add --yes if that is intended"));
        }
        Ok(Self { form: given.form(), curl: given.has("curl"), reveal })
    }
}

/// The whole of it, and whether every request could be made.
pub(super) fn text(batches: &[FamilyUpdates<'_>], notices: &[Sample<'_>], options: &PreviewOptions) -> (String, bool) {
    let now = unix_time().seconds;
    let has_all = batches.iter().all(|batch| batch.domains().iter().all(|domain| batch.can_be_sent(domain)));
    let text = if options.form.json {
        let items = batches.iter().flat_map(|batch| batch.domains().iter().map(move |domain| (batch, domain)));
        let items: Vec<_> = items.map(|(batch, domain)| (batch, batch.item(domain, now))).collect();
        let updates = items.iter().map(|(batch, item)| PreviewJson::Update(json(batch, item, options, now)));
        let notices = notices.iter().map(|notice| PreviewJson::Notice(notice_json(notice)));
        output::json(&updates.chain(notices).collect::<Vec<_>>())
    } else if options.curl {
        commands(batches, options, now)
    } else {
        let several = batches.iter().any(|batch| batch.number > 0 || batch.config.name != batches[0].config.name);
        let shown: String = batches.iter().map(|batch| shown(batch, several, options.form.width, now)).collect();
        let notices: String = notices.iter().map(|notice| notice_block(notice, several, options.form.width)).collect();
        shown + &notices + &broken(&closing(batches, now), 0, options.form.width)
    };
    (text, has_all)
}

/// What is alike about updates of which only the first are shown.
#[derive(PartialEq, Clone, Copy)]
enum PreviewKind {
    Sent,
    UpToDate,
    Stopped,
    Without,
}

impl PreviewKind {
    fn of(verdict: Option<&Verdict>) -> Self {
        match verdict {
            Some(Verdict::Send(_) | Verdict::Wait(_) | Verdict::Held(..)) => Self::Sent,
            Some(Verdict::Stopped(..)) => Self::Stopped,
            Some(Verdict::UpToDate(_)) => Self::UpToDate,
            None => Self::Without,
        }
    }
}

/// The updates of one family of one entry; where they are many, the first of each kind.
fn shown(batch: &FamilyUpdates<'_>, several: bool, width: usize, now: u64) -> String {
    let kinds: Vec<PreviewKind> =
        batch.domains().iter().map(|domain| PreviewKind::of(batch.verdict(domain, now).as_ref())).collect();
    let block = |(domain, _): (_, &PreviewKind)| block(batch, &batch.item(domain, now), several, width, now);
    if kinds.len() <= MAX_ALIKE {
        return batch.domains().iter().zip(&kinds).map(block).collect();
    }
    let mut text = String::new();
    for kind in [PreviewKind::Sent, PreviewKind::UpToDate, PreviewKind::Without] {
        let alike = || batch.domains().iter().zip(&kinds).filter(|(_, of)| **of == kind);
        text.extend(alike().take(MAX_ALIKE).map(block));
        let more = alike().count().saturating_sub(MAX_ALIKE);
        if more > 0 {
            text += &format!("… and {} more alike (--json shows all)\n\n", grouped(more));
        }
    }
    text
}

/// One update: its name, and a row for each value.
fn block(batch: &FamilyUpdates<'_>, item: &PreviewItem<'_>, several: bool, width: usize, now: u64) -> String {
    let mut text = String::new();
    let name = format!("{} {}", item.domain, batch.family.record_type());
    push(&mut text, "", &name, width, 0);
    let mut rows = Vec::new();
    if several {
        rows.push(("of", format!("{}, entry {}", batch.config.name, batch.number + 1)));
    }
    rows.push(("verdict", sentence(batch, item, now)));
    if item.is_example {
        let own = if batch.lookup.is_example() { "its" } else { "the other" };
        rows.push(("example", format!("{own} address was given with --ip: no source gave it")));
    }
    if batch.is_shown_elsewhere(item.domain) {
        rows.push(("together", "in one request with another update".to_owned()));
    }
    if let Some((source, choice)) = batch.lookup.found() {
        let found = format!("{}, from {source}: {}", choice.ip, choice.why);
        rows.push(match item.ip.filter(|ip| *ip != choice.ip) {
            Some(ip) => ("address", format!("{ip}: interface_id behind the prefix of {found}")),
            None => ("address", found),
        });
        rows.extend(doubtful(choice.ip).map(|why| ("warning", why)));
    } else {
        rows.extend(batch.lookup.failed().map(|(source, why)| ("source", format!("{source} gave no address: {why}"))));
    }
    if let Some(Ok(Redacted { proxy: Some(proxy), .. })) = &item.request {
        rows.push(("route", format!("through the proxy {}", proxy.address)));
    }
    for (label, row) in rows {
        push(&mut text, label, &row, width, COLUMN);
    }
    if let Some(Ok(request)) = item.request.as_ref().filter(|_| !batch.is_shown_elsewhere(item.domain)) {
        push_request(&mut text, request, width);
    }
    text.push('\n');
    text
}

fn push_request(text: &mut String, request: &Redacted, width: usize) {
    push(text, "request", &format!("{} {}", request.method.as_str(), request.url), width, COLUMN);
    for (name, value) in &request.headers {
        push(text, "", &format!("{name}: {value}"), width, COLUMN);
    }
    if let Some(body) = &request.body {
        text.push('\n');
        push(text, "", body, width, COLUMN);
    }
}

/// One notification, with values that could be.
fn notice_block(sample: &Sample<'_>, several: bool, width: usize) -> String {
    let Sample { config, number, notification, event, message, request } = sample;
    let mut text = String::new();
    push(&mut text, "", &format!("notification {}", number + 1), width, 0);
    if several {
        push(&mut text, "of", &config.name, width, COLUMN);
    }
    let events: Vec<&str> = notification.on.iter().map(NotifyEvent::key).collect();
    push(&mut text, "on", &events.join(", "), width, COLUMN);
    push(&mut text, "example", &format!("{}: {message}", event.key()), width, COLUMN);
    match request {
        Ok(request) => push_request(&mut text, request, width),
        Err(why) => push(&mut text, "request", &format!("cannot be sent: {why}"), width, COLUMN),
    }
    text.push('\n');
    text
}

/// The same for programs.
fn notice_json(sample: &Sample<'_>) -> impl Serialize {
    object! {
        notification: sample.number + 1,
        on: sample.notification.on.iter().map(NotifyEvent::key).collect::<Vec<_>>(),
        event: sample.event.key(),
        message: &sample.message,
        request: sample.request.as_ref().ok().map(preview::request_json),
    }
}

/// What would be done about an update, and why.
fn sentence(batch: &FamilyUpdates<'_>, item: &PreviewItem<'_>, now: u64) -> String {
    preview::sentence(batch.family, item.verdict.as_ref(), item.request.as_ref(), now)
}

/// One row: a label and, from a column on, a text of any length.
fn push(text: &mut String, label: &str, row: &str, width: usize, column: usize) {
    let mut lines = folded(row, width - column);
    let more = lines.len().saturating_sub(MAX_BODY_LINES);
    if more > 1 {
        lines.truncate(MAX_BODY_LINES);
        lines.push(format!("… and {} more lines (--wide shows all)", grouped(more)));
    }
    for (at, line) in lines.iter().enumerate() {
        let label = if at == 0 && !label.is_empty() { format!("  {label}") } else { String::new() };
        *text += format!("{label:<column$}{line}").trim_end();
        text.push('\n');
    }
}

/// How many would be sent, in one sentence.
fn closing(batches: &[FamilyUpdates<'_>], now: u64) -> String {
    let all = batches.iter().flat_map(|batch| batch.domains().iter().map(move |domain| (batch, domain)));
    let kind = |(batch, domain): (&FamilyUpdates<'_>, _)| match PreviewKind::of(batch.verdict(domain, now).as_ref()) {
        PreviewKind::Sent if !batch.can_be_sent(domain) => None,
        kind => Some(kind),
    };
    let kinds: Vec<Option<PreviewKind>> = all.map(kind).collect();
    let of = |kind: PreviewKind| kinds.iter().filter(|other| **other == Some(kind)).count();
    if kinds.is_empty() {
        return "Nothing would be sent: every family that has domains is switched off.".to_owned();
    }
    let is_example = batches.iter().any(|batch| batch.lookup.is_example());
    let mut text = format!(
        "Nothing was sent. A run {} would send {}{} of {} updates",
        if is_example { "that found the example" } else { "now" },
        if batches.iter().any(|batch| batch.config.group.is_some()) { "at most " } else { "" },
        grouped(of(PreviewKind::Sent)),
        grouped(kinds.len())
    );
    if of(PreviewKind::Without) > 0 {
        text += &format!(
            "; {} {} no address",
            grouped(of(PreviewKind::Without)),
            if of(PreviewKind::Without) == 1 { "has" } else { "have" }
        );
    }
    text + "."
}

/// A script: a command for each update, with the verdict in a comment.
fn commands(batches: &[FamilyUpdates<'_>], options: &PreviewOptions, now: u64) -> String {
    let mut text = String::new();
    let comment = |text: &mut String, row: &str| {
        let lines = folded(row, options.form.width - 2);
        text.extend(lines.iter().map(|line| format!("# {line}\n")));
    };
    if !options.reveal {
        comment(&mut text, &format!("Secrets show as {MASK}; --show-secrets prints them."));
    }
    for batch in batches {
        for item in batch.domains().iter().map(|domain| batch.item(domain, now)) {
            let row = sentence(batch, &item, now);
            comment(&mut text, &format!("{} {}: {row}", item.domain, batch.family.record_type()));
            if let Some(Ok(request)) = item.request.as_ref().filter(|_| !batch.is_shown_elsewhere(item.domain)) {
                if item.is_example {
                    comment(&mut text, "An example, not to be run: no source gave the address of --ip.");
                    comment(&mut text, &command(batch, request, WIDE));
                    continue;
                }
                text += &command(batch, request, options.form.width);
                text.push('\n');
            }
        }
    }
    text
}

fn command(batch: &FamilyUpdates<'_>, request: &Redacted, width: usize) -> String {
    curl::quoted(&curl::words(request, &batch.entry.ssl), (width < WIDE).then_some(width))
}

/// One item of the list for programs.
#[derive(Serialize)]
#[serde(untagged)]
enum PreviewJson<U, N> {
    Update(U),
    Notice(N),
}

/// One update for programs.
fn json(batch: &FamilyUpdates<'_>, item: &PreviewItem<'_>, options: &PreviewOptions, now: u64) -> impl Serialize {
    let found = batch.lookup.found();
    let failed = || batch.lookup.failed().map(|(source, why)| format!("{source}: {why}")).collect::<Vec<_>>();
    let request = item.request.as_ref().and_then(|request| request.as_ref().ok());
    let curl = || request.filter(|_| !item.is_example).map(|request| command(batch, request, WIDE));
    object! {
        domain: item.domain.to_string(),
        r#type: batch.family,
        address: found.map(|(_, choice)| item.ip.unwrap_or(choice.ip)),
        source: found.map(|(source, _)| source),
        why: found.map_or_else(|| failed().join("; "), |(_, choice)| choice.why.clone()),
        verdict: preview::word(item.verdict.as_ref(), item.request.as_ref()),
        reason: sentence(batch, item, now),
        request: request.map(preview::request_json);
        example: item.is_example.then_some(true),
        curl: options.curl.then(curl),
    }
}
