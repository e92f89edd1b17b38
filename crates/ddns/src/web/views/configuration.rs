//! *Configuration*: the settings of each entry, forms to change them, and what would be sent then.

use ddns_core::config::fields::{Field, Kind, RequestPart};
use ddns_core::text::number::grouped;
use ddns_core::web::controls::{Content, EditControl, EditForm, in_words, is_locked, item_names};
use maud::{Markup, html};
use serde::Serialize;

use super::parts::{FormField, Tone, code, head, notice, token_field, turns};

/// The prefix of settings among the fields of a form, which has other fields as well.
pub(crate) const SET: &str = "set.";

/// The prefix of what a setting was when the form was made.
pub(crate) const WAS: &str = "was.";

/// How many domains of a list a form shows, and how many requests, or items of a list, are shown in full.
const PER_PAGE: usize = 40;
const MAX_SHOWN: usize = 10;

/// What the page shows of a file.
pub(crate) struct FileView {
    pub(crate) version: String,
    pub(crate) forms: Vec<EditForm>,
    /// Errors, in sentences.
    pub(crate) wrong: Vec<String>,
}

/// What the view of a file is made of.
pub(crate) struct FilePage<'a> {
    pub(crate) names: &'a [String],
    pub(crate) number: usize,
    /// The file, or a sentence that says why it cannot be shown.
    pub(crate) looked: Result<&'a FileView, &'a String>,
    pub(crate) notifications: usize,
    pub(crate) may_edit: bool,
    pub(crate) notice: Option<(Tone, String)>,
    pub(crate) token: &'a str,
}

/// The settings of one file.
pub(crate) fn page(model: &FilePage<'_>) -> Markup {
    let FilePage { names, number, looked, notifications, may_edit, notice: said, token } = model;
    let name = names.get(*number).map_or("", String::as_str);
    let can_edit = *may_edit && looked.is_ok_and(|looked| looked.wrong.is_empty());
    html! {
        div.stack {
            (head("Configuration", name, html! { @if can_edit { a.button href={ "/recipes?file=" (number) } { "Add an entry" } } }))
            @if names.len() > 1 {
                nav.chips aria-label="Files" {
                    @for (other, name) in names.iter().enumerate() {
                        a href={ "/configuration?file=" (other) } aria-current=[(other == *number).then_some("page")] { (name) }
                    }
                }
            }
            @if let Some((tone, text)) = said { (notice(*tone, text)) }
            @match looked {
                Err(why) => (notice(Tone::Info, why)),
                Ok(looked) => {
                    @if !looked.wrong.is_empty() {
                        (notice(Tone::Bad, html! {
                            p { strong { "The file has errors." } " Correct them on the host; the service notices." }
                            ul { @for why in &looked.wrong { li { (why) } } }
                        }))
                    }
                    @if !may_edit { p.soft { "To edit it here, set " code { "\"allow_edit\": true" } " in " code { "web" } " on the host." } }
                    // The entries come first, then the settings of the whole file.
                    @for form in looked.forms.iter().skip(1).chain(looked.forms.first()) {
                        (summary(form, *number, can_edit, looked.forms.len() > 2))
                    }
                    @if *notifications > 0 {
                        section.card aria-labelledby="test" {
                            h2 #test { "Notifications" }
                            form.row method="post" action="/configuration/notify" {
                                (token_field(token))
                                input type="hidden" name="file" value=(number);
                                button { "Send a test notification" }
                                span.soft { "An example goes wherever notifications go." }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// `Entry 2` or `For the whole file`
fn title(form: &EditForm, is_one_of_several: bool) -> String {
    match form.entry {
        Some(number) if is_one_of_several => format!("Entry {}", number + 1),
        Some(_) => "What is updated".to_owned(),
        None => "For the whole file".to_owned(),
    }
}

fn summary(form: &EditForm, file: usize, can_edit: bool, is_one_of_several: bool) -> Markup {
    let id = form.entry.map_or_else(|| "file".to_owned(), |number| format!("entry{number}"));
    let is_shown = |control: &&EditControl| control.content != Content::Unset || control.elsewhere.is_some();
    html! {
        section.card aria-labelledby=(id) {
            header {
                h2 id=(id) { (title(form, is_one_of_several)) }
                @if can_edit { a.button href=(link(file, form)) { "Edit" span.unseen { " " (title(form, is_one_of_several)) } } }
            }
            @if form.controls.iter().any(|control| is_shown(&control)) {
                dl.pairs { @for control in form.controls.iter().filter(is_shown) { dt { (control.field.label) } dd { (value(control)) } } }
            } @else { p.soft { "Nothing is set." } }
        }
    }
}

fn link(file: usize, form: &EditForm) -> String {
    let entry = form.entry.map(|number| format!("&entry={number}")).unwrap_or_default();
    format!("/configuration/edit?file={file}{entry}")
}

fn value(control: &EditControl) -> Markup {
    html! {
        @match &control.content {
            Content::Unset => {}
            Content::Open(text) => span.mono.lines { (text) },
            Content::WriteOnly(outline) | Content::Locked(outline) => { span.mono { (outline) } }
            Content::Items(items) => {
                @for (number, (shown, _)) in items.iter().take(MAX_SHOWN).enumerate() { @if number > 0 { ", " } span.mono { (shown) } }
                @if items.len() > MAX_SHOWN { " and " (grouped(items.len() - MAX_SHOWN)) " more" }
            }
        }
        @if let Some((outline, from)) = &control.elsewhere { " " span.mono { (outline) } span.soft { " (from " (from) ")" } }
        @if matches!(control.content, Content::Locked(_)) { span.soft { " (set on the host only)" } }
    }
}

/// A source that an address may come from.
pub(crate) struct SourceChoice {
    pub(crate) source: String,
    /// What it gave last; empty: it was not asked yet.
    pub(crate) gives: String,
    /// Whether the form offers it, besides showing what it gave.
    pub(crate) is_offered: bool,
}

/// What a form is made of.
pub(crate) struct FormPage<'a> {
    pub(crate) file: usize,
    pub(crate) form: &'a EditForm,
    pub(crate) version: &'a str,
    /// The page of the domains, from 1.
    pub(crate) page: usize,
    /// Whether the form contains input that is not saved yet.
    pub(crate) is_again: bool,
    /// What was typed into a field.
    pub(crate) typed: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) wrong: &'a [(Option<&'static Field>, String)],
    pub(crate) problem: Option<&'a str>,
    /// The sources to choose from, by family.
    pub(crate) choices: [Vec<SourceChoice>; 2],
    /// The mark of the form.
    pub(crate) of: String,
    /// Whether it is the only entry, which cannot be removed.
    pub(crate) is_only: bool,
    pub(crate) token: &'a str,
}

/// The settings that most people look for; the others are under *More settings*.
const FIRST: [&str; 9] = ["id", "endpoint", "ipv4", "ipv6", "index4", "index6", "ttl", "interval", "log.level"];

/// The form of an entry, or of the whole file.
pub(crate) fn form(model: &FormPage<'_>) -> Markup {
    let FormPage { file, form, version, page, wrong, problem, is_only, token, .. } = *model;
    let can_set = |control: &&EditControl| !is_locked(control.field);
    let is_first = |control: &&EditControl| {
        FIRST.contains(&control.field.name)
            || control.content != Content::Unset
            || wrong_of(model, control.field).is_some()
            || (model.typed)(control.field.name).is_some_and(|text| !text.trim().is_empty())
    };
    let (first, rest): (Vec<&EditControl>, Vec<&EditControl>) =
        form.controls.iter().filter(can_set).partition(is_first);
    let is_here = |field: &Field| form.controls.iter().any(|control| control.field.key == field.key);
    let elsewhere = || wrong.iter().filter(|(field, _)| !field.is_some_and(is_here)).map(|(_, why)| why);
    let about = html! {
        (token_field(token))
        input type="hidden" name="file" value=(file);
        input type="hidden" name="version" value=(version);
        input type="hidden" name="of" value=(model.of);
        @if let Some(entry) = form.entry { input type="hidden" name="entry" value=(entry); }
    };
    html! {
        div.stack {
            nav.crumb aria-label="Back" { a href={ "/configuration?file=" (file) } { "‹ Configuration" } }
            h1 { (title(form, !is_only)) }
            @if let Some(problem) = problem { (notice(Tone::Warning, problem)) }
            @if !wrong.is_empty() {
                (notice(Tone::Bad, html! { "Nothing was changed yet: see below what is wrong." @if elsewhere().next().is_some() { ul { @for why in elsewhere() { li { (why) } } } } }))
            }
            form.card method="post" action={ "/configuration/edit" } data-guard data-dirty[model.is_again] {
                (about)
                input type="hidden" name="page" value=(page);
                // The button that the Enter key presses.
                button.unseen name="step" value="check" tabindex="-1" aria-hidden="true" { "Continue" }
                @for control in first { (field(model, control)) }
                @if form.entry.is_some() { div.row { button name="step" value="ask" { "Ask the sources again" } span.soft.small { "Programs are not run." } } }
                @if !rest.is_empty() {
                    details { summary { "More settings" } div.stack { @for control in rest { (field(model, control)) } } }
                }
                div.row {
                    button.main name="step" value="check" { "Continue" }
                    span.soft { "Next you see what would change. Nothing is saved before that." }
                }
            }
            @if form.entry.is_some() && !is_only {
                form.row method="post" action="/configuration/edit" {
                    (about)
                    button.bad name="remove" value="yes" { "Remove this entry" }
                }
            }
        }
    }
}

fn wrong_of<'a>(model: &FormPage<'a>, field: &Field) -> Option<&'a str> {
    model.wrong.iter().find(|(known, _)| known.is_some_and(|known| known.key == field.key)).map(|(_, why)| why.as_str())
}

fn field(model: &FormPage<'_>, control: &EditControl) -> Markup {
    let name = control.field.name;
    let help = match control.field.kind {
        Kind::Sources => "Tried in order; the first that gives an address counts.".to_owned(),
        _ => in_words(control.field.help, None),
    };
    let help = match &control.elsewhere {
        Some((shown, from)) => format!("{help} {from} sets it: {shown}"),
        None if control.field.default.is_empty() || control.field.kind == Kind::Sources => help,
        None => format!("{help} Default: {}", control.field.default),
    };
    // Somebody else may have changed it in the meantime.
    let help = match (&control.content, (model.typed)(name)) {
        (Content::Open(now), Some(typed)) if typed.replace('\r', "").trim() != now.trim() => {
            format!("Set now: {now}. {help}")
        }
        _ => help,
    };
    let id = name.replace('.', "-");
    let around =
        FormField { id: &id, label: control.field.label, help: Some(&help), wrong: wrong_of(model, control.field) };
    match control.field.kind {
        Kind::Domains => return domains(model, control, &around),
        Kind::Sources => return sources(model, control, &around),
        _ => {}
    }
    let now = match &control.content {
        Content::Open(text) => text.as_str(),
        _ => "",
    };
    let typed = (model.typed)(name);
    let shown = typed.as_deref().unwrap_or(now);
    let words = if matches!(control.field.kind, Kind::Flag) { &["true", "false"] } else { control.field.words };
    let is_choice = matches!(control.field.kind, Kind::Word | Kind::Flag | Kind::FlagOrText) || name == "log.level";
    let is_long = matches!(
        control.field.kind,
        Kind::Document | Kind::Headers | Kind::Values | Kind::Object | Kind::ObjectOrText | Kind::Callbacks
    );
    let set = format!("{SET}{name}");
    let input = |around: &FormField<'_>| {
        match () {
        () if is_choice && (shown.is_empty() || words.iter().any(|word| word.eq_ignore_ascii_case(shown))) => around
            .around(&html! {
                select id=(id) name=(set) aria-describedby=[around.described()] aria-invalid=[around.invalid()] autofocus[around.wrong.is_some()] {
                    option value="" selected[shown.is_empty()] { "not set" }
                    @for word in words { option value=(word) selected[word.eq_ignore_ascii_case(shown)] { (word) } }
                }
            }),
        () if is_long => around.area(&set, shown, 2),
        () => around.input(&set, "text", Some(shown), None),
    }
    };
    let Content::WriteOnly(outline) = &control.content else {
        // What is sent back as it was is not an edit.
        return html! { (input(&around)) input type="hidden" name={ (WAS) (name) } value=(now); };
    };
    let unset = format!("unset.{name}");
    let is_removed = (model.typed)(&unset).is_some();
    let is_typed = typed.as_deref().is_some_and(|text| !text.trim().is_empty());
    let is_open = is_typed || is_removed || around.wrong.is_some();
    html! {
        div.field {
            span.label { (control.field.label) }
            p { span.tag { "set" } " " span.mono { (outline) } }
            details open[is_open] {
                summary { "Replace" span.unseen { " " (control.field.label) } }
                div.stack {
                    (input(&FormField { label: &format!("New {}", lower(control.field.label)), ..around }))
                    label.choice { input type="checkbox" name={ (SET) (unset) } checked[is_removed]; "Remove it" }
                }
            }
        }
    }
}

/// `URL` stays, `Body` becomes `body`.
fn lower(label: &str) -> String {
    if label.chars().nth(1).is_some_and(char::is_uppercase) { label.to_owned() } else { label.to_lowercase() }
}

fn domains(model: &FormPage<'_>, control: &EditControl, around: &FormField<'_>) -> Markup {
    let items = control.items();
    let (name, page) = (control.field.name, model.page.min(items.len().div_ceil(PER_PAGE)).max(1));
    let add = format!("{name}.add");
    let typed = (model.typed)(&add).unwrap_or_default();
    let is_ticked = |item: &str| (model.typed)(item).is_some();
    let here = (page - 1) * PER_PAGE..page * PER_PAGE;
    html! {
        fieldset.field {
            legend.label { (control.field.label) }
            @if !items.is_empty() {
                ul.items {
                    @for ((shown, _), item) in items.iter().zip(item_names(name, items)).skip(here.start).take(PER_PAGE) {
                        li { span.mono { (shown) } label.choice { input type="checkbox" name={ (SET) (item) } value="remove" checked[is_ticked(&item)]; "Remove" span.unseen { " " (shown) } } }
                    }
                }
                @for (_, item) in item_names(name, items).into_iter().enumerate().filter(|(place, item)| !here.contains(place) && is_ticked(item)) {
                    input type="hidden" name={ (SET) (item) } value="remove";
                }
                // Turning a page sends the form, so that nothing that was ticked or typed is lost.
                @if items.len() > PER_PAGE {
                    (turns((page, PER_PAGE, items.len()), control.field.label, |page, _, words| html! { button name="step" value={ "page " (page) } { (words) } }))
                }
            }
            (FormField { label: &format!("Add {}", control.field.label), help: Some("Names such as home.example.com, one on each line."), ..*around }
                .area(&format!("{SET}{add}"), &typed, 1))
        }
    }
}

fn sources(model: &FormPage<'_>, control: &EditControl, around: &FormField<'_>) -> Markup {
    let items = control.items();
    let name = control.field.name;
    let choices = &model.choices[usize::from(name == "index6")];
    let with = |source: &str| match choices.iter().find(|choice| choice.source == source && !choice.gives.is_empty()) {
        Some(choice) => format!("{source}: {}", choice.gives),
        None => source.to_owned(),
    };
    let offered: Vec<&str> =
        choices.iter().filter(|choice| choice.is_offered).map(|choice| choice.source.as_str()).collect();
    let (add, other) = (format!("{name}.add"), format!("{name}.other"));
    let typed = (model.typed)(&add).unwrap_or_default();
    let described = around.described();
    let unset = match &control.elsewhere {
        _ if !items.is_empty() => "one more source …".to_owned(),
        Some((shown, from)) => format!("not set here ({from} sets it: {shown})"),
        None => format!("not set ({})", with(control.field.default)),
    };
    html! {
        fieldset.field {
            legend.label { (control.field.label) }
            @for (number, ((shown, _), item)) in items.iter().zip(item_names(name, items)).enumerate() {
                @let chosen = (model.typed)(&item).unwrap_or_default();
                select name={ (SET) (item) } aria-label={ "Source " (number + 1) } {
                    option value="keep" selected[chosen.is_empty()] { (with(shown)) }
                    @for source in offered.iter().filter(|source| *source != shown) { option value=(source) selected[*source == chosen] { (with(source)) } }
                    option value="false" selected[chosen == "false"] { "none: switch this family off" }
                    @if items.len() > 1 { option value="remove" selected[chosen == "remove"] { "remove this source" } }
                }
            }
            select name={ (SET) (add) } id=(around.id) aria-label=(if items.is_empty() { "Source" } else { "One more source, tried after these" }) aria-describedby=[described] {
                option value="" { (unset) }
                @for source in &offered { option value=(source) selected[*source == typed] { (with(source)) } }
                @if items.is_empty() { option value="false" selected[typed == "false"] { "none: switch this family off" } }
            }
            details open[(model.typed)(&other).is_some_and(|text| !text.is_empty()) || around.wrong.is_some()] {
                summary { "Another source" }
                input type="text" name={ (SET) (other) } value=((model.typed)(&other).unwrap_or_default()) aria-describedby=[around.described()]
                    aria-invalid=[around.invalid()] autofocus[around.wrong.is_some()] aria-label="Another source, such as url:https://example.com/ip" placeholder="url:https://example.com/ip" autocapitalize="none" spellcheck="false";
            }
            (around.notes())
        }
    }
}

/// The entry of a form is gone, or is another one: what was typed, to be copied. What may be a secret is not shown.
pub(crate) fn lost(file: usize, fields: &[(String, String)]) -> Markup {
    let was = |name: &str| fields.iter().find(|(known, _)| known.strip_prefix(WAS) == Some(name)).map(|(_, text)| text);
    let is_open = |name: &str| match Field::written(name) {
        Some(field) => field.request == RequestPart::Nothing,
        None => matches!(name, "ipv4.add" | "ipv6.add"),
    };
    let typed = fields.iter().filter_map(|(name, text)| Some((name.strip_prefix(SET)?, text)));
    html! {
        div.stack {
            h1 { "Nothing was saved" }
            (notice(Tone::Warning, "The entries of the file were changed in the meantime, on the host or in another tab, and this one is not among them."))
            dl.pairs {
                @for (name, text) in typed.filter(|(name, text)| !text.trim().is_empty() && was(name) != Some(text) && is_open(name)) {
                    @let (field, what) = name.split_once('.').unwrap_or((name, ""));
                    dt { (Field::written(name).or(Field::written(field)).map_or(name, |field| field.label)) @if what == "add" { ": add" } }
                    dd { span.mono.lines { (text) } }
                }
            }
            p { a.button href={ "/configuration?file=" (file) } { "To the entries as they are now" } }
        }
    }
}

/// The requests of an update before and after an edit.
#[derive(Serialize)]
pub(crate) struct Change {
    pub(crate) about: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// What would change, and a button that saves it; the form contains everything that was typed.
pub(crate) fn confirm(
    file: usize,
    (changes, warnings): &(Vec<Change>, Vec<String>),
    is_removal: bool,
    typed: &[(String, String)],
) -> Markup {
    let more = changes.len().saturating_sub(MAX_SHOWN);
    html! {
        div.stack {
            nav.crumb aria-label="Back" { a href={ "/configuration?file=" (file) } { "‹ Configuration" } }
            h1 { (if is_removal { "Remove this entry?" } else { "Save these changes?" }) }
            @for warning in warnings { (notice(Tone::Warning, warning)) }
            @if changes.is_empty() { (notice(Tone::Info, "What is sent stays the same, apart from secrets that you replaced.")) }
            @else { p.soft { "This changes what is sent. Secrets show as ***; an address that is not known is an example." } }
            @for Change { about, before, after } in changes.iter().take(MAX_SHOWN) {
                section.card aria-label=(about) {
                    h2 { (about) }
                    div.columns {
                        @for (when, shown, none) in [("Now", before, "Nothing is sent."), ("Then", after, "Nothing more is sent.")] {
                            div { h3 { (when) } @match shown { Some(text) => (code(text, &format!("what is sent for {about} {}", when.to_lowercase()))), None => p.soft { (none) } } }
                        }
                    }
                }
            }
            @if more > 0 { p.soft { "And " (grouped(more)) " more." } }
            form.row method="post" action="/configuration/edit" data-guard data-dirty {
                @for (name, text) in typed.iter().filter(|(name, _)| name != "step") { input type="hidden" name=(name) value=(text); }
                button.main name="step" value="save" { (if is_removal { "Remove and run" } else { "Save and run" }) }
                button name="step" value="edit" { "Back" }
            }
        }
    }
}
