//! From a service to its configuration (H12): *Recipes* adds it to the file, set-up makes the first file of it. The questions are
//! those of the core; every step is a form, and what was typed goes from one to the next inside of it, never in an address.

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
use ddns_core::web::controls::in_words;

use super::pages::{self, GONE};
use super::reply::{Handled, Reply};
use super::request::PageRequest;
use super::save;
use super::site::{Ask, Configured, Site};
use super::views::wizard::{self as view, WizardMode};
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::lookup::look_up_entries;
use crate::set_up::{install_command, own_addresses, requests, send_once};

/// What a form carries besides answers.
const NOT_TYPED: [&str; 4] = ["token", "step", "find", "web"];

/// The most fields that a form of ours has: a hundred domains with two records each, and some.
const MAX_FIELDS: usize = 500;

/// What was typed so far: the fields of the form.
pub(super) struct Typed(Vec<(String, String)>);

impl Typed {
    fn of(request: &PageRequest) -> Self {
        let is_typed = |name: &str| !NOT_TYPED.contains(&name);
        Self(request.fields().into_iter().filter(|(name, _)| is_typed(name)).take(MAX_FIELDS).collect())
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|(known, _)| known == name).map(|(_, text)| text.trim())
    }

    /// An answer; a secret that was left empty is the one that was typed before.
    fn answer(&self, name: &str) -> Option<String> {
        let kept = || self.field(&format!("kept.{name}"));
        match self.field(name) {
            None | Some("") => kept().or(self.field(name)).map(str::to_owned),
            Some(text) => Some(text.to_owned()),
        }
    }

    /// For the next form: each answer once, and no step.
    fn carried(&self) -> Vec<(String, String)> {
        let names = self.0.iter().map(|(name, _)| name.strip_prefix("kept.").unwrap_or(name));
        let mut all: Vec<(String, String)> = Vec::new();
        for name in names {
            if !all.iter().any(|(known, _)| known == name) {
                all.extend(self.answer(name).map(|text| (name.to_owned(), text)));
            }
        }
        all
    }
}

fn mode(request: &PageRequest) -> WizardMode {
    if request.path == "/setup" { WizardMode::SetUp } else { WizardMode::Recipes }
}

fn page(request: &PageRequest, status: u16, content: &maud::Markup) -> Reply {
    match mode(request) {
        WizardMode::SetUp => request.page(status, "Set-up", None, content),
        WizardMode::Recipes => request.page(status, "Recipes", Some("/recipes"), content),
    }
}

/// What the service runs on; where to go instead, if set-up is over.
async fn configured(site: &Site, request: &PageRequest) -> Result<Configured, Reply> {
    let configured = pages::ask(site, Ask::Configured).await?;
    if mode(request) == WizardMode::SetUp && configured.set_up.is_none() {
        return Err(Reply::see("/"));
    }
    Ok(configured)
}

/// The list of services, or the questions of one.
pub(super) async fn begin(site: &Site, request: &PageRequest) -> Handled {
    let configured = configured(site, request).await?;
    let Some(name) = request.queried("name") else {
        let word = request.queried("find").unwrap_or_default();
        return Ok(list(request, &configured, &word, &Typed(Vec::new())));
    };
    let set_up = questions(request, &name)?;
    Ok(ask(request, &set_up, &Typed(vec![("name".to_owned(), name)]), &[], None))
}

fn list(request: &PageRequest, configured: &Configured, word: &str, typed: &Typed) -> Reply {
    let recipes: Vec<Recipe> = search(word.trim()).into_iter().filter(Recipe::has_entry).collect();
    let target = configured.set_up.as_deref();
    let carried = (typed.carried(), request.token.as_str());
    page(request, 200, &view::list(mode(request), word.trim(), &recipes, target, &carried))
}

/// Takes answers, and goes on to what is left.
pub(super) async fn go_on(site: &Site, request: &PageRequest) -> Handled {
    let configured = configured(site, request).await?;
    let (mut typed, step) = (Typed::of(request), request.field("step").unwrap_or_default());
    if let Some(family) = Family::ALL.into_iter().find(|family| step == format!("without {family}")) {
        typed.0.push((["index4", "index6"][family.index()].to_owned(), NONE.to_owned()));
    }
    let name = typed.field("name").unwrap_or_default();
    if step == "list" || name.is_empty() {
        return Ok(list(request, &configured, &request.field("find").unwrap_or_default(), &typed));
    }
    let mut set_up = questions(request, name)?;
    let wrong = set_up.fill(|name| typed.answer(name));
    if !wrong.is_empty() || step == "back" {
        return Err(ask(request, &set_up, &typed, &wrong, None));
    }
    let refused = set_up.configuration(None).ok().and_then(|filled| addition::refused_field(&filled.text));
    if let Some((field, why)) = refused.filter(|(field, _)| set_up.questions().iter().any(|it| it.name == *field)) {
        return Err(ask(request, &set_up, &typed, &[(field.to_owned(), Some(in_words(&why, None)))], None));
    }
    let file = configured.set_up.as_ref().or(configured.local_file(0));
    let around = &configured.around;
    let checked = set_up.configuration(None).and_then(|filled| {
        addition::checked(&filled.text)?;
        let config = addition::first(file.map_or("config.json", String::as_str), &filled.text, around)?;
        Ok((set_up.disclosed(&config, &[&around.options, &around.environment]), config, filled.text))
    });
    let in_sentences = |why: String| why.split("; ").map(|why| in_words(why, None)).collect::<Vec<_>>().join(" ");
    let (shown, config, text) = checked.map_err(|why| ask(request, &set_up, &typed, &[], Some(&in_sentences(why))))?;
    let editable = configured.local_file(0).filter(|_| site.web.borrow().allow_edit);
    let done = match (step.as_str(), mode(request), editable) {
        ("save", WizardMode::SetUp, _) => Some(save_first(site, request, &configured, &typed).await),
        ("add", WizardMode::Recipes, Some(file)) => Some(add(site, &configured, file.clone(), &text).await),
        _ => None,
    };
    let problem = match done {
        Some(Ok(())) => return Ok(Reply::see(if configured.set_up.is_some() { "/" } else { "/configuration" })),
        Some(Err(why)) => Some(why),
        None => None,
    };
    Ok(review(request, &configured, &typed, (&config, &shown, &text), editable, problem, &step).await)
}

/// The questions of a service, or of a URL of one's own; a page that says why there are none.
fn questions(request: &PageRequest, name: &str) -> Result<SetUp, Reply> {
    asked(name, Raw::default()).map_err(|why| page(request, 404, &view::unknown(mode(request), &why)))
}

/// The same with what the host has given; a sentence where there are none.
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
            // What a command would do is no help here.
            let why = |Diagnostic { message, hint, .. }: &Diagnostic| {
                let hint = hint.as_ref().and_then(|hint| hint.split("`ddns recipes`").next());
                format!("{message}. {}", hint.unwrap_or_default())
            };
            Err(wrong.iter().map(why).collect::<String>().replace('`', ""))
        }
    }
}

/// The page with the questions; `wrong` are names of questions and what is wrong with each.
fn ask(
    request: &PageRequest,
    set_up: &SetUp,
    typed: &Typed,
    wrong: &[(String, Option<String>)],
    problem: Option<&str>,
) -> Reply {
    let is_wrong = problem.is_some() || wrong.iter().any(|(_, why)| why.is_some());
    let all = set_up.questions();
    let answered = |name: &str| typed.answer(name).filter(|text| !text.is_empty());
    let all: Vec<_> = all.iter().map(|question| (question, answered(&question.name))).collect();
    let about = (typed.field("name").unwrap_or_default(), request.token.as_str());
    let content = view::questions(mode(request), set_up.recipe(), about, &all, wrong, problem);
    page(request, if is_wrong { 422 } else { 200 }, &content)
}

/// Whether the first configuration is to have the page: so it is unless somebody says no.
fn keeps_page(request: &PageRequest) -> bool {
    request.field("step").is_none_or(|step| step.is_empty()) || request.field("web").is_some()
}

/// The last step: what was found, what would be sent, what came back, and keeping it. `shown` is the configuration to be shown.
async fn review(
    request: &PageRequest,
    configured: &Configured,
    typed: &Typed,
    (config, shown, text): (&Config, &Config, &str),
    editable: Option<&String>,
    problem: Option<String>,
    step: &str,
) -> Reply {
    let (mode, client) = (mode(request), Client::default());
    let lookups = look_up_entries(&[config], [None; 2], &client).await;
    let lookups = Family::ALL.map(|family| lookups.iter().find_map(|pair| pair[family.index()].as_ref()));
    let addresses = lookups.map(|lookup| lookup.and_then(Lookup::address));
    let (requests, total) = requests(view::MAX_REQUESTS, shown, addresses, unix_time());
    let sent = match step {
        "send" => Some(send_once((config.clone(), Vec::new()), &client, &Environment::read()).await),
        _ => None,
    };
    let has_address = addresses.iter().any(Option::is_some);
    let mut sections = vec![view::found(lookups, has_address), view::requests(&requests, total, sent.as_deref())];
    sections
        .extend(configured.set_up.as_deref().map(|file| view::afterwards(&install_command(file), keeps_page(request))));
    let carried = (typed.carried(), request.token.as_str());
    let file = configured.set_up.as_ref().or(editable).map(String::as_str);
    let text = (mode == WizardMode::Recipes).then_some(text);
    let content = view::review(mode, &carried, problem.as_deref(), (&sections, has_address), file, text);
    page(request, if problem.is_some() { 422 } else { 200 }, &content)
}

/// Adds entries to a file and runs it; fails with a sentence.
async fn add(site: &Site, configured: &Configured, name: String, text: &str) -> Result<(), String> {
    let (addition, around) = (text.to_owned(), configured.around.parcelled());
    let added = site.aside(move || {
        let of_file = |why: String| format!("{name} {why}");
        let opened = save::open(&name).map_err(of_file)?;
        let new = addition::appended(&opened.text, &addition, &around.unpacked())?;
        save::replace(&name, &opened.version, &new)
            .map_err(|why| of_file(why.unwrap_or_else(|| "was changed on the host at the same moment".to_owned())))
    });
    added.await.unwrap_or_else(|| Err(GONE.to_owned())).map_err(|why| format!("Nothing was added: {why}."))?;
    match reload(site).await? {
        None => Ok(()),
        Some(wrong) => Err(format!("It was added, but the service keeps the previous configuration: {wrong}")),
    }
}

/// Loads the configuration; what is wrong with it. Fails with a sentence.
async fn reload(site: &Site) -> Result<Option<String>, String> {
    let errors = site.ask(Ask::Reload).await.ok_or(GONE)?;
    Ok((!errors.is_empty()).then(|| errors.join("; ")))
}

/// Writes the first configuration and runs it; fails with a sentence, and leaves no file then. The page stays part of it where
/// that is wanted: as this service was told on the host, nothing of it comes from the browser.
async fn save_first(site: &Site, request: &PageRequest, configured: &Configured, typed: &Typed) -> Result<(), String> {
    let mut given = Raw::default();
    let around = [&configured.around.options, &configured.around.environment];
    if let Some(web) = around.into_iter().find_map(|layer| layer.get(Key::Web)).filter(|_| keeps_page(request)) {
        given.set(Key::Web, web.node.clone(), web.origin.clone());
    }
    let mut set_up = asked(typed.field("name").unwrap_or_default(), given)?;
    set_up.fill(|name| typed.answer(name));
    let target = configured.set_up.as_deref().unwrap_or_default();
    let path = Path::new(target);
    save::create(path, &set_up.configuration(None)?.text)
        .map_err(|why| format!("Nothing was saved: {target} {why}."))?;
    let Some(wrong) = reload(site).await? else { return Ok(()) };
    let _ = std::fs::remove_file(path);
    Err(format!("Nothing was saved: {wrong}"))
}
