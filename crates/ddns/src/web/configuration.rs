//! The view *Configuration*: a file without its secrets, what is wrong with it while somebody types, what would be sent, and
//! saving it. What an edit may do is decided in the core.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use ddns_core::config::Config;
use ddns_core::config::validate::Surroundings;
use ddns_core::web::check::{Finding, check, has_errors};
use ddns_core::web::edit::{Edit, Judged, can_be_edited, from_form, judge, mask};

use super::pages::{GONE, frame};
use super::reply::{Reply, Request};
use super::save::{self, Opened, Refused};
use super::sent::{Changes, all, changes};
use super::site::{Configured, Site};
use super::views::configuration::{Editor, File, findings, page, unreadable};
use super::views::layout::Tab;
use super::views::parts::Tone;
use crate::clock::unix_time;

const TITLE: &str = "Configuration";

/// A file of the service that can be read, as somebody wants to see it.
struct Shown {
    configured: Configured,
    /// The number of the file.
    number: usize,
    opened: Opened,
}

/// Shows a file.
pub(super) async fn show(site: &Site, request: &Request) -> Reply {
    let shown = match shown(site, request, request.queried("file")).await {
        Ok(shown) => shown,
        Err(reply) => return reply,
    };
    let text = mask(&shown.opened.text);
    let judged = shown.judged(&text);
    shown.reply(site, request, 200, &text, &judged.findings, None, None)
}

/// Says what is wrong with a text, as a part of the page.
pub(super) async fn check_text(site: &Site, request: &Request) -> Reply {
    let shown = match shown(site, request, request.field("file")).await {
        Ok(shown) => shown,
        Err(reply) => return reply,
    };
    let text = shown.typed(request);
    let judged = shown.judged(&text);
    Reply::page(200, findings(&text, &judged.findings))
}

/// Takes a text: shows what it would change, or saves it.
pub(super) async fn take(site: &Site, request: &Request) -> Reply {
    if !site.web.borrow().allow_edit {
        return Reply::text(403, "the configuration cannot be changed here: `web.allow_edit` is not set");
    }
    let shown = match shown(site, request, request.field("file")).await {
        Ok(shown) => shown,
        Err(reply) => return reply,
    };
    let text = shown.typed(request);
    let version = request.field("version").unwrap_or_default();
    if version != shown.opened.version {
        let why = "The file was changed on the host since you opened it. Below is your text; reviewing and saving it \
                   replaces what is on the host now. To begin again, load this page anew.";
        let judged = shown.judged(&text);
        return shown.reply(site, request, 409, &text, &judged.findings, Some((Tone::Warning, why)), None);
    }
    let Judged { result, findings } = shown.judged(&text);
    let Some((whole, config)) = result.filter(|_| !has_errors(&findings)) else {
        return shown.reply(site, request, 422, &text, &findings, None, None);
    };
    let is_reviewed = request.field("reviewed").is_some_and(|reviewed| reviewed == fingerprint(&text));
    if request.field("step").as_deref() != Some("save") || !is_reviewed {
        let changes = shown.changes(&config);
        return shown.reply(site, request, 200, &text, &findings, None, Some(&changes));
    }
    let name = &shown.configured.names[shown.number];
    match save::replace(name, &version, &whole) {
        Ok(()) => saved(site, request).await,
        Err(Refused::Changed) => {
            let why = "The file was changed on the host at the same moment: nothing was saved.";
            shown.reply(site, request, 409, &text, &findings, Some((Tone::Bad, why)), None)
        }
        Err(Refused::Failed(why)) => {
            let why = format!("Nothing was saved: {name} {why}.");
            shown.reply(site, request, 500, &text, &findings, Some((Tone::Bad, &why)), None)
        }
    }
}

/// Tells whether a text is the one that was shown with its changes.
fn fingerprint(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Loads what was saved, and shows what came of it.
async fn saved(site: &Site, request: &Request) -> Reply {
    let Some(errors) = site.reload().await else { return Reply::text(503, GONE) };
    let shown = match shown(site, request, request.field("file")).await {
        Ok(shown) => shown,
        Err(reply) => return reply,
    };
    let (tone, text) = match errors.as_slice() {
        [] => (Tone::Good, "Saved. The service runs on it now.".to_owned()),
        errors => {
            (Tone::Bad, format!("Saved, but the service keeps the previous configuration: {}", errors.join("; ")))
        }
    };
    let masked = mask(&shown.opened.text);
    let judged = shown.judged(&masked);
    shown.reply(site, request, 200, &masked, &judged.findings, Some((tone, &text)), None)
}

/// The file of a number; a page that says why there is none.
async fn shown(site: &Site, request: &Request, number: Option<String>) -> Result<Shown, Reply> {
    let Some(configured) = site.configured().await else { return Err(Reply::text(503, GONE)) };
    let number = number.and_then(|text| text.parse().ok()).unwrap_or(0);
    let sorry = |name: Option<&str>, why: &str| {
        let content = unreadable(&configured.names, number, name, why);
        Reply::page(200, frame(request, TITLE, Some(Tab::Configuration)).around(&content))
    };
    let Some(name) = configured.file(number) else {
        return Err(sorry(None, "It is set by options and variables of the environment: there is no file to show."));
    };
    if name.contains("://") {
        return Err(sorry(Some(name), "It is fetched from another host: it is changed there."));
    }
    match save::open(name) {
        Ok(opened) => Ok(Shown { configured, number, opened }),
        Err(why) => Err(sorry(Some(name), &format!("{name} {why}."))),
    }
}

impl Shown {
    fn around(&self) -> &Surroundings {
        &self.configured.around
    }

    fn name(&self) -> &str {
        &self.configured.names[self.number]
    }

    /// The text of a form, with the line ends of the file.
    fn typed(&self, request: &Request) -> String {
        from_form(&self.opened.text, &request.field("text").unwrap_or_default())
    }

    fn judged(&self, text: &str) -> Judged {
        judge(&Edit { name: self.name(), old: &self.opened.text, edited: text, around: self.around() })
    }

    /// What would be sent otherwise than now.
    fn changes(&self, config: &Config) -> Changes {
        let now = unix_time();
        let addresses = self.configured.addresses;
        let (before, _) = check(self.name(), &self.opened.text, self.around());
        let before = before.map(|config| all(&config, addresses, now)).unwrap_or_default();
        changes(before, all(config, addresses, now))
    }

    #[expect(clippy::too_many_arguments, reason = "each is a part of the page")]
    fn reply(
        &self,
        site: &Site,
        request: &Request,
        status: u16,
        text: &str,
        findings: &[Finding],
        notice: Option<(Tone, &str)>,
        changes: Option<&Changes>,
    ) -> Reply {
        let why_not = if !site.web.borrow().allow_edit {
            Some("It can be changed here only where `web.allow_edit` is `true`. What is secret shows as ***.")
        } else if !can_be_edited(&self.opened.text) {
            Some("It is not valid JSON: mend it on the host first. Nothing of its values is shown.")
        } else {
            None
        };
        let editor = Editor {
            file: File { names: &self.configured.names, number: self.number },
            version: &self.opened.version,
            token: &request.token,
            text: text.trim_start_matches('\u{feff}'),
            findings,
            why_not,
            notice,
            changes: changes.map(|changes| (changes, fingerprint(text))),
        };
        let mut frame = frame(request, TITLE, Some(Tab::Configuration));
        frame.is_live = false;
        Reply::page(status, frame.around(&page(&editor)))
    }
}
