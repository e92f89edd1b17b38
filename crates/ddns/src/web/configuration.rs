//! The view *Configuration* and its forms (I7): what can be set, what would change, and saving it. The text of a file never leaves
//! this host.

use std::rc::Rc;

use ddns_core::config::fields::Field;
use ddns_core::config::validate::Surroundings;
use ddns_core::config::{Config, Entry};
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::Severity;
use ddns_core::web::check::{Finding, check};
use ddns_core::web::controls::{controls, find, in_words, mark};
use ddns_core::web::edit::{Op, apply, operations, told, warned};
use hyper::Method;
use maud::html;

use super::pages::{ask, missing};
use super::reply::{Handled, Reply};
use super::request::PageRequest;
use super::save;
use super::site::{Configured, Site, SiteRequest};
use super::views::configuration::{self as view, Change, FilePage, FileView, FormPage, SET, WAS};
use super::views::login;
use super::views::parts::Tone;
use crate::clock::unix_time;
use crate::http::Client;
use crate::notify::try_example;
use crate::set_up::{self, RedactedRequest};

/// How many requests are compared.
const MAX_COMPARED: usize = 2_000;

/// Why an edit was not made.
pub(super) enum NotEdited {
    /// The file was changed in the meantime.
    Changed,
    Wrong(Vec<Finding>),
    /// A phrase that follows the name of the file.
    Failed(String),
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
        let forms = controls(&opened.text, &around, config.as_ref());
        Ok(FileView { version: opened.version, forms, wrong: wrong.collect() })
    };
    site.aside(work).await.unwrap_or_else(|| Err("cannot be shown".to_owned()))
}

/// Saves an edit of the file that has this version; unless `is_saved`, only returns how its requests would change, and
/// new warnings.
pub(super) async fn edit(
    site: &Site,
    (name, version): (&str, &str),
    around: &Surroundings,
    ops: Vec<Op>,
    is_saved: bool,
) -> Result<Option<(Vec<Change>, Vec<String>)>, NotEdited> {
    let known = site.ask(SiteRequest::Addresses).await.unwrap_or_default();
    let (name, version, around) = (name.to_owned(), version.to_owned(), around.parcelled());
    let work = move || {
        let (opened, around) = (save::open(&name).map_err(NotEdited::Failed)?, around.unpacked());
        if opened.version != version {
            return Err(NotEdited::Changed);
        }
        let (text, after) = apply(&opened.text, &ops, &around).map_err(NotEdited::Wrong)?;
        if is_saved {
            let saved = save::replace(&name, &version, &text);
            return saved.map(|()| None).map_err(|why| why.map_or(NotEdited::Changed, NotEdited::Failed));
        }
        let now = unix_time();
        // Other sources may give another address: an example is in its place.
        let addresses = |entry: &Entry| {
            [0, 1]
                .map(|at| known.iter().find_map(|(sources, ips)| ips[at].filter(|_| sources[at] == entry.sources[at])))
        };
        let requests = |config: &Config| set_up::requests(MAX_COMPARED, config, addresses, now).0;
        let (before, known) = check(&name, &opened.text, &around);
        let before = before.map(|config| requests(&config)).unwrap_or_default();
        let warnings = warned(&known, &check(&name, &text, &around).1);
        Ok(Some((changes(before, requests(&after)), warnings)))
    };
    site.aside(work).await.unwrap_or_else(|| Err(NotEdited::Failed("cannot be edited".to_owned())))
}

/// The updates whose requests would change, be new, or be gone.
fn changes(mut before: Vec<RedactedRequest>, after: Vec<RedactedRequest>) -> Vec<Change> {
    let mut all = Vec::new();
    for RedactedRequest { entry, about, all: sent, .. } in after {
        let same = |old: &RedactedRequest| old.about == about && old.all == sent;
        let like = |old: &RedactedRequest| old.about == about && old.entry == entry;
        let known = before.iter().position(same).or_else(|| before.iter().position(like));
        let old = known.map(|at| before.remove(at).all);
        if old.as_ref() != Some(&sent) {
            all.push(Change { about, before: old, after: Some(sent) });
        }
    }
    all.extend(before.into_iter().map(|old| Change { about: old.about, before: Some(old.all), after: None }));
    all
}

fn page(request: &PageRequest, status: u16, content: &maud::Markup) -> Reply {
    request.page(status, "Configuration", Some("/configuration"), content)
}

/// A number in the query or in the form.
fn given(request: &PageRequest, name: &str) -> Option<usize> {
    request.queried(name).or_else(|| request.field(name))?.parse().ok()
}

/// The number of the file that a request is about.
fn file(request: &PageRequest) -> usize {
    given(request, "file").unwrap_or(0)
}

/// Shows a file, or says why it cannot be shown.
pub(super) async fn show(site: &Site, request: &PageRequest) -> Handled {
    let saved = request.queried("saved").map(|_| (Tone::Info, "Saved. The service uses it now.".to_owned()));
    shown(site, request, 200, saved).await
}

async fn shown(site: &Site, request: &PageRequest, status: u16, notice: Option<(Tone, String)>) -> Handled {
    let configured = ask(site, SiteRequest::Configured).await?;
    let number = file(request);
    let looked = match configured.file(number) {
        None if number >= configured.names.len() => return Err(missing(request, "There is no file with this number.")),
        None => Err("It is set by options and variables of the environment: there is no file to show.".to_owned()),
        Some(name) if name.contains("://") => Err("It is fetched from another host.".to_owned()),
        Some(name) => look(site, name, &configured.around).await.map_err(|why| format!("{name} {why}.")),
    };
    let configs = site.ask(SiteRequest::Configs).await;
    let notifications = configs.and_then(|configs| Some(configs.get(number)?.0.notify.len())).unwrap_or(0);
    let may_edit = site.web.borrow().allow_edit;
    let (names, token) = (&configured.names, &request.token);
    let model = FilePage { names, number, looked: looked.as_ref(), notifications, may_edit, notice, token };
    Ok(page(request, status, &view::page(&model)))
}

/// A form of a file that somebody edits.
struct Editing<'a> {
    site: &'a Site,
    request: &'a PageRequest,
    configured: Configured,
    /// The name of the file.
    name: String,
    looked: FileView,
    /// The number of the form.
    place: usize,
}

impl<'a> Editing<'a> {
    /// The file and the form that a request is about, or the page that says why there is none.
    async fn of(site: &'a Site, request: &'a PageRequest) -> Result<Self, Reply> {
        let configured = ask(site, SiteRequest::Configured).await?;
        let gone = || missing(request, "The configuration no longer has this entry.");
        let name = configured.local_file(file(request)).cloned().ok_or_else(gone)?;
        if !site.web.borrow().allow_edit {
            let why = "Editing is switched off: set allow_edit in the settings of the page, on the host.";
            return Err(shown(site, request, 403, Some((Tone::Bad, why.to_owned()))).await?);
        }
        let looked = look(site, &name, &configured.around).await;
        let wrong = match &looked {
            Ok(looked) => looked.wrong.clone(),
            Err(why) => vec![format!("{name} {why}.")],
        };
        let Some(looked) = looked.ok().filter(|looked| looked.wrong.is_empty()) else {
            if request.method != Method::POST {
                return Err(shown(site, request, 422, None).await?);
            }
            let why = html! { p { "The file cannot be edited now. Correct it on the host, then send this again." } ul { @for why in &wrong { li { (why) } } } };
            return Err(once_more(request, 422, why));
        };
        if let Some(status) = site.ask(SiteRequest::Status).await {
            site.sources.learn(&status.rows);
        }
        let entry = given(request, "entry");
        let of = request.field("of");
        let Some(place) = find(&looked.forms, entry, of.as_deref()) else {
            let lost = || page(request, 409, &view::lost(file(request), &request.fields()));
            return Err(if of.is_some() { lost() } else { gone() });
        };
        Ok(Self { site, request, configured, name, looked, place })
    }

    /// What was typed into a field; `None`: it is as it was.
    fn typed(&self, name: &str) -> Option<String> {
        let was = self.request.field(&format!("{WAS}{name}"));
        self.request.field(&format!("{SET}{name}")).filter(|text| Some(text) != was.as_ref())
    }

    /// The form with what was typed; `wrong` are fields and what is wrong with each.
    fn form(&self, status: u16, wrong: &[(Option<&'static Field>, String)], problem: Option<&str>) -> Reply {
        let Self { site, request, looked, .. } = self;
        // With an error, the form shows the file as it is now, so it goes on from this version.
        let typed_on = request.field("version").filter(|_| status == 200);
        let turned = request.field("step").and_then(|step| step.strip_prefix("page ")?.parse().ok());
        let model = FormPage {
            file: file(request),
            form: &looked.forms[self.place],
            version: typed_on.as_deref().unwrap_or(&looked.version),
            page: turned.or(given(request, "page")).unwrap_or(1).max(1),
            is_again: request.method == Method::POST,
            typed: &|name| self.typed(name),
            wrong,
            problem,
            choices: Family::ALL.map(|family| site.sources.choices(family)),
            of: mark(&looked.forms[self.place], &looked.forms),
            is_only: looked.forms.len() < 3,
            token: &request.token,
        };
        page(request, status, &view::form(&model))
    }
}

/// A page that keeps what was typed.
fn once_more(request: &PageRequest, status: u16, why: maud::Markup) -> Reply {
    let to = (request.path.as_str(), "Send it again");
    page(request, status, &login::once_more(("Nothing was saved", why), to, &request.token, &request.fields()))
}

/// The form of an entry, or of the whole file.
pub(super) async fn begin(site: &Rc<Site>, request: &PageRequest) -> Handled {
    Ok(Editing::of(site, request).await?.form(200, &[], None))
}

/// Takes what was typed: first shows what would change, then saves it.
pub(super) async fn change(site: &Rc<Site>, request: &PageRequest) -> Handled {
    let editing = Editing::of(site, request).await?;
    let Editing { configured, name, looked, place, .. } = &editing;
    let (form, step) = (&looked.forms[*place], request.field("step").unwrap_or_default());
    if step == "ask" {
        site.sources.ask_for(form).await;
    }
    if matches!(step.as_str(), "ask" | "edit") || step.starts_with("page ") {
        return Ok(editing.form(200, &[], None));
    }
    let version = request.field("version").unwrap_or_default();
    if version != looked.version {
        let why = "The file was changed in the meantime, on the host or in another tab. What you typed is still here: compare it with what is set now, then go on.";
        return Err(editing.form(409, &[], Some(why)));
    }
    let is_removal = request.field("remove").is_some();
    let ops = match form.entry {
        Some(number) if is_removal => vec![Op::RemoveEntry(number)],
        _ => operations(form, |name| editing.typed(name)),
    };
    if ops.is_empty() {
        return Ok(editing.form(200, &[], Some("Nothing was changed.")));
    }
    match edit(site, (name, &version), &configured.around, ops, step == "save").await {
        Ok(None) => saved(site, request).await,
        Ok(Some(preview)) => {
            Ok(page(request, 200, &view::confirm(file(request), &preview, is_removal, &request.fields())))
        }
        Err(NotEdited::Changed) => {
            let why = "The file was changed at the same moment: nothing was saved. Please try again.";
            Err(editing.form(409, &[], Some(why)))
        }
        Err(NotEdited::Wrong(findings)) => Err(editing.form(422, &told(&findings), None)),
        Err(NotEdited::Failed(why)) => Err(editing.form(500, &[], Some(&format!("Nothing was saved: {name} {why}.")))),
    }
}

async fn saved(site: &Site, request: &PageRequest) -> Handled {
    let errors = ask(site, SiteRequest::Reload).await?;
    if errors.is_empty() {
        return Ok(Reply::see(&format!("/configuration?file={}&saved=1", file(request))));
    }
    let why = format!("It was saved, but the service keeps the previous configuration: {}", errors.join("; "));
    shown(site, request, 500, Some((Tone::Bad, why))).await
}

/// Sends an example of each notification of a file, and shows the results.
pub(super) async fn notify(site: &Site, request: &PageRequest) -> Handled {
    let configs = ask(site, SiteRequest::Configs).await?;
    let (config, _) = configs.get(file(request)).ok_or_else(|| missing(request, "The file no longer exists."))?;
    let (client, mut told, mut tone) = (Client::default(), Vec::new(), Tone::Info);
    for notification in &config.notify {
        let Some(event) = notification.on.iter().next() else { continue };
        if let Some(tried) = try_example(config, notification, event, &client).await {
            tone = if tried.has_arrived { tone } else { Tone::Bad };
            told.push(format!("The test for {}: {}.", tried.origin, tried.said.trim_end_matches('.')));
        }
    }
    let told = if told.is_empty() { "There is nobody to notify.".to_owned() } else { told.join(" ") };
    shown(site, request, 200, Some((tone, told))).await
}
