//! `ddns init --recipe`: asks what a service needs, and writes an ordinary configuration (H12).

use std::io;
use std::path::absolute;

use ddns_core::config::fields::Key;
use ddns_core::config::interview::Interview;
use ddns_core::config::{Config, starter};
use ddns_core::net::family::Family;
use ddns_core::recipe::{AnswerSlot, Filled, Form, Recipe};
use ddns_core::update::domain::Domain;

use super::{INTRO, Looked, OutputFile, converse, line, look_all, secret_line, show, shown, wrong};
use crate::cli::Given;
use crate::commands::recipes::load;
use crate::environment::Environment;
use crate::http::Client;
use crate::load::{read_text, validate_new};
use crate::lookup::own_address;
use crate::output::layout::{self, width_of};
use crate::output::{complain, fail};

/// What stands before the names of answers that are about --notify-recipe.
const OF_NOTIFY: &str = "notify.";

/// How the user is asked.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// At a terminal.
    may_ask: bool,
    /// Takes what is suggested.
    is_yes: bool,
}

impl Manner {
    pub(super) fn of(given: &Given, may_ask: bool) -> Self {
        Self { may_ask, is_yes: given.has("yes") }
    }
}

/// Why no file was written: the exit status; the reason was printed.
type ExitStatus = u8;

/// Asks and writes; what to show then. 2 where an answer is missing or wrong; 1 where the conversation was broken off or a file
/// cannot be written.
pub(super) async fn run(name: &str, given: &Given, target: &OutputFile, may_ask: bool) -> Result<String, ExitStatus> {
    let environment = Environment::read();
    let recipe = load(name).map_err(|wrong| complain(&wrong))?;
    let manner = Manner::of(given, may_ask);
    for key in [Key::Id, Key::Endpoint, Key::Token] {
        if given.settings.options.get(key).is_some() {
            return Err(wrong("--recipe already says what is sent", "leave out --id, --endpoint and --token"));
        }
    }
    if !recipe.has_entry() {
        let message = format!("{} receives notifications, no updates", recipe.title);
        return Err(wrong(&message, "use --notify-recipe, with the --recipe of your service or with --id"));
    }
    let client = Client::default();
    let mut looked: [Looked; 2] = Default::default();
    let interview = domains(&recipe, given, manner, &mut looked, &client).await?;
    let (config, _) = super::checked(interview.settings())?;
    let names = Family::ALL.map(|family| domains_of(&config, family));
    let mut form = Form::new(&recipe, names)
        .map_err(|why| wrong(&why, &format!("`ddns recipes show {name}` has what it takes")))?;
    form.check_domains().map_err(|why| wrong(&why, &format!("`ddns recipes show {name}` has its rules")))?;
    answer(&mut form, given, |name| (!name.starts_with(OF_NOTIFY)).then_some(name))?;
    questions(&mut form, manner)?;
    let notify_recipe = notify_recipe(given)?;
    let notify = notify_recipe.as_ref().map(|recipe| notify_form(recipe, given, manner)).transpose()?;

    let mut settings = starter::settings_of(interview.settings());
    settings.retain(|(name, _)| !matches!(name.as_str(), "ipv4" | "ipv6" | "dns"));
    let folder = given.value("secrets").map(|folder| absolute(environment.path(folder)));
    let folder =
        folder.transpose().map_err(|error| fail(&format!("the folder for secrets is not possible ({error})")))?;
    let folder = folder.as_ref().map(|folder| folder.to_string_lossy());
    let with_notify = |folder: Option<&str>| {
        let mut settings = settings.clone();
        let (value, secrets) = notify.as_ref().map(|form| form.notification(folder)).unzip();
        settings.extend(value.map(|value| ("notify".to_owned(), value)));
        let mut filled = form.configuration(&settings, folder);
        filled.secrets.extend(secrets.unwrap_or_default());
        filled
    };
    // What is checked and shown has its secrets inside: their files do not exist yet.
    let valid = validate_new("the recipe's configuration", &with_notify(None).text, &environment);
    let valid = valid.map_err(|wrong| complain(&wrong))?;
    look_all(&valid, &mut looked, &client).await;
    let filled = with_notify(folder.as_deref());
    write(target, &filled)?;
    let secrets = filled.secrets.iter().map(|(path, _)| format!("Wrote {path}: a secret; only you can read it.\n"));
    Ok(secrets.collect::<String>() + &shown(target, &valid.0, &looked))
}

/// Takes what --set answers; `own` finds the names that are meant for this form.
fn answer(form: &mut Form<'_>, given: &Given, own: impl Fn(&str) -> Option<&str>) -> Result<(), ExitStatus> {
    for assignment in given.values("set") {
        let (typed, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let typed = typed.trim();
        let Some(name) = own(typed) else { continue };
        let first = name.split('.').next().unwrap_or_default();
        let is_file = form.recipe.questions.iter().any(|question| question.is_file && question.name == first);
        let value = if is_file { key_file(value) } else { Ok(value.to_owned()) };
        let Err(why) = value.and_then(|value| form.set(name, &value)) else { continue };
        let meant = form.names().find(|known| name.split('.').next() == Some(known)).or(form.names().next());
        let before = &typed[..typed.len() - name.len()];
        return Err(wrong(&format!("--set: {why}"), &format!("e.g. --set {before}{}=…", meant.unwrap_or("NAME"))));
    }
    Ok(())
}

/// The recipe of --notify-recipe.
pub(super) fn notify_recipe(given: &Given) -> Result<Option<Recipe>, ExitStatus> {
    let Some(name) = given.value("notify-recipe") else { return Ok(None) };
    let recipe = load(name).map_err(|wrong| complain(&wrong))?;
    if recipe.has_notification() {
        return Ok(Some(recipe));
    }
    Err(wrong(
        &format!("the recipe `{name}` makes no notifications"),
        "`ddns recipes notification` lists those that do",
    ))
}

/// Its questions, answered.
pub(super) fn notify_form<'r>(recipe: &'r Recipe, given: &Given, manner: Manner) -> Result<Form<'r>, ExitStatus> {
    let mut form = Form::new(recipe, Default::default()).map_err(|why| wrong(&why, "name another recipe"))?;
    answer(&mut form, given, |name| name.strip_prefix(OF_NOTIFY))?;
    if !form.unanswered().is_empty() && manner.may_ask {
        show(&format!("\nFor notifications by {}:\n", recipe.title));
    }
    questions(&mut form, manner)?;
    Ok(form)
}

fn broken(text: &str, indent: usize) -> String {
    layout::broken(text, indent, width_of(io::stdout()))
}

fn domains_of(config: &Config, family: Family) -> Vec<Domain> {
    config.entries.iter().flat_map(|entry| entry.domains[family.index()].iter().cloned()).collect()
}

/// Domains and sources, as without a recipe.
async fn domains(
    recipe: &Recipe,
    given: &Given,
    manner: Manner,
    looked: &mut [Looked; 2],
    client: &Client,
) -> Result<Interview, ExitStatus> {
    let settings = given.settings.options.clone();
    super::checked(&settings)?;
    let is_missing = starter::lacks_domains(&settings);
    let mut interview = Interview::for_recipe(settings, Family::ALL.map(own_address), |family| recipe.takes(family));
    if is_missing && !manner.may_ask {
        return Err(wrong(
            "`ddns init` needs --ipv4 or --ipv6: there is no terminal to ask on",
            "e.g. --ipv4 home.example.com",
        ));
    }
    if is_missing {
        converse(&mut interview, looked, client, INTRO).await?;
    } else if manner.is_yes {
        interview.take_suggestions();
    }
    Ok(interview)
}

/// Asks what has no answer yet. Where there is no terminal, defaults are taken, and the rest is missing.
fn questions(form: &mut Form<'_>, manner: Manner) -> Result<(), ExitStatus> {
    let mut missing = Vec::new();
    for slot in form.unanswered() {
        let default = form.question(&slot).and_then(|question| question.default.clone());
        let suggested = form.suggested(&slot).filter(|_| manner.is_yes || manner.may_ask).or(default);
        match suggested {
            _ if manner.may_ask => ask(form, &slot)?,
            Some(suggested) => form.answer(&slot, &suggested).map_err(|why| wrong(&why, "use --set"))?,
            None => missing.push(slot),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(unanswered(form, &missing)) }
}

/// What is missing where no questions can be asked.
fn unanswered(form: &Form<'_>, missing: &[AnswerSlot]) -> ExitStatus {
    let all: Vec<String> = missing.iter().map(|slot| format!("--set {slot}=… ({})", form.label(slot))).collect();
    wrong(
        &format!("`ddns init` needs {}: there is no terminal to ask on", all.join(", ")),
        &format!("`ddns recipes show {}` explains it", form.recipe.name),
    )
}

/// The whole path of a file that can be read; why it cannot be otherwise.
fn key_file(path: &str) -> Result<String, String> {
    let path = absolute(Environment::read().path(path.trim()));
    let path = path.map_err(|error| format!("the path is not possible ({error})"))?.to_string_lossy().into_owned();
    read_text(&path).map(|_| path.clone()).map_err(|why| format!("the file {path} {why}"))
}

fn asked(question: &str) -> Result<String, ExitStatus> {
    show(question);
    line()
}

/// Asks until the answer is one.
fn ask(form: &mut Form<'_>, slot: &AnswerSlot) -> Result<(), ExitStatus> {
    let label = form.label(slot);
    let help = form.question(slot).map(|question| question.help.as_str()).unwrap_or_default();
    let help = if help.is_empty() { String::new() } else { broken(&format!("{label}: {help}."), 0) };
    let suggested = form.suggested(slot);
    let is_file = form.question(slot).is_some_and(|question| question.is_file);
    let is_secret = form.question(slot).is_some_and(|question| question.secret);
    let mut brackets = suggested.as_ref().map(|text| format!(" [{text}]")).unwrap_or_default();
    if is_secret {
        brackets += " (not shown)";
    }
    loop {
        let question = format!("\n{help}{label}{brackets}: ");
        let typed = if is_secret { secret_line(&question) } else { asked(&question) }?;
        let answer = match (typed.trim(), &suggested) {
            ("", Some(suggested)) => suggested.clone(),
            (typed, _) => typed.to_owned(),
        };
        let answer = if is_file { key_file(&answer) } else { Ok(answer) };
        match answer.and_then(|answer| form.answer(slot, &answer)) {
            Ok(()) => return Ok(()),
            Err(why) => show(&broken(&format!("Not possible: {why}"), 2)),
        }
    }
}

/// Writes the files of secrets and then the configuration; none of them where one cannot be written.
fn write(target: &OutputFile, filled: &Filled) -> Result<(), ExitStatus> {
    let mut written: Vec<OutputFile> = Vec::new();
    let undo = |written: &[OutputFile]| written.iter().for_each(|file| drop(std::fs::remove_file(&file.path)));
    for (path, secret) in &filled.secrets {
        let file = OutputFile { name: path.clone(), path: path.into() };
        file.write(&format!("{secret}\n")).inspect_err(|_| undo(&written))?;
        written.push(file);
    }
    target.write(&filled.text).inspect_err(|_| undo(&written))
}
