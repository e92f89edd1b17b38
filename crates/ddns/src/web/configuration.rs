//! The view *Configuration* and its forms (I7): what can be set, what would change, and saving it. The text of a file never leaves
//! this host.

use std::net::IpAddr;
use std::rc::Rc;

use ddns_core::config::Config;
use ddns_core::config::fields::Field;
use ddns_core::config::layers::Parcelled;
use ddns_core::config::validate::Surroundings;
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::Severity;
use ddns_core::web::check::{Finding, check};
use ddns_core::web::controls::{controls, in_words};
use ddns_core::web::edit::{Op, apply, told};
use ddns_core::web::typed::operations;
use hyper::Method;
use hyper::header::{HeaderValue, LOCATION};

use super::pages::{GONE, frame, missing};
use super::reply::{PageRequest, Reply};
use super::save::{self, Refused};

use super::site::{Ask, Configured, Site};
use super::views::configuration::{self as view, Change, ConfirmPage, FilePage, FileView, FormPage, SET};
use super::views::layout::Tab;
use super::views::parts::Tone;
use crate::clock::unix_time;
use crate::http::Client;
use crate::notify;
use crate::set_up::{self, RedactedRequest};

/// So many requests are compared.
const MAX_COMPARED: usize = 2_000;

/// What came of an edit.
pub(super) enum Edited {
    /// What would be sent then, in place of what.
    Possible(Vec<Change>),
    Saved,
    /// The file is another one now.
    Changed,
    Wrong(Vec<Finding>),
    /// An operation means nothing.
    Misread(String),
    /// A phrase that follows the name of the file.
    Failed(String),
}

/// An edit of a file of the service.
pub(super) struct Edit {
    pub(super) version: String,
    /// Or why they mean nothing, which matters only if the file is still the same.
    pub(super) ops: Result<Vec<Op>, String>,
    pub(super) is_saved: bool,
    pub(super) addresses: [Option<IpAddr>; 2],
}

/// Reads a file; fails with a phrase that follows its name.
pub(super) async fn look(site: &Site, name: &str, around: &Surroundings) -> Result<FileView, String> {
    let (name, around) = (name.to_owned(), around.parcelled());
    let work = move || {
        let (opened, around) = (save::open(&name)?, around.unpacked());
        let (config, findings) = check(&name, &opened.text, &around);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let line = |finding: &Finding| finding.spot.map(|spot| format!("Line {}: ", spot.line)).unwrap_or_default();
        let wrong = errors.map(|finding| format!("{}{}", line(finding), in_words(&finding.message, finding.field)));
        let forms = controls(&opened.text, &around, config.as_ref()).unwrap_or_default();
        Ok(FileView { version: opened.version, forms, wrong: wrong.collect() })
    };
    site.aside(work).await.unwrap_or_else(|| Err("cannot be shown".to_owned()))
}

/// Tries an edit, or saves it.
pub(super) async fn edit(site: &Site, name: &str, around: &Surroundings, edit: Edit) -> Edited {
    let (name, around) = (name.to_owned(), around.parcelled());
    site.aside(move || done(&name, around, &edit))
        .await
        .unwrap_or_else(|| Edited::Failed("cannot be edited".to_owned()))
}

fn done(name: &str, around: Parcelled, edit: &Edit) -> Edited {
    let (opened, around) = match save::open(name) {
        Ok(opened) => (opened, around.unpacked()),
        Err(why) => return Edited::Failed(why),
    };
    if opened.version != edit.version {
        return Edited::Changed;
    }
    let ops = match &edit.ops {
        Ok(ops) => ops,
        Err(why) => return Edited::Misread(why.clone()),
    };
    let (text, after) = match apply(&opened.text, ops, &around) {
        Ok(applied) => applied,
        Err(findings) => return Edited::Wrong(findings),
    };
    if edit.is_saved {
        return match save::replace(name, &opened.version, &text) {
            Ok(()) => Edited::Saved,
            Err(Refused::Changed) => Edited::Changed,
            Err(Refused::Failed(why)) => Edited::Failed(why),
        };
    }
    let now = unix_time();
    let requests = |config: &Config| set_up::requests(MAX_COMPARED, config, edit.addresses, now).0;
    let before = check(name, &opened.text, &around).0.map(|config| requests(&config)).unwrap_or_default();
    Edited::Possible(changes(before, requests(&after)))
}

/// The requests that would be others, new, or gone.
fn changes(mut before: Vec<RedactedRequest>, after: Vec<RedactedRequest>) -> Vec<Change> {
    let mut all = Vec::new();
    for new in after {
        let same = |old: &RedactedRequest| old.about == new.about && old.shown == new.shown;
        let like = |old: &RedactedRequest| old.about == new.about && old.entry == new.entry;
        match before.iter().position(same).or_else(|| before.iter().position(like)) {
            Some(at) if same(&before[at]) => drop(before.remove(at)),
            Some(at) => {
                let old = before.remove(at);
                all.push(Change { about: new.about, before: Some(old.shown), after: Some(new.shown) });
            }
            None => all.push(Change { about: new.about, before: None, after: Some(new.shown) }),
        }
    }
    all.extend(before.into_iter().map(|old| Change { about: old.about, before: Some(old.shown), after: None }));
    all
}

/// The addresses that the service knows.
pub(super) async fn addresses(site: &Site) -> [Option<IpAddr>; 2] {
    let rows = site.ask(Ask::Status).await.map(|status| status.rows).unwrap_or_default();
    Family::ALL
        .map(|family| rows.iter().filter_map(|row| row.address).find(|ip| ip.is_ipv4() == (family == Family::V4)))
}

fn page(request: &PageRequest, status: u16, content: &maud::Markup) -> Reply {
    let mut frame = frame(request, "Configuration", Some(Tab::Configuration));
    frame.is_live = false;
    Reply::page(status, frame.around(content))
}

/// A value that the query or the form has.
fn given(request: &PageRequest, name: &str) -> Option<usize> {
    request.queried(name).or_else(|| request.field(name))?.parse().ok()
}

/// Shows a file, or says why it cannot be shown.
pub(super) async fn show(site: &Site, request: &PageRequest) -> Reply {
    shown(site, request, 200, None).await
}

async fn shown(site: &Site, request: &PageRequest, status: u16, notice: Option<(Tone, String)>) -> Reply {
    let Some(configured) = site.ask(Ask::Configured).await else { return Reply::text(503, GONE) };
    let number = given(request, "file").unwrap_or(0);
    let looked = match configured.file(number) {
        None => Err("It is set by options and variables of the environment: there is no file to show.".to_owned()),
        Some(name) if name.contains("://") => Err("It is fetched from another host.".to_owned()),
        Some(name) => look(site, name, &configured.around).await.map_err(|why| format!("{name} {why}.")),
    };
    let configs = site.ask(Ask::Configs).await;
    let notifications = configs.and_then(|configs| Some(configs.get(number)?.0.notify.len())).unwrap_or(0);
    let may_edit = site.web.borrow().allow_edit;
    let notice =
        notice.or_else(|| request.queried("saved").map(|_| (Tone::Info, "Saved. The service uses it now.".to_owned())));
    let (names, token) = (&configured.names, &request.token);
    page(
        request,
        status,
        &view::page(&FilePage { names, number, looked: looked.as_ref(), notifications, may_edit, notice, token }),
    )
}

/// The file and the form that a request is about, or the page that says why there is none.
async fn found(site: &Site, request: &PageRequest) -> Result<(Configured, String, FileView, usize), Reply> {
    let Some(configured) = site.ask(Ask::Configured).await else { return Err(Reply::text(503, GONE)) };
    let gone = || missing(request, "The configuration no longer has this entry.");
    let name = configured.local_file(given(request, "file").unwrap_or(0)).cloned().ok_or_else(gone)?;
    if !site.web.borrow().allow_edit {
        let why = "Editing is switched off: set allow_edit in the settings of the page, on the host.";
        return Err(shown(site, request, 403, Some((Tone::Bad, why.to_owned()))).await);
    }
    let Ok(looked) = look(site, &name, &configured.around).await else {
        return Err(shown(site, request, 500, None).await);
    };
    if !looked.wrong.is_empty() {
        return Err(shown(site, request, 422, None).await);
    }
    if let Some(status) = site.ask(Ask::Status).await {
        site.sources.learn(&status.rows);
    }
    let entry = given(request, "entry");
    let place = looked.forms.iter().position(|form| form.entry == entry).ok_or_else(gone)?;
    Ok((configured, name, looked, place))
}

/// The form of an entry, or of the whole file.
pub(super) async fn begin(site: &Rc<Site>, request: &PageRequest) -> Reply {
    match found(site, request).await {
        Ok((_, _, looked, place)) => form(site, request, 200, &looked, place, &looked.version, &[], None),
        Err(reply) => reply,
    }
}

#[allow(clippy::too_many_arguments, reason = "each is another part of the page")]
fn form(
    site: &Site,
    request: &PageRequest,
    status: u16,
    looked: &FileView,
    place: usize,
    version: &str,
    wrong: &[(Option<&'static Field>, String)],
    problem: Option<&str>,
) -> Reply {
    let form = &looked.forms[place];
    let is_only = looked.forms.len() < 3;
    let choices = Family::ALL.map(|family| site.sources.choices(family));
    let (file, page_number) = (given(request, "file").unwrap_or(0), given(request, "page").unwrap_or(1).max(1));
    let typed = |name: &str| request.field(&format!("{SET}{name}"));
    let is_again = request.method == Method::POST;
    let model = FormPage {
        file,
        form,
        version,
        page: page_number,
        is_again,
        typed: &typed,
        wrong,
        problem,
        choices,
        is_only,
        token: &request.token,
    };
    page(request, status, &view::form(&model))
}

/// Takes what was typed: shows what would change, and saves it when that was seen.
pub(super) async fn change(site: &Rc<Site>, request: &PageRequest) -> Reply {
    let (configured, name, looked, place) = match found(site, request).await {
        Ok(found) => found,
        Err(reply) => return reply,
    };
    let version = request.field("version").unwrap_or_default();
    let again = |status, wrong: &[(Option<&'static Field>, String)], problem: Option<&str>| {
        form(site, request, status, &looked, place, &looked.version, wrong, problem)
    };
    let step = request.field("step").unwrap_or_default();
    match step.as_str() {
        "edit" => return form(site, request, 200, &looked, place, &version, &[], None),
        "ask" => {
            site.sources.ask_for(&looked.forms[place]).await;
            return form(site, request, 200, &looked, place, &version, &[], None);
        }
        _ => {}
    }
    if version != looked.version {
        let why = "The file was changed in the meantime, on the host or in another tab. What you typed is still here: compare it with what is set now, then go on.";
        return again(409, &[], Some(why));
    }
    let entry = looked.forms[place].entry;
    let is_removal = request.field("remove").is_some();
    let ops = match entry {
        Some(number) if is_removal => vec![Op::RemoveEntry(number)],
        _ => operations(&looked.forms[place], |name| request.field(&format!("{SET}{name}"))),
    };
    if ops.is_empty() {
        return again(200, &[], Some("Nothing was changed."));
    }
    let is_saved = step == "save";
    let wanted = Edit { version, ops: Ok(ops), is_saved, addresses: addresses(site).await };
    match edit(site, &name, &configured.around, wanted).await {
        Edited::Possible(changes) => {
            let model = ConfirmPage {
                file: given(request, "file").unwrap_or(0),
                changes,
                is_removal,
                fields: request.fields(),
            };
            page(request, 200, &view::confirm(&model))
        }
        Edited::Saved => saved(site, request).await,
        Edited::Misread(why) => again(400, &[], Some(&why)),
        Edited::Changed => {
            again(409, &[], Some("The file was changed at the same moment: nothing was saved. Please try again."))
        }
        Edited::Wrong(findings) => again(422, &told(&findings), None),
        Edited::Failed(why) => again(500, &[], Some(&format!("Nothing was saved: {name} {why}."))),
    }
}

async fn saved(site: &Site, request: &PageRequest) -> Reply {
    let file = given(request, "file").unwrap_or(0);
    match site.ask(Ask::Reload).await {
        None => Reply::text(503, GONE),
        Some(errors) if errors.is_empty() => {
            let to = HeaderValue::try_from(format!("/configuration?file={file}&saved=1"));
            to.map_or_else(|_| Reply::see("/configuration"), |to| Reply::text(303, "saved").with(LOCATION, to))
        }
        Some(errors) => {
            let why = format!("It was saved, but the service keeps the previous configuration: {}", errors.join("; "));
            shown(site, request, 500, Some((Tone::Bad, why))).await
        }
    }
}

/// Sends an example of each notification of a file, and says what came of it.
pub(super) async fn test_notifications(site: &Site, request: &PageRequest) -> Reply {
    let Some(configs) = site.ask(Ask::Configs).await else { return Reply::text(503, GONE) };
    let Some((config, _)) = configs.get(given(request, "file").unwrap_or(0)) else {
        return missing(request, "The file no longer exists.");
    };
    let (client, mut told, mut tone) = (Client::default(), Vec::new(), Tone::Info);
    for notification in &config.notify {
        let Some(event) = notification.on.iter().next() else { continue };
        if let Some(tried) = notify::try_example(config, notification, event, &client).await {
            tone = if tried.has_arrived { tone } else { Tone::Bad };
            told.push(format!("The test for {} {}.", tried.origin, tried.said.trim_end_matches('.')));
        }
    }
    let told = if told.is_empty() { "There is nobody to notify.".to_owned() } else { told.join(" ") };
    shown(site, request, 200, Some((tone, told))).await
}
