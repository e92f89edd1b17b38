//! From a service to its configuration (H12): *Recipes* adds an entry to the file, set-up writes the first file. The core decides
//! the questions. Every step is a form, and what was typed goes from one form to the next, never in a URL.

use std::path::Path;

use ddns_core::address::lookup::Lookup;
use ddns_core::config::Config;
use ddns_core::config::fields::Key;
use ddns_core::config::raw::Raw;
use ddns_core::net::family::Family;
use ddns_core::recipe::{self, Recipe, search};
use ddns_core::set_up::{NONE, OWN, SetUp};
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::web::addition;
use ddns_core::web::check::check;
use ddns_core::web::controls::in_words;
use ddns_core::web::edit::warned;
use maud::html;

use super::pages::{self, SERVICE_STOPPING};
use super::reply::{Handled, Reply};
use super::request::PageRequest;
use super::save;
use super::site::{Configured, Site, SiteRequest};
use super::sources::LIMIT;
use super::views::login::once_more;
use super::views::wizard::{self as view, SET_UP, WizardStep};
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::lookup::look_up_entries;
use crate::set_up::{install_command, own_addresses, requests, send_once};

/// The fields of a form that are not answers.
const NOT_TYPED: [&str; 3] = ["token", "step", "find"];

/// The most fields of a form: a hundred domains with two records each, and some more.
const MAX_FIELDS: usize = 500;

/// One conversation: the request, and what was typed so far.
struct Wizard<'a> {
    request: &'a PageRequest,
    configured: Configured,
    /// What was typed so far: the fields of the form.
    typed: Vec<(String, String)>,
}

impl<'a> Wizard<'a> {
    /// Begins with what was typed. The error leads elsewhere if set-up is over.
    async fn new(site: &Site, request: &'a PageRequest, typed: Vec<(String, String)>) -> Result<Self, Reply> {
        let configured = pages::ask(site, SiteRequest::Configured).await?;
        let wizard = Self { request, configured, typed };
        if !wizard.is_set_up() || wizard.configured.set_up.is_some() {
            return Ok(wizard);
        }
        if wizard.typed.is_empty() {
            return Err(Reply::see("/"));
        }
        let file = wizard.configured.names.first().map_or("a configuration", String::as_str);
        let why = html! { p { "There is " code { (file) } " by now: it was made on the host or in another tab." } };
        let content = once_more(
            ("This is no longer the first configuration", why),
            ("/recipes", "Make one more entry of it"),
            &request.token,
            &wizard.step().typed,
        );
        Err(wizard.page(409, &content))
    }

    fn is_set_up(&self) -> bool {
        self.request.path == SET_UP
    }

    /// The number of the file that the entry is for.
    fn file(&self) -> usize {
        self.field("file").and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.typed.iter().rfind(|(known, _)| known == name).map(|(_, text)| text.trim())
    }

    /// An answer; an empty secret means the one that was typed before.
    fn answer(&self, name: &str) -> Option<String> {
        let typed = self.field(name);
        let kept = || self.field(&format!("kept.{name}")).or(typed);
        typed.filter(|text| !text.is_empty()).or_else(kept).map(str::to_owned)
    }

    /// The step for the next form, with each answer once.
    fn step(&self) -> WizardStep<'a> {
        let mut typed: Vec<(String, String)> = Vec::new();
        for (name, _) in &self.typed {
            let name = name.strip_prefix("kept.").unwrap_or(name);
            if !typed.iter().any(|(known, _)| known == name) {
                typed.extend(self.answer(name).map(|text| (name.to_owned(), text)));
            }
        }
        WizardStep { path: &self.request.path, token: &self.request.token, typed }
    }

    fn page(&self, status: u16, content: &maud::Markup) -> Reply {
        let (title, tab) = if self.is_set_up() { ("Set-up", None) } else { ("Recipes", Some("/recipes")) };
        self.request.page(status, title, tab, content)
    }

    /// The list of services.
    fn list(&self, word: &str) -> Reply {
        let recipes: Vec<Recipe> = search(word.trim()).into_iter().filter(Recipe::has_entry).collect();
        self.page(200, &self.step().list(word.trim(), &recipes, self.configured.set_up.as_deref()))
    }

    /// The questions of a service, or of the user's own URL. The error is a page that says why there are none.
    fn questions(&self, name: &str) -> Result<SetUp, Reply> {
        asked(name, Raw::default()).map_err(|why| self.page(404, &self.step().unknown(&why)))
    }

    /// The page with the questions; `wrong` are names of questions and what is wrong with each.
    fn ask(&self, set_up: &SetUp, wrong: &[(String, Option<String>)], problem: Option<&str>) -> Reply {
        let is_wrong = problem.is_some() || wrong.iter().any(|(_, why)| why.is_some());
        self.page(if is_wrong { 422 } else { 200 }, &self.step().questions(set_up, wrong, problem))
    }

    /// Whether the first configuration contains the page: yes, unless the user unchecks it.
    fn keeps_page(&self) -> bool {
        self.field("web") != Some("none")
    }

    /// The last step: what was found, what would be sent, the responses, and saving. `shown` is the configuration as it may be shown.
    async fn review(
        &self,
        site: &Site,
        (config, shown, text): (&Config, &Config, &str),
        warnings: &[String],
        editable: Option<&String>,
        problem: Option<String>,
        step: &str,
    ) -> Reply {
        let (client, set_up) = (Client::default(), &self.configured.set_up);
        let mut hasty = config.clone();
        hasty.entries.iter_mut().for_each(|entry| entry.timeout = entry.timeout.min(LIMIT));
        let lookups = look_up_entries(&[&hasty], [None; 2], &client).await;
        let lookups = Family::ALL.map(|family| lookups.iter().find_map(|pair| pair[family.index()].as_ref()));
        let addresses = lookups.map(|lookup| lookup.and_then(Lookup::address));
        let (requests, total) = requests(view::MAX_REQUESTS, shown, |_| addresses, unix_time());
        let sent = if step == "send" {
            // Who presses twice gets the same answer: what was accepted is not sent again.
            let _alone = site.sending.lock().await;
            Some(send_once((config.clone(), Vec::new()), &client, &Environment::read()).await)
        } else {
            None
        };
        let has_address = addresses.iter().any(Option::is_some);
        let mut sections = vec![view::found(lookups, has_address), view::requests(&requests, total, sent.as_deref())];
        sections.extend(set_up.as_ref().map(|file| view::afterwards(&install_command(file), self.keeps_page())));
        let file = set_up.as_ref().or(editable).map(String::as_str);
        let text = (!self.is_set_up()).then_some(text);
        let content = self.step().review((problem.as_deref(), warnings), (&sections, has_address), file, text);
        self.page(if problem.is_some() { 422 } else { 200 }, &content)
    }

    /// Writes the first configuration and runs it. Fails with a sentence, and removes the file again if the service cannot use
    /// it. If the user keeps the page, its settings come from the options or the environment of this service, never from the
    /// browser.
    async fn save_first(&self, site: &Site) -> Result<(), String> {
        let mut given = Raw::default();
        let around = [&self.configured.around.options, &self.configured.around.environment];
        if let Some(web) = around.into_iter().find_map(|layer| layer.get(Key::Web)).filter(|_| self.keeps_page()) {
            given.set(Key::Web, web.node.clone(), web.origin.clone());
        }
        let mut set_up = asked(self.field("name").unwrap_or_default(), given)?;
        set_up.fill(|name| self.answer(name));
        let target = self.configured.set_up.as_deref().unwrap_or_default();
        let path = Path::new(target);
        save::create(path, &set_up.configuration(None)?.text)
            .map_err(|why| format!("Nothing was saved: {target} {why}."))?;
        let Some(wrong) = reload(site).await? else { return Ok(()) };
        let _ = std::fs::remove_file(path);
        Err(format!("Nothing was saved: {}", wrong.replace('`', "")))
    }

    /// What there is to warn of once the entry is in its file; `None`: the file cannot be read, or takes no entry.
    async fn warnings_in(&self, site: &Site, name: String, text: &str) -> Option<Vec<String>> {
        let (addition, around) = (text.to_owned(), self.configured.around.parcelled());
        let warnings = site.aside(move || {
            let (opened, around) = (save::open(&name).ok()?, around.unpacked());
            let new = addition::appended(&opened.text, &addition, &around).ok()?;
            Some(warned(&check(&name, &opened.text, &around).1, &check(&name, &new, &around).1))
        });
        warnings.await.flatten()
    }

    /// Adds entries to a file and runs it; fails with a sentence.
    async fn add(&self, site: &Site, name: String, text: &str) -> Result<(), String> {
        let (addition, around) = (text.to_owned(), self.configured.around.parcelled());
        let added = site.aside(move || {
            let of_file = |why: String| format!("{name} {why}");
            let opened = save::open(&name).map_err(of_file)?;
            let new = addition::appended(&opened.text, &addition, &around.unpacked())?;
            save::replace(&name, &opened.version, &new)
                .map_err(|why| of_file(why.unwrap_or_else(|| "was changed on the host at the same moment".to_owned())))
        });
        added
            .await
            .unwrap_or_else(|| Err(SERVICE_STOPPING.to_owned()))
            .map_err(|why| format!("Nothing was added: {why}."))?;
        match reload(site).await? {
            None => Ok(()),
            Some(wrong) => Err(format!("It was added, but the service keeps the previous configuration: {wrong}")),
        }
    }
}

/// The list of services, or the questions of one.
pub(super) async fn begin(site: &Site, request: &PageRequest) -> Handled {
    let mut wizard = Wizard::new(site, request, Vec::new()).await?;
    wizard.typed.extend(request.queried("file").map(|number| ("file".to_owned(), number)));
    let Some(name) = request.queried("name") else {
        return Ok(wizard.list(&request.queried("find").unwrap_or_default()));
    };
    let set_up = wizard.questions(&name)?;
    wizard.typed.push(("name".to_owned(), name));
    Ok(wizard.ask(&set_up, &[], None))
}

/// Takes answers, and goes on to the next step.
pub(super) async fn go_on(site: &Site, request: &PageRequest) -> Handled {
    let typed = request.fields().into_iter().filter(|(name, _)| !NOT_TYPED.contains(&name.as_str())).take(MAX_FIELDS);
    let mut wizard = Wizard::new(site, request, typed.collect()).await?;
    let step = request.field("step").unwrap_or_default();
    if let Some(family) = Family::ALL.into_iter().find(|family| step == format!("without {family}")) {
        wizard.typed.push((["index4", "index6"][family.index()].to_owned(), NONE.to_owned()));
    }
    let name = wizard.field("name").unwrap_or_default();
    if step == "list" || name.is_empty() {
        return Ok(wizard.list(&request.field("find").unwrap_or_default()));
    }
    let mut set_up = wizard.questions(name)?;
    let wrong = set_up.fill(|name| wizard.answer(name));
    if !wrong.is_empty() || step == "back" {
        return Err(wizard.ask(&set_up, &wrong, None));
    }
    let refused = set_up.configuration(None).ok().and_then(|filled| addition::refused_field(&filled.text));
    if let Some((field, why)) = refused.filter(|(field, _)| set_up.questions().iter().any(|it| it.name == *field)) {
        return Err(wizard.ask(&set_up, &[(field.to_owned(), Some(in_words(&why, None)))], None));
    }
    let Configured { set_up: target, around, .. } = &wizard.configured;
    let number = wizard.file();
    let local = wizard.configured.local_file(number);
    let file = target.as_ref().or(local);
    let checked = set_up.configuration(None).and_then(|filled| {
        addition::checked(&filled.text)?;
        let config = addition::first(file.map_or("config.json", String::as_str), &filled.text, around)?;
        let warnings = warned(&[], &check("", &filled.text, around).1);
        Ok((set_up.disclosed(&config, &[&around.options, &around.environment]), config, filled.text, warnings))
    });
    let in_sentences = |why: String| why.split("; ").map(|why| in_words(why, None)).collect::<Vec<_>>().join(" ");
    let (shown, config, text, warnings) = checked.map_err(|why| wizard.ask(&set_up, &[], Some(&in_sentences(why))))?;
    // With the other entries there may be more to warn of: two that update the same name.
    let warnings = match local.filter(|_| !wizard.is_set_up()) {
        Some(file) => wizard.warnings_in(site, file.clone(), &text).await.unwrap_or(warnings),
        None => warnings,
    };
    let editable = local.filter(|_| site.web.borrow().allow_edit);
    let done = match (step.as_str(), wizard.is_set_up(), editable) {
        ("save", true, _) => Some(wizard.save_first(site).await),
        ("add", false, Some(file)) => Some(wizard.add(site, file.clone(), &text).await),
        _ => None,
    };
    if let Some(Ok(())) = done {
        return Ok(Reply::see(&if target.is_some() {
            "/".to_owned()
        } else {
            format!("/configuration?file={number}")
        }));
    }
    Ok(wizard.review(site, (&config, &shown, &text), &warnings, editable, done.and_then(Result::err), &step).await)
}

/// The questions of a service, or of the user's own URL; `given` are settings from the host. The error is a sentence.
fn asked(name: &str, given: Raw) -> Result<SetUp, String> {
    let set_up = SetUp::new(given, own_addresses());
    if name == OWN {
        return Ok(set_up.with_own());
    }
    match recipe::named(name) {
        Ok(recipe) if recipe.has_entry() && recipe.needs_file() => Err(format!(
            "{} needs the file of a key, and the page names no files: run ddns init --recipe {name} on the host.",
            recipe.title
        )),
        Ok(recipe) if recipe.has_entry() => set_up.with_recipe(recipe),
        Ok(recipe) => Err(format!("{} receives notifications, no updates.", recipe.title)),
        Err(wrong) => {
            // Leave out hints about commands: they do not help on the page.
            let why = |Diagnostic { message, hint, .. }: &Diagnostic| {
                let hint = hint.as_ref().and_then(|hint| hint.split("`ddns recipes`").next());
                format!("{message}. {}", hint.unwrap_or_default())
            };
            Err(wrong.iter().map(why).collect::<String>().replace('`', ""))
        }
    }
}

/// Loads the configuration, and returns what is wrong with it; `None`: nothing is wrong. Fails with a sentence.
async fn reload(site: &Site) -> Result<Option<String>, String> {
    let errors = site.ask(SiteRequest::Reload).await.ok_or(SERVICE_STOPPING)?;
    Ok((!errors.is_empty()).then(|| errors.join("; ")))
}
