//! A preview as text, as curl commands, and as JSON.

use std::collections::BTreeMap;

use ddns_core::address::lookup::Lookup;
use ddns_core::callback::steps::RequestRole;
use ddns_core::callback::{Redacted, RequestTemplate};
use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Engine, Preview, previews as preview};
use ddns_core::net::family::Family;
use ddns_core::net::reach::doubtful;
use ddns_core::notify::NotifyEvent;
use ddns_core::object;
use ddns_core::schedule::queue::UpdateId;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::number::grouped;
use ddns_core::text::secrets::MASK;
use ddns_core::update::plan::Verdict;
use serde::Serialize;

use super::Sample;
use crate::cli::{ParsedArgs, ReportFormat};
use crate::clock::unix_time;
use crate::lookup::LookupPair;
use crate::output;
use crate::output::layout::{WIDE, broken, folded, folded_beside};
use crate::steps::StepResults;

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
    /// Whether secrets are shown.
    pub(super) reveal: bool,
}

impl PreviewOptions {
    /// Shows secrets only at a terminal. Elsewhere they could end up in a file or a log, so the user must add --yes.
    pub(super) fn of(given: &ParsedArgs, is_terminal: bool) -> Result<Self, Diagnostic> {
        let reveal = given.has("show-secrets");
        if reveal && !is_terminal && !given.has("yes") {
            let place = Place::Option("--show-secrets".to_owned());
            let message = "standard output is not a terminal: secrets could end up in a file or a log";
            return Err(Diagnostic::error(place, message).hint("add --yes if that is intended"));
        }
        if given.has("lookup") && (given.has("curl") || given.form().json) {
            let place = Place::Option("--lookup".to_owned());
            let message = "--lookup only works with text output";
            return Err(Diagnostic::error(place, message).hint("leave out --json or --curl"));
        }
        Ok(Self { form: given.form(), curl: given.has("curl"), reveal })
    }
}

/// The lookups, and what the engine makes of them.
pub(super) struct LookResult<'a> {
    pub(super) engine: &'a Engine,
    pub(super) plan: &'a Plan,
    /// A pair for each entry.
    pub(super) lookups: &'a [LookupPair],
    /// What steps found; `None` if they were not sent.
    pub(super) walked: Option<&'a WalkedUpdates<'a>>,
}

/// By update: what its steps found, or why they failed.
pub(super) type WalkedUpdates<'a> = BTreeMap<UpdateId, Result<StepResults<'a>, String>>;

/// The updates of one family of one entry.
struct FamilyUpdates<'a> {
    at: usize,
    lookup: &'a Lookup,
    /// For each update: its number, its kind, and whether its request can be made.
    updates: Vec<(UpdateId, PreviewKind, bool)>,
}

impl<'a> LookResult<'a> {
    fn families(&self) -> Vec<FamilyUpdates<'a>> {
        let mut all = Vec::new();
        for (at, pair) in self.lookups.iter().enumerate() {
            for (family, lookup) in Family::ALL.into_iter().zip(pair) {
                let Some(lookup) = lookup else { continue };
                let ids = (self.plan.first(at, family)..).zip(self.plan.entry(at).domains_of(family));
                let known = |(id, _)| {
                    let preview = self.engine.preview(id, false);
                    (id, PreviewKind::of(preview.verdict.as_ref()), preview.redacted().is_some())
                };
                all.push(FamilyUpdates { at, lookup, updates: ids.map(known).collect() });
            }
        }
        all
    }

    /// The name of an entry's configuration, and the number of the entry in it.
    fn of(&self, at: usize) -> (&'a str, usize) {
        let config = self.plan.config_of(at);
        (&self.plan.config(config).name, at - self.plan.entries_of(config).start)
    }

    /// Whether the steps of an update, if they were sent, lead to a request.
    fn is_sent(&self, id: UpdateId) -> bool {
        let walked = self.walked.and_then(|walked| walked.get(&self.plan.leader(id)));
        walked.is_none_or(|walked| walked.as_ref().is_ok_and(|walked| !walked.is_there))
    }

    fn lookup(&self, preview: &Preview) -> Option<&'a Lookup> {
        self.lookups[preview.entry][preview.family.index()].as_ref()
    }
}

/// The whole output, and whether every request can be made.
pub(super) fn text(looked: &LookResult<'_>, notices: &[Sample<'_>], options: &PreviewOptions) -> (String, bool) {
    let now = unix_time().seconds;
    let families = looked.families();
    let ids = || families.iter().flat_map(|family| &family.updates);
    let previews = || ids().map(|(id, ..)| looked.engine.preview(*id, options.reveal));
    let text = if options.form.json {
        let items: Vec<Preview> = previews().collect();
        let updates = items.iter().map(|item| PreviewJson::Update(json(looked, item, options, now)));
        let notices = notices.iter().map(|notice| PreviewJson::Notice(notice_json(notice)));
        output::json(&updates.chain(notices).collect::<Vec<_>>())
    } else if options.curl {
        commands(previews(), options, now)
    } else {
        let several = families
            .iter()
            .any(|family| looked.of(family.at).1 > 0 || looked.of(family.at).0 != looked.of(families[0].at).0);
        let block =
            |id: UpdateId| block(looked, (id, &looked.engine.preview(id, options.reveal)), several, options, now);
        let shown: String = families.iter().map(|family| shown(family, block)).collect();
        let notices: String = notices.iter().map(|notice| notice_block(notice, several, options.form.width)).collect();
        shown + &notices + &broken(&closing(looked, &families), 0, options.form.width)
    };
    let has_found = looked.walked.is_none_or(|walked| walked.values().all(Result::is_ok));
    let has_all = has_found && ids().all(|(.., can_be_sent)| *can_be_sent);
    (text, has_all)
}

/// Groups updates: only the first ones of each kind are shown.
#[derive(PartialEq, Clone, Copy)]
enum PreviewKind {
    Sent,
    Held,
    Waiting,
    Stopped,
    UpToDate,
    Without,
}

impl PreviewKind {
    /// In the order in which they are shown.
    const ALL: [Self; 6] = [Self::Sent, Self::Held, Self::Waiting, Self::Stopped, Self::UpToDate, Self::Without];

    fn of(verdict: Option<&Verdict>) -> Self {
        match verdict {
            Some(Verdict::Send(_)) => Self::Sent,
            Some(Verdict::Held(..)) => Self::Held,
            Some(Verdict::Wait(_)) => Self::Waiting,
            Some(Verdict::Stopped(..)) => Self::Stopped,
            Some(Verdict::UpToDate(_)) => Self::UpToDate,
            None => Self::Without,
        }
    }
}

/// The updates of one family of one entry; if there are many, the first ones of each kind.
fn shown(family: &FamilyUpdates<'_>, block: impl Fn(UpdateId) -> String) -> String {
    if family.updates.len() <= MAX_ALIKE {
        return family.updates.iter().map(|(id, ..)| block(*id)).collect();
    }
    let mut text = String::new();
    for kind in PreviewKind::ALL {
        let alike = || family.updates.iter().filter(|(_, of, _)| *of == kind);
        text.extend(alike().take(MAX_ALIKE).map(|(id, ..)| block(*id)));
        let more = alike().count().saturating_sub(MAX_ALIKE);
        if more > 0 {
            text += &format!("… and {} more alike (--json shows all)\n\n", grouped(more));
        }
    }
    text
}

/// A block of the report: a name, and below it labels with texts of any length in a second column.
struct Block {
    text: String,
    width: usize,
}

impl Block {
    fn new(name: &str, width: usize) -> Self {
        let mut block = Self { text: String::new(), width };
        block.put("", name, 0);
        block
    }

    fn put(&mut self, head: &str, text: &str, column: usize) {
        self.text += &folded_beside(head, text, column, self.width, MAX_BODY_LINES);
    }

    fn row(&mut self, label: &str, text: &str) {
        self.put(&format!("  {label}"), text, COLUMN);
    }

    /// A request; if there are several, its role comes first: `before 1 of 2: GET https://…`
    fn request(&mut self, role: Option<RequestRole>, request: &Redacted) {
        let line = format!("{} {}", request.method.as_str(), request.url);
        match role {
            Some(role) => self.put("", &format!("{role}: {line}"), 2),
            None => self.row("request", &line),
        }
        for (name, value) in &request.headers {
            self.row("", &format!("{name}: {value}"));
        }
        if let Some(body) = &request.body {
            self.text.push('\n');
            self.row("", body);
        }
    }
}

/// The request of an update, or all requests if it has steps.
fn requests(item: &Preview) -> impl Iterator<Item = (Option<RequestRole>, &Redacted)> {
    let one = item.redacted().filter(|_| item.around.is_empty()).map(|request| (None, request));
    one.into_iter().chain(item.around.iter().map(|(role, request)| (Some(*role), request)))
}

/// One update: its name, and a row for each value.
fn block(
    looked: &LookResult<'_>,
    (id, item): (UpdateId, &Preview),
    several: bool,
    options: &PreviewOptions,
    now: u64,
) -> String {
    let mut block = Block::new(&format!("{} {}", item.domain, item.family.record_type()), options.form.width);
    if several {
        let (name, number) = looked.of(item.entry);
        block.row("of", &format!("{name}, entry {}", number + 1));
    }
    let verdict = item.sentence(now);
    block.row("verdict", if looked.is_sent(id) { &verdict } else { "would not be sent, by what the steps found" });
    let lookup = looked.lookup(item);
    if item.is_example {
        let own = if lookup.is_some_and(Lookup::is_example) { "its" } else { "the other" };
        block.row("example", &format!("{own} address comes from --ip, not from a source"));
    }
    if item.is_together {
        block.row("together", "sent in one request with another update");
    }
    if let Some((source, choice)) = lookup.and_then(Lookup::found) {
        let found = format!("{}, from {source}: {}", choice.ip, choice.why);
        let own = item.address.as_ref().filter(|(ip, _)| *ip != choice.ip);
        let own = own.map(|(ip, _)| format!("{ip}: interface_id after the prefix of ")).unwrap_or_default();
        block.row("address", &format!("{own}{found}"));
        if let Some(why) = doubtful(choice.ip) {
            block.row("warning", &why);
        }
    } else {
        for (source, why) in lookup.into_iter().flat_map(Lookup::failed) {
            block.row("source", &format!("{source} gave no address: {why}"));
        }
    }
    if let Some(Redacted { proxy: Some(proxy), .. }) = item.redacted() {
        block.row("route", &format!("through the proxy {}", proxy.address));
    }
    if let Some(row) = lookup_row(looked, id, item) {
        block.row("lookup", &row);
    }
    match looked.walked.and_then(|walked| walked.get(&id)) {
        _ if item.is_together => {}
        Some(walked) => push_walked(&mut block, looked, (id, item), walked, options.reveal),
        None => requests(item).for_each(|(role, request)| block.request(role, request)),
    }
    block.text + "\n"
}

/// The row about steps that were not sent: what they would find, or why they are not needed.
fn lookup_row(looked: &LookResult<'_>, id: UpdateId, item: &Preview) -> Option<String> {
    let callback = &looked.plan.entry(item.entry).callback;
    let Some(walked) = looked.walked else {
        let lookup_note =
            callback.lookup_note(&callback.request).filter(|_| item.redacted().is_some() && !item.is_together)?;
        return Some(format!("{lookup_note} --lookup does so now."));
    };
    let why = match item.verdict {
        _ if item.is_together || walked.contains_key(&id) => return None,
        _ if callback.steps().is_empty() => "nothing to ask: the request needs no lookup",
        Some(Verdict::UpToDate(_)) => "the service was not asked: the update is up to date",
        _ => "the service was not asked: nothing would be sent now",
    };
    Some(why.to_owned())
}

/// Adds what the steps found, and the requests that follow from it.
fn push_walked(
    block: &mut Block,
    looked: &LookResult<'_>,
    (id, item): (UpdateId, &Preview),
    walked: &Result<StepResults<'_>, String>,
    reveal: bool,
) {
    let callback = &looked.plan.entry(item.entry).callback;
    let walked = match walked {
        Ok(walked) => walked,
        Err(why) => return block.row("found", &format!("cannot continue: {why}; the update would not be sent")),
    };
    let found = callback.shown_values(&walked.taken, reveal);
    block.row("found", &if found.is_empty() { "nothing".to_owned() } else { found.join(", ") });
    if walked.is_there {
        return block.row("request", "none: the service already has this address");
    }
    let is_absent = callback.absent().is_some_and(|absent| std::ptr::eq(absent, walked.template));
    let role = if is_absent { RequestRole::Absent } else { RequestRole::Update };
    let is_ready = |after: &&RequestTemplate| callback.is_given(after, &walked.taken);
    let after = callback.after().filter(is_ready).map(|after| (RequestRole::After, after));
    for (role, template) in [(role, walked.template)].into_iter().chain(after) {
        match looked.engine.finished(id, template, &walked.taken, reveal) {
            Some(Ok(request)) => block.request(Some(role), &request),
            Some(Err(why)) => block.row("request", &format!("cannot be sent: {why}")),
            None => {}
        }
    }
}

/// One notification with example values.
fn notice_block(sample: &Sample<'_>, several: bool, width: usize) -> String {
    let Sample { config, number, notification, event, message, request } = sample;
    let mut block = Block::new(&format!("notification {}", number + 1), width);
    if several {
        block.row("of", &config.name);
    }
    block.row("on", &notification.on.iter().map(NotifyEvent::key).collect::<Vec<_>>().join(", "));
    block.row("example", &format!("{}: {message}", event.key()));
    match request {
        Ok(request) => block.request(None, request),
        Err(why) => block.row("request", &format!("cannot be sent: {why}")),
    }
    block.text + "\n"
}

/// The same as JSON.
fn notice_json(sample: &Sample<'_>) -> impl Serialize {
    object! {
        notification: sample.number + 1,
        on: sample.notification.on.iter().map(NotifyEvent::key).collect::<Vec<_>>(),
        event: sample.event.key(),
        message: &sample.message,
        request: sample.request.as_ref().ok().map(preview::request_json),
    }
}

/// The summary: how many updates would be sent, and what happens to the others.
fn closing(looked: &LookResult<'_>, families: &[FamilyUpdates<'_>]) -> String {
    let updates = || families.iter().flat_map(|family| &family.updates);
    let of = |kind: PreviewKind| {
        let is_of = |(id, of, can_be_sent): &&_| {
            *of == kind && (kind != PreviewKind::Sent || *can_be_sent && looked.is_sent(*id))
        };
        updates().filter(is_of).count()
    };
    if updates().next().is_none() {
        return "Nothing would be sent: every family with domains is turned off.".to_owned();
    }
    let is_example = families.iter().any(|family| family.lookup.is_example());
    let has_group = |family: &FamilyUpdates<'_>| looked.plan.config(looked.plan.config_of(family.at)).group.is_some();
    let sent = if looked.walked.is_some() { "No update was sent" } else { "Nothing was sent" };
    let when = if is_example { "that found the example" } else { "now" };
    let most = if families.iter().any(has_group) { "at most " } else { "" };
    let others = [
        (PreviewKind::Held, "is held back", "are held back"),
        (
            PreviewKind::Waiting,
            "is sent after an earlier request has ended",
            "are sent after an earlier request has ended",
        ),
        (PreviewKind::Stopped, "is stopped", "are stopped"),
        (PreviewKind::Without, "has no address", "have no address"),
    ];
    let others = others.map(|(kind, one, many)| match of(kind) {
        0 => String::new(),
        1 => format!("; 1 {one}"),
        count => format!("; {} {many}", grouped(count)),
    });
    let (due, all) = (grouped(of(PreviewKind::Sent)), grouped(updates().count()));
    format!("{sent}. A run {when} would send {most}{due} of {all} updates{}.", others.concat())
}

/// A shell script: a curl command for each update, with the verdict in a comment.
fn commands(previews: impl Iterator<Item = Preview>, options: &PreviewOptions, now: u64) -> String {
    let mut text = String::new();
    let width = options.form.width;
    let comment = |text: &mut String, row: &str| {
        let lines = folded(row, width - 2);
        text.extend(lines.iter().map(|line| format!("# {line}\n")));
    };
    if !options.reveal {
        comment(&mut text, &format!("Secrets appear as {MASK}; --show-secrets prints them."));
    }
    for item in previews {
        comment(&mut text, &format!("{} {}: {}", item.domain, item.family.record_type(), item.sentence(now)));
        if item.is_together {
            continue;
        }
        if item.is_example {
            comment(&mut text, "An example, do not run it: the address comes from --ip, not from a source.");
        }
        for (role, request) in requests(&item) {
            if let Some(role) = role {
                comment(&mut text, &format!("{role}:"));
            }
            if item.is_example {
                comment(&mut text, &item.command(request, None));
            } else {
                text += &item.command(request, (width < WIDE).then_some(width));
                text.push('\n');
            }
        }
    }
    text
}

/// One item of the JSON list.
#[derive(Serialize)]
#[serde(untagged)]
enum PreviewJson<U, N> {
    Update(U),
    Notice(N),
}

/// One update as JSON.
fn json(looked: &LookResult<'_>, item: &Preview, options: &PreviewOptions, now: u64) -> impl Serialize {
    let lookup = looked.lookup(item);
    let failed = || {
        let failed = lookup.into_iter().flat_map(Lookup::failed);
        failed.map(|(source, why)| format!("{source}: {why}")).collect::<Vec<_>>().join("; ")
    };
    object! {
        domain: item.domain.clone(),
        r#type: item.family,
        address: item.address.as_ref().map(|(ip, _)| *ip),
        source: item.address.as_ref().and_then(|(_, source)| source.clone()),
        why: lookup.and_then(Lookup::found).map_or_else(failed, |(_, choice)| choice.why.clone()),
        verdict: item.word(),
        reason: item.sentence(now),
        request: item.redacted().map(preview::request_json);
        example: item.is_example.then_some(true),
        curl: options.curl.then(|| if item.is_example { None } else { item.curl(None) }),
        together: item.is_together.then_some(true),
        requests: item.around_json(options.curl),
    }
}
