//! From a service to its configuration (H12): *Recipes* adds it to the file, set-up makes the first file of it. The questions are
//! those of the core; every step is a form, and what was typed goes from one to the next inside of it, never in an address.

use std::net::IpAddr;
use std::path::Path;

use ddns_core::address::lookup::Lookup;
use ddns_core::config::Config;
use ddns_core::config::fields::Key;
use ddns_core::config::raw::Raw;
use ddns_core::net::family::Family;
use ddns_core::recipe::{self, Recipe, search};
use ddns_core::set_up::{NONE, OWN, SetUp};
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::web::addition::{self, Outside};

use super::pages::{GONE, frame};
use super::reply::{PageRequest, Reply};
use super::save;
use super::site::{Ask, Configured, Site};
use super::views::layout::Tab;
use super::views::parts::Tone;
use super::views::wizard::{self as view, FoundAddress, Review, WizardForm, WizardMode};
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::lookup::look_up_entries;
use crate::set_up::{SentOnce, install_command, own_addresses, requests, send_once};

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
            Some("") if name == "body" => Some(NONE.to_owned()),
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
    let (title, tab) = match mode(request) {
        WizardMode::SetUp => ("Set-up", None),
        WizardMode::Recipes => ("Recipes", Some(Tab::Recipes)),
    };
    let mut frame = frame(request, title, tab);
    frame.is_live = false;
    Reply::page(status, frame.around(content))
}

/// What the service runs on; where to go instead, if set-up is over.
async fn configured(site: &Site, request: &PageRequest) -> Result<Configured, Reply> {
    match site.ask(Ask::Configured).await {
        None => Err(Reply::text(503, GONE)),
        Some(configured) if mode(request) == WizardMode::SetUp && configured.set_up.is_none() => Err(Reply::see("/")),
        Some(configured) => Ok(configured),
    }
}

/// The list of services, or the questions of one.
pub(super) async fn begin(site: &Site, request: &PageRequest) -> Reply {
    let configured = match configured(site, request).await {
        Ok(configured) => configured,
        Err(reply) => return reply,
    };
    match request.queried("name") {
        None => list(request, &configured, &request.queried("find").unwrap_or_default(), &Typed(Vec::new())),
        Some(name) => match questions(&name, Raw::default()) {
            Ok(set_up) => ask(request, &set_up, &Typed(vec![("name".to_owned(), name)]), &[], None),
            Err(why) => page(request, 404, &view::unknown(mode(request), &why)),
        },
    }
}

fn list(request: &PageRequest, configured: &Configured, word: &str, typed: &Typed) -> Reply {
    let recipes: Vec<Recipe> = search(word.trim()).into_iter().filter(Recipe::has_entry).collect();
    let target = configured.set_up.as_deref();
    let carried = (typed.carried(), request.token.as_str());
    page(request, 200, &view::list(mode(request), word.trim(), &recipes, target, &carried))
}

/// Takes answers, and goes on to what is left.
pub(super) async fn go_on(site: &Site, request: &PageRequest) -> Reply {
    let configured = match configured(site, request).await {
        Ok(configured) => configured,
        Err(reply) => return reply,
    };
    let (mut typed, step) = (Typed::of(request), request.field("step").unwrap_or_default());
    if let Some(family) = Family::ALL.into_iter().find(|family| step == format!("without {family}")) {
        typed.0.push((["index4", "index6"][family.index()].to_owned(), NONE.to_owned()));
    }
    let name = typed.field("name").unwrap_or_default().to_owned();
    if step == "list" || name.is_empty() {
        return list(request, &configured, &request.field("find").unwrap_or_default(), &typed);
    }
    let mut set_up = match questions(&name, Raw::default()) {
        Ok(set_up) => set_up,
        Err(why) => return page(request, 404, &view::unknown(mode(request), &why)),
    };
    let wrong = set_up.fill(|name| typed.answer(name));
    if !wrong.is_empty() || step == "back" {
        return ask(request, &set_up, &typed, &wrong, None);
    }
    let checked = set_up.configuration(None).and_then(|filled| addition::checked(&filled.text).map(|()| filled.text));
    let file = configured.set_up.clone().or_else(|| configured.local_file(0).cloned());
    let name = file.as_deref().unwrap_or("config.json");
    let around = &configured.around;
    let checked = checked.and_then(|text| {
        let config = addition::first(name, &text, around)?;
        Ok(NewEntries { shown: set_up.disclosed(&config, &[&around.options, &around.environment]), config, text })
    });
    match checked {
        Ok(new) => review(site, request, &configured, &typed, new, &step).await,
        Err(why) => ask(request, &set_up, &typed, &[], Some(&view::sentence(&why))),
    }
}

/// The questions of a service, or of a URL of one's own; a sentence where there are none.
fn questions(name: &str, given: Raw) -> Result<SetUp, String> {
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
            let hint =
                |hint: Option<&String>| hint.and_then(|hint| hint.split("`ddns recipes`").next()).map(str::to_owned);
            let why =
                |wrong: &Diagnostic| format!("{}. {}", wrong.message, hint(wrong.hint.as_ref()).unwrap_or_default());
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
    let questions = set_up.questions();
    let value = |name: &str| typed.answer(name).filter(|text| !text.is_empty());
    let form = WizardForm {
        mode: mode(request),
        name: typed.field("name").unwrap_or_default(),
        recipe: set_up.recipe(),
        questions: questions.iter().map(|question| (question, value(&question.name))).collect(),
        wrong,
        problem,
        token: &request.token,
    };
    page(request, if is_wrong { 422 } else { 200 }, &view::questions(&form))
}

/// What the answers make.
struct NewEntries {
    text: String,
    config: Config,
    /// The same, to be shown.
    shown: Config,
}

/// The last step: what was found, what would be sent, what came back, and keeping it.
async fn review(
    site: &Site,
    request: &PageRequest,
    configured: &Configured,
    typed: &Typed,
    NewEntries { text, config, shown }: NewEntries,
    step: &str,
) -> Reply {
    let mode = mode(request);
    let keeps_page = step.is_empty() || request.field("web").is_some();
    let file = configured.local_file(0).filter(|_| site.web.borrow().allow_edit);
    let done = match (step, mode, file) {
        ("save", WizardMode::SetUp, _) => Some(save_first(site, configured, typed, keeps_page).await),
        ("add", WizardMode::Recipes, Some(file)) => Some(add(site, configured, file.clone(), &text).await),
        _ => None,
    };
    let problem = match done {
        Some(Ok(())) => return Reply::see(if mode == WizardMode::SetUp { "/" } else { "/configuration" }),
        Some(Err(why)) => Some((Tone::Bad, why)),
        None => None,
    };
    let client = Client::default();
    let lookups = look_up_entries(&[&config], [None; 2], &client).await;
    let of = |family: Family| lookups.iter().find_map(|pair| pair[family.index()].as_ref());
    let found = Family::ALL.into_iter().filter_map(|family| {
        let lookup = of(family)?;
        let result = match lookup.found() {
            Some((source, choice)) => Ok((choice.ip.to_string(), source.to_owned(), choice.why.clone())),
            None => Err(lookup.failed().map(|(source, why)| format!("{source}: {why}")).collect()),
        };
        Some(FoundAddress { family, result })
    });
    let addresses: [Option<IpAddr>; 2] = Family::ALL.map(|family| of(family).and_then(Lookup::address));
    let (requests, total) = requests(view::MAX_REQUESTS, &shown, addresses, unix_time());
    let found: Vec<FoundAddress> = found.collect();
    let sent: Option<Vec<SentOnce>> = match step {
        "send" => Some(send_once((config, Vec::new()), &client, &Environment::read()).await),
        _ => None,
    };
    let status = if problem.is_some() { 422 } else { 200 };
    let content = view::review(&Review {
        mode,
        carried: &typed.carried(),
        token: &request.token,
        problem,
        found: &found,
        requests: &requests,
        total,
        sent: sent.as_deref(),
        text: (mode == WizardMode::Recipes).then_some(&text),
        file: configured.set_up.as_deref().or(file.map(String::as_str)),
        keeps_page,
        install: configured.set_up.as_deref().map(install_command),
    });
    page(request, status, &content)
}

/// Adds entries to a file and runs it; fails with a sentence.
async fn add(site: &Site, configured: &Configured, name: String, text: &str) -> Result<(), String> {
    let (addition, outside) = (text.to_owned(), Outside::of(&configured.around));
    let added = site.aside(move || {
        let of_file = |why: String| format!("{name} {why}");
        let opened = save::open(&name).map_err(of_file)?;
        let new = addition::appended(&opened.text, &addition, &outside)?;
        save::replace(&name, &opened.version, &new).map_err(|refused| match refused {
            save::Refused::Changed => of_file("was changed on the host at the same moment".to_owned()),
            save::Refused::Failed(why) => of_file(why),
        })
    });
    added.await.unwrap_or_else(|| Err(GONE.to_owned())).map_err(|why| format!("Nothing was added: {why}."))?;
    match site.ask(Ask::Reload).await {
        None => Err(GONE.to_owned()),
        Some(errors) if errors.is_empty() => Ok(()),
        Some(errors) => {
            Err(format!("It was added, but the service keeps the previous configuration: {}", errors.join("; ")))
        }
    }
}

/// Writes the first configuration and runs it; fails with a sentence, and leaves no file then. The page stays part of it where
/// that is wanted: as this service was told on the host, nothing of it comes from the browser.
async fn save_first(site: &Site, configured: &Configured, typed: &Typed, keeps_page: bool) -> Result<(), String> {
    let mut given = Raw::default();
    let around = [&configured.around.options, &configured.around.environment];
    if let Some(web) = around.into_iter().find_map(|layer| layer.get(Key::Web)).filter(|_| keeps_page) {
        given.set(Key::Web, web.node.clone(), web.origin.clone());
    }
    let mut set_up = questions(typed.field("name").unwrap_or_default(), given)?;
    set_up.fill(|name| typed.answer(name));
    let text = set_up.configuration(None)?.text;
    let target = configured.set_up.as_deref().unwrap_or_default();
    let path = Path::new(target);
    save::create(path, &text).map_err(|why| format!("Nothing was saved: {target} {why}."))?;
    let Some(errors) = site.ask(Ask::Reload).await else { return Err(GONE.to_owned()) };
    if errors.is_empty() {
        return Ok(());
    }
    let _ = std::fs::remove_file(path);
    Err(format!("Nothing was saved: {}", errors.join("; ")))
}
